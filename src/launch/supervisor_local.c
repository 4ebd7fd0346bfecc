/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_local.c: operations on ranks that are children of this process, for a job on one host.
 * An agent uses most of them for its own children. */
#include "base/compiler.h"
#include "base/status.h"
#include "boot/arena.h"
#include "boot/control.h"
#include "boot/host_page.h"
#include "diag/log.h"
#include "launch/supervisor_parts.h"
#include "os/os.h"
#include "os/proc.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DYING_WAIT_MS = 1000 }; /* for the kernel to finish a rank that is ending */

uint32_t pen_super_children(const pen_supervisor *s) { return s->options->size; }

static pen_status arena_open(pen_supervisor *s)
{
    bool terminal = isatty(STDOUT_FILENO) && s->options->size > 1;
    pen_status status =
        pen_arena_create(&s->log, s->options->size, s->options->needs, s->environment,
                         terminal ? PEN_HOST_FLAG_TERMINAL : 0, &s->arena);
    if (status == PEN_OK)
        s->page = (pen_host_page *)(void *)s->arena.base;
    return status;
}

/* ---- orders to ranks ------------------------------------------------------------------------- */

/* Wakes a rank that waits for a message of the supervisor. While it serves its peers it sleeps in
 * the host page. */
void pen_super_rouse(pen_supervisor *s, uint32_t rank)
{
    pen_host_rank *row = &s->page->ranks[rank];
    pen_fence(); /* pairs with the sleeper's: it reads the message, or its flag is seen here */
    pen_futex_rouse(&row->sleeping, &row->wake);
}

/* Sends a message to a rank. If that fails, ends the job and returns false, since the rank would
 * wait without end. */
bool pen_super_word_to(pen_supervisor *s, uint32_t rank, pen_control_kind kind, const char *what)
{
    int error = 0;
    if (s->ranks[rank].control >= 0)
        error = pen_control_send(s->ranks[rank].control, kind, 0, NULL, false);
    pen_super_rouse(s, rank);
    if (error == 0 || error == EPIPE || error == ECONNRESET)
        return true; /* the end of the rank is an event of its own */
    pen_super_say(s, PEN_LOG_ERROR, "cannot tell rank %u %s: send: %s; ending the job", rank, what,
                  strerror(error));
    pen_super_event(s, PEN_EXIT_LAUNCH_FAILED, rank, 0);
    return false;
}

/* Makes start-up barriers fail, and wakes the ranks that sleep in them. */
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
        (void)kill(r->pid, SIGCONT); /* a stopped process continues, so that it takes the signal */
    }
}

static void tell(pen_supervisor *s, uint32_t rank, int status, int signal)
{
    bool heard = s->rule.verdict.cause.kind == PEN_EXIT_SIGNALLED && s->from_terminal &&
                 getpgid(s->ranks[rank].pid) == getpgrp();
    pen_super_tell(s, rank, status, heard ? SIGCONT : signal);
}

void pen_super_kill_ours(pen_supervisor *s)
{
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (s->ranks[rank].alive)
            (void)kill(s->ranks[rank].pid, SIGKILL);
    }
}

/* True if a rank gets this signal. SIGUSR2 asks for a report, so it is passed on only to ranks that
 * catch it. */
static bool wants(pid_t pid, int signal)
{
    return signal != SIGUSR2 || pen_process_catches(pid, signal);
}

void pen_super_signal_ours(pen_supervisor *s, int signal, bool from_terminal)
{
    for (uint32_t rank = 0; rank < s->started; rank++) {
        pid_t pid = s->ranks[rank].pid;
        /* The terminal has signalled the whole process group already. */
        if (s->ranks[rank].alive && wants(pid, signal) &&
            !(from_terminal && getpgid(pid) == getpgrp()))
            (void)kill(pid, signal);
    }
}

/* ---- facts about ranks ----------------------------------------------------------------------- */

const char *pen_super_host(const pen_supervisor *s, uint32_t rank)
{
    (void)rank;
    return s->log.host;
}

void pen_super_look(pen_supervisor *s, uint32_t rank)
{
    char state = pen_process_state(s->ranks[rank].pid);
    s->ranks[rank].stopped = state == 'T' || state == 't';
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

/* Waits for ranks that the kernel is ending, once per job. If a rank fails because a peer was
 * killed, its message can arrive before that death is visible. Then the death has to count
 * first. */
void pen_super_dying_first(pen_supervisor *s)
{
    for (uint32_t rank = 0; rank < s->started; rank++) {
        if (s->ranks[rank].alive && !s->exit_ranks[rank].word &&
            pen_process_exiting(s->ranks[rank].pid))
            wait_for(s->ranks[rank].pid);
    }
    pen_super_reap(s);
}

/* ---- the table ------------------------------------------------------------------------------- */

const pen_super_ops pen_super_local_ops = {
    .who = "run",
    .children = pen_super_children,
    .open = arena_open,
    .start = pen_super_start,
    .quit = pen_super_sweep,
    .word = pen_super_word_to,
    .tell = tell,
    .fail = pen_super_barriers_fail,
    .kill = pen_super_kill_ours,
    .signal = pen_super_signal_ours,
    .host = pen_super_host,
    .look = pen_super_look,
    .dying_first = pen_super_dying_first,
    .report = pen_super_report,
    .event = pen_super_note,
    .heard = pen_super_word,
    .printed = pen_super_printed,
    .say = pen_super_line,
    .queued = pen_super_queued,
};
