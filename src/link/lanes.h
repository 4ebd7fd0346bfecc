/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes.h: frames that a link keeps until a poll asks for their lane. They arrived while their
 * lane was not asked for, or a rank posted them to itself, or they wait for a further event.
 * Each kept frame is a copy. The caller holds the lock that guards the list. */
#ifndef PEN_LINK_LANES_H
#define PEN_LINK_LANES_H

#include "conduit/conduit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_KEPT_ALIGN = 16 };

typedef struct pen_kept {
    struct pen_kept *next;
    pen_peer from;
    pen_lane lane;
    uint32_t head_len, body_len;
    uint64_t tag;     /* for the owner: data that it keeps with the frame */
    bool is_reserved; /* it belongs to the reserve, and is returned there */
    _Alignas(PEN_KEPT_ALIGN) unsigned char bytes[]; /* head, padded, then the body */
} pen_kept;

typedef struct pen_lanes {
    void *(*alloc)(void *ctx, size_t len, size_t align);
    void (*release)(void *ctx, void *memory);
    void *ctx;                                          /* the first argument of both */
    pen_kept *first[PEN_LANES], **last_next[PEN_LANES]; /* by lane, oldest first */
    uint32_t count[PEN_LANES], total;
    size_t len;    /* bytes of memory that the kept frames take */
    char *reserve; /* memory for frames that must find room, or NULL */
    uint32_t reserve_room, reserve_count, reserve_used; /* untouched pages cost nothing */
    pen_kept *spare; /* frames of the reserve that were used and given back */
} pen_lanes;

/* Memory comes from the two functions, as in pen_host. */
void pen_lanes_init(pen_lanes *lanes, void *(*alloc)(void *, size_t, size_t),
                    void (*release)(void *, void *), void *ctx);

/* Reserves memory for `count` frames of at most len_max bytes, head and body together: while no
 * more are kept, pen_lanes_keep does not fail. Returns false if there is no memory. */
bool pen_lanes_reserve(pen_lanes *lanes, uint32_t count, uint32_t len_max);

/* Frees all memory, whether frames are left or not. */
void pen_lanes_close(pen_lanes *lanes);

/* Copies the frame and appends it to its lane. Returns false if there is no memory. */
bool pen_lanes_keep(pen_lanes *lanes, pen_peer from, pen_lane lane, const pen_frame *frame,
                    uint64_t tag);

/* Bytes that pen_lanes_keep takes for a frame of these lengths. */
size_t pen_lanes_charge(uint32_t head_len, uint32_t body_len);

/* Takes the oldest kept frame of the last requested lane that has one: CONTROL before REPLY
 * before REQUEST. Returns NULL if there is no frame. The caller delivers it, and gives it back. */
pen_kept *pen_lanes_take(pen_lanes *lanes, unsigned asked);

/* Works as pen_lanes_take, but passes over frames for which `is_ready` is false. */
pen_kept *pen_lanes_take_ready(pen_lanes *lanes, unsigned asked,
                               bool (*is_ready)(void *ctx, const pen_kept *kept), void *ctx);

void pen_lanes_give(pen_lanes *lanes, pen_kept *kept);

static inline void *pen_kept_head(pen_kept *kept) { return kept->bytes; }

/* The body, or NULL if the frame has no body. */
static inline void *pen_kept_body(pen_kept *kept)
{
    uint32_t at = (kept->head_len + PEN_KEPT_ALIGN - 1) & ~(uint32_t)(PEN_KEPT_ALIGN - 1);
    return kept->body_len != 0 ? kept->bytes + at : NULL;
}

/* Delivers kept frames of the requested lanes, at most budget; returns how many. For links whose
 * poll lock guards the list. */
unsigned pen_lanes_deliver(pen_lanes *lanes, const pen_host *host, unsigned asked, unsigned budget);

#endif
