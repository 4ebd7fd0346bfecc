/* SPDX-License-Identifier: BSD-3-Clause */
/* link_test.c: opening and connecting links, what leaves together, what waits for its lane, and
 * sleeping; how each setting that makes no sense is refused. */
#include "udp_job.h"

#include <errno.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void answers_made_in_one_poll_leave_in_one_datagram(void **state)
{
    (void)state;
    for (unsigned bundles = 0; bundles < 2; bundles++) {
        uint8_t bytes[4096];
        unsigned datagrams = 0;
        udp_job job = { .environment = { bundles ? "PENSTOCK_UDP_BUNDLE=yes"
                                                 : "PENSTOCK_UDP_BUNDLE=no" } };
        udp_job_open(&job, 3);
        udp_job_connect(&job, 2);
        job.ranks[1].answers_to = 2; /* endpoint 2 is the stranger */
        for (unsigned i = 0; i < 5; i++)
            assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, i, NULL, 0), PEN_POST_DONE);
        struct pollfd fd = { .fd = udp_of(job.ranks[1].link)->fd, .events = POLLIN };
        udp_of(job.ranks[1].link)->receiver.batch = UDP_BATCH; /* as when many have come together */
        assert_int_equal(poll(&fd, 1, 5000), 1);
        assert_int_equal(udp_job_poll(&job, 1, PEN_LANES_ALL), 5);
        while (udp_job_catch(&job, bytes, sizeof bytes) > 0)
            datagrams++;
        assert_int_equal(datagrams, bundles ? 1 : 5);
        udp_job_close(&job);
    }
}

static void a_post_outside_of_poll_leaves_at_once(void **state)
{
    (void)state;
    uint8_t bytes[512];
    udp_job job = { 0 };
    udp_job_open(&job, 2);
    udp_job_connect(&job, 1);
    for (unsigned i = 0; i < 100; i++) { /* through the shared socket, then through another */
        assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, i, NULL, 0), PEN_POST_DONE);
        assert_int_equal(udp_job_catch(&job, bytes, sizeof bytes), UDP_DATAGRAM_MIN);
    }
    assert_int_equal(udp_of(job.ranks[0].link)->hot_count, 1);
    udp_job_close(&job);
}

/* Posts bodies that may wait; returns how many datagrams have left. */
static unsigned datagrams_of_waiting(udp_job *job, uint32_t body_len, unsigned count)
{
    static uint8_t body[UDP_BUFFER_LEN], bytes[UDP_BUFFER_LEN];
    unsigned datagrams = 0;
    job->ranks[0].link->may_gather = true;
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(udp_job_post(job, 0, 1, PEN_LANE_REQUEST, i, body, body_len),
                         PEN_POST_DONE);
    job->ranks[0].link->may_gather = false;
    while (udp_job_catch(job, bytes, sizeof bytes) > 0)
        datagrams++;
    return datagrams;
}

static void bodies_that_may_wait_fill_a_datagram(void **state)
{
    enum { FIT = 3 };
    static const char *const modes[] = { "PENSTOCK_UDP_SECURITY=none",
                                         "PENSTOCK_UDP_SECURITY=auth" };
    (void)state;
    for (unsigned mode = 0; mode < 2; mode++) {
        udp_job job = { .environment = { modes[mode] } };
        udp_job_open(&job, 2);
        udp_job_connect(&job, 1);
        const uint32_t most = (uint32_t)udp_of(job.ranks[0].link)->datagram_max;
        const uint32_t len = most / FIT - UDP_DATAGRAM_EXTRA - UDP_FRAME_EXTRA_MAX;
        if (len < UDP_BULK_LEN)
            skip(); /* the kernel gives too little memory for such datagrams */
        assert_int_equal(datagrams_of_waiting(&job, len, FIT), 0);
        (void)udp_job_poll(&job, 0, PEN_LANES_ALL); /* sends the bundle */
        assert_int_equal(datagrams_of_waiting(&job, 0, 0), 1);
        assert_int_equal(datagrams_of_waiting(&job, len, FIT + 1), 1); /* the last one waits */
        (void)udp_job_poll(&job, 0, PEN_LANES_ALL);
        assert_int_equal(datagrams_of_waiting(&job, 0, 0), 1);
        /* No second one fits beside a longer one, so it waits only where it is copied for its MAC.
         */
        assert_int_equal(datagrams_of_waiting(&job, most / 2, 1), mode == 0 ? 1 : 0);
        udp_job_close(&job);
    }
}

