/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c: see engine.h: a team's collectives underway, with their sections and steps. */
#include "coll/engine.h"

#include "base/compiler.h"
#include "base/copy.h"
#include "boot/wait_state.h"
#include "job/fatal.h"
#include "job/job.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "rma/event.h"
#include "trace/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_ENTER = 128, TAG_LEAVE = 192 }; /* tags of other transfers are lower */

enum {
    STEPS_FIRST = 8,             /* steps: first length of a list */
    PLACES_FROM = 16,            /* steps: shorter lists are searched linearly */
    TABLE_FIRST = 16,            /* collectives underway on a team */
    SCRATCH_KEPT_MAX = 64 << 10, /* bytes of scratch that a free op keeps for the next collective */
    UNLOCKED_LEN = 2 << 10,      /* bytes: longer copies run without the lock */
    CATCH_UP_EVERY = 1 << 20,    /* collectives */
};

static PEN_COLD _Noreturn void no_memory(pen_job *job, const char *call)
{
    pen_job_fatal(job,
                  "cannot begin a collective: %s: %s; keep fewer, or smaller ones, in flight at "
                  "once",
                  call, strerror(errno));
}

/* ---- building lists of steps ----------------------------------------------------------------- */

/* Tests whether a step waits for no receive except the one whose bytes it forwards. */
static bool is_free(const pen_coll_step *step)
{
    return step->action != PEN_COLL_RECEIVE && step->after >= PEN_COLL_AT_ONCE;
}

static pen_coll_step *step_new(pen_coll_op *op, pen_coll_section *section, pen_coll_action action,
                               int32_t after, size_t len)
{
    if (section->count == section->count_max) {
        uint32_t count_max = section->count_max == 0 ? STEPS_FIRST : section->count_max * 2;
        pen_coll_step *steps = realloc(section->steps, count_max * sizeof *steps);
        if (steps == NULL)
            no_memory(op->coll->job, "realloc");
        section->steps = steps;
        section->count_max = count_max;
    }
    pen_coll_step *step = &section->steps[section->count++];
    *step = (pen_coll_step){ .action = (uint8_t)action, .after = after, .len = len };
    section->free_count += is_free(step);
    return step;
}

static int32_t step_index(const pen_coll_section *section) { return (int32_t)section->count - 1; }

int32_t pen_coll_send(pen_coll_op *op, pen_coll_section *section, uint32_t peer, uint8_t tag,
                      const char *from, size_t len, int32_t after)
{
    pen_coll_step *step = step_new(op, section, PEN_COLL_SEND, after, len);
    step->peer = peer;
    step->tag = tag;
    step->from = from;
    return step_index(section);
}

int32_t pen_coll_receive(pen_coll_op *op, pen_coll_section *section, uint32_t peer, uint8_t tag,
                         char *to, size_t len)
{
    pen_coll_step *step = step_new(op, section, PEN_COLL_RECEIVE, PEN_COLL_AT_ONCE, len);
    step->peer = peer;
    step->tag = tag;
    step->to = to;
    return step_index(section);
}

int32_t pen_coll_copy(pen_coll_op *op, pen_coll_section *section, char *to, const char *from,
                      size_t len, int32_t after)
{
    if (to == from || len == 0)
        return step_index(section);
    pen_coll_step *step = step_new(op, section, PEN_COLL_COPY, after, len);
    step->to = to;
    step->from = from;
    return step_index(section);
}

int32_t pen_coll_combine(pen_coll_op *op, pen_coll_section *section, const char *left, char *right,
                         size_t len)
{
    pen_coll_step *step = step_new(op, section, PEN_COLL_COMBINE, PEN_COLL_AFTER_DATA, len);
    step->to = right;
    step->from = left;
    return step_index(section);
}

char *pen_coll_scratch(pen_coll_section *section, size_t len)
{
    size_t used = pen_align_up(len, PEN_CACHE_LINE);
    PEN_INVARIANT(used <= section->scratch_len - section->scratch_used);
    char *at = section->scratch + section->scratch_used;
    section->scratch_used += used;
    return at;
}

void pen_coll_scratch_reserve(pen_coll_op *op, pen_coll_section *section, size_t len)
{
    if (len <= section->scratch_len)
        return;
    free(section->scratch);
    section->scratch = aligned_alloc(PEN_CACHE_LINE, pen_align_up(len, PEN_CACHE_LINE));
    if (section->scratch == NULL)
        no_memory(op->coll->job, "aligned_alloc");
    section->scratch_len = len;
}

/* ---- ops of a team --------------------------------------------------------------------------- */

