/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_test.c: threads: waiting, waking, aborting, many calls at once. */
#include "unit/portals/nodes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 500 };

typedef struct worker {
    pthread_t thread;
    nodes *n;
    unsigned node, kind;
    unsigned long got;
    int result;
} worker;

static unsigned char source[256], target[4096];
static atomic_uint waiting;

/* Blocks in one of the four calls that wait. */
static void *block(void *ctx)
{
    worker *w = ctx;
    node *at = use(w->n, w->node);
    ptl_event_t event;
    ptl_ct_event_t value;
    ptl_size_t far = 1000;
    unsigned which;
    atomic_fetch_add(&waiting, 1);
    switch (w->kind) {
    case 0:
        w->result = PtlEQWait(at->eq, &event);
        break;
    case 1:
        w->result = PtlEQPoll(&at->eq, 1, 20000, &event, &which);
        break;
    case 2:
        w->result = PtlCTWait(at->ct, 1000, &value);
        break;
    default:
        w->result = PtlCTPoll(&at->ct, &far, 1, PTL_TIME_FOREVER, &value, &which);
        break;
    }
    return NULL;
}

static void abort_releases_all_that_wait(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 1, LE_LOGICAL);
    for (int round = 0; round < 3; round++) {
        worker workers[THREADS];
        atomic_store(&waiting, 0);
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] = (worker){ .n = &n, .kind = i };
            assert_int_equal(pthread_create(&workers[i].thread, NULL, block, &workers[i]), 0);
        }
        while (atomic_load(&waiting) < THREADS)
            (void)usleep(100);
        (void)usleep(round * 20000); /* polling at first, asleep later */
        (void)use(&n, 0);
        PtlAbort();
        for (unsigned i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
            assert_int_equal(workers[i].result, PTL_ABORTED);
        }
        ptl_event_t event;
        ptl_ct_event_t value;
        assert_int_equal(PtlEQWait(n.at[0].eq, &event), PTL_ABORTED); /* until the next PtlInit */
        assert_int_equal(PtlEQGet(n.at[0].eq, &event), PTL_EQ_EMPTY);
        assert_int_equal(PtlCTGet(n.at[0].ct, &value), PTL_OK);
        assert_int_equal(PtlInit(), PTL_OK);
        PtlFini();
    }
    nodes_close(&n);
}

static void *take_events(void *ctx)
{
    worker *w = ctx;
    node *at = use(w->n, w->node);
    for (;;) {
        ptl_event_t event;
        if (PtlEQWait(at->eq, &event) != PTL_OK || event.hdr_data == 999)
            return NULL;
        w->got++;
    }
}

static void *send_many(void *ctx)
{
    worker *w = ctx;
    node *at = use(w->n, w->node);
    ptl_md_t plain = { source, sizeof(source), PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, at->ct };
    ptl_handle_md_t md;
    if (PtlMDBind(at->ni, &plain, &md) != PTL_OK)
        return NULL;
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (PtlPut(md, 0, i % 200, PTL_CT_ACK_REQ, w->n->at[1].id, 0, 0, 0, NULL, 1) == PTL_OK)
            w->got++;
    }
    return NULL;
}

static void each_event_wakes_one_thread(void **state)
{
    (void)state;
    nodes n;
    worker takers[THREADS], senders[THREADS];
    pen_portals_config_default(&n.config);
    n.config.ring_len = 4096;
    nodes_open_with(&n, 2, LE_LOGICAL, 0, 2 * THREADS * ROUNDS, NULL);
    (void)listen_at(&n, 1, target, sizeof(target), 0, PTL_PRIORITY_LIST);
    for (unsigned i = 0; i < THREADS; i++) {
        takers[i] = (worker){ .n = &n, .node = 1 };
        senders[i] = (worker){ .n = &n, .node = 0 };
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_events, &takers[i]), 0);
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_many, &senders[i]), 0);
    }
    unsigned long sent = 0, got = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
        sent += senders[i].got;
    }
    ptl_ct_event_t value;
    assert_int_equal(PtlCTWait(use(&n, 0)->ct, sent, &value), PTL_OK);
    assert_int_equal(value.failure, 0);
    ptl_handle_md_t md = bind(&n.at[0], source, 8, PTL_MD_EVENT_SUCCESS_DISABLE);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(PtlPut(md, 0, 0, PTL_NO_ACK_REQ, n.at[1].id, 0, 0, 0, NULL, 999), PTL_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
        got += takers[i].got;
    }
    assert_int_equal(sent, THREADS * ROUNDS);
    assert_int_equal(got, sent);
    nodes_close(&n);
}