static void peers_sent_to_take_turns_with_connected_sockets(void **state)
{
    (void)state;
    udp_job job = { .environment = { "PENSTOCK_UDP_HOT=1" } };
    udp_job_open(&job, 3);
    udp_job_connect(&job, PEN_PEER_ANY);
    const udp_link *link = udp_of(job.ranks[0].link);
    unsigned total = 0;
    for (pen_peer to = 1; to < 3; to++) {
        for (unsigned i = 0; i < 3 * UDP_HOT_AFTER; i++) {
            assert_int_equal(udp_job_post(&job, 0, to, PEN_LANE_REQUEST, i, NULL, 0),
                             PEN_POST_DONE);
            assert_true(udp_job_await(&job, to, i + 1));
            total++;
        }
        assert_int_equal(link->hot_count, 1);
        assert_int_equal(link->hot[0].peer, to);
        assert_int_equal(link->peers[to].hot, 1);
        assert_int_equal(link->peers[3 - to].hot, 0);
    }
    assert_int_equal(total, 6 * UDP_HOT_AFTER);
    udp_job_close(&job);
}

static void a_frame_waits_for_its_lane(void **state)
{
    (void)state;
    udp_job job = { 0 };
    uint8_t body[40] = { 9 };
    udp_job_open(&job, 2);
    udp_job_connect(&job, PEN_PEER_ANY);
    pen_link *link = job.ranks[1].link;
    assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, 4, body, sizeof body),
                     PEN_POST_DONE);
    assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REPLY, 5, NULL, 0), PEN_POST_DONE);
    for (unsigned i = 0; i < 1000 && job.ranks[1].delivered == 0; i++)
        (void)udp_job_poll(&job, 1, PEN_LANE_BIT(PEN_LANE_REPLY));
    assert_int_equal(job.ranks[1].head, 5);
    assert_false(link->wait->arm(link)); /* there is something to poll for */
    assert_int_equal(udp_job_poll(&job, 1, PEN_LANES_ALL), 1);
    assert_int_equal(job.ranks[1].head, 4);
    assert_memory_equal(job.ranks[1].body, body, sizeof body);
    assert_true(link->wait->arm(link));
    udp_job_close(&job);
}

static void what_is_held_is_bounded(void **state)
{
    (void)state;
    static uint8_t body[30000];
    udp_job job = { .environment = { "PENSTOCK_UDP_RECEIVE_BUFFER=256K" } };
    udp_job_open(&job, 2);
    udp_job_connect(&job, PEN_PEER_ANY);
    const udp_receiver *receiver = &udp_of(job.ranks[1].link)->receiver;
    size_t most = job.ranks[1].link->caps.inbox_len + UDP_KEPT_SPARE;
    for (unsigned i = 0; i < 100; i++) { /* credit that was not granted */
        assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, i, body, sizeof body),
                         PEN_POST_DONE);
        (void)udp_job_poll(&job, 1, PEN_LANE_BIT(PEN_LANE_CONTROL));
        assert_true(receiver->kept.len <= most);
    }
    assert_true(job.ranks[1].counters.net_no_room > 0);
    assert_int_equal(job.ranks[1].delivered, 0);
    udp_job_close(&job); /* and frees what is kept */
}

