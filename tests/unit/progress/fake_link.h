/* SPDX-License-Identifier: BSD-3-Clause */
/* fake_link.h: a link whose answers a test scripts, and which records the calls. */
#ifndef PEN_TEST_FAKE_LINK_H
#define PEN_TEST_FAKE_LINK_H

#include "progress/progress.h"

#include <string.h>

enum { FAKE_PEERS = 70, FAKE_FRAMES_MAX = 512 };

typedef struct fake_frame {
    pen_peer to;
    pen_lane lane;
    uint64_t tag; /* the first head word */
    uint32_t body_len;
    unsigned char body_last;
} fake_frame;

typedef struct fake_link {
    pen_link base;
    bool full[FAKE_PEERS]; /* posts to this peer answer AGAIN */
    bool lost[FAKE_PEERS]; /* ... FAILED */
    pen_op *pending;       /* the last op that was answered PENDING */
    fake_frame sent[FAKE_FRAMES_MAX];
    unsigned sent_count;
    unsigned posts, polls;
    unsigned lanes;                      /* lanes of the last poll */
    unsigned events;                     /* answer of the next poll; later polls answer 0 */
    void (*in_poll)(struct fake_link *); /* work of its handlers */
    void *ctx;
    int fd;            /* to sleep on; see fake_ring */
    bool busy;         /* it has something to be polled for */
    uint64_t until_ns; /* how long one may sleep */
    unsigned arms;
} fake_link;

static pen_post fake_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                          pen_op *op)
{
    fake_link *fake = (fake_link *)link;
    fake->posts++;
    if (fake->lost[to])
        return PEN_POST_FAILED;
    if (fake->full[to])
        return PEN_POST_AGAIN;
    fake_frame *sent = &fake->sent[fake->sent_count++ % FAKE_FRAMES_MAX];
    *sent = (fake_frame){ .to = to, .lane = lane, .body_len = frame->body_len };
    memcpy(&sent->tag, frame->head, sizeof sent->tag);
    if (frame->body_len != 0)
        sent->body_last = ((const unsigned char *)frame->body)[frame->body_len - 1];
    if (frame->body_len <= link->caps.frame_copy_max)
        return PEN_POST_DONE;
    fake->pending = op;
    return PEN_POST_PENDING;
}

static unsigned fake_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    fake_link *fake = (fake_link *)link;
    unsigned events = fake->events;
    (void)budget;
    fake->polls++;
    fake->lanes = lanes;
    fake->events = 0;
    if (fake->in_poll != NULL)
        fake->in_poll(fake);
    return events;
}

static const pen_link_ops fake_ops = { .post = fake_post, .poll = fake_poll };

static int fake_fd(pen_link *link) { return ((fake_link *)link)->fd; }

static bool fake_arm(pen_link *link)
{
    fake_link *fake = (fake_link *)link;
    fake->arms++;
    return !fake->busy;
}

static uint64_t fake_due_ns(pen_link *link) { return ((fake_link *)link)->until_ns; }

static const pen_wait_ops fake_wait = { .fd = fake_fd, .arm = fake_arm };
static const pen_due_ops fake_due = { .due_ns = fake_due_ns };

static inline void fake_open(fake_link *fake, uint32_t flags)
{
    memset(fake, 0, sizeof *fake);
    static const pen_host nothing_lent = { .ctx = NULL };
    fake->base.ops = &fake_ops;
    fake->base.host = &nothing_lent;
    fake->base.caps.flags = flags;
    fake->base.caps.frame_copy_max = 64;
}

/* A reply with this tag to that peer. */
static inline pen_status fake_reply(pen_port *port, pen_counters *counters, pen_peer to,
                                    pen_lane lane, uint64_t tag, uint32_t body_len)
{
    unsigned char body[256];
    memset(body, (int)(tag & 0x7f), sizeof body);
    pen_frame frame = { &tag, body_len != 0 ? body : NULL, sizeof tag, body_len };
    pen_status status = pen_port_post_or_queue(port, counters, to, lane, &frame);
    memset(body, 0xee, sizeof body); /* a handler's buffers die when it returns */
    tag = 0;
    return status;
}

#endif
