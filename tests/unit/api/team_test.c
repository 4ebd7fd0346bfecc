/* SPDX-License-Identifier: BSD-3-Clause */
/* team_test.c: wrong arguments of calls that make and end teams end the job in every build, with a
 * line that names call and rule. */
#define GASNET_PAR 1
#include "unit/api/child.h"

#include "base/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PLAIN = GEX_FLAG_TM_NO_SCRATCH };

static void assert_refused(void (*play)(void), const char *reason)
{
    child_end end = child_run(play);
    assert_true(child_was_refused(&end, reason));
}

/* ---- gex_TM_Split, gex_TM_Dup and gex_TM_Destroy --------------------------------------------- */

static void split_nothing(void)
{
    (void)child_join();
    (void)gex_TM_Split(NULL, GEX_TM_INVALID, 0, 0, NULL, 0, 0);
}

static void split_a_pair(void)
{
    child_job job = child_join();
    (void)gex_TM_Split(NULL, gex_TM_Pair(job.endpoint, 0), 0, 0, NULL, 0, 0);
}

static void split_with_negative_color(void)
{
    child_job job = child_join();
    gex_TM_t team;
    (void)gex_TM_Split(&team, job.team, -1, 0, NULL, 0, PLAIN);
}

static void split_with_odd_flags(void)
{
    child_job job = child_join();
    gex_TM_t team;
    (void)gex_TM_Split(&team, job.team, 0, 0, NULL, 0, PLAIN | GEX_FLAG_RANK_IS_JOBRANK);
}

static void ask_for_two_sizes(void)
{
    child_job job = child_join();
    (void)gex_TM_Split(NULL, job.team, 0, 0, NULL, 0,
                       GEX_FLAG_TM_SCRATCH_SIZE_MIN | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
}

static void dup_to_nowhere(void)
{
    child_job job = child_join();
    (void)gex_TM_Dup(NULL, job.team, NULL, 0, PLAIN);
}

static void destroy_the_primordial_team(void)
{
    child_job job = child_join();
    (void)gex_TM_Destroy(job.team, NULL, 0);
}

static void destroy_a_pair(void)
{
    child_job job = child_join();
    (void)gex_TM_Destroy(gex_TM_Pair(job.endpoint, 0), NULL, 0);
}

static void destroy_with_odd_flags(void)
{
    child_job job = child_join();
    gex_TM_t team;
    (void)gex_TM_Split(&team, job.team, 0, 0, NULL, 0, PLAIN);
    (void)gex_TM_Destroy(team, NULL, 1);
}

static void wrong_teams_colors_and_flags_end_the_job(void **state)
{
    (void)state;
    assert_refused(split_nothing, "gex_TM_Split: the team is GEX_TM_INVALID");
    assert_refused(split_a_pair, "gex_TM_Split: the team is the result of gex_TM_Pair");
    assert_refused(split_with_negative_color, "gex_TM_Split: color -1: must not be negative");
    assert_refused(split_with_odd_flags,
                   "gex_TM_Split: flags 0x2020: this call does not accept 0x2000");
    assert_refused(ask_for_two_sizes, "gex_TM_Split: flags 0x3: ask for one size");
    assert_refused(dup_to_nowhere, "gex_TM_Dup: there is nowhere to write the team");
    assert_refused(destroy_the_primordial_team, "gex_TM_Destroy: the primordial team ends with");
    assert_refused(destroy_a_pair, "gex_TM_Destroy: the team is the result of gex_TM_Pair");
    assert_refused(destroy_with_odd_flags, "gex_TM_Destroy: flags 0x1: only GEX_FLAG_GLOBALLY");
}

/* ---- gex_TM_Create --------------------------------------------------------------------------- */

static void create(gex_Rank_t rank, size_t scratch_size, gex_Flags_t flags)
{
    child_job job = child_join();
    gex_EP_Location_t member = { rank, 0 };
    gex_TM_t team;
    (void)gex_TM_Create(&team, 1, job.team, &member, 1, NULL, scratch_size, flags);
}

static void create_without_kind(void) { create(0, 0, 0); }
static void create_with_two_kinds(void) { create(0, 0, PLAIN | GEX_FLAG_TM_LOCAL_SCRATCH); }
static void create_without_addresses(void) { create(0, 64, GEX_FLAG_TM_GLOBAL_SCRATCH); }
static void create_of_strangers(void) { create(1, 0, PLAIN); }
static void create_of_strangers_to_the_job(void) { create(1, 0, PLAIN | GEX_FLAG_RANK_IS_JOBRANK); }

static void create_without_list(void)
{
    child_job job = child_join();
    gex_TM_t team;
    (void)gex_TM_Create(&team, 1, job.team, NULL, 1, NULL, 0, PLAIN);
}

static void create_without_room(void)
{
    child_job job = child_join();
    gex_EP_Location_t member = { 0, 0 };
    (void)gex_TM_Create(NULL, 0, job.team, &member, 1, NULL, 0, PLAIN);
}

static void wrong_lists_end_the_job(void **state)
{
    (void)state;
    assert_refused(create_without_kind, "gex_TM_Create: flags 0x0: give exactly one of");
    assert_refused(create_with_two_kinds, "gex_TM_Create: flags 0x28: give exactly one of");
    assert_refused(create_without_addresses,
                   "gex_TM_Create: 64 bytes of scratch, but no addresses");
    assert_refused(create_of_strangers, "gex_TM_Create: member 0 is rank 1, and the parent");
    assert_refused(create_of_strangers_to_the_job,
                   "gex_TM_Create: member 0 is endpoint 0 of rank 1 of the job");
    assert_refused(create_without_list, "gex_TM_Create: 1 new teams at");
    assert_refused(create_without_room,
                   "gex_TM_Create: room for 0 new teams, but the list names 1");
}

/* ---- checked builds -------------------------------------------------------------------------- */

static void lend_what_is_no_segment(void)
{
    static char scratch[64];
    child_job job = child_attach();
    gex_TM_t team;
    (void)gex_TM_Split(&team, job.team, 0, 0, scratch, sizeof scratch, 0);
}

static void translate_with_flags(void)
{
    child_job job = child_join();
    (void)gex_TM_TranslateRankToEP(job.team, 0, 1);
}

static void checked_builds_notice_foreign_scratch_and_odd_flags(void **state)
{
    (void)state;
    if (!PEN_CHECKED)
        skip();
    assert_refused(lend_what_is_no_segment, "gex_TM_Split: 64 bytes of scratch at");
    assert_refused(translate_with_flags, "gex_TM_TranslateRankToEP: flags 0x1: must be 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_teams_colors_and_flags_end_the_job),
        cmocka_unit_test(wrong_lists_end_the_job),
        cmocka_unit_test(checked_builds_notice_foreign_scratch_and_odd_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
