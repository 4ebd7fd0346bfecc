/* SPDX-License-Identifier: BSD-3-Clause */
/* early_test.c: messages that came early: lists of them, and finding those of a team among many. */
#include "unit/coll/crowd.h"

enum { RANKS = 3, TEAMS = 500, EACH = 4, MEMBER = 9 };

static void open_world(crowd *all)
{
    *all = (crowd){ 0 };
    crowd_open_world(all, &(ranks_params){ .size = RANKS, .seed = 5, .frame_max = 512 });
}

/* A message of that team and sender, whose number tells it from others. */
static bool keep(crowd *all, pen_peer from, int32_t team, int32_t member, int32_t number)
{
    const int32_t args[PEN_COLL_ARGS] = { team, 7, member, (int32_t)from, number };
    const pen_coll_message message = { from, PEN_AM_INT_COLL_ASK, args, 5, &number, sizeof number };
    return pen_coll_orphan_keep(&all->world.jobs[0], &message);
}

static pen_coll_kept *take(crowd *all, int32_t team, int32_t member)
{
    const int32_t args[] = { team, 7, member };
    return pen_coll_orphans_take(all->world.jobs[0].coll, args);
}

static void a_list_gives_its_messages_in_the_order_in_which_they_came(void **state)
{
    (void)state;
    crowd all;
    open_world(&all);
    pen_coll_kept *last = NULL;
    for (unsigned round = 0; round < 2; round++) {
        assert_null(pen_coll_kept_all(&last));
        for (int32_t i = 0; i < EACH; i++) {
            const pen_coll_message message = { 1, PEN_AM_INT_COLL_DATA, &i, 1, NULL, 0 };
            pen_coll_kept_append(&last, pen_coll_keep(&all.world.jobs[0], &message));
        }
        pen_coll_kept *kept = pen_coll_kept_all(&last);
        for (int32_t i = 0; i < EACH; i++) {
            assert_int_equal(kept->args[0], i);
            pen_coll_kept *next = kept->next;
            free(kept);
            kept = next;
        }
        assert_null(kept);
    }
    pen_coll_kept_drop(&last);
    crowd_close(&all);
}

static void a_team_gets_its_orphans_and_no_others(void **state)
{
    (void)state;
    crowd all;
    open_world(&all);
    for (int32_t i = 0; i < EACH; i++)
        for (int32_t team = 0; team < TEAMS; team++)
            for (pen_peer from = 1; from < RANKS; from++)
                assert_true(keep(&all, from, team, MEMBER, 1000 * i + team));
    assert_int_equal(pen_coll_orphans_count(all.world.jobs[0].coll), EACH * TEAMS * (RANKS - 1));
    assert_null(take(&all, 0, MEMBER + 1)); /* kept for another member of that team in this
                                             * process */
    assert_null(take(&all, TEAMS, MEMBER));
    for (int32_t team = TEAMS; team-- > 0;) {
        int32_t seen[RANKS] = { 0 };
        pen_coll_kept *next;
        for (pen_coll_kept *kept = take(&all, team, MEMBER); kept != NULL; kept = next) {
            next = kept->next;
            assert_int_equal(kept->args[0], team);
            assert_int_equal(kept->args[4],
                             1000 * seen[kept->from]++ + team); /* the oldest first */
            assert_memory_equal(kept->body, &kept->args[4], kept->body_len);
            assert_int_equal(kept->index, PEN_AM_INT_COLL_ASK);
            free(kept);
        }
        for (pen_peer from = 1; from < RANKS; from++)
            assert_int_equal(seen[from], EACH);
        assert_null(take(&all, team, MEMBER));
    }
    crowd_close(&all);
}

static void a_rank_may_have_no_more_orphans_than_the_bounds_say_until_some_are_taken(void **state)
{
    (void)state;
    crowd all;
    open_world(&all);
    enum { FULL = PEN_COLL_ORPHANS_PEER_MAX / PEN_COLL_ORPHANS_MAX };
    for (int32_t team = 0; team < FULL; team++) {
        for (unsigned i = 0; i < PEN_COLL_ORPHANS_MAX; i++)
            assert_true(keep(&all, 1, team, MEMBER, 0));
        if (team == 0)
            assert_false(keep(&all, 1, team, MEMBER, 0));
    }
    assert_false(keep(&all, 1, FULL, MEMBER, 0));
    assert_true(keep(&all, 2, FULL, MEMBER, 0)); /* others have bounds of their own */
    assert_true(keep(&all, 2, 0, MEMBER, 0));
    pen_coll_kept *all_of_0 = take(&all, 0, MEMBER);
    assert_non_null(all_of_0);
    pen_coll_kept *last = all_of_0;
    while (last->next != NULL)
        last = last->next;
    last->next = all_of_0;
    pen_coll_kept_drop(&last);
    for (unsigned i = 0; i < PEN_COLL_ORPHANS_MAX; i++)
        assert_true(keep(&all, 1, FULL, MEMBER, 0));
    assert_false(keep(&all, 1, FULL, MEMBER, 0));
    pen_coll_orphans_free(all.world.jobs[0].coll);
    crowd_close(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_gives_its_messages_in_the_order_in_which_they_came),
        cmocka_unit_test(a_team_gets_its_orphans_and_no_others),
        cmocka_unit_test(a_rank_may_have_no_more_orphans_than_the_bounds_say_until_some_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
