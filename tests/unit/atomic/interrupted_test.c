/* SPDX-License-Identifier: BSD-3-Clause */
/* interrupted_test.c: an operation that is interrupted behind any of its instructions, while
 * another party changes the same word, loses no update and invents none of its own. The processor's
 * trap flag
 * stops it behind each instruction in turn, so that no luck is needed. (Whether an instruction is
 * atomic by itself only another processor can tell: atomic_test.c.) */
#include "atomic/atomic.h"

#include "support/atomic_model.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include <cmocka.h>

#if defined(__SANITIZE_THREAD__)
#    define CAN_STEP 0 /* it puts signals off */
#elif defined(__x86_64__)
#    define CAN_STEP 1
#else
#    define CAN_STEP 0
#endif

#if CAN_STEP
/* ---- somebody else --------------------------------------------------------------------------- */

static _Alignas(8) unsigned char word[8];
static uint32_t word_type;
static volatile unsigned steps, disturbed_at; /* behind which step; 0: never */
enum { TRAP_FLAG = 0x100 };

static uint64_t read_word(void)
{
    uint64_t bits = 0;
    memcpy(&bits, word, model_len(word_type));
    return bits;
}

static void write_word(uint64_t bits) { memcpy(word, &bits, model_len(word_type)); }

/* The second thread's work: adds 1000. */
static uint64_t disturbed(uint64_t bits)
{
    const bool is_float = model_is_float(word_type);
    const uint64_t operands[2] = { is_float ? model_float_bits(word_type, 1000) : 1000, 0 };
    return model_apply(word_type, GEX_OP_ADD, bits, operands);
}

/* Once is enough: from then on nothing stops any more. */
static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    if (++steps != disturbed_at)
        return;
    write_word(disturbed(read_word()));
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

/* Sets or clears the flag; below what the compiler may keep under the stack pointer. */
#    define TRAP_SET                                                                   \
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\t" \
                         "popfq\n\tlea 128(%%rsp), %%rsp" ::                           \
                             : "memory", "cc")
#    define TRAP_CLEAR                                                                   \
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\t" \
                         "popfq\n\tlea 128(%%rsp), %%rsp" ::                             \
                             : "memory", "cc")

static __attribute__((noinline)) uint64_t step_through(uint32_t op, const uint64_t operands[2])
{
    uint64_t old;
    steps = 0;
    TRAP_SET;
    old = pen_atomic_apply(word, word_type, op, operands);
    TRAP_CLEAR;
    return old;
}

/* ---- one operation, disturbed everywhere ----------------------------------------------------- */

/* The operation and the disturbance came one after another, in either order. */
static bool makes_sense(uint32_t op, const uint64_t operands[2], uint64_t before, uint64_t old)
{
    const bool fetches = model_fetches(op);
    const uint64_t after = read_word(), first = model_apply(word_type, op, before, operands);
    if (steps < disturbed_at) /* it was over */
        return after == first && (!fetches || old == before);
    if (after == disturbed(first) && (!fetches || old == before))
        return true;
    const uint64_t found = disturbed(before);
    return after == model_apply(word_type, op, found, operands) && (!fetches || old == found);
}

static void disturb_everywhere(uint32_t op)
{
    const bool is_float = model_is_float(word_type);
    const uint64_t before = is_float ? model_float_bits(word_type, 12) : 12;
    const uint64_t small = is_float ? model_float_bits(word_type, 500) : 500;
    const uint64_t operands[2] = { model_plain(op) == GEX_OP_CAS ? before : small, small };
    disturbed_at = 0;
    write_word(before);
    (void)step_through(op, operands);
    const unsigned count = steps;
    for (unsigned at = 1; at <= count; at++) {
        disturbed_at = at;
        write_word(before);
        const uint64_t old = step_through(op, operands);
        if (!makes_sense(op, operands, before, old))
            fail_msg("operation 0x%x of type 0x%x, disturbed behind instruction %u of %u: result "
                     "%llx, value %llx",
                     op, word_type, at, count, (unsigned long long)old,
                     (unsigned long long)read_word());
    }
    assert_true(count > 5); /* it did stop */
}
#endif

static void an_operation_that_is_interrupted_anywhere_loses_nothing(void **state)
{
    (void)state;
#if CAN_STEP
    /* One of each way; a stop takes long on some machines. */
    static const uint32_t types[] = { GEX_DT_I32, GEX_DT_DBL };
    static const uint32_t ops[] = { GEX_OP_FADD, GEX_OP_FMULT, GEX_OP_FMAX, GEX_OP_FXOR,
                                    GEX_OP_SWAP, GEX_OP_FCAS,  GEX_OP_SET };
    struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
    (void)sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            word_type = types[i];
            if (model_exists(word_type, ops[k]))
                disturb_everywhere(ops[k]);
        }
    (void)signal(SIGTRAP, SIG_DFL);
#else
    print_message("skipped: no way to step through instructions here\n");
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_that_is_interrupted_anywhere_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
