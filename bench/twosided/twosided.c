/* SPDX-License-Identifier: BSD-3-Clause */
/* twosided.c: opening, sending by packets, credits, and progress. */
#include "credit/credit.h"
#include "os/os.h"
#include "softnic/extoll/rma2.h"
#include "softnic/extoll/velo2.h"
#include "twosided/twosided_internal.h"

#include <sched.h>

/* The packets of one poll. */
enum { POLL_MAX = 64 };

uint64_t twosided_mailbox_slots(const pen_credit_params *params)
{
    return pen_credit_mailbox_slots(params);
}

twosided *twosided_open(velo2_port_t *velo, velo2_connection_t *to, RMA2_Port rma,
                        RMA2_Handle *rma_to, int rank, int rank_count,
                        const pen_credit_params *params)
{
    twosided *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    void *sender = malloc(pen_credit_sender_size(params));
    void *receiver = malloc(pen_credit_receiver_size(params));
    t->peers = calloc((size_t)rank_count, sizeof(*t->peers));
    if (sender == NULL || receiver == NULL || t->peers == NULL) {
        free(sender);
        free(receiver);
        free(t->peers);
        free(t);
        return NULL;
    }
    t->velo = velo;
    t->to = to;
    t->rma = rma;
    t->rma_to = rma_to;
    t->rank = rank;
    t->count = rank_count;
    t->max_len = velo2_port_max_len(velo);
    t->sender = pen_credit_sender_open(sender, params);
    t->receiver = pen_credit_receiver_open(receiver, params);
    t->posted_end = &t->posted;
    t->early_end = &t->early_first;
    t->fetching_end = &t->fetching;
    return t;
}

void twosided_close(twosided *t)
{
    for (early *next, *kept = t->early_first; kept != NULL; kept = next) {
        next = kept->next;
        free(kept);
    }
    free(t->sender);
    free(t->receiver);
    free(t->peers);
    free(t);
}

void twosided_count(const twosided *t, twosided_counts *out)
{
    *out = t->counts;
    for (uint32_t peer_i = 0; peer_i + 1 < (uint32_t)t->count; peer_i++) {
        pen_credit_sender_counters sent;
        pen_credit_sender_count(t->sender, peer_i, &sent);
        out->stalls += sent.stalls;
    }
}

/* ---- credits --------------------------------------------------------------------------------- */

static uint8_t byte_of(pen_credit_tag tag)
{
    return (uint8_t)((tag.urgent ? 1 : 0) | tag.need << 1);
}

static void send_control(twosided *t, uint32_t peer_i, const pen_credit_message *message)
{
    (void)velo2_recv_commit(t->velo);
    velo2_ret_t sent =
        velo2_send(&t->to[credit_rank(t, peer_i)], message, sizeof(*message), 0, PACKET_CONTROL);
    t->counts.control++;
    if (sent != VELO2_RET_SUCCESS)
        t->counts.overflows++;
}

/* Sends the control packets that are due to peers. */
static void send_controls(twosided *t)
{
    uint32_t peer_i;
    pen_credit_message message;
    while (pen_credit_receiver_next(t->receiver, &peer_i, &message))
        send_control(t, peer_i, &message);
    while (pen_credit_sender_next(t->sender, &peer_i, &message))
        send_control(t, peer_i, &message);
}

static void hear(twosided *t, int peer, const unsigned char *bytes, size_t len)
{
    pen_credit_message message;
    pen_status heard = PEN_ERR_PROTOCOL;
    if (len == sizeof(message)) {
        memcpy(&message, bytes, sizeof(message));
        uint32_t peer_i = credit_peer(t, peer);
        heard = message.kind == PEN_CREDIT_GIVE
                    ? pen_credit_receiver_hear(t->receiver, peer_i, &message)
                    : pen_credit_sender_hear(t->sender, peer_i, &message);
    }
    if (heard != PEN_OK)
        t->counts.protocol++;
}

/* ---- sending --------------------------------------------------------------------------------- */

bool twosided_packet(twosided *t, int peer, const message_head *head, const void *bytes, size_t len,
                     uint32_t left)
{
    pen_credit_tag tag = { false, 0 };
    uint32_t peer_i = credit_peer(t, peer);
    if (!pen_credit_sender_take_plain(t->sender, peer_i) &&
        !pen_credit_sender_take(t->sender, peer_i, PEN_CREDIT_REPLY, left, &tag))
        return false;
    /* Slots are free before anything is sent that lets peers conclude that they are: also a data
     * packet does, since it shows that the grants it was sent with have been read. */
    (void)velo2_recv_commit(t->velo);
    uint64_t word = 0;
    if (head != NULL)
        memcpy(&word, head, sizeof(word));
    t->counts.packets++;
    if (velo2_send_header(&t->to[peer], &word, head != NULL ? 1 : 0, bytes, len, byte_of(tag),
                          head != NULL ? PACKET_START : PACKET_MORE) == VELO2_RET_SUCCESS)
        return true;
    t->counts.overflows++; /* and the packet is lost */
    return true;
}

