/* SPDX-License-Identifier: BSD-3-Clause */
/* velo.c: VELO's ports and connections, and sending. A packet takes the next slot of the target's
 * ring, which is claimed by a compare-exchange on a cache line that only senders use. The status
 * word is written last; it holds the number of the ring's lap. */
#include "base/compiler.h"
#include "os/os.h"
#include "softnic/extoll/fabric.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE /* musl does not name it */
#    define MADV_POPULATE_WRITE 23
#endif

/* Time that the model does not wait for, because calls, clocks and a copy take it from velo2_send
 * to the poll that finds the packet. */
enum { SPINS_BEFORE_YIELD = 200, STATUS_LEN = 8, OWN_NS = 80 };

/* ---- ports ----------------------------------------------------------------------------------- */

static velo_counters *counters_make(pen_card *card)
{
    velo_counters *counters = aligned_alloc(PEN_CACHE_LINE, sizeof(*counters));
    if (counters == NULL)
        return NULL;
    memset(counters, 0, sizeof(*counters));
    (void)pthread_mutex_lock(&card->lock);
    counters->next = card->velo;
    card->velo = counters;
    (void)pthread_mutex_unlock(&card->lock);
    return counters;
}

velo2_ret_t velo2_open(velo2_port_t *port)
{
    pen_card *card = fabric_card_used();
    *port = (velo2_port_t){ 0 };
    if (card == NULL)
        return VELO2_RET_ERR_FDOPEN;
    velo_counters *counters = counters_make(card);
    if (counters == NULL)
        return VELO2_RET_ERR_MMAP;
    uint32_t vpid = fabric_claim(card, false);
    if (vpid == UINT32_MAX)
        return VELO2_RET_ERR_FDOPEN;
    const pen_card_config *config = &card->config;
    uint32_t endpoint_i = 0;
    (void)fabric_endpoint(card, card->node, vpid, &endpoint_i);
    port->card = card;
    port->counters = counters;
    port->mailbox = fabric_mailbox(card, endpoint_i);
    port->raw = VELO2_ADDRESS(card->node, vpid);
    port->slot_len = config->slot_len;
    port->max_len = config->slot_len - STATUS_LEN;
    port->slot_count = config->mailbox_slots;
    port->mask = card->layout.mailbox_ring - 1;
    port->shift = (uint32_t)__builtin_ctz(card->layout.mailbox_ring);
    port->period =
        config->commit_period < port->slot_count ? config->commit_period : port->slot_count;
    port->is_timed = config->virtual == NULL &&
                     (config->latency.on || config->faults.velo_delay_ns > 0);
    port->may_stall = config->full == PEN_CARD_STALL;
    port->full_one_in = config->faults.full_one_in;
    port->random = fabric_seed(card, 0);
    port->read = fabric_ring_open(&port->mailbox.box->ring);
    /* Pins the ring as a driver does, or every first use of a page is a fault. Failure is harmless.
     */
    (void)madvise((void *)((uintptr_t)port->mailbox.box & ~(uintptr_t)4095),
                  pen_align_up(card->layout.velo_stride, 4096), MADV_POPULATE_WRITE);
    velo2_look_at(port);
    port->committed = port->read;
    if (config->virtual != NULL) {
        atomic_store_explicit(&port->mailbox.box->ring.state, FABRIC_VIRTUAL, memory_order_release);
        fabric_virtual_velo(card, port);
    }
    return VELO2_RET_SUCCESS;
}

velo2_ret_t velo2_close(velo2_port_t *port)
{
    if (port->card == NULL)
        return VELO2_RET_ERROR;
    fabric_ring_close(&port->mailbox.box->ring);
    if (port->card->config.virtual != NULL)
        fabric_virtual_velo(port->card, NULL);
    port->card = NULL;
    return VELO2_RET_SUCCESS;
}

uint16_t velo2_get_nodeid(const velo2_port_t *port) { return VELO2_ADDRESS_NODE(port->raw); }
uint16_t velo2_get_vpid(const velo2_port_t *port) { return VELO2_ADDRESS_VPID(port->raw); }
size_t velo2_port_max_len(const velo2_port_t *port) { return port->max_len; }

velo2_ret_t velo2_connect(velo2_port_t *port, velo2_connection_t *connection, uint16_t node,
                          uint16_t vpid)
{
    *connection = (velo2_connection_t){ 0 };
    if (port->card == NULL)
        return VELO2_RET_ERROR;
    uint32_t endpoint_i;
    if (!fabric_endpoint(port->card, node, vpid, &endpoint_i))
        return vpid < VELO2_VPIDS_MAX ? VELO2_RET_INVALID_NODE : VELO2_RET_INVALID_MBOX;
    connection->dest.raw = VELO2_ADDRESS(node, vpid);
    connection->mailbox = fabric_mailbox(port->card, endpoint_i);
    connection->port = port;
    return VELO2_RET_SUCCESS;
}