/* Long ones are copied on by the engine: from the cache, if few lie in it. */
static void long_messages_are_received_two_at_a_time_and_short_ones_more(void **state)
{
    (void)state;
    static uint8_t body[UDP_BULK_LEN];
    udp_job job = { 0 };
    udp_job_open(&job, 2);
    udp_job_connect(&job, PEN_PEER_ANY);
    const udp_receiver *receiver = &udp_of(job.ranks[1].link)->receiver;
    for (unsigned turn = 0; turn < 2; turn++) {
        unsigned most = 0;
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, i, turn == 0 ? body : NULL,
                                          turn == 0 ? sizeof body : 0),
                             PEN_POST_DONE);
        for (unsigned i = 0; i < 1000 && job.ranks[1].delivered < 8 * (turn + 1); i++) {
            (void)udp_job_poll(&job, 1, PEN_LANES_ALL);
            most = receiver->batch > most ? receiver->batch : most;
        }
        assert_int_equal(job.ranks[1].delivered, 8 * (turn + 1));
        assert_true(turn == 0 ? most == UDP_BATCH_LONG : most > UDP_BATCH_LONG);
    }
    udp_job_close(&job);
}

static void a_sleeper_is_woken_by_its_descriptor(void **state)
{
    (void)state;
    udp_job job = { 0 };
    udp_job_open(&job, 2);
    udp_job_connect(&job, PEN_PEER_ANY);
    pen_link *link = job.ranks[1].link;
    struct pollfd fd = { .fd = link->wait->fd(link), .events = POLLIN };
    assert_true(link->wait->arm(link));
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_CONTROL, 4, NULL, 0), PEN_POST_DONE);
    assert_int_equal(poll(&fd, 1, 5000), 1);
    assert_true(udp_job_await(&job, 1, 1));
    assert_int_equal(poll(&fd, 1, 0), 0);
    udp_job_close(&job);
}

static void frames_to_a_peer_that_is_gone_are_lost_without_a_word(void **state)
{
    (void)state;
    udp_job job = { 0 };
    udp_job_open(&job, 2);
    udp_job_connect(&job, PEN_PEER_ANY);
    (void)close(udp_of(job.ranks[1].link)->fd);
    udp_of(job.ranks[1].link)->fd = -1;
    for (unsigned i = 0; i < 3 * UDP_HOT_AFTER; i++)
        assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, i, NULL, 0), PEN_POST_DONE);
    assert_int_equal(job.ranks[0].lines, 0);
    udp_job_close(&job);
}

static unsigned lost_all;

static void note_lost(void *ctx, pen_peer peer, pen_status why)
{
    (void)ctx, (void)why;
    lost_all += peer == PEN_PEER_ANY;
}

/* As a program does that closes all descriptors it does not know. */
static void a_socket_that_is_closed_ends_the_job_in_words(void **state)
{
    (void)state;
    for (unsigned sends = 0; sends < 2; sends++) {
        udp_job job = { 0 };
        lost_all = 0;
        udp_job_open(&job, 2);
        udp_job_connect(&job, PEN_PEER_ANY);
        job.ranks[0].host.peer_lost = note_lost;
        (void)close(udp_of(job.ranks[0].link)->fd);
        for (unsigned i = 0; i < 3; i++)
            if (sends != 0)
                (void)udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, i, NULL, 0);
            else
                (void)udp_job_poll(&job, 0, PEN_LANES_ALL);
        assert_int_equal(lost_all, 1);
        assert_int_equal(job.ranks[0].lines, 1);
        assert_non_null(strstr(job.ranks[0].line, "Bad file descriptor"));
        udp_of(job.ranks[0].link)->fd = -1;
        udp_job_close(&job);
    }
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 here = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&here, sizeof here) == 0;
    if (fd >= 0)
        (void)close(fd);
    return has;
}

static void ranks_speak_ipv6(void **state)
{
    (void)state;
    static uint8_t body[3000] = { 1, 2, 3 };
    udp_job job = { .environment = { "PENSTOCK_UDP_ADDRESS=::1" } };
    if (!has_ipv6())
        skip();
    udp_job_open(&job, 2);
    udp_job_connect(&job, PEN_PEER_ANY);
    for (unsigned i = 0; i < 2 * UDP_HOT_AFTER; i++) {
        assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, i, body, sizeof body),
                         PEN_POST_DONE);
        assert_true(udp_job_await(&job, 1, i + 1));
        assert_memory_equal(job.ranks[1].body, body, sizeof body);
    }
    udp_job_close(&job);
}