pen_coll_op *pen_coll_op_new(pen_coll_team *coll)
{
    pen_coll_op *op = coll->free;
    if (op != NULL) {
        coll->free = op->next;
        return op;
    }
    op = calloc(1, sizeof *op);
    if (op == NULL)
        no_memory(coll->job, "calloc");
    op->coll = coll;
    return op;
}

/* Appends the op to the job's list of stalled ones, which polls run again. */
static void op_stall(pen_coll_op *op)
{
    pen_coll *jobs = op->coll->job->coll;
    pen_coll_op **at = &jobs->stalled;
    while (*at != NULL)
        at = &(*at)->next;
    *at = op;
    op->next = NULL;
    op->stalled = true;
    pen_progress_wait_for_room(&op->coll->job->progress, 1);
}

static void op_unstall(pen_coll_op *op)
{
    pen_coll *jobs = op->coll->job->coll;
    pen_coll_op **at = &jobs->stalled;
    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    op->stalled = false;
    pen_progress_wait_for_room(&op->coll->job->progress, -1);
}

static void op_free(pen_coll_op *op)
{
    for (unsigned i = 0; i < PEN_COLL_SECTIONS; i++) {
        for (uint32_t step_i = 0; step_i < op->sections[i].count; step_i++)
            free(op->sections[i].steps[step_i].early);
        free(op->sections[i].scratch);
        free(op->sections[i].steps);
        free(op->sections[i].places);
    }
    free(op);
}

void pen_coll_team_end(pen_coll_team *coll)
{
    for (uint32_t i = 0; i < coll->table_len; i++) {
        pen_coll_op *op = coll->table[i];
        if (op != NULL && op->stalled)
            op_unstall(op);
        if (op != NULL)
            op_free(op);
    }
    while (coll->free != NULL) {
        pen_coll_op *op = coll->free;
        coll->free = op->next;
        op_free(op);
    }
    pen_coll_kept_free(coll);
    free(coll->table);
    free(coll->peers);
    free(coll);
}

/* Returns the op to the team's free list; it keeps its lists of steps. */
static void op_recycle(pen_coll_op *op)
{
    pen_coll_team *coll = op->coll;
    pen_coll_op clean = { .coll = coll, .next = coll->free };
    for (unsigned i = 0; i < PEN_COLL_SECTIONS; i++) {
        pen_coll_section *old = &op->sections[i], *new = &clean.sections[i];
        new->steps = old->steps;
        new->count_max = old->count_max;
        new->places = old->places;
        new->places_len = old->places_len;
        if (old->scratch_len > SCRATCH_KEPT_MAX) {
            free(old->scratch);
        } else {
            new->scratch = old->scratch;
            new->scratch_len = old->scratch_len;
        }
    }
    *op = clean;
    coll->free = op;
}

pen_coll_op *pen_coll_op_find(const pen_coll_team *coll, uint32_t number)
{
    if (coll->table_len == 0)
        return NULL;
    pen_coll_op *op = coll->table[number & (coll->table_len - 1)];
    return op != NULL && op->what.number == number ? op : NULL;
}

static void table_put(pen_coll_team *coll, pen_coll_op *op)
{
    uint32_t number = op->what.number;
    while (coll->table_len == 0 || coll->table[number & (coll->table_len - 1)] != NULL) {
        uint32_t len = coll->table_len == 0 ? TABLE_FIRST : coll->table_len * 2;
        pen_coll_op **table = calloc(len, sizeof(pen_coll_op *));
        if (table == NULL)
            no_memory(coll->job, "calloc");
        for (uint32_t i = 0; i < coll->table_len; i++)
            if (coll->table[i] != NULL)
                table[coll->table[i]->what.number & (len - 1)] = coll->table[i];
        free(coll->table);
        coll->table = table;
        coll->table_len = len;
    }
    coll->table[number & (coll->table_len - 1)] = op;
    coll->open_count++;
}

/* A member that meets by flag lines sends no messages. Its known count must not become so old
 * that its number seems to lie ahead. */
static void peers_catch_up(pen_coll_team *coll)
{
    for (uint32_t rank = 0; rank < coll->team->view.size; rank++)
        if ((int32_t)(coll->peers[rank].begun - coll->all_begun) < 0)
            coll->peers[rank].begun = coll->all_begun;
}

uint32_t pen_coll_count(pen_coll_team *coll, const pen_coll_what *what)
{
    uint32_t number = coll->begun;
    pen_coll_what *recent = &coll->recent[number % PEN_COLL_WINDOW];
    *recent = *what;
    recent->number = number;
    if (coll->kept_count != 0)
        pen_coll_kept_check(coll, recent);
    coll->begun++;
    if (coll->team->id == 0)
        pen_coll_note_entered(coll->team->job->coll, PEN_ENTERED_COLLECTIVE, number);
    if (pen_unlikely(coll->job->trace != NULL))
        pen_coll_trace_entered(coll->job, PEN_TRACE_MEET_COLLECTIVE, coll->team->id, what->kind,
                               number);
    if (number % CATCH_UP_EVERY == 0)
        peers_catch_up(coll);
    if (coll->wanted_count != 0)
        pen_coll_answer_asked(coll);
    return number;
}

