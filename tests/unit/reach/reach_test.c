/* SPDX-License-Identifier: BSD-3-Clause */
/* reach_test.c: checks the way that is chosen to memory of each kind, on this host and on others,
 * and that each way moves the bytes it should. */
#include "reach/reach.h"

#include "os/os.h"
#include "support/rma_ranks.h"

#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { LEN = 4096, DEVICE_LEN = 200 };

static rma_pair p;
static char local[LEN];

static void open_pair(ranks_params params)
{
    params.segment_len = LEN;
    rma_pair_open(&p, params);
}

static void close_pair(void) { rma_ranks_close(&p.world); }

static pen_reach_ask ask_of(uint32_t jobrank, uint16_t ep_index, void *remote, size_t len)
{
    return (pen_reach_ask){ .job = p.job,
                            .jobrank = jobrank,
                            .ep_index = ep_index,
                            .remote = remote,
                            .local = local,
                            .len = len };
}

/* As rma/ and am/ ask: mapped memory first. */
static pen_reach_way far_way(const pen_reach_ask *ask)
{
    pen_reach reach;
    assert_null(pen_reach_alias(ask->job, ask->ep_index, ask->jobrank, ask->remote, ask->len));
    pen_reach_far(ask, &reach);
    return reach.way;
}

static pen_reach_way way_to_peer(size_t len)
{
    const pen_reach_ask ask = ask_of(1, 0, p.remote, len);
    return far_way(&ask);
}

/* ---- mapped ---------------------------------------------------------------------------------- */

static void a_mapped_segment_has_an_alias_up_to_its_last_byte(void **state)
{
    (void)state;
    open_pair((ranks_params){ .mapped = true, .same_host = true });
    p.job->mapped[0][1].delta = 64;
    assert_ptr_equal(pen_reach_alias(p.job, 0, 1, p.remote, LEN), p.remote + 64);
    assert_ptr_equal(pen_reach_alias(p.job, 0, 1, p.remote + LEN - 1, 1), p.remote + LEN - 1 + 64);
    assert_null(pen_reach_alias(p.job, 0, 1, p.remote + 1, LEN));
    assert_null(pen_reach_alias(p.job, 0, 1, p.remote - 1, 1));
    assert_null(pen_reach_alias(p.job, 0, 1, p.remote + LEN, 1));
    pen_remote_segment row = p.job->mem.remote[0][1];
    row.delta = -32;
    assert_ptr_equal(pen_reach_alias_in(&row, p.remote), p.remote - 32);
    row.mapped = false;
    assert_null(pen_reach_alias_in(&row, p.remote));
    close_pair();
}

static void own_memory_needs_no_mapping(void **state)
{
    (void)state;
    open_pair((ranks_params){ .same_host = true });
    char *mine = p.world.segments[0];
    assert_ptr_equal(pen_reach_alias(p.job, 0, 0, mine + 5, LEN - 5), mine + 5);
    assert_null(pen_reach_alias(p.job, 0, 0, local, 1));
    assert_null(pen_reach_alias(p.job, 0, 1, p.remote, 1));
    close_pair();
    open_pair((ranks_params){ .everything = true, .same_host = true });
    assert_ptr_equal(pen_reach_alias(p.job, 0, 0, local, LEN), local);
    close_pair();
}

static void a_range_covers_what_aliases_cover(void **state)
{
    (void)state;
    open_pair((ranks_params){ .mapped = true, .same_host = true });
    p.job->mapped[0][1].delta = 64;
    pen_reach_range range = pen_reach_range_of(&p.job->world, 0, 1);
    assert_int_equal(range.delta, 64);
    assert_true(pen_reach_covers(&range, p.remote, LEN));
    assert_false(pen_reach_covers(&range, p.remote - 1, 1));
    assert_false(pen_reach_covers(&range, p.remote + 1, LEN));
    close_pair();
    open_pair((ranks_params){ .same_host = true });
    assert_int_equal(pen_reach_range_of(&p.job->world, 0, 1).len, 0);
    range = pen_reach_range_of(&p.job->world, 0, 0);
    assert_true(pen_reach_covers(&range, p.world.segments[0], LEN));
    assert_false(pen_reach_covers(&range, local, 1));
    close_pair();
    open_pair((ranks_params){ .everything = true, .same_host = true });
    rma_ranks_add_devices(&p.world, DEVICE_LEN);
    range = pen_reach_range_of(&p.job->world, 0, 0);
    assert_true(pen_reach_covers(&range, local, LEN));
    assert_int_equal(pen_reach_range_of(&p.job->world, 0, 1).len, 0);
    assert_int_equal(pen_reach_range_of(&p.job->world, 1, 0).len, 0); /* on a device */
    assert_int_equal(pen_reach_range_of(rma_ranks_pair(&p.world, 0, 1, 0), 0, 0).len, 0);
    close_pair();
}

