/* SPDX-License-Identifier: BSD-3-Clause */
/* root.c: the only writable globals and thread-locals of the library: the process's job, the
 * calling thread's state, and the variables that clients read or define. */
#include "api/api.h"

#include "job/team.h"
#include "job/thread.h"
#include "pen_config.h"

#include <gasnetex.h>

pen_team pen_api_nobody; /* a team without members, of which nothing is mapped */

pen_root pen_api_root = { .catch_exit = true, .verbose_errors = 1 };
_Thread_local pen_thread *pen_api_here;
_Thread_local uint32_t pen_api_here_era;
_Thread_local pen_hsl *pen_api_locks;
_Thread_local bool pen_api_no_interrupts;
_Thread_local bool pen_api_ends_here;

__thread int32_t pen_stores;

gex_TM_t pen_world = &pen_api_nobody;
static const uint32_t nothing;
/* Never idle: the library has to report that there is no job, and polls itself in checked builds.
 */
pen_poll_view pen_poll = { .words = { &nothing, &nothing, &nothing, &nothing, &nothing },
                           .sum = 1 };
unsigned char pen_hsl_traced = PEN_CHECKED;

/* Weak: a client may define them instead. */
__attribute__((weak)) const char *gasnet_max_segsize_str = NULL;
__attribute__((weak)) uint64_t gasnet_max_segsize = 0;
__attribute__((weak)) void (*gasnet_client_attach_hook)(void *base, uintptr_t len) = NULL;
