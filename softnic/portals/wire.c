/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.c: a fabric's layout, and moving packets through its rings. */
#include "softnic/portals/wire.h"
#include "base/compiler.h"

#include <string.h>

enum { PAGE = 4096, RING_MIN = 4096, RING_MAX = 1 << 20 };

void pen_portals_config_default(pen_portals_config *config)
{
    *config = (pen_portals_config){ .processes = 1, .ring_len = 65536, .faults.seed = 1 };
}

const char *pen_portals_config_check(const pen_portals_config *config)
{
    if (config->processes < 1 || config->processes > PEN_PORTALS_PROCESSES_MAX)
        return "a fabric has 1 to 1024 processes";
    if (config->ring_len < RING_MIN || config->ring_len > RING_MAX ||
        (config->ring_len & (config->ring_len - 1)) != 0)
        return "a ring has a power of two of bytes, from 4 KiB to 1 MiB";
    return NULL;
}

static size_t rows_start(void) { return PAGE; }

static size_t rings_start(uint32_t processes)
{
    return pen_align_up(rows_start() + processes * sizeof(p4_row), PAGE);
}

static size_t ring_stride(const pen_portals_config *config)
{
    return pen_align_up(sizeof(p4_ring), PAGE) + config->ring_len;
}

size_t pen_portals_len(const pen_portals_config *config)
{
    if (pen_portals_config_check(config) != NULL)
        return 0;
    size_t pairs = (size_t)config->processes * config->processes;
    return rings_start(config->processes) + pairs * P4_LANES * ring_stride(config);
}

p4_row *p4_row_of(void *memory, uint32_t process_i)
{
    return (p4_row *)(void *)((char *)memory + rows_start()) + process_i;
}

void p4_side_open(p4_side *side, void *memory, const pen_portals_config *config, uint32_t from,
                  uint32_t to, uint32_t lane)
{
    size_t ring_i = ((size_t)to * config->processes + from) * P4_LANES + lane;
    unsigned char *at =
        (unsigned char *)memory + rings_start(config->processes) + ring_i * ring_stride(config);
    *side = (p4_side){ .ring = (p4_ring *)(void *)at, .bytes = at + PAGE };
    /* A row is opened once, so both positions are still the zeros of new memory. */
}

static uint64_t packet_len(uint32_t bytes)
{
    return pen_align_up(sizeof(p4_packet) + (size_t)bytes, PEN_CACHE_LINE);
}

p4_ring_state p4_ring_has_room(p4_side *side, uint32_t ring_len, uint32_t bytes)
{
    uint64_t need = packet_len(bytes);
    if (side->at + need - side->seen <= ring_len)
        return P4_RING_YES;
    /* acquire: the reader has finished with the bytes before `read` */
    uint64_t read = atomic_load_explicit(&side->ring->read, memory_order_acquire);
    if (side->at - read > ring_len)
        return P4_RING_BROKEN;
    side->seen = read;
    return side->at + need - read <= ring_len ? P4_RING_YES : P4_RING_NO;
}

unsigned char *p4_ring_at(const p4_side *side, uint32_t ring_len, uint64_t skip, size_t len,
                          size_t *first)
{
    size_t at = (size_t)((side->at + skip) & (ring_len - 1));
    *first = len < ring_len - at ? len : ring_len - at;
    return side->bytes + at;
}

void p4_ring_push(p4_side *side, uint32_t bytes)
{
    side->at += packet_len(bytes);
    /* release: the packet is written before its position */
    atomic_store_explicit(&side->ring->write, side->at, memory_order_release);
}

p4_ring_state p4_ring_peek(p4_side *side, uint32_t ring_len, uint32_t payload_max, p4_packet *out)
{
    if (side->seen == side->at) {
        /* acquire: the bytes before `write` have been written */
        side->seen = atomic_load_explicit(&side->ring->write, memory_order_acquire);
        if (side->seen - side->at > ring_len || side->seen % PEN_CACHE_LINE != 0)
            return P4_RING_BROKEN;
        if (side->seen == side->at)
            return P4_RING_NO;
    }
    memcpy(out, side->bytes + (side->at & (ring_len - 1)), sizeof(*out));
    if (out->bytes > payload_max || packet_len(out->bytes) > side->seen - side->at)
        return P4_RING_BROKEN;
    return P4_RING_YES;
}

void p4_ring_pop(p4_side *side, uint32_t bytes)
{
    side->at += packet_len(bytes);
    /* release: the packet has been read before its room is given back */
    atomic_store_explicit(&side->ring->read, side->at, memory_order_release);
}