static void a_place_in_the_arena_must_be_in_the_peers_part(void **state)
{
    (void)state;
    enum { OFF = 256, STRIDE = 128 };
    open_pair((ranks_params){ .same_host = true });
    pen_host_page *page = p.job->boot.page;
    const uint64_t saved_off = page->segment_off, saved_stride = page->segment_stride;
    char *arena = p.job->boot.arena;
    uint64_t place = 0;
    page->segment_off = OFF;
    page->segment_stride = STRIDE;
    assert_false(pen_reach_arena_place(p.job, arena + OFF, &place)); /* no part */
    p.job->mem.slice = arena + OFF;
    p.job->mem.slice_len = STRIDE;
    assert_true(pen_reach_arena_place(p.job, arena + OFF + STRIDE - 1, &place));
    assert_int_equal(place, OFF + STRIDE - 1);
    assert_false(pen_reach_arena_place(p.job, arena + OFF + STRIDE, &place));
    assert_false(pen_reach_arena_place(p.job, arena + OFF - 1, &place));
    p.job->mem.slice = NULL;
    p.job->mem.slice_len = 0;
    const uint64_t theirs = OFF + STRIDE; /* rank 1 */
    assert_ptr_equal(pen_reach_arena_at(p.job, 1, theirs, 0, STRIDE), arena + theirs);
    assert_ptr_equal(pen_reach_arena_at(p.job, 1, theirs + 8, 16, STRIDE - 24),
                     arena + theirs + 24);
    assert_null(pen_reach_arena_at(p.job, 1, theirs - 1, 0, 1));
    assert_null(pen_reach_arena_at(p.job, 1, theirs - 1, 1, 1));
    assert_null(pen_reach_arena_at(p.job, 1, theirs + 8, 16, STRIDE - 23));
    assert_null(pen_reach_arena_at(p.job, 1, theirs, STRIDE + 1, 0));
    assert_null(pen_reach_arena_at(p.job, 1, theirs, 0, STRIDE + 1));
    assert_null(pen_reach_arena_at(p.job, 1, UINT64_MAX, 0, 1));
    page->segment_off = saved_off;
    page->segment_stride = saved_stride;
    close_pair();
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void the_kernel_serves_any_memory_of_a_peer_on_this_host(void **state)
{
    (void)state;
    open_pair((ranks_params){ .everything = true, .same_host = true });
    assert_int_equal(way_to_peer(LEN), PEN_REACH_KERNEL);
    assert_true(pen_reach_may_collect(&p.job->world, 0, 1));
    pen_reach_ask ask = ask_of(1, 0, p.remote, 8);
    ask.is_set = true;
    assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES);
    atomic_store(&p.job->boot.page->ranks[1].pid, 0); /* it has not joined */
    assert_int_equal(way_to_peer(LEN), PEN_REACH_MESSAGES);
    assert_false(pen_reach_may_collect(&p.job->world, 0, 1));
    close_pair();
    open_pair((ranks_params){ .same_host = true }); /* segments: the target checks addresses */
    assert_int_equal(way_to_peer(LEN), PEN_REACH_MESSAGES);
    assert_false(pen_reach_may_collect(&p.job->world, 0, 1));
    close_pair();
    open_pair((ranks_params){ .everything = true }); /* a different host */
    assert_int_equal(way_to_peer(LEN), PEN_REACH_MESSAGES);
    assert_false(pen_reach_may_collect(&p.job->world, 0, 1));
    close_pair();
}

