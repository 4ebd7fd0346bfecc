/* SPDX-License-Identifier: BSD-3-Clause */
/* channel.h: records over a pair of descriptors that never block. Outgoing records wait in a queue
 * until the peer takes them. Incoming bytes wait until a record is whole. Records may contain a
 * key, so all bytes are wiped once they are sent or read. */
#ifndef PEN_REMOTE_CHANNEL_H
#define PEN_REMOTE_CHANNEL_H

#include "remote/record.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct pen_channel {
    int in, out; /* equal for a socket; -1: closed */
    bool begun;  /* the magic has come; set at once if no magic is expected */
    bool failed; /* no memory, or invalid bytes; treated as closed */
    char *queue; /* outgoing bytes */
    size_t queue_start, queue_end, queue_room;
    char *buffer; /* incoming bytes */
    size_t buffer_start, buffer_end, buffer_room;
    size_t buffer_wiped; /* bytes before it are read and wiped */
} pen_channel;

void pen_channel_open(pen_channel *out, int in_fd, int out_fd, bool begun);
void pen_channel_close(pen_channel *channel); /* drops queued records and wipes memory */

/* Queues a record, which the next flush sends. head: all fields but body_len and check. */
void pen_channel_put(pen_channel *channel, const pen_record *head, const void *body,
                     size_t body_len);
void pen_channel_put_raw(pen_channel *channel, const void *bytes, size_t len);

/* Writes as much as possible without waiting. Returns false if the peer is gone. */
bool pen_channel_flush(pen_channel *channel);

/* Reads some of the bytes that have arrived. Returns false if the peer is gone. */
bool pen_channel_fill(pen_channel *channel);

/* Gets the next whole record. Returns false if there is no whole record. The body is valid until
 * the next call on the channel. */
bool pen_channel_next(pen_channel *channel, pen_record *out, const char **body);

static inline size_t pen_channel_queued(const pen_channel *channel)
{
    return channel->queue_end - channel->queue_start;
}

#endif
