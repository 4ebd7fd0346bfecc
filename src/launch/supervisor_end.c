/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_end.c: passes messages and deaths of ranks to the exit rule, and does what the rule
 * decides. */
#include "launch/supervisor_parts.h"

#include "boot/control.h"
#include "os/os.h"
#include "os/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SWEEP_ROUNDS_MAX = 100,
};

/* ---- events ---------------------------------------------------------------------------------- */

void pen_super_word(pen_supervisor *s, uint32_t rank, const pen_control *message)
{
    switch (message->kind) {
    case PEN_CONTROL_JOINED:
        pen_super_event(s, PEN_EXIT_JOINED, rank, 0);
        break;
    case PEN_CONTROL_RESIGNED:
        pen_super_event(s, PEN_EXIT_RESIGNED, rank, 0);
        (void)s->ops->word(s, rank, PEN_CONTROL_NOTED, "that it has resigned");
        break;
    case PEN_CONTROL_EXIT:
        pen_super_event(s, PEN_EXIT_CALLED, rank, message->code);
        break;
    case PEN_CONTROL_LEAVE:
        pen_super_event(s, PEN_EXIT_LEFT, rank, message->code);
        break;
    case PEN_CONTROL_BLOCKED:
        if (!s->rule.verdict.decided)
            memcpy(s->ranks[rank].waits_in, message->text, sizeof(s->ranks[rank].waits_in));
        pen_super_event(s, PEN_EXIT_BLOCKED, rank, message->code);
        break;
    case PEN_CONTROL_START_FAILED:
        pen_super_event(s, PEN_EXIT_NOT_STARTED, rank, message->code);
        memcpy(s->ranks[rank].note, message->text, sizeof(s->ranks[rank].note));
        break;
    case PEN_CONTROL_NOTE:
        memcpy(s->ranks[rank].note, message->text, sizeof(s->ranks[rank].note));
        break;
    default: /* unknown message of a rank: ignored */
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
            s->ops->heard(s, rank, &message);
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
    pen_super_control(s, rank); /* messages that it sent before */
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
        if (s->ops->reaped != NULL && s->ops->reaped(s, pid, wait_status))
            continue;
        for (uint32_t rank = 0; rank < s->started; rank++) {
            if (s->ranks[rank].pid == pid && s->ranks[rank].alive) {
                died(s, rank, wait_status);
                break;
            }
        }
    }
}

/* ---- causes before effects ------------------------------------------------------------------- */

static bool batch_fails(const pen_supervisor *s)
{
    for (size_t i = 0; i < s->event_count; i++) {
        const pen_exit_event *event = &s->events[i];
        if ((event->kind == PEN_EXIT_CALLED || event->kind == PEN_EXIT_LEFT) && event->code != 0)
            return true;
    }
    return false;
}

/* ---- the rule's decisions -------------------------------------------------------------------- */

static void tell_one(pen_supervisor *s, uint32_t rank)
{
    int status = s->rule.verdict.status, signal = pen_exit_rule_tell(&s->rule, rank);
    if (signal != 0)
        s->exit_ranks[rank].told = true;
    s->ops->tell(s, rank, status, signal);
}

static void tell_all(pen_supervisor *s)
{
    s->ops->fail(s);
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (s->ranks[rank].alive)
            tell_one(s, rank);
    }
}

void pen_super_kill(pen_supervisor *s)
{
    s->kill_ns = pen_now_ns();
    for (uint32_t rank = 0; rank < s->started; rank++)
        s->exit_ranks[rank].told = s->exit_ranks[rank].told || s->ranks[rank].alive;
    s->ops->kill(s);
}

static void go(pen_supervisor *s)
{
    for (uint32_t rank = 0; rank < s->started; rank++)
        if (!s->ops->word(s, rank, PEN_CONTROL_GO, "that all have left"))
            return;
}

static void act(pen_supervisor *s, unsigned todo)
{
    if ((todo & PEN_EXIT_DO_EXPLAIN) != 0) {
        pen_super_pump(s); /* earlier output of ranks precedes the report */
        pen_super_explain(s);
    }
    if ((todo & PEN_EXIT_DO_GO) != 0)
        go(s);
    if ((todo & PEN_EXIT_DO_NOTICE) != 0)
        pen_super_notice(s);
    if ((todo & PEN_EXIT_DO_TELL) != 0)
        tell_all(s);
    if ((todo & PEN_EXIT_DO_KILL) != 0)
        pen_super_kill(s);
}

void pen_super_settle(pen_supervisor *s, uint64_t now_ns)
{
    if (s->ops->dying_first != NULL && !s->rule.verdict.decided && batch_fails(s))
        s->ops->dying_first(s);
    while (s->event_count != 0) { /* an action may cause another event: a full disk, say */
        size_t count = s->event_count;
        s->event_count = 0;
        pen_exit_event *events = malloc(count * sizeof(*events));
        if (events == NULL) { /* without memory: one by one, in the order of arrival */
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

/* True if the delay is no hang: a debugger has stopped a rank, or the reader of the output is
 * slow. */
static bool excused(pen_supervisor *s)
{
    if (pen_super_output_waits(s))
        return true;
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (!s->ranks[rank].alive || s->exit_ranks[rank].word)
            continue;
        if (s->ops->look != NULL)
            s->ops->look(s, rank);
        if (s->ranks[rank].stopped)
            return true;
    }
    return false;
}

void pen_super_tick(pen_supervisor *s, uint64_t now_ns)
{
    uint64_t next_ns = pen_exit_rule_next(&s->rule);
    if (next_ns != 0 && now_ns >= next_ns)
        act(s, pen_exit_rule_tick(&s->rule, now_ns, excused(s)));
}

/* ---- processes that ranks left behind -------------------------------------------------------- */

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
        return 1; /* unknown, so look again */
    for (const pid_t *child = children; *child != 0; child++) {
        if (!spared(s, *child)) {
            (void)kill(*child, SIGKILL);
            count++;
        }
    }
    free(children);
    return count;
}

/* Kills the processes that ranks left behind. Orphans become children of this process when their
 * parent dies, so this takes a few rounds. */
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
