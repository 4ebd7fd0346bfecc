/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_message.c: the messages of collectives: pieces of data, READY, and credit.
 *
 * All of them begin with the team's id and the team ranks of receiver and sender, in 32-bit words,
 * 64-bit values low half first:
 *   DATA    id (2), to, from, number, kind and tag << 24, root, length (2), section, piece; body
 *   READY   id (2), to, from, number, tag, section
 *   ASK     id (2), to, from, number: asks for CREDIT for the collective with this number
 *   CREDIT  id (2), to, from, number: the sender begins the collective with this number next
 *
 * A message for a team, a collective or a section that does not exist here yet is kept. The number
 * of kept messages is bounded for each peer; a peer that follows the protocol never reaches the
 * bound. READY and CREDIT answer messages of a team that their receiver has made, so they need not
 * be kept. */
#include "am/am.h"
#include "base/compiler.h"
#include "base/copy.h"
#include "coll/early.h"
#include "coll/engine.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "os/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ARG_TO = 2, ARG_FROM, ARG_NUMBER, HEAD_ARGS };
enum { DATA_KIND = HEAD_ARGS, DATA_ROOT, DATA_LEN, DATA_SECTION = DATA_LEN + 2, DATA_PIECE };
enum { READY_TAG = HEAD_ARGS, READY_SECTION, READY_ARGS };
enum { TAG_SHIFT = 24 };

_Static_assert(DATA_PIECE + 1 == PEN_COLL_ARGS, "the longest message");
_Static_assert(ARG_FROM * sizeof(int32_t) == PEN_COLL_ORPHAN_TEAM_LEN &&
                   ARG_NUMBER * sizeof(int32_t) == PEN_COLL_ORPHAN_KEY_LEN,
               "object that orphans wait for, and their sender");

static bool number_before(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }

/* ---- pieces ---------------------------------------------------------------------------------- */

/* A receiver may have to keep piece 0, so it is short. Later pieces fill a frame. */
static size_t first_len(const pen_job *job)
{
    return job->am->medium_max < PEN_COLL_FIRST_LEN ? job->am->medium_max : PEN_COLL_FIRST_LEN;
}

static size_t piece_offset(const pen_job *job, uint32_t piece)
{
    return piece == 0 ? 0 : first_len(job) + (size_t)(piece - 1) * job->am->medium_max;
}

static size_t piece_len(const pen_job *job, uint32_t piece, size_t len)
{
    size_t max = piece == 0 ? first_len(job) : job->am->medium_max;
    size_t left = len - piece_offset(job, piece);
    return left < max ? left : max;
}

static uint32_t piece_count(const pen_job *job, size_t len)
{
    size_t first = first_len(job), max = job->am->medium_max;
    return len <= first ? 1 : 1 + (uint32_t)((len - first + max - 1) / max);
}

