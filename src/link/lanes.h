/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes.h: frames that a link keeps until a poll asks for their lane: those that came while their
 * lane was not asked for, those that a rank posts to itself, and those that wait for something
 * else. Each kept frame is a copy. The caller holds whatever lock guards the list. */
#ifndef PEN_LINK_LANES_H
#define PEN_LINK_LANES_H

#include "conduit/conduit.h"

enum { PEN_KEPT_ALIGN = 16 };

typedef struct pen_kept {
    struct pen_kept *next;
    pen_peer from;
    pen_lane lane;
    uint32_t head_len, body_len;
    uint64_t tag;     /* the owner's: what it has to know of the frame besides */
    bool is_reserved; /* it belongs to the reserve, and goes back there */
    _Alignas(PEN_KEPT_ALIGN) unsigned char bytes[]; /* head, padded, then the body */
} pen_kept;

typedef struct pen_lanes {
    void *(*alloc)(void *ctx, size_t len, size_t align);
    void (*release)(void *ctx, void *memory);
    void *ctx;                                          /* the first argument of both */
    pen_kept *first[PEN_LANES], **last_next[PEN_LANES]; /* by lane, oldest first */
    uint32_t count[PEN_LANES], total;
    size_t len;    /* bytes of memory that the kept frames take */
    char *reserve; /* memory for frames that must find room; NULL: there is none */
    uint32_t reserve_room, reserve_count, reserve_used; /* pages that nobody used cost nothing */
    pen_kept *spare; /* frames of the reserve that were used and given back */
} pen_lanes;

/* Memory comes from the two functions, as in pen_host. */
void pen_lanes_init(pen_lanes *lanes, void *(*alloc)(void *, size_t, size_t),
                    void (*release)(void *, void *), void *ctx);

/* Sets memory aside for `count` frames of at most len_max bytes, head and body together: while no
 * more are kept, pen_lanes_keep does not fail. False: there is no memory. */
bool pen_lanes_reserve(pen_lanes *lanes, uint32_t count, uint32_t len_max);

/* Frees everything, whether frames are left or not. */
void pen_lanes_close(pen_lanes *lanes);

/* Copies the frame and puts it behind the others of its lane. False: there is no memory. */
bool pen_lanes_keep(pen_lanes *lanes, pen_peer from, pen_lane lane, const pen_frame *frame,
                    uint64_t tag);

/* Bytes that pen_lanes_keep would take for such a frame. */
size_t pen_lanes_charge(uint32_t head_len, uint32_t body_len);

/* Takes the oldest kept frame of the last lane that is asked for and has one: CONTROL before REPLY
 * before REQUEST. NULL: there is no such frame. The caller delivers it, and gives it back. */
pen_kept *pen_lanes_take(pen_lanes *lanes, unsigned asked);

/* As pen_lanes_take, but passes over frames of which `is_ready` says that they have to wait. */
pen_kept *pen_lanes_take_ready(pen_lanes *lanes, unsigned asked,
                               bool (*is_ready)(void *ctx, const pen_kept *kept), void *ctx);

void pen_lanes_give(pen_lanes *lanes, pen_kept *kept);

static inline void *pen_kept_head(pen_kept *kept) { return kept->bytes; }

/* NULL: the frame has no body. */
static inline void *pen_kept_body(pen_kept *kept)
{
    uint32_t at = (kept->head_len + PEN_KEPT_ALIGN - 1) & ~(uint32_t)(PEN_KEPT_ALIGN - 1);
    return kept->body_len != 0 ? kept->bytes + at : NULL;
}

/* Delivers kept frames of the lanes that are asked for, at most budget; answers how many. For links
 * whose poll lock guards the list. */
unsigned pen_lanes_deliver(pen_lanes *lanes, const pen_host *host, unsigned asked, unsigned budget);

#endif
