/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_coll_lists.c: those collectives of the GASNet-1 era that take lists of addresses, reductions
 * by registered functions, and division of teams.
 *
 * TESTS: gasnet_coll_init gasnet_coll_broadcastM gasnet_coll_broadcastM_nb gasnet_coll_scatterM
 * gasnet_coll_scatterM_nb gasnet_coll_gatherM gasnet_coll_gatherM_nb gasnet_coll_gather_allM
 * gasnet_coll_gather_allM_nb gasnet_coll_exchangeM gasnet_coll_exchangeM_nb gasnet_coll_reduce
 * gasnet_coll_reduce_nb gasnet_coll_reduceM gasnet_coll_reduceM_nb gasnet_coll_team_split
 * gasnet_coll_team_rank2node gasnet_coll_team_node2rank gasnet_coll_team_size
 * PEN_RANKS: 1 2 3 4 8
 */
#include <gasnet.h>
#include <gasnet_coll.h>

#include "conformance/check.h"
#include "conformance/g1.h"

enum { PART = 600, RANKS_MAX = 8, ROUNDS = 20, ELEMENTS_MAX = 20000, BEFORE = 3, BEHIND = 2 };
/* Places in all segments: lists name different places at each rank, so that a wrong list is
 * noticed.
 */
enum { STEP = 16 * PART, FROM = 0, TO = RANKS_MAX * STEP, SEGMENT = 2 * RANKS_MAX * STEP };

static const int mysync = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
static const int allsync = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC;

static gasnet_image_t images(void)
{
    return check_size > 0 ? (gasnet_image_t)check_size : 1; /* as analysers want to hear */
}

static gasnet_image_t mine(void) { return (gasnet_image_t)check_rank; }
static unsigned part_seed(gasnet_image_t from, gasnet_image_t to) { return 11 * from + 3 * to + 1; }

/* ---- lists ----------------------------------------------------------------------------------- */

static void *from_list[RANKS_MAX], *to_list[RANKS_MAX];

/* Every rank fills all of its parts, so that no results of the last call are left. Returns the
 * flags for lists of that kind. */
static int prepare(int single)
{
    for (gasnet_image_t rank = 0; rank < images(); rank++) {
        from_list[rank] = single ? g1_at(rank, FROM + (size_t)rank * STEP) : NULL;
        to_list[rank] = single ? g1_at(rank, TO + (size_t)rank * STEP) : NULL;
    }
    if (!single) {
        from_list[0] = g1_mine(FROM + (size_t)mine() * STEP);
        to_list[0] = g1_mine(TO + (size_t)mine() * STEP);
    }
    char *from = (char *)from_list[single ? mine() : 0];
    for (gasnet_image_t to = 0; to < images(); to++)
        check_fill(from + to * PART, PART, part_seed(mine(), to));
    memset(to_list[single ? mine() : 0], 0x55, STEP);
    return single ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL;
}

/* Where the lists lead this rank. */
static unsigned char *received(void)
{
    return (unsigned char *)g1_mine(TO + (size_t)mine() * STEP);
}

static char *sent(void) { return g1_mine(FROM + (size_t)mine() * STEP); }

static void check_parts(gasnet_image_t to)
{
    for (gasnet_image_t from = 0; from < images(); from++)
        CHECK(check_filled(received() + from * PART, PART, part_seed(from, to)),
              "gasnet_coll.h: parts stand in the order of images");
    CHECK(check_all(received() + images() * PART, STEP - images() * PART, 0x55),
          "gasnet_coll.h: nothing behind them");
}

static void check_part(gasnet_image_t from, gasnet_image_t to)
{
    CHECK(check_filled(received(), PART, part_seed(from, to)), "gasnet_coll.h: the root's part");
    CHECK(check_all(received() + PART, STEP - PART, 0x55), "gasnet_coll.h: nothing behind it");
}

