/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_hsl_nis.c: GASNet-1 Core, atomicity: handler-safe locks exclude handlers and threads from each
 * other, trylock never waits, and no-interrupt sections bracket code.
 *
 * TESTS: gasnet_hsl_init gasnet_hsl_destroy gasnet_hsl_lock gasnet_hsl_unlock gasnet_hsl_trylock
 * TESTS: GASNET_HSL_INITIALIZER gasnet_hsl_t gasnet_hold_interrupts gasnet_resume_interrupts
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

#include <string.h>

enum { BUMP = 130, BUMPED, TRY, TRIED, ROUNDS = 500 };

static gasnet_hsl_t lock_static = GASNET_HSL_INITIALIZER;
static gasnet_hsl_t lock_made, lock_second = GASNET_HSL_INITIALIZER;
static check_count replies;
static check_count tried_ok;

/* Guarded by lock_made; two halves that must agree whenever the lock is free. */
static volatile unsigned long guarded_low, guarded_high;

static void bump(gasnet_hsl_t *lock)
{
    gasnet_hsl_lock(lock);
    CHECK(guarded_low == guarded_high, "GASNet-1 Core, HSL: one holder at a time");
    guarded_low = guarded_low + 1;
    for (volatile int delay = 0; delay < 20; delay++)
        ;
    guarded_high = guarded_high + 1;
    gasnet_hsl_unlock(lock);
}

static void bump_request(gasnet_token_t token)
{
    bump(&lock_made);
    gasnet_AMReplyShort0(token, BUMPED); /* no lock is held here */
}

static void bumped(gasnet_token_t token)
{
    (void)token;
    check_add(&replies, 1);
}

/* A handler may hold several locks and releases them in reverse order. */
static void try_request(gasnet_token_t token)
{
    int nested = 0;
    if (gasnet_hsl_trylock(&lock_static) == GASNET_OK) {
        gasnet_hsl_lock(&lock_second);
        nested = 1;
        gasnet_hsl_unlock(&lock_second);
        gasnet_hsl_unlock(&lock_static);
    }
    gasnet_AMReplyShort1(token, TRIED, nested);
}

static void tried(gasnet_token_t token, gasnet_handlerarg_t nested)
{
    (void)token;
    check_add(&tried_ok, nested != 0);
    check_add(&replies, 1);
}

static gasnet_handlerentry_t table[] = {
    { BUMP, (gex_AM_Fn_t)bump_request },
    { BUMPED, (gex_AM_Fn_t)bumped },
    { TRY, (gex_AM_Fn_t)try_request },
    { TRIED, (gex_AM_Fn_t)tried },
};

static void bump_all(unsigned thread_i)
{
    (void)thread_i;
    for (unsigned i = 0; i < ROUNDS; i++) {
        gasnet_AMRequestShort0(check_next(i), BUMP);
        bump(&lock_made);
    }
}

static void check_trylock(void)
{
    CHECK_EQ(gasnet_hsl_trylock(&lock_static), GASNET_OK,
             "GASNet-1 Core, HSL: trylock takes a free lock");
    gasnet_hsl_unlock(&lock_static);
    gasnet_hsl_lock(&lock_static);
    gasnet_hsl_unlock(&lock_static);
    gasnet_hsl_lock(&lock_static); /* free again after unlock */
    gasnet_hsl_unlock(&lock_static);
}

#ifdef GASNET_PAR
static void *try_held(void *result)
{
    *(int *)result = gasnet_hsl_trylock(&lock_static);
    return NULL;
}

/* Another thread finds the lock taken, and is not made to wait. */
static void check_trylock_held(void)
{
    pthread_t other;
    int result = GASNET_OK;
    gasnet_hsl_lock(&lock_static);
    if (pthread_create(&other, NULL, try_held, &result) == 0)
        pthread_join(other, NULL);
    gasnet_hsl_unlock(&lock_static);
    CHECK_EQ(result, GASNET_ERR_NOT_READY, "GASNet-1 Core, HSL: trylock of a held lock says so");
}
#endif

/* Nothing may block or send between the brackets; plain work may be done, and they may be repeated.
 */
static void check_no_interrupts(void)
{
    for (int i = 0; i < 3; i++) {
        gasnet_hold_interrupts();
        guarded_low = guarded_low + 1;
        guarded_high = guarded_high + 1;
        CHECK(gasnet_mynode() == (gasnet_node_t)check_rank,
              "GASNet-1 Core, no-interrupt sections: the rank may be asked inside");
        gasnet_resume_interrupts();
    }
}

int main(int argc, char **argv)
{
    g1_open(&argc, &argv, table, (int)(sizeof(table) / sizeof(table[0])), GASNET_PAGESIZE);
    memset(&lock_made, 0x5a, sizeof(lock_made)); /* init may find any bytes */
    gasnet_hsl_init(&lock_made);
    check_barrier(); /* no rank's handler may use the lock before it is made */

    check_on_threads(bump_all);
    CHECK_WAIT(replies, CHECK_THREADS * ROUNDS);
    check_barrier();
    const unsigned long by_us = CHECK_THREADS * ROUNDS;
    CHECK_EQ(guarded_low, guarded_high, "GASNet-1 Core, HSL: what the lock guards is whole");
    CHECK_EQ(guarded_low, 2 * by_us, "GASNet-1 Core, HSL: no change under the lock is lost");

    check_trylock();
#ifdef GASNET_PAR
    check_trylock_held();
#endif
    check_barrier();
    const unsigned before = check_counted(&replies);
    for (unsigned i = 0; i < 10; i++) {
        gasnet_AMRequestShort0(check_next(1), TRY);
        CHECK_WAIT(replies, before + i + 1);
    }
    CHECK_EQ(check_counted(&tried_ok), 10, "GASNet-1 Core, HSL: a handler may take locks, nested");
    check_no_interrupts();
    check_barrier();
    gasnet_hsl_destroy(&lock_made);
    return check_end();
}