/* Sends the request's packets as far as credits go. True: all are out. */
static bool push_one(twosided *t, twosided_request *request)
{
    const unsigned char *bytes = request->buf;
    const bool asks = request->len > TWOSIDED_EAGER_LEN;
    message_head head = { (uint32_t)request->len, (uint16_t)request->tag,
                          asks ? KIND_ASK : KIND_EAGER };
    if (asks) {
        unsigned char where[12];
        memcpy(where, &request->theirs, 8);
        memcpy(where + 8, &request->number, 4);
        return twosided_packet(t, request->peer, &head, where, sizeof(where), 1);
    }
    do {
        size_t room = t->max_len - (request->started ? 0 : sizeof(head));
        size_t left = request->len - request->moved, part = least(left, room);
        uint32_t packets = (uint32_t)(1 + (left - part + t->max_len - 1) / t->max_len);
        if (!twosided_packet(t, request->peer, request->started ? NULL : &head,
                             bytes + request->moved, part, packets))
            return false;
        request->started = true;
        request->moved += part;
    } while (request->moved < request->len);
    request->done = true;
    return true;
}

void twosided_push(twosided *t, int peer)
{
    peer_state *p = &t->peers[peer];
    while (p->answer != NULL) {
        twosided_request *told = p->answer;
        message_head head = { told->number, 0, KIND_FETCHED };
        if (!twosided_packet(t, peer, &head, NULL, 0, 1))
            return;
        p->answer = told->next;
        told->done = true;
        t->queued--;
    }
    while (p->first != NULL) {
        twosided_request *request = p->first, *next = request->next;
        if (!push_one(t, request))
            return;
        p->first = next;
        t->queued--;
        if (request->len > TWOSIDED_EAGER_LEN) {
            request->next = t->asking;
            t->asking = request;
        }
    }
}

void twosided_isend(twosided *t, int peer, int tag, const void *buf, size_t len,
                    twosided_request *request)
{
    *request =
        (twosided_request){ .peer = peer, .tag = tag, .len = len, .buf = (void *)(uintptr_t)buf };
    if (len > TWOSIDED_EAGER_LEN)
        twosided_ask(t, request);
    peer_state *p = &t->peers[peer];
    if (p->first == NULL && p->answer == NULL && len <= TWOSIDED_EAGER_LEN && push_one(t, request))
        return;
    if (p->first == NULL)
        p->first = request;
    else
        p->last->next = request;
    p->last = request;
    t->queued++;
    twosided_push(t, peer);
}

void twosided_send(twosided *t, int peer, int tag, const void *buf, size_t len)
{
    twosided_request request;
    twosided_isend(t, peer, tag, buf, len, &request);
    if (!request.done)
        twosided_wait(t, &request);
}

/* ---- progress -------------------------------------------------------------------------------- */

static void take_packet(twosided *t, int peer, size_t len, uint8_t mtt, uint8_t tag)
{
    unsigned char packet[VELO2_MAX_MSG_SIZE];
    (void)velo2_recv_payload(t->velo, packet, 0, len);
    (void)velo2_recv_complete(t->velo);
    if (mtt == PACKET_CONTROL) {
        hear(t, peer, packet, len);
        return;
    }
    uint32_t peer_i = credit_peer(t, peer);
    const pen_credit_tag told = { .urgent = (tag & 1) != 0, .need = tag >> 1 };
    if (pen_credit_receiver_passed(t->receiver, peer_i, told) != PEN_OK) { /* it was copied */
        t->counts.protocol++;
        return;
    }
    if (mtt == PACKET_START && len >= sizeof(message_head))
        twosided_started(t, peer, packet, len);
    else if (mtt == PACKET_MORE)
        twosided_continued(t, peer, packet, len);
    else
        t->counts.protocol++;
}

void twosided_progress(twosided *t)
{
    uint32_t source = 0;
    size_t len = 0;
    uint8_t mtt = 0, tag = 0;
    velo2_ret_t found;
    int i = 0;
    for (; i < POLL_MAX &&
           (found = velo2_check(t->velo, &source, &len, &mtt, &tag)) != VELO2_RET_NO_MSG;
         i++) {
        int peer = VELO2_ADDRESS_NODE(source);
        if (found == VELO2_RET_SUCCESS && peer < t->count && peer != t->rank) {
            take_packet(t, peer, len, mtt, tag);
            continue;
        }
        t->counts.protocol++;
        (void)velo2_recv_complete(t->velo);
    }
    if (i > 0)
        send_controls(t);
    if (pen_unlikely(t->fetching != NULL))
        twosided_poll_rma(t);
    if (pen_unlikely(t->queued > 0))
        for (int peer = 0; peer < t->count; peer++)
            if (t->peers[peer].first != NULL || t->peers[peer].answer != NULL)
                twosided_push(t, peer);
}