static void waiting_lists(gasnet_image_t root, int single)
{
    int flags = mysync | prepare(single);
    gasnet_coll_broadcastM(GASNET_TEAM_ALL, to_list, root, sent(), PART, flags);
    check_part(root, 0);
    flags = mysync | prepare(single);
    gasnet_coll_scatterM(GASNET_TEAM_ALL, to_list, root, sent(), PART, flags);
    check_part(root, mine());
    flags = mysync | prepare(single);
    gasnet_coll_gatherM(GASNET_TEAM_ALL, root, received(), from_list, PART, flags);
    if (mine() == root)
        check_parts(0);
    else
        CHECK(check_all(received(), STEP, 0x55), "gasnet_coll.h: only the root's dst counts");
    flags = mysync | prepare(single);
    gasnet_coll_gather_allM(GASNET_TEAM_ALL, to_list, from_list, PART, flags);
    check_parts(0);
    flags = allsync | prepare(single);
    gasnet_coll_exchangeM(GASNET_TEAM_ALL, to_list, from_list, PART, flags);
    check_parts(mine());
}

/* The calls run in turn, so that each has the list's place for itself. */
static void begun_lists(gasnet_image_t root, int single)
{
    int flags = mysync | prepare(single);
    gasnet_coll_wait_sync(
        gasnet_coll_broadcastM_nb(GASNET_TEAM_ALL, to_list, root, sent(), PART, flags));
    check_part(root, 0);
    flags = mysync | prepare(single);
    gasnet_coll_handle_t handle =
        gasnet_coll_scatterM_nb(GASNET_TEAM_ALL, to_list, root, sent(), PART, flags);
    memset(to_list, 0, sizeof to_list); /* lists are read before the call returns */
    gasnet_coll_wait_sync(handle);
    check_part(root, mine());
    flags = mysync | prepare(single);
    handle = gasnet_coll_gatherM_nb(GASNET_TEAM_ALL, root, received(), from_list, PART, flags);
    memset(from_list, 0, sizeof from_list);
    while (gasnet_coll_try_sync(handle) != GASNET_OK) {
    }
    if (mine() == root)
        check_parts(0);
    flags = mysync | prepare(single);
    gasnet_coll_wait_sync(
        gasnet_coll_gather_allM_nb(GASNET_TEAM_ALL, to_list, from_list, PART, flags));
    check_parts(0);
    flags = mysync | prepare(single);
    gasnet_coll_wait_sync(
        gasnet_coll_exchangeM_nb(GASNET_TEAM_ALL, to_list, from_list, PART, flags));
    check_parts(mine());
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Maps x -> factor * x + term, of which the order matters. */
typedef struct map {
    uint32_t factor, term;
} map;

enum { ADD, COMPOSE, FUNCTIONS, ARGUMENT = -77 };

static void add(void *results, size_t result_count, const void *left_operands, size_t left_count,
                const void *right_operands, size_t elem_size, int flags, int arg)
{
    CHECK_EQ(left_count, result_count, "gasnet_coll.h: as many operands as results");
    CHECK_EQ(elem_size, sizeof(uint64_t), "gasnet_coll.h: elem_size is handed on");
    CHECK_EQ(flags, GASNET_COLL_AMSAFE, "gasnet_coll.h: flags of the entry");
    for (size_t i = 0; i < result_count; i++)
        ((uint64_t *)results)[i] = ((const uint64_t *)left_operands)[i] +
                                   ((const uint64_t *)right_operands)[i] + (uint64_t)arg;
}

static void compose(void *results, size_t result_count, const void *left_operands,
                    size_t left_count, const void *right_operands, size_t elem_size, int flags,
                    int arg)
{
    const map *left = (const map *)left_operands, *right = (const map *)right_operands;
    CHECK_EQ(left_count, result_count, "gasnet_coll.h: as many operands as results");
    CHECK_EQ(elem_size, sizeof(map), "gasnet_coll.h: elem_size is handed on");
    CHECK_EQ(flags, GASNET_COLL_NONCOMM, "gasnet_coll.h: flags of the entry");
    CHECK_EQ(arg, ARGUMENT, "gasnet_coll.h: func_arg is handed on");
    for (size_t i = 0; i < result_count; i++) {
        const map both = { left[i].factor * right[i].factor,
                           left[i].term * right[i].factor + right[i].term };
        ((map *)results)[i] = both;
    }
}

static map map_of(gasnet_image_t image, size_t element)
{
    const map of = { (uint32_t)(2 * element + 2 * image + 1), (uint32_t)(element ^ image * 7) };
    return of;
}

static map wanted_of(size_t element)
{
    map all = map_of(0, element);
    for (gasnet_image_t image = 1; image < images(); image++) {
        const map next = map_of(image, element);
        all.term = all.term * next.factor + next.term;
        all.factor *= next.factor;
    }
    return all;
}

static map source[BEFORE + ELEMENTS_MAX + BEHIND], result[ELEMENTS_MAX + 1];

static void prepare_maps(size_t count)
{
    for (size_t i = 0; i < count; i++)
        source[BEFORE + i] = map_of(mine(), i);
    memset(result, 0x33, sizeof result);
}

static void check_maps(gasnet_image_t root, size_t count)
{
    for (size_t i = 0; mine() == root && i < count; i++) {
        const map wanted = wanted_of(i);
        CHECK(result[i].factor == wanted.factor && result[i].term == wanted.term,
              "gasnet_coll.h: elements are combined in the order of images");
    }
    const size_t written = mine() == root ? count : 0;
    CHECK(check_all(result + written, sizeof result - written * sizeof *result, 0x33),
          "gasnet_coll.h: nothing else is written");
}

static void reductions(gasnet_image_t root, size_t count, int sync)
{
    const size_t len = sizeof(map), block = BEFORE + count + BEHIND;
    void *lists[RANKS_MAX] = { source };
    prepare_maps(count);
    gasnet_coll_reduce(GASNET_TEAM_ALL, root, result, source + BEFORE, 0, 0, len, count, COMPOSE,
                       ARGUMENT, sync | GASNET_COLL_LOCAL);
    check_maps(root, count);
    prepare_maps(count);
    gasnet_coll_reduceM(GASNET_TEAM_ALL, root, result, lists, block, BEFORE, len, count, COMPOSE,
                        ARGUMENT, sync | GASNET_COLL_LOCAL);
    check_maps(root, count);
    prepare_maps(count);
    gasnet_coll_wait_sync(gasnet_coll_reduce_nb(GASNET_TEAM_ALL, root, result, source, 0, BEFORE,
                                                len, count, COMPOSE, ARGUMENT, sync));
    check_maps(root, count);
    prepare_maps(count);
    lists[0] = NULL;
    lists[mine()] = source;
    gasnet_coll_handle_t handle =
        gasnet_coll_reduceM_nb(GASNET_TEAM_ALL, root, result, lists, BEFORE + count, BEFORE, len,
                               count, COMPOSE, ARGUMENT, sync | GASNET_COLL_SINGLE);
    memset(lists, 0, sizeof lists);
    gasnet_coll_wait_sync(handle);
    check_maps(root, count);
}

/* Many in flight, each with an argument of its own. */
static void many_reductions(void)
{
    gasnet_coll_handle_t handles[ROUNDS];
    uint64_t from[ROUNDS], to[ROUNDS] = { 0 };
    for (unsigned i = 0; i < ROUNDS; i++) {
        from[i] = 1000 * mine() + i;
        handles[i] =
            gasnet_coll_reduce_nb(GASNET_TEAM_ALL, i % images(), &to[i], &from[i], 1, 0,
                                  sizeof(uint64_t), 1, ADD, (int)i, mysync | GASNET_COLL_LOCAL);
    }
    gasnet_coll_wait_sync_all(handles, ROUNDS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t n = images();
        const uint64_t wanted = 1000 * (n * (n - 1) / 2) + n * i + (n - 1) * i;
        CHECK_EQ(to[i], i % images() == mine() ? wanted : 0,
                 "gasnet_coll.h: each reduction has its own argument");
    }
}

/* IN_ALLSYNC: what others put into our source before they called counts. OUT_ALLSYNC: afterwards,
 * the root's result can be read. */
static void all_sync(void)
{
    char *from = g1_mine(0), *to = g1_mine(PART);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const gasnet_image_t root = round % images();
        uint64_t value = round;
        memset(from, 0, sizeof value);
        gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_ANONYMOUS);
        if (mine() == images() - 1u)
            gasnet_put(0, g1_at(0, 0), &value, sizeof value);
        gasnet_coll_reduce(GASNET_TEAM_ALL, root, to, from, 0, 0, sizeof value, 1, ADD, 0,
                           allsync | GASNET_COLL_LOCAL);
        gasnet_get(&value, root, g1_at(root, PART), sizeof value);
        CHECK_EQ(value, round,
                 "gasnet_coll.h: ALLSYNC: nothing moves before all have called, nobody returns "
                 "before the root has the result");
        gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_ANONYMOUS);
    }
    gasnet_coll_reduce(GASNET_TEAM_ALL, 0, NULL, NULL, 0, 0, 0, 0, ADD, 0, allsync);
}

