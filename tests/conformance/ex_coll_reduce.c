/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_coll_reduce.c: reductions and scans: every type and operation against a result worked out here
 * member by member, every root, user-defined operations in the order of ranks, long arrays, in
 * place.
 *
 * TESTS: gex_Coll_ReduceToOneNB gex_Coll_ReduceToAllNB gex_Event_Wait
 * PEN_RANKS: 1 2 3 4 8
 */
#include <gasnet_coll.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { SHORT_COUNT = 5, LONG_COUNT = 70001, RANKS_MAX = 8, TYPES = 6, OPERATIONS = 7 };

static const gex_OP_t operations[OPERATIONS] = { GEX_OP_ADD, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX,
                                                 GEX_OP_AND, GEX_OP_OR,   GEX_OP_XOR };
static const size_t type_lens[TYPES] = { 4, 4, 8, 8, 4, 8 };

static char *source, *dest;

static gex_TM_t team; /* all ranks; then every other rank, the last one first */

static gex_Rank_t size(void) { return gex_TM_QuerySize(team); }
static gex_Rank_t rank(void) { return gex_TM_QueryRank(team); }

/* Small, so that every sum and product is exact in every type; never 0. Unsigned types: positive.
 */
static int64_t element(unsigned type, gex_Rank_t of, size_t i)
{
    const int64_t value = (int64_t)((of * 5 + i) % 3) + 1;
    return (type == 0 || type == 2 || type >= 4) && (of + i) % 2 ? -value : value;
}

static void store(unsigned type, char *memory, size_t i, int64_t value)
{
    char *at = memory + i * type_lens[type];
    const int32_t word = (int32_t)value;
    const float single = (float)value;
    const double dbl = (double)value;
    if (type < 2)
        memcpy(at, &word, sizeof word);
    else if (type < 4)
        memcpy(at, &value, sizeof value);
    else if (type == 4)
        memcpy(at, &single, sizeof single);
    else
        memcpy(at, &dbl, sizeof dbl);
}

static int64_t combine(gex_OP_t operation, int64_t left, int64_t right)
{
    switch (operation) {
    case GEX_OP_ADD:
        return left + right;
    case GEX_OP_MULT:
        return left * right;
    case GEX_OP_MIN:
        return left < right ? left : right;
    case GEX_OP_MAX:
        return left > right ? left : right;
    case GEX_OP_AND:
        return left & right;
    case GEX_OP_OR:
        return left | right;
    default:
        return left ^ right;
    }
}

/* Checks a result over ranks 0 .. end - 1. */
static int all_are(unsigned type, gex_OP_t operation, gex_Rank_t end, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t expected = element(type, 0, i);
        for (gex_Rank_t of = 1; of < end; of++)
            expected = combine(operation, expected, element(type, of, i));
        char bytes[8];
        store(type, bytes, 0, expected);
        if (memcmp(bytes, dest + i * type_lens[type], type_lens[type]) != 0)
            return 0;
    }
    return 1;
}

static void fill(unsigned type, char *memory, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store(type, memory, i, element(type, rank(), i));
}

static void reduce(unsigned type, gex_OP_t operation, size_t count)
{
    const gex_DT_t dt = 1u << type;
    const size_t len = type_lens[type], all_len = len * count;
    fill(type, source, count);
    for (gex_Rank_t root = 0; root < size(); root++) {
        memset(dest, 0x55, all_len + 1);
        gex_Event_Wait(gex_Coll_ReduceToOneNB(team, root, dest, source, dt, len, count, operation,
                                              NULL, NULL, 0));
        if (rank() == root)
            CHECK(all_are(type, operation, size(), count),
                  "GASNet-EX Collectives: the root has every element of all combined");
        else
            CHECK(check_all(dest, all_len, 0x55),
                  "GASNet-EX Collectives: others get nothing of a reduction to one");
        CHECK_EQ(dest[all_len], 0x55, "GASNet-EX Collectives: and nothing behind it");
    }
    memset(dest, 0, all_len);
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(team, dest, source, dt, len, count, operation, NULL, NULL, 0));
    CHECK(all_are(type, operation, size(), count), "GASNet-EX Collectives: all have the result");
    fill(type, dest, count);
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(team, dest, dest, dt, len, count, operation, NULL, NULL, 0));
    CHECK(all_are(type, operation, size(), count), "GASNet-EX Collectives: dst may be src");
}

static void scan(unsigned type, gex_OP_t operation, size_t count)
{
    const gex_DT_t dt = 1u << type;
    const size_t len = type_lens[type];
    fill(type, source, count);
    memset(dest, 0x55, len * count);
    gex_Event_Wait(pen_Coll_ScanNB(team, dest, source, dt, len, count, operation, NULL, NULL, 0));
    CHECK(all_are(type, operation, rank() + 1, count),
          "Penstock collectives: a scan combines up to its own rank");
    memset(dest, 0x55, len * count);
    gex_Event_Wait(
        pen_Coll_ExclusiveScanNB(team, dest, source, dt, len, count, operation, NULL, NULL, 0));
    if (rank() == 0)
        CHECK(check_all(dest, len * count, 0x55),
              "Penstock collectives: rank 0 gets nothing of an exclusive scan");
    else
        CHECK(all_are(type, operation, rank(), count),
              "Penstock collectives: an exclusive scan leaves its own rank out");
}