/* Counts calls that did not succeed. */
static int allocate_once(ptl_handle_ni_t expected)
{
    ptl_handle_any_t ni, ct, eq, md, le;
    ptl_pt_index_t pt;
    ptl_le_t entry = { source, 8, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT };
    ptl_md_t plain = { source, 8, 0, PTL_EQ_NONE, PTL_CT_NONE };
    int failed = PtlNIInit(0, LE_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni) + (ni != expected);
    failed += PtlCTAlloc(ni, &ct) + PtlEQAlloc(ni, 8, &eq);
    failed += PtlPTAlloc(ni, 0, eq, PTL_PT_ANY, &pt);
    failed += PtlLEAppend(ni, pt, &entry, 0, NULL, &le);
    failed += PtlMDBind(ni, &plain, &md) + PtlMDRelease(md);
    failed += PtlLEUnlink(le) + PtlPTFree(ni, pt);
    failed += PtlEQFree(eq) + PtlCTFree(ct);
    return failed + PtlNIFini(ni);
}

static void *allocate(void *ctx)
{
    worker *w = ctx;
    node *at = use(w->n, 0);
    w->result = PtlInit();
    for (int i = 0; i < 200 && w->result == PTL_OK; i++)
        w->result = allocate_once(at->ni);
    PtlFini();
    return NULL;
}

static void threads_allocate_and_free_at_once(void **state)
{
    (void)state;
    nodes n;
    worker workers[10];
    nodes_open(&n, 1, LE_LOGICAL);
    for (unsigned i = 0; i < 10; i++) {
        workers[i] = (worker){ .n = &n };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, allocate, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].result, PTL_OK);
    }
    nodes_close(&n);
}

enum { ADDS = 2000 };
static _Alignas(64) uint32_t cells[16];

/* Adds to one cell, and puts to the cell beside it. */
static void *add_many(void *ctx)
{
    worker *w = ctx;
    node *at = use(w->n, w->node);
    static const uint32_t one = 1;
    ptl_md_t plain = { NULL, PTL_SIZE_MAX, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, at->ct };
    ptl_handle_md_t md;
    ptl_process_t to = w->n->at[0].id;
    w->result = PtlMDBind(at->ni, &plain, &md);
    for (unsigned i = 0; i < ADDS && w->result == PTL_OK; i++) {
        w->result = PtlAtomic(md, (uintptr_t)&one, 4, PTL_OC_ACK_REQ, to, 0, 0, 0, NULL, 0, PTL_SUM,
                              PTL_UINT32_T);
        if (w->result == PTL_OK)
            w->result = PtlPut(md, (uintptr_t)&one, 4, PTL_CT_ACK_REQ, to, 0, 0, 4 * (w->node + 1),
                               NULL, 0);
    }
    ptl_ct_event_t value;
    if (w->result == PTL_OK) /* all threads of a node count in one counter */
        w->result = PtlCTWait(at->ct, 2 * ADDS, &value);
    return NULL;
}

static void atomics_of_all_processes_add_up(void **state)
{
    (void)state;
    nodes n;
    worker workers[3];
    pen_portals_config_default(&n.config);
    n.config.helper = true; /* node 0 makes no calls while it waits for its own thread */
    nodes_open_with(&n, 3, ME_LOGICAL, 0, QUEUE, NULL);
    memset(cells, 0, sizeof(cells));
    (void)listen_at(&n, 0, cells, sizeof(cells), PTL_ME_EVENT_COMM_DISABLE, PTL_PRIORITY_LIST);
    for (unsigned i = 0; i < 3; i++) {
        workers[i] = (worker){ .n = &n, .node = i };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, add_many, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].result, PTL_OK);
    }
    assert_int_equal(cells[0], 3 * ADDS);
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(cells[i], 1);
    nodes_close(&n);
}

enum { TURNS = 20000 };
static _Alignas(8) uint64_t word;   /* the upper half counts the card's sums ... */
static _Atomic bool card_has_ended; /* ... and the lower half the processor's */

/* Adds to the word with the card, in both ways that a card adds. */
static void *add_by_card(void *ctx)
{
    worker *w = ctx;
    node *at = use(w->n, 1);
    static const uint64_t one = UINT64_C(1) << 32;
    uint64_t old;
    const ptl_md_t plain = { NULL, PTL_SIZE_MAX, PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK,
                             PTL_EQ_NONE, at->ct };
    ptl_handle_md_t md;
    const ptl_process_t to = w->n->at[0].id;
    w->result = PtlMDBind(at->ni, &plain, &md);
    for (unsigned i = 0; i < TURNS && w->result == PTL_OK; i++)
        w->result = i % 2 == 0 ? PtlFetchAtomic(md, (uintptr_t)&old, md, (uintptr_t)&one, 8, to, 0,
                                                0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T)
                               : PtlAtomic(md, (uintptr_t)&one, 8, PTL_CT_ACK_REQ, to, 0, 0, 0,
                                           NULL, 0, PTL_SUM, PTL_UINT64_T);
    ptl_ct_event_t value;
    if (w->result == PTL_OK)
        w->result = PtlCTWait(at->ct, TURNS, &value);
    atomic_store(&card_has_ended, true);
    return NULL;
}

