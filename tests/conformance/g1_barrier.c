/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_barrier.c: GASNet-1 Extended, split-phase barriers: named, anonymous, mixed and mismatched;
 * no rank passes before all have notified; handlers run while a rank waits.
 *
 * TESTS: gasnet_barrier_notify gasnet_barrier_wait gasnet_barrier_try gasnet_barrier
 * TESTS: gasnet_barrier_result GASNET_BARRIERFLAG_ANONYMOUS GASNET_BARRIERFLAG_MISMATCH
 * TESTS: GASNET_BARRIERFLAG_UNNAMED GASNET_ERR_BARRIER_MISMATCH GASNET_ERR_NOT_READY
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

_Static_assert(GASNET_BARRIERFLAG_ANONYMOUS == 1 && GASNET_BARRIERFLAG_MISMATCH == 2 &&
                   (GASNET_BARRIERFLAG_UNNAMED & GASNET_BARRIERFLAG_ANONYMOUS) != 0,
               "GASNet-1 Extended, barriers: the flags are fixed");

enum { TOUCH = 130, TOUCHED, ROUNDS = 300, NAMED = 0 };

static check_count touches;

static void touch(gasnet_token_t token) { gasnet_AMReplyShort0(token, TOUCHED); }

static void touched(gasnet_token_t token)
{
    (void)token;
    check_add(&touches, 1);
}

static gasnet_handlerentry_t table[] = {
    { TOUCH, (gex_AM_Fn_t)touch },
    { TOUCHED, (gex_AM_Fn_t)touched },
};

/* One phase, ended by wait or by trying. */
static int phase(int id, int flags, int by_trying)
{
    gasnet_barrier_notify(id, flags);
    if (!by_trying)
        return gasnet_barrier_wait(id, flags);
    int status;
    while ((status = gasnet_barrier_try(id, flags)) == GASNET_ERR_NOT_READY)
        ;
    return status;
}

static void check_matching(void)
{
    static const int ids[] = { 0, 1, -1, 12345, INT32_MAX, INT32_MIN };
    for (int i = 0; i < ROUNDS; i++) {
        const int id = ids[i % 6];
        CHECK_EQ(phase(id, NAMED, i % 2), GASNET_OK,
                 "GASNet-1 Extended, barriers: one name at all ranks matches");
        int result = 77;
        if (gasnet_barrier_result(&result) == GASNET_OK)
            CHECK_EQ(result, id, "GASNet-1 Extended, barriers: the result is the common name");
        else
            CHECK(0, "GASNet-1 Extended, barriers: a named barrier has a result");
        CHECK_EQ(phase(i, GASNET_BARRIERFLAG_ANONYMOUS, i % 2), GASNET_OK,
                 "GASNet-1 Extended, barriers: anonymous at all ranks matches");
        CHECK_EQ(phase(0, GASNET_BARRIERFLAG_UNNAMED, i % 2), GASNET_OK,
                 "GASNet-1 Extended, barriers: unnamed at all ranks matches");
        CHECK_EQ(gasnet_barrier(id, NAMED), GASNET_OK,
                 "GASNet-1 Extended, barriers: the fused form matches as well");
        CHECK(gasnet_barrier_result(&result) == GASNET_OK && result == id,
              "GASNet-1 Extended, barriers: the fused form is a barrier of its own");
    }
}

/* A rank without a name goes with any name. */
static void check_mixed(void)
{
    for (int named = 0; named < check_size; named++) {
        const int mine = check_rank == named;
        const int status = phase(500 + named, mine ? NAMED : GASNET_BARRIERFLAG_ANONYMOUS, mine);
        CHECK_EQ(status, GASNET_OK, "GASNet-1 Extended, barriers: anonymous goes with one name");
        int result = 0;
        if (gasnet_barrier_result(&result) == GASNET_OK)
            CHECK_EQ(result, 500 + named,
                     "GASNet-1 Extended, barriers: the result is the one name there was");
    }
}

