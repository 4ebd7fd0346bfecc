/* SPDX-License-Identifier: BSD-3-Clause */
/* inner_link.h: the link that a test wraps: it records its inputs and answers as told,
 * with a clock that stands still and memory that is counted. */
#ifndef PEN_TEST_INNER_LINK_H
#define PEN_TEST_INNER_LINK_H

#include "conduit/conduit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INNER_BODY_MAX = 64, INNER_COPY_MAX = 32, INNER_LINES_MAX = 4 };

typedef struct inner_frame {
    pen_peer to;
    pen_lane lane;
    uint64_t head[2];
    uint32_t head_len, body_len;
    unsigned char body[INNER_BODY_MAX];
} inner_frame;

typedef struct inner_link {
    pen_link base;
    pen_host host;
    uint64_t now_ns;
    unsigned blocks;     /* blocks of memory that are lent now */
    bool has_no_memory;  /* alloc answers NULL */
    bool is_full;        /* posts answer AGAIN */
    bool is_lost;        /* ... FAILED */
    bool keeps_bodies;   /* ... PENDING, for bodies above INNER_COPY_MAX */
    pen_op *pending;     /* the last op kept */
    const void *kept;    /* and the body it stands for */
    inner_frame *frames; /* that arrived */
    size_t frame_count, frame_room;
    unsigned posts, polls, reserves, commits, cancels, arms, closes;
    _Alignas(16) unsigned char place[INNER_BODY_MAX]; /* memory that reserve hands out */
    pen_log_level levels[INNER_LINES_MAX];
    char lines[INNER_LINES_MAX][512];
    unsigned line_count;
} inner_link;

static inner_link *inner_of(pen_link *link) { return (inner_link *)(void *)link; }

/* ---- host ------------------------------------------------------------------------------------ */

static uint64_t inner_now(void *ctx) { return ((inner_link *)ctx)->now_ns; }

static void inner_log(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void inner_log(void *ctx, int level, const char *format, ...)
{
    inner_link *inner = (inner_link *)ctx;
    unsigned line = inner->line_count++ % INNER_LINES_MAX;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(inner->lines[line], sizeof inner->lines[line], format, args);
    va_end(args);
    inner->levels[line] = (pen_log_level)level;
}

static void *inner_alloc(void *ctx, size_t len, size_t align)
{
    inner_link *inner = (inner_link *)ctx;
    void *memory = NULL;
    if (inner->has_no_memory ||
        posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, len) != 0)
        return NULL;
    memset(memory, 0xcd, len);
    inner->blocks++;
    return memory;
}

static void inner_release(void *ctx, void *memory)
{
    ((inner_link *)ctx)->blocks--;
    free(memory);
}

/* ---- link ------------------------------------------------------------------------------------ */

static void inner_keep(inner_link *inner, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    if (inner->frame_count == inner->frame_room) {
        inner->frame_room = inner->frame_room == 0 ? 64 : inner->frame_room * 2;
        void *larger = realloc(inner->frames, inner->frame_room * sizeof(inner_frame));
        if (larger == NULL)
            abort();
        inner->frames = (inner_frame *)larger;
    }
    inner_frame *kept = &inner->frames[inner->frame_count++];
    *kept = (inner_frame){
        .to = to, .lane = lane, .head_len = frame->head_len, .body_len = frame->body_len
    };
    memcpy(kept->head, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(kept->body, frame->body, frame->body_len);
}

static pen_post inner_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                           pen_op *op)
{
    inner_link *inner = inner_of(link);
    inner->posts++;
    if (inner->is_lost)
        return PEN_POST_FAILED;
    if (inner->is_full)
        return PEN_POST_AGAIN;
    inner_keep(inner, to, lane, frame);
    if (!inner->keeps_bodies || frame->body_len <= INNER_COPY_MAX)
        return PEN_POST_DONE;
    inner->pending = op;
    inner->kept = frame->body;
    return PEN_POST_PENDING;
}

static unsigned inner_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    (void)lanes, (void)budget;
    inner_of(link)->polls++;
    return 0;
}

static void inner_close(pen_link *link) { inner_of(link)->closes++; }

static pen_status inner_address(pen_link *link, void *blob)
{
    (void)link;
    memset(blob, 7, 1);
    return PEN_OK;
}

static pen_status inner_connect(pen_link *link, const void *blobs, pen_peer count)
{
    (void)link, (void)blobs;
    return count == 3 ? PEN_OK : PEN_ERR_ARGUMENT;
}

static void *inner_reserve(pen_link *link, pen_peer to, pen_lane lane, uint32_t body_len_max)
{
    inner_link *inner = inner_of(link);
    (void)to, (void)lane, (void)body_len_max;
    inner->reserves++;
    return inner->is_full ? NULL : inner->place;
}

static void inner_commit(pen_link *link, pen_peer to, pen_lane lane, void *body, const void *head,
                         uint32_t head_len, uint32_t body_len)
{
    pen_frame frame = { head, body, head_len, body_len };
    inner_of(link)->commits++;
    inner_keep(inner_of(link), to, lane, &frame);
}

static void inner_cancel(pen_link *link, pen_peer to, pen_lane lane, void *body)
{
    (void)to, (void)lane, (void)body;
    inner_of(link)->cancels++;
}

static int inner_fd(pen_link *link)
{
    (void)link;
    return 42;
}

static bool inner_arm(pen_link *link)
{
    inner_of(link)->arms++;
    return true;
}

static const pen_link_ops inner_ops = { .close = inner_close,
                                        .address = inner_address,
                                        .connect = inner_connect,
                                        .post = inner_post,
                                        .poll = inner_poll };
static const pen_zcopy_ops inner_zcopy = { inner_reserve, inner_commit, inner_cancel };
static const pen_wait_ops inner_wait = { inner_fd, inner_arm };

static void inner_init(inner_link *inner, pen_peer self)
{
    memset(inner, 0, sizeof *inner);
    inner->host = (pen_host){ .ctx = inner,
                              .now_ns = inner_now,
                              .log = inner_log,
                              .alloc = inner_alloc,
                              .release = inner_release };
    inner->base = (pen_link){ .ops = &inner_ops,
                              .zcopy = &inner_zcopy,
                              .wait = &inner_wait,
                              .host = &inner->host,
                              .caps = { .flags = PEN_CAP_RELIABLE | PEN_CAP_SAME_HOST,
                                        .frame_max = INNER_BODY_MAX,
                                        .frame_copy_max = INNER_COPY_MAX,
                                        .inbox_len = 4096 },
                              .self = self };
}

#endif
