/* SPDX-License-Identifier: BSD-3-Clause */
/* worker_thread.c: a program in whose main thread nothing of the library runs: a thread starts the
 * job, others come and go, more than may live at once, and the thread that started the job is not
 * the one that ends it. */
#include <gasnetex.h>

#include <pthread.h>

enum { WAVES = 12, WAVE = 30, NOTE = 190 };

static gex_TM_t world;
static gex_EP_t endpoint;
static gex_Rank_t me, ranks;
static uint64_t *segments[64];
static gex_HSL_t lock;
static unsigned notes;

static void note(gex_Token_t token, gex_AM_Arg_t value)
{
    (void)token;
    gex_HSL_Lock(&lock);
    notes += (unsigned)value;
    gex_HSL_Unlock(&lock);
}

static void *start(void *name)
{
    gex_Client_t client;
    gex_Segment_t segment;
    gex_HSL_Init(&lock);
    if (gex_Client_Init(&client, &endpoint, &world, name, NULL, NULL, 0) != GASNET_OK)
        return NULL;
    gex_AM_Entry_t entry = {
        NOTE, (gex_AM_Fn_t)note, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "note"
    };
    gex_EP_RegisterHandlers(endpoint, &entry, 1);
    if (gex_Segment_Attach(&segment, world, 4 * GASNET_PAGESIZE) != GASNET_OK)
        return NULL;
    me = gex_TM_QueryRank(world);
    ranks = gex_TM_QuerySize(world);
    for (gex_Rank_t r = 0; r < ranks; r++)
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world, r, (void **)&segments[r], NULL, NULL, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    return name;
}

/* A thread that lives for a moment: its implicit operations are its own, an explicit one it leaves
 * to the next thread. */
static void *mayfly(void *number)
{
    static gex_Event_t left_behind[WAVE];
    size_t i = (size_t)number % WAVE;
    uint64_t value = (size_t)number + me * 1000;
    gex_Rank_t to = (me + 1) % ranks;
    gex_Event_Wait(left_behind[i]);
    left_behind[i] =
        gex_RMA_PutNB(world, to, segments[to] + i, &value, sizeof(value), GEX_EVENT_NOW, 0);
    gex_RMA_PutNBIVal(world, to, segments[to] + WAVE + i, value + 1, sizeof(value), 0);
    gex_AM_RequestShort1(world, to, NOTE, 0, 1);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    if ((size_t)number >= (WAVES - 1) * WAVE)
        gex_Event_Wait(left_behind[i]);
    return number;
}

static void *finish(void *result)
{
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    GASNET_BLOCKUNTIL(notes == WAVES * WAVE);
    uint64_t before = (me + ranks - 1) % ranks * 1000u;
    for (unsigned i = 0; i < WAVE; i++) {
        uint64_t expected = before + (WAVES - 1) * WAVE + i;
        if (segments[me][i] != expected || segments[me][WAVE + i] != expected + 1) {
            fprintf(stderr, "rank %u: word %u is %" PRIu64 ", not %" PRIu64 "\n", me, i,
                    segments[me][i], expected);
            gasnet_exit(1);
        }
    }
    printf("rank %u of %u: good\n", me, ranks);
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    gasnet_exit(0);
    return result;
}

static void *in_a_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, NULL, function, argument) != 0)
        abort();
    pthread_join(thread, &result);
    return result;
}

int main(void)
{
    if (in_a_thread(start, "WORKERS") == NULL)
        return 1;
    for (uintptr_t wave = 0; wave < WAVES; wave++) {
        pthread_t threads[WAVE];
        for (uintptr_t i = 0; i < WAVE; i++)
            if (pthread_create(&threads[i], NULL, mayfly, (void *)(wave * WAVE + i)) != 0)
                abort();
        for (int i = 0; i < WAVE; i++)
            pthread_join(threads[i], NULL);
    }
    in_a_thread(finish, NULL);
    return 7; /* not reached */
}
