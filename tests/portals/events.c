/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: the portals conduit over an interface that this file plays: events come in each order
 * that the interface allows, calls have no room or fail, and messages are not what they say. */
#include "conduits/portals/portals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PEERS = 3, TOKENS = 2, QUEUE_MAX = 64, HEAD_LEN = 24, BODY_LEN = 40, FRAME_LEN = 32 + 48 };

/* ---- the interface and the host -------------------------------------------------------------- */

enum { QUEUE_ENDED = 7 }; /* the lanes' queues are 0 to 2 */

static struct fake {
    int result; /* that the next puts and gets return */
    bool appends_fail;
    unsigned puts, gets, appends, unlinks, wakes[PEERS], lost[PEERS], lost_any, delivered;
    ptl_match_bits_t last_key;
    uint64_t keys[4];
    unsigned key_count;
    struct {
        ptl_event_t events[QUEUE_MAX];
        unsigned first, count;
    } queues[QUEUE_ENDED + 1];
    pen_peer from;
    pen_lane lane;
} fake;

int PtlPut(ptl_handle_md_t md, ptl_size_t local, ptl_size_t len, ptl_ack_req_t ack,
           ptl_process_t to, ptl_pt_index_t portal, ptl_match_bits_t bits, ptl_size_t offset,
           void *user, ptl_hdr_data_t data)
{
    (void)md, (void)local, (void)len, (void)ack, (void)to, (void)portal, (void)offset, (void)user;
    (void)data;
    fake.puts++;
    fake.last_key = bits;
    return fake.result;
}

int PtlGet(ptl_handle_md_t md, ptl_size_t local, ptl_size_t len, ptl_process_t from,
           ptl_pt_index_t portal, ptl_match_bits_t bits, ptl_size_t offset, void *user)
{
    (void)md, (void)local, (void)len, (void)from, (void)portal, (void)offset, (void)user;
    fake.gets++;
    fake.last_key = bits;
    return fake.result;
}

int PtlMEAppend(ptl_handle_ni_t ni, ptl_pt_index_t portal, const ptl_me_t *entry, ptl_list_t list,
                void *user, ptl_handle_me_t *out)
{
    (void)ni, (void)portal, (void)list, (void)user;
    fake.appends++;
    *out = (ptl_handle_me_t){ 0 };
    if (entry->ignore_bits == 0)
        fake.keys[fake.key_count++] = entry->match_bits;
    return fake.appends_fail ? PTL_NO_SPACE : PTL_OK;
}

int PtlMEUnlink(ptl_handle_me_t entry)
{
    (void)entry;
    fake.unlinks++;
    return PTL_OK;
}

int PtlEQGet(ptl_handle_eq_t queue, ptl_event_t *out)
{
    const unsigned i = (unsigned)queue;
    if (fake.queues[i].first == fake.queues[i].count)
        return PTL_EQ_EMPTY;
    *out = fake.queues[i].events[fake.queues[i].first++];
    return PTL_OK;
}

int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_handle_eq_t *out)
{
    (void)ni, (void)count;
    *out = (ptl_handle_eq_t){ 0 };
    return PTL_OK;
}

int PtlPTAlloc(ptl_handle_ni_t ni, unsigned options, ptl_handle_eq_t queue, ptl_pt_index_t wish,
               ptl_pt_index_t *out)
{
    (void)ni, (void)options, (void)queue, (void)wish;
    *out = 0;
    return PTL_OK;
}

void portals_device_use(portals_device *device) { (void)device; }

size_t portals_inbox(const portals_link *link)
{
    (void)link;
    return 0;
}

static void event_add(unsigned queue, ptl_event_t event)
{
    assert_true(fake.queues[queue].count < QUEUE_MAX);
    fake.queues[queue].events[fake.queues[queue].count++] = event;
}

static void *take(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void give(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    (void)ctx, (void)head, (void)body;
    assert_int_equal(head_len, HEAD_LEN);
    assert_int_equal(body_len, BODY_LEN);
    fake.from = from;
    fake.lane = lane;
    fake.delivered++;
}

static void peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    (void)ctx, (void)why;
    if (peer == PEN_PEER_ANY)
        fake.lost_any++;
    else
        fake.lost[peer]++;
}

