/* SPDX-License-Identifier: BSD-3-Clause */
/* channel.h: records over a pair of descriptors that never block: what goes out waits in a queue
 * until the other side takes it, what comes in until a record is whole. A key may pass through:
 * what has been sent or read is wiped at once. */
#ifndef PEN_REMOTE_CHANNEL_H
#define PEN_REMOTE_CHANNEL_H

#include "remote/record.h"

typedef struct pen_channel {
    int in, out; /* the same for a socket; -1: closed */
    bool begun;  /* the magic has come; set by who waits for none */
    bool failed; /* no memory, or bytes that are no records: as good as closed */
    char *queue; /* out */
    size_t queue_start, queue_end, queue_room;
    char *buffer; /* in */
    size_t buffer_start, buffer_end, buffer_room;
    size_t buffer_wiped; /* what lies before it is read, and wiped */
} pen_channel;

void pen_channel_open(pen_channel *out, int in_fd, int out_fd, bool begun);
void pen_channel_close(pen_channel *channel); /* what is queued is dropped, and memory wiped */

/* Queues; sent by the next flush. head: all but body_len and check. */
void pen_channel_put(pen_channel *channel, const pen_record *head, const void *body,
                     size_t body_len);
void pen_channel_put_raw(pen_channel *channel, const void *bytes, size_t len);

/* Writes what goes without waiting; false: the other side is gone. */
bool pen_channel_flush(pen_channel *channel);

/* Reads what is there, some at a time; false: the other side is gone. */
bool pen_channel_fill(pen_channel *channel);

/* The next whole record, if there is one; its body lasts until the next call on the channel. */
bool pen_channel_next(pen_channel *channel, pen_record *out, const char **body);

static inline size_t pen_channel_queued(const pen_channel *channel)
{
    return channel->queue_end - channel->queue_start;
}

#endif
