/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_atomics.c: GASNet tools, atomic operations and memory fences: every operation of every
 * family, by one thread and by several that change the same atomics.
 *
 * TESTS: gasnett_atomic_[op] gasnett_atomic32_[op] gasnett_atomic64_[op]
 * TESTS: gasnett_strongatomic_[op] gasnett_strongatomic32_[op] gasnett_strongatomic64_[op]
 * TESTS: gasnett_atomic_signed gasnett_local_wmb gasnett_local_rmb gasnett_local_mb
 * TESTS: gasnett_weak_wmb gasnett_weak_rmb gasnett_weak_mb gasnett_compiler_fence
 * TESTS: gasnett_spinloop_hint gasnett_sched_yield
 */
/* PEN_RANKS: 1 3 */
#include <gasnet.h>

#include "conformance/check.h"

enum { ROUNDS = 20000, HAMMERS = 4 };

_Static_assert(sizeof(gasnett_atomic32_t) == 4 && sizeof(gasnett_strongatomic32_t) == 4 &&
                   sizeof(gasnett_atomic64_t) == 8 && sizeof(gasnett_strongatomic64_t) == 8,
               "GASNet tools, atomics: those of fixed width have no padding");
_Static_assert(GASNETT_ATOMIC_REL == GASNETT_ATOMIC_WMB_PRE &&
                   GASNETT_ATOMIC_ACQ == GASNETT_ATOMIC_RMB_POST &&
                   GASNETT_ATOMIC_ACQ_IF_TRUE == GASNETT_ATOMIC_RMB_POST_IF_TRUE &&
                   GASNETT_ATOMIC_ACQ_IF_FALSE == GASNETT_ATOMIC_RMB_POST_IF_FALSE &&
                   GASNETT_ATOMIC_NONE == 0,
               "GASNet tools, atomics: release and acquire are fences by other names");
_Static_assert((gasnett_atomic_val_t)-1 > 0 && (gasnett_atomic_sval_t)-1 < 0 &&
                   GASNETT_ATOMIC_MAX == (gasnett_atomic_val_t)-1 &&
                   GASNETT_ATOMIC_MAX == UINT32_MAX && GASNETT_ATOMIC_SIGNED_MAX == INT32_MAX &&
                   GASNETT_ATOMIC_SIGNED_MIN == INT32_MIN && GASNETT_ATOMIC_SIGNED_MIN < 0 &&
                   GASNETT_ATOMIC_SIGNED_MAX > 0,
               "GASNet tools, atomics: values are unsigned and can be read as signed");

/* ---- one thread: values ---------------------------------------------------------------------- */

/* Each flag must leave the result as it is. */
static const int flag_sets[] = { GASNETT_ATOMIC_NONE,
                                 GASNETT_ATOMIC_REL,
                                 GASNETT_ATOMIC_ACQ,
                                 GASNETT_ATOMIC_RMB_PRE,
                                 GASNETT_ATOMIC_WMB_POST,
                                 GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST,
                                 GASNETT_ATOMIC_REL | GASNETT_ATOMIC_ACQ_IF_TRUE,
                                 GASNETT_ATOMIC_ACQ_IF_FALSE };