static void say(void *ctx, int level, const char *format, ...)
{
    (void)ctx, (void)level, (void)format;
}

static void wake(void *ctx, pen_peer peer)
{
    (void)ctx;
    fake.wakes[peer]++;
}

static uint64_t now_ns(void *ctx)
{
    (void)ctx;
    return 1000;
}

static const pen_host host = { .alloc = take,
                               .release = give,
                               .deliver = deliver,
                               .peer_lost = peer_lost,
                               .log = say,
                               .wake = wake,
                               .now_ns = now_ns };

static portals_peer peers[PEERS];
static portals_token tokens[PORTALS_KINDS * TOKENS];
static char buffers[PORTALS_KINDS * TOKENS][256], block_memory[PORTALS_BLOCK_LEN];
static portals_block block;
static _Atomic uint32_t asleep = 1;

static void link_init(portals_link *link)
{
    fake = (struct fake){ .result = PTL_OK };
    *link = (portals_link){ .peers = PEERS, .peer = peers, .ended = QUEUE_ENDED };
    link->base.host = &host;
    block = (portals_block){ .memory = block_memory, .lane = PEN_LANE_REPLY };
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        link->arrived[lane] = (ptl_handle_eq_t)lane;
    for (unsigned i = 0; i < PEERS; i++)
        peers[i] =
            (portals_peer){ .process.phys = { .nid = 5, .pid = 100 + i }, .sleeping = &asleep };
    for (unsigned i = 0; i < PORTALS_KINDS * TOKENS; i++) {
        const unsigned kind = i / TOKENS;
        tokens[i] = (portals_token){ .next = link->free_tokens[kind],
                                     .buffer = kind == PORTALS_MEMORY ? NULL : buffers[i],
                                     .kind = (uint8_t)kind };
        link->free_tokens[kind] = &tokens[i];
    }
    pen_lock_init(&link->lock, PEN_ALONE);
}

static portals_token *next_token(const portals_link *link, unsigned kind)
{
    return link->free_tokens[kind];
}

static void end(portals_link *link, portals_token *token, ptl_event_kind_t type)
{
    event_add(QUEUE_ENDED, (ptl_event_t){ .type = type, .user_ptr = token });
    (void)portals_poll(&link->base, 0, 9);
}

/* ---- puts and gets --------------------------------------------------------------------------- */

static pen_op new_op(void)
{
    pen_op op = { .source_busy = 1, .incomplete = 1 };
    return op;
}

static pen_post put(portals_link *link, pen_op *op)
{
    return portals_rma.put(&link->base, 1, 0, 77, buffers, NULL, 8, op);
}

/* Checks what a put still waits for: that its source is free, and that its data has landed. */
static void expect_put(const pen_op *op, unsigned source_busy, unsigned incomplete)
{
    assert_int_equal(op->source_busy, source_busy);
    assert_int_equal(op->incomplete, incomplete);
}

static void a_put_ends_when_its_data_has_landed(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    for (unsigned ack_first = 0; ack_first < 2; ack_first++) {
        pen_op op = new_op();
        portals_token *token = next_token(&link, PORTALS_MEMORY);
        assert_int_equal(put(&link, &op), PEN_POST_PENDING);
        assert_int_equal(fake.last_key, 77);
        expect_put(&op, 1, 1);
        end(&link, token, ack_first ? PTL_EVENT_ACK : PTL_EVENT_SEND);
        expect_put(&op, 0, ack_first ? 0 : 1);
        assert_true(portals_due.due_ns(&link.base) != UINT64_MAX); /* one event is missing */
        assert_ptr_not_equal(next_token(&link, PORTALS_MEMORY), token);
        end(&link, token, ack_first ? PTL_EVENT_SEND : PTL_EVENT_ACK);
        expect_put(&op, 0, 0);
        assert_true(portals_due.due_ns(&link.base) == UINT64_MAX);
        assert_ptr_equal(next_token(&link, PORTALS_MEMORY), token);
    }
}

