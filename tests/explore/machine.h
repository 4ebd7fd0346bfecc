/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.h: memory as C11 allows it to behave, one operation at a time.
 *
 * Every atomic word has the list of all values it ever had, in modification order. A thread has a
 * view: the oldest position in each list that it may still read. A load may return any value from
 * there on. A release store carries the storer's view; an acquire load that reads it joins it to
 * its own view. A read-modify-write reads the newest value and passes on the view of the value
 * that it replaced. Fences and sequentially consistent accesses share one more view. So stores may
 * be seen late and in any order that the language allows. Two behaviours are left out: a load that
 * returns a value whose store still waits for the load (out of thin air, and load buffering with
 * it), and a plain store that takes a place in the order before an earlier one (2+2W).
 *
 * Plain memory has one value. A clock for each thread travels with the views. If the clocks do not
 * order two threads' accesses to the same eight bytes, the access is a data race. */
#ifndef EXPLORE_MACHINE_H
#define EXPLORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MACHINE_THREADS_MAX = 4,
    MACHINE_LOCATIONS_MAX = 160,
    MACHINE_VALUES_MAX = 250, /* values of one word in one run */
    MACHINE_MESSAGES_MAX = 4096,
};

typedef enum machine_op_kind {
    OP_LOAD,
    OP_STORE,
    OP_ADD,
    OP_SUB,
    OP_AND,
    OP_OR,
    OP_XOR,
    OP_SWAP,
    OP_CAS,
    OP_FENCE,
    OP_BARRIER,    /* membarrier: a fence on every thread's processor */
    OP_FUTEX_WAIT, /* while the word keeps its value */
    OP_FUTEX_WAKE,
    OP_IDLE, /* until a word this thread has read changes */
    OP_END,
} machine_op_kind;

typedef struct machine_op {
    machine_op_kind kind;
    uint32_t size; /* bytes */
    uintptr_t address;
    uint64_t operand, expected; /* expected: for OP_CAS and OP_FUTEX_WAIT */
    int order, order_failed;    /* __ATOMIC_... */
    uint32_t step;              /* OP_BARRIER: threads fenced so far */
} machine_op;

typedef struct machine_view {
    uint8_t at[MACHINE_LOCATIONS_MAX];   /* by word: the oldest value it may still read */
    uint16_t clock[MACHINE_THREADS_MAX]; /* by thread: how much of it has happened before */
} machine_view;

void machine_open(uint32_t threads, const char *arena, size_t arena_len);
void machine_reset(void); /* restores memory, and clears all views */

/* Returns how many outcomes the operation can have now; a load has one for each value that it may
 * read. */
uint32_t machine_choices(uint32_t thread, const machine_op *op);
/* Performs the operation and returns the value loaded. cas_done_out: OP_CAS: whether it exchanged.
 */
uint64_t machine_perform(uint32_t thread, const machine_op *op, uint32_t choice,
                         bool *cas_done_out);
/* Returns the value that the kernel reads for the thread, which then cannot read an older one. */
uint64_t machine_newest(uint32_t thread, uintptr_t address, uint32_t size);
void machine_fence(uint32_t thread, int order);

/* Notes the access. Returns the description of a data race, or NULL if there is no race. */
const char *machine_plain(uint32_t thread, uintptr_t address, size_t len, bool is_write);

/* OP_IDLE: returns whether a word that the thread has read since it last idled has a newer value.
 */
bool machine_has_news(uint32_t thread);
/* Returns whether one word has a newer value than the thread has read. */
bool machine_has_changed(uint32_t thread, uintptr_t address, uint32_t size);
void machine_forget_reads(uint32_t thread);

/* Returns the digest of all state that the future can depend on. fences: includes the state that
 * only fences use. ended: a bit for each thread that has ended. */
uint64_t machine_digest(bool fences, uint32_t ended);
uint32_t machine_location(uintptr_t address,
                          uint32_t size); /* number of the word; the same in all runs */

static inline uint64_t machine_mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

#endif