/* ---- finding steps --------------------------------------------------------------------------- */

/* In large teams a member has a step for each peer. A table finds steps by a hash of the fields
 * that name a transfer in a message. 0 is an empty slot, n is step n - 1. */

static uint32_t place_first(const pen_coll_section *section, uint32_t action, uint32_t peer,
                            uint32_t tag)
{
    uint32_t hash = (peer * 2 + (action == PEN_COLL_SEND)) * 256 + tag;
    return hash * 0x9e3779b1u >> 7 & (section->places_len - 1); /* 2^32 / golden ratio */
}

static void places_reserve(pen_coll_op *op, pen_coll_section *section)
{
    uint32_t len = 4 * PLACES_FROM;
    while (len < 2 * section->count)
        len *= 2;
    if (len > section->places_len) {
        free(section->places);
        section->places = calloc(len, sizeof *section->places);
        if (section->places == NULL)
            no_memory(op->coll->job, "calloc");
        section->places_len = len;
        return;
    }
    memset(section->places, 0, section->places_len * sizeof *section->places);
}

/* Called when the list has its final form. */
static void places_fill(pen_coll_op *op, pen_coll_section *section)
{
    if (section->count < PLACES_FROM)
        return;
    places_reserve(op, section);
    for (uint32_t i = 0; i < section->count; i++) {
        const pen_coll_step *step = &section->steps[i];
        if (step->action != PEN_COLL_RECEIVE && step->action != PEN_COLL_SEND)
            continue;
        uint32_t at = place_first(section, step->action, step->peer, step->tag);
        while (section->places[at] != 0)
            at = (at + 1) & (section->places_len - 1);
        section->places[at] = i + 1;
    }
}

static bool is_transfer(const pen_coll_step *step, pen_coll_action action, uint32_t peer,
                        uint32_t tag)
{
    return step->action == action && step->peer == peer && step->tag == tag && !step->complete;
}

pen_coll_step *pen_coll_step_find(const pen_coll_section *section, pen_coll_action action,
                                  uint32_t peer, uint32_t tag)
{
    if (section->count < PLACES_FROM) {
        for (uint32_t i = section->complete; i < section->count; i++)
            if (is_transfer(&section->steps[i], action, peer, tag))
                return &section->steps[i];
        return NULL;
    }
    uint32_t at = place_first(section, action, peer, tag);
    for (; section->places[at] != 0; at = (at + 1) & (section->places_len - 1))
        if (is_transfer(&section->steps[section->places[at] - 1], action, peer, tag))
            return &section->steps[section->places[at] - 1];
    return NULL;
}

/* ---- running steps --------------------------------------------------------------------------- */

/* Called under the claim, without the lock. */
static void step_compute(const pen_coll_op *op, const pen_coll_step *step)
{
    const pen_reduction *reduction = &op->reduction;
    if (step->action == PEN_COLL_COPY)
        pen_copy(&op->coll->job->copies, step->to, step->from, step->len);
    else if (reduction->function != NULL)
        pen_reduction_call(reduction, step->from, step->to, step->len / reduction->element_len);
    else
        pen_coll_combine_elements(reduction, step->from, step->to,
                                  step->len / reduction->element_len);
}

static void step_run(pen_coll_op *op, pen_coll_section *section, pen_coll_step *step)
{
    pen_coll *jobs = op->coll->job->coll;
    if (step->action == PEN_COLL_SEND) {
        size_t limit = step->after >= 0 ? section->steps[step->after].done : step->len;
        while (!step->complete && pen_coll_send_piece(op, section, step, limit)) {
        }
        return;
    }
    bool unlocked = step->len > UNLOCKED_LEN || op->reduction.function != NULL;
    if (unlocked)
        pen_lock_drop(&jobs->lock);
    step_compute(op, step);
    if (unlocked)
        pen_lock_take(&jobs->lock);
    step->done = step->len;
    step->complete = true;
}

/* data: are all earlier steps but sends complete? all: are all earlier steps complete? */
static bool may_run(const pen_coll_step *step, bool data, bool all)
{
    if (step->complete || step->action == PEN_COLL_RECEIVE)
        return false;
    return step->after == PEN_COLL_AFTER_DATA ? data : step->after != PEN_COLL_AFTER_ALL || all;
}

