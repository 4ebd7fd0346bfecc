/* SPDX-License-Identifier: BSD-3-Clause */
/* seen_record.c: packs what an agent sees of a rank into 32-bit words, and reads it back. */
#include "remote/seen_record.h"

#include "base/pack.h"
#include "boot/wait_state.h"
#include "launch/seen.h"

#include <stdint.h>

enum { ALIVE = 1, JOINED = 2, LEFT = 4, WAITS = 8, INSIDE = 16, KNOWN = 32 };

static void put_long(pen_pack *to, uint64_t number)
{
    pen_pack_u32(to, (uint32_t)number);
    pen_pack_u32(to, (uint32_t)(number >> 32));
}

static uint64_t take_long(pen_unpack *from)
{
    uint64_t low = pen_unpack_u32(from);
    return low | (uint64_t)pen_unpack_u32(from) << 32;
}

void pen_seen_pack(pen_pack *to, const pen_seen *seen)
{
    pen_pack_u32(to, (seen->known ? KNOWN : 0) | (seen->alive ? ALIVE : 0) |
                         (seen->joined ? JOINED : 0) | (seen->left ? LEFT : 0) |
                         (seen->waits ? WAITS : 0) | (seen->inside ? INSIDE : 0));
    pen_pack_u32(to, (uint32_t)(unsigned char)seen->process);
    pen_pack_u32(to, (uint32_t)seen->pid);
    pen_pack_u32(to, seen->wait.call);
    pen_pack_u32(to, seen->wait.awaited);
    pen_pack_u32(to, seen->wait.peer);
    pen_pack_u32(to, seen->wait.number);
    put_long(to, seen->wait.team);
    put_long(to, seen->waited_ns);
    put_long(to, seen->quiet_ns);
    for (uint32_t kind = 0; kind < PEN_ENTERED_KINDS; kind++)
        pen_pack_u32(to, seen->entered[kind]);
    const uint64_t numbers[] = { seen->sent, seen->handled, seen->resent, seen->swapped,
                                 seen->resident };
    for (uint32_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        put_long(to, numbers[i]);
}

void pen_seen_unpack(pen_unpack *from, pen_seen *out)
{
    const uint32_t flags = pen_unpack_u32(from);
    *out = (pen_seen){ .alive = (flags & ALIVE) != 0,
                       .joined = (flags & JOINED) != 0,
                       .left = (flags & LEFT) != 0,
                       .waits = (flags & WAITS) != 0,
                       .inside = (flags & INSIDE) != 0 };
    out->process = (char)pen_unpack_u32(from);
    out->pid = (int32_t)pen_unpack_u32(from);
    out->wait.call = (pen_call)pen_unpack_u32(from);
    out->wait.awaited = (pen_awaited)pen_unpack_u32(from);
    out->wait.peer = pen_unpack_u32(from);
    out->wait.number = pen_unpack_u32(from);
    out->wait.team = take_long(from);
    out->waited_ns = take_long(from);
    out->quiet_ns = take_long(from);
    for (uint32_t kind = 0; kind < PEN_ENTERED_KINDS; kind++)
        out->entered[kind] = pen_unpack_u32(from);
    uint64_t *const numbers[] = { &out->sent, &out->handled, &out->resent, &out->swapped,
                                  &out->resident };
    for (uint32_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = take_long(from);
    out->known = (flags & KNOWN) != 0 && !from->failed;
}
