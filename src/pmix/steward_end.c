/* SPDX-License-Identifier: BSD-3-Clause */
/* steward_end.c: how a job of stewards ends. A steward that has a reason to end the job decides,
 * and tells all other stewards. Each steward then ends its own process. Most launchers kill the
 * remaining processes after a process has ended with a status other than 0, but Penstock does not
 * rely on it. */
#include "pmix/steward.h"

#include "boot/control.h"
#include "boot/end_text.h"
#include "boot/host_page.h"
#include "diag/log.h"
#include "os/os.h"
#include "os/proc.h"
#include "pmix/oob.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define NOTIFY_NS (2 * SECOND_NS) /* time for PMIx to pass a message on */
#define LOSS_NS   (3 * SECOND_NS) /* time for the launcher to end a job that has lost a process */
#define NOTICE_NS (2 * SECOND_NS) /* after the first rank has left */
#define LATE_NS   (SECOND_NS / 2) /* added to the exit time-out, which the rank itself enforces */

static pen_rank_text our_rank(const pen_steward *s)
{
    return pen_rank_text_of(s->rank, s->log.host, (int)s->pid);
}

static void say(pen_steward *s, pen_log_level level, pen_end_text line)
{
    pen_log_line(&s->log, level, "%s", line.text);
}

/* ---- deciding -------------------------------------------------------------------------------- */

void pen_steward_finish(pen_steward *s)
{
    if (s->finished || s->pmix == NULL) /* under PMI-1 no end is announced */
        return;
    s->finished = true;
    (void)pen_pmix_finish(s->pmix); /* fails only if the launcher has ended */
}

static void abort_all(pen_steward *s, const char *why)
{
    pen_log_warn(&s->log, "the launcher passes no words on to other hosts (%s); having it end all",
                 why);
    pen_pmix_abort(s->pmix, s->code, "penstock: the job ends");
}

static void tell_other_blocks(pen_steward *s)
{
    pen_pmix_news news = { .code = 0 };
    const char *error = s->deaf ? "it has no store to publish in" : pen_steward_blocks_tell(s);
    if (error == NULL && pen_steward_await(s, PEN_PMIX_NOTIFIED, pen_now_ns() + NOTIFY_NS, &news) &&
        news.code == 0)
        return;
    if (s->code != 0)
        abort_all(s, error != NULL ? error : "PMIx_Publish_nb has failed");
}

static const char *leave_fence(pen_steward *s)
{
    if (s->leave_fenced)
        return NULL;
    s->leave_fenced = true;
    return pen_steward_blocks_meet(s, PEN_STEWARD_FENCE_LEAVE, NULL, NULL, 0);
}

/* Ends with 0 if other blocks cannot be told: meets them in the fence for leaving, since they
 * usually end by themselves. */
static void meet_other_blocks(pen_steward *s)
{
    pen_pmix_news news = { .code = 0 };
    const char *error = leave_fence(s);
    uint64_t until_ns = pen_now_ns() + s->exit_timeout_ns;
    if (error != NULL || !pen_steward_await(s, PEN_PMIX_FENCED, until_ns, &news) || news.code != 0)
        abort_all(s, error != NULL ? error : "they go on");
}

/* Under PMI-1 only the block's first steward can tell other blocks, and the launcher may kill it as
 * soon as this process has ended. So one that decides waits until the first one has told them. */
static void first_tells(const pen_steward *s, pen_steward_from from, const pen_steward_line *line)
{
    if (s->pmix != NULL || s->block_count == 1)
        return;
    if (s->oob != NULL && line != NULL)
        (void)pen_control_send(line->fd, PEN_CONTROL_NOTED, 0, NULL, false);
    if (s->oob != NULL || from != PEN_STEWARD_FROM_HERE)
        return;
    const pen_steward_line *first = &s->lines[0];
    const uint64_t until_ns = pen_now_ns() + NOTIFY_NS;
    pen_control message;
    while (first->fd >= 0 && pen_oob_await(first->fd, POLLIN, until_ns)) {
        const pen_control_result result = pen_control_receive(first->fd, &message);
        if (result == PEN_CONTROL_GONE ||
            (result == PEN_CONTROL_SOME && message.kind == PEN_CONTROL_NOTED))
            return;
    }
}

/* Makes start-up barriers fail, and wakes the ranks that sleep in them. */
static void barriers_fail(pen_steward *s)
{
    /* release: pairs with the acquire of boot_generation in pen_boot_barrier */
    atomic_store_explicit(&s->page->boot_failed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->page->boot_generation, 1, memory_order_release);
    pen_futex_wake(&s->page->boot_generation, INT_MAX);
}

