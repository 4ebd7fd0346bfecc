/* SPDX-License-Identifier: BSD-3-Clause */
/* world.h: the contents of a world: its head, the ranks, the heap of the ranks that will run, and
 * the network. */
#ifndef PEN_VIRTUAL_WORLD_H
#define PEN_VIRTUAL_WORLD_H

#include "base/compiler.h"
#include "virtual/virtual.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PEN_VIRTUAL_MAGIC UINT64_C(0x70656e7674696d31) /* includes the layout's version */

typedef enum pen_virtual_state {
    PEN_VIRTUAL_READY,   /* runs at key_ns; all ranks are this at first, at 0 */
    PEN_VIRTUAL_RUNNING, /* has the turn */
    PEN_VIRTUAL_WAITING, /* waits for a packet or another rank; until key_ns if it is in the heap */
    PEN_VIRTUAL_ENDED
} pen_virtual_state;

/* Written by the rank that has the turn. Atomic fields are also read by other processes. */
typedef struct pen_virtual_rank {
    PEN_CACHE_ALIGNED _Atomic uint32_t turn; /* 1: this rank has the turn; ranks sleep on it */
    uint32_t state;
    uint32_t place; /* in the heap, + 1; 0: not there */
    bool has_begun;
    uint64_t key_ns;
    _Atomic uint64_t clock_ns;
} pen_virtual_rank;

struct pen_virtual_world {
    uint64_t magic, len;
    uint32_t ranks, alive;
    uint32_t heap_count;
    uint32_t leaving;    /* ranks that have begun to leave */
    bool is_over;        /* figures are final */
    uint32_t idle_looks; /* turns given to waiting ranks since something happened */
    size_t ranks_off, heap_off, net_off;
    /* For readers of figures; written by the rank that has the turn. */
    _Atomic uint64_t end_ns, hand_overs, looks;
    _Atomic uint32_t turn, left;
};

/* The heap: ranks in the order of their times, and of equal times in that of their numbers. */
void pen_virtual_heap_add(pen_virtual *view, uint32_t rank, uint64_t key_ns);
uint32_t pen_virtual_heap_take(pen_virtual *view); /* there is one */
void pen_virtual_heap_earlier(pen_virtual *view, uint32_t rank, uint64_t key_ns);

#endif
