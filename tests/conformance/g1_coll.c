/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_coll.c: the collectives of the GASNet-1 era: every root, every pair of synchronisation flags,
 * begun and waited for in all ways, and the split-phase barrier on a team.
 *
 * TESTS: gasnet_coll_broadcast gasnet_coll_scatter gasnet_coll_gather gasnet_coll_gather_all
 * gasnet_coll_exchange gasnet_coll_broadcast_nb gasnet_coll_scatter_nb gasnet_coll_gather_nb
 * gasnet_coll_gather_all_nb gasnet_coll_exchange_nb gasnet_coll_wait_sync
 * gasnet_coll_wait_sync_some gasnet_coll_wait_sync_all gasnet_coll_try_sync
 * gasnet_coll_try_sync_some gasnet_coll_try_sync_all gasnet_coll_barrier
 * gasnet_coll_barrier_notify gasnet_coll_barrier_wait gasnet_coll_barrier_try
 * gasnet_coll_barrier_result gasnet_coll_loadTuningState gasnet_coll_dumpTuningState
 * gasnet_coll_dumpProfile GASNET_TEAM_ALL GASNET_COLL_INVALID_HANDLE
 * PEN_RANKS: 1 2 3 4 8
 */
#include <gasnet.h>
#include <gasnet_coll.h>

#include "conformance/check.h"
#include "conformance/g1.h"

enum { PART = 600, RANKS_MAX = 8, ROUNDS = 20 };

static const int ins[] = { GASNET_COLL_IN_NOSYNC, GASNET_COLL_IN_MYSYNC, GASNET_COLL_IN_ALLSYNC };
static const int outs[] = { GASNET_COLL_OUT_NOSYNC, GASNET_COLL_OUT_MYSYNC,
                            GASNET_COLL_OUT_ALLSYNC };

static unsigned char source[RANKS_MAX * PART], dest[RANKS_MAX * PART + 1];

static gasnet_image_t images(void)
{
    return check_size > 0 ? (gasnet_image_t)check_size : 1; /* as analysers want to hear */
}

static gasnet_image_t mine(void) { return (gasnet_image_t)check_rank; }
static unsigned part_seed(gasnet_image_t from, gasnet_image_t to) { return 11 * from + 3 * to + 1; }

/* Every rank fills all of its parts, so that no results of the last call are left. */
static void prepare(void)
{
    for (gasnet_image_t to = 0; to < images(); to++)
        check_fill(source + to * PART, PART, part_seed(mine(), to));
    memset(dest, 0x55, sizeof dest);
}

static void check_parts(gasnet_image_t to)
{
    for (gasnet_image_t from = 0; from < images(); from++)
        CHECK(check_filled(dest + from * PART, PART, part_seed(from, to)),
              "gasnet_coll.h: parts stand in the order of images");
}

static void check_part(gasnet_image_t from, gasnet_image_t to)
{
    CHECK(check_filled(dest, PART, part_seed(from, to)), "gasnet_coll.h: the root's part is here");
    CHECK(check_all(dest + PART, sizeof dest - PART, 0x55), "gasnet_coll.h: nothing behind it");
}

static void waiting_calls(gasnet_image_t root, int flags)
{
    prepare();
    gasnet_coll_broadcast(GASNET_TEAM_ALL, dest, root, source, PART, flags);
    check_part(root, 0);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    prepare();
    gasnet_coll_scatter(GASNET_TEAM_ALL, dest, root, source, PART, flags);
    check_part(root, mine());
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    prepare();
    gasnet_coll_gather(GASNET_TEAM_ALL, root, dest, source, PART, flags);
    if (mine() == root)
        check_parts(0);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    prepare();
    gasnet_coll_gather_all(GASNET_TEAM_ALL, dest, source, PART, flags);
    check_parts(0);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    prepare();
    gasnet_coll_exchange(GASNET_TEAM_ALL, dest, source, PART, flags);
    check_parts(mine());
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* ---- begun and waited for -------------------------------------------------------------------- */

static size_t left_of(const gasnet_coll_handle_t *handles, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += handles[i] != GASNET_COLL_INVALID_HANDLE;
    return left;
}

static void wait_each(gasnet_coll_handle_t *handles, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gasnet_coll_wait_sync(handles[i]);
        handles[i] = GASNET_COLL_INVALID_HANDLE;
    }
}

