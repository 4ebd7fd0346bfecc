/* SPDX-License-Identifier: BSD-3-Clause */
/* job_test.c: ranks as threads of this process, over a real arena and a real conduit: joining,
 * publishing segments, pairs, threads, and ends. */
#include "job/job.h"

#include "boot/arena.h"
#include "job/job_internal.h"
#include "job/publish.h"
#include "os/os.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { RANKS_MAX = 4, PAGES = 8 };

typedef struct crew crew;

typedef struct member { /* one rank; its thread runs `body` with the job open */
    crew *crew;
    pthread_t thread;
    pen_job job;
    pen_job_params params;
    pen_status status;
    _Atomic unsigned delivered;
    unsigned wrong; /* expectations that failed: cmocka's asserts belong to the main thread */
} member;

struct crew {
    pen_arena arena;
    uint32_t size;
    void (*body)(member *);
    member members[RANKS_MAX];
};

#define EXPECT(member, cond)                                                   \
    do {                                                                       \
        if (!(cond)) {                                                         \
            (member)->wrong++;                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
        }                                                                      \
    } while (0)

static void count_delivery(void *ctx, pen_peer from, pen_lane lane, const void *head,
                           uint32_t head_len, void *body, uint32_t body_len)
{
    member *m = pen_container_of(ctx, member, job);
    (void)body, (void)body_len;
    atomic_fetch_add(&m->delivered, 1);
    if (lane == PEN_LANE_REQUEST) { /* answer it */
        pen_frame frame = { head, NULL, head_len, 0 };
        EXPECT(m, pen_port_post_or_queue(m->job.routes[from].port, &m->job.counters, from,
                                         PEN_LANE_REPLY, &frame) == PEN_OK);
    }
}

static int start_on_first_cpu(void);
static void look_at_processors(member *m);

static void *member_run(void *arg)
{
    member *m = arg;
    uint32_t rank = (uint32_t)(m - m->crew->members);
    pen_log_init(&m->job.log, "");
    m->job.log.fd = -1;
    m->status =
        pen_boot_attach(&m->job.log, dup(m->crew->arena.fd), NULL, -1, rank, "none", &m->job.boot);
    if (m->status != PEN_OK)
        return NULL;
    m->params.clock = pen_machine_clock;
    if (m->crew->body == look_at_processors)
        (void)start_on_first_cpu();
    m->status = pen_job_open(&m->job, &m->params);
    if (m->status == PEN_OK) {
        m->crew->body(m);
        EXPECT(m, pen_boot_barrier(&m->job.boot) == PEN_OK);
        pen_job_close(&m->job);
    }
    pen_boot_close(&m->job.boot);
    return NULL;
}

static crew *crew_make(uint32_t size, uint32_t mode, void (*body)(member *))
{
    static const pen_boot_needs needs = { .conduit_len = pen_conduit_shared_max };
    char *environment[] = { NULL };
    pen_log log;
    pen_log_init(&log, "");
    crew *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->size = size;
    c->body = body;
    assert_int_equal(pen_arena_create(&log, size, &needs, environment, 0, &c->arena), PEN_OK);
    for (uint32_t rank = 0; rank < size; rank++) {
        c->members[rank].crew = c;
        c->members[rank].params = (pen_job_params){ .mode = mode,
                                                    .segment_mode = PEN_SEGMENT_FAST,
                                                    .segment_max = "64M",
                                                    .deliver = count_delivery };
    }
    return c;
}

/* Runs all ranks; answers the status they agree on. */
static pen_status crew_run(crew *c)
{
    for (uint32_t rank = 0; rank < c->size; rank++)
        assert_int_equal(
            pthread_create(&c->members[rank].thread, NULL, member_run, &c->members[rank]), 0);
    for (uint32_t rank = 0; rank < c->size; rank++)
        assert_int_equal(pthread_join(c->members[rank].thread, NULL), 0);
    pen_status status = c->members[0].status;
    for (uint32_t rank = 0; rank < c->size; rank++) {
        assert_int_equal(c->members[rank].status, status);
        assert_int_equal(c->members[rank].wrong, 0);
    }
    pen_arena_destroy(&c->arena);
    free(c);
    return status;
}

