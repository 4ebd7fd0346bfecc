/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_engine.c: carries out RMA commands. A command resolves its addresses, moves its data, and
 * writes its notifications. It waits if a queue has no room, or if a fault requires it. Commands
 * of a port are carried out in order. */
#include "base/compiler.h"
#include "base/status.h"
#include "os/lock.h"
#include "os/os.h"
#include "softnic/extoll/rma_port.h"

#include <string.h>

/* The bytes of a packet's header on the wire, and of the packet that the serialisation time is
 * given for. */
enum { FRAMING_LEN = 16, PACKET_LEN = 80 };

/* ---- times ----------------------------------------------------------------------------------- */

void rma_time(RMA2_Port port, rma_command *c)
{
    const pen_card_latency *t = &port->card->config.latency;
    if (pen_unlikely(port->card->config.virtual != NULL)) {
        rma_virtual_post(port);
        return;
    }
    if (!t->on)
        return;
    uint64_t start = pen_now_ns();
    uint64_t fragments = (c->size + port->card->config.mtu - 1) / port->card->config.mtu;
    uint64_t wire = (c->size + fragments * FRAMING_LEN) * t->serialise / PACKET_LEN;
    uint64_t request = t->transmit + t->serialise + t->hop + t->receive;
    bool reads = rma_has_memory(c) && c->command != RMA2_IMM_PUT && !rma_is_get(c);
    uint64_t leaves = start + t->pio + (reads ? t->read : 0);
    if (leaves < port->wire_free)
        leaves = port->wire_free;
    if (rma_is_get(c) || c->command == RMA2_LOCK) {
        port->wire_free = leaves + t->serialise;
        c->due[0] = leaves + t->notify;
        c->due[1] = leaves + request + t->read + t->notify;
        c->due[2] =
            leaves + request + t->read + t->transmit + wire + t->hop + t->receive + t->notify;
    } else {
        port->wire_free = leaves + wire;
        c->due[0] = leaves + wire + t->notify;
        c->due[2] = leaves + t->transmit + wire + t->hop + t->receive + t->notify;
    }
    fabric_wait_until(start + t->pio);
}

/* ---- notifications --------------------------------------------------------------------------- */

/* Writes a notification. Returns false if the queue is full. A port that is gone gets no
 * notification, which counts as success. */
static bool notify(RMA2_Port port, uint32_t endpoint_i, uint64_t word0, uint64_t word1,
                   uint64_t due)
{
    fabric_ring *ring = &fabric_rma_of(port->card, endpoint_i)->ring;
    uint64_t number;
    if (!fabric_ring_is_open(ring))
        return true;
    if (fabric_strikes(&port->random, port->card->config.faults.full_one_in) ||
        !fabric_ring_claim(ring, port->noti_count, &number)) {
        fabric_count(&port->counters->queue_full, 1);
        return false;
    }
    size_t place = (uint32_t)number & port->noti_mask;
    fabric_entry *entry = &fabric_queue(port->card, endpoint_i)[place];
    if (due != 0) {
        word1 |= RMA_NOTI_LATE;
        uint64_t *times = fabric_noti_due(port->card, endpoint_i);
        __atomic_store_n(&times[place], due, __ATOMIC_RELAXED);
    }
    atomic_store_explicit(&entry->word[0], word0, memory_order_relaxed);
    /* release: publishes the data and the first word */
    atomic_store_explicit(&entry->word[1], word1, memory_order_release);
    fabric_count(&port->counters->notifications, 1);
    if (word1 >> 61 != 0)
        fabric_count(&port->counters->errors, 1);
    return true;
}

/* Returns the command's name in the notifications of a unit. */
static uint64_t command_at(const rma_command *c, uint8_t unit)
{
    if (unit == RMA2_REQUESTER_NOTIFICATION || !rma_answers(c))
        return (uint64_t)c->command;
    if (rma_is_get(c))
        return (uint64_t)c->command + (unit == RMA2_COMPLETER_NOTIFICATION ? RMA2_BT_GET_RSP : 0);
    return unit == RMA2_COMPLETER_NOTIFICATION ? RMA2_LOCK_RSP : RMA2_LOCK_REQ;
}

/* Returns the unit that reports the command's error. */
static uint8_t teller(const rma_command *c)
{
    return c->error == RMA2_REQUESTER_NOTIFICATION ? RMA2_REQUESTER_NOTIFICATION
                                                   : RMA2_COMPLETER_NOTIFICATION;
}

