/* SPDX-License-Identifier: BSD-3-Clause */
/* netlib.c: see netlib.h. */
#include "link/netlib.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "link/host.h"
#include "os/lock.h"

#include <string.h>
#include <sys/resource.h>

enum { DESCRIPTORS_OWN = 64 }; /* that a library needs beside those for peers */

static uint32_t padded(uint32_t len)
{
    return (len + PEN_NET_ALIGN - 1) & ~(uint32_t)(PEN_NET_ALIGN - 1);
}

size_t pen_net_len(uint32_t head_len, uint32_t body_len)
{
    return sizeof(pen_net_word) + padded(head_len) + (size_t)padded(body_len);
}

pen_status pen_net_check_limits(const pen_link_params *params, const char *conduit,
                                const char *variable, int64_t window, unsigned each)
{
    const pen_host *host = params->host;
    if (window < PEN_NET_WINDOW_LEAST || window > PEN_NET_WINDOW_MOST) {
        host->log(host->ctx, PEN_LOG_ERROR, "cannot use %s=%lld: it has to be from 64K to 64M",
                  variable, (long long)window);
        return PEN_ERR_ARGUMENT;
    }
    const rlim_t needed = (rlim_t)params->peers * each + DESCRIPTORS_OWN;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return PEN_OK;
    if (limit.rlim_max >= needed) {
        limit.rlim_cur = needed;
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
            return PEN_OK;
    }
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot open the %s conduit: %llu descriptors are allowed, and %u peers may need "
              "%llu; raise \"ulimit -n\"",
              conduit, (unsigned long long)limit.rlim_max, params->peers,
              (unsigned long long)needed);
    return PEN_ERR_RESOURCE;
}

bool pen_net_open(pen_net *out, const pen_link_params *params, void *link, uint32_t token,
                  uint32_t frame_max)
{
    const pen_host *host = params->host;
    const size_t len = params->peers * sizeof *out->peer;
    *out = (pen_net){ .host = host,
                      .link = link,
                      .self = params->self,
                      .peers = params->peers,
                      .token = token,
                      .frame_max = frame_max,
                      .peer = host->alloc(host->ctx, len, _Alignof(pen_net_peer)) };
    if (out->peer == NULL)
        return false;
    memset(out->peer, 0, len);
    return true;
}