static void *add_by_processor(void *ctx)
{
    (void)ctx;
    for (unsigned i = 0; i < TURNS || !atomic_load(&card_has_ended); i++) {
        (void)__atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
        (void)__atomic_fetch_sub(&word, i >= TURNS, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void the_card_and_a_processor_change_one_word(void **state)
{
    (void)state;
    nodes n;
    worker card = { .n = &n };
    pthread_t processor;
    pen_portals_config_default(&n.config);
    nodes_open_with(&n, 2, LE_LOGICAL, 0, QUEUE, NULL);
    assert_int_equal(n.at[0].limits.features & PTL_COHERENT_ATOMICS, PTL_COHERENT_ATOMICS);
    (void)listen_at(&n, 0, &word, sizeof word, PTL_ME_EVENT_COMM_DISABLE, PTL_PRIORITY_LIST);
    assert_int_equal(pthread_create(&processor, NULL, add_by_processor, NULL), 0);
    assert_int_equal(pthread_create(&card.thread, NULL, add_by_card, &card), 0);
    ptl_ct_event_t value;
    while (!atomic_load(&card_has_ended))
        assert_int_equal(PtlCTGet(use(&n, 0)->ct, &value), PTL_OK);
    assert_int_equal(pthread_join(card.thread, NULL), 0);
    assert_int_equal(pthread_join(processor, NULL), 0);
    assert_int_equal(card.result, PTL_OK);
    assert_int_equal(word >> 32, TURNS);
    assert_int_equal((uint32_t)word, TURNS);
    nodes_close(&n);
}

/* Sends a stream of numbered messages to node 1. */
static void *send_stream(void *ctx)
{
    worker *w = ctx;
    node *at = use(w->n, 0);
    ptl_md_t plain = { source, 8, 0, PTL_EQ_NONE, PTL_CT_NONE };
    ptl_handle_md_t md;
    w->result = PtlMDBind(at->ni, &plain, &md);
    for (unsigned i = 0; i < 4 * ROUNDS && w->result == PTL_OK; i++)
        w->result = PtlPut(md, 0, 8, PTL_NO_ACK_REQ, w->n->at[1].id, 0, 0, 0, NULL, i);
    return NULL;
}

static void append_races_with_arrivals(void **state)
{
    (void)state;
    nodes n;
    worker sender = { .n = &n };
    pen_portals_config_default(&n.config);
    n.config.helper = true; /* sends what did not fit in the ring when the sender has ended */
    nodes_open_with(&n, 2, ME_LOGICAL, 0, 16 * ROUNDS, NULL);
    (void)listen_at(&n, 1, target, sizeof(target), PTL_ME_EVENT_COMM_DISABLE, PTL_OVERFLOW_LIST);
    assert_int_equal(pthread_create(&sender.thread, NULL, send_stream, &sender), 0);
    node *at = use(&n, 1);
    unsigned next = 0, appended = 0;
    while (next < 4 * ROUNDS) { /* each message exactly once, in order, whichever list took it */
        ptl_event_t event;
        ptl_handle_any_t handle;
        ptl_me_t me =
            entry_of(&n, at, source + 64, 8,
                     PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE);
        if (appended < 4 * ROUNDS && appended < next + 8) {
            assert_int_equal(append(&n, at, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_OK);
            appended++;
        }
        while (PtlEQGet(at->eq, &event) == PTL_OK) {
            assert_true(event.type == PTL_EVENT_PUT || event.type == PTL_EVENT_PUT_OVERFLOW);
            assert_int_equal(event.hdr_data, next);
            next++;
        }
    }
    assert_int_equal(pthread_join(sender.thread, NULL), 0);
    assert_int_equal(sender.result, PTL_OK);
    nodes_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abort_releases_all_that_wait),
        cmocka_unit_test(each_event_wakes_one_thread),
        cmocka_unit_test(threads_allocate_and_free_at_once),
        cmocka_unit_test(atomics_of_all_processes_add_up),
        cmocka_unit_test(the_card_and_a_processor_change_one_word),
        cmocka_unit_test(append_races_with_arrivals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
