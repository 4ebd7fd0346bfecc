/* SPDX-License-Identifier: BSD-3-Clause */
/* virtual.c: the card over a network in virtual time. A packet goes into the simulated network
 * instead of its target's mailbox. What has arrived lies in the network's list; when the rank
 * observes the network, its own card writes packets into the mailbox and notifications into the
 * queue, where the ports find them as in real time.
 *
 * RMA moves data when the command is posted. The network gets a burst of the data's length, whose
 * arrival is the completer's notification. A get is a packet that turns round at the target's
 * card. A notification queue that is full keeps what has arrived in the network's list. */
#include "virtual/virtual.h"
#include "base/compiler.h"
#include "softnic/extoll/fabric.h"
#include "softnic/extoll/rma_port.h"
#include "virtual/machine.h"
#include "virtual/net.h"

#include <string.h>

enum { KIND_MESSAGE, KIND_NOTIFICATION, KIND_DATA };

/* Bytes of a header on the wire, for each RMA fragment. */
enum { FRAMING_LEN = 16 };

/* The data went without a notification; a bit beside the units of rma_command.notified. */
enum { NOTIFIED_NONE = 1 << 3 };

static const pen_virtual_machine *machine_of(const pen_card *card)
{
    return pen_virtual_net_machine(&card->config.virtual->net);
}

/* ---- arriving -------------------------------------------------------------------------------- */

/* Writes the packet into a claimed slot of the port's mailbox. */
static void fill_slot(const velo2_port_t *port, uint64_t slot_i, const pen_virtual_packet *packet)
{
    size_t place = (uint32_t)slot_i & port->mask;
    unsigned char *status = port->mailbox.slots + place * port->slot_len + port->max_len;
    velo2_copy(status - pen_align_up(packet->len, 8), packet->payload, packet->len);
    /* release: the rest of the slot was written before */
    __atomic_store_n((uint64_t *)(void *)status, packet->word[0] | velo2_lap(port, slot_i) << 55,
                     __ATOMIC_RELEASE);
}

static void take_message(const pen_card *card, const pen_virtual_packet *packet)
{
    const velo2_port_t *port = card->virtual_velo;
    uint64_t slot_i;
    /* The network counts slots, so there is one. */
    if (port == NULL || !fabric_ring_claim(&port->mailbox.box->ring, port->slot_count, &slot_i))
        return;
    pen_virtual_charge(card->config.virtual, machine_of(card)->poll_packet);
    fill_slot(port, slot_i, packet);
}

/* Returns false if the queue is full. */
static bool take_notification(const pen_card *card, const pen_virtual_packet *packet)
{
    RMA2_Port port = card->virtual_rma;
    uint64_t number;
    if (port == NULL)
        return true;
    if (!fabric_ring_claim(&port->shared->ring, port->noti_count, &number))
        return false;
    fabric_entry *entry = &port->queue[(uint32_t)number & port->noti_mask];
    atomic_store_explicit(&entry->word[0], packet->word[0], memory_order_relaxed);
    /* release: publishes the first word */
    atomic_store_explicit(&entry->word[1], packet->word[1], memory_order_release);
    fabric_count(&port->counters->notifications, 1);
    if (packet->word[1] >> 61 != 0)
        fabric_count(&port->counters->errors, 1);
    return true;
}

static uint32_t take(void *ctx)
{
    const pen_card *card = ctx;
    pen_virtual *time = card->config.virtual;
    uint32_t number, taken = 0;
    while ((number = pen_virtual_net_first(&time->net, time->rank)) != 0) {
        const pen_virtual_packet *packet = pen_virtual_net_packet(&time->net, number);
        if (packet->kind == KIND_NOTIFICATION && !take_notification(card, packet))
            break;
        if (packet->kind == KIND_MESSAGE)
            take_message(card, packet);
        (void)pen_virtual_net_receive(&time->net, time->rank);
        pen_virtual_net_free(&time->net, number);
        taken++;
    }
    return taken;
}

bool fabric_virtual_fits(const pen_card_config *config, uint16_t node)
{
    return config->node_first == 0 && config->vpids == 1 && node == config->virtual->rank;
}

void fabric_virtual_open(pen_card *card)
{
    card->config.virtual->take = take;
    card->config.virtual->take_ctx = card;
}

void fabric_virtual_close(pen_card *card) { card->config.virtual->take = NULL; }

void fabric_virtual_velo(pen_card *card, velo2_port_t *port)
{
    pen_virtual *time = card->config.virtual;
    card->virtual_velo = port;
    if (port != NULL)
        pen_virtual_net_mailbox(&time->net, time->rank, port->slot_count);
}

void fabric_virtual_rma(pen_card *card, RMA2_Port port) { card->virtual_rma = port; }

void fabric_virtual_commit(const pen_card *card, uint32_t slots)
{
    pen_virtual *time = card->config.virtual;
    pen_virtual_net_release(&time->net, time->rank, slots, pen_virtual_now_ns(time));
}