/* Length of the piece that begins there. */
static uint32_t piece_at(const pen_job *job, size_t offset)
{
    return offset == 0 ? 0 : 1 + (uint32_t)((offset - first_len(job)) / job->am->medium_max);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void head_fill(const pen_coll_team *coll, uint32_t to, uint32_t number, int32_t *args)
{
    pen_am_arg_put_u64(args, coll->team->id);
    args[ARG_TO] = (int32_t)to;
    args[ARG_FROM] = (int32_t)coll->team->view.rank;
    args[ARG_NUMBER] = (int32_t)number;
}

static void send_control(const pen_coll_team *coll, uint32_t to, uint32_t number,
                         pen_am_internal index)
{
    int32_t args[HEAD_ARGS];
    head_fill(coll, to, number, args);
    (void)pen_am_send_internal(coll->job, pen_team_jobrank(coll->team, to), PEN_LANE_CONTROL, index,
                               HEAD_ARGS, args, NULL, 0);
}

/* May we send this peer a message for the collective now? If not, ask for credit. */
static bool credit_for(pen_coll_op *op, uint32_t to)
{
    pen_coll_team *coll = op->coll;
    pen_coll_peer *peer = &coll->peers[to];
    uint32_t number = op->what.number;
    if (number_before(number, peer->begun + PEN_COLL_WINDOW) ||
        number_before(number, coll->all_begun + PEN_COLL_WINDOW))
        return true;
    op->short_of_credit = true;
    if (!peer->has_asked || number_before(number, peer->asked)) {
        peer->has_asked = true;
        peer->asked = number;
        send_control(coll, to, number, PEN_AM_INT_COLL_ASK);
    }
    return false;
}

bool pen_coll_send_piece(pen_coll_op *op, const pen_coll_section *section, pen_coll_step *step,
                         size_t limit)
{
    const pen_coll_team *coll = op->coll;
    pen_job *job = coll->job;
    uint32_t piece = piece_at(job, step->done);
    size_t len = piece_len(job, piece, step->len);
    if (step->done + len > limit || (piece != 0 && !step->ready))
        return false;
    if (piece == 0 && !credit_for(op, step->peer))
        return false;
    int32_t args[PEN_COLL_ARGS];
    head_fill(coll, step->peer, op->what.number, args);
    args[DATA_KIND] = (int32_t)(op->what.kind | (uint32_t)step->tag << TAG_SHIFT);
    args[DATA_ROOT] = (int32_t)op->what.root;
    pen_am_arg_put_u64(&args[DATA_LEN], op->what.len);
    args[DATA_SECTION] = (int32_t)section->number;
    args[DATA_PIECE] = (int32_t)piece;
    if (pen_am_send_internal(job, pen_team_jobrank(coll->team, step->peer), PEN_LANE_REQUEST,
                             PEN_AM_INT_COLL_DATA, PEN_COLL_ARGS, args, step->from + step->done,
                             (uint32_t)len) != 0) {
        op->no_room = true;
        return false;
    }
    job->coll->pieces_sent++;
    step->done += len;
    step->complete = step->done == step->len;
    return true;
}

static void send_ready(const pen_coll_op *op, uint32_t to, const int32_t *data)
{
    const pen_coll_team *coll = op->coll;
    int32_t args[READY_ARGS];
    head_fill(coll, to, op->what.number, args);
    args[READY_TAG] = (int32_t)((uint32_t)data[DATA_KIND] >> TAG_SHIFT);
    args[READY_SECTION] = data[DATA_SECTION];
    (void)pen_am_send_internal(coll->job, pen_team_jobrank(coll->team, to), PEN_LANE_CONTROL,
                               PEN_AM_INT_COLL_READY, READY_ARGS, args, NULL, 0);
}

/* ---- disagreement ---------------------------------------------------------------------------- */

static pen_coll_what what_of(const int32_t *args)
{
    return (pen_coll_what){ .number = (uint32_t)args[ARG_NUMBER],
                            .root = (uint32_t)args[DATA_ROOT],
                            .len = pen_am_arg_u64(&args[DATA_LEN]),
                            .kind = (uint32_t)args[DATA_KIND] & (((uint32_t)1 << TAG_SHIFT) - 1) };
}

static bool same(const pen_coll_what *a, const pen_coll_what *b)
{
    return a->kind == b->kind && a->root == b->root && a->len == b->len;
}

PEN_COLD _Noreturn void pen_coll_disagree(const pen_coll_team *coll, uint32_t rank,
                                          const pen_coll_what *theirs, const pen_coll_what *ours)
{
    char left[PEN_COLL_WHAT_TEXT_MAX], right[PEN_COLL_WHAT_TEXT_MAX];
    pen_coll_what_text(theirs, left);
    pen_coll_what_text(ours, right);
    pen_job_fatal(coll->job,
                  "collectives do not match: number %u of the team is %s on team rank %u (job rank "
                  "%u), but %s on team rank %u (this one); all members begin the same collectives, "
                  "in the same order and with the same arguments",
                  ours->number, left, rank, pen_team_jobrank(coll->team, rank), right,
                  coll->team->view.rank);
}

/* ---- receiving data -------------------------------------------------------------------------- */

/* Keeps a piece that came out of order. Returns false if it is a duplicate. */
static bool piece_mark(pen_job *job, pen_coll_step *step, uint32_t piece)
{
    uint32_t count = piece_count(job, step->len);
    if (step->early == NULL) {
        step->early = calloc((count + 63) / 64, sizeof *step->early);
        if (step->early == NULL)
            pen_job_fatal(job,
                          "cannot receive a collective's data: calloc: %s; keep fewer, or smaller "
                          "ones, in flight at once",
                          strerror(errno));
    }
    uint64_t bit = (uint64_t)1 << piece % 64;
    if (step->early[piece / 64] & bit)
        return false;
    step->early[piece / 64] |= bit;
    return true;
}

/* Advances over the pieces that were received out of order. */
static void pieces_join(const pen_job *job, pen_coll_step *step)
{
    while (step->early != NULL && step->done != step->len) {
        uint32_t piece = piece_at(job, step->done);
        if (!(step->early[piece / 64] >> piece % 64 & 1))
            return;
        step->done += piece_len(job, piece, step->len);
    }
}

static bool step_receive(pen_job *job, pen_coll_step *step, uint32_t piece, const void *body,
                         uint32_t body_len)
{
    if (piece >= piece_count(job, step->len) || body_len != piece_len(job, piece, step->len))
        return false;
    size_t offset = piece_offset(job, piece);
    if (step->done > offset || (step->done != offset && !piece_mark(job, step, piece)))
        return false;
    if (body_len != 0)
        pen_copy(&job->copies, step->to + offset, body, body_len);
    if (step->done == offset)
        step->done += body_len;
    pieces_join(job, step);
    if (step->done == step->len) {
        step->complete = true;
        free(step->early);
        step->early = NULL;
    }
    return true;
}

static void section_receive(pen_coll_op *op, pen_coll_section *section, const int32_t *args,
                            const void *body, uint32_t body_len)
{
    pen_job *job = op->coll->job;
    uint32_t from = (uint32_t)args[ARG_FROM];
    pen_coll_step *step =
        pen_coll_step_find(section, PEN_COLL_RECEIVE, from, (uint32_t)args[DATA_KIND] >> TAG_SHIFT);
    if (step == NULL || !step_receive(job, step, (uint32_t)args[DATA_PIECE], body, body_len)) {
        pen_am_drop(job);
        return;
    }
    if (!step->complete && !step->ready) {
        step->ready = true;
        send_ready(op, from, args);
    }
}

/* ---- what comes early ------------------------------------------------------------------------ */

/* Steps that wait for a collective are among these. */
static pen_coll_kept **kept_list(pen_coll_team *coll, uint32_t number)
{
    return &coll->kept[number % PEN_COLL_WINDOW];
}

static void team_keep(pen_coll_team *coll, pen_peer from, const int32_t *args, const void *body,
                      uint32_t body_len)
{
    pen_coll_peer *peer = &coll->peers[(uint32_t)args[ARG_FROM]];
    if (args[DATA_PIECE] != 0 || body_len > first_len(coll->job) ||
        peer->kept >= (PEN_COLL_WINDOW + coll->open_count) * PEN_COLL_UNSOLICITED_MAX) {
        pen_am_drop(coll->job);
        return;
    }
    const pen_coll_message message = { from,    PEN_AM_INT_COLL_DATA, args, PEN_COLL_ARGS, body,
                                       body_len };
    peer->kept++;
    coll->kept_count++;
    pen_coll_kept_append(kept_list(coll, (uint32_t)args[ARG_NUMBER]),
                         pen_coll_keep(coll->job, &message));
}

void pen_coll_kept_take(pen_coll_op *op, pen_coll_section *section)
{
    pen_coll_team *coll = op->coll;
    pen_coll_kept **list = kept_list(coll, op->what.number), *next;
    for (pen_coll_kept *kept = pen_coll_kept_all(list); kept != NULL; kept = next) {
        next = kept->next;
        if ((uint32_t)kept->args[ARG_NUMBER] != op->what.number ||
            (uint32_t)kept->args[DATA_SECTION] != section->number) {
            pen_coll_kept_append(list, kept);
            continue;
        }
        coll->peers[(uint32_t)kept->args[ARG_FROM]].kept--;
        coll->kept_count--;
        section_receive(op, section, kept->args, kept->body, kept->body_len);
        free(kept);
    }
}

void pen_coll_kept_check(pen_coll_team *coll, const pen_coll_what *what)
{
    const pen_coll_kept *last = *kept_list(coll, what->number), *kept = last;
    while (kept != NULL) {
        kept = kept->next;
        pen_coll_what theirs = what_of(kept->args);
        if (theirs.number == what->number && !same(&theirs, what))
            pen_coll_disagree(coll, (uint32_t)kept->args[ARG_FROM], &theirs, what);
        if (kept == last)
            return;
    }
}

void pen_coll_kept_free(pen_coll_team *coll)
{
    for (uint32_t i = 0; i < PEN_COLL_WINDOW; i++)
        pen_coll_kept_drop(&coll->kept[i]);
    coll->kept_count = 0;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Takes a piece for a collective that was begun here. */
static void data_begun(pen_coll_team *coll, pen_peer from, const int32_t *args, const void *body,
                       uint32_t body_len)
{
    pen_coll_what theirs = what_of(args);
    const pen_coll_what *recent = &coll->recent[theirs.number % PEN_COLL_WINDOW];
    pen_coll_op *op = pen_coll_op_find(coll, theirs.number);
    const pen_coll_what *ours = op != NULL ? &op->what : recent;
    if (ours->number == theirs.number && !same(&theirs, ours))
        pen_coll_disagree(coll, (uint32_t)args[ARG_FROM], &theirs, ours);
    if (op == NULL) {
        pen_am_drop(coll->job);
        return;
    }
    uint32_t number = (uint32_t)args[DATA_SECTION];
    pen_coll_section *section = &op->sections[number % PEN_COLL_SECTIONS];
    if (section->open && section->number == number) {
        section_receive(op, section, args, body, body_len);
        pen_coll_op_run(op);
    } else if (number < op->section_count && number >= op->sections_opened &&
               number - op->sections_opened < PEN_COLL_SECTIONS) {
        team_keep(coll, from, args, body, body_len);
    } else {
        pen_am_drop(coll->job);
    }
}

static void team_data(pen_coll_team *coll, pen_peer from, const int32_t *args, const void *body,
                      uint32_t body_len)
{
    uint32_t number = (uint32_t)args[ARG_NUMBER];
    pen_coll_peer *peer = &coll->peers[(uint32_t)args[ARG_FROM]];
    if (!number_before(number, coll->begun + PEN_COLL_WINDOW)) {
        pen_am_drop(coll->job);
        return;
    }
    if (number_before(peer->begun, number + 1))
        peer->begun = number + 1;
    if (number_before(number, coll->begun))
        data_begun(coll, from, args, body, body_len);
    else if ((uint32_t)args[DATA_SECTION] < PEN_COLL_SECTIONS)
        team_keep(coll, from, args, body, body_len);
    else
        pen_am_drop(coll->job);
}

/* ---- credit ---------------------------------------------------------------------------------- */

/* Grants a margin, so that the asker can continue while we begin the collectives that it has
 * sent for. */
static bool begun_enough(const pen_coll_team *coll, uint32_t number)
{
    return number_before(number, coll->begun + PEN_COLL_WINDOW / 2);
}

static void team_ask(pen_coll_team *coll, const int32_t *args)
{
    uint32_t from = (uint32_t)args[ARG_FROM], number = (uint32_t)args[ARG_NUMBER];
    pen_coll_peer *peer = &coll->peers[from];
    if (begun_enough(coll, number)) {
        send_control(coll, from, coll->begun, PEN_AM_INT_COLL_CREDIT);
        return;
    }
    if (peer->has_wanted && !number_before(number, peer->wanted))
        return;
    coll->wanted_count += !peer->has_wanted;
    peer->has_wanted = true;
    peer->wanted = number;
}

void pen_coll_answer_asked(pen_coll_team *coll)
{
    for (uint32_t rank = 0; rank < coll->team->view.size && coll->wanted_count != 0; rank++) {
        pen_coll_peer *peer = &coll->peers[rank];
        if (!peer->has_wanted || !begun_enough(coll, peer->wanted))
            continue;
        peer->has_wanted = false;
        coll->wanted_count--;
        send_control(coll, rank, coll->begun, PEN_AM_INT_COLL_CREDIT);
    }
}

static void team_credit(pen_coll_team *coll, const int32_t *args)
{
    pen_coll_peer *peer = &coll->peers[(uint32_t)args[ARG_FROM]];
    uint32_t begun = (uint32_t)args[ARG_NUMBER];
    peer->has_asked = false;
    if (number_before(peer->begun, begun))
        peer->begun = begun;
    pen_coll_run_short(coll);
}

static void team_ready(pen_coll_team *coll, const int32_t *args)
{
    pen_coll_op *op = pen_coll_op_find(coll, (uint32_t)args[ARG_NUMBER]);
    uint32_t number = (uint32_t)args[READY_SECTION];
    pen_coll_section *section = op == NULL ? NULL : &op->sections[number % PEN_COLL_SECTIONS];
    pen_coll_step *step = NULL;
    if (section != NULL && section->open && section->number == number)
        step = pen_coll_step_find(section, PEN_COLL_SEND, (uint32_t)args[ARG_FROM],
                                  (uint32_t)args[READY_TAG]);
    if (step == NULL || step->done == 0 || step->ready) {
        pen_am_drop(coll->job);
        return;
    }
    step->ready = true;
    pen_coll_op_run(op);
}

/* ---- arriving -------------------------------------------------------------------------------- */

static void team_deliver(pen_coll_team *coll, pen_peer from, pen_am_internal index,
                         const int32_t *args, const void *body, uint32_t body_len)
{
    uint32_t rank = (uint32_t)args[ARG_FROM];
    if (rank >= coll->team->view.size || pen_team_jobrank(coll->team, rank) != from) {
        pen_am_drop(coll->job);
        return;
    }
    if (index == PEN_AM_INT_COLL_DATA)
        team_data(coll, from, args, body, body_len);
    else if (index == PEN_AM_INT_COLL_ASK)
        team_ask(coll, args);
    else if (index == PEN_AM_INT_COLL_CREDIT)
        team_credit(coll, args);
    else
        team_ready(coll, args);
}

static pen_coll_team *team_find(const pen_coll *jobs, const int32_t *args)
{
    uint64_t id = pen_am_arg_u64(args);
    for (pen_coll_team *coll = jobs->teams[pen_coll_team_bucket(id)]; coll != NULL;
         coll = coll->next)
        if (coll->team->id == id && coll->team->view.rank == (uint32_t)args[ARG_TO])
            return coll;
    return NULL;
}

/* The message is for a team that we are about to make, or its sender is faulty. */
static void orphan_keep(pen_job *job, const pen_coll_message *message)
{
    if (message->body_len > first_len(job) ||
        (message->index == PEN_AM_INT_COLL_DATA && message->args[DATA_PIECE] != 0) ||
        !pen_coll_orphan_keep(job, message))
        pen_am_drop(job);
}

void pen_coll_orphans_adopt(pen_coll_team *coll)
{
    int32_t args[HEAD_ARGS];
    head_fill(coll, coll->team->view.rank, 0, args);
    pen_coll_kept *next;
    for (pen_coll_kept *orphan = pen_coll_orphans_take(coll->job->coll, args); orphan != NULL;
         orphan = next) {
        next = orphan->next;
        team_deliver(coll, orphan->from, orphan->index, orphan->args, orphan->body,
                     orphan->body_len);
        free(orphan);
    }
}

static void deliver(pen_job *job, pen_peer from, pen_am_internal index, const int32_t *args,
                    const void *body, uint32_t body_len)
{
    pen_coll *jobs = job->coll;
    pen_lock_take(&jobs->lock);
    pen_coll_team *coll = team_find(jobs, args);
    if (coll != NULL)
        team_deliver(coll, from, index, args, body, body_len);
    else if (index == PEN_AM_INT_COLL_DATA || index == PEN_AM_INT_COLL_ASK)
        orphan_keep(job,
                    &(pen_coll_message){ from, index, args,
                                         index == PEN_AM_INT_COLL_DATA ? PEN_COLL_ARGS : HEAD_ARGS,
                                         body, body_len });
    pen_lock_drop(&jobs->lock);
}

static void handle_data(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                        uint32_t body_len)
{
    if (arg_count == PEN_COLL_ARGS && token->is_request)
        deliver(token->job, token->from, PEN_AM_INT_COLL_DATA, args, body, body_len);
    else
        pen_am_drop(token->job);
}

static void handle_ready(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                         uint32_t body_len)
{
    if (arg_count == READY_ARGS && body_len == 0)
        deliver(token->job, token->from, PEN_AM_INT_COLL_READY, args, body, 0);
    else
        pen_am_drop(token->job);
}

static void handle_ask(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                       uint32_t body_len)
{
    if (arg_count == HEAD_ARGS && body_len == 0)
        deliver(token->job, token->from, PEN_AM_INT_COLL_ASK, args, body, 0);
    else
        pen_am_drop(token->job);
}

static void handle_credit(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                          uint32_t body_len)
{
    if (arg_count == HEAD_ARGS && body_len == 0)
        deliver(token->job, token->from, PEN_AM_INT_COLL_CREDIT, args, body, 0);
    else
        pen_am_drop(token->job);
}

void pen_coll_messages_open(pen_job *job)
{
    pen_am_register_internal(job, PEN_AM_INT_COLL_DATA, handle_data);
    pen_am_register_internal(job, PEN_AM_INT_COLL_READY, handle_ready);
    pen_am_register_internal(job, PEN_AM_INT_COLL_ASK, handle_ask);
    pen_am_register_internal(job, PEN_AM_INT_COLL_CREDIT, handle_credit);
}
