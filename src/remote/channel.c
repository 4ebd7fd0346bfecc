/* SPDX-License-Identifier: BSD-3-Clause */
/* channel.c: implements queues in front of and behind two descriptors. */
#include "remote/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_LEN = 65536 };

void pen_channel_open(pen_channel *out, int in_fd, int out_fd, bool begun)
{
    *out = (pen_channel){ .in = in_fd, .out = out_fd, .begun = begun };
}

static void wipe(char *bytes, size_t len)
{
    if (bytes != NULL)
        explicit_bzero(bytes, len);
    free(bytes);
}

/* Wipes the records that the caller has read. */
static void wipe_read(pen_channel *channel)
{
    if (channel->buffer_wiped < channel->buffer_start)
        explicit_bzero(channel->buffer + channel->buffer_wiped,
                       channel->buffer_start - channel->buffer_wiped);
    channel->buffer_wiped = channel->buffer_start;
}

void pen_channel_close(pen_channel *channel)
{
    if (channel->out >= 0 && channel->out != channel->in)
        close(channel->out);
    if (channel->in >= 0)
        close(channel->in);
    wipe(channel->queue, channel->queue_room);
    wipe(channel->buffer, channel->buffer_room);
    *channel = (pen_channel){ .in = -1, .out = -1, .failed = true };
}

/* Makes room for len more bytes behind *end. Returns false without memory. */
static bool room_make(char **bytes, size_t *start, size_t *end, size_t *room, size_t len)
{
    if (*room - *end >= len)
        return true;
    size_t used = *end - *start, wanted = *room < READ_LEN ? READ_LEN : *room;
    while (wanted - used < len)
        wanted *= 2;
    if (wanted == *room) {
        memmove(*bytes, *bytes + *start, used);
        explicit_bzero(*bytes + used, *end - used);
    } else {
        char *grown = malloc(wanted);
        if (grown == NULL)
            return false;
        if (used != 0)
            memcpy(grown, *bytes + *start, used);
        wipe(*bytes, *room);
        *bytes = grown;
        *room = wanted;
    }
    *start = 0;
    *end = used;
    return true;
}

void pen_channel_put_raw(pen_channel *channel, const void *bytes, size_t len)
{
    if (channel->out < 0 || channel->failed || len == 0)
        return;
    if (!room_make(&channel->queue, &channel->queue_start, &channel->queue_end,
                   &channel->queue_room, len)) {
        channel->failed = true;
        return;
    }
    memcpy(channel->queue + channel->queue_end, bytes, len);
    channel->queue_end += len;
}

void pen_channel_put(pen_channel *channel, const pen_record *head, const void *body,
                     size_t body_len)
{
    pen_record record = *head;
    record.body_len = (uint32_t)body_len;
    record.check = pen_record_check(&record);
    pen_channel_put_raw(channel, &record, sizeof(record));
    pen_channel_put_raw(channel, body, body_len);
}

/* Writes once. A child's end of the channel is a socket, for which SIGPIPE is suppressed; blocked
 * and pending, it would end the launcher at its exit. An agent ignores SIGPIPE. */
static ssize_t send_some(const pen_channel *channel)
{
    const char *bytes = channel->queue + channel->queue_start;
    size_t len = channel->queue_end - channel->queue_start;
    ssize_t sent = send(channel->out, bytes, len, MSG_NOSIGNAL);
    return sent < 0 && errno == ENOTSOCK ? write(channel->out, bytes, len) : sent;
}

bool pen_channel_flush(pen_channel *channel)
{
    while (channel->queue_start < channel->queue_end && channel->out >= 0) {
        ssize_t written = send_some(channel);
        if (written >= 0) {
            explicit_bzero(channel->queue + channel->queue_start, (size_t)written);
            channel->queue_start += (size_t)written;
        } else if (errno == EAGAIN)
            return true;
        else if (errno != EINTR)
            return false;
    }
    channel->queue_start = channel->queue_end = 0;
    return channel->out >= 0 && !channel->failed;
}

bool pen_channel_fill(pen_channel *channel)
{
    if (channel->in < 0 || channel->failed)
        return false;
    wipe_read(channel);
    if (!room_make(&channel->buffer, &channel->buffer_start, &channel->buffer_end,
                   &channel->buffer_room, READ_LEN)) {
        channel->failed = true;
        return false;
    }
    channel->buffer_wiped = channel->buffer_start;
    ssize_t got = read(channel->in, channel->buffer + channel->buffer_end, READ_LEN);
    if (got > 0)
        channel->buffer_end += (size_t)got;
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool pen_channel_next(pen_channel *channel, pen_record *out, const char **body)
{
    wipe_read(channel);
    const char *bytes = channel->buffer + channel->buffer_start;
    size_t len = channel->buffer_end - channel->buffer_start;
    if (channel->failed || len == 0)
        return false;
    if (!channel->begun) {
        size_t noise_len = pen_record_begin(bytes, len);
        channel->failed = noise_len == SIZE_MAX;
        if (noise_len == 0 || channel->failed)
            return false;
        channel->begun = true;
        channel->buffer_start += noise_len;
        bytes += noise_len;
        len -= noise_len;
    }
    size_t taken = pen_record_take(bytes, len, out, body);
    channel->failed = taken == SIZE_MAX;
    if (taken == 0 || channel->failed)
        return false;
    channel->buffer_start += taken;
    return true;
}
