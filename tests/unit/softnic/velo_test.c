/* SPDX-License-Identifier: BSD-3-Clause */
/* velo_test.c: VELO of the software EXTOLL card: order, back-pressure, lazy commits, many senders,
 * processes, faults, and a fabric full of nonsense. */
#include "os/os.h"
#include "softnic/extoll/card.h"
#include "softnic/extoll/fabric.h"
#include "unit/softnic/fabric.h"

#include <velo2.h>

#include <pthread.h>
#include <sched.h>

typedef struct pair { /* two nodes with a port each, and connections both ways */
    pen_card_config config;
    void *memory;
    pen_card *cards[2];
    velo2_port_t ports[2];
    velo2_connection_t to[2]; /* [n]: from node n to its peer */
} pair;

static void pair_open(pair *p, pen_card_config config)
{
    p->config = config;
    p->memory = make_fabric(&config);
    for (uint16_t n = 0; n < 2; n++) {
        p->cards[n] = plug_in(p->memory, &config, n);
        assert_int_equal(velo2_open(&p->ports[n]), VELO2_RET_SUCCESS);
        assert_int_equal(velo2_get_nodeid(&p->ports[n]), n);
        assert_int_equal(velo2_get_vpid(&p->ports[n]), 0);
    }
    for (uint16_t n = 0; n < 2; n++)
        assert_int_equal(velo2_connect(&p->ports[n], &p->to[n], 1 - n, 0), VELO2_RET_SUCCESS);
}

static void pair_close(pair *p)
{
    for (int n = 0; n < 2; n++) {
        assert_int_equal(velo2_disconnect(&p->ports[n], &p->to[n]), VELO2_RET_SUCCESS);
        assert_int_equal(velo2_close(&p->ports[n]), VELO2_RET_SUCCESS);
        pen_card_close(p->cards[n]);
    }
    free(p->memory);
}

static velo2_ret_t send_number(velo2_connection_t *to, uint64_t number)
{
    return velo2_send(to, &number, sizeof(number), 0, 0);
}

static uint64_t receive_number(velo2_port_t *port)
{
    uint64_t number = 0;
    size_t len = 0;
    assert_int_equal(velo2_recv(port, &number, sizeof(number), &len, NULL, NULL, VELO2_MTT_ANY),
                     VELO2_RET_SUCCESS);
    assert_int_equal(len, sizeof(number));
    return number;
}

static void messages_arrive_as_they_were_sent(void **state)
{
    (void)state;
    for (uint32_t slot_len = 64; slot_len <= 128; slot_len += 64) {
        pair p;
        pen_card_config config = small_config(2);
        config.slot_len = slot_len;
        pair_open(&p, config);
        size_t max_len = velo2_port_max_len(&p.ports[0]);
        assert_int_equal(max_len, slot_len - 8);
        for (uint32_t len = 0; len <= max_len; len++) {
            unsigned char sent[120], got[120 + 8];
            memset(got, 0xee, sizeof(got));
            fill(sent, len, 1, len);
            assert_int_equal(velo2_send(&p.to[0], sent, len, (uint8_t)(len + 200), len % 4),
                             VELO2_RET_SUCCESS);
            size_t mlen;
            uint32_t source;
            uint8_t tag, mtt;
            assert_int_equal(
                velo2_probe_recv(&p.ports[1], got, sizeof(got), &mlen, &source, &tag, &mtt),
                VELO2_RET_SUCCESS);
            assert_int_equal(mlen, len);
            assert_int_equal(source, VELO2_ADDRESS(0, 0));
            assert_int_equal(tag, (uint8_t)(len + 200));
            assert_int_equal(mtt, len % 4);
            assert_true(is_filled(got, len, 1, len));
            assert_int_equal(got[len], 0xee);
            assert_int_equal(
                velo2_probe_recv(&p.ports[1], got, sizeof(got), &mlen, &source, &tag, &mtt),
                VELO2_RET_NO_MSG);
        }
        unsigned char big[121] = { 0 };
        assert_int_equal(velo2_send(&p.to[0], big, max_len + 1, 0, 0), VELO2_RET_INV_MSG);
        assert_int_equal(velo2_send(&p.to[0], big, 1, 0, 4), VELO2_RET_INV_MTT);
        pair_close(&p);
    }
}

