/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.c: finds the client's call behind a bad access in the library.
 *
 * Calls that communicate do not check whether their team, token, domain or event exists, because
 * that would cost instructions on each call. An argument that does not exist crashes at once in the
 * library's code, and the call is found on the stack. Only exported functions have names at run
 * time. */
#include "api/api.h"

#include "am/am.h"
#include "job/team.h"
#include "pen_config.h"

#include <dlfcn.h>
#include <string.h>
#include <ucontext.h>

#if PEN_HAVE_BACKTRACE
#    include <execinfo.h>
#endif

enum { FRAMES_MAX = 48 };

/* Exported functions whose names begin like this. call NULL: clients know the function by its own
 * name. */
static const struct named {
    const char *begin, *call, *argument;
} names[] = {
    { "pen_api_request_short", "gex_AM_RequestShort", "team" },
    { "pen_api_request_medium", "gex_AM_RequestMedium", "team" },
    { "pen_api_request_long", "gex_AM_RequestLong", "team" },
    { "pen_api_request_local", "gex_AM_RequestMedium or gex_AM_RequestLong", "team" },
    { "pen_api_reply_short", "gex_AM_ReplyShort", "token" },
    { "pen_api_reply_medium", "gex_AM_ReplyMedium", "token" },
    { "pen_api_reply_long", "gex_AM_ReplyLong", "token" },
    { "pen_api_commit", "gex_AM_Commit...", "descriptor" },
    { "pen_api_event_test", "gex_Event_Test", "event" },
    { "pen_api_event_wait", "gex_Event_Wait", "event" },
    { "pen_api_event_leaf", "gex_Event_QueryLeaf", "event" },
    { "pen_api_hsl_", "gex_HSL_...", "lock" },
    { "pen_api_valget", "gasnet_wait_syncnb_valget", "handle" },
    { "gex_Event_", NULL, "event" },
    { "gex_AD_", NULL, "domain" },
    { "gex_TM_", NULL, "team" },
    { "gex_Coll_", NULL, "team" },
    { "gex_VIS_", NULL, "team" },
    { "gex_EP_", NULL, "endpoint" },
    { "gex_Segment_", NULL, "segment" },
    { "gex_Client_", NULL, "client" },
    { "gex_AM_", NULL, "team, token or descriptor" },
    { "gex_Token_", NULL, "token" },
    { "gasnet_", NULL, "argument" },
};

/* Functions that a call jumps to, so that only they are on the stack. The calls do not use their
 * arguments before the jump. */
static const struct jumped {
    int (*function)(pen_team *, uint32_t, uint32_t, const void *, size_t, uint32_t, unsigned,
                    uint64_t *);
    pen_api_bad_call call;
} jumped[] = {
    { pen_am_request_medium, { "gex_AM_RequestMedium", "team" } },
};
enum { JUMPED_LEN = 64 }; /* bytes of code in which they read their team */

static uintptr_t pc_of(const void *context)
{
    const ucontext_t *at = context;
#if defined(__x86_64__)
    return (uintptr_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)at->uc_mcontext.pc;
#else
    (void)at;
    return 0;
#endif
}

/* Whether the address is in the library's code. name: the exported function that contains it, or
 * NULL. */
static bool is_ours(uintptr_t address, const char **name)
{
    Dl_info here, there;
    if (dladdr((const void *)&names, &here) == 0 || dladdr((const void *)address, &there) == 0 ||
        here.dli_fbase != there.dli_fbase)
        return false;
    *name = there.dli_sname;
    return true;
}

static bool find_call(const char *name, pen_api_bad_call *out)
{
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(name, names[i].begin, strlen(names[i].begin)) != 0)
            continue;
        *out =
            (pen_api_bad_call){ names[i].call != NULL ? names[i].call : name, names[i].argument };
        return true;
    }
    return false;
}

bool pen_api_find_bad_call(const void *context, pen_api_bad_call *out)
{
    const char *name = NULL;
    uintptr_t pc = pc_of(context);
    if (pc == 0 || !is_ours(pc, &name))
        return false;
    if (find_call(name, out))
        return true;
    for (size_t i = 0; i < sizeof jumped / sizeof jumped[0]; i++) {
        if (pc - (uintptr_t)jumped[i].function < JUMPED_LEN) {
            *out = jumped[i].call;
            return true;
        }
    }
#if PEN_HAVE_BACKTRACE
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX), i = 0;
    while (i < count && (uintptr_t)frames[i] != pc) /* frames of this handler and of the kernel */
        i++;
    for (; i < count && is_ours((uintptr_t)frames[i] - 1, &name); i++)
        if (find_call(name, out))
            return true;
#endif
    return false;
}
