/* SPDX-License-Identifier: BSD-3-Clause */
/* mismatch.c: reports a mismatch, and how to repeat it. */
#include "shadow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { TEXT_LEN_MAX = 512 };

static void tell(gex_Rank_t rank, unsigned thread, uint64_t op, const char *text)
{
    static const char *const memories[] = { "mixed", "arena", "own" };
    const options *o = &shadow.options;
    const uint64_t prefix = (op + 1) * shadow.size * o->threads;
    fprintf(stderr,
            "shadow: MISMATCH: rank %u thread %u operation %" PRIu64 " (%s), phase %" PRIu64
            ", seed %" PRIu64 ": %s\n"
            "shadow: within %" PRIu64 " operations; again: penstock run -n %u %s --seed %" PRIu64
            " --threads %u --memory %s --burst %u --phase-ops %u --ops %" PRIu64 "\n",
            rank, thread, op,
            rank == shadow.rank ? kinds[shadow.workers[thread].kind].name : "told by a peer",
            shadow.phase, o->seed, text, prefix, shadow.size, shadow.program, o->seed, o->threads,
            memories[o->memory], o->burst, o->phase_ops, prefix);
    fflush(stderr);
}

void mismatch(const worker *w, uint64_t op, const char *format, ...)
{
    char text[TEXT_LEN_MAX];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see the va_start */
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tell(shadow.rank, w->index, op, text);
    gasnet_exit(1);
}

void mismatch_at(gex_Rank_t rank, unsigned thread, uint64_t op, const char *format, ...)
{
    char text[TEXT_LEN_MAX];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see the va_start */
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tell(rank, thread, op, text);
    gasnet_exit(1);
}