static void header_and_payload_are_gathered_and_read_in_steps(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    const uint64_t hdr[2] = { 11, 12 };
    unsigned char payload[13], got[40];
    fill(payload, sizeof(payload), 3, 4);
    assert_int_equal(velo2_send_header(&p.to[1], hdr, 2, payload, sizeof(payload), 9, 1),
                     VELO2_RET_SUCCESS);
    assert_int_equal(velo2_send_header(&p.to[1], hdr, 2, payload, 41, 9, 1), VELO2_RET_INV_MSG);
    assert_int_equal(velo2_send_header(&p.to[1], hdr, SIZE_MAX / 4, payload, 1, 9, 1),
                     VELO2_RET_INV_MSG);
    size_t len;
    assert_false(velo2_is_empty(&p.ports[0]));
    assert_int_equal(velo2_check(&p.ports[0], NULL, &len, NULL, NULL), VELO2_RET_SUCCESS);
    assert_int_equal(len, 16 + sizeof(payload));
    uint64_t word;
    assert_int_equal(velo2_recv_payload(&p.ports[0], &word, 8, 8), VELO2_RET_SUCCESS);
    assert_int_equal(word, 12);
    assert_int_equal(velo2_recv_payload(&p.ports[0], got, 16, sizeof(payload)), VELO2_RET_SUCCESS);
    assert_memory_equal(got, payload, sizeof(payload));
    assert_memory_equal(velo2_recv_peek(&p.ports[0]), hdr, sizeof(hdr));
    assert_int_equal(velo2_recv_payload(&p.ports[0], got, 16, sizeof(payload) + 1),
                     VELO2_RET_INV_MSG);
    assert_int_equal(velo2_recv_payload(&p.ports[0], got, SIZE_MAX, 2), VELO2_RET_INV_MSG);
    assert_int_equal(velo2_recv_complete(&p.ports[0]), 1);
    assert_true(velo2_is_empty(&p.ports[0]));
    assert_int_equal(velo2_check(&p.ports[0], NULL, NULL, NULL, NULL), VELO2_RET_NO_MSG);
    assert_int_equal(velo2_recv_payload(&p.ports[0], got, 0, 1), VELO2_RET_INV_MSG);
    pair_close(&p);
}

static void full_mailbox_holds_as_many_as_it_has_slots_and_frees_by_commit(void **state)
{
    (void)state;
    for (uint32_t slots = 2; slots < 12; slots++) {
        pair p;
        pen_card_config config = small_config(2);
        config.mailbox_slots = slots;
        pair_open(&p, config);
        uint64_t sent = 0, got = 0;
        for (int round = 0; round < 700; round++) { /* more laps than a lap number has values */
            while (send_number(&p.to[0], sent) == VELO2_RET_SUCCESS)
                sent++;
            assert_int_equal(sent - got, slots);
            assert_int_equal(velo2_send_check(&p.to[0]), VELO2_RET_TRY_AGAIN);
            for (uint32_t i = 0; i < slots; i++) {
                uint64_t number;
                assert_int_equal(velo2_check(&p.ports[1], NULL, NULL, NULL, NULL),
                                 VELO2_RET_SUCCESS);
                assert_int_equal(velo2_recv_payload(&p.ports[1], &number, 0, 8), VELO2_RET_SUCCESS);
                assert_int_equal(number, got++);
                assert_int_equal(velo2_recv_complete(&p.ports[1]), i + 1);
                assert_int_equal(send_number(&p.to[0], 0), VELO2_RET_TRY_AGAIN);
            }
            for (int again = 0; again < 2; again++) /* the second time nothing is told */
                assert_int_equal(velo2_recv_commit(&p.ports[1]), VELO2_RET_SUCCESS);
            assert_int_equal(velo2_send_check(&p.to[0]), VELO2_RET_SUCCESS);
        }
        pen_card_counts counts;
        pen_card_count(p.cards[1], &counts);
        assert_int_equal(counts.packets_received, sent);
        assert_int_equal(counts.commits, 700);
        pair_close(&p);
    }
}

