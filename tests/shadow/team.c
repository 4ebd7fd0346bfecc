/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c: teams: some last as long as the run and serve all operations between two ranks; others
 * are made, used and ended all the time. */
#include "shadow.h"

#include <string.h>

enum { COLORS_MAX = 3, LIFE_OPS = 10 };

/* ---- what a team must be --------------------------------------------------------------------- */

typedef struct roster {          /* the members of the new team, in order */
    gex_Rank_t ranks[RANKS_MAX]; /* job ranks */
    gex_Rank_t size, mine;
} roster;

static void roster_add(roster *r, gex_Rank_t rank)
{
    if (rank == shadow.rank)
        r->mine = r->size;
    r->ranks[r->size++] = rank;
}

static void expect(const worker *w, const char *what, gex_Rank_t found, gex_Rank_t expected)
{
    if (found != expected)
        mismatch(w, w->op, "%s: expected %u, found %u", what, expected, found);
}

static void roster_check(const worker *w, gex_TM_t team, const roster *r)
{
    expect(w, "size of a team", gex_TM_QuerySize(team), r->size);
    expect(w, "rank in a team", gex_TM_QueryRank(team), r->mine);
    bool is_member[RANKS_MAX] = { false };
    for (gex_Rank_t rank = 0; rank < r->size; rank++) {
        expect(w, "job rank of a member", gex_TM_TranslateRankToJobrank(team, rank),
               r->ranks[rank]);
        expect(w, "rank of a member", gex_TM_TranslateJobrankToRank(team, r->ranks[rank]), rank);
        is_member[r->ranks[rank]] = true;
    }
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++)
        if (!is_member[rank])
            expect(w, "rank of one that is no member", gex_TM_TranslateJobrankToRank(team, rank),
                   GEX_RANK_INVALID);
}

/* ---- making one ------------------------------------------------------------------------------ */

/* Colours and keys are drawn for every rank, so each rank knows those of all. */
static gex_TM_t split(worker *w, random_state *random, roster *r)
{
    unsigned colors[RANKS_MAX] = { 0 }, colors_count = 1 + random_below(random, COLORS_MAX);
    int keys[RANKS_MAX] = { 0 };
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++) {
        colors[rank] = random_below(random, colors_count);
        keys[rank] = (int)random_below(random, shadow.size) - 2;
    }
    for (int key = -2; key < (int)shadow.size; key++)
        for (gex_Rank_t rank = 0; rank < shadow.size; rank++)
            if (colors[rank] == colors[shadow.rank] && keys[rank] == key)
                roster_add(r, rank);
    gex_TM_t team = GEX_TM_INVALID;
    (void)gex_TM_Split(&team, w->team, (int)colors[shadow.rank], keys[shadow.rank], NULL, 0,
                       GEX_FLAG_TM_NO_SCRATCH);
    return team;
}

