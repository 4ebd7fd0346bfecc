/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_ranks_test.c: RMA of the software EXTOLL card among threads and among processes at once, with
 * notification queues that are too small. */
#include "unit/softnic/nodes.h"

#include <pthread.h>
#include <sched.h>

enum { ROUNDS = 400, RANKS = 3 };

/* One rank's part in it. */
typedef struct putter {
    void *fabric;
    const pen_card_config *config;
    uint16_t number;
    RMA2_NLA dest; /* its part of rank 0's memory */
    RMA2_Port port;
    RMA2_Handle to;
    RMA2_Region *region;
} putter;

/* Puts numbers into rank 0's memory, tells it, and gets them back. */
static bool put_once(putter *p, uint32_t round)
{
    uint32_t size = 1 + round * 17 % 4000;
    unsigned char *memory = p->region->start;
    const RMA2_Notification_Spec completer = RMA2_COMPLETER_NOTIFICATION;
    RMA2_Notification *noti;
    fill(memory, size, p->number, round);
    return rma2_post_put_bt(p->port, &p->to, p->region, 0, size, p->dest, RMA2_NO_NOTIFICATION,
                            RMA2_CMD_DEFAULT) == RMA2_SUCCESS &&
           rma2_post_notification(p->port, &p->to, (RMA2_Class)p->number, round, completer,
                                  RMA2_CMD_DEFAULT) == RMA2_SUCCESS &&
           rma2_post_get_bt(p->port, &p->to, p->region, RMA2_PAGE_LEN, size, p->dest, completer,
                            RMA2_CMD_DEFAULT) == RMA2_SUCCESS &&
           rma2_noti_get_block(p->port, &noti) == RMA2_SUCCESS && rma2_noti_get_error(noti) == 0 &&
           rma2_noti_free(p->port, noti) == RMA2_SUCCESS &&
           is_filled(memory + RMA2_PAGE_LEN, size, p->number, round);
}

static bool put_all(putter *p, pen_card *card, void *memory)
{
    pen_card_use(card);
    if (rma2_open(&p->port) != RMA2_SUCCESS)
        return false;
    bool ok =
        rma2_register(p->port, memory, (size_t)2 * RMA2_PAGE_LEN, &p->region) == RMA2_SUCCESS &&
        rma2_connect(p->port, 0, 0, RMA2_CONN_DEFAULT, &p->to) == RMA2_SUCCESS;
    for (uint32_t round = 0; ok && round < ROUNDS; round++)
        ok = put_once(p, round);
    while (ok && rma2_flush(p->port) > 0)
        (void)sched_yield();
    return rma2_close(p->port) == RMA2_SUCCESS && ok;
}

static void *putter_run(void *argument)
{
    putter *p = argument;
    pen_card *card = NULL;
    bool ok = false;
    void *memory = aligned_alloc(RMA2_PAGE_LEN, (size_t)2 * RMA2_PAGE_LEN);
    if (memory != NULL &&
        pen_card_open(p->fabric, pen_card_len(p->config), p->config, p->number, &card) == PEN_OK)
        ok = put_all(p, card, memory);
    pen_card_close(card);
    free(memory);
    return ok ? p : NULL;
}

static void receive_all(node *zero)
{
    uint64_t next_of[RANKS + 1] = { 0 };
    for (int i = 0; i < RANKS * ROUNDS; i++) {
        RMA2_Notification noti = next(zero);
        assert_int_equal(rma2_noti_get_error(&noti), 0);
        uint16_t from = rma2_noti_get_remote_nodeid(&noti);
        assert_in_range(from, 1, RANKS);
        assert_int_equal(rma2_noti_get_notiput_class(&noti), from);
        assert_int_equal(rma2_noti_get_notiput_payload(&noti), next_of[from]++);
    }
}

static void ranks_put_and_get_at_once(bool processes)
{
    pen_card_config config = small_config(RANKS + 1);
    config.notifications = 5;
    void *fabric = share_fabric(&config);
    node zero;
    node_open(&zero, fabric, &config, 0);
    putter putters[RANKS];
    pid_t pids[RANKS];
    pthread_t threads[RANKS];
    for (int i = 0; i < RANKS; i++) {
        putters[i] = (putter){ .fabric = fabric,
                               .config = &config,
                               .number = (uint16_t)(i + 1),
                               .dest = zero.nla + (uint64_t)i * RMA2_PAGE_LEN };
        if (!processes)
            assert_int_equal(pthread_create(&threads[i], NULL, putter_run, &putters[i]), 0);
        else if ((pids[i] = fork()) == 0)
            _exit(putter_run(&putters[i]) != NULL ? 0 : 1);
    }
    receive_all(&zero);
    for (int i = 0; i < RANKS; i++) {
        void *result = NULL;
        if (processes)
            expect_success(pids[i]);
        else
            assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_true(processes || result != NULL);
    }
    expect_none(&zero);
    node_close(&zero);
    assert_int_equal(munmap(fabric, pen_card_len(&config)), 0);
}

static void processes_put_and_get_at_once(void **state)
{
    (void)state;
    ranks_put_and_get_at_once(true);
}

static void threads_put_and_get_at_once(void **state)
{
    (void)state;
    ranks_put_and_get_at_once(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_put_and_get_at_once),
        cmocka_unit_test(threads_put_and_get_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
