/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_end.c: what ranks say and how they die goes to the exit rule; what the rule wants is
 * done. */
#include "boot/supervisor_internal.h"

#include "boot/agent.h"
#include "boot/proc.h"
#include "boot/spread.h"
#include "os/os.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    DYING_WAIT_MS = 1000, /* for a rank that is being torn down */
    SWEEP_ROUNDS_MAX = 100,
};

/* ---- events ---------------------------------------------------------------------------------- */

/* A rank that serves its peers while it waits for a word of ours sleeps in the host page. */
void pen_super_rouse(pen_supervisor *s, uint32_t rank)
{
    pen_host_rank *row = &s->page->ranks[rank];
    pen_fence(); /* pairs with the sleeper's: it hears us when it looks again, or we see it ask */
    pen_futex_rouse(&row->sleeping, &row->wake);
}

/* Who is not told waits for ever. */
static bool answer(pen_supervisor *s, uint32_t rank, pen_control_kind kind, const char *what)
{
    int error = 0;
    if (s->spread != NULL) {
        pen_spread_word(s, rank, kind);
        return true;
    }
    if (s->ranks[rank].control >= 0)
        error = pen_control_send(s->ranks[rank].control, kind, 0, NULL, false);
    pen_super_rouse(s, rank);
    if (error == 0 || error == EPIPE || error == ECONNRESET)
        return true; /* if it has ended, that is an event of its own */
    pen_super_say(s, PEN_LOG_ERROR, "cannot tell rank %u %s: send: %s; ending the job", rank, what,
                  strerror(error));
    pen_super_event(s, PEN_EXIT_LAUNCH_FAILED, rank, 0);
    return false;
}

void pen_super_word(pen_supervisor *s, uint32_t rank, const pen_control *message)
{
    switch (message->kind) {
    case PEN_CONTROL_JOINED:
        pen_super_event(s, PEN_EXIT_JOINED, rank, 0);
        break;
    case PEN_CONTROL_RESIGNED:
        pen_super_event(s, PEN_EXIT_RESIGNED, rank, 0);
        (void)answer(s, rank, PEN_CONTROL_NOTED, "that it has resigned");
        break;
    case PEN_CONTROL_EXIT:
        pen_super_event(s, PEN_EXIT_CALLED, rank, message->code);
        break;
    case PEN_CONTROL_LEAVE:
        pen_super_event(s, PEN_EXIT_LEFT, rank, message->code);
        break;
    case PEN_CONTROL_START_FAILED:
        pen_super_event(s, PEN_EXIT_NOT_STARTED, rank, message->code);
        memcpy(s->ranks[rank].note, message->text, sizeof(s->ranks[rank].note));
        break;
    case PEN_CONTROL_NOTE:
        memcpy(s->ranks[rank].note, message->text, sizeof(s->ranks[rank].note));
        break;
    default: /* a rank of the same job, yet its bytes are not ours to assert on */
        break;
    }
}

static void control_close(pen_supervisor *s, pen_super_rank *r)
{
    (void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, r->control, NULL);
    close(r->control);
    r->control = -1;
}

void pen_super_control(pen_supervisor *s, uint32_t rank)
{
    pen_super_rank *r = &s->ranks[rank];
    for (int i = 0; i < PEN_SUPER_MESSAGES_MAX && r->control >= 0; i++) {
        pen_control message;
        switch (pen_control_receive(r->control, &message)) {
        case PEN_CONTROL_NONE:
            return;
        case PEN_CONTROL_SOME:
            if (s->agent != NULL)
                pen_agent_heard(s, rank, &message);
            else
                pen_super_word(s, rank, &message);
            break;
        case PEN_CONTROL_BAD:
            break;
        case PEN_CONTROL_GONE:
            control_close(s, r);
            return;
        }
    }
}

static void died(pen_supervisor *s, uint32_t rank, int wait_status)
{
    pen_super_rank *r = &s->ranks[rank];
    r->alive = false;
    pen_super_control(s, rank); /* what it said before */
    if (WIFSIGNALED(wait_status))
        pen_super_event(s, PEN_EXIT_DIED, rank, WTERMSIG(wait_status));
    else
        pen_super_event(s, PEN_EXIT_ENDED, rank, WEXITSTATUS(wait_status));
}

