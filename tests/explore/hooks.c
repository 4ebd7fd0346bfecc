/* SPDX-License-Identifier: BSD-3-Clause */
/* hooks.c: the functions that instrumented code calls: ThreadSanitizer's interface, and the
 * library's system calls. This file is not instrumented itself. */
#include "explorer.h"
#include "os/os.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

/* ---- plain memory ---- */

static void plain(const volatile void *start, size_t len, bool is_write)
{
    uintptr_t address = (uintptr_t)start;
    if (len == 0 || !explore_in_arena(start))
        return;
    if (is_write)
        explore_dirty(address, len);
    if (!explore_is_running())
        return;
    const explore_object *object = explore_object_of(address);
    if (object == NULL || object->kind == EXPLORE_PRIVATE)
        return;
    const char *race = object->kind == EXPLORE_DATA
                           ? machine_plain(explore_thread(), address, len, is_write)
                           : "accessed as plain memory, though it is atomic";
    if (race != NULL)
        explore_fault("data race: %s+%zu is %s", object->name, address - object->start, race);
    for (size_t i = 0; !is_write && i < len; i += 8) {
        uint64_t value = 0;
        memcpy(&value, (const char *)address + i, len - i < 8 ? len - i : 8);
        explore_note(value);
    }
}

#define EXPLORE_PLAIN_SIZES(X) X(1) X(2) X(4) X(8) X(16)
#define EXPLORE_PLAIN(size)                                                      \
    void __tsan_read##size(void *at);                                            \
    void __tsan_read##size(void *at) { plain(at, size, false); }                 \
    void __tsan_write##size(void *at);                                           \
    void __tsan_write##size(void *at) { plain(at, size, true); }                 \
    void __tsan_unaligned_read##size(const void *at);                            \
    void __tsan_unaligned_read##size(const void *at) { plain(at, size, false); } \
    void __tsan_unaligned_write##size(void *at);                                 \
    void __tsan_unaligned_write##size(void *at) { plain(at, size, true); }
EXPLORE_PLAIN_SIZES(EXPLORE_PLAIN)

void __tsan_read_range(void *at, size_t len);
void __tsan_read_range(void *at, size_t len) { plain(at, len, false); }
void __tsan_write_range(void *at, size_t len);
void __tsan_write_range(void *at, size_t len) { plain(at, len, true); }
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
void __tsan_init(void);
void __tsan_init(void) {}

/* Instrumented files call these for memcpy, memset and memcmp. */
void *explore_memcpy(void *to, const void *from, size_t len);
void *explore_memcpy(void *to, const void *from, size_t len)
{
    plain(from, len, false);
    plain(to, len, true);
    return memcpy(to, from, len);
}

void *explore_memset(void *to, int byte, size_t len);
void *explore_memset(void *to, int byte, size_t len)
{
    plain(to, len, true);
    return memset(to, byte, len);
}

/* ---- atomics ---- */

static uint64_t memory_load(const machine_op *op)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)op->address, op->size);
    return value;
}

/* Operates on a word that no other thread reads, or that no running thread could read. */
static uint64_t perform_alone(const machine_op *op, bool *cas_done_out)
{
    uint64_t old = memory_load(op), new = op->operand;
    if (op->kind == OP_LOAD)
        return old;
    if (op->kind == OP_CAS) {
        *cas_done_out = old == op->expected;
        new = *cas_done_out ? new : old;
    }
    new = op->kind == OP_ADD   ? old + new
          : op->kind == OP_SUB ? old - new
          : op->kind == OP_AND ? old &new
          : op->kind == OP_OR  ? old | new
          : op->kind == OP_XOR ? old ^ new
                               : new;
    explore_dirty(op->address, op->size);
    memcpy((void *)op->address, &new, op->size);
    return old;
}

/* Contents that atomic operations move only for the compiler's sake. */
static uint64_t perform_data(const machine_op *op)
{
    plain((const void *)op->address, op->size, op->kind != OP_LOAD);
    bool done = false;
    return perform_alone(op, &done);
}

extern const char *explore_mutant; /* set by main.c. NULL: no mutant */

static uint64_t atomic(machine_op op, bool *cas_done_out)
{
    bool done = false;
    cas_done_out = cas_done_out == NULL ? &done : cas_done_out;
    const explore_object *object = NULL;
    if (explore_in_arena((const void *)op.address))
        object = explore_object_of(op.address);
    if (object != NULL && !explore_mutate(explore_mutant, object, &op))
        return memory_load(&op);
    if (object == NULL || object->kind == EXPLORE_PRIVATE || !explore_is_running())
        return perform_alone(&op, cas_done_out);
    if (object->kind == EXPLORE_DATA)
        return perform_data(&op);
    explore_dirty(op.address, op.size);
    if (op.kind == OP_LOAD && op.size == 4 && object->len == 8) { /* the lower half of a word */
        op.size = 8;
        return (uint32_t)explore_perform(&op, cas_done_out);
    }
    return explore_perform(&op, cas_done_out);
}

static machine_op op_of(machine_op_kind kind, const volatile void *at, uint32_t size,
                        uint64_t operand, int order)
{
    return (machine_op){
        .kind = kind, .address = (uintptr_t)at, .size = size, .operand = operand, .order = order
    };
}