void pen_net_close(pen_net *net)
{
    const pen_host *host = net->host;
    while (net->made != NULL) {
        pen_net_buffer *buffer = net->made;
        net->made = buffer->made;
        host->release(host->ctx, buffer);
    }
    if (net->peer != NULL)
        host->release(host->ctx, net->peer);
    net->peer = NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

static size_t room_of(const pen_net *net, bool is_long)
{
    return is_long ? pen_net_len(PEN_FRAME_HEAD_COUNTED_MAX, net->frame_max) : PEN_NET_SHORT_LEN;
}

size_t pen_net_room(const pen_net *net, const pen_net_buffer *buffer)
{
    return room_of(net, buffer->is_long);
}

static pen_net_buffer *buffer_take(pen_net *net, size_t len)
{
    const bool is_long = len > PEN_NET_SHORT_LEN;
    pen_net_buffer **list = is_long ? &net->free_long : &net->free_short;
    pen_net_buffer *buffer = *list;
    if (buffer != NULL) {
        *list = buffer->next;
        return buffer;
    }
    const pen_host *host = net->host;
    buffer = host->alloc(host->ctx, sizeof *buffer + room_of(net, is_long), PEN_NET_ALIGN);
    if (buffer == NULL)
        return NULL;
    *buffer = (pen_net_buffer){ .made = net->made, .link = net->link, .is_long = is_long };
    net->made = buffer;
    return buffer;
}

pen_net_buffer *pen_net_pack(pen_net *net, pen_peer to, pen_lane lane, const pen_frame *frame,
                             size_t *len)
{
    const pen_net_word word = { .from = net->self,
                                .lane = (uint8_t)lane,
                                .head_words = (uint8_t)(frame->head_len / 8),
                                .body_len = frame->body_len,
                                .token = net->token };
    *len = pen_net_len(frame->head_len, frame->body_len);
    pen_net_buffer *buffer = buffer_take(net, *len);
    if (buffer == NULL)
        return NULL;
    unsigned char *body = buffer->bytes + pen_net_len(frame->head_len, 0);
    buffer->to = to;
    memset(body - PEN_NET_ALIGN, 0, PEN_NET_ALIGN); /* the head's padding */
    memset(buffer->bytes + *len - PEN_NET_ALIGN, 0, PEN_NET_ALIGN);
    memcpy(buffer->bytes, &word, sizeof word);
    memcpy(buffer->bytes + sizeof word, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(body, frame->body, frame->body_len);
    return buffer;
}

void pen_net_give(pen_net *net, pen_net_buffer *buffer)
{
    pen_net_buffer **list = buffer->is_long ? &net->free_long : &net->free_short;
    buffer->next = *list;
    *list = buffer;
}

/* ---- arriving -------------------------------------------------------------------------------- */

static bool is_valid(const pen_net *net, const pen_net_word *word, size_t len)
{
    const uint32_t head_len = word->head_words * 8u;
    return word->lane < PEN_LANES && word->head_words != 0 && word->zero == 0 &&
           head_len <= PEN_FRAME_HEAD_COUNTED_MAX && word->body_len <= net->frame_max &&
           len == pen_net_len(head_len, word->body_len);
}

bool pen_net_unpack(pen_net *net, const void *data, size_t len, pen_net_word *out)
{
    if (len < sizeof *out) {
        net->bad_frame++;
        return false;
    }
    memcpy(out, data, sizeof *out);
    if (out->token != net->token || out->from >= net->peers) {
        net->bad_source++;
        return false;
    }
    if (!is_valid(net, out, len)) {
        net->bad_frame++;
        return false;
    }
    return true;
}

pen_frame pen_net_frame(const pen_net_word *word, const void *data)
{
    const uint32_t head_len = word->head_words * 8u;
    const char *bytes = data;
    return (pen_frame){ .head = bytes + sizeof *word,
                        .head_len = head_len,
                        .body = bytes + pen_net_len(head_len, 0),
                        .body_len = word->body_len };
}

void pen_net_hand(const pen_host *host, const pen_net_word *word, void *data)
{
    const uint32_t head_len = word->head_words * 8u;
    char *bytes = data;
    pen_host_hand(host, word->from, (pen_lane)word->lane, bytes + sizeof *word, head_len,
                  bytes + pen_net_len(head_len, 0), word->body_len);
}

/* ---- peers that are lost --------------------------------------------------------------------- */

void pen_net_lose(pen_net *net, pen_peer peer)
{
    if (net->peer[peer].is_lost)
        return;
    net->peer[peer].is_lost = true;
    if (net->lost++ == 0)
        net->tell_ns = net->host->now_ns(net->host->ctx) + PEN_NET_GRACE_NS;
}

void pen_net_lose_frame(pen_net *net, pen_peer peer)
{
    net->is_memory_out = true;
    pen_net_lose(net, peer);
}

static void tell_lost(pen_net *net, pen_lock *lock, pen_peer peer)
{
    const pen_host *host = net->host;
    const bool no_memory = net->is_memory_out;
    net->peer[peer].is_told = true;
    net->lost--;
    pen_lock_drop(lock);
    if (no_memory)
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot keep a frame of rank %u: no memory; free some memory", peer);
    host->peer_lost(host->ctx, peer, no_memory ? PEN_ERR_MEMORY : PEN_ERR_PEER_LOST);
    pen_lock_take(lock);
}

void pen_net_tell(pen_net *net, pen_lock *lock)
{
    pen_counters *counters = net->host->counters;
    if (counters != NULL) {
        counters->net_bad_source += net->bad_source;
        counters->net_bad_frame += net->bad_frame;
    }
    net->bad_source = net->bad_frame = 0;
    if (net->lost == 0 || (!net->is_memory_out && net->host->now_ns(net->host->ctx) < net->tell_ns))
        return;
    for (pen_peer peer = 0; peer < net->peers; peer++)
        if (net->peer[peer].is_lost && !net->peer[peer].is_told) {
            tell_lost(net, lock, peer);
            return;
        }
}
