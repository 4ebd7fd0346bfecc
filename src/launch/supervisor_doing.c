/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_doing.c: reports what each rank is doing, at the time limit and on SIGUSR2: a line for
 * each rank, then the reasons why they do not go on. */
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "diag/log.h"
#include "launch/diagnosis.h"
#include "launch/seen.h"
#include "launch/supervisor_parts.h"
#include "os/os.h"
#include "os/proc.h"

#include <stdio.h>
#include <stdlib.h>

static const char *phase_text(uint32_t phase)
{
    static const char *const texts[] = {
#define PHASE_TEXT(name, text) text,
        PEN_HOST_PHASE_LIST(PHASE_TEXT)
#undef PHASE_TEXT
    };
    return phase < sizeof(texts) / sizeof(texts[0]) ? texts[phase] : "in an unknown phase";
}

static const char *state_text(char state)
{
    switch (state) {
    case 'R':
        return "computing";
    case 'S':
        return "asleep";
    case 'D':
        return "in an uninterruptible system call";
    case 'T':
    case 't':
        return "stopped";
    case 'Z':
    case 'X':
        return "dead";
    default:
        return "in an unknown state";
    }
}

/* Reports a joined rank. If it waits in no call of the library, it computes or waits elsewhere. */
static void report_joined(pen_supervisor *s, uint32_t rank, const char *process)
{
    const pen_host_rank *row = &s->page->ranks[rank];
    pen_wait_note note;
    char waits[256] = "in no call that waits";
    uint64_t now_ns = pen_now_ns();
    if (pen_wait_read(&row->wait, now_ns, &note))
        pen_wait_text(&note, now_ns, waits, sizeof(waits));
    /* relaxed: shown to people only, each number by itself */
    pen_super_say(s, PEN_LOG_ERROR, "%s: %s%s, %s, %llu events handled, process %s",
                  pen_super_rank_text(s, rank).text,
                  phase_text(atomic_load_explicit(&row->phase, memory_order_relaxed)),
                  s->exit_ranks[rank].left ? ", has left with 0" : "", waits,
                  (unsigned long long)atomic_load_explicit(&row->progress, memory_order_relaxed),
                  process);
}

static void report_rank(pen_supervisor *s, uint32_t rank)
{
    const pen_super_rank *r = &s->ranks[rank];
    if (!r->alive) {
        pen_super_say(s, PEN_LOG_ERROR, "%s: has ended", pen_super_rank_text(s, rank).text);
        return;
    }
    char kernel[48], process[112];
    pen_process_sleeps_in(r->pid, kernel, sizeof(kernel));
    (void)snprintf(process, sizeof(process), "%s%s%s%s", state_text(pen_process_state(r->pid)),
                   kernel[0] != '\0' ? " (" : "", kernel, kernel[0] != '\0' ? ")" : "");
    if (s->exit_ranks[rank].joined)
        report_joined(s, rank, process);
    else
        pen_super_say(s, PEN_LOG_ERROR, "%s: has not joined the job, process %s",
                      pen_super_rank_text(s, rank).text, process);
}

void pen_super_report_ours(pen_supervisor *s)
{
    for (uint32_t rank = 0; rank < s->started; rank++)
        report_rank(s, rank);
}

pen_seen *pen_super_seen(const pen_supervisor *s)
{
    pen_seen *ranks = calloc(s->started != 0 ? s->started : 1, sizeof(*ranks));
    for (uint32_t rank = 0; ranks != NULL && rank < s->started; rank++) {
        pen_seen *seen = &ranks[rank];
        if (s->ranks[rank].alive && s->exit_ranks[rank].joined)
            pen_seen_read(&s->page->ranks[rank], s->ranks[rank].pid, seen);
        else
            *seen = (pen_seen){ .known = true,
                                .alive = s->ranks[rank].alive,
                                .process = pen_process_state(s->ranks[rank].pid),
                                .pid = (int32_t)s->ranks[rank].pid };
        seen->left = s->exit_ranks[rank].left;
    }
    return ranks;
}

static void say(void *ctx, const char *sentence)
{
    pen_supervisor *s = ctx;
    pen_super_say(s, PEN_LOG_ERROR, "%s", sentence);
}

void pen_super_diagnose(pen_supervisor *s, const pen_seen *ranks, uint32_t count)
{
    (void)pen_diagnose(ranks, count, say, s);
}

void pen_super_report(pen_supervisor *s)
{
    pen_super_report_ours(s);
    pen_seen *ranks = pen_super_seen(s);
    if (ranks != NULL)
        pen_super_diagnose(s, ranks, s->started);
    free(ranks);
}
