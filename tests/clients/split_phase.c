/* SPDX-License-Identifier: BSD-3-Clause */
/* split_phase.c: a stencil of the GASNet-1 extended interface. Its halo travels by every
 * split-phase form: explicit and implicit handles, access regions, value puts, value gets and
 * memset. */
#include <gasnet.h>

#include <assert.h>

#define CELLS 4096 /* per rank, between two halo cells */

typedef struct {
    uint64_t left, right; /* halo */
    uint64_t cell[CELLS];
    uint64_t inbox[64];
    uint8_t bytes[256];
} domain_t;

static gasnet_node_t me, nodes, left, right;
static domain_t *mine;
static gasnet_seginfo_t *table;

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "rank %u line %d: %s is false\n", me, __LINE__, #condition); \
            gasnet_exit(2);                                                              \
        }                                                                                \
    } while (0)

static domain_t *of(gasnet_node_t node) { return table[node].addr; }

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    CHECK(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) == GASNET_OK);
}

static void explicit_handles(uint64_t step)
{
    gasnet_handle_t handles[4];
    uint64_t got[2] = { 0, 0 };
    handles[0] = gasnet_put_nb(left, &of(left)->right, &mine->cell[0], sizeof(uint64_t));
    handles[1] =
        gasnet_put_nb_val(right, &of(right)->left, mine->cell[CELLS - 1], sizeof(uint64_t));
    handles[2] = gasnet_get_nb(&got[0], left, &of(left)->cell[7], sizeof(uint64_t));
    handles[3] = gasnet_get_nb_bulk(&got[1], right, &of(right)->cell[9], sizeof(uint64_t));
    size_t done = 0;
    while (done < 4) {
        gasnet_wait_syncnb_some(handles, 4);
        done = 0;
        for (int i = 0; i < 4; i++)
            done += handles[i] == GASNET_INVALID_HANDLE;
    }
    CHECK(gasnet_try_syncnb_all(handles, 4) == GASNET_OK);
    CHECK(got[0] == step * 1000000 + left * CELLS + 7);
    CHECK(got[1] == step * 1000000 + right * CELLS + 9);
}

static void implicit_handles(void)
{
    uint64_t value[32];
    for (unsigned i = 0; i < 32; i++) {
        value[i] = me * 100 + i;
        gasnet_put_nbi(right, &of(right)->inbox[i], &value[i], sizeof(uint64_t));
        value[i] = 0; /* a put that is not bulk has read its source */
    }
    gasnet_begin_nbi_accessregion();
    for (unsigned i = 32; i < 64; i++)
        gasnet_put_nbi_val(right, &of(right)->inbox[i], me * 100 + i, sizeof(uint64_t));
    gasnet_memset_nbi(left, of(left)->bytes, (int)me + 1, sizeof(mine->bytes));
    gasnet_handle_t region = gasnet_end_nbi_accessregion();
    gasnet_wait_syncnb(region);
    gasnet_wait_syncnbi_puts();
    while (gasnet_try_syncnbi_all() == GASNET_ERR_NOT_READY)
        ;
}

static void value_gets(void)
{
    gasnet_valget_handle_t handles[64];
    for (int i = 0; i < 64; i++)
        handles[i] = gasnet_get_nb_val(right, &of(right)->inbox[i], sizeof(uint64_t));
    for (int i = 63; i >= 0; i--)
        CHECK(gasnet_wait_syncnb_valget(handles[i]) == me * 100 + (uint64_t)i);
    for (size_t size = 1; size <= SIZEOF_GASNET_REGISTER_VALUE_T; size++) {
        gasnet_register_value_t expected = 0;
        memset(&expected, (int)right + 1, size); /* little-endian: the low bytes come first */
        gasnet_put_val(me, mine->bytes, 0x0101010101010101u * (me + 1), size);
        barrier();
        CHECK(gasnet_get_val(right, of(right)->bytes, size) == expected);
        barrier();
    }
}

int main(int argc, char **argv)
{
    gasnet_init(&argc, &argv);
    uintptr_t size = (sizeof(domain_t) + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    assert(size <= gasnet_getMaxGlobalSegmentSize());
    gasnet_attach(NULL, 0, size, 0);
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    left = (me + nodes - 1) % nodes;
    right = (me + 1) % nodes;
    table = calloc(nodes, sizeof(*table));
    gasnet_getSegmentInfo(table, (int)nodes);
    mine = table[me].addr;
    for (uint64_t step = 1; step <= 20; step++) {
        for (uint64_t i = 0; i < CELLS; i++)
            mine->cell[i] = step * 1000000 + me * CELLS + i;
        barrier();
        explicit_handles(step);
        barrier();
        CHECK(mine->left == step * 1000000 + left * CELLS + CELLS - 1);
        CHECK(mine->right == step * 1000000 + right * CELLS);
        implicit_handles();
        barrier();
        for (unsigned i = 0; i < sizeof(mine->bytes); i++)
            CHECK(mine->bytes[i] == right + 1);
        value_gets();
    }
    printf("rank %u of %u: good\n", me, nodes);
    barrier();
    gasnet_exit(0);
}
