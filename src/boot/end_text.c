/* SPDX-License-Identifier: BSD-3-Clause */
/* end_text.c: lines about the end of a job. */
#include "boot/end_text.h"

#include "base/compiler.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static PEN_PRINTF(1, 2) pen_end_text text_of(const char *format, ...)
{
    pen_end_text out;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(out.text, sizeof out.text, format, args);
    va_end(args);
    return out;
}

pen_rank_text pen_rank_text_of(uint32_t rank, const char *host, int pid)
{
    pen_rank_text out;
    (void)snprintf(out.text, sizeof out.text, "rank %u (host %.60s, pid %d)", rank, host, pid);
    return out;
}

void pen_rank_list_add(pen_rank_list *list, uint32_t rank)
{
    if (list->count < PEN_RANKS_NAMED_MAX)
        list->named[list->count] = rank;
    list->count++;
}

/* Returns "rank 1", or "ranks 0, 2 and more". */
static pen_end_text names_of(const pen_rank_list *list)
{
    char numbers[PEN_RANKS_NAMED_MAX * 12 + 1] = "";
    size_t len = 0;
    if (list->count == 0)
        return text_of("ranks of other hosts");
    for (unsigned i = 0; i < list->count && i < PEN_RANKS_NAMED_MAX; i++)
        len += (size_t)snprintf(numbers + len, sizeof numbers - len, "%s%u", i > 0 ? ", " : "",
                                list->named[i]);
    return text_of("%s %s%s", list->count == 1 ? "rank" : "ranks", numbers,
                   list->count > PEN_RANKS_NAMED_MAX ? " and more" : "");
}

static const char *have(const pen_rank_list *list) { return list->count == 1 ? "has" : "have"; }

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

pen_end_text pen_end_notice(const pen_rank_list *left, const pen_rank_list *stay,
                            uint64_t leave_limit_ns)
{
    pen_end_text limit = leave_limit_ns == 0 ? text_of("without a limit")
                                             : text_of("for up to %g s", seconds(leave_limit_ns));
    return text_of("%s %s left with 0, %s %s not; the job waits %.48s (PENSTOCK_LEAVE_TIMEOUT)",
                   names_of(left).text, have(left), names_of(stay).text, have(stay), limit.text);
}

pen_end_text pen_end_late(const pen_rank_list *left, const pen_rank_list *stay,
                          uint64_t leave_limit_ns)
{
    return text_of("%s left with 0 and %s had not %g s later: ended by force (meet in a barrier "
                   "before the end, or raise PENSTOCK_LEAVE_TIMEOUT)",
                   names_of(left).text, names_of(stay).text, seconds(leave_limit_ns));
}

pen_end_text pen_end_exited(const char *who, int code, const char *note)
{
    return text_of("%s exited with status %d%s%s; ending the job", who, code,
                   note[0] != '\0' ? ": " : "", note);
}

pen_end_text pen_end_called(const char *who, int code, const char *note)
{
    /* the note of a rank that a signal asks to end is the signal's name */
    if (note[0] != '\0' && strncmp(note, "SIG", 3) != 0)
        return text_of("%s met an error: see its message above; ending the job with status %d", who,
                       code);
    return text_of("%s called gasnet_exit(%d); ending the job", who, code);
}

pen_end_text pen_end_resigned(const char *who)
{
    return text_of("%s ended after pen_finalize, but other ranks have joined the job again; ending "
                   "the job",
                   who);
}

pen_end_text pen_end_blocked(const char *who, const char *call, const char *departed)
{
    return text_of(
        "%s waits in %s for %s, which has left with 0 and will not take part; ending the "
        "job",
        who, call, departed);
}