static pen_status run(uint32_t size, uint32_t mode, void (*body)(member *))
{
    return crew_run(crew_make(size, mode, body));
}

/* ---- joining --------------------------------------------------------------------------------- */

static void look_at_objects(member *m)
{
    pen_job *job = &m->job;
    EXPECT(m, job->world.view.rank == job->rank && job->world.view.size == m->crew->size);
    EXPECT(m, job->world.view.mapped_count == 0);
    EXPECT(m, job->world.endpoint == &job->endpoint && job->endpoint.client == &job->client);
    EXPECT(m, job->client.job == job && job->endpoint.index == 0);
    EXPECT(m, job->frame_max >= 512);
    for (uint32_t rank = 0; rank < job->size; rank++) {
        EXPECT(m, job->routes[rank].peer == rank && job->routes[rank].same_host);
        EXPECT(m, pen_team_route(&job->world, rank) == &job->routes[rank]);
    }
    EXPECT(m, strcmp(job->log.conduit, job->conduit->name) == 0);
}

static void a_rank_alone_opens_and_closes(void **state)
{
    (void)state;
    assert_int_equal(run(1, PEN_MODE_SEQ, look_at_objects), PEN_OK);
}

static void three_ranks_find_each_other(void **state)
{
    (void)state;
    assert_int_equal(run(3, PEN_MODE_PAR, look_at_objects), PEN_OK);
}

static void nothing(member *m) { (void)m; }

static void ranks_that_disagree_about_everything_are_refused(void **state)
{
    (void)state;
    crew *c = crew_make(3, PEN_MODE_SEQ, nothing);
    c->members[2].params.segment_mode = PEN_SEGMENT_EVERYTHING;
    assert_int_equal(crew_run(c), PEN_ERR_PROTOCOL);
}

static void a_conduit_that_is_not_there_is_refused(void **state)
{
    (void)state;
    assert_int_equal(setenv("PENSTOCK_CONDUIT", "carrier-pigeon", 1), 0);
    assert_int_equal(run(2, PEN_MODE_SEQ, nothing), PEN_ERR_UNUSABLE);
    assert_int_equal(unsetenv("PENSTOCK_CONDUIT"), 0);
}

static void a_value_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    assert_int_equal(setenv("GASNET_MAX_THREADS", "0", 1), 0);
    assert_int_equal(run(1, PEN_MODE_SEQ, nothing), PEN_ERR_ARGUMENT);
    assert_int_equal(setenv("GASNET_MAX_THREADS", "many", 1), 0);
    assert_int_equal(run(1, PEN_MODE_SEQ, nothing), PEN_ERR_ARGUMENT);
    assert_int_equal(unsetenv("GASNET_MAX_THREADS"), 0);
}

/* ---- segment limits -------------------------------------------------------------------------- */

static void expect_64m(member *m)
{
    EXPECT(m, pen_job_segment_max_local(&m->job) == 64 << 20);
    EXPECT(m, pen_job_segment_max_global(&m->job) == 64 << 20);
}

static void expect_8m(member *m) { EXPECT(m, pen_job_segment_max_local(&m->job) == 8 << 20); }

static void expect_least_of_two(member *m)
{
    EXPECT(m, pen_job_segment_max_local(&m->job) == (m->job.rank == 1 ? 1u << 20 : 64u << 20));
    EXPECT(m, pen_job_segment_max_global(&m->job) == 1 << 20);
}

static void expect_pages(member *m)
{
    uintptr_t max = pen_job_segment_max_local(&m->job);
    EXPECT(m, max > 0 && max % pen_page_len() == 0);
    EXPECT(m, max <= pen_memory_physical() / m->job.size);
}

