/* SPDX-License-Identifier: BSD-3-Clause */
/* process_test.c: cards of several processes: progress without calls, peers that end or die, peers
 * that write nonsense, the cost model. */
#include "base/compiler.h"
#include "os/os.h"
#include "softnic/portals/wire.h"
#include "unit/portals/nodes.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned char data[200000];

typedef void child_main(nodes *n);

/* Opens the card of one of the processes of a shared fabric. */
static void open_own(nodes *n, unsigned i)
{
    ptl_process_t map[NODES_MAX];
    node *at = &n->at[i];
    assert_int_equal(
        pen_portals_open(n->memory, pen_portals_len(&n->config), &n->config, i, &at->card), PEN_OK);
    pen_portals_use(at->card);
    assert_int_equal(PtlInit(), PTL_OK);
    assert_int_equal(PtlNIInit(0, n->options, PTL_PID_ANY, NULL, &at->limits, &at->ni), PTL_OK);
    for (unsigned p = 0; p < n->count; p++) {
        map[p].phys.nid = PEN_PORTALS_NID;
        map[p].phys.pid = p + 1;
        n->at[p].id.rank = p;
    }
    assert_int_equal(PtlSetMap(at->ni, n->count, map), PTL_OK);
    assert_int_equal(PtlEQAlloc(at->ni, QUEUE, &at->eq), PTL_OK);
    assert_int_equal(PtlCTAlloc(at->ni, &at->ct), PTL_OK);
    assert_int_equal(PtlPTAlloc(at->ni, 0, at->eq, PTL_PT_ANY, &at->pt), PTL_OK);
}

static pid_t start(nodes *n, unsigned count, child_main *child)
{
    n->count = n->config.processes = count;
    n->options = LE_LOGICAL;
    n->memory = mmap(NULL, pen_portals_len(&n->config), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(n->memory, MAP_FAILED);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        open_own(n, 1);
        child(n);
        _exit(0);
    }
    open_own(n, 0);
    return pid;
}

static void end(nodes *n, pid_t pid, int status_wanted)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, status_wanted);
    pen_portals_close(n->at[0].card);
    (void)munmap(n->memory, pen_portals_len(&n->config));
}