static void section_run(pen_coll_op *op, pen_coll_section *section)
{
    bool data = true, all = true;
    for (uint32_t i = section->complete; i < section->count; i++) {
        if (i >= section->entrance && section->complete < section->entrance)
            break;
        if (!data && section->free_count == 0)
            break;
        pen_coll_step *step = &section->steps[i];
        if (may_run(step, data, all)) {
            step_run(op, section, step);
            section->free_count -= step->complete && is_free(step);
        }
        all = all && step->complete;
        data = data && (step->complete || step->action == PEN_COLL_SEND);
        if (all)
            section->complete = i + 1;
    }
}

/* ---- sections -------------------------------------------------------------------------------- */

static void sections_open(pen_coll_op *op)
{
    while (op->sections_opened < op->section_count &&
           op->sections_opened - op->sections_closed < PEN_COLL_SECTIONS) {
        uint32_t number = op->sections_opened++;
        pen_coll_section *section = &op->sections[number % PEN_COLL_SECTIONS];
        section->open = true;
        section->number = number;
        section->count = section->complete = section->free_count = 0;
        section->scratch_used = 0;
        section->offset = (size_t)number * op->section_len;
        section->len = op->len - section->offset < op->section_len ? op->len - section->offset
                                                                   : op->section_len;
        if (op->together & PEN_COLL_ENTER_TOGETHER)
            pen_coll_meet(op, section, TAG_ENTER);
        section->entrance = section->count;
        op->build(op, section);
        if (op->together & PEN_COLL_LEAVE_TOGETHER)
            pen_coll_meet(op, section, TAG_LEAVE);
        places_fill(op, section);
        if (op->coll->kept_count != 0)
            pen_coll_kept_take(op, section);
    }
}

/* Runs steps in order. Returns whether any step ran. */
static bool sections_close(pen_coll_op *op)
{
    bool any = false;
    while (op->sections_closed < op->sections_opened) {
        pen_coll_section *section = &op->sections[op->sections_closed % PEN_COLL_SECTIONS];
        if (section->complete != section->count)
            break;
        section->open = false;
        section->count = section->complete = 0;
        op->sections_closed++;
        any = true;
    }
    return any;
}

static void op_end(pen_coll_op *op)
{
    pen_coll_team *coll = op->coll;
    coll->table[op->what.number & (coll->table_len - 1)] = NULL;
    coll->open_count--;
    if (op->settles && (int32_t)(op->what.number + 1 - coll->all_begun) > 0)
        coll->all_begun = op->what.number + 1;
    pen_event *event = op->event;
    bool sweeps = op->sweeps;
    op_recycle(op);
    if (sweeps)
        pen_coll_finish_swept(coll->job->coll, event);
    else
        pen_event_finish(event);
}

void pen_coll_op_run(pen_coll_op *op)
{
    op->again = true;
    if (op->claimed)
        return; /* the thread that holds the claim runs it again */
    op->claimed = true;
    while (op->again) {
        op->again = op->no_room = op->short_of_credit = false;
        for (unsigned i = 0; i < PEN_COLL_SECTIONS; i++)
            if (op->sections[i].open)
                section_run(op, &op->sections[i]);
        if (sections_close(op)) {
            sections_open(op);
            op->again = true;
        }
    }
    op->claimed = false;
    if (op->no_room && !op->stalled)
        op_stall(op);
    else if (!op->no_room && op->stalled)
        op_unstall(op);
    if (op->sections_closed == op->section_count)
        op_end(op);
}

void pen_coll_op_begin(pen_coll_op *op)
{
    op->what.number = pen_coll_count(op->coll, &op->what);
    table_put(op->coll, op);
    sections_open(op);
    pen_coll_op_run(op);
}

void pen_coll_run_short(pen_coll_team *coll)
{
    uint32_t end = coll->begun;
    for (uint32_t number = end - coll->table_len; number != end; number++) {
        pen_coll_op *op = pen_coll_op_find(coll, number);
        if (op != NULL && op->short_of_credit)
            pen_coll_op_run(op);
    }
}

unsigned pen_coll_run_stalled(pen_coll *jobs)
{
    uint64_t before = jobs->pieces_sent;
    uint32_t count = 0;
    for (const pen_coll_op *op = jobs->stalled; op != NULL; op = op->next)
        count++;
    /* An op that stalls again goes to the end. While the lock is dropped, others may enter and
     * leave the list. */
    while (count-- > 0 && jobs->stalled != NULL) {
        pen_coll_op *op = jobs->stalled;
        op_unstall(op);
        pen_coll_op_run(op);
    }
    return (unsigned)(jobs->pieces_sent - before);
}