static void without_settings_no_other_host_reaches_a_rank(void **state)
{
    (void)state;
    static const uint8_t loopback[] = { 127, 0, 0, 1 };
    udp_job job = { 0 };
    udp_job_open(&job, 1);
    udp_address address = udp_job_address(&job, 0);
    struct sockaddr_in bound;
    socklen_t len = sizeof bound;
    assert_int_equal(address.family, 4);
    assert_memory_equal(address.ip, loopback, sizeof loopback);
    assert_int_equal(
        getsockname(udp_of(job.ranks[0].link)->fd, (struct sockaddr *)(void *)&bound, &len), 0);
    assert_int_equal(bound.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    udp_job_close(&job);
}

static void an_address_is_found_by_its_network(void **state)
{
    (void)state;
    static const char *const good[] = { "PENSTOCK_UDP_ADDRESS=127.0.0.0/8",
                                        "GASNET_WORKERIP=127.0.0.0", "GASNET_WORKERIP=127.0.0.1" };
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        udp_job job = { .environment = { good[i] } };
        udp_job_open(&job, 1);
        udp_address address = udp_job_address(&job, 0);
        assert_int_equal(address.family, 4);
        assert_int_equal(address.ip[0], 127);
        udp_job_close(&job);
    }
}

static void settings_that_make_no_sense_are_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *words;
    } bad[] = {
        { "PENSTOCK_UDP_ADDRESS=localhost", "neither an address nor a network" },
        { "PENSTOCK_UDP_ADDRESS=10.0.0.0/33", "neither an address nor a network" },
        { "PENSTOCK_UDP_ADDRESS=240.0.0.1", "no interface" }, /* no host has that */
        { "GASNET_WORKERIP=240.0.0.1", "GASNET_WORKERIP=240.0.0.1" },
        { "PENSTOCK_UDP_SECURITY=strong", "this protection does not exist" },
        { "PENSTOCK_UDP_CRYPTO=openssl", "this library is not known" },
        { "PENSTOCK_UDP_PORT=65535", "PENSTOCK_UDP_PORT=65535: it has to be from 0 to 65534" },
        { "PENSTOCK_UDP_PORT=9223372036854775807", "PENSTOCK_UDP_PORT=9223372036854775807: " },
        { "PENSTOCK_UDP_PORT=-9223372036854775808", "PENSTOCK_UDP_PORT=-9223372036854775808: " },
        { "PENSTOCK_UDP_HOT=-1", "PENSTOCK_UDP_HOT=-1: it has to be from 0 to 256" },
        { "PENSTOCK_UDP_DATAGRAM=100", "PENSTOCK_UDP_DATAGRAM=100: it has to be from 1200" },
        { "PENSTOCK_UDP_DATAGRAM=70000", "PENSTOCK_UDP_DATAGRAM=70000: " },
        { "PENSTOCK_UDP_RECEIVE_BUFFER=1K", "PENSTOCK_UDP_RECEIVE_BUFFER=1024: " },
        { "GASNET_SOCKETBUFFER_MAX=1K", "GASNET_SOCKETBUFFER_MAX=1024: " },
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        udp_job job = { .environment = { bad[i].setting }, .size = 2 };
        assert_int_not_equal(udp_job_open_rank(&job, 0), PEN_OK);
        assert_int_equal(job.ranks[0].lines, 1);
        assert_non_null(strstr(job.ranks[0].line, bad[i].words));
    }
}

