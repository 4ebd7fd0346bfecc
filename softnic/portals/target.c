/* SPDX-License-Identifier: BSD-3-Clause */
/* target.c: the target's side of a message: its fate, its data, its answer. */
#include "base/compiler.h"
#include "softnic/portals/inner.h"

#include <stdlib.h>
#include <string.h>

/* ---- fate ------------------------------------------------------------------------------- */

static bool is_managed(const p4_entry *entry)
{
    return (entry->me.options & PTL_ME_MANAGE_LOCAL) != 0;
}

static p4_entry *find_entry(p4_pt *pt, const ptl_event_t *event)
{
    for (int list = PTL_PRIORITY_LIST; list <= PTL_OVERFLOW_LIST; list++) {
        p4_link *end = &pt->lists[list];
        for (p4_link *link = end->next; link != end; link = link->next) {
            p4_entry *entry = pen_container_of(link, p4_entry, link);
            if (p4_entry_matches(entry, event))
                return entry;
        }
    }
    return NULL;
}

static bool leaves_header(const p4_entry *entry)
{
    return entry->list == PTL_OVERFLOW_LIST &&
           (entry->me.options & PTL_ME_UNEXPECTED_HDR_DISABLE) == 0;
}

static ptl_size_t accepted_len(const p4_entry *entry, ptl_size_t offset, ptl_size_t length)
{
    ptl_size_t room = offset < entry->space.len ? entry->space.len - offset : 0;
    return length < room ? length : room;
}

/* Tells whether the entry leaves its list after a message that ends at this offset. */
static bool is_used_up(const p4_entry *entry, ptl_size_t offset)
{
    if ((entry->me.options & PTL_ME_USE_ONCE) != 0)
        return true;
    return is_managed(entry) && entry->me.min_free != 0 &&
           entry->space.len - offset < entry->me.min_free;
}

/* Counts the events that a message causes before any call of the program. */
static uint32_t events_of(const p4_entry *entry, bool will_unlink)
{
    unsigned options = entry->me.options;
    uint32_t events = (options & (PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE)) == 0;
    if (will_unlink && (options & PTL_ME_EVENT_UNLINK_DISABLE) == 0)
        events += entry->list == PTL_OVERFLOW_LIST && !leaves_header(entry) ? 2 : 1;
    return events;
}

/* Refuses a message for want of resources. */
static ptl_ni_fail_t refuse(pen_portals *card, p4_pt *pt)
{
    pt->ni->status[PTL_SR_DROP_COUNT]++;
    if ((pt->options & PTL_PT_FLOWCTRL) == 0)
        return PTL_NI_DROPPED;
    p4_pt_refuse(card, pt);
    return PTL_NI_PT_DISABLED;
}

static ptl_ni_fail_t check_rights(p4_ni *ni, const p4_entry *entry, const p4_packet *packet)
{
    if (entry->me.uid != PTL_UID_ANY && entry->me.uid != packet->uid) {
        ni->status[PTL_SR_PERMISSION_VIOLATIONS]++;
        return PTL_NI_PERM_VIOLATION;
    }
    unsigned needed = packet->kind == P4_GET ? PTL_ME_OP_GET : PTL_ME_OP_PUT;
    if (packet->kind == P4_FETCH || packet->kind == P4_SWAP)
        needed |= PTL_ME_OP_GET;
    if ((entry->me.options & needed) != needed) {
        ni->status[PTL_SR_OPERATION_VIOLATIONS]++;
        return PTL_NI_OP_VIOLATION;
    }
    return PTL_NI_OK;
}

/* Promises room in the event queue for all events of the message. */
static bool promise_events(pen_portals *card, p4_message *message, p4_entry *entry)
{
    const p4_pt *pt = message->pt;
    if ((pt->options & PTL_PT_FLOWCTRL) == 0 ||
        (entry->me.options & PTL_ME_EVENT_FLOWCTRL_DISABLE) != 0)
        return true;
    ptl_size_t end = message->offset + message->event.mlength;
    message->promised = events_of(entry, is_used_up(entry, end));
    if (!p4_draw(card, card->config.faults.full_one_in) &&
        p4_eq_promise(card, pt->eq, message->promised))
        return true;
    message->promised = 0;
    return false;
}

/* Finds the portal of a message. Returns why it takes none. */
static ptl_ni_fail_t choose_portal(pen_portals *card, p4_ni *ni, uint32_t index, p4_pt **out)
{
    const pen_portals_faults *faults = &card->config.faults;
    p4_pt *pt = p4_find_pt(ni, index);
    bool has_control = pt != NULL && (pt->options & PTL_PT_FLOWCTRL) != 0;
    if (pt == NULL || (!has_control && p4_draw(card, faults->drop_one_in))) {
        ni->status[PTL_SR_DROP_COUNT]++;
        return PTL_NI_DROPPED;
    }
    if (!pt->is_enabled) {
        ni->status[PTL_SR_DROP_COUNT]++;
        return PTL_NI_PT_DISABLED;
    }
    if (has_control && p4_draw(card, faults->disable_one_in))
        return refuse(card, pt);
    *out = pt;
    return PTL_NI_OK;
}

