/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_noti.c: the reading side of the notification queue, and the fields of notifications. A
 * notification is read once: callers get the port's copy. */
#include "base/compiler.h"
#include "os/os.h"
#include "softnic/extoll/rma_port.h"

#include <sched.h>

enum { SPINS_BEFORE_YIELD = 200 };

static void commit(RMA2_Port port)
{
    port->committed = port->read;
    /* release: the words were zeroed before */
    atomic_store_explicit(&port->shared->ring.read, port->read, memory_order_release);
}

RMA2_ERROR_CODE rma2_noti_probe(RMA2_Port port, RMA2_Notification **noti)
{
    if (pen_unlikely(port == NULL))
        return RMA2_INV_PORT;
    rma_go_on_if_any_waits(port);
    if (!port->has_current) {
        size_t place = (uint32_t)port->read & port->noti_mask;
        const fabric_entry *entry = &port->queue[place];
        uint64_t word1 = atomic_load_explicit(&entry->word[1], memory_order_acquire);
        if (word1 == 0) {
            if (pen_unlikely(port->read != port->committed))
                commit(port);
            return RMA2_NO_NOTI;
        }
        if (pen_unlikely((word1 & RMA_NOTI_LATE) != 0) &&
            pen_now_ns() < __atomic_load_n(&port->due[place], __ATOMIC_RELAXED))
            return RMA2_NO_NOTI;
        port->current.word[0] = atomic_load_explicit(&entry->word[0], memory_order_relaxed);
        port->current.word[1] = word1 & ~RMA_NOTI_LATE;
        port->has_current = true;
    }
    *noti = &port->current;
    return RMA2_SUCCESS;
}

RMA2_ERROR_CODE rma2_noti_free(RMA2_Port port, RMA2_Notification *noti)
{
    if (port == NULL)
        return RMA2_INV_PORT;
    if (!port->has_current || noti != &port->current)
        return RMA2_INV_VALUE;
    port->has_current = false;
    size_t place = (uint32_t)port->read & port->noti_mask;
    atomic_store_explicit(&port->queue[place].word[1], 0, memory_order_relaxed);
    port->read++;
    if (port->read - port->committed >= port->period)
        commit(port);
    return RMA2_SUCCESS;
}

void rma2_noti_dup(const RMA2_Notification *noti, RMA2_Notification *copy) { *copy = *noti; }

/* ---- waiting and matching -------------------------------------------------------------------- */

static void relax(uint32_t spins)
{
    if (spins < SPINS_BEFORE_YIELD)
        pen_cpu_relax();
    else
        (void)sched_yield();
}

RMA2_ERROR_CODE rma2_noti_get_block(RMA2_Port port, RMA2_Notification **noti)
{
    for (uint32_t spins = 0;; spins++) {
        RMA2_ERROR_CODE found = rma2_noti_probe(port, noti);
        if (found != RMA2_NO_NOTI)
            return found;
        if (!fabric_virtual_step(port->card))
            relax(spins);
    }
}

/* The bits of word 1 that a match compares. */
static uint64_t matched(uint64_t command, uint64_t type, uint64_t node, uint64_t vpid)
{
    return command << 51 | type << 48 | node << 32 | vpid << 23;
}

static bool matches(const RMA2_Notification *noti, uint64_t bits)
{
    return (noti->word[1] & matched(15, 7, 0xffff, 0xff)) == bits;
}

static bool take_aside(RMA2_Port port, uint64_t bits, RMA2_Notification *copy)
{
    for (uint32_t i = 0; i < port->aside_count; i++) {
        if (!matches(&port->aside[i], bits))
            continue;
        *copy = port->aside[i];
        for (port->aside_count--; i < port->aside_count; i++)
            port->aside[i] = port->aside[i + 1];
        return true;
    }
    return false;
}

RMA2_ERROR_CODE rma2_noti_match(RMA2_Port port, RMA2_Command command, RMA2_Notification_Spec type,
                                RMA2_Nodeid node, RMA2_VPID vpid, RMA2_Notification *copy)
{
    if (port == NULL)
        return RMA2_INV_PORT;
    uint64_t bits = matched((uint64_t)command, (uint64_t)type, node, vpid);
    if (take_aside(port, bits, copy))
        return RMA2_SUCCESS;
    RMA2_Notification *noti = NULL;
    while (rma2_noti_probe(port, &noti) == RMA2_SUCCESS) {
        bool is_it = matches(noti, bits);
        if (is_it)
            *copy = *noti;
        else if (port->aside_count < port->noti_count)
            port->aside[port->aside_count++] = *noti;
        else
            return RMA2_NO_NOTI;
        (void)rma2_noti_free(port, noti);
        if (is_it)
            return RMA2_SUCCESS;
    }
    return RMA2_NO_NOTI;
}

RMA2_ERROR_CODE rma2_noti_match_block(RMA2_Port port, RMA2_Command command,
                                      RMA2_Notification_Spec type, RMA2_Nodeid node, RMA2_VPID vpid,
                                      RMA2_Notification *copy)
{
    for (uint32_t spins = 0;; spins++) {
        RMA2_ERROR_CODE found = rma2_noti_match(port, command, type, node, vpid, copy);
        if (found != RMA2_NO_NOTI)
            return found;
        if (!fabric_virtual_step(port->card))
            relax(spins);
    }
}

/* ---- what a notification says ---------------------------------------------------------------- */

RMA2_Command rma2_noti_get_cmd(const RMA2_Notification *noti)
{
    return (RMA2_Command)(noti->word[1] >> 51 & 15);
}

RMA2_Notification_Spec rma2_noti_get_notification_type(const RMA2_Notification *noti)
{
    return (RMA2_Notification_Spec)(noti->word[1] >> 48 & 7);
}

uint32_t rma2_noti_get_mode(const RMA2_Notification *noti) { return noti->word[1] >> 55 & 0x3f; }
uint32_t rma2_noti_get_error(const RMA2_Notification *noti)
{
    return (uint32_t)(noti->word[1] >> 61);
}

RMA2_Nodeid rma2_noti_get_remote_nodeid(const RMA2_Notification *noti)
{
    return (RMA2_Nodeid)(noti->word[1] >> 32);
}

RMA2_VPID rma2_noti_get_remote_vpid(const RMA2_Notification *noti)
{
    return noti->word[1] >> 23 & 0xff;
}

RMA2_NLA rma2_noti_get_local_address(const RMA2_Notification *noti) { return noti->word[0]; }

uint32_t rma2_noti_get_size(const RMA2_Notification *noti)
{
    return (uint32_t)(noti->word[1] & 0x7fffff) + 1;
}

uint32_t rma2_noti_get_total_size(RMA2_NLA start, const RMA2_Notification *noti)
{
    return (uint32_t)(noti->word[0] - start) + rma2_noti_get_size(noti);
}

uint64_t rma2_noti_get_notiput_payload(const RMA2_Notification *noti) { return noti->word[0]; }

RMA2_Class rma2_noti_get_notiput_class(const RMA2_Notification *noti)
{
    return (RMA2_Class)noti->word[1];
}

int32_t rma2_noti_get_lock_value(const RMA2_Notification *noti)
{
    return (int32_t)(uint32_t)(noti->word[0] >> 32);
}

uint32_t rma2_noti_get_lock_number(const RMA2_Notification *noti)
{
    return noti->word[0] & 0xffffff;
}

bool rma2_noti_get_lock_result(const RMA2_Notification *noti)
{
    return (noti->word[0] >> 24 & 0xff) != 0;
}
