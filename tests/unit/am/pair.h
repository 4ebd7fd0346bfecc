/* SPDX-License-Identifier: BSD-3-Clause */
/* pair.h: two ranks in one process, joined by queues, as active messages see them: a link whose
 * room, limits and optional families a test can change. Everything is decided by one thread. */
#ifndef PEN_TESTS_UNIT_AM_PAIR_H
#define PEN_TESTS_UNIT_AM_PAIR_H

#include "am/am.h"
#include "am/wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PAIR_QUEUE = 512, PAIR_OPS = 64, PAIR_FRAME_MAX = 4096 };

typedef struct pair_frame {
    uint64_t head[PEN_FRAME_HEAD_MAX / 8];
    uint32_t head_len, body_len;
    pen_peer from;
    void *body; /* 16-aligned, or NULL */
} pair_frame;

typedef struct pair_put { /* lands when its poster polls */
    void *to;
    const void *from;
    size_t len;
    void *as_posted; /* copy of a kept body, which must stay unchanged until it is released */
} pair_put;

typedef struct pair_end {
    pen_link base;
    struct pair_end *ends; /* both */
    pair_frame queue[PEN_LANES][PAIR_QUEUE];
    uint32_t first[PEN_LANES], count[PEN_LANES];
    uint32_t room[PEN_LANES]; /* frames this end takes before it answers AGAIN */
    pen_op *ops[PAIR_OPS]; /* operations of frames that this end posted and still reads or moves */
    pair_put puts[PAIR_OPS];
    uint32_t op_count;
    uint32_t posts;   /* answered DONE or PENDING */
    bool serves_peer; /* polling this end lets the peer poll, too */
    bool reserved;
    char *segment_of_peer; /* memory that put reaches */
    uint32_t place_max;    /* largest reserved body */
    _Alignas(16) char place[PAIR_FRAME_MAX];
} pair_end;

typedef struct pair {
    pen_job jobs[2];
    pair_end ends[2];
} pair;

/* ---- the link -------------------------------------------------------------------------------- */

static void *pair_copy(const void *from, uint32_t len)
{
    void *to = NULL;
    if (len == 0)
        return NULL;
    assert_int_equal(posix_memalign(&to, 16, len), 0);
    memcpy(to, from, len);
    return to;
}

static void pair_hold(pair_end *end, pen_op *op, pair_put put)
{
    assert_true(end->op_count < PAIR_OPS);
    end->puts[end->op_count] = put;
    end->ops[end->op_count++] = op;
}

static pen_post pair_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                          pen_op *op)
{
    pair_end *end = (pair_end *)link, *target = &end->ends[to];
    if (target->count[lane] >= target->room[lane])
        return PEN_POST_AGAIN;
    assert_true(frame->head_len <= PEN_FRAME_HEAD_MAX && frame->head_len % 8 == 0);
    assert_true(frame->body_len <= link->caps.frame_max);
    pair_frame *slot =
        &target->queue[lane][(target->first[lane] + target->count[lane]++) % PAIR_QUEUE];
    *slot = (pair_frame){ .head_len = frame->head_len,
                          .body_len = frame->body_len,
                          .from = link->self,
                          .body = pair_copy(frame->body, frame->body_len) };
    memcpy(slot->head, frame->head, frame->head_len);
    end->posts++;
    if (frame->body_len <= link->caps.frame_copy_max)
        return PEN_POST_DONE;
    assert_non_null(op);
    pair_hold(
        end, op,
        (pair_put){ NULL, frame->body, frame->body_len, pair_copy(frame->body, frame->body_len) });
    return PEN_POST_PENDING;
}

static unsigned pair_deliver(pair_end *end, unsigned lanes)
{
    unsigned handled = 0;
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++) {
        while ((lanes & PEN_LANE_BIT(lane)) != 0 && end->count[lane] != 0) {
            pair_frame frame = end->queue[lane][end->first[lane]++ % PAIR_QUEUE];
            end->count[lane]--;
            const pen_host *host = end->base.host;
            host->deliver(host->ctx, frame.from, lane, frame.head, frame.head_len, frame.body,
                          frame.body_len);
            free(frame.body);
            handled++;
        }
    }
    return handled;
}