/* Starts a process with a copy of this one's memory, which may forbid others to look into it. */
static pid_t peer_start(bool forbids)
{
    int ready[2];
    char word = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (forbids)
            (void)prctl(PR_SET_DUMPABLE, 0);
        (void)!write(ready[1], &word, 1);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    assert_int_equal(read(ready[0], &word, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void peer_end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* A privileged process may look into all. Returns the set in effect before the change. */
static uint32_t look_into_all(uint32_t capabilities)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { 0 };
    assert_int_equal(syscall(SYS_capget, &head, sets), 0);
    const uint32_t before = sets[0].effective;
    sets[0].effective = capabilities & sets[0].permitted;
    assert_int_equal(syscall(SYS_capset, &head, sets), 0);
    return before;
}

static void the_kernel_moves_bytes_between_processes(void **state)
{
    (void)state;
    open_pair((ranks_params){ .everything = true, .same_host = true });
    static char memory[3 * LEN];
    memset(memory, 0, sizeof memory);
    pid_t pid = peer_start(false);
    atomic_store(&p.job->boot.page->ranks[1].pid, (uint32_t)pid);
    memset(local, 7, sizeof local);
    assert_int_equal(pen_reach_by_kernel(p.job, 1, true, local, memory + 1, LEN), PEN_OK);
    assert_int_equal(memory[1], 0); /* this process's copy */
    memset(local, 0, sizeof local);
    struct iovec here[2] = { { local, 10 }, { local + 20, LEN - 20 } };
    struct iovec there[1] = { { memory + 1, LEN - 10 } };
    assert_int_equal(pen_reach_lists_by_kernel(p.job, 1, false, here, 2, there, 1), PEN_OK);
    for (size_t i = 0; i < LEN; i++)
        assert_int_equal(local[i], i < 10 || i >= 20 ? 7 : 0);
    assert_int_equal(way_to_peer(LEN), PEN_REACH_KERNEL);
    peer_end(pid);
    close_pair();
}

static void a_kernel_that_refuses_is_not_chosen_again(void **state)
{
    (void)state;
    for (unsigned lists = 0; lists < 2; lists++) {
        open_pair((ranks_params){ .everything = true, .same_host = true, .link_moves = true });
        pid_t pid = peer_start(true);
        atomic_store(&p.job->boot.page->ranks[1].pid, (uint32_t)pid);
        assert_int_equal(way_to_peer(8), PEN_REACH_KERNEL);
        const uint32_t before = look_into_all(~(1u << CAP_SYS_PTRACE));
        struct iovec here[1] = { { local, 8 } }, there[1] = { { p.remote, 8 } };
        pen_status status = lists ? pen_reach_lists_by_kernel(p.job, 1, true, here, 1, there, 1)
                                  : pen_reach_by_kernel(p.job, 1, true, local, p.remote, 8);
        const int error = errno;
        (void)look_into_all(before);
        assert_int_equal(status, PEN_ERR_UNUSABLE);
        assert_int_equal(error, EPERM);
        assert_true(pen_reach_kernel_refuses(p.job));
        assert_false(pen_reach_kernel_serves(p.job, 1));
        assert_false(pen_reach_may_collect(&p.job->world, 0, 1));
        assert_int_equal(way_to_peer(8), PEN_REACH_LINK);
        assert_false(pen_reach_kernel_refuses(p.peer)); /* each job asks for itself */
        peer_end(pid);
        close_pair();
    }
}

static void an_address_that_does_not_exist_is_no_refusal(void **state)
{
    (void)state;
    open_pair((ranks_params){ .everything = true, .same_host = true });
    assert_int_not_equal(pen_reach_by_kernel(p.job, 1, true, local, (void *)64, 8), PEN_OK);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(way_to_peer(8), PEN_REACH_KERNEL);
    close_pair();
}

/* ---- the link, messages ---------------------------------------------------------------------- */

static void the_link_serves_segments_with_a_key(void **state)
{
    (void)state;
    for (unsigned same_host = 0; same_host < 2; same_host++) {
        open_pair((ranks_params){ .same_host = same_host, .link_moves = true });
        pen_reach_ask ask = ask_of(1, 0, p.remote, LEN);
        assert_int_equal(far_way(&ask), PEN_REACH_LINK);
        ask.is_set = true;
        assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES);
        ask = ask_of(1, 0, p.remote + 1, LEN);
        assert_int_equal(far_way(&ask), PEN_REACH_NOWHERE);
        ask = ask_of(1, 9, p.remote, 1); /* an endpoint that published nothing */
        assert_int_equal(far_way(&ask), PEN_REACH_NOWHERE);
        p.job->mem.remote[0][1].has_key = false;
        assert_int_equal(way_to_peer(LEN), PEN_REACH_MESSAGES);
        close_pair();
    }
    open_pair((ranks_params){ .segment_len = LEN });
    assert_int_equal(way_to_peer(LEN), PEN_REACH_MESSAGES);
    p.job->mem.remote[0][1].has_key = true; /* a link without put and get cannot use it */
    assert_int_equal(way_to_peer(LEN), PEN_REACH_MESSAGES);
    close_pair();
}

static void memory_that_the_link_has_not_registered_goes_by_messages(void **state)
{
    (void)state;
    open_pair((ranks_params){ .link_moves = true });
    pen_link *link = p.job->routes[1].port->link;
    pen_region *region = (pen_region *)(void *)local; /* the engine only passes it on */
    link->caps.flags |= PEN_CAP_LOCAL_REGION;
    pen_reach reach;
    pen_reach_ask ask = ask_of(1, 0, p.remote, 8);
    assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES);
    ask.local = p.world.segments[0] + 8;
    assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES); /* a segment without a region */
    pen_segment *segment = atomic_load(&p.job->mem.exposed[1]);
    segment->link = link;
    segment->region = region;
    pen_reach_far(&ask, &reach);
    assert_int_equal(reach.way, PEN_REACH_LINK);
    assert_ptr_equal(reach.region, region);
    ask.len = LEN - 8;
    assert_int_equal(far_way(&ask), PEN_REACH_LINK);
    ask.local = p.world.segments[0] + 9; /* its last byte is outside */
    assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES);
    link->caps.flags &= ~(uint32_t)PEN_CAP_LOCAL_REGION;
    pen_reach_far(&ask, &reach);
    assert_int_equal(reach.way, PEN_REACH_LINK);
    assert_null(reach.region);
    segment->link = NULL;
    segment->region = NULL;
    close_pair();
}