static void reads_are_committed_once_a_period(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.commit_period = 3;
    pair_open(&p, config);
    for (uint64_t number = 0; number < 300; number++) {
        assert_int_equal(send_number(&p.to[0], number), VELO2_RET_SUCCESS);
        assert_int_equal(receive_number(&p.ports[1]), number);
    }
    pen_card_counts counts;
    pen_card_count(p.cards[1], &counts);
    assert_int_equal(counts.commits, 100);
    pair_close(&p);
}

static void another_type_stays(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    uint64_t number = 5;
    assert_int_equal(velo2_send(&p.to[0], &number, 8, 0, 2), VELO2_RET_SUCCESS);
    size_t len;
    assert_int_equal(velo2_recv(&p.ports[1], &number, 8, &len, NULL, NULL, 1), VELO2_RET_NO_MATCH);
    assert_int_equal(velo2_recv(&p.ports[1], &number, 8, &len, NULL, NULL, 4), VELO2_RET_INV_MTT);
    assert_int_equal(velo2_recv(&p.ports[1], &number, 8, &len, NULL, NULL, 2), VELO2_RET_SUCCESS);
    pair_close(&p);
}

static void a_message_longer_than_the_buffer_is_cut(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    unsigned char sent[50], got[50];
    fill(sent, sizeof(sent), 1, 2);
    for (size_t maxlen = 0; maxlen < sizeof(sent); maxlen++) {
        assert_int_equal(velo2_send(&p.to[0], sent, sizeof(sent), 0, 0), VELO2_RET_SUCCESS);
        memset(got, 0xee, sizeof(got));
        size_t len = 0;
        assert_int_equal(velo2_probe_recv(&p.ports[1], got, maxlen, &len, NULL, NULL, NULL),
                         VELO2_RET_SUCCESS);
        assert_int_equal(len, sizeof(sent));
        assert_memory_equal(got, sent, maxlen);
        for (size_t i = maxlen; i < sizeof(got); i++)
            assert_int_equal(got[i], 0xee);
    }
    pair_close(&p);
}

static void addresses_are_checked(void **state)
{
    (void)state;
    pen_card_config config = small_config(2);
    config.vpids = 3;
    config.node_first = 10;
    void *memory = make_fabric(&config);
    pen_card *card = NULL;
    size_t len = pen_card_len(&config);
    assert_int_equal(pen_card_open(memory, len, &config, 9, &card), PEN_ERR_ARGUMENT);
    assert_int_equal(pen_card_open(memory, len, &config, 12, &card), PEN_ERR_ARGUMENT);
    assert_int_equal(pen_card_open(memory, len - 1, &config, 10, &card), PEN_ERR_ARGUMENT);
    velo2_port_t ports[4];
    pen_card_use(NULL);
    assert_int_equal(velo2_open(&ports[0]), VELO2_RET_ERR_FDOPEN);
    card = plug_in(memory, &config, 11);
    pen_card_config other = config;
    other.mailbox_slots++;
    pen_card *none = NULL;
    assert_int_equal(pen_card_open(memory, pen_card_len(&other), &other, 10, &none),
                     pen_card_len(&other) > len ? PEN_ERR_ARGUMENT : PEN_ERR_PROTOCOL);
    other = config;
    other.mtu += 8;
    assert_int_equal(pen_card_open(memory, len, &other, 10, &none), PEN_ERR_PROTOCOL);
    for (uint16_t vpid = 0; vpid < 3; vpid++) {
        assert_int_equal(velo2_open(&ports[vpid]), VELO2_RET_SUCCESS);
        assert_int_equal(velo2_get_vpid(&ports[vpid]), vpid);
        assert_int_equal(velo2_get_nodeid(&ports[vpid]), 11);
    }
    assert_int_equal(velo2_open(&ports[3]), VELO2_RET_ERR_FDOPEN);
    velo2_connection_t to;
    assert_int_equal(velo2_connect(&ports[0], &to, 9, 0), VELO2_RET_INVALID_NODE);
    assert_int_equal(send_number(&to, 1), VELO2_RET_ERROR);
    assert_int_equal(velo2_connect(&ports[0], &to, 10, 1), VELO2_RET_SUCCESS);
    assert_int_equal(send_number(&to, 1), VELO2_RET_INVALID_MBOX); /* no node is there yet */
    assert_int_equal(velo2_connect(&ports[0], &to, 11, 1), VELO2_RET_SUCCESS);
    assert_int_equal(send_number(&to, 1), VELO2_RET_SUCCESS);
    assert_int_equal(velo2_close(&ports[1]), VELO2_RET_SUCCESS);
    assert_int_equal(velo2_close(&ports[1]), VELO2_RET_ERROR);
    assert_int_equal(send_number(&to, 2), VELO2_RET_INVALID_MBOX);
    assert_int_equal(velo2_open(&ports[1]), VELO2_RET_SUCCESS); /* the same VPID, and empty */
    assert_int_equal(velo2_get_vpid(&ports[1]), 1);
    assert_int_equal(velo2_check(&ports[1], NULL, NULL, NULL, NULL), VELO2_RET_NO_MSG);
    assert_int_equal(send_number(&to, 3), VELO2_RET_SUCCESS);
    assert_int_equal(receive_number(&ports[1]), 3);
    for (int vpid = 0; vpid < 3; vpid++)
        assert_int_equal(velo2_close(&ports[vpid]), VELO2_RET_SUCCESS);
    pen_card_close(card);
    free(memory);
}