static void expect_everything(member *m)
{
    EXPECT(m, pen_job_segment_max_local(&m->job) == UINTPTR_MAX);
    EXPECT(m, pen_job_segment_max_global(&m->job) == UINTPTR_MAX);
}

static void the_segment_limit_follows_client_and_environment(void **state)
{
    (void)state;
    assert_int_equal(run(2, PEN_MODE_SEQ, expect_64m), PEN_OK);
    assert_int_equal(setenv("GASNET_MAX_SEGSIZE", "16M/H", 1), 0); /* beats the client's own */
    assert_int_equal(run(2, PEN_MODE_SEQ, expect_8m), PEN_OK);
    assert_int_equal(unsetenv("GASNET_MAX_SEGSIZE"), 0);
    crew *c = crew_make(2, PEN_MODE_SEQ, expect_least_of_two);
    c->members[1].params.segment_max = "1M";
    assert_int_equal(crew_run(c), PEN_OK);
    c = crew_make(2, PEN_MODE_SEQ, expect_pages);
    c->members[0].params.segment_max = c->members[1].params.segment_max = NULL; /* 0.85/H */
    assert_int_equal(crew_run(c), PEN_OK);
    c = crew_make(1, PEN_MODE_SEQ, expect_everything);
    c->members[0].params.segment_mode = PEN_SEGMENT_EVERYTHING;
    assert_int_equal(crew_run(c), PEN_OK);
}

/* ---- publishing ------------------------------------------------------------------------------ */

static pen_segment *publish_own(member *m, size_t pages)
{
    pen_segment *segment = NULL;
    EXPECT(m, pen_mem_create(&m->job.mem, &m->job.log, NULL, pages * pen_page_len(), &segment) ==
                  PEN_OK);
    EXPECT(m, pen_job_publish(&m->job, segment) == PEN_OK);
    return segment;
}

static void check_peer(member *m, uint32_t rank)
{
    const pen_remote_segment *row = &m->job.mem.remote[0][rank];
    const pen_mapped *shown = &m->job.mapped[0][rank];
    EXPECT(m, row->len == (rank + 1) * pen_page_len() && row->mapped && row->number != 0);
    EXPECT(m, shown->base == row->base && shown->len == row->len && shown->delta == row->delta);
    EXPECT(m, rank != m->job.rank || row->delta == 0);
    /* Every rank writes a word into every segment, through its own mapping. */
    uint32_t *words = (uint32_t *)(void *)((char *)(uintptr_t)row->base + row->delta);
    words[m->job.rank] = 1000 * m->job.rank + rank;
}

static void publish_and_write(member *m)
{
    pen_job *job = &m->job;
    pen_segment *segment = publish_own(m, job->rank + 1);
    for (uint32_t rank = 0; rank < job->size; rank++)
        check_peer(m, rank);
    EXPECT(m, pen_boot_barrier(&job->boot) == PEN_OK);
    for (uint32_t rank = 0; rank < job->size; rank++)
        EXPECT(m, ((uint32_t *)(void *)segment->base)[rank] == 1000 * rank + job->rank);
    EXPECT(m, job->attached);
    EXPECT(m, job->world.view.mapped_first == 0);
    EXPECT(m, job->world.view.mapped_count == (PEN_CHECKED ? 0 : job->size));
    EXPECT(m, job->world.view.mapped == job->mapped[0]);
}

static void a_published_segment_is_written_by_every_peer(void **state)
{
    (void)state;
    assert_int_equal(run(4, PEN_MODE_SEQ, publish_and_write), PEN_OK);
}

