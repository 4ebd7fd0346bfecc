/* SPDX-License-Identifier: BSD-3-Clause */
/* oob_test.c: blocks of a job in threads of one process: meetings, words and losses; and strangers
 * who connect to the centre, or who wait where a block looks for it. */
#include "pmix/oob_internal.h"

#include "os/os.h"
#include "pmix/pmix_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND_NS UINT64_C(1000000000)

enum { BLOCKS = 5, BODY_MAX = 100000, TAG = 3, OTHER_TAG = 2, ROUNDS = 20 };

static uint8_t job_key[PEN_SEAL_KEY_LEN], salts[BLOCKS][PEN_SEAL_SALT_LEN];
static const uint32_t firsts[] = { 0, 10, 20, 30, 40, 50 };

typedef struct block {
    pen_oob_params params;
    pen_oob *oob;
    const char *error;
    int news[2];
    pthread_t thread;
} block;

static block blocks[BLOCKS];
static char addresses[PEN_OOB_ADDRESSES_LEN];
static int listener;
static uint16_t port;

static void *connect_block(void *ctx)
{
    block *b = ctx;
    b->error = pen_oob_open(&b->params, &b->oob);
    return NULL;
}

static void prepare(double seconds)
{
    pen_random(job_key, sizeof job_key);
    pen_random(salts, sizeof salts);
    listener = pen_oob_listen(&port, addresses);
    assert_true(listener >= 0 && port != 0);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        assert_int_equal(pipe(blocks[i].news), 0);
        blocks[i].params = (pen_oob_params){ .job_key = job_key,
                                             .salts = &salts[0][0],
                                             .block_i = i,
                                             .block_count = BLOCKS,
                                             .firsts = firsts,
                                             .listener = i == 0 ? listener : -1,
                                             .host = "localhost",
                                             .addresses = addresses,
                                             .port = port,
                                             .body_max = BODY_MAX,
                                             .news = blocks[i].news[1],
                                             .until_ns = pen_now_ns() + (uint64_t)(seconds * 1e9) };
    }
}

/* Opens these blocks, from the first to before `end`. */
static void open_blocks(uint32_t end)
{
    for (uint32_t i = 0; i < end; i++)
        assert_int_equal(pthread_create(&blocks[i].thread, NULL, connect_block, &blocks[i]), 0);
    for (uint32_t i = 0; i < end; i++)
        (void)pthread_join(blocks[i].thread, NULL);
}

static void close_all(void)
{
    for (uint32_t i = 0; i < BLOCKS; i++) {
        pen_oob_close(blocks[i].oob);
        blocks[i].oob = NULL;
        (void)close(blocks[i].news[0]);
        (void)close(blocks[i].news[1]);
    }
    (void)close(listener);
}