#define CHECK_FAMILY(family, type)                                                               \
    static void check_##family(int flags)                                                        \
    {                                                                                            \
        static const char rule[] = "GASNet tools, atomics: " #family;                            \
        family##_t x = family##_init(5);                                                         \
        CHECK(family##_read(&x, flags) == 5, rule);                                              \
        family##_set(&x, 7, flags);                                                              \
        CHECK(family##_read(&x, flags) == 7, rule);                                              \
        family##_increment(&x, flags);                                                           \
        CHECK(family##_read(&x, flags) == 8, rule);                                              \
        family##_decrement(&x, flags);                                                           \
        CHECK(family##_read(&x, flags) == 7, rule);                                              \
        CHECK(family##_add(&x, 10, flags) == 17, "add returns the new value");                   \
        CHECK(family##_subtract(&x, 15, flags) == 2, "subtract returns the new value");          \
        CHECK(family##_decrement_and_test(&x, flags) == 0, "1 is not 0");                        \
        CHECK(family##_decrement_and_test(&x, flags) != 0, "now it is");                         \
        CHECK(family##_subtract(&x, 1, flags) == (type) - 1, "values wrap around");              \
        CHECK(family##_add(&x, 2, flags) == 1, "and back");                                      \
        CHECK(family##_swap(&x, 30, flags) == 1, "swap returns the old value");                  \
        CHECK(family##_compare_and_swap(&x, 31, 40, flags) == 0, "it was not that");             \
        CHECK(family##_read(&x, flags) == 30, "a failed compare_and_swap changes nothing");      \
        CHECK(family##_compare_and_swap(&x, 30, (type) - 3, flags) != 0, "it was that");         \
        CHECK(family##_read(&x, flags) == (type) - 3, "a compare_and_swap that succeeds swaps"); \
    }
CHECK_FAMILY(gasnett_atomic, gasnett_atomic_val_t)
CHECK_FAMILY(gasnett_atomic32, uint32_t)
CHECK_FAMILY(gasnett_atomic64, uint64_t)
CHECK_FAMILY(gasnett_strongatomic, gasnett_atomic_val_t)
CHECK_FAMILY(gasnett_strongatomic32, uint32_t)
CHECK_FAMILY(gasnett_strongatomic64, uint64_t)

static void check_values(void)
{
    for (size_t i = 0; i < sizeof(flag_sets) / sizeof(flag_sets[0]); i++) {
        check_gasnett_atomic(flag_sets[i]);
        check_gasnett_atomic32(flag_sets[i]);
        check_gasnett_atomic64(flag_sets[i]);
        check_gasnett_strongatomic(flag_sets[i]);
        check_gasnett_strongatomic32(flag_sets[i]);
        check_gasnett_strongatomic64(flag_sets[i]);
    }
    CHECK(gasnett_atomic_signed((gasnett_atomic_val_t)-7) == -7,
          "GASNet tools, atomics: a value can be read as signed");
}

static void check_casts(void)
{
    float single = 1.5f, other_single = -2.0f;
    double number = 0.25, other_number = 8.0;
    uint32_t bits32;
    uint64_t bits64;
    memcpy(&bits32, &other_single, sizeof(bits32));
    memcpy(&bits64, &other_number, sizeof(bits64));
    gasnett_atomic32_set((gasnett_atomic32_t *)(void *)&single, bits32, 0);
    (void)gasnett_strongatomic64_swap((gasnett_strongatomic64_t *)(void *)&number, bits64, 0);
    CHECK(single == -2.0f && number == 8.0,
          "GASNet tools, atomics: numbers of the width may be cast to atomics");
}

/* ---- several threads ------------------------------------------------------------------------- */

static gasnett_strongatomic_t strong = gasnett_strongatomic_init(0);
static gasnett_strongatomic32_t strong32 = gasnett_strongatomic32_init(0);
static gasnett_strongatomic64_t strong64 = gasnett_strongatomic64_init(0);
static gasnett_atomic_t weak = gasnett_atomic_init(0);
static gasnett_atomic32_t weak32 = gasnett_atomic32_init(0);
static gasnett_atomic64_t weak64 = gasnett_atomic64_init(0);
static gasnett_strongatomic_t holders = gasnett_strongatomic_init(0);
static gasnett_strongatomic32_t lock = gasnett_strongatomic32_init(0);
static unsigned guarded; /* by `lock` */

/* Strong atomics are atomic among threads in every mode; these threads call nothing else. */
static void *hammer_strong(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        gasnett_strongatomic_increment(&strong, GASNETT_ATOMIC_NONE);
        (void)gasnett_strongatomic32_add(&strong32, 3, GASNETT_ATOMIC_ACQ);
        gasnett_strongatomic32_decrement(&strong32, GASNETT_ATOMIC_NONE);
        uint64_t old;
        do
            old = gasnett_strongatomic64_read(&strong64, GASNETT_ATOMIC_NONE);
        while (
            !gasnett_strongatomic64_compare_and_swap(&strong64, old, old + 2, GASNETT_ATOMIC_NONE));
        while (!gasnett_strongatomic32_compare_and_swap(&lock, 0, 1, GASNETT_ATOMIC_ACQ_IF_TRUE)) {
            gasnett_spinloop_hint();
            gasnett_sched_yield();
        }
        if (gasnett_strongatomic_add(&holders, 1, GASNETT_ATOMIC_NONE) != 1)
            CHECK(0, "GASNet tools, atomics: one thread wins a compare_and_swap");
        guarded++;
        (void)gasnett_strongatomic_subtract(&holders, 1, GASNETT_ATOMIC_NONE);
        gasnett_strongatomic32_set(&lock, 0, GASNETT_ATOMIC_REL);
    }
    return NULL;
}

static void check_strong(void)
{
    pthread_t threads[HAMMERS];
    for (int i = 0; i < HAMMERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, hammer_strong, NULL), 0, "threads can be made");
    for (int i = 0; i < HAMMERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(gasnett_strongatomic_read(&strong, GASNETT_ATOMIC_ACQ), HAMMERS * ROUNDS,
             "GASNet tools, atomics: no increment is lost");
    CHECK_EQ(gasnett_strongatomic32_read(&strong32, GASNETT_ATOMIC_ACQ), 2 * HAMMERS * ROUNDS,
             "GASNet tools, atomics: no addition or decrement is lost");
    CHECK_EQ(gasnett_strongatomic64_read(&strong64, GASNETT_ATOMIC_ACQ), 2 * HAMMERS * ROUNDS,
             "GASNet tools, atomics: no compare_and_swap is lost");
    CHECK_EQ(guarded, HAMMERS * ROUNDS,
             "GASNet tools, atomics: acquire and release guard other memory");
}

/* The remaining types are atomic among the threads that the mode allows. */
static void hammer_weak(unsigned thread_i)
{
    (void)thread_i;
    for (int i = 0; i < ROUNDS; i++) {
        gasnett_atomic_increment(&weak, GASNETT_ATOMIC_NONE);
        (void)gasnett_atomic32_subtract(&weak32, 1, GASNETT_ATOMIC_NONE);
        (void)gasnett_atomic64_add(&weak64, 5, GASNETT_ATOMIC_REL);
    }
}

static void check_weak(void)
{
    check_on_threads(hammer_weak);
    CHECK_EQ(gasnett_atomic_read(&weak, 0), CHECK_THREADS * ROUNDS,
             "GASNet tools, atomics: no increment is lost");
    CHECK_EQ(gasnett_atomic32_read(&weak32, 0), (uint32_t)(-CHECK_THREADS * ROUNDS),
             "GASNet tools, atomics: no subtraction is lost");
    CHECK_EQ(gasnett_atomic64_read(&weak64, 0), 5 * CHECK_THREADS * ROUNDS,
             "GASNet tools, atomics: no addition is lost");
}

/* ---- fences ---------------------------------------------------------------------------------- */

static gasnett_strongatomic32_t wants[2] = { gasnett_strongatomic32_init(0),
                                             gasnett_strongatomic32_init(0) };
static gasnett_strongatomic32_t met = gasnett_strongatomic32_init(0);
static uint32_t seen[2];

/* Spins, so that both go on at nearly the same moment; gives way where there is one processor. */
static void meet(uint32_t arrivals)
{
    gasnett_strongatomic32_increment(&met, GASNETT_ATOMIC_REL);
    for (int spins = 0; gasnett_strongatomic32_read(&met, GASNETT_ATOMIC_ACQ) < arrivals; spins++)
        if (spins > 1000)
            gasnett_sched_yield();
}

/* In each round each thread announces itself, then looks at its partner. At least one must see the
 * announcement. That is the order of a store and a later load, which x86 does not keep without a
 * fence.
 */
static void *want(void *which)
{
    size_t me = (size_t)which;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        meet(4 * round - 2);
        gasnett_strongatomic32_set(&wants[me], round, GASNETT_ATOMIC_NONE);
        gasnett_local_wmb();
        seen[me] = gasnett_strongatomic32_read(&wants[1 - me], GASNETT_ATOMIC_NONE);
        meet(4 * round);
        CHECK(seen[0] == round || seen[1] == round,
              "GASNet tools, fences: wmb orders stores before later loads");
    }
    return NULL;
}

static void check_fences(void)
{
    pthread_t other;
    CHECK_EQ(pthread_create(&other, NULL, want, (void *)1), 0, "threads can be made");
    (void)want((void *)0);
    pthread_join(other, NULL);
    gasnett_local_rmb();
    gasnett_local_mb();
    gasnett_weak_wmb();
    gasnett_weak_rmb();
    gasnett_weak_mb();
    gasnett_compiler_fence();
}

int main(int argc, char **argv)
{
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "the job starts");
    check_begin();
    CHECK_EQ(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0), GASNET_OK, "the job starts");
    check_values();
    check_casts();
    check_strong();
    check_weak();
    check_fences();
    return check_end();
}