/* Returns the unit's notification of the fragment that ends at `end`. */
static bool notify_unit(RMA2_Port port, const rma_command *c, uint8_t unit, uint32_t end)
{
    bool at_origin = unit == RMA2_REQUESTER_NOTIFICATION ||
                     (unit == RMA2_COMPLETER_NOTIFICATION && rma_answers(c));
    uint32_t last = (end - 1) % port->card->config.mtu + 1;
    uint64_t word0 = c->value, word1 = c->class8;
    if (rma_has_memory(c)) {
        word0 = (at_origin ? c->local : c->remote) + end - last;
        word1 = last - 1;
    }
    word1 |= (uint64_t)(at_origin ? c->vpid : port->vpid) << 23;
    word1 |= (uint64_t)(at_origin ? c->node : port->node) << 32;
    word1 |= (uint64_t)unit << 48 | command_at(c, unit) << 51;
    if (unit == teller(c))
        word1 |= (uint64_t)c->error << 61;
    if (pen_unlikely(port->card->config.virtual != NULL))
        return rma_virtual_notify(port, c, unit, end - c->done, word0, word1);
    return notify(port, at_origin ? port->endpoint_i : c->endpoint_i, word0, word1,
                  c->due[unit / 2]);
}

static bool notify_all(RMA2_Port port, rma_command *c, uint32_t end)
{
    for (int unit_i = 0; unit_i < 3; unit_i++) {
        uint8_t unit = (uint8_t)(1 << unit_i);
        if ((c->spec & ~c->notified & unit) == 0)
            continue;
        if (!notify_unit(port, c, unit, end))
            return false;
        c->notified |= unit;
    }
    if (pen_unlikely(port->card->config.virtual != NULL))
        return rma_virtual_notify_none(port, c, end - c->done);
    return true;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Returns the address of the target's [theirs, theirs + len) in this process, or NULL. The port's
 * own memory was looked up in its own table. */
static unsigned char *here(RMA2_Port port, const rma_command *c, uint64_t theirs, size_t len)
{
    if (c->endpoint_i == port->endpoint_i)
        return (unsigned char *)(uintptr_t)theirs;
    for (const card_mapping *m = port->card->mappings; m != NULL; m = m->next)
        if (m->endpoint_i == c->endpoint_i && theirs >= m->theirs && theirs - m->theirs <= m->len &&
            len <= m->len - (theirs - m->theirs))
            return m->ours + (theirs - m->theirs);
    return NULL;
}

/* Moves a word whole if a concurrent reader may look at it. */
static void copy(void *to, const void *from, size_t len)
{
    if (len == 8 && ((uintptr_t)to | (uintptr_t)from) % 8 == 0)
        __atomic_store_n((uint64_t *)to, *(const uint64_t *)from, __ATOMIC_RELAXED);
    else
        memmove(to, from, len);
}

static bool move(RMA2_Port port, const rma_command *c, uint32_t offset, uint32_t len)
{
    unsigned char *ours = c->ours + offset;
    uint64_t theirs = c->theirs + offset;
    unsigned char *mapped = here(port, c, theirs, len);
    if (mapped != NULL) {
        copy(rma_is_get(c) ? ours : mapped, rma_is_get(c) ? mapped : ours, len);
        fabric_count(&port->counters->directly, len);
        return true;
    }
    fabric_ring *ring = &fabric_rma_of(port->card, c->endpoint_i)->ring;
    pid_t pid = atomic_load_explicit(&ring->pid, memory_order_relaxed);
    void *remote = (void *)(uintptr_t)theirs;
    pen_status moved = rma_is_get(c) ? pen_cma_read(pid, ours, remote, len)
                                     : pen_cma_write(pid, ours, remote, len);
    fabric_count(&port->counters->by_kernel, moved == PEN_OK ? len : 0);
    return moved == PEN_OK;
}

/* if (cell <= cmp) cell += add. The result goes into the notification. */
static void lock_cell(RMA2_Port port, rma_command *c)
{
    _Atomic int32_t *cell =
        &fabric_rma_of(port->card, c->endpoint_i)->locks[c->lock_unit][c->lock_number];
    int32_t value = atomic_load_explicit(cell, memory_order_relaxed);
    while (value <= c->lock_cmp) {
        int32_t sum = (int32_t)((uint32_t)value + (uint32_t)c->lock_add);
        if (atomic_compare_exchange_weak_explicit(cell, &value, sum, memory_order_acq_rel,
                                                  memory_order_relaxed))
            break;
    }
    c->value =
        c->lock_number | (uint64_t)(value <= c->lock_cmp) << 24 | (uint64_t)(uint32_t)value << 32;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Ends the command with an error that the unit found. */
static void fail(rma_command *c, uint8_t unit)
{
    c->error = unit;
    if (unit == RMA2_REQUESTER_NOTIFICATION)
        c->spec = RMA2_REQUESTER_NOTIFICATION;
    else
        c->spec = (uint8_t)((c->spec & RMA2_REQUESTER_NOTIFICATION) | RMA2_COMPLETER_NOTIFICATION);
}

static void resolve(RMA2_Port port, rma_command *c)
{
    c->resolved = true;
    if (!fabric_ring_is_open(&fabric_rma_of(port->card, c->endpoint_i)->ring)) {
        fail(c, RMA2_REQUESTER_NOTIFICATION);
        return;
    }
    if (c->command == RMA2_LOCK)
        lock_cell(port, c);
    if (!rma_has_memory(c))
        return;
    uint64_t ours = 0;
    bool is_own = c->endpoint_i == port->endpoint_i;
    const fabric_row *theirs = is_own ? port->own : fabric_rows(port->card, c->endpoint_i);
    if (c->command == RMA2_IMM_PUT)
        ours = (uintptr_t)&c->value;
    else if (!rma_resolve(port, port->own, port->vpid, c->local, c->size, &ours))
        fail(c, RMA2_REQUESTER_NOTIFICATION);
    if (c->error == 0 && !rma_resolve(port, theirs, c->vpid, c->remote, c->size, &c->theirs))
        fail(c, rma_is_get(c) ? RMA2_RESPONDER_NOTIFICATION : RMA2_COMPLETER_NOTIFICATION);
    c->ours = (unsigned char *)(uintptr_t)ours;
}

/* Moves the next fragment, or all remaining data. Returns false if the command has to wait. */
static bool move_fragment(RMA2_Port port, rma_command *c, uint32_t len)
{
    uint32_t mtu = port->card->config.mtu;
    if (c->copied)
        return true;
    if (fabric_strikes(&port->random, port->card->config.faults.late_one_in))
        return false;
    if (c->error == 0 && rma_has_memory(c) && !move(port, c, c->done, len))
        fail(c, rma_is_get(c) ? RMA2_RESPONDER_NOTIFICATION : RMA2_COMPLETER_NOTIFICATION);
    fabric_count(&port->counters->fragments, (len + mtu - 1) / mtu);
    c->copied = true;
    return true;
}

bool rma_carry_out(RMA2_Port port, rma_command *c)
{
    bool tells_each = (c->modifier & RMA2_CMD_NTR) != 0;
    bool in_pieces = tells_each || port->card->config.faults.late_one_in > 0;
    if (!c->resolved)
        resolve(port, c);
    if (c->command == RMA2_IMM_PUT)
        c->ours = (unsigned char *)&c->value; /* the command may have moved in memory */
    while (c->done < c->size) {
        uint32_t left = c->size - c->done, mtu = port->card->config.mtu;
        uint32_t len = in_pieces && left > mtu ? mtu : left;
        if (!move_fragment(port, c, len))
            return false;
        if (c->error != 0)
            len = left;
        if ((tells_each || len == left) && !notify_all(port, c, c->done + len))
            return false;
        c->done += len;
        c->copied = false;
        c->notified = 0;
    }
    return true;
}

static void go_on(RMA2_Port port)
{
    uint32_t waiting = atomic_load_explicit(&port->waiting, memory_order_relaxed);
    while (waiting > 0 && rma_carry_out(port, &port->commands[port->first % RMA2_COMMANDS])) {
        port->first++;
        atomic_store_explicit(&port->waiting, --waiting, memory_order_relaxed);
    }
}

void rma_go_on(RMA2_Port port)
{
    pen_lock_take(&port->lock);
    go_on(port);
    pen_lock_drop(&port->lock);
}

RMA2_ERROR_CODE rma_submit(RMA2_Port port, rma_command *c)
{
    RMA2_ERROR_CODE answer = RMA2_SUCCESS;
    pen_lock_take(&port->lock);
    go_on(port);
    uint32_t waiting = atomic_load_explicit(&port->waiting, memory_order_relaxed);
    if (waiting == RMA2_COMMANDS) {
        answer = RMA2_TRY_AGAIN;
    } else {
        rma_time(port, c);
        fabric_count(&port->counters->commands, 1);
        if (waiting > 0 || !rma_carry_out(port, c)) {
            port->commands[(port->first + waiting) % RMA2_COMMANDS] = *c;
            atomic_store_explicit(&port->waiting, waiting + 1, memory_order_relaxed);
        }
    }
    pen_lock_drop(&port->lock);
    return answer;
}

uint32_t rma2_flush(RMA2_Port port)
{
    rma_go_on_if_any_waits(port);
    return atomic_load_explicit(&port->waiting, memory_order_relaxed);
}