void pen_super_reap(pen_supervisor *s)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0 || (pid < 0 && errno == EINTR)) {
        pen_fleet *fleet = pen_super_fleet(s);
        if (fleet != NULL && pen_fleet_reaped(fleet, pid, wait_status))
            continue;
        for (uint32_t rank = 0; rank < s->started; rank++) {
            if (s->ranks[rank].pid == pid && s->ranks[rank].alive) {
                died(s, rank, wait_status);
                break;
            }
        }
    }
}

/* ---- cause before effect --------------------------------------------------------------------- */

static bool batch_fails(const pen_supervisor *s)
{
    for (size_t i = 0; i < s->event_count; i++) {
        const pen_exit_event *event = &s->events[i];
        if ((event->kind == PEN_EXIT_CALLED || event->kind == PEN_EXIT_LEFT) && event->code != 0)
            return true;
    }
    return false;
}

static void wait_for(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return;
    struct pollfd dead = { .fd = fd, .events = POLLIN };
    (void)poll(&dead, 1, DYING_WAIT_MS);
    close(fd);
}

/* A rank gives up because another was killed: its word can be here while the kernel still takes the
 * killed one apart. Then that death comes first; wait for it. Once per job. */
void pen_super_dying_first(pen_supervisor *s)
{
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (s->ranks[rank].alive && !s->exit_ranks[rank].word &&
            pen_process_exiting(s->ranks[rank].pid))
            wait_for(s->ranks[rank].pid);
    }
    pen_super_reap(s);
}

/* ---- what the rule wants --------------------------------------------------------------------- */

/* Whoever sleeps in a start-up barrier gives up. */
void pen_super_barriers_fail(pen_supervisor *s)
{
    /* release: pairs with the acquire of boot_generation in pen_boot_barrier */
    atomic_store_explicit(&s->page->boot_failed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->page->boot_generation, 1, memory_order_release);
    pen_futex_wake(&s->page->boot_generation, INT_MAX);
}

void pen_super_tell(pen_supervisor *s, uint32_t rank, int status, int signal)
{
    pen_super_rank *r = &s->ranks[rank];
    if (!r->alive)
        return;
    if (r->control >= 0)
        (void)pen_control_send(r->control, PEN_CONTROL_END, status, NULL, false);
    pen_super_rouse(s, rank);
    if (signal != 0) {
        (void)kill(r->pid, signal);
        (void)kill(r->pid, SIGCONT); /* or a stopped one would not hear it */
    }
}

static void tell_one(pen_supervisor *s, uint32_t rank)
{
    pen_super_rank *r = &s->ranks[rank];
    int status = s->rule.verdict.status, signal = pen_exit_rule_tell(&s->rule, rank);
    if (signal != 0)
        s->exit_ranks[rank].told = true;
    if (s->spread != NULL) {
        pen_spread_tell(s, rank, status, signal);
        return;
    }
    bool heard = s->rule.verdict.cause.kind == PEN_EXIT_SIGNALLED && s->from_terminal &&
                 getpgid(r->pid) == getpgrp();
    pen_super_tell(s, rank, status, heard ? SIGCONT : signal);
}

static void tell_all(pen_supervisor *s)
{
    if (s->spread != NULL)
        pen_spread_fail(s);
    else
        pen_super_barriers_fail(s);
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (s->ranks[rank].alive)
            tell_one(s, rank);
    }
}

void pen_super_kill(pen_supervisor *s)
{
    s->kill_ns = pen_now_ns();
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (!s->ranks[rank].alive)
            continue;
        s->exit_ranks[rank].told = true;
        if (s->spread == NULL)
            (void)kill(s->ranks[rank].pid, SIGKILL);
    }
    if (s->spread != NULL)
        pen_spread_kill(s);
}

static void go(pen_supervisor *s)
{
    for (uint32_t rank = 0; rank < s->started; rank++)
        if (!answer(s, rank, PEN_CONTROL_GO, "that all have left"))
            return;
}

