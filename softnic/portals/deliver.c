/* SPDX-License-Identifier: BSD-3-Clause */
/* deliver.c: the end of a message at its target: events, counts, and the answer. */
#include "softnic/portals/inner.h"

#include <stdlib.h>
#include <string.h>

void p4_message_end(pen_portals *card, p4_message *message)
{
    p4_entry *entry = message->entry;
    p4_pt *pt = message->pt;
    unsigned options = entry->me.options;
    bool is_ok = message->fail == PTL_NI_OK;
    entry->busy--;
    pt->busy--;
    message->event.ni_fail_type = message->fail;
    if (message->promised > 0)
        p4_eq_keep_promise(card, pt->eq, message->promised);
    if ((options & PTL_ME_EVENT_COMM_DISABLE) == 0 &&
        !(is_ok && (options & PTL_ME_EVENT_SUCCESS_DISABLE) != 0))
        p4_eq_post(card, pt->eq, &message->event);
    if ((options & PTL_ME_EVENT_CT_COMM) != 0) {
        bool is_bytes = (options & PTL_ME_EVENT_CT_BYTES) != 0;
        ptl_size_t success = is_bytes ? message->event.mlength : 1;
        p4_ct_add(card, entry->me.ct_handle, is_ok ? success : 0, is_ok ? 0 : 1);
    }
    p4_header *header = message->header;
    /* The header keeps the entry alive. Without a header the entry may end here. */
    p4_entry_settle(card, entry);
    if (header != NULL) {
        header->is_complete = true;
        header->fail = message->fail;
        if (header->claim.is_made)
            p4_header_finish(card, header);
        else if (!is_ok) /* the data never came, so nobody shall find the header */
            p4_header_free(card, header);
    }
    p4_pt_settle(card, pt);
}

static p4_packet answer_to(const p4_message *message)
{
    const p4_packet *request = &message->packet;
    bool is_reply = request->kind == P4_GET || request->kind >= P4_FETCH;
    bool is_ok = message->fail == PTL_NI_OK;
    return (p4_packet){ .kind = is_reply ? P4_REPLY : P4_ACK,
                        .fail = message->fail,
                        .list = message->event.ptl_list,
                        .token = request->token,
                        .match_bits = is_ok ? message->event.mlength : 0,
                        .offset = is_ok ? message->offset : 0,
                        .length = is_reply && is_ok ? message->event.mlength : 0 };
}

/* Keeps an answer for which the ring has no room, or whose data is long. */
static void queue(pen_portals *card, const p4_message *message, const p4_packet *packet,
                  const void *plain)
{
    p4_peer *peer = &card->peers[message->from];
    size_t copied = plain != NULL ? (size_t)packet->length : 0;
    p4_response *response = calloc(1, sizeof(*response) + copied);
    if (response == NULL) { /* the peer cannot be answered any more */
        p4_peer_lose(card, message->from);
        return;
    }
    response->packet = *packet;
    response->reads_entry = plain == NULL && packet->length > 0;
    if (response->reads_entry)
        response->message = *message;
    if (copied > 0)
        memcpy(response->copy, plain, copied);
    p4_list_insert(&peer->responses, &response->link);
    peer->response_count++;
    p4_peer_is_busy(card, peer);
}

void p4_answer(pen_portals *card, p4_message *message, const void *plain)
{
    p4_packet packet = answer_to(message);
    p4_peer *peer = &card->peers[message->from];
    if (packet.kind == P4_ACK && message->packet.ack == PTL_NO_ACK_REQ)
        return;
    if (p4_list_is_empty(&peer->responses) && (plain != NULL || packet.length == 0)) {
        p4_payload payload = { .plain = plain, .len = (uint32_t)packet.length };
        p4_sent state = p4_send(card, message->from, P4_RESPONSES, &packet, &payload);
        if (state == P4_SENT)
            return;
    }
    queue(card, message, &packet, plain);
}

void p4_response_free(pen_portals *card, p4_response *response)
{
    if (response->reads_entry) {
        if (response->moved < response->packet.length)
            response->message.fail = PTL_NI_UNDELIVERABLE;
        p4_message_end(card, &response->message);
    }
    free(response);
}