static void the_link_moves_a_piece_of_what_was_asked_for(void **state)
{
    (void)state;
    open_pair((ranks_params){ .link_moves = true });
    for (unsigned is_put = 0; is_put < 2; is_put++) {
        pen_reach reach;
        const pen_reach_ask ask = ask_of(1, 0, p.remote + 100, 50);
        pen_reach_far(&ask, &reach);
        assert_int_equal(reach.offset, 100);
        memset(local, 3, sizeof local);
        memset(p.remote, 4, LEN);
        pen_op op = { 0 };
        pen_count_raise(&op.source_busy, op.shared);
        pen_count_raise(&op.incomplete, op.shared);
        if (pen_reach_by_link(p.job, 1, &reach, is_put, 20, local, 10, &op) == PEN_POST_PENDING)
            while (!pen_count_is_zero(&op.incomplete))
                (void)pen_progress_poll(&p.job->progress);
        for (size_t i = 0; i < LEN; i++) {
            assert_int_equal(p.remote[i], is_put && i >= 120 && i < 130 ? 3 : 4);
            assert_int_equal(local[i], !is_put && i < 10 ? 4 : 3);
        }
    }
    close_pair();
}

/* ---- devices --------------------------------------------------------------------------------- */

static char *device_base(uint32_t rank) { return p.world.jobs[rank].endpoints[1]->segment->base; }

static void own_device_memory_is_copied_by_the_device(void **state)
{
    (void)state;
    for (unsigned everything = 0; everything < 2; everything++) {
        open_pair(
            (ranks_params){ .everything = everything, .same_host = true, .mapped = !everything });
        rma_ranks_add_devices(&p.world, DEVICE_LEN);
        pen_device *mine = p.job->mem.devices, *theirs = p.peer->mem.devices;
        pen_reach_ask ask = ask_of(0, 1, device_base(0) + 10, 20);
        pen_reach reach;
        pen_reach_far(&ask, &reach);
        assert_int_equal(reach.way, PEN_REACH_DEVICE);
        assert_ptr_equal(reach.device, mine);
        assert_ptr_equal(reach.at, device_base(0) + 10);
        ask.device = mine;
        assert_int_equal(far_way(&ask), PEN_REACH_DEVICE); /* within one device */
        ask.device = theirs;
        assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES); /* between two */
        ask.device = NULL;
        ask.is_set = true;
        assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES);
        close_pair();
    }
}