/* Takes what a message needs, for an entry that matches it. Returns false if something is short. */
static bool reserve(pen_portals *card, p4_message *message)
{
    p4_entry *entry = message->entry;
    message->offset = is_managed(entry) ? entry->local_offset : message->packet.offset;
    message->event.mlength = accepted_len(entry, message->offset, message->packet.length);
    if (!promise_events(card, message, entry))
        return false;
    if (!leaves_header(entry))
        return true;
    message->header = calloc(1, sizeof(*message->header));
    if (message->header == NULL && message->promised > 0)
        p4_eq_keep_promise(card, message->pt->eq, message->promised);
    return message->header != NULL;
}

/* Finds the entry of a message. Returns why it is refused. */
static ptl_ni_fail_t decide(pen_portals *card, p4_message *message)
{
    p4_ni *ni = card->nis[message->packet.ni];
    if (ni == NULL)
        return PTL_NI_DROPPED;
    p4_pt *pt;
    ptl_ni_fail_t fail = choose_portal(card, ni, message->packet.pt_index, &pt);
    if (fail != PTL_NI_OK)
        return fail;
    message->event.initiator = p4_id_of(ni, message->from);
    p4_entry *entry = find_entry(pt, &message->event);
    if (entry == NULL ||
        (leaves_header(entry) && ni->header_count >= (uint32_t)ni->limits.max_unexpected_headers))
        return refuse(card, pt);
    fail = check_rights(ni, entry, &message->packet);
    if (fail != PTL_NI_OK)
        return fail;
    message->pt = pt;
    message->entry = entry;
    if (reserve(card, message))
        return PTL_NI_OK;
    message->pt = NULL;
    message->entry = NULL;
    return refuse(card, pt);
}

static ptl_event_kind_t event_kind(uint8_t packet_kind)
{
    switch (packet_kind) {
    case P4_PUT:
        return PTL_EVENT_PUT;
    case P4_GET:
        return PTL_EVENT_GET;
    case P4_ATOMIC:
        return PTL_EVENT_ATOMIC;
    default:
        return PTL_EVENT_FETCH_ATOMIC;
    }
}

static void describe(p4_message *message)
{
    const p4_packet *packet = &message->packet;
    message->event = (ptl_event_t){ .type = event_kind(packet->kind),
                                    .rlength = packet->length,
                                    .remote_offset = packet->offset,
                                    .match_bits = packet->match_bits,
                                    .hdr_data = packet->kind == P4_GET ? 0 : packet->hdr_data,
                                    .uid = packet->uid,
                                    .pt_index = packet->pt_index };
    if (packet->kind >= P4_ATOMIC) {
        message->event.atomic_operation = packet->operation;
        message->event.atomic_type = packet->datatype;
    }
}

/* Takes a message into its entry. */
static void accept(pen_portals *card, p4_message *message)
{
    p4_entry *entry = message->entry;
    p4_ni *ni = message->pt->ni;
    card->counts.matched++;
    message->event.start = p4_space_at(&entry->space, message->offset);
    message->event.user_ptr = entry->user_ptr;
    message->event.ptl_list = entry->list;
    if ((ni->options & PTL_NI_MATCHING) == 0)
        message->event.match_bits = 0;
    entry->busy++;
    message->pt->busy++;
    if (message->header != NULL) {
        message->header->entry = entry;
        message->header->event = message->event;
        entry->headers++;
        ni->header_count++;
        p4_list_insert(&message->pt->headers, &message->header->link);
    }
    if (is_managed(entry))
        entry->local_offset += message->event.mlength;
    if (is_used_up(entry, message->offset + message->event.mlength))
        p4_entry_unlink(card, entry, true);
}

/* ---- data ------------------------------------------------------------------------------- */

/* Moves a part of the data from the ring to the entry, as far as the entry takes it. */
static void place(pen_portals *card, p4_message *message, uint32_t bytes)
{
    const p4_side *side = &card->peers[message->from].in[P4_REQUESTS];
    ptl_size_t room = message->event.mlength - message->moved, wanted = bytes;
    if (message->pt != NULL && message->moved < message->event.mlength) {
        size_t first, len = (size_t)(wanted < room ? wanted : room);
        const unsigned char *at =
            p4_ring_at(side, card->config.ring_len, sizeof(p4_packet), len, &first);
        const p4_space *space = &message->entry->space;
        p4_space_write(space, message->offset + message->moved, at, first);
        p4_space_write(space, message->offset + message->moved + first, side->bytes, len - first);
    }
    message->moved += bytes;
}

