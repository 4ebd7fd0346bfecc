/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_start.c: starts the ranks, by fork and exec, or by fork alone for a program that
 * became its own launcher. */
#include "launch/supervisor_parts.h"

#include "base/status.h"
#include "boot/arena.h"
#include "boot/boot.h"
#include "boot/control.h"
#include "boot/remedy.h"
#include "diag/log.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SERVE_EVERY = 16, CLOSE_FD_MAX = 1 << 20 };

/* A rank's ends of its socket and pipes; -1: the rank inherits the supervisor's descriptor. */
typedef struct rank_ends {
    int control, stream[PEN_STREAMS];
} rank_ends;

static void ends_close(rank_ends *ends)
{
    if (ends->control >= 0)
        close(ends->control);
    for (int i = 0; i < PEN_STREAMS; i++) {
        if (ends->stream[i] >= 0)
            close(ends->stream[i]);
    }
}

static const char *stream_open(pen_supervisor *s, uint32_t rank, int i, rank_ends *ends)
{
    char tag[16] = "";
    if (s->options->tag)
        (void)snprintf(tag, sizeof(tag), "[%u] ", rank);
    pen_lines_init(&s->ranks[rank].lines[i], tag);
    if (s->inherit[i])
        return NULL;
    int ours_and_theirs[2];
    if (pipe2(ours_and_theirs, O_CLOEXEC) != 0)
        return "pipe2";
    ends->stream[i] = ours_and_theirs[1];
    int *ours = &s->ranks[rank].stream[i];
    const char *call = pen_super_keep(s, "pipe2", ours_and_theirs[0], ours);
    if (call == NULL && fcntl(*ours, F_SETFL, O_NONBLOCK) != 0)
        call = "fcntl";
    if (call == NULL)
        call = pen_super_watch(s->streams_epoll, *ours,
                               PEN_SUPER_DATA((unsigned)PEN_SUPER_STREAM + (unsigned)i, rank));
    return call;
}

static const char *ends_open(pen_supervisor *s, uint32_t rank, rank_ends *ends)
{
    *ends = (rank_ends){ -1, { -1, -1 } };
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return "socketpair";
    ends->control = pair[1];
    int *control = &s->ranks[rank].control;
    const char *call = pen_super_keep(s, "socketpair", pair[0], control);
    if (call == NULL)
        call = pen_super_watch(s->epoll, *control, PEN_SUPER_DATA(PEN_SUPER_CONTROL, rank));
    for (int i = 0; i < PEN_STREAMS && call == NULL; i++)
        call = stream_open(s, rank, i, ends);
    return call;
}

/* ---- in the child ---------------------------------------------------------------------------- */

/* Binds the child to its parent: the kernel kills it when the parent ends, and it exits if the
 * parent is gone already. Also sets cores and standard streams. */
static const char *child_bind(const pen_supervisor *s, uint32_t rank, const rank_ends *ends)
{
    if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L) != 0)
        return "prctl";
    if (getppid() != s->pid)
        _exit(128 + SIGKILL);
    const cpu_set_t *cores = s->options->cores;
    if (s->options->core_count != 0 &&
        sched_setaffinity(0, sizeof(*cores), &cores[rank % s->options->core_count]) != 0)
        return "sched_setaffinity";
    int input = rank != 0 ? s->null_fd : s->input_fd;
    if (input >= 0 && dup2(input, STDIN_FILENO) < 0)
        return "dup2";
    for (int i = 0; i < PEN_STREAMS; i++) {
        int fd = i == PEN_STREAM_OUT ? STDOUT_FILENO : STDERR_FILENO;
        if (ends->stream[i] >= 0 && dup2(ends->stream[i], fd) < 0)
            return "dup2";
    }
    return NULL;
}

static const char *child_exec(const pen_supervisor *s, const rank_ends *ends)
{
    if (fcntl(ends->control, F_SETFD, 0) != 0 || fcntl(s->arena.fd, F_SETFD, 0) != 0)
        return "fcntl";
    const char *call = pen_super_restore(s);
    if (call != NULL)
        return call;
    execvpe(s->options->argv[0], s->options->argv, s->environment);
    return "execvpe";
}

static _Noreturn void child_run(const pen_supervisor *s, uint32_t rank, const rank_ends *ends)
{
    const char *call = child_bind(s, rank, ends);
    if (call == NULL)
        call = child_exec(s, ends);
    int why = errno;
    (void)pen_control_send(ends->control, PEN_CONTROL_START_FAILED, why, call, true);
    _exit(why == ENOENT ? 127 : 126);
}

static void close_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < (most > 0 && most < CLOSE_FD_MAX ? (int)most : CLOSE_FD_MAX); fd++)
        (void)close(fd);
}

