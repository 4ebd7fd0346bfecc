/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.c: memory of a queue of numbers. */
#include "link/turns.h"

#include "conduit/conduit.h"
#include "link/host.h"

bool pen_turns_open(pen_turns *turns, const pen_host *host, uint32_t room)
{
    *turns = (pen_turns){ .ring = pen_host_alloc_zeroed(host, room * sizeof *turns->ring),
                          .is_in = pen_host_alloc_zeroed(host, room * sizeof *turns->is_in),
                          .room = room };
    return turns->ring != NULL && turns->is_in != NULL;
}

void pen_turns_close(pen_turns *turns, const pen_host *host)
{
    pen_host_release(host, turns->ring);
    pen_host_release(host, turns->is_in);
    *turns = (pen_turns){ 0 };
}