/* A mismatch is reported to every rank, and the next phase starts without it. */
static void check_mismatch(void)
{
    for (int odd = 0; odd < check_size; odd++) {
        const int mine = check_rank == odd;
        if (check_size > 1) {
            CHECK_EQ(phase(mine ? 9 : 8, NAMED, odd % 2), GASNET_ERR_BARRIER_MISMATCH,
                     "GASNet-1 Extended, barriers: two names do not match, at any rank");
        }
        CHECK_EQ(phase(8, mine ? GASNET_BARRIERFLAG_MISMATCH : NAMED, odd % 2),
                 GASNET_ERR_BARRIER_MISMATCH,
                 "GASNet-1 Extended, barriers: one rank's mismatch flag is told to all");
        CHECK_EQ(phase(8, mine ? GASNET_BARRIERFLAG_MISMATCH : GASNET_BARRIERFLAG_ANONYMOUS, 0),
                 GASNET_ERR_BARRIER_MISMATCH,
                 "GASNet-1 Extended, barriers: the mismatch flag counts against anonymous ranks");
        CHECK_EQ(phase(8, NAMED, odd % 2), GASNET_OK,
                 "GASNet-1 Extended, barriers: a mismatch ends its own phase only");
    }
    /* Two names among three ranks, the third anonymous: still a mismatch. */
    if (check_size >= 3) {
        const int flags = check_rank == 2 ? GASNET_BARRIERFLAG_ANONYMOUS : NAMED;
        CHECK_EQ(phase(check_rank == 0 ? 1 : 2, flags, 0), GASNET_ERR_BARRIER_MISMATCH,
                 "GASNet-1 Extended, barriers: anonymous ranks do not reconcile two names");
    }
}

/* Notify by one name and flags, and wait by others. */
static int mixed_phase(int id, int flags, int wait_id, int wait_flags, int by_trying)
{
    gasnet_barrier_notify(id, flags);
    if (!by_trying)
        return gasnet_barrier_wait(wait_id, wait_flags);
    int status;
    while ((status = gasnet_barrier_try(wait_id, wait_flags)) == GASNET_ERR_NOT_READY)
        ;
    return status;
}

/* Within a rank, an anonymous call goes with a call that has a name, as UPC 1.3 has it. */
static void check_mixed_within(void)
{
    const int anonymous = GASNET_BARRIERFLAG_ANONYMOUS, unnamed = GASNET_BARRIERFLAG_UNNAMED;
    int result = 0;
    for (int by_trying = 0; by_trying < 2; by_trying++) {
        CHECK_EQ(mixed_phase(0, anonymous, 6, NAMED, by_trying), GASNET_OK,
                 "GASNet-1 Extended, barriers: an anonymous notify goes with a named wait");
        CHECK(gasnet_barrier_result(&result) != GASNET_OK,
              "GASNet-1 Extended, barriers: the name of a wait is no result");
        CHECK_EQ(mixed_phase(6, NAMED, 0, anonymous, by_trying), GASNET_OK,
                 "GASNet-1 Extended, barriers: a named notify goes with an anonymous wait");
        CHECK(gasnet_barrier_result(&result) == GASNET_OK && result == 6,
              "GASNet-1 Extended, barriers: the result is the name of the notify");
        CHECK_EQ(mixed_phase(0, unnamed, 0, anonymous, by_trying), GASNET_OK,
                 "GASNet-1 Extended, barriers: unnamed goes with anonymous");
        CHECK_EQ(mixed_phase(0, unnamed, 7, NAMED, by_trying), GASNET_OK,
                 "GASNet-1 Extended, barriers: an unnamed notify goes with a named wait");
        if (check_size > 1) { /* names of other ranks still count */
            const int flags = check_rank == 0 ? anonymous : NAMED;
            CHECK_EQ(mixed_phase(8, flags, 8, NAMED, by_trying), GASNET_OK,
                     "GASNet-1 Extended, barriers: a wait may have the name of the other ranks");
            const int expected = check_rank == 0 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK;
            CHECK_EQ(mixed_phase(8, flags, check_rank == 0 ? 9 : 8, NAMED, by_trying), expected,
                     "GASNet-1 Extended, barriers: a wait may not have another name than the ranks "
                     "agreed on");
            CHECK_EQ(mixed_phase(check_rank == 0 ? 1 : 2, NAMED, 0, anonymous, by_trying),
                     GASNET_ERR_BARRIER_MISMATCH,
                     "GASNet-1 Extended, barriers: an anonymous wait hears of two names");
        }
        CHECK_EQ(mixed_phase(8, NAMED, 8, GASNET_BARRIERFLAG_MISMATCH, by_trying),
                 GASNET_ERR_BARRIER_MISMATCH,
                 "GASNet-1 Extended, barriers: a wait may say that it does not match");
    }
}

