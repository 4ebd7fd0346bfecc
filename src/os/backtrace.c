/* SPDX-License-Identifier: BSD-3-Clause */
/* backtrace.c: prints stacks for a crash report. The first backtrace() of a process may load a
 * library, so a program that will call this from a signal handler must call it, or backtrace(),
 * once before. */
#include "os/os.h"

#include "pen_config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if PEN_HAVE_BACKTRACE
#    include <execinfo.h>
#endif

enum { FRAMES_MAX = 64, PID_LEN_MAX = 16 };

bool pen_backtrace(int fd)
{
#if PEN_HAVE_BACKTRACE
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX);
    if (count > 1) /* without this function's own frame */
        backtrace_symbols_fd(frames + 1, count - 1, fd);
    return count > 1;
#else
    (void)fd;
    return false;
#endif
}

static _Noreturn void become_gdb(int fd, const char *pid, bool all_threads)
{
    const char *what = all_threads ? "thread apply all backtrace" : "backtrace";
    const char *const command[] = { "gdb", "-nx", "-batch", "-ex", "set pagination off",
                                    "-ex", what,  "-p",     pid,   NULL };
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)dup2(nothing, STDIN_FILENO);
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    (void)execvp(command[0], (char *const *)(uintptr_t)command);
    _exit(127); /* as a shell does if it finds no program */
}

bool pen_backtrace_by_gdb(int fd, bool all_threads)
{
    char pid[PID_LEN_MAX];
    int status = -1;
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* for security modules */
    /* fork() is not used, because it takes locks that the crash may have left held, and runs
     * handlers that the client registered. */
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        become_gdb(fd, pid, all_threads);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
