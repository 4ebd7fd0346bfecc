/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.c: the supervisor's loop. It sleeps until a rank sends a message, prints or ends, a
 * signal arrives, a reader takes output again, or a deadline passes. It never blocks on a rank or
 * on a reader. */
#include "launch/supervisor_parts.h"

#include "base/status.h"
#include "boot/arena.h"
#include "boot/boot.h"
#include "diag/log.h"
#include "os/os.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
/* second limit after the time limit, for output that is not read */
#define LIMIT_AGAIN_NS (SECOND_NS * 3 / 2)
#define UNKILLABLE_NS  (2 * SECOND_NS)
#define DRAIN_NS       SECOND_NS /* time for a slow reader of output after a signal */
enum { EVENTS_MAX = 64 };

/* ---- signals --------------------------------------------------------------------------------- */

/* Stops this process as if SIGTSTP had its default action. The kernel ignores the signal in a
 * process that no shell would continue. */
static void stop_self(void)
{
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    struct sigaction before;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    (void)sigaction(SIGTSTP, &plain, &before);
    (void)raise(SIGTSTP);
    (void)pthread_sigmask(SIG_UNBLOCK, &only, NULL); /* the process stops here */
    (void)pthread_sigmask(SIG_BLOCK, &only, NULL);
    (void)sigaction(SIGTSTP, &before, NULL);
}

/* Handles Ctrl-Z: stops the ranks, then this process. When this process continues, continues the
 * ranks and moves all deadlines by the time of the stop. */
static void stop_all(pen_supervisor *s, bool from_terminal)
{
    uint64_t since_ns = pen_now_ns();
    s->ops->signal(s, SIGTSTP, from_terminal);
    stop_self();
    s->ops->signal(s, SIGCONT, false);
    uint64_t stopped_ns = pen_now_ns() - since_ns;
    if (s->limit_ns != 0)
        s->limit_ns += stopped_ns;
    pen_exit_rule_postpone(&s->rule, stopped_ns);
}

static void signal_take(pen_supervisor *s, const struct signalfd_siginfo *info)
{
    int signal = (int)info->ssi_signo;
    bool from_terminal = info->ssi_code == SI_KERNEL;
    switch (signal) {
    case SIGCHLD: /* reaped every round */
        break;
    case SIGTSTP:
        stop_all(s, from_terminal);
        break;
    case SIGUSR2: /* see pen_super_signal_ours: ranks that do not catch it survive it */
        pen_super_say(s, PEN_LOG_ERROR, "SIGUSR2 received; what each rank does follows");
        s->ops->report(s);
        s->ops->signal(s, signal, false);
        break;
    case SIGUSR1:
        s->ops->signal(s, signal, false);
        break;
    default:
        /* The rule sends the first signal on to the ranks. A signal from the terminal has reached
         * them already. */
        s->from_terminal = from_terminal;
        pen_super_event(s, PEN_EXIT_SIGNALLED, 0, signal);
        break;
    }
}

/* Reads pending signals. Returns true if a child may have ended. */
static bool signals_read(pen_supervisor *s)
{
    struct signalfd_siginfo info;
    bool child = false;
    while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        child = child || info.ssi_signo == SIGCHLD;
        signal_take(s, &info);
    }
    return child;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    if (a_ns == 0 || b_ns == 0)
        return a_ns | b_ns;
    return a_ns < b_ns ? a_ns : b_ns;
}

static int wait_ms(const pen_supervisor *s)
{
    uint64_t next_ns = earlier(earlier(pen_exit_rule_next(&s->rule), s->limit_ns), s->prompt_ns);
    next_ns = earlier(earlier(earlier(next_ns, s->drain_ns), s->far_ns), s->trace_ns);
    if (s->kill_ns != 0)
        next_ns = earlier(next_ns, s->kill_ns + UNKILLABLE_NS);
    if (next_ns == 0)
        return -1;
    uint64_t now_ns = pen_now_ns();
    if (next_ns <= now_ns)
        return 0;
    uint64_t ms = (next_ns - now_ns) / 1000000 + 1;
    return ms < 3600000 ? (int)ms : 3600000;
}

static void limit_check(pen_supervisor *s, uint64_t now_ns)
{
    if (s->limit_ns == 0 || now_ns < s->limit_ns)
        return;
    if (pen_exit_rule_over(&s->rule))
        s->output_dropped = true; /* only a slow reader delays the end */
    s->limit_ns = now_ns + LIMIT_AGAIN_NS;
    pen_super_event(s, PEN_EXIT_TIME_LIMIT, 0, 0);
}