static void a_peers_device_memory_goes_by_messages(void **state)
{
    (void)state;
    for (unsigned everything = 0; everything < 2; everything++) {
        open_pair((ranks_params){
            .everything = everything, .same_host = true, .link_moves = !everything });
        rma_ranks_add_devices(&p.world, DEVICE_LEN);
        pen_reach_ask ask = ask_of(1, 1, device_base(1), DEVICE_LEN);
        assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES);
        assert_false(pen_reach_may_collect(&p.job->world, 1, 1));
        ask = ask_of(1, 0, p.remote, 8); /* from a device to host memory */
        ask.local = device_base(0);
        ask.device = p.job->mem.devices;
        assert_int_equal(far_way(&ask), PEN_REACH_MESSAGES);
        assert_false(pen_reach_may_collect(rma_ranks_pair(&p.world, 0, 1, 0), 0, 1));
        ask.device = NULL;
        ask.local = local;
        assert_int_equal(far_way(&ask), everything ? PEN_REACH_KERNEL : PEN_REACH_LINK);
        close_pair();
    }
}

static void ask_for_half_a_device(void *ctx)
{
    (void)pen_reach_local_device(ctx, device_base(0) + DEVICE_LEN / 2, DEVICE_LEN / 2 + 1);
}

static void local_memory_is_on_the_device_of_its_segment(void **state)
{
    (void)state;
    open_pair((ranks_params){ .same_host = true });
    rma_ranks_add_devices(&p.world, DEVICE_LEN);
    pen_team *on_device = rma_ranks_pair(&p.world, 0, 1, 0);
    pen_device *device = p.job->mem.devices;
    assert_ptr_equal(pen_reach_local_device(on_device, device_base(0), DEVICE_LEN), device);
    assert_ptr_equal(pen_reach_local_device(on_device, device_base(0) + DEVICE_LEN - 1, 1), device);
    assert_null(pen_reach_local_device(on_device, local, LEN));
    assert_null(pen_reach_local_device(&p.job->world, local, LEN));
    assert_true(ranks_dies(ask_for_half_a_device, on_device, p.job, "not all in the segment of"));
    close_pair();
}

static void a_device_copies_in_each_direction(void **state)
{
    (void)state;
    char seen[30];
    open_pair((ranks_params){ .same_host = true });
    rma_ranks_add_devices(&p.world, DEVICE_LEN);
    pen_device *device = p.job->mem.devices;
    char *base = device_base(0);
    for (size_t i = 0; i < sizeof seen; i++)
        local[i] = (char)(i + 1);
    pen_reach_by_device(p.job, device, base, NULL, local, sizeof seen);
    pen_reach_by_device(p.job, device, base + 50, device, base, sizeof seen);
    pen_reach_by_device(p.job, NULL, seen, device, base + 50, sizeof seen);
    assert_memory_equal(seen, local, sizeof seen);
    close_pair();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapped_segment_has_an_alias_up_to_its_last_byte),
        cmocka_unit_test(own_memory_needs_no_mapping),
        cmocka_unit_test(a_range_covers_what_aliases_cover),
        cmocka_unit_test(a_place_in_the_arena_must_be_in_the_peers_part),
        cmocka_unit_test(the_kernel_serves_any_memory_of_a_peer_on_this_host),
        cmocka_unit_test(the_kernel_moves_bytes_between_processes),
        cmocka_unit_test(a_kernel_that_refuses_is_not_chosen_again),
        cmocka_unit_test(an_address_that_does_not_exist_is_no_refusal),
        cmocka_unit_test(the_link_serves_segments_with_a_key),
        cmocka_unit_test(memory_that_the_link_has_not_registered_goes_by_messages),
        cmocka_unit_test(the_link_moves_a_piece_of_what_was_asked_for),
        cmocka_unit_test(own_device_memory_is_copied_by_the_device),
        cmocka_unit_test(a_peers_device_memory_goes_by_messages),
        cmocka_unit_test(local_memory_is_on_the_device_of_its_segment),
        cmocka_unit_test(a_device_copies_in_each_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
