/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_send.c: tokens, and frames on their way out. */
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "link/host.h"
#include "os/lock.h"
#include "softnic/portals/portals4.h"

#include <string.h>

enum { PAUSE_NS = 5000, PAUSE_DOUBLINGS = 7 }; /* before a refused frame is sent again */

portals_token *portals_token_take(portals_link *link, unsigned kind, pen_peer to, uint8_t events,
                                  bool *is_lost)
{
    pen_lock_take(&link->lock);
    portals_token *token = link->free_tokens[kind];
    *is_lost = link->peer[to].is_lost;
    if (*is_lost)
        token = NULL;
    if (token != NULL) {
        link->free_tokens[kind] = token->next;
        token->peer = to;
        token->events = events;
        token->is_source_done = token->is_refused = token->is_local = false;
        token->refusals = 0;
        link->peer[to].pending++;
        link->pending++;
    }
    pen_lock_drop(&link->lock);
    return token;
}

void portals_token_give(portals_link *link, portals_token *token)
{
    portals_local_end(link, token);
    pen_lock_take(&link->lock);
    link->peer[token->peer].pending--;
    link->pending--;
    token->next = link->free_tokens[token->kind];
    link->free_tokens[token->kind] = token;
    pen_lock_drop(&link->lock);
}

void portals_mark_lost(portals_link *link, pen_peer peer)
{
    pen_lock_take(&link->lock);
    if (!link->peer[peer].is_lost)
        link->lost++;
    link->peer[peer].is_lost = true;
    pen_lock_drop(&link->lock);
}

void portals_wake(portals_link *link, pen_peer peer)
{
    pen_host_wake_sleeper(link->base.host, peer, link->peer[peer].sleeping, link->fenced);
}

pen_post portals_posted(portals_link *link, portals_token *token, int result)
{
    pen_peer to = token->peer;
    if (result == PTL_OK) { /* the token may be free already */
        return PEN_POST_DONE;
    }
    portals_token_give(link, token);
    if (result == PTL_NO_SPACE)
        return PEN_POST_AGAIN;
    portals_mark_lost(link, to);
    return PEN_POST_FAILED;
}

static uint32_t fill(char *buffer, const pen_frame *frame)
{
    uint32_t body_at = portals_padded(frame->head_len);
    uint32_t len = body_at + portals_padded(frame->body_len);
    memset(buffer + body_at - PORTALS_ALIGN, 0, PORTALS_ALIGN);
    memcpy(buffer, frame->head, frame->head_len);
    if (frame->body_len != 0) {
        memset(buffer + len - PORTALS_ALIGN, 0, PORTALS_ALIGN);
        memcpy(buffer + body_at, frame->body, frame->body_len);
    }
    return len;
}

/* A frame that may be refused is acknowledged. */
static uint8_t frame_events(const portals_link *link)
{
    return link->policy == PORTALS_DISABLE ? 2 : 1;
}

/* Returns a result of the interface. */
static int put_frame(portals_link *link, portals_token *token)
{
    const portals_peer *peer = &link->peer[token->peer];
    ptl_ack_req_t ack = link->policy == PORTALS_DISABLE ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
    portals_device_use(link->device);
    int result = PtlPut(link->frames_md, (ptl_size_t)(token->buffer - link->buffers), token->len,
                        ack, peer->process, peer->portal[token->kind], 0, 0, token, token->lengths);
    portals_device_use(NULL);
    return result;
}

/* ---- refused frames -------------------------------------------------------------------------- */

static void keep_refused(portals_link *link, portals_token *token)
{
    pen_lock_take(&link->lock);
    token->next = link->refused;
    link->refused = token;
    pen_lock_drop(&link->lock);
}

/* Each refusal doubles the pause, so that many senders do not keep a busy rank from its work. */
void portals_refused(portals_link *link, portals_token *token)
{
    const pen_host *host = link->base.host;
    token->retry_ns =
        host->now_ns(host->ctx) + (uint64_t)PAUSE_NS * (UINT64_C(1) << token->refusals);
    if (token->refusals < PAUSE_DOUBLINGS)
        token->refusals++;
    link->counters->frame_resent++;
    keep_refused(link, token);
}

static void send_again(portals_link *link, portals_token *token)
{
    pen_peer to = token->peer;
    token->is_refused = false;
    token->events = frame_events(link);
    int result = put_frame(link, token);
    if (result == PTL_OK) {
        portals_wake(link, to);
    } else if (result == PTL_NO_SPACE) {
        keep_refused(link, token);
    } else {
        portals_token_give(link, token);
        portals_mark_lost(link, to);
    }
}

void portals_resend(portals_link *link)
{
    const pen_host *host = link->base.host;
    pen_lock_take(&link->lock);
    portals_token *token = link->refused;
    link->refused = NULL;
    pen_lock_drop(&link->lock);
    const uint64_t now = token != NULL ? host->now_ns(host->ctx) : 0;
    while (token != NULL) {
        portals_token *next = token->next;
        if (token->retry_ns > now)
            keep_refused(link, token);
        else
            send_again(link, token);
        token = next;
    }
}

/* ---- frames ---------------------------------------------------------------------------------- */

pen_post portals_post_frame(portals_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                            uint64_t about_body)
{
    bool is_lost;
    portals_token *token = portals_token_take(link, lane, to, frame_events(link), &is_lost);
    if (token == NULL)
        return is_lost ? PEN_POST_FAILED : PEN_POST_AGAIN;
    token->len = fill(token->buffer, frame);
    token->lengths = (uint64_t)link->base.self << 40 | (uint64_t)frame->head_len << 32 | about_body;
    pen_post answer = portals_posted(link, token, put_frame(link, token));
    if (answer == PEN_POST_DONE)
        portals_wake(link, to);
    return answer;
}

pen_post portals_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                      pen_op *op)
{
    (void)op; /* the frame is copied */
    return portals_post_frame(portals_of(base), to, lane, frame, frame->body_len);
}
