/* SPDX-License-Identifier: BSD-3-Clause */
/* explore.h: the description of a scenario, and its interface to the explorer.
 *
 * The library's own files are compiled as for ThreadSanitizer, so that every atomic operation,
 * fence and plain access calls a function, and are linked with the functions of hooks.c in place
 * of the sanitizer's. A scenario's threads are coroutines. They stop before each atomic operation
 * on a shared word. The explorer (search.c) tries every order of resuming them and every value
 * that memory (machine.h) allows a load. A state that was met before is not explored again, so
 * loops that poll end. hooks.c also replaces the system calls: there is no time, and no time-out.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPLORE_ARENA_LEN = 1 << 20 };

typedef struct explore_scenario {
    const char *name;
    const char *what; /* one line: each thread's work, and how often */
    uint32_t threads;
    /* Fences or membarriers take part. If not, a store to a word with a single storing thread can
     * be made at once: a thread that has not seen it may still read older values. */
    bool fences;
    bool naps; /* sleeping may also end by itself, for code that is documented to rely on it */
    void (*setup)(bool is_long); /* once, before any thread runs */
    void (*run)(uint32_t thread);
    void (*judge)(void); /* after each run: all threads have ended, or wait forever */
} explore_scenario;

/* A table for each file of scenarios; ends with a row without a name. */
extern const explore_scenario explore_channel_scenarios[], explore_inbox_scenarios[],
    explore_sleep_scenarios[], explore_line_scenarios[], explore_lock_scenarios[],
    explore_express_scenarios[], explore_shared_scenarios[];

/* ---- for setup ---- */

void *explore_alloc(size_t len,
                    size_t align); /* zeroed; each run begins with its contents after setup */

typedef enum explore_kind {
    EXPLORE_WORD,    /* atomic */
    EXPLORE_ONE,     /* atomic, with a single storing thread */
    EXPLORE_DATA,    /* plain contents that words guard, or atomics used as such */
    EXPLORE_PRIVATE, /* private to one thread, or without effect */
} explore_kind;

/* Declares a piece of memory. name: used in traces, and by mutants. each: bytes of a word. */
void explore_declare(const volatile void *start, size_t len, explore_kind kind, const char *name);

/* ---- for threads ---- */

/* Called when a poll found nothing: waits until a word that was read since the last idling has
 * changed. */
void explore_idle(void);
/* Declares that all later work of this thread depends only on memory that only this thread
 * changes, whose digest is digest_of(what), and on loop. States that agree in these are the same
 * state. */
void explore_settle(uint64_t (*digest_of)(const void *what), const void *what, uint64_t loop);
uint64_t explore_digest(const void *start, size_t len);
uint32_t explore_thread(void); /* UINT32_MAX: no thread runs */

/* ---- for all ---- */

void explore_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
void explore_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define EXPLORE_CHECK(cond, ...)        \
    do {                                \
        if (!(cond))                    \
            explore_fault(__VA_ARGS__); \
    } while (0)

/* Returns whether the mutant of that name is explored. Scripts put calls of it into copies of the
 * library's sources. */
bool explore_is(const char *mutant);
bool explore_has_ended(uint32_t thread); /* for judge. false: the thread waits forever */
/* Slots of an inbox that senders leave free; called by the copies of the sources. */
uint32_t explore_inbox_slack(void);
void explore_inbox_slack_set(uint32_t slots); /* for setup */
uint32_t
explore_flat_max(void); /* ranks that meet without a tree; called by the copies of the sources */
bool explore_membarrier_refused(void);
void explore_refuse_membarrier(bool refused); /* for setup */

#endif