/* ---- teams ----------------------------------------------------------------------------------- */

static void divided(void)
{
    static int data;
    const gasnet_image_t color = mine() % 2;
    gasnet_team_handle_t team =
        gasnet_coll_team_split(GASNET_TEAM_ALL, color, images() - mine(), &data);
    const gasnet_image_t size = gasnet_coll_team_size(team);
    CHECK_EQ(size, (images() + 1 - color) / 2, "gasnet_coll.h: those of one color are a team");
    CHECK(gex_TM_QueryCData(team) == &data, "gasnet_coll.h: clientdata is the team's");
    for (gasnet_image_t rank = 0; rank < size; rank++) {
        const gasnet_node_t node = gasnet_coll_team_rank2node(team, rank);
        CHECK_EQ(node, color + 2 * (size - 1 - rank), "gasnet_coll.h: ordered by myrelrank");
        CHECK_EQ(gasnet_coll_team_node2rank(team, node), rank, "gasnet_coll.h: and back");
    }
    CHECK_EQ(gasnet_coll_team_rank2node(team, size), GEX_RANK_INVALID, "gasnet_coll.h: no rank");
    const uint64_t one = 1;
    uint64_t sum = 0;
    gasnet_coll_reduce(team, size - 1, &sum, (void *)(uintptr_t)&one, 0, 0, sizeof one, 1, ADD, 0,
                       mysync | GASNET_COLL_LOCAL);
    CHECK_EQ(sum, gex_TM_QueryRank(team) == size - 1 ? size : 0, "gasnet_coll.h: team's reduction");
    (void)gex_TM_Destroy(team, NULL, 0);
}

