/* SPDX-License-Identifier: BSD-3-Clause */
/* fibers.h: many ranks in one thread. Each rank is a fiber: a function with a stack of its own,
 * which runs until it yields to the stage, the code that resumes fibers. A simulated job runs its
 * ranks this way, so that its order depends on nothing but its inputs. */
#ifndef PEN_SIM_FIBERS_H
#define PEN_SIM_FIBERS_H

#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>

/* The code that resumes fibers. One that is all zero is ready. */
typedef struct pen_sim_stage {
    ucontext_t context;
    jmp_buf here;
} pen_sim_stage;

typedef struct pen_sim_fiber {
    pen_sim_stage *stage;
    void (*main)(void *argument);
    void *argument;
    void *stack;
    ucontext_t context; /* its first context, and ... */
    jmp_buf here;       /* ... its place when it yielded */
    bool has_begun;
} pen_sim_fiber;

/* Makes a fiber that will run main(argument), which must not return. Without memory the process
 * ends. */
void pen_sim_fiber_make(pen_sim_fiber *out, pen_sim_stage *stage, void (*main)(void *argument),
                        void *argument);

/* Runs the fiber until it yields. Caller: the stage. */
void pen_sim_fiber_resume(pen_sim_fiber *fiber);

/* Returns when the fiber is resumed. Caller: the fiber. */
void pen_sim_fiber_yield(pen_sim_fiber *fiber);

/* Frees the stack of a fiber, wherever it has yielded. Caller: the stage. */
void pen_sim_fiber_free(pen_sim_fiber *fiber);

#endif
