/* SPDX-License-Identifier: BSD-3-Clause */
/* velo_recv.c: receiving at a VELO port. Whether a packet is there is in one word, whose address
 * and expected lap the port keeps. */
#include "os/os.h"
#include "softnic/extoll/fabric.h"

#include <sched.h>
#include <string.h>

/* A few microseconds of looking without a pause, which would be as long as a packet takes. */
enum { SPINS_BEFORE_YIELD = 2000 };

/* It was found, and is late. */
PEN_COLD static bool is_due(const velo2_port_t *port)
{
    const uint64_t *due = &port->mailbox.due[(uint32_t)port->read & port->mask];
    return pen_now_ns() >= __atomic_load_n(due, __ATOMIC_RELAXED);
}

velo2_ret_t velo2_check(velo2_port_t *port, uint32_t *srcid, size_t *len, uint8_t *mtt,
                        uint8_t *tag)
{
    /* acquire: pairs with the release of velo2_send, and covers the slot */
    uint64_t status = __atomic_load_n((const uint64_t *)(const void *)port->word, __ATOMIC_ACQUIRE);
    if (VELO2_STATUS_LAP(status) != port->lap)
        return VELO2_RET_NO_MSG;
    if (pen_unlikely((status & VELO2_STATUS_LATE) != 0) && !is_due(port))
        return VELO2_RET_NO_MSG;
    port->status = status;
    if (pen_unlikely(VELO2_STATUS_LEN(status) > port->max_len ||
                     (status & (VELO2_STATUS_EOM | VELO2_STATUS_ERROR)) != VELO2_STATUS_EOM)) {
        port->status = 0;
        fabric_count(&port->counters->malformed, 1);
        return VELO2_RET_INV_MSG;
    }
    if (srcid != NULL)
        *srcid = VELO2_STATUS_SOURCE(status);
    if (len != NULL)
        *len = VELO2_STATUS_LEN(status);
    if (mtt != NULL)
        *mtt = VELO2_STATUS_MTT(status);
    if (tag != NULL)
        *tag = VELO2_STATUS_TAG(status);
    return VELO2_RET_SUCCESS;
}

const void *velo2_recv_peek(const velo2_port_t *port)
{
    return port->word - pen_align_up(VELO2_STATUS_LEN(port->status), 8);
}

velo2_ret_t velo2_recv_payload(velo2_port_t *port, void *buf, size_t offset, size_t len)
{
    size_t whole_len = VELO2_STATUS_LEN(port->status);
    if (offset > whole_len || len > whole_len - offset)
        return VELO2_RET_INV_MSG;
    const unsigned char *from = (const unsigned char *)velo2_recv_peek(port) + offset;
    unsigned char *to = buf;
    uint64_t word;
    for (; len >= sizeof(word); len -= sizeof(word)) {
        memcpy(&word, from, sizeof(word));
        memcpy(to, &word, sizeof(word));
        to += sizeof(word);
        from += sizeof(word);
    }
    for (; len > 0; len--)
        *to++ = *from++;
    return VELO2_RET_SUCCESS;
}

uint32_t velo2_recv_complete(velo2_port_t *port)
{
    port->read++;
    port->status = 0;
    velo_look_at(port);
    fabric_count(&port->counters->received, 1);
    return (uint32_t)(port->read - port->committed);
}

velo2_ret_t velo2_recv_commit(velo2_port_t *port)
{
    if (port->read == port->committed)
        return VELO2_RET_SUCCESS;
    port->committed = port->read;
    /* release: what was read from the slots was read before they are written again */
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
        if (spins >= SPINS_BEFORE_YIELD)
            (void)sched_yield();
    }
    return VELO2_RET_ERROR;
}