static void act(pen_supervisor *s, unsigned todo)
{
    if ((todo & PEN_EXIT_DO_EXPLAIN) != 0) {
        pen_super_pump(s); /* what ranks printed before stands before our line */
        pen_super_explain(s);
    }
    if ((todo & PEN_EXIT_DO_GO) != 0)
        go(s);
    if ((todo & PEN_EXIT_DO_LATE) != 0)
        pen_super_explain_late(s);
    if ((todo & PEN_EXIT_DO_TELL) != 0)
        tell_all(s);
    if ((todo & PEN_EXIT_DO_KILL) != 0)
        pen_super_kill(s);
}

void pen_super_settle(pen_supervisor *s, uint64_t now_ns)
{
    if (!s->rule.verdict.decided && batch_fails(s) && s->spread == NULL)
        pen_super_dying_first(s);
    while (s->event_count != 0) { /* doing one thing may bring up another: a full disk, say */
        size_t count = s->event_count;
        s->event_count = 0;
        pen_exit_event *events = malloc(count * sizeof(*events));
        if (events == NULL) { /* then one by one, in the order they were noted */
            unsigned todo = 0;
            for (size_t i = 0; i < count; i++) {
                pen_exit_event event = s->events[i];
                todo |= pen_exit_rule_events(&s->rule, &event, 1, now_ns);
            }
            act(s, todo);
            continue;
        }
        memcpy(events, s->events, count * sizeof(*events));
        unsigned todo = pen_exit_rule_events(&s->rule, events, count, now_ns);
        free(events);
        act(s, todo);
    }
}

bool pen_super_is_stopped(pid_t pid)
{
    char state = pen_process_state(pid);
    return state == 'T' || state == 't';
}

/* Stopped by a debugger, or the reader of our output takes its time: neither is a hang. */
static bool excused(pen_supervisor *s)
{
    if (pen_super_output_waits(s))
        return true;
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (!s->ranks[rank].alive || s->exit_ranks[rank].word)
            continue;
        if (s->spread == NULL)
            s->ranks[rank].stopped = pen_super_is_stopped(s->ranks[rank].pid);
        if (s->ranks[rank].stopped)
            return true;
    }
    return false;
}

void pen_super_tick(pen_supervisor *s, uint64_t now_ns)
{
    if (s->rule.deadline_ns != 0 && now_ns >= s->rule.deadline_ns)
        act(s, pen_exit_rule_tick(&s->rule, now_ns, excused(s)));
}

void pen_super_signal_all(pen_supervisor *s, int signal, bool from_terminal)
{
    if (s->spread != NULL) {
        pen_spread_signal(s, signal);
        return;
    }
    for (uint32_t rank = 0; rank < s->started; rank++) {
        pid_t pid = s->ranks[rank].pid;
        /* The terminal has signalled our whole process group already. */
        if (s->ranks[rank].alive && !(from_terminal && getpgid(pid) == getpgrp()))
            (void)kill(pid, signal);
    }
}

/* ---- what ranks left behind ------------------------------------------------------------------ */

static bool spared(const pen_supervisor *s, pid_t pid)
{
    for (const pid_t *before = s->spared; *before != 0; before++) {
        if (*before == pid)
            return true;
    }
    return false;
}

static size_t kill_children(const pen_supervisor *s)
{
    size_t count = 0;
    const char *call;
    pid_t *children = pen_children(getpid(), &call);
    if (children == NULL)
        return 1; /* there may be some: look again */
    for (const pid_t *child = children; *child != 0; child++) {
        if (!spared(s, *child)) {
            (void)kill(*child, SIGKILL);
            count++;
        }
    }
    free(children);
    return count;
}

/* Orphans of a rank become our children, and theirs when those die; so it takes a few rounds. */
void pen_super_sweep(pen_supervisor *s)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (int round = 0; round < SWEEP_ROUNDS_MAX; round++) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0 || (pid < 0 && errno == EINTR)) {
        }
        if (pid < 0 || kill_children(s) == 0)
            return;
        const struct timespec patience = { .tv_nsec = 20000000 };
        (void)sigtimedwait(&child, NULL, &patience);
    }
}
