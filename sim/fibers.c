/* SPDX-License-Identifier: BSD-3-Clause */
/* fibers.c: see fibers.h. */
#include "sim/fibers.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { STACK_LEN = 256 << 10 };

/* swapcontext asks the kernel for the signal mask each time; _setjmp does not. AddressSanitizer
 * knows of the former only. */
#if defined(__SANITIZE_ADDRESS__)
enum { BY_CONTEXT = 1 };
#else
enum { BY_CONTEXT = 0 };
#endif

static void begin(unsigned low, unsigned high)
{
    pen_sim_fiber *fiber = (pen_sim_fiber *)(uintptr_t)((uint64_t)high << 32 | low);
    fiber->main(fiber->argument);
    abort(); /* it has no place to return to */
}

void pen_sim_fiber_make(pen_sim_fiber *out, pen_sim_stage *stage, void (*main)(void *argument),
                        void *argument)
{
    const uint64_t address = (uint64_t)(uintptr_t)out;
    out->stage = stage;
    out->main = main;
    out->argument = argument;
    out->has_begun = false;
    out->stack = mmap(NULL, STACK_LEN, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (out->stack == MAP_FAILED || getcontext(&out->context) != 0)
        abort();
    out->context.uc_stack.ss_sp = out->stack;
    out->context.uc_stack.ss_size = STACK_LEN;
    makecontext(&out->context, (void (*)(void))begin, 2, (unsigned)address,
                (unsigned)(address >> 32));
}

void pen_sim_fiber_resume(pen_sim_fiber *fiber)
{
    pen_sim_stage *stage = fiber->stage;
    const bool begins = !fiber->has_begun;
    fiber->has_begun = true;
    if (BY_CONTEXT) {
        if (swapcontext(&stage->context, &fiber->context) != 0)
            abort();
    } else if (_setjmp(stage->here) == 0) {
        if (begins)
            (void)setcontext(&fiber->context);
        _longjmp(fiber->here, 1);
    }
}

void pen_sim_fiber_yield(pen_sim_fiber *fiber)
{
    if (BY_CONTEXT) {
        if (swapcontext(&fiber->context, &fiber->stage->context) != 0)
            abort();
    } else if (_setjmp(fiber->here) == 0) {
        _longjmp(fiber->stage->here, 1);
    }
}

void pen_sim_fiber_free(pen_sim_fiber *fiber) { (void)munmap(fiber->stack, STACK_LEN); }