static void wait_all(gasnet_coll_handle_t *handles, size_t count)
{
    gasnet_coll_wait_sync_all(handles, count);
}

static void wait_some(gasnet_coll_handle_t *handles, size_t count)
{
    for (size_t before = count; before != 0; before = left_of(handles, count)) {
        gasnet_coll_wait_sync_some(handles, count);
        CHECK(left_of(handles, count) < before, "gasnet_coll.h: some are done");
    }
}

static void try_each(gasnet_coll_handle_t *handles, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (gasnet_coll_try_sync(handles[i]) != GASNET_OK) {
        }
        handles[i] = GASNET_COLL_INVALID_HANDLE;
    }
}

static void try_some(gasnet_coll_handle_t *handles, size_t count)
{
    for (size_t before = left_of(handles, count); before != 0; before = left_of(handles, count)) {
        const int status = gasnet_coll_try_sync_some(handles, count);
        CHECK_EQ(status, left_of(handles, count) < before ? GASNET_OK : GASNET_ERR_NOT_READY,
                 "gasnet_coll.h: are some done?");
    }
}

static void try_all(gasnet_coll_handle_t *handles, size_t count)
{
    while (gasnet_coll_try_sync_all(handles, count) != GASNET_OK)
        CHECK(left_of(handles, count) != 0, "gasnet_coll.h: not all are done");
}

static void synchronise(gasnet_coll_handle_t *handles, size_t count, unsigned how)
{
    static void (*const ways[])(gasnet_coll_handle_t *, size_t) = {
        wait_each, wait_all, wait_some, try_each, try_all, try_some,
    };
    ways[how % (sizeof ways / sizeof *ways)](handles, count);
    CHECK_EQ(left_of(handles, count), 0, "gasnet_coll.h: slots are cleared");
}

static void begun_calls(gasnet_image_t root, int flags, unsigned how)
{
    static unsigned char all[5][RANKS_MAX * PART];
    prepare();
    gasnet_coll_handle_t handles[5] = {
        gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, all[0], root, source, PART, flags),
        gasnet_coll_scatter_nb(GASNET_TEAM_ALL, all[1], root, source, PART, flags),
        gasnet_coll_gather_nb(GASNET_TEAM_ALL, root, all[2], source, PART, flags),
        gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, all[3], source, PART, flags),
        gasnet_coll_exchange_nb(GASNET_TEAM_ALL, all[4], source, PART, flags),
    };
    synchronise(handles, 5, how);
    CHECK(check_filled(all[0], PART, part_seed(root, 0)), "gasnet_coll.h: broadcast_nb");
    CHECK(check_filled(all[1], PART, part_seed(root, mine())), "gasnet_coll.h: scatter_nb");
    for (gasnet_image_t from = 0; from < images(); from++) {
        if (mine() == root)
            CHECK(check_filled(all[2] + from * PART, PART, part_seed(from, 0)),
                  "gasnet_coll.h: gather_nb");
        CHECK(check_filled(all[3] + from * PART, PART, part_seed(from, 0)),
              "gasnet_coll.h: gather_all_nb");
        CHECK(check_filled(all[4] + from * PART, PART, part_seed(from, mine())),
              "gasnet_coll.h: exchange_nb");
    }
    memset(all, 0, sizeof all);
}

/* ---- synchronisation among ranks ------------------------------------------------------------- */

/* IN_ALLSYNC: what others put into our source before they called counts. OUT_ALLSYNC: afterwards,
 * what others have received can be read. */
