/* SPDX-License-Identifier: BSD-3-Clause */
/* raw_wait.h: two processes on one core that hand it to each other, by sched_yield
 * (raw_exchange_turns of raw.h) or by futex, and a gate behind which all other ranks sleep
 * meanwhile. */
#ifndef BENCH_RAW_WAIT_H
#define BENCH_RAW_WAIT_H

#include "raw.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void raw_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

static inline void raw_futex_await(_Atomic uint32_t *word, uint32_t wanted)
{
    uint32_t seen;
    /* acquire: writes that the releasing rank made before the word are visible */
    while ((seen = atomic_load_explicit(word, memory_order_acquire)) != wanted)
        syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static inline void raw_exchange_futex(raw_pair *pair, uint64_t rounds)
{
    _Atomic uint32_t *turn =
        pair->side == 0 ? &pair->mine->futex_turn.value : &pair->peer->futex_turn.value;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        pair->futex_turns += 2;
        if (pair->side == 1)
            raw_futex_await(turn, pair->futex_turns - 1);
        atomic_store_explicit(turn, pair->futex_turns - 1 + pair->side, memory_order_release);
        raw_futex_wake(turn, 1);
        if (pair->side == 0)
            raw_futex_await(turn, pair->futex_turns);
    }
}

/* Rank 0 begins when as many others sleep behind the gate, so that they take no core from it. */
static inline void raw_gate_await_sleepers(raw_area *root, uint32_t sleepers)
{
    while (atomic_load_explicit(&root->asleep.value, memory_order_acquire) != sleepers)
        sched_yield();
    for (uint32_t i = 0; i < 4 * sleepers; i++)
        sched_yield(); /* the last of them has counted itself, and not yet slept */
}

static inline void raw_gate_open(raw_area *root)
{
    atomic_store_explicit(&root->asleep.value, 0, memory_order_relaxed); /* published by the gate */
    atomic_fetch_add_explicit(&root->gate.value, 1, memory_order_release);
    raw_futex_wake(&root->gate.value, INT_MAX);
}

static inline void raw_gate_sleep(raw_area *root, uint32_t *gates)
{
    *gates += 1;
    atomic_fetch_add_explicit(&root->asleep.value, 1, memory_order_release);
    raw_futex_await(&root->gate.value, *gates);
}

#endif