/* ---- user-defined ---------------------------------------------------------------------------- */

/* x -> scale * x + shift, applied in turn: associative, and not commutative. 12 bytes, so that
 * elements are aligned to less than their length. */
typedef struct map {
    uint32_t scale, shift, uses;
} map;

static const int tag = 5;

static void compose(const void *left, void *right, size_t count, const void *cdata)
{
    const map *first = (const map *)left;
    map *then = (map *)right;
    CHECK(cdata == &tag, "GASNet-EX Collectives: cdata is handed to the function");
    for (size_t i = 0; i < count; i++) {
        then[i].shift += first[i].shift * then[i].scale;
        then[i].scale *= first[i].scale;
        then[i].uses += first[i].uses + 1;
    }
}

static map map_of(gex_Rank_t of, size_t i) { return (map){ 3 + 2 * of, 7 * of + (uint32_t)i, 0 }; }

static void user_defined(gex_OP_t operation, size_t count)
{
    map *mine = (map *)(void *)source, *result = (map *)(void *)dest;
    for (gex_Rank_t root = 0; root <= size(); root++) { /* the last time: to all */
        for (size_t i = 0; i < count; i++)
            mine[i] = map_of(rank(), i);
        if (root < size())
            gex_Event_Wait(gex_Coll_ReduceToOneNB(team, root, result, mine, GEX_DT_USER,
                                                  sizeof(map), count, operation, compose,
                                                  (void *)(uintptr_t)&tag, 0));
        else
            gex_Event_Wait(gex_Coll_ReduceToAllNB(team, result, mine, GEX_DT_USER, sizeof(map),
                                                  count, operation, compose,
                                                  (void *)(uintptr_t)&tag, 0));
        for (size_t i = 0; (root == rank() || root == size()) && i < count; i++) {
            map expected = map_of(0, i);
            for (gex_Rank_t of = 1; of < size(); of++) {
                map next = map_of(of, i);
                compose(&expected, &next, 1, &tag);
                expected = next;
            }
            CHECK(memcmp(&expected, &result[i], sizeof(map)) == 0,
                  "GASNet-EX Collectives: members are combined in the order of ranks, each once");
        }
    }
}

/* A client may give its own function for a type of the library's. */
static void add_doubles(const void *left, void *right, size_t count, const void *cdata)
{
    (void)cdata;
    for (size_t i = 0; i < count; i++)
        ((double *)right)[i] += ((const double *)left)[i];
}

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Sums that depend on the order of additions are the same everywhere, and every time. */
static void to_the_bit(void)
{
    double mine = 1.0 / (3.0 + rank()) * (rank() % 2 ? 1e10 : 1e-10), to_all = 0, to_one = 0;
    double *gathered = calloc(size(), sizeof(double));
    CHECK(gathered != NULL, "the system gives us memory");
    for (gex_Rank_t root = 0; root < size(); root++) {
        gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &to_all, &mine, GEX_DT_DBL, 8, 1, GEX_OP_USER,
                                              add_doubles, NULL, 0));
        gex_Event_Wait(gex_Coll_ReduceToOneNB(team, root, &to_one, &mine, GEX_DT_DBL, 8, 1,
                                              GEX_OP_ADD, NULL, NULL, 0));
        CHECK(rank() != root || bits_of(to_one) == bits_of(to_all),
              "Penstock collectives: the tree is the same for every root, and for all");
        gex_Event_Wait(pen_Coll_GatherToAllNB(team, gathered, &to_all, 8, 0));
        for (gex_Rank_t r = 0; r < size(); r++)
            CHECK(bits_of(gathered[r]) == bits_of(to_all),
                  "Penstock collectives: all members have the same result, to the bit");
    }
    free(gathered);
}

static atomic_int over;

static void on_team(gex_TM_t which)
{
    team = which;
    for (unsigned type = 0; type < TYPES; type++) {
        for (unsigned i = 0; i < (type < 4 ? OPERATIONS : 4u); i++) {
            reduce(type, operations[i], SHORT_COUNT);
            scan(type, operations[i], SHORT_COUNT);
        }
        reduce(type, GEX_OP_ADD, 0);
        reduce(type, GEX_OP_MAX, LONG_COUNT);
        scan(type, GEX_OP_ADD, LONG_COUNT);
    }
    user_defined(GEX_OP_USER, SHORT_COUNT);
    user_defined(GEX_OP_USER_NC, SHORT_COUNT);
    user_defined(GEX_OP_USER_NC, LONG_COUNT / 2);
    to_the_bit();
}

static void worker(unsigned thread_i)
{
    if (thread_i > 1)
        return;
    if (thread_i == 1) { /* polls, so that collectives go on here as well */
        GASNET_BLOCKUNTIL(atomic_load(&over));
        return;
    }
    on_team(ex_tm);
    gex_TM_t half;
    (void)gex_TM_Split(&half, ex_tm, check_rank % 2, -check_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    on_team(half);
    CHECK_EQ(gex_TM_Destroy(half, NULL, 0), 0, "GASNet-EX Teams: no scratch comes back");
    atomic_store(&over, 1);
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    source = malloc(LONG_COUNT * sizeof(map) + 1);
    dest = malloc(LONG_COUNT * sizeof(map) + 1);
    CHECK(source != NULL && dest != NULL, "the system gives us memory");
    check_on_threads(worker);
    free(source);
    free(dest);
    return check_end();
}
