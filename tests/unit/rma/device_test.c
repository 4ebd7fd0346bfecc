/* SPDX-License-Identifier: BSD-3-Clause */
/* device_test.c: puts and gets with memory on a device at either end or both, to a peer and to
 * oneself, by every way; what they may not do. */
#include "rma/rma.h"

#include "am/am.h"
#include "support/rma_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LEN = 30000, HOST = 0, DEVICE = 1, SLOT = 14000 };

static const size_t lengths[] = { 1, 2, 3, 7, 8, 9, 63, 500, 512, 513, 1024, 4097, 13001 };
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* One place of memory, on the host or on a device. */
static char *base_of(ranks *world, uint32_t rank, int where)
{
    pen_job *job = &world->jobs[rank];
    return where == DEVICE ? job->endpoints[1]->segment->base : world->segments[rank];
}

static void poke(ranks *world, uint32_t rank, int where, char *at, const char *bytes, size_t len)
{
    pen_device *device = world->jobs[rank].mem.devices;
    if (where == DEVICE)
        assert_int_equal(device->kind->write(device, at, bytes, len), PEN_OK);
    else
        memcpy(at, bytes, len);
}

static void expect(ranks *world, uint32_t rank, int where, const char *at, const char *bytes,
                   size_t len)
{
    static char seen[SLOT];
    pen_device *device = world->jobs[rank].mem.devices;
    if (where == DEVICE)
        assert_int_equal(device->kind->read(device, seen, at, len), PEN_OK);
    else
        memcpy(seen, at, len);
    assert_memory_equal(seen, bytes, len);
}

typedef struct trial {
    ranks world;
    pen_thread *thread;
    pen_team *team;
    uint32_t rank;
    int local, remote; /* where each side is */
} trial;

static void put(trial *t, char *dest, const char *source, size_t len, uint32_t form)
{
    pen_event *leaf = PEN_EVENT_DONE, *event;
    switch (form % 4) {
    case 0:
        assert_int_equal(pen_rma_put(t->thread, t->team, t->rank, dest, source, len, 0), 0);
        break;
    case 1:
        event = pen_rma_put_nb(t->thread, t->team, t->rank, dest, source, len, PEN_LOCAL_LEAF,
                               &leaf, 0);
        pen_event_wait(t->thread->job, leaf, PEN_CALL_EVENT_WAIT);
        pen_event_wait(t->thread->job, event, PEN_CALL_EVENT_WAIT);
        break;
    case 2:
        event =
            pen_rma_put_nb(t->thread, t->team, t->rank, dest, source, len, PEN_LOCAL_NOW, NULL, 0);
        pen_event_wait(t->thread->job, event, PEN_CALL_EVENT_WAIT);
        break;
    default:
        (void)pen_rma_put_nbi(t->thread, t->team, t->rank, dest, source, len, PEN_LOCAL_GROUP, 0);
        pen_nbi_wait(t->thread, PEN_EC_PUT);
    }
}

static void get(trial *t, char *dest, const char *source, size_t len, uint32_t form)
{
    switch (form % 3) {
    case 0:
        assert_int_equal(pen_rma_get(t->thread, t->team, dest, t->rank, source, len, 0), 0);
        break;
    case 1:
        pen_event_wait(t->thread->job,
                       pen_rma_get_nb(t->thread, t->team, dest, t->rank, source, len, 0),
                       PEN_CALL_EVENT_WAIT);
        break;
    default:
        (void)pen_rma_get_nbi(t->thread, t->team, dest, t->rank, source, len, 0);
        pen_nbi_wait(t->thread, PEN_EC_GET);
    }
}

static void pattern(trial *t, char *bytes)
{
    for (size_t i = 0; i < SLOT; i++)
        bytes[i] = (char)ranks_random(&t->world, 256);
}

/* The bytes around a transfer stay as they were. */
static void one_length(trial *t, size_t len, uint32_t form)
{
    static char source[SLOT], before[SLOT], bytes[SLOT];
    size_t from = 1 + ranks_random(&t->world, 200), to = 1 + ranks_random(&t->world, 200);
    char *mine = base_of(&t->world, 0, t->local);
    char *theirs = base_of(&t->world, t->rank, t->remote) + SLOT; /* separate from the test's
                                                                   * memory */
    pattern(t, source);
    pattern(t, before);
    poke(&t->world, 0, t->local, mine, source, SLOT);
    poke(&t->world, t->rank, t->remote, theirs, before, SLOT);
    put(t, theirs + to, mine + from, len, form);
    memcpy(bytes, before, SLOT);
    memcpy(bytes + to, source + from, len);
    expect(&t->world, t->rank, t->remote, theirs, bytes, SLOT);
    get(t, mine + to, theirs + from, len, form);
    memcpy(before, source, SLOT);
    memcpy(before + to, bytes + from, len);
    expect(&t->world, 0, t->local, mine, before, SLOT);
    expect(&t->world, t->rank, t->remote, theirs, bytes, SLOT);
}

