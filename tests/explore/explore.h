/* SPDX-License-Identifier: BSD-3-Clause */
/* explore.h: what a scenario is, and what it can ask of the explorer.
 *
 * The library's own files are compiled as for ThreadSanitizer, so that every atomic operation,
 * fence and plain access calls a function, and linked with functions of ours (hooks.c) in place of
 * the sanitizer's. A scenario's threads are coroutines; before each atomic operation on a word that
 * is shared they stop, and the explorer (search.c) tries every order of going on and every value
 * that memory (machine.h) allows a load. States met before are not gone on from, so loops that
 * poll end. What the system calls do is in hooks.c as well: no time, no time-outs. */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPLORE_ARENA_LEN = 1 << 20 };

typedef struct explore_scenario {
    const char *name;
    const char *what; /* one line: who does what, and how often */
    uint32_t threads;
    /* Fences or membarriers take part. If not, a store to a word that one thread alone stores to
     * can be made at once: who does not see it yet may go on reading older values. */
    bool fences;
    bool naps; /* sleeping ends by itself, too: for what is documented to rely on it */
    void (*setup)(bool is_long); /* once, before any thread runs */
    void (*run)(uint32_t thread);
    void (*judge)(void); /* after each run: all threads have ended, or wait for ever */
} explore_scenario;

/* A table for each file of scenarios; ends with a row without a name. */
extern const explore_scenario explore_channel_scenarios[], explore_inbox_scenarios[],
    explore_sleep_scenarios[], explore_line_scenarios[], explore_lock_scenarios[],
    explore_express_scenarios[], explore_shared_scenarios[];

/* ---- for setup ---- */

void *explore_alloc(size_t len, size_t align); /* zeroed; is as it was when a run begins */

typedef enum explore_kind {
    EXPLORE_WORD,    /* atomic */
    EXPLORE_ONE,     /* atomic, one thread alone stores to it */
    EXPLORE_DATA,    /* plain: contents that words guard. Also atomics that are meant as such */
    EXPLORE_PRIVATE, /* one thread's, or of no interest */
} explore_kind;

/* Says what memory is; name: in traces, and for mutants. each: words of so many bytes. */
void explore_declare(const volatile void *start, size_t len, explore_kind kind, const char *name);

/* ---- for threads ---- */

/* Nothing was found: wait until a word that was read since the last idling has changed. */
void explore_idle(void);
/* All that this thread does from here on depends on memory that only it changes, whose digest
 * digest_of(what) is, and on loop, but not on how it came about: states that agree in these are the
 * same state. */
void explore_settle(uint64_t (*digest_of)(const void *what), const void *what, uint64_t loop);
uint64_t explore_digest(const void *start, size_t len);
uint32_t explore_thread(void); /* UINT32_MAX: none */

/* ---- for all ---- */

void explore_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
void explore_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define EXPLORE_CHECK(cond, ...)        \
    do {                                \
        if (!(cond))                    \
            explore_fault(__VA_ARGS__); \
    } while (0)

/* Whether the mutant of that name is being explored; scripts put calls of it into copies of the
 * library's sources. */
bool explore_is(const char *mutant);
bool explore_has_ended(uint32_t thread); /* for judge: false: it waits for ever */
/* Slots of an inbox that senders leave free; the copies of the sources ask. */
uint32_t explore_inbox_slack(void);
void explore_inbox_slack_set(uint32_t slots); /* for setup */
uint32_t explore_flat_max(void); /* line_scenarios.c: ranks that meet without a tree; likewise */
bool explore_membarrier_refused(void);
void explore_refuse_membarrier(bool refused); /* for setup */

#endif
