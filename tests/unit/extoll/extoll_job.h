/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll_job.h: links of the extoll conduit in one process, and a host for each that remembers what
 * came, what was logged and who was lost. */
#ifndef PEN_TESTS_UNIT_EXTOLL_JOB_H
#define PEN_TESTS_UNIT_EXTOLL_JOB_H

#include "conduits/extoll/extoll.h"
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MAX = 3, SETTINGS_MAX = 4, LINE_MAX_LEN = 512, MEMORY_LEN = 1 << 20 };

extern const pen_conduit pen_conduit_extoll;

typedef struct rank {
    pen_link *link;
    pen_host host;
    struct job *job;
    unsigned delivered, lost, lines;
    char line[LINE_MAX_LEN]; /* the last one logged */
    uint64_t head;           /* head word of the last frame */
    bool wrong;              /* a body, or memory that a frame spoke of, was not what was sent */
    unsigned char *memory;   /* registered, if `region` */
    pen_region *region;
    uint64_t granted; /* credits that it has said anything about, as of the last packet */
} rank;

typedef struct job {
    rank ranks[RANKS_MAX];
    pen_peer size;
    const char *settings[SETTINGS_MAX + 1]; /* "QUOTA=3", without PENSTOCK_EXTOLL_ */
    uint64_t config[PEN_CONDUIT_CONFIG_MAX / 8];
    void *shared;
    size_t shared_len;
} job;

/* ---- a host ---------------------------------------------------------------------------------- */

static unsigned char byte_of(uint64_t number, size_t i)
{
    return (unsigned char)(number * 31 + i * 7 + (i >> 8));
}

static bool is_filled(const unsigned char *bytes, size_t len, uint64_t number)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != byte_of(number, i))
            return false;
    return true;
}

static void fill(unsigned char *bytes, size_t len, uint64_t number)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_of(number, i);
}

/* A frame's first word is its number; a second word says how much memory was put before it. */
static void deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    rank *r = ctx;
    uint64_t words[2] = { 0 };
    (void)from, (void)lane;
    memcpy(words, head, head_len < sizeof words ? head_len : sizeof words);
    r->head = words[0];
    r->wrong = r->wrong || !is_filled(body, body_len, words[0]) ||
               !is_filled(r->memory, words[1], words[0]);
    r->delivered++;
}