static void a_get_ends_with_its_reply(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op op = new_op();
    portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(portals_rma.get(&link.base, 2, 0, 78, buffers, NULL, 8, &op),
                     PEN_POST_PENDING);
    assert_int_equal(fake.last_key, 78);
    end(&link, token, PTL_EVENT_REPLY);
    expect_put(&op, 0, 0);
    assert_ptr_equal(next_token(&link, PORTALS_MEMORY), token);
}

static void puts_without_a_token_or_room_are_tried_again(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op ops[TOKENS + 1];
    fake.result = PTL_NO_SPACE;
    for (unsigned i = 0; i < 3 * TOKENS; i++)
        assert_int_equal(put(&link, &ops[0]), PEN_POST_AGAIN);
    assert_int_equal(fake.puts, 3 * TOKENS); /* the tokens came back */
    fake.result = PTL_OK;
    for (unsigned i = 0; i < TOKENS; i++)
        assert_int_equal(put(&link, &ops[i]), PEN_POST_PENDING);
    assert_int_equal(put(&link, &ops[TOKENS]), PEN_POST_AGAIN);
    assert_int_equal(fake.puts, 4 * TOKENS);
}

static void each_region_has_a_key_of_its_own(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_region *regions[3];
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(portals_rma.register_region(&link.base, buffers, 64, &regions[i]), PEN_OK);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t key = 0;
        pen_rkey imported = 0;
        assert_int_equal(portals_rma.export_region(&link.base, regions[i], &key), PEN_OK);
        assert_int_equal(key, fake.keys[i]);
        assert_int_equal(portals_rma.import_region(&link.base, 1, &key, &imported), PEN_OK);
        assert_int_equal(imported, key);
        for (unsigned k = 0; k < i; k++)
            assert_int_not_equal(fake.keys[k], key);
        portals_rma.deregister_region(&link.base, regions[i]);
    }
    assert_int_equal(fake.unlinks, 3);
    fake.appends_fail = true;
    assert_int_equal(portals_rma.register_region(&link.base, buffers, 64, &regions[0]),
                     PEN_ERR_RESOURCE);
}