static void all_sync(void)
{
    unsigned char *from = (unsigned char *)g1_mine(0), *to = (unsigned char *)g1_mine(PART);
    unsigned char seen[PART];
    for (unsigned round = 0; round < ROUNDS; round++) {
        const gasnet_image_t root = round % images();
        check_fill(seen, PART, round);
        if (mine() == check_size - 1u)
            gasnet_put(root, g1_at(root, 0), seen, PART);
        gasnet_coll_broadcast(GASNET_TEAM_ALL, to, root, from, PART,
                              GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
        for (gasnet_image_t r = 0; r < images(); r++) {
            gasnet_get(seen, r, g1_at(r, PART), PART);
            CHECK(check_filled(seen, PART, round),
                  "gasnet_coll.h: ALLSYNC: nothing moves before all have called, nobody returns "
                  "before all have their data");
        }
        gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_ANONYMOUS);
    }
    /* A call of no bytes still keeps the ranks together. */
    volatile unsigned *count = (volatile unsigned *)(void *)g1_mine(2 * PART);
    *count = 0;
    gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_ANONYMOUS);
    const unsigned one = 1;
    gasnet_put((check_rank + 1u) % images(), g1_at((check_rank + 1u) % images(), 2 * PART),
               (void *)(uintptr_t)&one, sizeof one);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, to, 0, from, 0,
                          GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
    CHECK_EQ(*count, 1, "gasnet_coll.h: ALLSYNC holds for no bytes, too");
}

/* ---- barriers -------------------------------------------------------------------------------- */

static void barriers(gasnet_team_handle_t team)
{
    int name = 0;
    for (int i = 1; i <= ROUNDS; i++) {
        gasnet_coll_barrier_notify(team, i, 0);
        if (i % 2) {
            CHECK_EQ(gasnet_coll_barrier_wait(team, i, 0), GASNET_OK, "gasnet_coll.h: names match");
        } else {
            int status;
            while ((status = gasnet_coll_barrier_try(team, i, 0)) == GASNET_ERR_NOT_READY) {
            }
            CHECK_EQ(status, GASNET_OK, "gasnet_coll.h: names match");
        }
        CHECK_EQ(gasnet_coll_barrier_result(team, &name), 0, "gasnet_coll.h: a name");
        CHECK_EQ(name, i, "gasnet_coll.h: the name all agreed on");
    }
    const int own = gex_TM_QuerySize(team) > 1 ? gex_TM_QueryRank(team) == 0 : 0;
    const int flags = gex_TM_QuerySize(team) > 1 ? 0 : GASNET_BARRIERFLAG_MISMATCH;
    CHECK_EQ(gasnet_coll_barrier(team, own, flags), GASNET_ERR_BARRIER_MISMATCH,
             "gasnet_coll.h: names that differ are a mismatch");
    CHECK_EQ(gasnet_coll_barrier(team, 0, GASNET_BARRIERFLAG_ANONYMOUS), GASNET_OK,
             "gasnet_coll.h: a mismatch completes the barrier");
    CHECK(gasnet_coll_barrier_result(team, &name) != 0, "gasnet_coll.h: no name");
}

int main(int argc, char **argv)
{
    g1_open(&argc, &argv, NULL, 0, 65536);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    unsigned how = 0;
    for (gasnet_image_t root = 0; root < images(); root++) {
        for (unsigned i = 0; i < 9; i++, how++) {
            const int flags = ins[i / 3] | outs[i % 3];
            waiting_calls(root, flags | GASNET_COLL_LOCAL);
            begun_calls(root, flags | GASNET_COLL_DST_IN_SEGMENT * (how % 2), how);
        }
        if (*gasnett_performance_warning_str() == '\0') { /* libraries with checks want flags */
            waiting_calls(root, 0);
            begun_calls(root, GASNET_COLL_LOCAL, how);
        }
    }
    all_sync();
    barriers(GASNET_TEAM_ALL);
    gex_TM_t half;
    (void)gex_TM_Split(&half, GASNET_TEAM_ALL, check_rank % 2, -check_rank, NULL, 0,
                       GEX_FLAG_TM_NO_SCRATCH);
    barriers(half);
    (void)gex_TM_Destroy(half, NULL, 0);
    static char nowhere[] = "/nonexistent/tuning";
    gasnet_coll_loadTuningState(nowhere, GASNET_TEAM_ALL);
    gasnet_coll_dumpTuningState(nowhere, GASNET_TEAM_ALL);
    gasnet_coll_dumpProfile(nowhere, GASNET_TEAM_ALL);
    FILE *made = fopen(nowhere, "r");
    CHECK(made == NULL, "gasnet_coll.h: there is nothing to tune, and no file is written");
    return check_end();
}
