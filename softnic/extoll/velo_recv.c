/* SPDX-License-Identifier: BSD-3-Clause */
/* velo_recv.c: receiving at a VELO port. One status word shows whether a packet has arrived; the
 * port keeps its address and expected lap. */
#include "base/compiler.h"
#include "os/os.h"
#include "softnic/extoll/fabric.h"

#include <sched.h>
#include <string.h>

/* Polls without a pause for a few microseconds, since a pause is as long as a packet takes. */
enum { SPINS_BEFORE_YIELD = 2000 };

PEN_COLD bool velo2_is_due(const velo2_port_t *port)
{
    const uint64_t *due = &port->mailbox.due[(uint32_t)port->read & port->mask];
    return pen_now_ns() >= __atomic_load_n(due, __ATOMIC_RELAXED);
}

PEN_COLD void velo2_malformed(velo2_port_t *port)
{
    port->status = 0;
    fabric_count(&port->counters->malformed, 1);
}

velo2_ret_t velo2_recv_commit(velo2_port_t *port)
{
    if (port->read == port->committed)
        return VELO2_RET_SUCCESS;
    fabric_count(&port->counters->received, port->read - port->committed);
    if (pen_unlikely(port->card->config.virtual != NULL))
        fabric_virtual_commit(port->card, (uint32_t)(port->read - port->committed));
    port->committed = port->read;
    /* release: the slots were read before they are written again */
    atomic_store_explicit(&port->mailbox.box->ring.read, port->read, memory_order_release);
    fabric_count(&port->counters->commits, 1);
    return VELO2_RET_SUCCESS;
}

static void step(velo2_port_t *port)
{
    if (velo2_recv_complete(port) >= port->period)
        (void)velo2_recv_commit(port);
}

static velo2_ret_t take(velo2_port_t *port, void *buf, size_t maxlen, size_t *mlen, uint32_t *srcid,
                        uint8_t *tag, uint8_t wanted, uint8_t *mtt)
{
    size_t len;
    uint8_t type;
    velo2_ret_t found = velo2_check(port, srcid, &len, &type, tag);
    if (found == VELO2_RET_INV_MSG)
        step(port);
    if (found != VELO2_RET_SUCCESS)
        return found;
    if (wanted != VELO2_MTT_ANY && wanted != type)
        return VELO2_RET_NO_MATCH;
    if (mlen != NULL)
        *mlen = len;
    if (mtt != NULL)
        *mtt = type;
    (void)velo2_recv_payload(port, buf, 0, len < maxlen ? len : maxlen);
    step(port);
    return VELO2_RET_SUCCESS;
}

velo2_ret_t velo2_probe_recv(velo2_port_t *port, void *buf, size_t maxlen, size_t *mlen,
                             uint32_t *srcid, uint8_t *tag, uint8_t *mtt)
{
    if (port->card == NULL)
        return VELO2_RET_ERROR;
    return take(port, buf, maxlen, mlen, srcid, tag, VELO2_MTT_ANY, mtt);
}

velo2_ret_t velo2_recv(velo2_port_t *port, void *buf, size_t maxlen, size_t *mlen, uint32_t *srcid,
                       uint8_t *tag, uint8_t mtt)
{
    if (mtt > 3 && mtt != VELO2_MTT_ANY)
        return VELO2_RET_INV_MTT;
    for (uint32_t spins = 0; port->card != NULL; spins++) {
        velo2_ret_t found = take(port, buf, maxlen, mlen, srcid, tag, mtt, NULL);
        if (found != VELO2_RET_NO_MSG)
            return found;
        if (!fabric_virtual_step(port->card) && spins >= SPINS_BEFORE_YIELD)
            (void)sched_yield();
    }
    return VELO2_RET_ERROR;
}