/* The name at wait has to be the name at notify; the rank that differs hears of it. */
static void check_mismatch_within(void)
{
    gasnet_barrier_notify(4, NAMED);
    CHECK_EQ(gasnet_barrier_wait(5, NAMED), GASNET_ERR_BARRIER_MISMATCH,
             "GASNet-1 Extended, barriers: wait with another name than notify is a mismatch");
    CHECK_EQ(phase(0, GASNET_BARRIERFLAG_ANONYMOUS, 0), GASNET_OK,
             "GASNet-1 Extended, barriers: a mismatch ends its own phase only");
}

/* Each rank announces a round by a put to all others before it notifies. */
static void check_order(void)
{
    uint32_t *rounds = (uint32_t *)g1_mine(0);
    for (uint32_t round_i = 1; round_i <= ROUNDS; round_i++) {
        for (unsigned step = 0; step < (unsigned)check_size; step++) {
            const unsigned to = check_next(step);
            gasnet_put_val(to, g1_at(to, (size_t)check_rank * sizeof(uint32_t)), round_i,
                           sizeof(uint32_t));
        }
        gasnet_barrier_notify((int)round_i, NAMED);
        if (round_i % 8 == (unsigned)check_rank % 8) /* work between the phases */
            gasnet_AMPoll();
        CHECK_EQ(gasnet_barrier_wait((int)round_i, NAMED), GASNET_OK,
                 "GASNet-1 Extended, barriers: one name at all ranks matches");
        for (int rank = 0; rank < check_size; rank++)
            CHECK(((volatile uint32_t *)rounds)[rank] >= round_i,
                  "GASNet-1 Extended, barriers: all have notified before one passes, "
                  "and what they did before is seen");
        CHECK_EQ(phase(0, GASNET_BARRIERFLAG_ANONYMOUS, 0), GASNET_OK,
                 "GASNet-1 Extended, barriers: anonymous at all ranks matches");
    }
}

/* A rank that waits in a barrier answers messages. */
static void check_progress(void)
{
    if (check_rank == 0) {
        for (int rank = 0; rank < check_size; rank++)
            gasnet_AMRequestShort0((gasnet_node_t)rank, TOUCH);
        CHECK_WAIT(touches, check_size);
    }
    check_barrier();
}

#if defined(GASNET_PAR) || defined(GASNET_PARSYNC)
static void *notify_thread(void *unused)
{
    gasnet_barrier_notify(3, NAMED);
    return unused;
}

static void *wait_thread(void *status)
{
    *(int *)status = gasnet_barrier_wait(3, NAMED);
    return NULL;
}

/* One thread may notify and another wait. */
static void check_threads_share(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        int status = -1;
        if (pthread_create(&thread, NULL, notify_thread, NULL) == 0)
            pthread_join(thread, NULL);
        if (pthread_create(&thread, NULL, wait_thread, &status) == 0)
            pthread_join(thread, NULL);
        CHECK_EQ(status, GASNET_OK,
                 "GASNet-1 Extended, barriers: notify and wait may be called by two threads");
    }
}
#endif

int main(int argc, char **argv)
{
    g1_open(&argc, &argv, table, 2, GASNET_PAGESIZE);
    check_matching();
    check_mixed();
    check_mismatch();
    check_mixed_within();
    check_mismatch_within();
    memset(g1_mine(0), 0, GASNET_PAGESIZE);
    check_barrier();
    check_order();
    check_progress();
#if defined(GASNET_PAR) || defined(GASNET_PARSYNC)
    check_threads_share();
#endif
    return check_end();
}