/* Ends this process's rank. If the rank asked for the end, it may continue; otherwise it is told to
 * end. If the status will be 0, the launcher sees an orderly end. */
static void own_rank_end(pen_steward *s)
{
    bool asked = s->word && !s->left;
    if (s->code == 0 || s->left)
        pen_steward_finish(s);
    pen_steward_answer(s, asked ? PEN_CONTROL_GO : PEN_CONTROL_END, s->code);
    barriers_fail(s); /* after the answer: a rank that fails in a barrier asks for the status */
    const pen_host_rank *row = &s->page->ranks[s->rank - s->first];
    if (!s->word && s->joined &&
        atomic_load_explicit(&row->phase, memory_order_relaxed) != PEN_HOST_STARTING)
        (void)kill(s->pid, SIGQUIT); /* the library's handler, set by now, ends a rank quietly */
}

void pen_steward_decide(pen_steward *s, int code, pen_steward_from from,
                        const pen_steward_line *line)
{
    if (s->over)
        return;
    s->over = true;
    s->code = code == 0 || (code & 0xff) != 0 ? code & 0xff : 1; /* a failure stays a failure */
    s->leave_ns = s->notice_ns = s->loss_ns = 0;
    s->end_ns = pen_now_ns() + s->exit_timeout_ns + LATE_NS;
    pen_steward_lines_say(s, PEN_CONTROL_END, s->code, line);
    if (pen_steward_blocks_tells(s, from))
        tell_other_blocks(s);
    first_tells(s, from, line);
    if (s->code == 0 && s->deaf && from != PEN_STEWARD_FROM_BLOCKS)
        meet_other_blocks(s);
    own_rank_end(s);
}

/* ---- messages of this process's rank --------------------------------------------------------- */

static void explain(pen_steward *s, pen_control_kind kind, int code)
{
    pen_rank_text who = our_rank(s);
    /* the launcher sends this signal to all ranks */
    bool by_signal = strncmp(s->note, "SIG", 3) == 0;
    if (kind == PEN_CONTROL_LEAVE)
        say(s, PEN_LOG_ERROR, pen_end_exited(who.text, code, ""));
    else if (by_signal)
        pen_log_info(&s->log, "%s was ended by %s; ending the job", who.text, s->note);
    else
        say(s, code != 0 ? PEN_LOG_ERROR : PEN_LOG_INFO, pen_end_called(who.text, code, s->note));
}

void pen_steward_word(pen_steward *s, pen_control_kind kind, int code)
{
    if (s->over || s->word) /* the rank is answered, or will be */
        return;
    s->word = true;
    if (kind == PEN_CONTROL_LEAVE && code == 0) {
        s->left = true;
        if (pen_steward_is_first(s))
            pen_steward_left(s);
        else
            pen_steward_line_say(&s->lines[0], kind, code);
        return;
    }
    explain(s, kind, code);
    pen_steward_decide(s, code, PEN_STEWARD_FROM_HERE, NULL);
}

void pen_steward_blocked(pen_steward *s, const pen_control *message)
{
    if (s->over || s->word)
        return;
    char departed[24];
    (void)snprintf(departed, sizeof departed, "rank %d", message->code);
    say(s, PEN_LOG_ERROR, pen_end_blocked(our_rank(s).text, message->text, departed));
    pen_steward_decide(s, EXIT_FAILURE, PEN_STEWARD_FROM_HERE, NULL);
}

/* ---- leaving together ------------------------------------------------------------------------ */

static uint64_t leave_deadline(const pen_steward *s, uint64_t now_ns)
{
    return s->leave_limit_ns != 0 ? now_ns + s->leave_limit_ns : 0;
}

void pen_steward_left(pen_steward *s)
{
    if (s->over)
        return;
    if (!s->leaving) {
        s->leaving = true;
        s->notice_ns = pen_now_ns() + NOTICE_NS;
        s->leave_ns = leave_deadline(s, pen_now_ns());
    }
    bool all = s->left;
    for (uint32_t i = 0; i < s->line_count; i++)
        all = all && s->lines[i].left;
    if (!all)
        return;
    if (s->block_count == 1) {
        pen_steward_go(s);
        return;
    }
    const char *error = pen_steward_blocks_meet(s, PEN_STEWARD_FENCE_LEAVE, NULL, NULL, 0);
    if (error != NULL)
        pen_log_error(&s->log, "cannot leave the job together with other hosts: %s", error);
}

void pen_steward_go(pen_steward *s)
{
    if (s->over)
        return;
    s->over = true;
    s->leave_ns = s->notice_ns = s->loss_ns = 0;
    if (pen_steward_is_first(s))
        pen_steward_lines_say(s, PEN_CONTROL_GO, 0, NULL);
    pen_steward_finish(s);
    pen_steward_answer(s, PEN_CONTROL_GO, 0);
}