static ptl_handle_any_t listen_own(nodes *n, unsigned i, unsigned options)
{
    ptl_handle_any_t handle;
    ptl_me_t me = entry_of(n, &n->at[i], data, sizeof(data), options | PTL_ME_EVENT_LINK_DISABLE);
    assert_int_equal(append(n, &n->at[i], &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_OK);
    return handle;
}

/* Sends until the peer has its entry. */
static void greet(nodes *n)
{
    ptl_event_t event = { .ni_fail_type = PTL_NI_DROPPED };
    ptl_handle_md_t md = bind(&n->at[0], data, 8, PTL_MD_EVENT_SEND_DISABLE);
    while (event.ni_fail_type != PTL_NI_OK) {
        assert_int_equal(PtlPut(md, 0, 0, PTL_ACK_REQ, n->at[1].id, 0, 0, 0, NULL, 0), PTL_OK);
        assert_int_equal(PtlEQWait(n->at[0].eq, &event), PTL_OK);
    }
}

/* Spins on its memory, and makes no call. The helper thread does the work. */
static void child_that_only_looks(nodes *n)
{
    (void)listen_own(n, 1, PTL_ME_EVENT_CT_COMM);
    ptl_handle_md_t md = bind(&n->at[1], data + 100, 8, 0);
    /* A chain: three messages here send one back. */
    if (PtlTriggeredPut(md, 0, 8, PTL_NO_ACK_REQ, n->at[0].id, 0, 0, 64, NULL, 0, n->at[1].ct, 3) !=
        PTL_OK)
        _exit(3);
    while (__atomic_load_n((uint32_t *)(void *)data, __ATOMIC_ACQUIRE) != 77)
        (void)usleep(100);
    (void)usleep(200000);
}

static void target_makes_progress_without_calls(void **state)
{
    (void)state;
    nodes n;
    pen_portals_config_default(&n.config);
    n.config.helper = true;
    pid_t pid = start(&n, 2, child_that_only_looks);
    (void)listen_own(&n, 0, PTL_ME_EVENT_CT_COMM);
    greet(&n); /* at least one message that counts */
    ptl_handle_md_t md = bind(&n.at[0], data + 1000, 8, PTL_MD_EVENT_SUCCESS_DISABLE);
    uint32_t number = 70;
    memcpy(data + 1000, &number, 4);
    assert_int_equal(
        PtlAtomic(md, 0, 4, PTL_NO_ACK_REQ, n.at[1].id, 0, 0, 0, NULL, 0, PTL_SUM, PTL_UINT32_T),
        PTL_OK);
    memcpy(data + 1004, &(uint32_t){ 7 }, 4);
    assert_int_equal(
        PtlAtomic(md, 4, 4, PTL_NO_ACK_REQ, n.at[1].id, 0, 0, 0, NULL, 0, PTL_SUM, PTL_UINT32_T),
        PTL_OK);
    ptl_ct_event_t value;
    assert_int_equal(PtlCTWait(n.at[0].ct, 1, &value), PTL_OK);
    end(&n, pid, 0);
}

static void child_that_dies(nodes *n)
{
    (void)listen_own(n, 1, 0);
    ptl_event_t event;
    while (PtlEQWait(n->at[1].eq, &event) == PTL_OK && event.mlength == 0)
        continue;
    (void)raise(SIGKILL);
}

static void child_that_ends(nodes *n)
{
    (void)listen_own(n, 1, 0);
    ptl_event_t event;
    while (PtlEQWait(n->at[1].eq, &event) == PTL_OK && event.mlength == 0)
        continue;
    pen_portals_close(n->at[1].card);
}

static void operations_with_a_peer_that_is_gone_end(void **state)
{
    (void)state;
    for (int dies = 0; dies < 2; dies++) {
        nodes n;
        ptl_event_t event;
        int status;
        pen_portals_config_default(&n.config);
        pid_t pid = start(&n, 2, dies ? child_that_dies : child_that_ends);
        greet(&n);
        ptl_handle_md_t md = bind(&n.at[0], data, sizeof(data), PTL_MD_EVENT_SEND_DISABLE);
        assert_int_equal(PtlPut(md, 0, 8, PTL_ACK_REQ, n.at[1].id, 0, 0, 0, NULL, 0), PTL_OK);
        assert_int_equal(waitpid(pid, &status, 0), pid);         /* else it lives on as a zombie */
        assert_int_equal(PtlEQWait(n.at[0].eq, &event), PTL_OK); /* acked, or lost with the peer */
        assert_int_equal(event.type, PTL_EVENT_ACK);
        assert_int_equal(PtlGet(md, 0, sizeof(data), n.at[1].id, 0, 0, 0, NULL), PTL_OK);
        for (int i = 0; i < 2;
             i++) /* more than the ring holds; ends with SEND, which is not told */
            assert_int_equal(PtlPut(md, 0, sizeof(data), PTL_ACK_REQ, n.at[1].id, 0, 0, 0, NULL, 0),
                             PTL_OK);
        assert_int_equal(PtlEQWait(n.at[0].eq, &event), PTL_OK);
        assert_int_equal(event.type, PTL_EVENT_REPLY);
        assert_int_equal(event.ni_fail_type, PTL_NI_UNDELIVERABLE);
        while (PtlMDRelease(md) == PTL_IN_USE)
            continue;
        pen_portals_close(n.at[0].card);
        (void)munmap(n.memory, pen_portals_len(&n.config));
    }
}

/* Writes random bytes into everything that a peer can write. */
static void spoil(const nodes *n, uint64_t *random)
{
    unsigned char *memory = n->memory;
    for (uint32_t lane = 0; lane < P4_LANES; lane++) {
        p4_side side;
        p4_side_open(&side, n->memory, &n->config, 1, 0, lane);
        uint64_t write = atomic_load_explicit(&side.ring->write, memory_order_relaxed);
        unsigned char *at = side.bytes + write % n->config.ring_len;
        for (unsigned i = 0; i < sizeof(p4_packet); i++) {
            *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            /* Mostly small numbers, which look like packets. */
            at[i] = (unsigned char)((*random >> 33) % ((*random >> 60) ? 10 : 256));
        }
        uint64_t step = (*random >> 40) % 8 == 0 ? *random : 64 * (1 + (*random >> 50) % 4);
        atomic_store_explicit(&side.ring->write, write + step, memory_order_release);
        if ((*random >> 45) % 16 == 0) {
            p4_side_open(&side, n->memory, &n->config, 0, 1, lane);
            atomic_store_explicit(&side.ring->read, *random, memory_order_release);
        }
    }
    atomic_fetch_or_explicit(&p4_row_of(memory, 0)->ready[0], 2 | (*random & 0xff00),
                             memory_order_release);
}

static void nonsense_of_a_peer_does_no_harm(void **state)
{
    (void)state;
    uint64_t random = 1;
    unsigned lost = 0;
    for (int round = 0; round < 3000; round++) {
        nodes n;
        pen_portals_config_default(&n.config);
        n.config.ring_len = 4096;
        nodes_open_with(&n, 2, round % 2 ? ME_LOGICAL : LE_PHYSICAL, 0, QUEUE, NULL);
        static unsigned char memory[256], guard[256];
        memset(memory, 0x77, sizeof(memory));
        memset(guard, 0x77, sizeof(guard));
        (void)listen_at(&n, 0, memory + 64, 64, PTL_ME_MANAGE_LOCAL * (round % 2),
                        PTL_PRIORITY_LIST);
        (void)listen_at(&n, 0, memory + 64, 64, 0, PTL_OVERFLOW_LIST);
        ptl_handle_md_t md = bind(use(&n, 0), memory + 128, 64, 0);
        assert_int_equal(PtlGet(md, 0, 64, n.at[1].id, 0, 0, 0, NULL), PTL_OK);
        for (int step = 0; step < 6; step++) {
            ptl_ct_event_t value;
            spoil(&n, &random);
            assert_int_equal(PtlCTGet(use(&n, 0)->ct, &value), PTL_OK);
            assert_int_equal(PtlPut(md, 0, 64, PTL_ACK_REQ, n.at[1].id, 0, 0, 0, NULL, 0), PTL_OK);
        }
        assert_memory_equal(memory, guard, 64); /* only what was offered has changed */
        assert_memory_equal(memory + 192, guard, 64);
        pen_portals_counts counts;
        pen_portals_count(n.at[0].card, &counts);
        lost += counts.lost_peers > 0;
        while (PtlMDRelease((use(&n, 0), md)) == PTL_IN_USE && counts.lost_peers > 0)
            continue;
        nodes_close(&n);
    }
    assert_true(lost > 1000);
}

/* Returns the fastest of several acked puts of this length, in ns. */
static uint64_t put_ns(nodes *n, ptl_handle_md_t md, ptl_size_t length)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t start = pen_now_ns();
        ptl_event_t event;
        assert_int_equal(put(n, 0, 1, md, 0, length, PTL_ACK_REQ, 0, 0), PTL_OK);
        do
            work(n);
        while (PtlEQGet(use(n, 0)->eq, &event) != PTL_OK);
        uint64_t ns = pen_now_ns() - start;
        best = ns < best ? ns : best;
    }
    return best;
}

