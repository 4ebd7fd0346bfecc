/* SPDX-License-Identifier: BSD-3-Clause */
/* explorer.h: shared by the explorer's own files: search.c runs and orders the threads, hooks.c is
 * called by instrumented code, objects.c knows the layout of memory, mutants.c breaks operations.
 */
#ifndef EXPLORE_EXPLORER_H
#define EXPLORE_EXPLORER_H

#include "explore.h"
#include "machine.h"

/* ---- search.c ---- */

typedef struct explore_limits {
    bool is_long, trace;
    const char *mutant; /* NULL: none */
} explore_limits;

typedef struct explore_result {
    uint64_t runs, states, steps;
    const char *fault; /* NULL: none */
} explore_result;

explore_result explore_run(const explore_scenario *scenario, const explore_limits *limits);

/* Called by a thread: stops it until the explorer has performed the operation. */
uint64_t explore_perform(const machine_op *op, bool *cas_done_out);
bool explore_is_running(void); /* a thread of the scenario runs */
bool explore_has_fences(void);
void explore_note(uint64_t value); /* a value that the thread learnt in another way */

/* ---- objects.c ---- */

typedef struct explore_object {
    uintptr_t start;
    size_t len;
    explore_kind kind;
    const char *name;
} explore_object;

void explore_objects_open(void);
const explore_object *explore_object_of(uintptr_t address); /* NULL: private */
const char *explore_arena(void);
bool explore_in_arena(const volatile void *address);
void explore_dirty(uintptr_t address, size_t len); /* called before the write */
void explore_snapshot(void);
void explore_restore(void);

/* ---- mutants.c ---- */

/* Breaks the operation as the mutant requires. Returns false if the operation must not be
 * performed. */
bool explore_mutate(const char *mutant, const explore_object *object, machine_op *op);
bool explore_mutant_exists(const char *mutant);
void explore_mutants_list(void);

#endif