/* True if a debugger holds a rank of this block, which excuses the delay. */
static bool excused(const pen_steward *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t pid = atomic_load_explicit(&s->page->ranks[i].pid, memory_order_relaxed);
        char state = pid != 0 ? pen_process_state((pid_t)pid) : '?';
        if (state == 'T' || state == 't')
            return true;
    }
    return false;
}

/* The ranks of the block that have left, or have not. */
static pen_rank_list ranks_that(const pen_steward *s, bool left)
{
    pen_rank_list out = { .count = 0 };
    for (uint32_t i = 0; i < s->line_count; i++)
        if (s->lines[i].left == left)
            pen_rank_list_add(&out, s->lines[i].rank);
    if (s->left == left)
        pen_rank_list_add(&out, s->rank);
    return out;
}

static void notice(pen_steward *s)
{
    pen_rank_list left = ranks_that(s, true), stay = ranks_that(s, false);
    say(s, PEN_LOG_WARN, pen_end_notice(&left, &stay, s->leave_limit_ns));
}

static void too_late(pen_steward *s)
{
    pen_rank_list left = ranks_that(s, true), stay = ranks_that(s, false);
    say(s, PEN_LOG_ERROR, pen_end_late(&left, &stay, s->leave_limit_ns));
    pen_steward_decide(s, EXIT_FAILURE, PEN_STEWARD_FROM_HERE, NULL);
}

/* ---- losses ---------------------------------------------------------------------------------- */

void pen_steward_lost(pen_steward *s, uint32_t rank)
{
    if (s->over || s->loss_ns != 0)
        return;
    s->lost_rank = rank;
    s->loss_ns = pen_now_ns() + LOSS_NS; /* the launcher knows the cause and reports it */
}

/* Looks for closed lines, after all messages have been read. If a rank was in the job when its
 * process ended, the rank is lost. If it had resigned, it is lost as soon as a peer joins again,
 * since the launcher takes its end for an orderly one. */
static void lines_look(pen_steward *s)
{
    bool some_joined = s->joined;
    for (uint32_t i = 0; i < s->line_count; i++)
        some_joined = some_joined || s->lines[i].joined;
    for (uint32_t i = 0; i < s->line_count && some_joined && !s->over && s->loss_ns == 0; i++) {
        const pen_steward_line *line = &s->lines[i];
        if (line->fd >= 0)
            continue;
        pen_steward_lost(s, line->rank);
        s->lost_resigned = !line->joined;
        if (s->lost_resigned)
            s->loss_ns = pen_now_ns();
    }
}

static void loss_final(pen_steward *s)
{
    char who[24];
    (void)snprintf(who, sizeof who, "rank %u", s->lost_rank);
    if (s->lost_resigned)
        say(s, PEN_LOG_ERROR, pen_end_resigned(who));
    else
        pen_log_error(&s->log,
                      "%s ended without the exit handshake, and the launcher has not ended the job "
                      "since; ending it",
                      who);
    pen_steward_decide(s, EXIT_FAILURE, PEN_STEWARD_FROM_HERE, NULL);
}

void pen_steward_server_lost(pen_steward *s)
{
    if (s->over)
        return;
    pen_log_error(&s->log, "%s lost the launcher's server of its host; ending the job",
                  our_rank(s).text);
    pen_steward_decide(s, EXIT_FAILURE, PEN_STEWARD_FROM_LINE, NULL);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    if (a_ns == 0 || b_ns == 0)
        return a_ns | b_ns;
    return a_ns < b_ns ? a_ns : b_ns;
}

uint64_t pen_steward_deadline(const pen_steward *s)
{
    return earlier(earlier(s->leave_ns, s->end_ns), earlier(s->notice_ns, s->loss_ns));
}

void pen_steward_tick(pen_steward *s, uint64_t now_ns)
{
    lines_look(s);
    if (s->end_ns != 0 && now_ns >= s->end_ns)
        _exit(s->code); /* ends the process even if it is stuck */
    if (s->loss_ns != 0 && now_ns >= s->loss_ns)
        loss_final(s);
    if (s->notice_ns != 0 && now_ns >= s->notice_ns && !s->over) {
        s->notice_ns = 0;
        notice(s);
    }
    if (s->leave_ns == 0 || now_ns < s->leave_ns || s->loss_ns != 0)
        return;
    if (excused(s))
        s->leave_ns = leave_deadline(s, now_ns);
    else
        too_late(s);
}
