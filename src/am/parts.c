/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.c: Mediums that are longer than a frame of the link. They travel as parts, which are
 * internal messages on the same lane: the first part has the message's head, the remaining ones
 * its payload, in any order. The receiver collects them. When all have arrived, it delivers the
 * message as if it had come in one frame. The number of incomplete messages from one peer is
 * bounded. */
#include "am/am.h"

#include "am/am_internal.h"
#include "base/copy.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "os/lock.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARTS_OF_PEER_MAX = 512, /* messages from one peer: one for each thread and lane */
    PARTS_HEAD_ROOM = 80,    /* bytes before the payload, which lies at a multiple of 16 */
    PARTS_ARGS = 3,          /* number of the message, length of its payload, offset or HEAD */
    PARTS_HEAD = -1,
};

struct pen_am_parts {
    pen_am_parts *next;
    pen_peer from;
    pen_lane lane;
    int32_t number;
    uint32_t len, got; /* bytes of the payload */
    uint32_t head_len; /* 0: the head has not arrived */
    _Alignas(16) unsigned char bytes[];
};

_Static_assert(PARTS_HEAD_ROOM >= PEN_AM_WORDS_MAX * (int)sizeof(uint64_t), "room for a head");
_Static_assert(PARTS_HEAD_ROOM % 16 == 0, "the payload is aligned");

/* ---- sending --------------------------------------------------------------------------------- */

static int32_t parts_number(pen_am *am)
{
    pen_lock_take(&am->lock);
    int32_t number = (int32_t)am->parts_sent++;
    pen_lock_drop(&am->lock);
    return number;
}

static int parts_push(pen_job *job, const pen_route *route, pen_lane lane, const int32_t *args,
                      const void *body, size_t len, uint32_t flags)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    pen_frame frame =
        pen_am_internal_frame(words, lane, PEN_AM_INT_PART, PARTS_ARGS, args, body, (uint32_t)len);
    return pen_am_push_uncounted(job, route, lane, &frame, flags);
}

int pen_am_push_parts(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *whole,
                      uint32_t flags)
{
    const size_t most = route->port->link->caps.frame_max;
    int32_t args[PARTS_ARGS] = { parts_number(job->am), (int32_t)whole->body_len, PARTS_HEAD };
    if (parts_push(job, route, lane, args, whole->head, whole->head_len, flags) != 0)
        return 1;
    for (size_t off = 0; off < whole->body_len; off += most) {
        size_t len = whole->body_len - off < most ? whole->body_len - off : most;
        args[2] = (int32_t)off;
        (void)parts_push(job, route, lane, args, (const char *)whole->body + off, len,
                         flags & ~(uint32_t)PEN_AM_IMMEDIATE); /* the rest must be sent */
    }
    return 0;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Finds the message, or makes it if this is its first part. Returns NULL if there is no memory,
 * or if the peer has too many. */
static pen_am_parts *parts_find(pen_job *job, const pen_token *token, pen_lane lane, int32_t number,
                                uint32_t len)
{
    unsigned of_peer = 0;
    pen_am_parts *at = job->am->parts;
    for (; at != NULL; at = at->next) {
        if (at->from != token->from)
            continue;
        if (at->lane == lane && at->number == number)
            return at->len == len ? at : NULL;
        of_peer++;
    }
    if (of_peer >= PARTS_OF_PEER_MAX)
        return NULL;
    at = pen_job_calloc(job, 1, sizeof *at + PARTS_HEAD_ROOM + len, "a Medium in parts");
    if (at == NULL)
        return NULL;
    at->from = token->from;
    at->lane = lane;
    at->number = number;
    at->len = len;
    at->next = job->am->parts;
    job->am->parts = at;
    return at;
}

/* Returns false if the part does not fit the message. */
static bool parts_add(const pen_job *job, pen_am_parts *parts, int32_t off, const void *body,
                      uint32_t len)
{
    if (off == PARTS_HEAD) {
        if (parts->head_len != 0 || len == 0 || len > PARTS_HEAD_ROOM || len % 8 != 0)
            return false;
        memcpy(parts->bytes, body, len);
        parts->head_len = len;
        return true;
    }
    if (off < 0 || len == 0 || (uint32_t)off > parts->len || len > parts->len - (uint32_t)off ||
        len > parts->len - parts->got)
        return false;
    pen_copy(&job->copies, parts->bytes + PARTS_HEAD_ROOM + off, body, len);
    parts->got += len;
    return true;
}

static void parts_unlink(pen_am *am, const pen_am_parts *parts)
{
    pen_am_parts **at = &am->parts;
    while (*at != NULL && *at != parts)
        at = &(*at)->next;
    if (*at != NULL)
        *at = parts->next;
}

/* Accepts only Mediums of the lane on which the parts came. */
static bool is_medium(const pen_am_parts *parts)
{
    uint64_t head;
    memcpy(&head, parts->bytes, sizeof head);
    return pen_wire_kind_of(head) == pen_wire_kind(PEN_AM_MEDIUM, parts->lane, PEN_WIRE_BODY);
}

/* Called under the lock. Returns false if the part is malformed. *done: the message, if this was
 * its last part. */
static bool parts_take(pen_job *job, const pen_token *token, pen_lane lane, const int32_t *args,
                       const pen_frame *part, pen_am_parts **done)
{
    pen_am *am = job->am;
    if (args[1] <= 0 || (size_t)args[1] > am->medium_long_max)
        return false;
    pen_am_parts *parts = parts_find(job, token, lane, args[0], (uint32_t)args[1]);
    if (parts == NULL || !parts_add(job, parts, args[2], part->body, part->body_len))
        return false;
    if (parts->head_len != 0 && parts->got == parts->len) {
        parts_unlink(am, parts);
        *done = parts;
    }
    return true;
}

static void am_handle_part(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                           uint32_t body_len)
{
    pen_job *job = token->job;
    const pen_lane lane = token->is_request ? PEN_LANE_REQUEST : PEN_LANE_REPLY;
    const pen_frame part = { NULL, body, 0, body_len };
    pen_am_parts *done = NULL;
    pen_lock_take(&job->am->lock);
    bool is_sound = arg_count == PARTS_ARGS && parts_take(job, token, lane, args, &part, &done);
    pen_lock_drop(&job->am->lock);
    if (!is_sound || (done != NULL && !is_medium(done)))
        pen_am_drop(job);
    else if (done != NULL)
        pen_am_deliver_slow(job, token->from, lane, done->bytes, done->head_len,
                            done->bytes + PARTS_HEAD_ROOM, done->len);
    free(done);
}

void pen_am_parts_open(pen_job *job)
{
    pen_am_register_internal(job, PEN_AM_INT_PART, am_handle_part);
}

void pen_am_parts_close(pen_am *am)
{
    while (am->parts != NULL) {
        pen_am_parts *next = am->parts->next;
        free(am->parts);
        am->parts = next;
    }
}