static void a_port_that_is_taken_is_said(void **state)
{
    (void)state;
    char setting[64];
    udp_job job = { 0 };
    udp_job_open(&job, 1);
    (void)snprintf(setting, sizeof setting, "PENSTOCK_UDP_PORT=%u", ntohs(job.stranger_port));
    udp_job other = { .environment = { setting }, .size = 1 };
    assert_int_equal(udp_job_open_rank(&other, 0), PEN_ERR_SYSTEM);
    assert_int_equal(other.ranks[0].lines, 1);
    assert_non_null(strstr(other.ranks[0].line, strerror(EADDRINUSE)));
    udp_job_close(&job);
}

static void without_a_key_no_link_is_opened(void **state)
{
    (void)state;
    udp_job job = { 0 };
    udp_job_rank *rank = &job.ranks[0];
    udp_config config = { .security = "none", .crypto = "auto" };
    pen_link *link = NULL;
    rank->host = (pen_host){ .ctx = rank, .log = udp_job_log };
    const pen_link_params params = { .host = &rank->host, .peers = 1, .config = &config };
    assert_int_equal(pen_conduit_udp.open(&params, &link), PEN_ERR_UNUSABLE);
    assert_int_equal(rank->lines, 1);
    assert_null(link);
}

static void ranks_that_do_not_agree_do_not_connect(void **state)
{
    (void)state;
    static const char *const words[] = { "build differs", "PENSTOCK_UDP_SECURITY", "IPv6",
                                         "build differs" };
    for (unsigned i = 0; i < 4; i++) {
        udp_job job = { 0 };
        udp_job_open(&job, 2);
        udp_address told[2] = { udp_job_address(&job, 0), udp_job_address(&job, 1) };
        if (i == 0)
            told[1].magic++;
        else if (i == 1)
            told[1].mode = PEN_SEAL_NONE;
        else if (i == 2)
            told[1].family = 6;
        else
            told[1].port = 0;
        pen_link *link = job.ranks[0].link;
        assert_int_equal(link->ops->connect(link, told, 2), PEN_ERR_UNUSABLE);
        assert_int_equal(job.ranks[0].lines, 1);
        assert_non_null(strstr(job.ranks[0].line, words[i]));
        udp_job_close(&job);
    }
}

/* If one processor has no AES, all ranks use ChaCha20. */
static void ranks_use_what_all_of_them_have(void **state)
{
    (void)state;
    udp_job job = { 0 };
    udp_job_open(&job, 2);
    udp_of(job.ranks[1].link)->has_aes = false;
    udp_job_connect(&job, PEN_PEER_ANY);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(udp_job_post(&job, i, 1 - i, PEN_LANE_REQUEST, i, NULL, 0), PEN_POST_DONE);
        assert_true(udp_job_await(&job, 1 - i, 1));
    }
    udp_job_close(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_made_in_one_poll_leave_in_one_datagram),
        cmocka_unit_test(a_post_outside_of_poll_leaves_at_once),
        cmocka_unit_test(bodies_that_may_wait_fill_a_datagram),
        cmocka_unit_test(peers_sent_to_take_turns_with_connected_sockets),
        cmocka_unit_test(a_frame_waits_for_its_lane),
        cmocka_unit_test(what_is_held_is_bounded),
        cmocka_unit_test(long_messages_are_received_two_at_a_time_and_short_ones_more),
        cmocka_unit_test(a_sleeper_is_woken_by_its_descriptor),
        cmocka_unit_test(frames_to_a_peer_that_is_gone_are_lost_without_a_word),
        cmocka_unit_test(a_socket_that_is_closed_ends_the_job_in_words),
        cmocka_unit_test(ranks_speak_ipv6),
        cmocka_unit_test(without_settings_no_other_host_reaches_a_rank),
        cmocka_unit_test(an_address_is_found_by_its_network),
        cmocka_unit_test(settings_that_make_no_sense_are_refused_in_words),
        cmocka_unit_test(a_port_that_is_taken_is_said),
        cmocka_unit_test(without_a_key_no_link_is_opened),
        cmocka_unit_test(ranks_that_do_not_agree_do_not_connect),
        cmocka_unit_test(ranks_use_what_all_of_them_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
