/* SPDX-License-Identifier: BSD-3-Clause */
/* mutants.c: atomic operations that are broken on purpose, by the name of the word. Faults that no
 * single operation can show are put into copies of the sources by vary.py. */
#include "explorer.h"

#include <stdio.h>
#include <string.h>

typedef enum mutation { RELAX, DROP } mutation;

enum {
    LOADS = 1 << OP_LOAD,
    STORES = 1 << OP_STORE,
    ADDS = 1 << OP_ADD,
    SUBS = 1 << OP_SUB,
    ANDS = 1 << OP_AND,
    ORS = 1 << OP_OR,
    SWAPS = 1 << OP_SWAP,
    EXCHANGES = 1 << OP_CAS,
    FENCES = 1 << OP_FENCE,
    BARRIERS = 1 << OP_BARRIER,
    WAKES = 1 << OP_FUTEX_WAKE,
};

static const struct mutant {
    const char *name, *object; /* NULL: a fence */
    uint32_t operations;       /* bits by machine_op_kind */
    mutation mutation;
} mutants[] = {
    { "slot_word_store_relaxed", "slot.word", STORES, RELAX },
    { "slot_word_load_relaxed", "slot.word", LOADS, RELAX },
    { "slots_done_store_relaxed", "slots_done", STORES, RELAX },
    { "slots_done_load_relaxed", "slots_done", LOADS, RELAX },
    { "bodies_done_store_relaxed", "bodies_done", STORES, RELAX },
    { "bodies_done_load_relaxed", "bodies_done", LOADS, RELAX },
    { "chunk_give_relaxed", "chunks_taken", ANDS, RELAX },
    { "chunk_take_relaxed", "chunks_taken", EXCHANGES, RELAX },
    { "inbox_word_store_relaxed", "inbox.word", STORES, RELAX },
    { "inbox_word_load_relaxed", "inbox.word", LOADS, RELAX },
    { "inbox_done_store_relaxed", "inbox_done", STORES, RELAX },
    { "inbox_done_load_relaxed", "inbox_done", LOADS, RELAX },
    { "ticket_relaxed", "inbox_tail", ADDS, RELAX },
    { "bell_ring_relaxed", "bell", ORS, RELAX },
    { "bell_answer_relaxed", "bell", SWAPS, RELAX },
    { "bell_not_rung", "bell", ORS, DROP },
    { "no_membarrier", NULL, BARRIERS, DROP },
    { "no_fence", NULL, FENCES, DROP },
    { "fence_acquire_release", NULL, FENCES, RELAX },
    { "sleeper_not_woken", NULL, WAKES, DROP },
    { "line_store_relaxed", "line", STORES, RELAX },
    { "line_load_relaxed", "line", LOADS, RELAX },
    { "node_add_relaxed", "line", EXCHANGES, RELAX },
    { "lock_take_relaxed", "lock.word", EXCHANGES, RELAX },
    { "lock_drop_relaxed", "lock.word", STORES, RELAX },
    { "count_drop_relaxed", "incomplete", SUBS, RELAX },
    { "count_look_relaxed", "incomplete", LOADS, RELAX },
    { "event_give_relaxed", "returned", EXCHANGES, RELAX },
    { "event_take_relaxed", "returned", SWAPS, RELAX },
    { "turn_store_relaxed", "turn", STORES, RELAX },
    { "turn_load_relaxed", "turn", LOADS, RELAX },
    { "progress_store_relaxed", "progress", STORES, RELAX },
    { "progress_load_relaxed", "progress", LOADS, RELAX },
    { "wake_word_unchanged", "wake", ADDS, DROP },
    { 0 },
};

static bool hits(const struct mutant *mutant, const explore_object *object, const machine_op *op)
{
    if ((object == NULL) != (mutant->object == NULL) || (mutant->operations & 1u << op->kind) == 0)
        return false;
    return object == NULL || strcmp(mutant->object, object->name) == 0;
}

bool explore_mutate(const char *name, const explore_object *object, machine_op *op)
{
    for (const struct mutant *mutant = mutants; name != NULL && mutant->name != NULL; mutant++) {
        if (strcmp(mutant->name, name) != 0 || !hits(mutant, object, op))
            continue;
        op->order = op->kind == OP_FENCE ? __ATOMIC_ACQ_REL : __ATOMIC_RELAXED;
        op->order_failed = __ATOMIC_RELAXED;
        return mutant->mutation != DROP;
    }
    return true;
}
