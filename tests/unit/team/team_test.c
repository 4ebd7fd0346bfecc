/* SPDX-License-Identifier: BSD-3-Clause */
/* team_test.c: teams in a world of ranks with a thread each: their ids, what inline code sees of
 * them, endpoints beside the primordial one, operations that outlive them, and lists that end the
 * job. */
#include "team/team.h"

#include "coll/barrier.h"
#include "coll/coll.h"
#include "job/publish.h"
#include "rma/rma.h"
#include "support/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS_MAX = 9, ROUNDS = 30, SEGMENT_LEN = 1 << 16 };

/* cmocka's assertions belong to the main thread. */
#define EXPECT(condition)                                                             \
    do {                                                                              \
        if (!(condition)) {                                                           \
            print_error("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

typedef void (*rank_fn)(pen_job *job);

typedef struct crew {
    ranks world;
    uint64_t ids[RANKS_MAX][ROUNDS]; /* each rank's, by round */
} crew;

static crew shared;
static rank_fn run;

static void open_world(uint32_t size, bool same_host)
{
    memset(&shared, 0, sizeof shared);
    ranks_open(&shared.world, &(ranks_params){ .size = size,
                                               .seed = size,
                                               .segment_len = SEGMENT_LEN,
                                               .mapped = same_host,
                                               .same_host = same_host,
                                               .threads = true,
                                               .concurrency = PEN_ALONE });
    for (uint32_t rank = 0; rank < size; rank++) {
        assert_int_equal(pen_rma_open(&shared.world.jobs[rank]), PEN_OK);
        assert_int_equal(pen_coll_open(&shared.world.jobs[rank]), PEN_OK);
    }
}

static void close_world(void)
{
    for (uint32_t rank = 0; rank < shared.world.params.size; rank++) {
        pen_job *job = &shared.world.jobs[rank];
        pen_team_close_all(job);
        assert_null(job->teams);
        assert_int_equal(job->counters.frame_dropped, 0);
        pen_coll_close(job);
        pen_rma_close(job);
        while (job->endpoint_count > 1) /* the first is the job's own */
            free(job->endpoints[--job->endpoint_count]);
    }
    ranks_close(&shared.world);
}

static void *rank_main(void *argument)
{
    run(argument);
    return NULL;
}

static void play(rank_fn function)
{
    pthread_t threads[RANKS_MAX];
    run = function;
    for (uint32_t rank = 0; rank < shared.world.params.size; rank++)
        if (pthread_create(&threads[rank], NULL, rank_main, &shared.world.jobs[rank]) != 0)
            abort();
    for (uint32_t rank = 0; rank < shared.world.params.size; rank++)
        (void)pthread_join(threads[rank], NULL);
}

static pen_team *split(pen_team *parent, int color, int key)
{
    return pen_team_split(&parent->job->first_thread, parent, color >= 0, color, key, "a test");
}

static void meet(pen_team *team)
{
    pen_event_wait(team->job, pen_coll_barrier_nb(&team->job->first_thread, team),
                   PEN_CALL_EVENT_WAIT);
}

/* ---- ids ------------------------------------------------------------------------------------ */

/* Some teams end and some stay; the rank that is left out of one makes another meanwhile. */
static void rank_makes_teams(pen_job *job)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool joins = (job->rank + round) % 4 != 3;
        pen_team *team = split(&job->world, joins ? (int)((job->rank + round) % 2) : -1,
                               round % 3 == 0 ? -(int)job->rank : (int)job->rank);
        EXPECT((team != NULL) == joins);
        if (!joins)
            continue;
        shared.ids[job->rank][round] = team->id;
        EXPECT(team->id != 0 && pen_team_rank_of(team, job->rank) == team->view.rank);
        meet(team);
        if (round % 2)
            pen_team_destroy(&job->first_thread, team, false);
    }
}

static void ids_are_alike_on_all_members_and_never_again(void **state)
{
    (void)state;
    open_world(RANKS_MAX, false);
    play(rank_makes_teams);
    for (uint32_t i = 0; i < RANKS_MAX * ROUNDS; i++) {
        uint32_t rank = i % RANKS_MAX, round = i / RANKS_MAX;
        uint64_t id = shared.ids[rank][round];
        for (uint32_t other = 0; id != 0 && other < RANKS_MAX * ROUNDS; other++) {
            uint32_t rank2 = other % RANKS_MAX, round2 = other / RANKS_MAX;
            bool same = round == round2 && (rank + round) % 2 == (rank2 + round2) % 2;
            if (shared.ids[rank2][round2] != 0)
                assert_int_equal(shared.ids[rank2][round2] == id, same);
        }
    }
    close_world();
}

/* ---- what inline code sees ------------------------------------------------------------------ */

static void rows_are(const pen_team *team, bool shown)
{
    const pen_job *job = team->job;
    uint32_t first = team->view.mapped_first, count = team->view.mapped_count;
    EXPECT(count == (shown && !PEN_CHECKED ? team->view.size : 0) && (first == 0 || count == 0));
    for (uint32_t rank = 0; rank < count; rank++)
        EXPECT(memcmp(&team->view.mapped[rank], &job->mapped[0][pen_team_jobrank(team, rank)],
                      sizeof(pen_mapped)) == 0 &&
               team->view.mapped[rank].len == SEGMENT_LEN);
}

static void rank_looks_at_views(pen_job *job)
{
    pen_team *straight = split(&job->world, job->rank >= 3, (int)job->rank);
    pen_team *reversed = split(&job->world, 0, -(int)job->rank);
    pen_team *mixed = split(&job->world, 0, (int)job->rank * 3 % 4);
    EXPECT(straight->jobranks == NULL && straight->by_jobrank == NULL && straight->rows == NULL);
    EXPECT(reversed->jobranks == NULL && reversed->by_jobrank == NULL);
    EXPECT(mixed->jobranks != NULL && mixed->by_jobrank != NULL);
    rows_are(straight, true);
    rows_are(reversed, true);
    rows_are(mixed, true);
    meet(mixed);
}

static void teams_show_what_is_mapped_and_borrow_what_they_can(void **state)
{
    (void)state;
    open_world(7, true);
    play(rank_looks_at_views);
    close_world();
}

static void rank_publishes_late(pen_job *job)
{
    pen_mapped *table = job->mapped[0];
    job->mapped[0] = NULL; /* as if nothing had been published */
    pen_team *straight = split(&job->world, 0, 0);
    pen_team *reversed = split(&job->world, 0, -(int)job->rank);
    EXPECT(straight->view.mapped_count == 0);
    for (uint32_t i = 0; i < reversed->view.mapped_count; i++)
        EXPECT(reversed->view.mapped[i].len == 0);
    job->mapped[0] = table;
    EXPECT(pen_job_show(job) == PEN_OK);
    rows_are(straight, true);
    rows_are(reversed, true);
    meet(reversed);
}

static void what_is_published_later_is_shown_then(void **state)
{
    (void)state;
    open_world(5, true);
    play(rank_publishes_late);
    close_world();
}

static void rank_is_far_from_all(pen_job *job)
{
    pen_team *team = split(&job->world, 0, -(int)job->rank);
    EXPECT(team->view.mapped_count <= 1);
    meet(team);
}

static void members_of_other_hosts_are_not_shown(void **state)
{
    (void)state;
    open_world(4, false);
    play(rank_is_far_from_all);
    close_world();
}

/* ---- operations that outlive a team --------------------------------------------------------- */

static void rank_puts_and_leaves(pen_job *job)
{
    uint64_t value = 1000 + job->rank;
    pen_team *team = split(&job->world, 0, -(int)job->rank);
    uint32_t rank = pen_team_rank_of(team, (job->rank + 1) % job->size);
    char *there = shared.world.segments[(job->rank + 1) % job->size];
    meet(team);
    pen_event *put = pen_rma_put_nb(&job->first_thread, team, rank, there, &value, sizeof value,
                                    PEN_LOCAL_DEFER, NULL, 0);
    EXPECT(put != PEN_EVENT_DONE && !pen_event_test(put));
    pen_team_destroy(&job->first_thread, team, true);
    pen_event_wait(job, put, PEN_CALL_EVENT_WAIT);
    meet(&job->world);
    memcpy(&value, shared.world.segments[job->rank], sizeof value);
    EXPECT(value == 1000 + (job->rank + job->size - 1) % job->size);
}

static void a_put_in_flight_outlives_its_team(void **state)
{
    (void)state;
    open_world(3, false);
    play(rank_puts_and_leaves);
    close_world();
}

/* ---- endpoints beside the primordial one ---------------------------------------------------- */

static void rank_has_two_endpoints(pen_job *job)
{
    pen_endpoint *second;
    EXPECT(pen_job_endpoint_make(job, 1, 0, &second) == PEN_OK && second->index == 1);
    const gex_EP_Location_t members[] = { { 1, 1 }, { 0, 0 }, { 1, 0 }, { 0, 1 } };
    pen_team *teams[2];
    pen_team_create(&job->first_thread, &job->world, members, 4, teams, 2);
    EXPECT(teams[0]->id == teams[1]->id && teams[0]->view.size == 4);
    EXPECT(teams[0]->view.rank == (job->rank == 0 ? 1 : 0));
    EXPECT(teams[1]->view.rank == (job->rank == 0 ? 3 : 2));
    EXPECT(teams[0]->endpoint->index == members[teams[0]->view.rank].gex_ep_index);
    EXPECT(teams[1]->endpoint->index == members[teams[1]->view.rank].gex_ep_index);
    for (uint32_t rank = 0; rank < 4; rank++)
        EXPECT(pen_team_ep_index(teams[0], rank) == members[rank].gex_ep_index &&
               pen_team_jobrank(teams[1], rank) == members[rank].gex_rank);
    EXPECT(pen_team_rank_of(teams[0], 0) == 1 && pen_team_rank_of(teams[0], 1) == 0);
    meet(&job->world);
}

static void each_endpoint_in_the_list_gets_a_team(void **state)
{
    (void)state;
    open_world(2, true);
    play(rank_has_two_endpoints);
    close_world();
}

/* ---- lists that end the job ----------------------------------------------------------------- */

typedef struct wrong {
    gex_EP_Location_t members[3];
    size_t count, out_count;
    const char *words;
} wrong;

static void give_wrong_list(void *ctx)
{
    const wrong *list = ctx;
    pen_team *teams[4];
    pen_job *job = &shared.world.jobs[0];
    pen_team_create(&job->first_thread, &job->world, list->members, list->count, teams,
                    list->out_count);
}

static void impossible_lists_end_the_job_before_anybody_is_asked(void **state)
{
    (void)state;
    wrong lists[] = {
        { { { 0, 0 }, { 2, 0 } }, 2, 1, "member 1 is endpoint 0 of rank 2 of the job" },
        { { { 0, 0 }, { 1, 64 } }, 2, 1, "member 1 is endpoint 64 of rank 1 of the job" },
        { { { 0, 0 }, { 1, 0 }, { 0, 0 } }, 3, 2, "endpoint 0 of rank 0 of the job twice" },
        { { { 0, 0 }, { 0, 1 } }, 2, 2, "member 1 is endpoint 1 of this process" },
        { { { 0, 0 }, { 1, 0 } }, 2, 2, "room for 2 new teams, but the list names 1 endpoint" },
        { { { 0, 0 }, { 1, 0 } }, 2, 0, "room for 0 new teams, but the list names 1 endpoint" },
        { { { 1, 0 } }, 1, 1, "room for 1 new teams, but the list names 0 endpoint" },
        { { { 0, 0 } }, 0, 1, "room for 1 new teams, but the list names 0 endpoint" },
        { { { 0, 0 } }, 129, 1, "a list of 129 members" },
    };
    open_world(2, false);
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_true(ranks_dies(give_wrong_list, &lists[i], &shared.world.jobs[0], lists[i].words));
    close_world();
}

/* Rank 0 names both, rank 1 only itself; or both are asked within a parent without rank 1. */
static void rank_disagrees(pen_job *job)
{
    const gex_EP_Location_t members[] = { { 0, 0 }, { 1, 0 } };
    pen_team *teams[1];
    pen_team_create(&job->first_thread, &job->world, members + job->rank, 2 - job->rank, teams, 1);
    meet(&job->world);
}

static void rank_is_not_of_the_parent(pen_job *job)
{
    const gex_EP_Location_t members[] = { { 0, 0 }, { 1, 0 } };
    pen_team *teams[1], *parent = split(&job->world, (int)job->rank, 0);
    if (job->rank == 0)
        pen_team_create(&job->first_thread, parent, members, 2, teams, 1);
    meet(&job->world);
}

static void play_in_child(void *ctx) { play(*(rank_fn *)ctx); }

static void lists_that_disagree_end_the_job(void **state)
{
    (void)state;
    rank_fn disagree = rank_disagrees, foreign = rank_is_not_of_the_parent;
    open_world(2, false);
    assert_true(ranks_dies(play_in_child, &disagree, &shared.world.jobs[0],
                           "member 1, rank 1 of the job, gave another list"));
    assert_true(ranks_dies(play_in_child, &foreign, &shared.world.jobs[0],
                           "member 1, rank 1 of the job, is not in the parent team"));
    close_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_alike_on_all_members_and_never_again),
        cmocka_unit_test(teams_show_what_is_mapped_and_borrow_what_they_can),
        cmocka_unit_test(what_is_published_later_is_shown_then),
        cmocka_unit_test(members_of_other_hosts_are_not_shown),
        cmocka_unit_test(a_put_in_flight_outlives_its_team),
        cmocka_unit_test(each_endpoint_in_the_list_gets_a_team),
        cmocka_unit_test(impossible_lists_end_the_job_before_anybody_is_asked),
        cmocka_unit_test(lists_that_disagree_end_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