static unsigned pair_land(pair_end *end)
{
    unsigned landed = 0;
    while (end->op_count != 0) {
        pen_op *op = end->ops[--end->op_count];
        pair_put put = end->puts[end->op_count];
        if (put.as_posted != NULL)
            assert_memory_equal(put.from, put.as_posted, put.len);
        else
            memcpy(put.to, put.from, put.len);
        free(put.as_posted);
        pen_op_source_done(op);
        pen_op_done(op);
        landed++;
    }
    return landed;
}

static unsigned pair_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    pair_end *end = (pair_end *)link;
    (void)budget;
    if (end->serves_peer)
        (void)pair_deliver(&end->ends[1 - link->self], PEN_LANES_ALL);
    return pair_land(end) + pair_deliver(end, lanes);
}

static void pair_close_link(pen_link *link)
{
    pair_end *end = (pair_end *)link;
    (void)pair_land(end);
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++)
        for (; end->count[lane] != 0; end->count[lane]--)
            free(end->queue[lane][end->first[lane]++ % PAIR_QUEUE].body);
}

static const pen_link_ops pair_ops = { .close = pair_close_link,
                                       .post = pair_post,
                                       .poll = pair_poll };

static pen_post pair_rma_put(pen_link *link, pen_peer to, uint64_t offset, pen_rkey key,
                             const void *local, pen_region *region, size_t len, pen_op *op)
{
    pair_end *end = (pair_end *)link;
    (void)to, (void)region;
    assert_int_equal(key, 77);
    if (end->op_count == PAIR_OPS)
        return PEN_POST_AGAIN;
    pair_hold(end, op, (pair_put){ end->segment_of_peer + offset, local, len, NULL });
    return PEN_POST_PENDING;
}

__attribute__((unused)) static const pen_rma_ops pair_rma = { .put = pair_rma_put };

static void *pair_reserve(pen_link *link, pen_peer to, pen_lane lane, uint32_t body_len_max)
{
    pair_end *end = (pair_end *)link, *target = &end->ends[to];
    assert_true(body_len_max <= sizeof end->place && !end->reserved);
    if (target->count[lane] >= target->room[lane] || body_len_max > end->place_max)
        return NULL;
    end->reserved = true;
    return end->place;
}

static void pair_commit(pen_link *link, pen_peer to, pen_lane lane, void *body, const void *head,
                        uint32_t head_len, uint32_t body_len)
{
    pair_end *end = (pair_end *)link;
    assert_true(end->reserved && body == end->place);
    end->reserved = false;
    pen_frame frame = { head, body, head_len, body_len };
    assert_int_equal(pair_post(link, to, lane, &frame, NULL), PEN_POST_DONE);
}

static void pair_cancel(pen_link *link, pen_peer to, pen_lane lane, void *body)
{
    pair_end *end = (pair_end *)link;
    (void)to, (void)lane;
    assert_true(end->reserved && body == end->place);
    end->reserved = false;
}

__attribute__((unused)) static const pen_zcopy_ops pair_zcopy = { .reserve = pair_reserve,
                                                                  .commit = pair_commit,
                                                                  .cancel = pair_cancel };

/* ---- the two jobs ---------------------------------------------------------------------------- */