/* Draws lists: a random order of all ranks, cut in two. */
static gex_TM_t create(worker *w, random_state *random, roster *r)
{
    gex_Rank_t order[RANKS_MAX] = { 0 };
    for (gex_Rank_t i = 0; i < shadow.size; i++)
        order[i] = i;
    for (gex_Rank_t i = shadow.size; i > 1; i--) {
        gex_Rank_t other = random_below(random, i), last = order[i - 1];
        order[i - 1] = order[other];
        order[other] = last;
    }
    gex_Rank_t cut = 1 + random_below(random, shadow.size), mine = 0;
    while (order[mine] != shadow.rank)
        mine++;
    gex_Rank_t first = mine < cut ? 0 : cut, end = mine < cut ? cut : shadow.size;
    gex_EP_Location_t members[RANKS_MAX];
    for (gex_Rank_t i = first; i < end; i++) {
        members[i - first] = (gex_EP_Location_t){ order[i], 0 };
        roster_add(r, order[i]);
    }
    gex_TM_t team = GEX_TM_INVALID;
    (void)gex_TM_Create(&team, 1, w->team, members, r->size, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    return team;
}

/* The same members in the same order. */
static gex_TM_t duplicate(worker *w, random_state *random, roster *r)
{
    (void)random;
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++)
        roster_add(r, rank);
    gex_TM_t team = GEX_TM_INVALID;
    (void)gex_TM_Dup(&team, w->team, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    return team;
}

static gex_TM_t make(worker *w, random_state *random, roster *r)
{
    static gex_TM_t (*const ways[])(worker *, random_state *, roster *) = { split, create, split,
                                                                            create, duplicate };
    op_begin(w, (shadow.rank + 1) % shadow.size, 1);
    gex_TM_t team = ways[random_below(random, sizeof ways / sizeof *ways)](w, random, r);
    if (team == GEX_TM_INVALID || r->size == 0)
        mismatch(w, w->op, "a team of %u members was to be made, and there is none", r->size);
    roster_check(w, team, r);
    op_checked(w, 1);
    return team;
}

/* ---- using it -------------------------------------------------------------------------------- */

static void get_from_member(worker *w, gex_TM_t team, const roster *r)
{
    enum { SHORT_OCTAVES = 12 };
    gex_Rank_t member = random_below(&w->random, r->size);
    size_t len = random_len(&w->random, random_below(&w->random, SHORT_OCTAVES));
    const unsigned char *expected;
    op_begin(w, r->ranks[member], len);
    unsigned char *from = readable(w, r->ranks[member], len, &expected);
    pending *wait = pending_add(w, BY_EVENT);
    wait->expected = expected;
    wait->found = desk_take(w, len);
    wait->len = len;
    wait->event = gex_RMA_GetNB(team, wait->found, member, from, len, 0);
    if (wait->event == GEX_EVENT_INVALID)
        pending_done(w, wait);
}

/* Operations that were begun on a team may end after the team. */
static void life(worker *w, unsigned ops)
{
    random_state random = random_together(w);
    roster members = { .size = 0 };
    gex_TM_t team = make(w, &random, &members);
    for (unsigned i = 1; i < ops; i++) {
        if (random_chance(&random, 4)) {
            op_begin(w, members.ranks[(members.mine + 1) % members.size], 1);
            gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
            op_checked(w, 1);
        } else {
            get_from_member(w, team, &members);
        }
    }
    if (gex_TM_Destroy(team, NULL, 0) != 0)
        mismatch(w, w->op, "ending a team gives scratch memory back, and none was lent");
}

void team_life(worker *w, unsigned most)
{
    while (most > 0) {
        unsigned ops = most < LIFE_OPS ? most : LIFE_OPS;
        pending_finish_all(w); /* room for the next operations */
        life(w, ops);
        most -= ops;
    }
}

/* ---- those that last ------------------------------------------------------------------------- */

static team_entry *team_add(gex_TM_t team)
{
    team_entry *entry = &shadow.teams[shadow.team_count++];
    entry->team = team;
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++)
        entry->ranks[rank] = rank;
    return entry;
}

static void team_add_made(gex_TM_t team)
{
    team_entry *entry = team_add(team);
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++)
        entry->ranks[rank] = gex_TM_TranslateJobrankToRank(team, rank);
}

static void team_add_split(int color, int key)
{
    gex_TM_t team;
    (void)gex_TM_Split(&team, shadow.world, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    team_add_made(team);
}

static void team_add_duplicate(gex_TM_t old)
{
    gex_TM_t team;
    (void)gex_TM_Dup(&team, old, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    team_add_made(team);
}

enum { TEAM_WORLD, TEAM_PAIR, TEAM_BACKWARDS, TEAM_HALVES, TEAM_DUPLICATE };

void teams_open(void)
{
    (void)team_add(shadow.world);
    (void)team_add(gex_TM_Pair(shadow.endpoint, 0));
    team_add_split(0, -(int)shadow.rank);
    team_add_split((int)shadow.rank % 2, (int)shadow.rank);
    team_add_duplicate(shadow.teams[TEAM_BACKWARDS].team);
    shadow.workers[0].team = shadow.world;
    for (unsigned i = 1; i < shadow.options.threads; i++)
        (void)gex_TM_Split(&shadow.workers[i].team, shadow.world, 0, (int)shadow.rank, NULL, 0,
                           GEX_FLAG_TM_NO_SCRATCH);
}

void teams_close(void)
{
    for (unsigned i = 1; i < shadow.options.threads; i++)
        (void)gex_TM_Destroy(shadow.workers[i].team, NULL, 0);
    (void)gex_TM_Destroy(shadow.teams[TEAM_DUPLICATE].team, NULL, 0);
    (void)gex_TM_Destroy(shadow.teams[TEAM_HALVES].team, NULL, 0);
    (void)gex_TM_Destroy(shadow.teams[TEAM_BACKWARDS].team, NULL, 0);
}
