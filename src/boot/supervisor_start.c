/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_start.c: starting the ranks, by fork and exec or, for a program that became its own
 * launcher, by fork alone. */
#include "boot/supervisor_internal.h"

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

/* A rank's ends of what joins it with us; -1: it keeps our descriptor. */
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

static bool watch(int epoll, int fd, uint64_t data)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool stream_open(pen_supervisor *s, uint32_t rank, int i, rank_ends *ends)
{
    char tag[16] = "";
    if (s->options->tag)
        (void)snprintf(tag, sizeof(tag), "[%u] ", rank);
    pen_lines_init(&s->ranks[rank].lines[i], tag);
    if (s->inherit[i])
        return true;
    int ours_and_theirs[2];
    if (pipe2(ours_and_theirs, O_CLOEXEC) != 0)
        return false;
    ends->stream[i] = ours_and_theirs[1];
    int fd = pen_super_high_fd(s, ours_and_theirs[0]);
    s->ranks[rank].stream[i] = fd;
    return fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
           watch(s->streams_epoll, fd,
                 PEN_SUPER_DATA((unsigned)PEN_SUPER_STREAM + (unsigned)i, rank));
}

static bool ends_open(pen_supervisor *s, uint32_t rank, rank_ends *ends)
{
    *ends = (rank_ends){ -1, { -1, -1 } };
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    ends->control = pair[1];
    s->ranks[rank].control = pen_super_high_fd(s, pair[0]);
    return s->ranks[rank].control >= 0 &&
           watch(s->epoll, s->ranks[rank].control, PEN_SUPER_DATA(PEN_SUPER_CONTROL, rank)) &&
           stream_open(s, rank, PEN_STREAM_OUT, ends) && stream_open(s, rank, PEN_STREAM_ERR, ends);
}

/* ---- in the child -------------------------------------------------------------------------------
 */

/* Ends with its parent, whatever happens to that; the parent may be gone already. */
static void child_bind(const pen_supervisor *s)
{
    (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L);
    if (getppid() != s->pid)
        _exit(128 + SIGKILL);
}

static void child_stdio(const pen_supervisor *s, uint32_t rank, const rank_ends *ends)
{
    if (rank != 0)
        (void)dup2(s->null_fd, STDIN_FILENO);
    if (ends->stream[PEN_STREAM_OUT] >= 0)
        (void)dup2(ends->stream[PEN_STREAM_OUT], STDOUT_FILENO);
    if (ends->stream[PEN_STREAM_ERR] >= 0)
        (void)dup2(ends->stream[PEN_STREAM_ERR], STDERR_FILENO);
}

static _Noreturn void child_exec(pen_supervisor *s, const rank_ends *ends)
{
    (void)fcntl(ends->control, F_SETFD, 0);
    (void)fcntl(s->arena.fd, F_SETFD, 0);
    (void)setrlimit(RLIMIT_NOFILE, &s->files_before);
    (void)sigaction(SIGCHLD, &s->child_before, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &s->mask_before, NULL);
    execvpe(s->options->argv[0], s->options->argv, s->environment);
    int why = errno;
    (void)pen_control_send(ends->control, PEN_CONTROL_START_FAILED, why, NULL, true);
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

/* The forked copy becomes a rank: nothing of the supervisor's may stay in it. */
static pen_status child_become(pen_supervisor *s, uint32_t rank, rank_ends *ends, pen_boot *child)
{
    int control = ends->control;
    ends->control = -1;
    ends_close(ends); /* dup2 has taken the streams over */
    pen_log *log = s->outer;
    char *base = s->arena.base;
    int arena_fd = s->arena.fd;
    const char *launcher = s->options->launcher;
    int first = s->fd_base;
    pen_super_close(s, true);
    close_from(first);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0L, 0L, 0L, 0L);
    return pen_boot_attach(log, arena_fd, base, control, rank, launcher, child);
}

/* ---- in the supervisor
 * --------------------------------------------------------------------------- */

static void environment_of(pen_supervisor *s, uint32_t rank, const rank_ends *ends)
{
    (void)snprintf(s->rank_rows[0], sizeof(s->rank_rows[0]), "PENSTOCK_RANK=%u", rank);
    (void)snprintf(s->rank_rows[1], sizeof(s->rank_rows[1]), "PENSTOCK_SIZE=%u", s->options->size);
    (void)snprintf(s->rank_rows[2], sizeof(s->rank_rows[2]), "PENSTOCK_CONTROL_FD=%d",
                   ends->control);
    (void)snprintf(s->rank_rows[3], sizeof(s->rank_rows[3]), "PENSTOCK_ARENA_FD=%d", s->arena.fd);
    for (size_t i = 0; i < 4; i++)
        s->environment[s->environment_count + i] = s->rank_rows[i];
    s->environment[s->environment_count + 4] = NULL;
}

static void start_complain(pen_supervisor *s, uint32_t rank)
{
    const char *remedy =
        errno == EAGAIN   ? "raise the limit of processes (`ulimit -u`, or pids.max of the cgroup)"
        : errno == EMFILE ? "raise the limit of open files (`ulimit -n`)"
        : errno == ENFILE ? "the whole system has too many open files (fs.file-max)"
                          : "use fewer ranks";
    pen_super_say(s, PEN_LOG_ERROR, "cannot start rank %u: %s; %s", rank, strerror(errno), remedy);
    pen_super_event(s, PEN_EXIT_LAUNCH_FAILED, rank, 0);
}

/* The child runs in our memory while we stand still, and makes nothing but system calls; copying
 * our page tables for it would take as long as all the rest. */
static pid_t spawn(pen_supervisor *s, uint32_t rank, const rank_ends *ends)
{
    environment_of(s, rank, ends);
    /* All signals that have a handler are blocked, and the child returns nowhere. */
    /* NOLINTBEGIN(bugprone-unsafe-functions,cert-msc24-c,cert-msc33-c,clang-analyzer-*) */
    pid_t pid = vfork();
    if (pid == 0) {
        child_bind(s);
        child_stdio(s, rank, ends);
        child_exec(s, ends);
    }
    /* NOLINTEND(bugprone-unsafe-functions,cert-msc24-c,cert-msc33-c,clang-analyzer-*) */
    return pid;
}

typedef enum started { STARTED, NOT_STARTED, IN_CHILD } started;

static started start_rank(pen_supervisor *s, uint32_t rank, pen_boot *child, pen_status *status)
{
    rank_ends ends;
    if (!ends_open(s, rank, &ends)) {
        start_complain(s, rank);
        ends_close(&ends);
        return NOT_STARTED;
    }
    pid_t pid = s->options->argv != NULL ? spawn(s, rank, &ends) : fork();
    if (pid == 0) {
        child_bind(s);
        child_stdio(s, rank, &ends);
        *status = child_become(s, rank, &ends, child);
        return IN_CHILD;
    }
    if (pid < 0) {
        start_complain(s, rank);
        ends_close(&ends);
        return NOT_STARTED;
    }
    s->ranks[rank].pid = pid;
    s->ranks[rank].alive = true;
    ends_close(&ends);
    return STARTED;
}

/* What has arrived while we start the others: a program that cannot be started is tried once, not N
 * times. */
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
        s->exit_ranks[rank].told = true; /* it never was */
        pen_super_event(s, PEN_EXIT_ENDED, rank, 0);
    }
    pen_super_settle(s, pen_now_ns());
    return false;
}