enum { SENDERS = 3, EACH = 600 };

typedef struct sender {
    void *memory;
    const pen_card_config *config;
    uint16_t node;
} sender;

/* Sends its numbers to node 0; answers how often it could not. */
static bool send_all(const sender *s)
{
    pen_card *card = NULL;
    if (pen_card_open(s->memory, pen_card_len(s->config), s->config, s->node, &card) != PEN_OK)
        return false;
    pen_card_use(card);
    velo2_port_t port;
    velo2_connection_t to;
    if (velo2_open(&port) != VELO2_RET_SUCCESS ||
        velo2_connect(&port, &to, 0, 0) != VELO2_RET_SUCCESS)
        return false;
    bool ok = true;
    for (uint32_t number = 0; ok && number < EACH; number++) {
        unsigned char bytes[56];
        size_t len = 4 + number % 53;
        memcpy(bytes, &number, 4);
        fill(bytes + 4, len - 4, s->node, number);
        velo2_ret_t sent;
        while ((sent = velo2_send(&to, bytes, len, (uint8_t)number, s->node % 4)) ==
               VELO2_RET_TRY_AGAIN)
            (void)sched_yield();
        ok = sent == VELO2_RET_SUCCESS;
    }
    (void)velo2_close(&port);
    pen_card_close(card);
    return ok;
}

static void *send_thread(void *argument) { return send_all(argument) ? argument : NULL; }

static void receive_all(velo2_port_t *port)
{
    uint32_t next[SENDERS + 1] = { 0 };
    for (uint32_t i = 0; i < SENDERS * EACH; i++) {
        unsigned char bytes[56];
        size_t len;
        uint32_t source, number;
        uint8_t tag;
        assert_int_equal(velo2_recv(port, bytes, sizeof(bytes), &len, &source, &tag, VELO2_MTT_ANY),
                         VELO2_RET_SUCCESS);
        uint16_t node = VELO2_ADDRESS_NODE(source);
        assert_in_range(node, 1, SENDERS);
        memcpy(&number, bytes, 4);
        assert_int_equal(number, next[node]++);
        assert_int_equal(len, 4 + number % 53);
        assert_int_equal(tag, (uint8_t)number);
        assert_true(is_filled(bytes + 4, len - 4, node, number));
    }
    assert_int_equal(velo2_check(port, NULL, NULL, NULL, NULL), VELO2_RET_NO_MSG);
}