static void open_all(void)
{
    prepare(60);
    open_blocks(BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_null(blocks[i].error);
}

/* Serves all blocks until this one has news. */
static pen_pmix_news await_news(uint32_t i)
{
    const uint64_t until_ns = pen_now_ns() + 60 * SECOND_NS;
    pen_pmix_news news = { .kind = 0 };
    while (pen_now_ns() < until_ns) {
        for (uint32_t j = 0; j < BLOCKS; j++)
            if (blocks[j].oob != NULL)
                pen_oob_serve(blocks[j].oob);
        if (pen_oob_await(blocks[i].news[0], POLLIN, pen_now_ns() + SECOND_NS / 1000)) {
            assert_int_equal(read(blocks[i].news[0], &news, sizeof news), sizeof news);
            return news;
        }
    }
    fail_msg("block %u hears nothing", i);
    return news;
}

static void expect_no_news(uint32_t i)
{
    assert_false(pen_oob_await(blocks[i].news[0], POLLIN, pen_now_ns() + SECOND_NS / 50));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void blocks_meet_and_see_each_others_bodies(void **state)
{
    (void)state;
    static char bodies[BLOCKS][BODY_MAX];
    unsigned dice = 1;
    open_all();
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t lens[BLOCKS];
        for (uint32_t i = 0; i < BLOCKS; i++) {
            dice = dice * 1103515245 + 12345;
            lens[i] = round == 0 ? 0 : round == 1 ? BODY_MAX : (dice >> 8) % BODY_MAX;
            memset(bodies[i], (int)(round * BLOCKS + i), lens[i]);
            expect_no_news(0);
            assert_null(pen_oob_meet(blocks[i].oob, TAG, bodies[i], lens[i]));
        }
        for (uint32_t i = 0; i < BLOCKS; i++) {
            const pen_pmix_news news = await_news(i);
            assert_int_equal(news.kind, PEN_PMIX_FENCED);
            assert_int_equal(news.tag, TAG);
            assert_int_equal(news.code, 0);
            for (uint32_t j = 0; j < BLOCKS; j++) {
                size_t len;
                const char *body = pen_oob_body(blocks[i].oob, j, &len);
                assert_int_equal(len, lens[j]);
                assert_memory_equal(body, bodies[j], len);
            }
        }
    }
    close_all();
}

static void meetings_of_two_tags_do_not_mix(void **state)
{
    (void)state;
    open_all();
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_null(pen_oob_meet(blocks[i].oob, i == 2 ? OTHER_TAG : TAG, NULL, 0));
    for (uint32_t i = 0; i < BLOCKS; i++) {
        pen_oob_serve(blocks[0].oob);
        expect_no_news(i);
    }
    assert_null(pen_oob_meet(blocks[2].oob, TAG, NULL, 0));
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_int_equal(await_news(i).tag, TAG);
    close_all();
}

static void a_word_reaches_all_others(void **state)
{
    (void)state;
    for (uint32_t from = 0; from < 2; from++) {
        open_all();
        pen_oob_tell(blocks[from].oob, 77);
        for (uint32_t i = 0; i < BLOCKS; i++) {
            if (i == from)
                continue;
            const pen_pmix_news news = await_news(i);
            assert_int_equal(news.kind, PEN_PMIX_TOLD);
            assert_int_equal(news.code, 77);
            expect_no_news(i);
        }
        expect_no_news(from);
        close_all();
    }
}

static void a_closed_connection_is_a_lost_rank_if_it_had_joined(void **state)
{
    (void)state;
    open_all();
    pen_oob_close(blocks[3].oob);
    blocks[3].oob = NULL;
    const pen_pmix_news news = await_news(0);
    assert_int_equal(news.kind, PEN_PMIX_PEER_LOST);
    assert_int_equal(news.code, 30);
    pen_oob_set_joined(blocks[2].oob, false);
    pen_oob_close(blocks[2].oob);
    blocks[2].oob = NULL;
    for (int i = 0; i < 20; i++) {
        pen_oob_serve(blocks[0].oob);
        expect_no_news(0);
    }
    pen_oob_close(blocks[0].oob);
    blocks[0].oob = NULL;
    assert_int_equal(await_news(1).code, 0);
    close_all();
}

/* ---- strangers ------------------------------------------------------------------------------- */

static int call_centre(void)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Before the blocks come, strangers connect. They send nothing, noise, heads of every kind without
 * a key, or long lengths. All of them are refused, and the job begins. */
static void strangers_do_not_disturb(void **state)
{
    (void)state;
    enum { STRANGERS = 60 };
    int fds[STRANGERS];
    prepare(60);
    for (uint32_t i = 0; i < STRANGERS; i++) {
        char message[sizeof(oob_head) + PEN_SEAL_TAG_LEN];
        const oob_head head = { .from = i % (BLOCKS + 2),
                                .kind = i % 8,
                                .number = i,
                                .len = i % 5 == 4 ? UINT32_MAX : 0,
                                .counter = i };
        pen_random(message, sizeof message);
        if (i % 3 != 0)
            memcpy(message, &head, sizeof head);
        fds[i] = call_centre();
        if (i % 7 != 0)
            assert_int_equal(write(fds[i], message, i % 11 == 10 ? 5 : sizeof message),
                             i % 11 == 10 ? 5 : sizeof message);
    }
    open_blocks(BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_null(blocks[i].error);
    for (uint32_t i = 0; i < STRANGERS; i++)
        (void)close(fds[i]);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_null(pen_oob_meet(blocks[i].oob, TAG, NULL, 0));
    assert_int_equal(await_news(4).kind, PEN_PMIX_FENCED);
    close_all();
}

static void who_has_another_key_is_refused(void **state)
{
    (void)state;
    uint8_t wrong[PEN_SEAL_KEY_LEN];
    prepare(1.5);
    pen_random(wrong, sizeof wrong);
    blocks[2].params.job_key = wrong;
    open_blocks(BLOCKS);
    assert_non_null(strstr(blocks[0].error, "not all hosts have connected"));
    assert_non_null(strstr(blocks[2].error, "no address of rank 0's host leads to it"));
    assert_null(blocks[1].error);
    close_all();
}

/* At one of the centre's addresses somebody else listens, and answers with noise. */
static void *answer_with_noise(void *ctx)
{
    const int fd = accept(*(int *)ctx, NULL, NULL);
    char noise[sizeof(oob_head) + PEN_SEAL_TAG_LEN];
    pen_random(noise, sizeof noise);
    if (fd >= 0) {
        (void)!write(fd, noise, sizeof noise);
        (void)close(fd);
    }
    return NULL;
}

static void an_address_that_leads_elsewhere_is_passed_over(void **state)
{
    (void)state;
    prepare(60);
    /* the same port at another address of loopback */
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1) };
    const int on = 1;
    (void)close(listener);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in ours = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof ours;
    assert_int_equal(bind(listener, (const struct sockaddr *)&ours, len), 0);
    assert_int_equal(listen(listener, 10), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&ours, &len), 0);
    int elsewhere = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(elsewhere, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    at.sin_port = ours.sin_port;
    assert_int_equal(bind(elsewhere, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(elsewhere, 10), 0);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        blocks[i].params.addresses = "127.0.0.2,127.0.0.1";
        blocks[i].params.port = ntohs(ours.sin_port);
    }
    blocks[0].params.listener = listener;
    pthread_t stranger;
    assert_int_equal(pthread_create(&stranger, NULL, answer_with_noise, &elsewhere), 0);
    open_blocks(BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_null(blocks[i].error);
    (void)pthread_join(stranger, NULL);
    (void)close(elsewhere);
    close_all();
}

/* A message that is changed on its way, or sent twice, closes its connection. So does a kind that
 * its sender may not send, and a message of another block. */
static void invalid_messages_close_a_connection(void **state)
{
    (void)state;
    enum { CHANGED, TWICE, WRONG_WAY, TWO_MEETINGS, ANOTHER_BLOCK, CASES };
    for (int what = 0; what < CASES; what++) {
        open_all();
        pen_oob *from = blocks[4].oob;
        oob_line *line = &from->lines[0];
        char message[sizeof(oob_head) + PEN_SEAL_TAG_LEN];
        const uint32_t sender = what == ANOTHER_BLOCK ? 3 : 4;
        oob_head head = { .from = sender,
                          .kind = what == WRONG_WAY ? OOB_ALL : OOB_COME,
                          .number = TAG };
        memcpy(message, &head, sizeof head);
        assert_true(pen_seal_protect(blocks[sender].oob->seal, 0, message, sizeof head, 0));
        memcpy(&head, message, sizeof head);
        head.number = what == CHANGED ? OTHER_TAG : TAG;
        memcpy(message, &head, sizeof head);
        assert_int_equal(send(line->fd, message, sizeof message, 0), sizeof message);
        if (what == TWICE)
            assert_int_equal(send(line->fd, message, sizeof message, 0), sizeof message);
        if (what == TWO_MEETINGS)
            assert_null(pen_oob_meet(from, TAG, NULL, 0));
        const pen_pmix_news news = await_news(0);
        assert_int_equal(news.kind, PEN_PMIX_PEER_LOST);
        assert_int_equal(news.code, 40);
        close_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_meet_and_see_each_others_bodies),
        cmocka_unit_test(meetings_of_two_tags_do_not_mix),
        cmocka_unit_test(a_word_reaches_all_others),
        cmocka_unit_test(a_closed_connection_is_a_lost_rank_if_it_had_joined),
        cmocka_unit_test(strangers_do_not_disturb),
        cmocka_unit_test(who_has_another_key_is_refused),
        cmocka_unit_test(an_address_that_leads_elsewhere_is_passed_over),
        cmocka_unit_test(invalid_messages_close_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