static void note_line(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note_line(void *ctx, int level, const char *format, ...)
{
    rank *r = ctx;
    va_list args;
    (void)level;
    va_start(args, format);
    (void)vsnprintf(r->line, sizeof r->line, format, args);
    va_end(args);
    r->lines++;
}

static void note_loss(void *ctx, pen_peer peer, pen_status why)
{
    rank *r = ctx;
    assert_int_equal(peer, 1);
    assert_int_equal(why, PEN_ERR_PROTOCOL);
    r->lost++;
}

static uint64_t now(void *ctx)
{
    (void)ctx;
    return pen_now_ns();
}

static void *get_memory(void *ctx, size_t len, size_t align)
{
    void *memory = NULL;
    (void)ctx;
    return posix_memalign(&memory, align, len) == 0 ? memset(memory, 0xcd, len) : NULL;
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void *share(void *ctx, size_t *len)
{
    const rank *r = ctx;
    *len = r->job->shared_len;
    return r->job->shared;
}

/* Called after every packet, because no packet announces a sleeper. A granted slot has to be free
 * for the card as well by then: the peer may be as fast as that. (A packet that the card has
 * refused once
 * goes later, when more has come.) */
static void wake(void *ctx, pen_peer peer)
{
    rank *r = ctx;
    const extoll_link *link = extoll_of(r->link);
    uint64_t granted = 0;
    pen_card_counts counts;
    (void)peer;
    pen_card_count(link->card, &counts);
    for (uint32_t i = 0; i + 1 < link->peers; i++) {
        pen_credit_receiver_counters data, control;
        pen_credit_receiver_count(link->credits.data_receiver, i, &data);
        pen_credit_receiver_count(link->credits.control_receiver, i, &control);
        granted += data.grants + data.rides + data.recalls + control.grants;
    }
    assert_true(granted == r->granted || link->uncommitted == 0 || counts.retries > 0);
    r->granted = granted;
}

/* ---- a job ----------------------------------------------------------------------------------- */

static const char *find(void *ctx, const char *name)
{
    static const char prefix[] = "PENSTOCK_EXTOLL_";
    const job *j = ctx;
    assert_memory_equal(name, prefix, sizeof prefix - 1);
    name += sizeof prefix - 1;
    for (unsigned i = 0; j->settings[i] != NULL; i++)
        if (strncmp(j->settings[i], name, strlen(name)) == 0 && j->settings[i][strlen(name)] == '=')
            return j->settings[i] + strlen(name) + 1;
    return NULL;
}

static void job_read(job *j)
{
    pen_log log = { .fd = -1, .rank = -1 };
    assert_int_equal(pen_knob_read(&log, pen_conduit_extoll.knobs, j->config, find, j), PEN_OK);
}

static pen_status rank_open(job *j, pen_peer self)
{
    rank *r = &j->ranks[self];
    r->job = j;
    r->host = (pen_host){ .ctx = r,
                          .deliver = deliver,
                          .peer_lost = note_loss,
                          .now_ns = now,
                          .log = note_line,
                          .alloc = get_memory,
                          .release = release,
                          .shared = share,
                          .wake = wake };
    const pen_link_params params = {
        .host = &r->host, .self = self, .peers = j->size, .config = j->config
    };
    return pen_conduit_extoll.open(&params, &r->link);
}

static void job_open(job *j)
{
    char addresses[RANKS_MAX * PEN_ADDR_LEN_MAX];
    job_read(j);
    j->shared_len = pen_conduit_extoll.shared_len(j->size, j->config);
    assert_int_not_equal(j->shared_len, 0);
    j->shared = aligned_alloc(4096, pen_align_up(j->shared_len, 4096));
    assert_non_null(j->shared);
    memset(j->shared, 0, j->shared_len);
    for (pen_peer self = 0; self < j->size; self++) {
        rank *r = &j->ranks[self];
        assert_int_equal(rank_open(j, self), PEN_OK);
        r->memory = aligned_alloc(4096, MEMORY_LEN);
        assert_non_null(r->memory);
    }
    size_t len = j->ranks[0].link->caps.addr_len;
    for (pen_peer self = 0; self < j->size; self++)
        (void)j->ranks[self].link->ops->address(j->ranks[self].link, addresses + self * len);
    for (pen_peer self = 0; self < j->size; self++)
        assert_int_equal(j->ranks[self].link->ops->connect(j->ranks[self].link, addresses, j->size),
                         PEN_OK);
}

static void job_close(job *j)
{
    for (pen_peer self = 0; self < j->size; self++) {
        rank *r = &j->ranks[self];
        if (r->region != NULL)
            r->link->rma->deregister_region(r->link, r->region);
        r->link->ops->close(r->link);
        free(r->memory);
    }
    free(j->shared);
}

static void poll_all(job *j)
{
    for (pen_peer self = 0; self < j->size; self++)
        (void)j->ranks[self].link->ops->poll(j->ranks[self].link, PEN_LANES_ALL, 32);
}

static uint64_t deadline(void) { return pen_now_ns() + UINT64_C(20000000000); }

static void await(job *j, pen_peer self, unsigned delivered)
{
    for (uint64_t until = deadline(); j->ranks[self].delivered < delivered;) {
        poll_all(j);
        assert_true(pen_now_ns() < until);
    }
}

static pen_post post(job *j, pen_peer from, pen_peer to, pen_lane lane, uint64_t number,
                     uint32_t body_len)
{
    static unsigned char body[EXTOLL_BODY_MAX];
    pen_link *link = j->ranks[from].link;
    const uint64_t head[2] = { number, 0 };
    fill(body, body_len, number);
    const pen_frame frame = {
        .head = head, .head_len = sizeof head, .body = body, .body_len = body_len
    };
    return link->ops->post(link, to, lane, &frame, NULL);
}

static void post_sure(job *j, pen_peer from, pen_peer to, pen_lane lane, uint64_t number,
                      uint32_t body_len)
{
    for (uint64_t until = deadline(); post(j, from, to, lane, number, body_len) != PEN_POST_DONE;) {
        poll_all(j);
        assert_true(pen_now_ns() < until);
    }
}

static inline pen_card_counts counts_of(const job *j, pen_peer self)
{
    pen_card_counts counts;
    pen_card_count(extoll_of(j->ranks[self].link)->card, &counts);
    return counts;
}

/* Frames of all lanes and lengths, from every rank to every other rank. */
static void poll_one(job *j, pen_peer self)
{
    (void)j->ranks[self].link->ops->poll(j->ranks[self].link, PEN_LANES_ALL, 32);
}

static inline void exchange(job *j, unsigned each)
{
    for (unsigned i = 0; i < each; i++)
        for (pen_peer from = 0; from < j->size; from++)
            for (pen_peer to = 0; to < j->size; to++)
                if (to != from)
                    post_sure(j, from, to, (pen_lane)(i % PEN_LANES), i,
                              i % 10 == 9 ? EXTOLL_BODY_MAX : i % 4 * 50);
    for (pen_peer self = 0; self < j->size; self++) {
        await(j, self, each * (j->size - 1));
        assert_int_equal(j->ranks[self].delivered, each * (j->size - 1));
        assert_false(j->ranks[self].wrong);
        assert_int_equal(j->ranks[self].lost, 0);
    }
}

#endif