velo2_ret_t velo2_disconnect(velo2_port_t *port, velo2_connection_t *connection)
{
    if (port->card == NULL || connection->port != port)
        return VELO2_RET_ERROR;
    *connection = (velo2_connection_t){ 0 };
    return VELO2_RET_SUCCESS;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Returns the time at which a packet sent now arrives. *busy_until: the time until which sending
 * keeps the processor busy. */
PEN_COLD static uint64_t time_packet(velo2_port_t *port, uint64_t *busy_until)
{
    const pen_card_latency *latency = &port->card->config.latency;
    uint32_t delay = port->card->config.faults.velo_delay_ns;
    uint64_t now = pen_now_ns(), due = now;
    *busy_until = now;
    if (latency->on) {
        uint64_t serialise = (uint64_t)latency->serialise * (port->slot_len / 64);
        uint64_t leaves = now + latency->pio;
        *busy_until = leaves;
        if (leaves < port->wire_free)
            leaves = port->wire_free;
        port->wire_free = leaves + (serialise > latency->gap ? serialise : latency->gap);
        due = leaves + latency->transmit + serialise + latency->hop + latency->receive +
              latency->poll;
        due = due - now > OWN_NS ? due - OWN_NS : now;
    }
    return delay > 0 ? due + fabric_random(&port->random) % delay : due;
}

/* Waits for a slot. Returns false if the port is gone. */
PEN_COLD static bool stall(velo2_port_t *port, fabric_ring *ring, uint64_t *slot_i)
{
    fabric_count(&port->counters->stalls, 1);
    for (uint32_t spins = 0; fabric_ring_is_open(ring); spins++) {
        if (fabric_ring_claim(ring, port->slot_count, slot_i))
            return true;
        if (spins < SPINS_BEFORE_YIELD)
            pen_cpu_relax();
        else
            (void)sched_yield();
    }
    return false;
}

PEN_COLD static velo2_ret_t claim_full(velo2_port_t *port, fabric_ring *ring, uint64_t *slot_i)
{
    if (!port->may_stall) {
        fabric_count(&port->counters->retries, 1);
        return VELO2_RET_TRY_AGAIN;
    }
    return stall(port, ring, slot_i) ? VELO2_RET_SUCCESS : VELO2_RET_INVALID_MBOX;
}

/* Claims a slot for a packet, or returns the reason why there is no slot. */
static inline velo2_ret_t claim(const velo2_connection_t *connection, uint64_t *slot_i)
{
    velo2_port_t *port = connection->port;
    fabric_ring *ring = &connection->mailbox.box->ring;
    if (pen_unlikely(!fabric_ring_is_open(ring)))
        return VELO2_RET_INVALID_MBOX;
    if (pen_unlikely(fabric_strikes(&port->random, port->full_one_in) ||
                     !fabric_ring_claim(ring, port->slot_count, slot_i)))
        return claim_full(port, ring, slot_i);
    return VELO2_RET_SUCCESS;
}

velo2_ret_t velo2_send_header(velo2_connection_t *connection, const uint64_t *hdr,
                              size_t hdr_quadwords, const void *buf, size_t len, uint8_t tag,
                              uint8_t mtt)
{
    velo2_port_t *port = connection->port;
    if (pen_unlikely(port == NULL || port->card == NULL))
        return VELO2_RET_ERROR;
    if (pen_unlikely(mtt > 3))
        return VELO2_RET_INV_MTT;
    if (pen_unlikely(hdr_quadwords > port->max_len / 8 || len > port->max_len - 8 * hdr_quadwords))
        return VELO2_RET_INV_MSG;
    uint64_t slot_i, late = 0, busy_until = 0;
    velo2_ret_t claimed = claim(connection, &slot_i);
    if (pen_unlikely(claimed != VELO2_RET_SUCCESS))
        return claimed != VELO2_RET_INVALID_MBOX
                   ? claimed
                   : fabric_virtual_send(connection, hdr, 8 * hdr_quadwords, buf, len, tag, mtt);

    size_t whole_len = 8 * hdr_quadwords + len;
    size_t place = (uint32_t)slot_i & port->mask;
    unsigned char *status = connection->mailbox.slots + place * port->slot_len + port->max_len;
    if (pen_unlikely(port->is_timed)) {
        __atomic_store_n(&connection->mailbox.due[place], time_packet(port, &busy_until),
                         __ATOMIC_RELAXED);
        late = VELO2_STATUS_LATE;
    }
    unsigned char *start = status - pen_align_up(whole_len, 8);
    velo2_copy(start, hdr, 8 * hdr_quadwords);
    velo2_copy(start + 8 * hdr_quadwords, buf, len);
    /* release: the rest of the slot was written before */
    __atomic_store_n((uint64_t *)(void *)status,
                     VELO2_HEADER(port->raw, mtt, tag, whole_len) | VELO2_STATUS_EOM | late |
                         velo2_lap(port, slot_i) << 55,
                     __ATOMIC_RELEASE);
    fabric_count(&port->counters->sent, 1);
    fabric_count(&port->counters->bytes, whole_len);
    if (pen_unlikely(busy_until > 0))
        fabric_wait_until(busy_until);
    return VELO2_RET_SUCCESS;
}

velo2_ret_t velo2_send(velo2_connection_t *connection, const void *buf, size_t len, uint8_t tag,
                       uint8_t mtt)
{
    return velo2_send_header(connection, NULL, 0, buf, len, tag, mtt);
}

velo2_ret_t velo2_send_check(const velo2_connection_t *connection)
{
    if (connection->port == NULL)
        return VELO2_RET_ERROR;
    fabric_ring *ring = &connection->mailbox.box->ring;
    uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire);
    if (state == FABRIC_VIRTUAL)
        return fabric_virtual_has_room(connection->port->card) ? VELO2_RET_SUCCESS
                                                               : VELO2_RET_TRY_AGAIN;
    if (state != FABRIC_OPEN)
        return VELO2_RET_INVALID_MBOX;
    uint64_t write = atomic_load_explicit(&ring->write, memory_order_relaxed);
    return fabric_ring_has_room(ring, write, connection->port->slot_count) ? VELO2_RET_SUCCESS
                                                                           : VELO2_RET_TRY_AGAIN;
}