/* Gives up a rank that is stuck in a system call, since it cannot be killed. */
static void unkillable_check(pen_supervisor *s, uint64_t now_ns)
{
    if (s->kill_ns == 0 || now_ns < s->kill_ns + UNKILLABLE_NS)
        return;
    s->kill_ns = 0;
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (!s->ranks[rank].alive)
            continue;
        s->ranks[rank].alive = false;
        pen_super_say(
            s, PEN_LOG_ERROR,
            "rank %u (host %s, pid %d) does not die: it is stuck in the kernel; leaving it", rank,
            s->log.host, (int)s->ranks[rank].pid);
        pen_super_event(s, PEN_EXIT_ENDED, rank, 0);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

void pen_super_wait(pen_supervisor *s)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(s->epoll, events, EVENTS_MAX, wait_ms(s));
    for (int i = 0; i < count; i++) {
        uint32_t which = (uint32_t)events[i].data.u64;
        pen_super_source source = (pen_super_source)(events[i].data.u64 >> 32);
        if (source == PEN_SUPER_CONTROL)
            pen_super_control(s, which);
        else if (source == PEN_SUPER_FAR)
            s->ops->far_event(s);
    }
    /* Ctrl-C reaches the supervisor before it can kill a rank. So signals are read after deaths;
     * otherwise the rank's death would count first. If a death comes in between, its SIGCHLD
     * repeats the loop. */
    do {
        pen_super_reap(s);
    } while (signals_read(s));
}

/* Called when all ranks have ended: kills the processes that they left behind. Output is still
 * written, but after a signal for DRAIN_NS only. */
static void wind_up_begin(pen_supervisor *s)
{
    s->swept = true;
    s->kill_ns = 0;
    s->ops->quit(s);
    if (s->rule.verdict.cause.kind == PEN_EXIT_SIGNALLED)
        s->drain_ns = pen_now_ns() + DRAIN_NS;
}

static bool wound_up(pen_supervisor *s, unsigned reads, bool signalled_before)
{
    if (!signalled_before && s->rule.verdict.cause.kind == PEN_EXIT_SIGNALLED)
        return true;
    if (s->output_dropped || (s->drain_ns != 0 && pen_now_ns() >= s->drain_ns))
        return true;
    return reads == 0 && !pen_super_output_waits(s);
}

static void run(pen_supervisor *s)
{
    bool signalled = false;
    for (;;) {
        unsigned reads = pen_super_pump(s);
        pen_super_settle(s, pen_now_ns());
        if (pen_exit_rule_over(&s->rule)) {
            if (!s->swept) {
                wind_up_begin(s);
                signalled = s->rule.verdict.cause.kind == PEN_EXIT_SIGNALLED;
                continue;
            }
            if (s->ops->done != NULL && !s->ops->done(s)) {
                pen_super_wait(s);
                continue;
            }
            if (wound_up(s, reads, signalled))
                return;
            if (reads != 0 && !pen_super_output_waits(s))
                continue;
        }
        if (s->ops->tend != NULL)
            s->ops->tend(s);
        pen_super_wait(s);
        uint64_t now_ns = pen_now_ns();
        limit_check(s, now_ns);
        unkillable_check(s, now_ns);
        pen_super_prompt(s, now_ns);
        pen_super_trace_tend(s, now_ns);
        pen_super_settle(s, now_ns);
        pen_super_tick(s, pen_now_ns());
    }
}

_Noreturn void pen_supervisor_die(int status, int signal)
{
    if (signal != 0) {
        const struct sigaction plain = { .sa_handler = SIG_DFL };
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, signal);
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }); /* no core file of this process */
        (void)sigaction(signal, &plain, NULL);
        (void)raise(signal);
        (void)pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    }
    _exit(status);
}

pen_status pen_supervise(pen_log *log, const pen_supervisor_options *options, int *status_out,
                         int *signal_out, pen_boot *child)
{
    if (options->size == 0 || options->size > PEN_BOOT_RANKS_MAX) {
        pen_log_error(log, "cannot start %u ranks: one host can have between 1 and %d",
                      options->size, PEN_BOOT_RANKS_MAX);
        return PEN_ERR_ARGUMENT;
    }
    pen_supervisor s;
    pen_status status = pen_super_open(&s, log, options);
    if (status == PEN_OK) {
        if (s.ops->start(&s, child, &status))
            return status; /* this process is a rank */
        run(&s);
    }
    int job_status = pen_exit_rule_status(&s.rule);
    int job_signal = s.rule.verdict.raise;
    pen_super_close(&s, false);
    (void)pen_super_restore(&s); /* the process ends, or the caller gets an error */
    pen_arena_destroy(&s.arena);
    if (status == PEN_OK && options->argv == NULL)
        pen_supervisor_die(job_status, job_signal);
    if (status == PEN_OK) {
        *status_out = job_status;
        *signal_out = job_signal;
    }
    return status;
}

pen_status pen_supervise_self(pen_log *log, const pen_boot_needs *needs, const char *launcher,
                              uint32_t ranks, pen_boot *out)
{
    if (gettid() != getpid()) {
        pen_log_error(log,
                      "cannot use GASNET_PSHM_NODES=%u: the call that starts the job comes from a "
                      "thread other than the main one, and only that thread would live on in the "
                      "ranks that are forked; start with `penstock run -n %u`, or start the job in "
                      "main()",
                      ranks, ranks);
        return PEN_ERR_UNUSABLE;
    }
    (void)fflush(NULL); /* otherwise each rank would print the buffered text again */
    const pen_supervisor_options options = {
        .size = ranks, .launcher = launcher, .needs = needs, .ops = &pen_super_local_ops
    };
    return pen_supervise(log, &options, NULL, NULL, out);
}