static void publish_nothing_then_adopted_memory(member *m)
{
    static char own[RANKS_MAX][64];
    pen_job *job = &m->job;
    pen_segment *segment = NULL;
    uint32_t peer = 1 - job->rank;
    EXPECT(m, pen_job_publish(job, NULL) == PEN_OK);
    EXPECT(m, job->mem.remote[0][peer].len == 0 && job->mapped[0][peer].len == 0);
    EXPECT(m, pen_mem_create(&job->mem, &job->log, own[job->rank], 64, &segment) == PEN_OK);
    EXPECT(m, pen_job_publish(job, segment) == PEN_OK);
    const pen_remote_segment *row = &job->mem.remote[0][peer];
    EXPECT(m, row->base == (uint64_t)(uintptr_t)own[peer] && row->len == 64);
    EXPECT(m, !row->mapped && job->mapped[0][peer].len == 0); /* only its own process sees it */
    EXPECT(m, job->mapped[0][job->rank].len == 64);
    EXPECT(m, pen_job_publish(job, segment) == PEN_OK); /* again */
}

static void publishing_may_be_repeated_and_may_be_of_any_memory(void **state)
{
    (void)state;
    assert_int_equal(run(2, PEN_MODE_SEQ, publish_nothing_then_adopted_memory), PEN_OK);
}

static void ask_before_publishing(member *m)
{
    pen_job *job = &m->job;
    if (job->rank == 1) { /* rank 0 is in the call already, and must still answer */
        uint64_t head[1] = { 0 };
        pen_frame frame = { head, NULL, 8, 0 };
        (void)usleep(20000);
        EXPECT(m, pen_port_post(job->routes[0].port, 0, PEN_LANE_REQUEST, &frame, NULL) ==
                      PEN_POST_DONE);
        while (atomic_load(&m->delivered) == 0)
            (void)pen_progress_poll(&job->progress);
    }
    (void)publish_own(m, 1);
}

static void who_publishes_still_answers(void **state)
{
    (void)state;
    assert_int_equal(run(2, PEN_MODE_SEQ, ask_before_publishing), PEN_OK);
}

static void publish_in_everything(member *m)
{
    (void)publish_own(m, 1);
    EXPECT(m, m->job.world.view.mapped_count == 0);
    EXPECT(m, m->job.mem.everything);
}

static void in_an_everything_job_nothing_is_shown_to_inline_code(void **state)
{
    (void)state;
    crew *c = crew_make(2, PEN_MODE_SEQ, publish_in_everything);
    c->members[0].params.segment_mode = c->members[1].params.segment_mode = PEN_SEGMENT_EVERYTHING;
    assert_int_equal(crew_run(c), PEN_OK);
}

/* ---- pairs and threads ----------------------------------------------------------------------- */

static void make_pairs(member *m)
{
    pen_job *job = &m->job;
    pen_team *pair = pen_job_pair(job, 0, 0), *other = NULL;
    EXPECT(m, pair != NULL && pair->is_pair && pair->view.size == 0);
    EXPECT(m, pen_job_pair(job, 0, 0) == pair);
    for (uint16_t index = 1; index < 20; index++) {
        other = pen_job_pair(job, 0, index);
        EXPECT(m, other != NULL && other != pair && other->pair_index == index);
    }
    EXPECT(m, pen_job_pair(job, 1, 0) == NULL);
    (void)publish_own(m, 1); /* pairs made before see it */
    EXPECT(m, pair->view.mapped_count == job->world.view.mapped_count);
    EXPECT(m, pair->view.mapped == job->world.view.mapped);
    EXPECT(m, other->view.mapped_count == 0);
    EXPECT(m, pen_team_jobrank(pair, 1) == 1);
}

static void a_pair_is_made_once_and_sees_what_is_published(void **state)
{
    (void)state;
    assert_int_equal(run(2, PEN_MODE_SEQ, make_pairs), PEN_OK);
}

static void take_threads(member *m)
{
    pen_job *job = &m->job;
    pen_thread *first = pen_job_thread_open(job), *second = pen_job_thread_open(job);
    pen_thread *third = pen_job_thread_open(job);
    EXPECT(m, first == &job->first_thread && second != NULL && third != NULL && second != third);
    EXPECT(m, pen_job_thread_open(job) == NULL); /* GASNET_MAX_THREADS=3 */
    pen_job_thread_close(second);
    EXPECT(m, pen_job_thread_open(job) == second);
    pen_job_thread_close(first);
    pen_job_thread_close(second);
    pen_job_thread_close(third);
    EXPECT(m, job->thread_count == 0);
    EXPECT(m, pen_job_thread_open(job) != NULL);
}