static bool exchange_if(const volatile void *at, uint32_t size, void *expected, uint64_t desired,
                        int order, int order_failed)
{
    bool done = false;
    machine_op op = op_of(OP_CAS, at, size, desired, order);
    op.order_failed = order_failed;
    memcpy(&op.expected, expected, size);
    uint64_t seen = atomic(op, &done);
    if (!done) {
        plain(expected, size, true);
        memcpy(expected, &seen, size);
    }
    return done;
}

#define EXPLORE_RMW(bits, name, kind)                                                           \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t by, \
                                                int order);                                     \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t by, \
                                                int order)                                      \
    {                                                                                           \
        return (uint##bits##_t)atomic(op_of(kind, at, (bits) / 8, by, order), NULL);            \
    }
#define EXPLORE_CAS(bits, strength)                                                               \
    bool __tsan_atomic##bits##_compare_exchange_##strength(                                       \
        volatile uint##bits##_t *at, uint##bits##_t *expected, uint##bits##_t desired, int order, \
        int order_failed);                                                                        \
    bool __tsan_atomic##bits##_compare_exchange_##strength(                                       \
        volatile uint##bits##_t *at, uint##bits##_t *expected, uint##bits##_t desired, int order, \
        int order_failed)                                                                         \
    {                                                                                             \
        return exchange_if(at, (bits) / 8, expected, desired, order, order_failed);               \
    }
#define EXPLORE_ATOMICS(bits)                                                                      \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order);       \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order)        \
    {                                                                                              \
        return (uint##bits##_t)atomic(op_of(OP_LOAD, at, (bits) / 8, 0, order), NULL);             \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value,            \
                                     int order);                                                   \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order) \
    {                                                                                              \
        (void)atomic(op_of(OP_STORE, at, (bits) / 8, value, order), NULL);                         \
    }                                                                                              \
    EXPLORE_RMW(bits, exchange, OP_SWAP)                                                           \
    EXPLORE_RMW(bits, fetch_add, OP_ADD)                                                           \
    EXPLORE_RMW(bits, fetch_sub, OP_SUB)                                                           \
    EXPLORE_RMW(bits, fetch_and, OP_AND)                                                           \
    EXPLORE_RMW(bits, fetch_or, OP_OR)                                                             \
    EXPLORE_RMW(bits, fetch_xor, OP_XOR)                                                           \
    EXPLORE_CAS(bits, strong)                                                                      \
    EXPLORE_CAS(bits, weak)
EXPLORE_ATOMICS(8)
EXPLORE_ATOMICS(16)
EXPLORE_ATOMICS(32)
EXPLORE_ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    machine_op op = { .kind = OP_FENCE, .order = order };
    if (!explore_is_running())
        return;
    if (!explore_has_fences())
        explore_fault("a fence, in a scenario that is said to have none");
    if (explore_mutate(explore_mutant, NULL, &op))
        (void)explore_perform(&op, NULL);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) { (void)order; }

/* ---- the system ---- */

bool pen_membarrier_register(void) { return !explore_membarrier_refused(); }

bool pen_membarrier(void)
{
    machine_op op = { .kind = OP_BARRIER };
    if (explore_membarrier_refused())
        return false;
    if (!explore_is_running())
        return true;
    if (!explore_has_fences())
        explore_fault("a membarrier, in a scenario that is said to have none");
    if (explore_mutate(explore_mutant, NULL, &op))
        (void)explore_perform(&op, NULL);
    return true;
}

static void futex_wait(const void *word, uint32_t expected)
{
    machine_op op = { .kind = OP_FUTEX_WAIT, .size = 4 };
    op.address = (uintptr_t)word;
    op.expected = expected;
    (void)explore_perform(&op, NULL); /* the time-out never expires */
}

static void futex_wake(const void *word, uint32_t count)
{
    machine_op op = { .kind = OP_FUTEX_WAKE };
    op.address = (uintptr_t)word;
    op.operand = count;
    if (explore_is_running() && explore_mutate(explore_mutant, NULL, &op))
        (void)explore_perform(&op, NULL);
}

long explore_syscall(long number, ...);
long explore_syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    const void *word = va_arg(args, void *);
    int what = va_arg(args, int) & ~FUTEX_PRIVATE_FLAG;
    uint32_t value = va_arg(args, uint32_t);
    va_end(args);
    if (number != SYS_futex || (what != FUTEX_WAIT && what != FUTEX_WAKE))
        explore_die("system call %ld has no model", number);
    if (what == FUTEX_WAIT)
        futex_wait(word, value);
    else
        futex_wake(word, value);
    return 0;
}

int explore_yield(void);
int explore_yield(void) { return 0; }
uint64_t pen_now_ns(void) { return 0; }

static uint64_t no_time(void *ctx)
{
    (void)ctx;
    return 0;
}

const pen_clock pen_machine_clock = { no_time, NULL };
uint64_t pen_switches_forced(void) { return 0; }
unsigned pen_cores_allowed(const char *cgroup_root)
{
    (void)cgroup_root;
    return 1;
}

_Noreturn void pen_invariant_broken(const char *what, const char *file, int line);
_Noreturn void pen_invariant_broken(const char *what, const char *file, int line)
{
    explore_fault("%s:%d: broken: %s", file, line, what);
    explore_die("%s:%d: broken: %s", file, line, what);
}