static void a_peer_whose_operation_fails_is_lost_once(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op ops[TOKENS] = { new_op(), new_op() };
    for (unsigned i = 0; i < TOKENS; i++) {
        portals_token *token = next_token(&link, PORTALS_MEMORY);
        assert_int_equal(put(&link, &ops[i]), PEN_POST_PENDING);
        for (unsigned k = 0; k < 2; k++)
            event_add(QUEUE_ENDED, (ptl_event_t){ .type = PTL_EVENT_ACK,
                                                  .user_ptr = token,
                                                  .ni_fail_type = PTL_NI_UNDELIVERABLE });
    }
    for (unsigned i = 0; i < 4; i++)
        (void)portals_poll(&link.base, 0, 9);
    assert_int_equal(fake.lost[1], 1);
    assert_int_equal(fake.lost[0] + fake.lost[2] + fake.lost_any, 0);
    expect_put(&ops[0], 1, 1);
    assert_int_equal(put(&link, &ops[0]), PEN_POST_FAILED);
    assert_true(portals_due.due_ns(&link.base) == UINT64_MAX); /* both tokens came back */
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void peers_that_owe_something_are_woken(void **state)
{
    (void)state;
    static const uint64_t head[HEAD_LEN / 8] = { 1, 2, 3 };
    const pen_frame frame = { .head = head, .head_len = HEAD_LEN };
    portals_link link;
    link_init(&link);
    portals_token *token = next_token(&link, PEN_LANE_REQUEST);
    assert_int_equal(portals_post(&link.base, 2, PEN_LANE_REQUEST, &frame, NULL), PEN_POST_DONE);
    assert_int_equal(fake.wakes[2], 1); /* for the frame */
    assert_int_equal(portals_poll(&link.base, 0, 9), 0);
    assert_int_equal(fake.wakes[2], 2); /* the frame has not left: that card has to work */
    end(&link, token, PTL_EVENT_SEND);
    assert_int_equal(fake.wakes[2], 3); /* it has arrived only now */
    assert_int_equal(portals_poll(&link.base, 0, 9), 0);
    assert_int_equal(fake.wakes[2], 3);
    assert_int_equal(fake.wakes[0] + fake.wakes[1], 0);
}

static ptl_event_t arrival(void)
{
    return (ptl_event_t){ .type = PTL_EVENT_PUT,
                          .start = block_memory,
                          .user_ptr = &block,
                          .mlength = FRAME_LEN,
                          .initiator.phys = { .nid = 5, .pid = 101 },
                          .hdr_data = UINT64_C(1) << 40 | (uint64_t)HEAD_LEN << 32 | BODY_LEN };
}

static unsigned poll_reply(portals_link *link)
{
    return portals_poll(&link->base, PEN_LANE_BIT(PEN_LANE_REPLY), 9);
}

static void a_frame_is_delivered_when_its_lane_is_asked_for(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    event_add(PEN_LANE_REPLY, arrival());
    assert_int_equal(portals_poll(&link.base, PEN_LANE_BIT(PEN_LANE_REQUEST), 9), 0);
    assert_int_equal(poll_reply(&link), 1);
    assert_int_equal(fake.delivered, 1);
    assert_int_equal(fake.from, 1);
    assert_int_equal(fake.lane, PEN_LANE_REPLY);
    assert_int_equal(fake.lost_any, 0);
}

static void a_message_that_contradicts_itself_ends_the_job(void **state)
{
    (void)state;
    ptl_event_t bad[8];
    for (unsigned i = 0; i < 8; i++)
        bad[i] = arrival();
    bad[0].mlength += 16;
    bad[1].mlength -= 16;
    bad[2].hdr_data = (uint64_t)PEERS << 40 | (uint64_t)HEAD_LEN << 32 | BODY_LEN;
    bad[3].hdr_data = UINT64_C(1) << 40 | BODY_LEN; /* no head */
    bad[3].mlength = 48;
    bad[4].hdr_data = UINT64_C(1) << 40 | (uint64_t)20 << 32 | BODY_LEN;
    bad[5].hdr_data = UINT64_C(1) << 40 | (uint64_t)HEAD_LEN << 32 | (PORTALS_FRAME_MAX + 1);
    bad[5].mlength = 32 + PORTALS_FRAME_MAX + 16;
    bad[6].initiator.phys.pid = 102; /* another process says that it is rank 1 */
    bad[7].ni_fail_type = PTL_NI_UNDELIVERABLE;
    for (unsigned i = 0; i < 8; i++) {
        portals_link link;
        link_init(&link);
        event_add(PEN_LANE_REPLY, bad[i]);
        (void)poll_reply(&link);
        (void)poll_reply(&link);
        assert_int_equal(fake.delivered, 0);
        assert_int_equal(fake.lost_any, 1);
    }
}

static void a_block_is_used_again_when_it_is_unlinked_and_empty(void **state)
{
    (void)state;
    const ptl_event_t unlinked = { .type = PTL_EVENT_AUTO_UNLINK, .user_ptr = &block };
    for (unsigned unlink_first = 0; unlink_first < 2; unlink_first++) {
        portals_link link;
        link_init(&link);
        block.used = PORTALS_BLOCK_LEN - PORTALS_LONGEST; /* the next frame is the last */
        event_add(PEN_LANE_REPLY, unlink_first ? unlinked : arrival());
        (void)poll_reply(&link);
        assert_int_equal(fake.appends, 0);
        event_add(PEN_LANE_REPLY, unlink_first ? arrival() : unlinked);
        (void)poll_reply(&link);
        assert_int_equal(fake.appends, 1);
        assert_int_equal(block.used, 0);
        event_add(PEN_LANE_REPLY, arrival());
        (void)poll_reply(&link);
        assert_int_equal(fake.appends, 1);
        assert_int_equal(fake.delivered, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_ends_when_its_data_has_landed),
        cmocka_unit_test(a_get_ends_with_its_reply),
        cmocka_unit_test(puts_without_a_token_or_room_are_tried_again),
        cmocka_unit_test(each_region_has_a_key_of_its_own),
        cmocka_unit_test(a_peer_whose_operation_fails_is_lost_once),
        cmocka_unit_test(peers_that_owe_something_are_woken),
        cmocka_unit_test(a_frame_is_delivered_when_its_lane_is_asked_for),
        cmocka_unit_test(a_message_that_contradicts_itself_ends_the_job),
        cmocka_unit_test(a_block_is_used_again_when_it_is_unlinked_and_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
