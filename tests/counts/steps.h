/* SPDX-License-Identifier: BSD-3-Clause */
/* steps.h: counts the instructions that this thread executes between two points, one by one: the
 * processor's trap flag raises SIGTRAP after each, and the handler looks at the next. Exact on a
 * noisy machine, needs no rights and no tools, and runs the code as it is, on the processor as it
 * is. x86-64 only. */
#ifndef PEN_TESTS_COUNTS_STEPS_H
#define PEN_TESTS_COUNTS_STEPS_H

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

typedef struct steps {
    long instructions;
    long locked; /* with a lock prefix, exchanges with memory, full fences */
    long calls;  /* into the kernel */
} steps;

static volatile steps steps_now;

static inline int steps_is_prefix(unsigned char byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || (byte & 0xf0) == 0x40;
}

static inline int steps_is_locked(const unsigned char *p)
{
    int exchanges = (p[0] & 0xfe) == 0x86 && (p[1] & 0xc0) != 0xc0;
    int fences = p[0] == 0x0f && p[1] == 0xae && p[2] == 0xf0;
    return p[0] == 0xf0 || exchanges || fences;
}

/* At the instruction at p. */
static inline void steps_look(const unsigned char *p)
{
    steps_now.calls += p[0] == 0x0f && p[1] == 0x05;
    while (steps_is_prefix(*p))
        p++;
    steps_now.locked += steps_is_locked(p);
}

static void steps_trap(int number, siginfo_t *info, void *context)
{
    const ucontext_t *thread = (const ucontext_t *)context;
    (void)number;
    (void)info;
    steps_now.instructions++;
    steps_look((const unsigned char *)(uintptr_t)thread->uc_mcontext.gregs[REG_RIP]);
}

static inline void steps_open(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = steps_trap;
    action.sa_flags = SA_SIGINFO;
    if (sigaction(SIGTRAP, &action, NULL) != 0)
        abort();
}

/* Below the red zone, for the compiler may keep something there. */
#define STEPS_FLAG(change)                                         \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" change \
                     ", (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" \
                     :                                             \
                     :                                             \
                     : "memory", "cc")

/* The instructions that both of them add are the same every time. */
static inline __attribute__((always_inline)) void steps_begin(void)
{
    memset((void *)(uintptr_t)&steps_now, 0, sizeof steps_now);
    STEPS_FLAG("orq $0x100");
}

static inline __attribute__((always_inline)) steps steps_end(void)
{
    STEPS_FLAG("andq $~0x100");
    return (steps){ steps_now.instructions, steps_now.locked, steps_now.calls };
}

#endif
