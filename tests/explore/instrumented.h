/* SPDX-License-Identifier: BSD-3-Clause */
/* instrumented.h: included first in each instrumented file: calls that the compiler does not
 * instrument by itself go through hooks.c as well. */
#ifndef EXPLORE_INSTRUMENTED_H
#define EXPLORE_INSTRUMENTED_H

#include "explore.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *explore_memcpy(void *to, const void *from, size_t len);
void *explore_memset(void *to, int byte, size_t len);
long explore_syscall(long number, ...);
int explore_yield(void);
static inline void explore_release(void *memory) { (void)memory; }

#define memcpy(to, from, len)     explore_memcpy(to, from, len)
#define memset(to, byte, len)     explore_memset(to, byte, len)
#define syscall(...)              explore_syscall(__VA_ARGS__)
#define sched_yield()             explore_yield()
#define malloc(len)               explore_alloc(len, 64)
#define calloc(count, len)        explore_alloc((count) * (len), 64)
#define aligned_alloc(align, len) explore_alloc(len, align)
#define free(memory)              explore_release(memory)

#endif