/* Makes the forked copy a rank: nothing of the supervisor stays in it. */
static pen_status child_become(pen_supervisor *s, uint32_t rank, rank_ends *ends, pen_boot *child)
{
    const char *call = child_bind(s, rank, ends);
    if (call == NULL)
        call = pen_super_restore(s);
    if (call != NULL) {
        pen_log_error(s->outer, "cannot start rank %u: %s: %m; %s", rank, call,
                      pen_boot_remedy(errno));
        _exit(EXIT_FAILURE);
    }
    int control = ends->control;
    ends->control = -1;
    ends_close(ends); /* dup2 has copied the streams */
    pen_log *log = s->outer;
    char *base = s->arena.base;
    int arena_fd = s->arena.fd;
    const char *launcher = s->options->launcher;
    int first = s->fd_base;
    pen_super_close(s, true);
    close_from(first);
    return pen_boot_attach(log, arena_fd, base, control, rank, launcher, child);
}

/* ---- in the supervisor ----------------------------------------------------------------------- */

static void environment_of(pen_supervisor *s, uint32_t rank, const rank_ends *ends)
{
    (void)snprintf(s->rank_rows[0], sizeof(s->rank_rows[0]), "PENSTOCK_RANK=%u", s->first + rank);
    uint32_t size = s->page->job_size;
    (void)snprintf(s->rank_rows[1], sizeof(s->rank_rows[1]), "PENSTOCK_SIZE=%u", size);
    (void)snprintf(s->rank_rows[2], sizeof(s->rank_rows[2]), "PENSTOCK_CONTROL_FD=%d",
                   ends->control);
    (void)snprintf(s->rank_rows[3], sizeof(s->rank_rows[3]), "PENSTOCK_ARENA_FD=%d", s->arena.fd);
    for (size_t i = 0; i < 4; i++)
        s->environment[s->environment_count + i] = s->rank_rows[i];
    s->environment[s->environment_count + 4] = NULL;
}

static void start_complain(pen_supervisor *s, uint32_t rank, const char *call)
{
    int error = errno;
    pen_super_say(s, PEN_LOG_ERROR, "cannot start rank %u: %s: %s; %s", s->first + rank, call,
                  strerror(error), pen_boot_remedy(error));
    pen_super_event(s, PEN_EXIT_LAUNCH_FAILED, rank, 0);
}

/* Starts a child with vfork. The child uses this process's memory while this process stands still,
 * and makes system calls only. Copying the page tables would take as long as everything else. */
static pid_t spawn(pen_supervisor *s, uint32_t rank, const rank_ends *ends)
{
    environment_of(s, rank, ends);
    /* All signals that have a handler are blocked, and the child returns nowhere. */
    /* NOLINTBEGIN(bugprone-unsafe-functions,cert-msc24-c,cert-msc33-c,clang-analyzer-*) */
    pid_t pid = vfork();
    if (pid == 0) {
        child_run(s, rank, ends);
    }
    /* NOLINTEND(bugprone-unsafe-functions,cert-msc24-c,cert-msc33-c,clang-analyzer-*) */
    return pid;
}

typedef enum started { STARTED, NOT_STARTED, IN_CHILD } started;

static started start_rank(pen_supervisor *s, uint32_t rank, pen_boot *child, pen_status *status)
{
    rank_ends ends;
    const char *call = ends_open(s, rank, &ends);
    pid_t pid = -1;
    if (call == NULL) {
        call = s->options->argv != NULL ? "vfork" : "fork";
        pid = s->options->argv != NULL ? spawn(s, rank, &ends) : fork();
    }
    if (pid == 0) {
        *status = child_become(s, rank, &ends, child);
        return IN_CHILD;
    }
    if (pid < 0) {
        start_complain(s, rank, call);
        ends_close(&ends);
        return NOT_STARTED;
    }
    s->ranks[rank].pid = pid;
    s->ranks[rank].alive = true;
    if (s->ops->started != NULL)
        s->ops->started(s, rank);
    ends_close(&ends);
    return STARTED;
}

/* Reads messages that arrive while ranks are being started. So a program that cannot be started is
 * tried once, not for every rank. */
static void serve(pen_supervisor *s)
{
    for (uint32_t rank = 0; rank < s->started; rank++)
        pen_super_control(s, rank);
    pen_super_pump(s);
    pen_super_settle(s, pen_now_ns());
}

bool pen_super_start(pen_supervisor *s, pen_boot *child, pen_status *status)
{
    while (s->started < s->options->size && !s->rule.verdict.decided) {
        started result = start_rank(s, s->started, child, status);
        if (result == IN_CHILD)
            return true;
        if (result == NOT_STARTED)
            break;
        s->started++;
        if ((s->started & (s->started - 1)) == 0 && s->started <= SERVE_EVERY)
            serve(s);
    }
    for (uint32_t rank = s->started; rank < s->options->size; rank++) {
        s->exit_ranks[rank].told = true; /* not started, so its end does not count */
        pen_super_event(s, PEN_EXIT_ENDED, rank, 0);
    }
    pen_super_settle(s, pen_now_ns());
    return false;
}
