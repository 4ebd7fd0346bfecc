/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.h: memory as C11 allows it to behave, one operation at a time.
 *
 * Every atomic word has the list of all values it ever had, in modification order. A thread has a
 * view: how far in each list it must have seen. A load may answer any value from there on. A
 * release store carries the storer's view, an acquire load that reads it joins it to its own; a
 * read-modify-write reads the newest value and hands on the view of what it replaced. Fences and
 * sequentially consistent accesses keep a view of their own that all of them share. So stores may
 * be seen late and in any order that the language allows; what is left out is that a load returns a
 * value whose store still waits for the load (out of thin air, and load buffering with it), and
 * that a plain store takes a place in the order before one that was made earlier (2+2W).
 *
 * Plain memory has one value. A clock for each thread travels with the views, and an access that
 * the clocks do not order with another thread's access to the same eight bytes is a data race. */
#ifndef EXPLORE_MACHINE_H
#define EXPLORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MACHINE_THREADS_MAX = 4,
    MACHINE_LOCATIONS_MAX = 160,
    MACHINE_VALUES_MAX = 250, /* of one word in one run */
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
    OP_FUTEX_WAIT, /* while the word is what it was */
    OP_FUTEX_WAKE,
    OP_IDLE, /* until a word this thread has read changes */
    OP_END,
} machine_op_kind;

typedef struct machine_op {
    machine_op_kind kind;
    uint32_t size; /* bytes */
    uintptr_t address;
    uint64_t operand, expected; /* expected: of OP_CAS and OP_FUTEX_WAIT */
    int order, order_failed;    /* __ATOMIC_... */
    uint32_t step;              /* OP_BARRIER: threads fenced so far */
} machine_op;

typedef struct machine_view {
    uint8_t at[MACHINE_LOCATIONS_MAX];   /* by word: the oldest value it may still read */
    uint16_t clock[MACHINE_THREADS_MAX]; /* by thread: what of it has happened before */
} machine_view;

void machine_open(uint32_t threads, const char *arena, size_t arena_len);
void machine_reset(void); /* memory is as it was at the start; nobody has seen anything */

/* How many outcomes the operation can have now; loads have one for each value they may read. */
uint32_t machine_choices(uint32_t thread, const machine_op *op);
/* Performs it; the value loaded. cas_done_out: OP_CAS: whether it exchanged. */
uint64_t machine_perform(uint32_t thread, const machine_op *op, uint32_t choice,
                         bool *cas_done_out);
/* What the kernel reads for the thread, which then cannot read anything older. */
uint64_t machine_newest(uint32_t thread, uintptr_t address, uint32_t size);
void machine_fence(uint32_t thread, int order);

/* A data race: what it is; NULL: none. Also notes the access. */
const char *machine_plain(uint32_t thread, uintptr_t address, size_t len, bool is_write);

/* OP_IDLE: whether a word that the thread has read since it last idled has a newer value. */
bool machine_has_news(uint32_t thread);
/* The same for one word. */
bool machine_has_changed(uint32_t thread, uintptr_t address, uint32_t size);
void machine_forget_reads(uint32_t thread);

/* What the future can depend on. fences: what only fences use counts, too. ended: a bit for each
 * thread that has. */
uint64_t machine_digest(bool fences, uint32_t ended);
uint32_t machine_location(uintptr_t address, uint32_t size); /* its number; the same in all runs */

static inline uint64_t machine_mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

#endif