bool fabric_virtual_step(const pen_card *card)
{
    pen_virtual *time = card->config.virtual;
    if (time == NULL)
        return false;
    pen_virtual_wait(time, PEN_VIRTUAL_NEVER);
    (void)pen_virtual_observe(time);
    return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

bool fabric_virtual_has_room(const pen_card *card)
{
    pen_virtual *time = card->config.virtual;
    uint32_t number = pen_virtual_net_take(&time->net, time->rank);
    if (number != 0)
        pen_virtual_net_free(&time->net, number);
    return number != 0;
}

velo2_ret_t fabric_virtual_send(const velo2_connection_t *connection, const uint64_t *hdr,
                                size_t hdr_len, const void *buf, size_t len, uint8_t tag,
                                uint8_t mtt)
{
    velo2_port_t *port = connection->port;
    const pen_card *card = port->card;
    pen_virtual *time = card->config.virtual;
    const _Atomic uint32_t *state = &connection->mailbox.box->ring.state;
    if (time == NULL || atomic_load_explicit(state, memory_order_acquire) != FABRIC_VIRTUAL)
        return VELO2_RET_INVALID_MBOX;
    const pen_virtual_machine *machine = machine_of(card);
    uint32_t number;
    while ((number = pen_virtual_net_take(&time->net, time->rank)) == 0) {
        fabric_count(port->may_stall ? &port->counters->stalls : &port->counters->retries, 1);
        time->is_full = true;
        if (!port->may_stall)
            return VELO2_RET_TRY_AGAIN;
        (void)fabric_virtual_step(card);
    }
    pen_virtual_packet *packet = pen_virtual_net_packet(&time->net, number);
    packet->kind = KIND_MESSAGE;
    packet->is_counted = true;
    packet->to = VELO2_ADDRESS_NODE(connection->dest.raw);
    packet->link_ns = machine->link_packet * (port->slot_len / 64);
    packet->card_ns = machine->nic_gap * (port->slot_len / 64);
    packet->len = (uint16_t)(hdr_len + len);
    packet->word[0] = VELO2_HEADER(port->raw, mtt, tag, hdr_len + len) | VELO2_STATUS_EOM;
    if (hdr_len != 0)
        memcpy(packet->payload, hdr, hdr_len);
    if (len != 0)
        memcpy(packet->payload + hdr_len, buf, len);
    pen_virtual_charge(time, machine->send_packet);
    pen_virtual_net_send(&time->net, number, pen_virtual_now_ns(time));
    fabric_count(&port->counters->sent, 1);
    fabric_count(&port->counters->bytes, hdr_len + len);
    return VELO2_RET_SUCCESS;
}

/* ---- RMA ------------------------------------------------------------------------------------- */

void rma_virtual_post(RMA2_Port port)
{
    pen_virtual_charge(port->card->config.virtual, machine_of(port->card)->send_packet);
}

/* How long the fragments of that many bytes keep a link busy. */
static uint32_t wire_ns(const pen_card *card, uint32_t len)
{
    const pen_virtual_machine *machine = machine_of(card);
    uint64_t fragments = ((uint64_t)len + card->config.mtu - 1) / card->config.mtu;
    uint64_t ns = (len + fragments * FRAMING_LEN) * machine->link_packet / machine->packet_wire;
    return ns > 0 ? (uint32_t)ns : 1;
}

/* Sends the command's bytes, or for a get the request that fetches them. */
static void send_data(const pen_card *card, const rma_command *c, uint32_t number, uint32_t len)
{
    pen_virtual *time = card->config.virtual;
    const pen_virtual_machine *machine = machine_of(card);
    pen_virtual_packet *packet = pen_virtual_net_packet(&time->net, number);
    bool reads = rma_has_memory(c) && c->command != RMA2_IMM_PUT && !rma_answers(c);
    packet->to = c->endpoint_i;
    packet->link_ns = rma_answers(c) ? machine->link_packet : wire_ns(card, len);
    packet->card_ns =
        (uint32_t)((uint64_t)packet->link_ns * machine->nic_gap / machine->link_packet);
    packet->back_link_ns = rma_answers(c) ? wire_ns(card, len) : 0;
    uint64_t delay_ns = reads ? machine->read_memory : 0;
    if (packet->kind == KIND_NOTIFICATION)
        delay_ns += machine->notify;
    pen_virtual_net_send(&time->net, number, pen_virtual_now_ns(time) + delay_ns);
}

bool rma_virtual_notify(RMA2_Port port, const rma_command *c, uint8_t unit, uint32_t len,
                        uint64_t word0, uint64_t word1)
{
    const pen_card *card = port->card;
    pen_virtual *time = card->config.virtual;
    const pen_virtual_machine *machine = machine_of(card);
    uint32_t number = pen_virtual_net_take(&time->net, time->rank);
    if (number == 0)
        return false;
    pen_virtual_packet *packet = pen_virtual_net_packet(&time->net, number);
    packet->kind = KIND_NOTIFICATION;
    packet->word[0] = word0;
    packet->word[1] = word1;
    if (unit == RMA2_COMPLETER_NOTIFICATION) {
        send_data(card, c, number, len);
    } else if (unit == RMA2_REQUESTER_NOTIFICATION) {
        uint64_t busy_ns = rma_answers(c) ? 0 : machine->read_memory + wire_ns(card, len);
        packet->to = time->rank;
        pen_virtual_net_put(&time->net, number,
                            pen_virtual_now_ns(time) + machine->nic_send + busy_ns +
                                machine->notify);
    } else { /* the responder's: it has read what it answers with */
        packet->to = c->endpoint_i;
        packet->link_ns = machine->link_packet;
        packet->card_ns = machine->nic_gap;
        pen_virtual_net_send(&time->net, number,
                             pen_virtual_now_ns(time) + machine->read_memory + machine->notify);
    }
    return true;
}

bool rma_virtual_notify_none(RMA2_Port port, rma_command *c, uint32_t len)
{
    pen_virtual *time = port->card->config.virtual;
    if ((c->spec & RMA2_COMPLETER_NOTIFICATION) != 0 || c->error != 0 ||
        (c->notified & NOTIFIED_NONE) != 0)
        return true;
    uint32_t number = pen_virtual_net_take(&time->net, time->rank);
    if (number == 0)
        return false;
    pen_virtual_net_packet(&time->net, number)->kind = KIND_DATA;
    send_data(port->card, c, number, len);
    c->notified |= NOTIFIED_NONE;
    return true;
}