static void copy_out(pen_portals *card, uint32_t from, uint64_t skip, void *to, size_t len)
{
    size_t first;
    const p4_side *side = &card->peers[from].in[P4_REQUESTS];
    const unsigned char *at =
        p4_ring_at(side, card->config.ring_len, sizeof(p4_packet) + skip, len, &first);
    memcpy(to, at, first);
    memcpy((char *)to + first, side->bytes, len - first);
}

/* Runs an atomic operation on as many whole items as the entry takes. Writes the old items. */
static void run_atomic(pen_portals *card, p4_message *message, unsigned char *old)
{
    const p4_packet *packet = &message->packet;
    unsigned char operand[P4_OPERAND_LEN] = { 0 }, source[P4_ATOMIC_MAX], value[P4_ATOMIC_MAX];
    uint32_t skip = packet->kind == P4_SWAP ? P4_OPERAND_LEN : 0;
    size_t len = (size_t)message->event.mlength;
    copy_out(card, message->from, 0, operand, skip);
    copy_out(card, message->from, skip, source, len);
    const p4_space *space = &message->entry->space;
    unsigned char *whole = p4_space_whole(space, message->offset, len);
    if (whole == NULL)
        p4_space_read(space, message->offset, value, len);
    p4_atomic_apply(packet->operation, packet->datatype, whole != NULL ? whole : value, source,
                    operand, old, len);
    if (whole == NULL)
        p4_space_write(space, message->offset, value, len);
}

static bool is_sound(const p4_packet *packet)
{
    if (packet->ni > 3 || packet->ack > PTL_OC_ACK_REQ)
        return false;
    if (packet->kind == P4_PUT)
        return packet->bytes <= packet->length;
    if (packet->kind == P4_GET)
        return packet->bytes == 0;
    uint32_t operand_len = packet->kind == P4_SWAP ? P4_OPERAND_LEN : 0;
    uint32_t item_len = p4_type_len(packet->datatype);
    return p4_atomic_is_legal((p4_kind)packet->kind, packet->operation, packet->datatype) &&
           packet->length <= P4_ATOMIC_MAX && packet->length % item_len == 0 &&
           packet->bytes == operand_len + packet->length;
}

static bool is_long_get(const pen_portals *card, const p4_message *message)
{
    return message->packet.kind == P4_GET && message->fail == PTL_NI_OK &&
           message->event.mlength > p4_payload_max(&card->config);
}

/* Ends a message all of which has arrived. */
static void finish(pen_portals *card, p4_message *message)
{
    unsigned char data[P4_PAYLOAD_MAX];
    const unsigned char *reply = NULL;
    card->peers[message->from].has_message = false;
    if (is_long_get(card, message)) { /* the message ends when its data was read */
        p4_answer(card, message, NULL);
        return;
    }
    if (message->pt != NULL && message->packet.kind == P4_GET) {
        p4_space_read(&message->entry->space, message->offset, data, message->event.mlength);
        reply = data;
    } else if (message->pt != NULL && message->packet.kind >= P4_ATOMIC) {
        run_atomic(card, message, data);
        reply = message->packet.kind == P4_ATOMIC ? NULL : data;
    }
    if (message->pt != NULL)
        p4_message_end(card, message);
    p4_answer(card, message, reply);
}

bool p4_target_take(pen_portals *card, uint32_t from, const p4_packet *packet)
{
    if (!is_sound(packet))
        return false;
    p4_message *message = &card->peers[from].message;
    memset(message, 0, sizeof(*message));
    message->packet = *packet;
    message->from = from;
    describe(message);
    message->fail = decide(card, message);
    if (message->fail == PTL_NI_OK) {
        accept(card, message);
    } else {
        message->event.mlength = 0;
        card->counts.refused++;
    }
    card->peers[from].has_message = true;
    if (packet->kind == P4_PUT) {
        place(card, message, packet->bytes);
        if (message->moved < packet->length)
            return true;
    }
    finish(card, message);
    return true;
}

bool p4_target_data(pen_portals *card, uint32_t from, const p4_packet *packet)
{
    p4_message *message = &card->peers[from].message;
    if (packet->bytes == 0 || packet->bytes > message->packet.length - message->moved)
        return false;
    place(card, message, packet->bytes);
    if (message->moved == message->packet.length)
        finish(card, message);
    return true;
}

void p4_target_cut(pen_portals *card, uint32_t from)
{
    p4_peer *peer = &card->peers[from];
    peer->has_message = false;
    if (peer->message.pt == NULL)
        return;
    peer->message.fail = PTL_NI_UNDELIVERABLE;
    p4_message_end(card, &peer->message);
}
