/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: the memory that each rank lends to all ranks: its layout and its allocation. With
 * MEMORY_ARENA it is the library's memory, which ranks of one host map. With MEMORY_OWN it is the
 * client's memory, so that put and get need messages. With MEMORY_MIXED ranks alternate. */
#include "shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 65536, CONTROL_LEN = RANKS_MAX * THREADS_MAX * ROW_LEN, ADDRESS_HANDLER = 250 };
enum { CELLS_OWN_LEN = 512, CELLS_LEN = 2 * PAGE };
enum { LIBRARY_PHASES = 4 }; /* phases for which the library stays unchanged */

static atomic_uint addresses_seen;

static size_t of_writers(void) { return (size_t)shadow.size * shadow.options.threads; }

static size_t writer_number(gex_Rank_t writer, unsigned thread)
{
    return (size_t)writer * shadow.options.threads + thread;
}

static size_t cells_at(void) { return CONTROL_LEN; }
static size_t library_at(void) { return cells_at() + CELLS_LEN; }
static size_t stripes_at(void) { return library_at() + LIBRARY_LEN; }
static size_t landings_at(void) { return stripes_at() + of_writers() * STRIPE_LEN; }
static size_t replies_at(void) { return landings_at() + of_writers() * LANDING_LEN; }

size_t memory_len(gex_Rank_t size, unsigned threads)
{
    (void)size;
    size_t len = replies_at() + (size_t)threads * LANDING_LEN;
    return (len + PAGE - 1) / PAGE * PAGE;
}

unsigned char *row_of(gex_Rank_t target, gex_Rank_t writer, unsigned thread)
{
    return shadow.bases[target] + writer_number(writer, thread) * ROW_LEN;
}

/* The second memory of a rank: a library, then stripes. */
size_t second_len(void)
{
    return (LIBRARY_LEN + of_writers() * STRIPE_LEN + PAGE - 1) / PAGE * PAGE;
}

unsigned char *library_of(unsigned place, gex_Rank_t target)
{
    return place == 0 ? shadow.bases[target] + library_at() : shadow.seconds[target];
}

unsigned char *shared_cells_of(gex_Rank_t target) { return shadow.bases[target] + cells_at(); }

unsigned char *cells_of(gex_Rank_t target, gex_Rank_t writer, unsigned thread)
{
    return shadow.bases[target] + cells_at() + (1 + writer_number(writer, thread)) * CELLS_OWN_LEN;
}

unsigned char *stripe_of(unsigned place, gex_Rank_t target, gex_Rank_t writer, unsigned thread)
{
    unsigned char *first =
        place == 0 ? shadow.bases[target] + stripes_at() : shadow.seconds[target] + LIBRARY_LEN;
    return first + writer_number(writer, thread) * STRIPE_LEN;
}

unsigned char *landing_of(gex_Rank_t target, gex_Rank_t writer, unsigned thread)
{
    return shadow.bases[target] + landings_at() + writer_number(writer, thread) * LANDING_LEN;
}

unsigned char *replies_of(gex_Rank_t target, unsigned thread)
{
    return shadow.bases[target] + replies_at() + (size_t)thread * LANDING_LEN;
}

const unsigned char *library_bytes(unsigned place, gex_Rank_t target)
{
    uint64_t edition = random_mix2(shadow.options.seed ^ target ^ (uint64_t)place << 32,
                                   shadow.phase / LIBRARY_PHASES);
    return shadow.pool + edition % (POOL_LEN - LIBRARY_LEN);
}

void library_write(void)
{
    for (unsigned place = 0; place < PLACES && shadow.phase % LIBRARY_PHASES == 0; place++)
        memcpy(library_of(place, shadow.rank), library_bytes(place, shadow.rank), LIBRARY_LEN);
}

/* ---- getting it ------------------------------------------------------------------------------ */

static void address_told(gex_Token_t token, gex_AM_Arg_t low, gex_AM_Arg_t high)
{
    gex_Token_Info_t info;
    (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    uint64_t address = (uint64_t)(uint32_t)low | (uint64_t)(uint32_t)high << 32;
    shadow.bases[info.gex_srcrank] = (unsigned char *)(uintptr_t)address;
    /* release: pairs with the acquire below; the address is visible with the count */
    atomic_fetch_add_explicit(&addresses_seen, 1, memory_order_release);
}

static void tell_addresses(void)
{
    const uint64_t address = (uintptr_t)shadow.mine;
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++)
        gex_AM_RequestShort2(shadow.world, rank, ADDRESS_HANDLER, 0,
                             (gex_AM_Arg_t)(uint32_t)address,
                             (gex_AM_Arg_t)(uint32_t)(address >> 32));
    GASNET_BLOCKUNTIL(atomic_load_explicit(&addresses_seen, memory_order_acquire) == shadow.size);
}

static void refuse(const char *what)
{
    fprintf(stderr, "shadow: rank %u: %s failed\n", shadow.rank, what);
    gasnet_exit(2);
}

void *segment_make(gex_EP_t endpoint, size_t len, bool own)
{
    gex_Segment_t segment;
    void *memory = own ? aligned_alloc(PAGE, len) : NULL;
    if (own && memory == NULL)
        refuse("aligned_alloc of the shared memory");
    if (gex_Segment_Create(&segment, shadow.client, memory, len, GEX_MK_HOST, 0) != GASNET_OK)
        refuse("gex_Segment_Create");
    if (gex_EP_BindSegment(endpoint, segment, 0) != GASNET_OK)
        refuse("gex_EP_BindSegment");
    if (gex_EP_PublishBoundSegment(shadow.world, &endpoint, 1, 0) != GASNET_OK)
        refuse("gex_EP_PublishBoundSegment");
    return gex_Segment_QueryAddr(segment);
}

bool mine_is_own(unsigned place)
{
    if (shadow.options.memory == MEMORY_MIXED)
        return (random_mix(shadow.options.seed) + shadow.rank + place) % 2 != 0;
    return shadow.options.memory == MEMORY_OWN;
}

void memory_open(void)
{
    gex_AM_Entry_t entry = { ADDRESS_HANDLER,
                             (gex_AM_Fn_t)address_told,
                             GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                             2,
                             NULL,
                             "address" };
    if (gex_EP_RegisterHandlers(shadow.endpoint, &entry, 1) != GASNET_OK)
        refuse("gex_EP_RegisterHandlers");
    shadow.shared_len = memory_len(shadow.size, shadow.options.threads);
#if defined(GASNET_SEGMENT_EVERYTHING)
    shadow.mine = aligned_alloc(PAGE, shadow.shared_len);
    if (shadow.mine == NULL)
        refuse("aligned_alloc of the shared memory");
#else
    shadow.mine = segment_make(shadow.endpoint, shadow.shared_len, mine_is_own(0));
#endif
    memset(shadow.mine, 0, shadow.shared_len);
    gex_Event_Wait(gex_Coll_BarrierNB(shadow.world, 0));
    tell_addresses();
    if (shadow.bases[shadow.rank] != shadow.mine)
        refuse("telling the addresses");
    gex_Event_Wait(gex_Coll_BarrierNB(shadow.world, 0));
}