static void all_sides(ranks_params params)
{
    static trial t;
    params.size = 2;
    params.seed = 3;
    params.segment_len = LEN;
    rma_ranks_open(&t.world, &params);
    rma_ranks_add_devices(&t.world, LEN);
    t.thread = &t.world.jobs[0].first_thread;
    uint32_t form = 0;
    for (t.rank = 0; t.rank < 2; t.rank++)
        for (t.local = HOST; t.local <= DEVICE; t.local++)
            for (t.remote = HOST; t.remote <= DEVICE; t.remote++)
                for (uint32_t i = 0; i < LENGTHS * 2; i++) {
                    t.team = rma_ranks_pair(&t.world, 0, (uint16_t)t.local, (uint16_t)t.remote);
                    one_length(&t, lengths[i % LENGTHS], form++);
                }
    for (uint32_t rank = 0; rank < 2; rank++)
        assert_int_equal(t.world.jobs[rank].counters.frame_dropped, 0);
    rma_ranks_close(&t.world);
}

static void bytes_arrive_by_messages_wherever_both_sides_are(void **state)
{
    (void)state;
    all_sides((ranks_params){ 0 });
    all_sides((ranks_params){ .frame_max = 600, .room = 2, .again_percent = 40 });
    all_sides((ranks_params){ .concurrency = PEN_CONCURRENT });
}

static void bytes_arrive_in_mapped_memory_wherever_ours_is(void **state)
{
    (void)state;
    all_sides((ranks_params){ .mapped = true, .same_host = true });
}

static void bytes_arrive_where_the_link_moves_host_memory(void **state)
{
    (void)state;
    all_sides((ranks_params){ .link_moves = true, .again_percent = 20 });
}

static void bytes_arrive_where_the_kernel_copies_host_memory(void **state)
{
    (void)state;
    all_sides((ranks_params){ .everything = true, .same_host = true });
}

/* ---- what ends the job ----------------------------------------------------------------------- */

static rma_pair opened;
static char byte;

static void open_with_devices(ranks_params params)
{
    params.segment_len = LEN;
    rma_pair_open(&opened, params);
    rma_ranks_add_devices(&opened.world, 100);
}

static void put_beyond(void *ctx)
{
    (void)ctx;
    char *at = base_of(&opened.world, 1, DEVICE);
    (void)pen_rma_put(opened.thread, rma_ranks_pair(&opened.world, 0, 0, 1), 1, at + 100, &byte, 1,
                      0);
}

static void put_from_a_device_over_the_world(void *ctx)
{
    (void)ctx;
    (void)pen_rma_put(opened.thread, &opened.job->world, 1, opened.remote,
                      base_of(&opened.world, 0, DEVICE), 1, 0);
}

static void put_from_half_a_device(void *ctx)
{
    (void)ctx;
    (void)pen_rma_put(opened.thread, rma_ranks_pair(&opened.world, 0, 1, 0), 1, opened.remote,
                      base_of(&opened.world, 0, DEVICE) + 50, 51, 0);
}

static void put_to_an_endpoint_that_published_nothing(void *ctx)
{
    (void)ctx;
    (void)pen_rma_put(opened.thread, rma_ranks_pair(&opened.world, 0, 0, 7), 1, opened.remote,
                      &byte, 1, 0);
}

static void put_by_address(void *ctx) /* in an EVERYTHING job */
{
    (void)ctx;
    (void)pen_rma_put(opened.thread, &opened.job->world, 1, base_of(&opened.world, 1, DEVICE),
                      &byte, 1, 0);
}

static void wrong_uses_of_device_memory_end_the_job_in_words(void **state)
{
    (void)state;
    open_with_devices((ranks_params){ 0 });
    pen_job *job = opened.job;
    assert_true(ranks_dies(put_beyond, NULL, job, "outside its segment of endpoint 1"));
    assert_true(ranks_dies(put_from_a_device_over_the_world, NULL, job,
                           "not all in the segment of endpoint 0"));
    assert_true(
        ranks_dies(put_from_half_a_device, NULL, job, "not all in the segment of endpoint 1"));
    assert_true(ranks_dies(put_to_an_endpoint_that_published_nothing, NULL, job,
                           "no segment of its endpoint 7 is known here"));
    rma_ranks_close(&opened.world);
    open_with_devices((ranks_params){ .everything = true });
    assert_true(ranks_dies(put_by_address, NULL, opened.job, "is outside its segment"));
    rma_ranks_close(&opened.world);
}

/* Messages of a peer that no call of the library makes. */
static void a_memset_of_device_memory_is_refused(void **state)
{
    (void)state;
    open_with_devices((ranks_params){ 0 });
    const pen_remote_segment *row = &opened.peer->mem.remote[1][1];
    const int32_t args[7] = { 0, 0, (int32_t)row->number, 0, 0, 10, 5 };
    char seen[10];
    ranks_inject(&opened.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_MEMSET, 7, args, NULL, 0);
    for (int i = 0; i < 20; i++) {
        (void)pen_progress_poll(&opened.peer->progress);
        (void)pen_progress_poll(&opened.job->progress);
    }
    pen_device *device = opened.peer->mem.devices;
    assert_int_equal(
        device->kind->read(device, seen, base_of(&opened.world, 1, DEVICE), sizeof seen), PEN_OK);
    for (size_t i = 0; i < sizeof seen; i++)
        assert_int_equal(seen[i], 0);
    rma_ranks_close(&opened.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_by_messages_wherever_both_sides_are),
        cmocka_unit_test(bytes_arrive_in_mapped_memory_wherever_ours_is),
        cmocka_unit_test(bytes_arrive_where_the_link_moves_host_memory),
        cmocka_unit_test(bytes_arrive_where_the_kernel_copies_host_memory),
        cmocka_unit_test(wrong_uses_of_device_memory_end_the_job_in_words),
        cmocka_unit_test(a_memset_of_device_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