static void many_senders_fill_a_tiny_mailbox(bool processes, pen_card_full full)
{
    pen_card_config config = small_config(SENDERS + 1);
    config.mailbox_slots = 3;
    config.full = full;
    void *memory = share_fabric(&config);
    pen_card *card = plug_in(memory, &config, 0);
    velo2_port_t port;
    assert_int_equal(velo2_open(&port), VELO2_RET_SUCCESS);
    sender senders[SENDERS];
    pthread_t threads[SENDERS];
    pid_t pids[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (sender){ memory, &config, (uint16_t)(i + 1) };
        if (!processes) {
            assert_int_equal(pthread_create(&threads[i], NULL, send_thread, &senders[i]), 0);
        } else if ((pids[i] = fork()) == 0) {
            _exit(send_all(&senders[i]) ? 0 : 1);
        }
    }
    receive_all(&port);
    for (int i = 0; i < SENDERS; i++) {
        void *result = NULL;
        if (processes)
            expect_success(pids[i]);
        else
            assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_true(processes || result != NULL);
    }
    assert_int_equal(velo2_close(&port), VELO2_RET_SUCCESS);
    pen_card_close(card);
    assert_int_equal(munmap(memory, pen_card_len(&config)), 0);
}

static void threads_lose_and_reorder_nothing_when_stalled(void **state)
{
    (void)state;
    many_senders_fill_a_tiny_mailbox(false, PEN_CARD_STALL);
}

static void threads_lose_and_reorder_nothing_when_told_to_try_again(void **state)
{
    (void)state;
    many_senders_fill_a_tiny_mailbox(false, PEN_CARD_TRY_AGAIN);
}

static void processes_lose_and_reorder_nothing(void **state)
{
    (void)state;
    many_senders_fill_a_tiny_mailbox(true, PEN_CARD_STALL);
}

static void nothing_arrives_before_the_machine_would_bring_it(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.latency = pen_card_latency_machine();
    pair_open(&p, config);
    for (uint64_t number = 0; number < 100; number++) {
        uint64_t start = pen_now_ns();
        assert_int_equal(send_number(&p.to[0], number), VELO2_RET_SUCCESS);
        assert_true(pen_now_ns() - start >= config.latency.pio);
        assert_int_equal(receive_number(&p.ports[1]), number);
        assert_true(pen_now_ns() - start >= 890); /* 970 without what calls take */
    }
    pair_close(&p);
}

static void delays_keep_the_order(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.faults.velo_delay_ns = 20000;
    config.faults.full_one_in = 3;
    config.faults.seed = 7;
    pair_open(&p, config);
    uint64_t sent = 0, got = 0, late = 0;
    while (got < 400) {
        sent += sent < 400 && send_number(&p.to[0], sent) == VELO2_RET_SUCCESS;
        uint64_t number;
        velo2_ret_t found = velo2_probe_recv(&p.ports[1], &number, 8, NULL, NULL, NULL, NULL);
        late += found == VELO2_RET_NO_MSG && sent > got;
        if (found == VELO2_RET_SUCCESS)
            assert_int_equal(number, got++);
    }
    assert_true(late > 0);
    pen_card_counts counts;
    pen_card_count(p.cards[0], &counts);
    assert_int_equal(counts.packets_sent, 400);
    assert_int_equal(counts.bytes_sent, 3200);
    assert_true(counts.retries > 0);
    pair_close(&p);
}

/* As if another process had written the slot that node 1 looks at next. */
static void forge(const pair *p, uint64_t len, uint64_t flags)
{
    const velo2_port_t *port = &p->ports[1];
    uint64_t *status = (uint64_t *)(void *)(uintptr_t)port->word;
    *status = VELO2_HEADER(VELO2_ADDRESS(0, 0), 1, 2, len) | flags | port->lap << 55;
}