static void take_threads_alone(member *m)
{
    EXPECT(m, pen_job_thread_open(&m->job) == &m->job.first_thread);
    EXPECT(m, pen_job_thread_open(&m->job) == &m->job.first_thread);
    EXPECT(m, m->job.threads_max == 1);
}

static void threads_are_counted_while_they_live(void **state)
{
    (void)state;
    assert_int_equal(setenv("GASNET_MAX_THREADS", "3", 1), 0);
    assert_int_equal(run(1, PEN_MODE_PAR, take_threads), PEN_OK);
    assert_int_equal(unsetenv("GASNET_MAX_THREADS"), 0);
    assert_int_equal(run(1, PEN_MODE_SEQ, take_threads_alone), PEN_OK);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void lose_peer(pen_job *job) { job->host.peer_lost(job, 1, PEN_ERR_PEER_LOST); }

static void lose_all(pen_job *job) { job->host.peer_lost(job, PEN_PEER_ANY, PEN_ERR_SYSTEM); }

static void lose_peer_while_ending(pen_job *job)
{
    atomic_store(&job->ending, true);
    job->host.peer_lost(job, 1, PEN_ERR_PEER_LOST);
    _exit(33);
}

/* Runs `end` in a child; returns its wait status and its output. */
static int end_of(pen_job *job, void (*end)(pen_job *), char line[1024])
{
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        job->log.fd = ends[1];
        end(job);
        _exit(0);
    }
    close(ends[1]);
    ssize_t len = read(ends[0], line, 1023);
    line[len > 0 ? len : 0] = '\0';
    close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static bool is_fatal(int status)
{
    return PEN_CHECKED ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT
                       : WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void lose_peers(member *m)
{
    char line[1024];
    EXPECT(m, is_fatal(end_of(&m->job, lose_peer, line)));
    EXPECT(m, strstr(line, "lost rank 1") != NULL && strchr(line, '\n') == line + strlen(line) - 1);
    EXPECT(m, is_fatal(end_of(&m->job, lose_all, line)));
    EXPECT(m, strstr(line, "all peers") != NULL);
    int status = end_of(&m->job, lose_peer_while_ending, line);
    EXPECT(m, WIFEXITED(status) && WEXITSTATUS(status) == 33 && line[0] == '\0');
}

static void a_lost_peer_ends_the_job_with_one_line_unless_it_is_ending(void **state)
{
    (void)state;
    assert_int_equal(run(1, PEN_MODE_SEQ, lose_peers), PEN_OK);
}

static void print_some(pen_job *job)
{
    job->counters.am_handled = 17;
    pen_job_print_counters(job);
}

static void print_counters(member *m)
{
    char line[1024];
    EXPECT(m, end_of(&m->job, print_some, line) == 0);
    EXPECT(m, strstr(line, "penstock[rank 0] counters:") == line);
    EXPECT(m, strstr(line, " am_handled=17") != NULL);
    EXPECT(m, strstr(line, "frame_dropped") == NULL);
}

/* ---- processors of their own ------------------------------------------------------------------
 */

/* Moves this thread to the first processor of its mask, and gives it the mask back, as the kernel
 * may place a new process. Returns the number of processors in the mask. */
static int start_on_first_cpu(void)
{
    cpu_set_t mask, one;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0)
        return 0;
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &mask))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    (void)sched_setaffinity(0, sizeof mask, &mask);
    return CPU_COUNT(&mask);
}

static uint32_t cpu_of(const member *m, uint32_t rank)
{
    return atomic_load(&m->job.boot.page->ranks[rank].cpu);
}

