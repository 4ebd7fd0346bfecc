/* SPDX-License-Identifier: BSD-3-Clause */
/* backtrace.c: this thread's stack, for a crash report. The first backtrace() of a process may load
 * a library; who wants to call this from a signal handler calls it, or backtrace(), once before. */
#include "base/compiler.h"
#include "os/os.h"

#if PEN_HAVE_BACKTRACE
#    include <execinfo.h>
#endif

enum { FRAMES_MAX = 64 };

void pen_backtrace(int fd)
{
#if PEN_HAVE_BACKTRACE
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX);
    if (count > 1) /* without this function's own frame */
        backtrace_symbols_fd(frames + 1, count - 1, fd);
#else
    (void)fd;
#endif
}