static void slots_that_hold_what_no_card_writes_are_stepped_over(void **state)
{
    (void)state;
    static const uint64_t flags[] = { VELO2_STATUS_EOM, VELO2_STATUS_EOM | VELO2_STATUS_ERROR, 0 };
    for (uint32_t slot_len = 64; slot_len <= 128; slot_len += 64) {
        pair p;
        pen_card_config config = small_config(2);
        config.slot_len = slot_len;
        pair_open(&p, config);
        uint64_t malformed = 0;
        for (uint64_t len = 0; len < 128; len++) {
            for (int kind = 0; kind < 3; kind++) {
                unsigned char bytes[128];
                size_t told = 999;
                bool sound = len <= slot_len - 8 && kind == 0;
                forge(&p, len, flags[kind]);
                assert_int_equal(velo2_check(&p.ports[1], NULL, &told, NULL, NULL),
                                 sound ? VELO2_RET_SUCCESS : VELO2_RET_INV_MSG);
                assert_int_equal(told, sound ? len : 999);
                assert_int_equal(velo2_recv_payload(&p.ports[1], bytes, 0, len),
                                 sound || len == 0 ? VELO2_RET_SUCCESS : VELO2_RET_INV_MSG);
                malformed += sound ? 0 : 2; /* looked at twice */
                assert_int_equal(
                    velo2_probe_recv(&p.ports[1], bytes, sizeof(bytes), &told, NULL, NULL, NULL),
                    sound ? VELO2_RET_SUCCESS : VELO2_RET_INV_MSG);
            }
        }
        pen_card_counts counts;
        pen_card_count(p.cards[1], &counts);
        assert_int_equal(counts.malformed, malformed);
        assert_int_equal(counts.packets_received, 3 * 128);
        pair_close(&p);
    }
}

static void scribble(const pair *p, uint64_t *random)
{
    uint64_t *words = p->memory;
    for (size_t w = 0; w < pen_card_len(&p->config) / 8; w++) {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        if (*random % 3 == 0)
            words[w] = *random >> (*random >> 58);
    }
}

static void use_all_calls(pair *p, int n)
{
    unsigned char bytes[120] = { 0 };
    size_t len;
    (void)velo2_send(&p->to[n], bytes, 40, 1, 1);
    velo2_ret_t found = velo2_check(&p->ports[n], NULL, &len, NULL, NULL);
    if (found == VELO2_RET_SUCCESS) {
        assert_true(len <= velo2_port_max_len(&p->ports[n]));
        assert_int_equal(velo2_recv_payload(&p->ports[n], bytes, 0, len), VELO2_RET_SUCCESS);
    }
    if (found != VELO2_RET_NO_MSG)
        (void)velo2_recv_complete(&p->ports[n]);
    (void)velo2_recv_commit(&p->ports[n]);
}

/* With any bytes in the fabric, calls return, and the address sanitizer sees no access outside. */
static void nonsense_in_the_fabric_is_survived(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 60; round++) {
        pair p;
        pen_card_config config = small_config(2);
        config.mailbox_slots = 5;
        config.slot_len = round % 2 ? 64 : 128;
        pair_open(&p, config);
        for (int i = 0; i < 40; i++) {
            scribble(&p, &random);
            use_all_calls(&p, 0);
            use_all_calls(&p, 1);
        }
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_as_they_were_sent),
        cmocka_unit_test(header_and_payload_are_gathered_and_read_in_steps),
        cmocka_unit_test(full_mailbox_holds_as_many_as_it_has_slots_and_frees_by_commit),
        cmocka_unit_test(reads_are_committed_once_a_period),
        cmocka_unit_test(another_type_stays),
        cmocka_unit_test(a_message_longer_than_the_buffer_is_cut),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(threads_lose_and_reorder_nothing_when_stalled),
        cmocka_unit_test(threads_lose_and_reorder_nothing_when_told_to_try_again),
        cmocka_unit_test(processes_lose_and_reorder_nothing),
        cmocka_unit_test(nothing_arrives_before_the_machine_would_bring_it),
        cmocka_unit_test(delays_keep_the_order),
        cmocka_unit_test(slots_that_hold_what_no_card_writes_are_stepped_over),
        cmocka_unit_test(nonsense_in_the_fabric_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