/* All ranks have one processor at first. */
static void look_at_processors(member *m)
{
    EXPECT(m, pen_boot_barrier(&m->job.boot) == PEN_OK);
    const int cpus = start_on_first_cpu();
    bool fits = m->job.size <= m->job.boot.page->cores && cpus >= (int)m->job.size;
    EXPECT(m, (cpu_of(m, 0) != 0) == (m->job.size <= m->job.boot.page->cores));
    if (fits && m->job.rank > 0)
        EXPECT(m, cpu_of(m, 0) != cpu_of(m, 1));
    EXPECT(m, pen_boot_barrier(&m->job.boot) == PEN_OK);
    /* Once more, as if the kernel had brought the ranks together later. */
    atomic_store(&m->job.apart_next_ns, 0);
    (void)start_on_first_cpu();
    pen_job_show_cpu(&m->job);
    EXPECT(m, pen_boot_barrier(&m->job.boot) == PEN_OK);
    if (m->job.rank > 0)
        m->job.progress.on_shared(m->job.progress.on_idle_ctx);
    EXPECT(m, pen_boot_barrier(&m->job.boot) == PEN_OK);
    if (fits && m->job.rank > 0)
        EXPECT(m, cpu_of(m, 0) != cpu_of(m, 1));
    EXPECT(m, start_on_first_cpu() == cpus); /* the mask is whole */
}

static void ranks_keep_to_processors_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(run(2, PEN_MODE_SEQ, look_at_processors), PEN_OK);
}

static void ranks_that_outnumber_processors_stay_where_they_are(void **state)
{
    (void)state;
    assert_int_equal(run(RANKS_MAX, PEN_MODE_SEQ, look_at_processors), PEN_OK);
}

/* The job and its links copy by the host's table, not by one of their own. */
static void look_at_copies(member *m)
{
    const pen_copy_table *host = &m->job.boot.page->copies;
    EXPECT(m, host->own[0] == PEN_COPY_STRING);
    EXPECT(m, memcmp(m->job.copies.own, host->own, sizeof host->own) == 0);
    EXPECT(m, memcmp(m->job.copies.other, host->other, sizeof host->other) == 0);
    EXPECT(m, m->job.host.copies == &m->job.copies);
    EXPECT(m, m->job.lent_host.copies == &m->job.copies);
}

static void ranks_copy_as_the_host_was_measured(void **state)
{
    (void)state;
    assert_int_equal(setenv("PENSTOCK_COPIES", "string", 1), 0);
    if (pen_copy_usable(PEN_COPY_STRING))
        assert_int_equal(run(2, PEN_MODE_SEQ, look_at_copies), PEN_OK);
    assert_int_equal(unsetenv("PENSTOCK_COPIES"), 0);
}

static void counters_that_are_not_zero_are_printed_in_one_line(void **state)
{
    (void)state;
    assert_int_equal(run(1, PEN_MODE_SEQ, print_counters), PEN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_alone_opens_and_closes),
        cmocka_unit_test(three_ranks_find_each_other),
        cmocka_unit_test(ranks_that_disagree_about_everything_are_refused),
        cmocka_unit_test(a_conduit_that_is_not_there_is_refused),
        cmocka_unit_test(a_value_that_cannot_be_read_is_refused),
        cmocka_unit_test(the_segment_limit_follows_client_and_environment),
        cmocka_unit_test(a_published_segment_is_written_by_every_peer),
        cmocka_unit_test(publishing_may_be_repeated_and_may_be_of_any_memory),
        cmocka_unit_test(who_publishes_still_answers),
        cmocka_unit_test(in_an_everything_job_nothing_is_shown_to_inline_code),
        cmocka_unit_test(a_pair_is_made_once_and_sees_what_is_published),
        cmocka_unit_test(threads_are_counted_while_they_live),
        cmocka_unit_test(a_lost_peer_ends_the_job_with_one_line_unless_it_is_ending),
        cmocka_unit_test(ranks_keep_to_processors_of_their_own),
        cmocka_unit_test(ranks_that_outnumber_processors_stay_where_they_are),
        cmocka_unit_test(ranks_copy_as_the_host_was_measured),
        cmocka_unit_test(counters_that_are_not_zero_are_printed_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