int main(int argc, char **argv)
{
    g1_open(&argc, &argv, NULL, 0, SEGMENT);
    gasnet_image_t each[RANKS_MAX];
    for (unsigned i = 0; i < RANKS_MAX; i++)
        each[i] = 1;
    const gasnet_coll_reduce_fn_t functions[FUNCTIONS] = { add, compose };
    const unsigned flags[FUNCTIONS] = { GASNET_COLL_AMSAFE, GASNET_COLL_NONCOMM };
    gasnet_coll_fn_entry_t table[FUNCTIONS];
    for (gasnet_coll_fn_handle_t func = 0; func < FUNCTIONS; func++) {
        table[func].fnptr = functions[func];
        table[func].flags = flags[func];
    }
    gasnet_coll_init(check_rank % 2 ? each : NULL, mine(), table, FUNCTIONS, 0);
    memset(table, 0, sizeof table); /* it is copied */
    check_barrier();
    for (gasnet_image_t root = 0; root < images(); root++) {
        for (int single = 0; single < 2; single++) {
            waiting_lists(root, single);
            begun_lists(root, single);
        }
        reductions(root, 0, allsync);
        reductions(root, 1, mysync);
        reductions(root, 100, allsync);
        reductions(root, root == 0 ? ELEMENTS_MAX : 1000, root % 2 ? allsync : mysync);
    }
    many_reductions();
    all_sync();
    divided();
    return check_end();
}