static void cost_model_delays_packets(void **state)
{
    (void)state;
    nodes n;
    pen_portals_config_default(&n.config);
    n.config.model = (pen_portals_model){ 2000000, 3000000, 10, 4000000, 1000000 };
    nodes_open_with(&n, 2, LE_LOGICAL, 0, QUEUE, NULL);
    uint64_t start = pen_now_ns();
    (void)listen_at(&n, 1, data, sizeof(data), PTL_ME_EVENT_COMM_DISABLE, PTL_PRIORITY_LIST);
    assert_true(pen_now_ns() - start >= 4000000 + 1000000 * (sizeof(data) / 65536));
    ptl_handle_md_t md = bind(use(&n, 0), data, 4096, PTL_MD_EVENT_SEND_DISABLE);
    assert_true(put_ns(&n, md, 0) >= 4000000); /* there and back */
    assert_true(put_ns(&n, md, 16) >= 4000000);
    assert_true(put_ns(&n, md, 17) >= 7000000);   /* a step */
    assert_true(put_ns(&n, md, 4000) >= 7400000); /* 10 bytes a microsecond */
    nodes_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_makes_progress_without_calls),
        cmocka_unit_test(operations_with_a_peer_that_is_gone_end),
        cmocka_unit_test(nonsense_of_a_peer_does_no_harm),
        cmocka_unit_test(cost_model_delays_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