static void pair_open_rank(pair *p, uint32_t rank)
{
    static const pen_progress_config waiting = { 50e-6, 1e-3, false };
    pen_job *job = &p->jobs[rank];
    pair_end *end = &p->ends[rank];
    job->rank = rank;
    job->size = 2;
    job->mode = PEN_MODE_SEQ;
    job->frame_max = PAIR_FRAME_MAX;
    job->boot.control_fd = -1;
    pen_log_init(&job->log, "");
    job->log.fd = -1;
    job->host = (pen_host){ .ctx = job, .deliver = pen_am_deliver };
    end->ends = p->ends;
    end->place_max = PAIR_FRAME_MAX;
    end->base.ops = &pair_ops;
    end->base.host = &job->host;
    end->base.self = rank;
    end->base.caps = (pen_caps){ .flags = PEN_CAP_RELIABLE | PEN_CAP_SAME_HOST,
                                 .frame_max = PAIR_FRAME_MAX,
                                 .frame_copy_max = PAIR_FRAME_MAX,
                                 .put_max = 1000 };
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++)
        end->room[lane] = PAIR_QUEUE;
    pen_progress_init(&job->progress, PEN_ALONE, &waiting, NULL, &pen_machine_clock,
                      &job->counters);
    pen_port *port = pen_progress_add(&job->progress, &end->base);
    job->routes = calloc(2, sizeof *job->routes);
    assert_non_null(job->routes);
    for (uint32_t peer = 0; peer < 2; peer++)
        job->routes[peer] = (pen_route){ port, peer, true };
    job->world.job = job;
    job->world.view.size = 2;
    job->world.view.rank = rank;
    job->world.stride = 1;
    pen_job_use_express(job);
    pen_team_use_express(&job->world);
    job->first_thread.job = job;
    assert_int_equal(pen_mem_init(&job->mem, &job->log, PEN_ALONE, NULL, 0, 2, false, UINT64_MAX),
                     PEN_OK);
    job->mem.rank = rank;
    assert_int_equal(pen_am_open(job), PEN_OK);
}

static pair *pair_open(void)
{
    pair *p = calloc(1, sizeof *p);
    assert_non_null(p);
    pair_open_rank(p, 0);
    pair_open_rank(p, 1);
    return p;
}

static void pair_close(pair *p)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        pen_job *job = &p->jobs[rank];
        pen_am_close(job);
        p->ends[rank].base.ops->close(&p->ends[rank].base);
        pen_progress_close(&job->progress);
        pen_mem_close(&job->mem);
        free(job->routes);
    }
    free(p);
}

__attribute__((unused)) static void pair_settle(pair *p) /* polls both until nothing moves */
{
    unsigned handled;
    do {
        handled = pen_progress_poll(&p->jobs[0].progress);
        handled += pen_progress_poll(&p->jobs[1].progress);
    } while (handled != 0);
}

/* A handler at the same index of both ranks. */
#define pair_register(p, index, function) \
    pair_register_as((p), (index), (void (*)(void))(function), 0)

__attribute__((unused)) static void pair_register_as(pair *p, uint8_t index, void (*function)(void),
                                                     uint32_t flags)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        pen_am_entry entry = {
            .index = index, .function = function, .flags = flags, .arg_count = PEN_AM_ARGS_UNKNOWN
        };
        assert_int_equal(pen_am_register(&p->jobs[rank], &p->jobs[rank].log, &entry, 1), PEN_OK);
    }
}

/* The words of a message with these 32-bit arguments. */
__attribute__((unused)) static void pair_words(uint64_t words[PEN_AM_WORDS_MAX], unsigned count,
                                               const int32_t *args)
{
    memset(words, 0, PEN_AM_WORDS_MAX * sizeof *words);
    memcpy(&words[1], args, count * sizeof *args);
}

/* Rank 0's view of a segment of rank 1 at `base`. */
__attribute__((unused)) static void pair_publish(pair *p, char *base, size_t len, bool mapped)
{
    pen_segment *segment;
    assert_int_equal(pen_mem_create(&p->jobs[1].mem, &p->jobs[1].log, base, len, &segment), PEN_OK);
    pen_mem_expose(&p->jobs[1].mem, segment);
    p->jobs[0].mem.remote[0][1] = (pen_remote_segment){
        .base = (uint64_t)(uintptr_t)base, .len = len, .number = segment->number, .mapped = mapped
    };
}

/* Runs misuse(p) in a child and expects it to end the job with a line that holds `words`. */
__attribute__((unused)) static void pair_expect_fatal(pair *p, void (*misuse)(pair *),
                                                      const char *words)
{
    int ends[2], status;
    char line[2048] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        (void)signal(SIGABRT, SIG_DFL);
        p->jobs[0].log.fd = p->jobs[1].log.fd = ends[1];
        misuse(p);
        _exit(0);
    }
    close(ends[1]);
    for (size_t len = 0; len < sizeof line - 1;) {
        ssize_t got = read(ends[0], line + len, sizeof line - 1 - len);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (PEN_CHECKED)
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    else
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    if (strstr(line, words) == NULL)
        fail_msg("the line \"%s\" does not say \"%s\"", line, words);
}

#endif
