/* SPDX-License-Identifier: BSD-3-Clause */
/* age.c: see age.h. */
#include "age.h"

void sim_age(pen_rel_core *core)
{
    for (pen_peer i = 0; i < core->config.peers; i++) {
        const uint32_t near = UINT32_MAX - 40, bytes = UINT32_MAX - 20000;
        pen_rel_peer *peer = &core->peers[i];
        peer->next_sequence = peer->window.base = peer->window.high = near;
        peer->next_transmission = near;
        peer->acked_transmission = peer->heard_transmission = near - 1;
        for (unsigned lane = 0; lane < PEN_LANES; lane++) {
            pen_rel_lane *side = &peer->lanes[lane];
            side->sent += bytes, side->limit += bytes, side->accepted += bytes;
            side->granted += bytes, side->consumed += bytes, side->told += bytes;
        }
    }
}
