/* SPDX-License-Identifier: BSD-3-Clause */
/* play.c: the functions of the interface, and the host of the link. */
#include "portals/play.h"

#include "link/lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fake fake;
static _Alignas(16) char buffers[PORTALS_KINDS * TOKENS][256];

int PtlPut(ptl_handle_md_t md, ptl_size_t local, ptl_size_t len, ptl_ack_req_t ack,
           ptl_process_t to, ptl_pt_index_t portal, ptl_match_bits_t bits, ptl_size_t offset,
           void *user, ptl_hdr_data_t data)
{
    (void)to, (void)offset, (void)user;
    fake.last_len = len;
    fake.last_portal = portal;
    fake.last_data = data;
    fake.last_ack = ack;
    fake.last_md = md;
    fake.last_at = local;
    fake.puts++;
    fake.last_key = bits;
    return fake.result;
}

int PtlGet(ptl_handle_md_t md, ptl_size_t local, ptl_size_t len, ptl_process_t from,
           ptl_pt_index_t portal, ptl_match_bits_t bits, ptl_size_t offset, void *user)
{
    (void)len, (void)from, (void)portal, (void)offset, (void)user;
    fake.last_md = md;
    fake.last_at = local;
    fake.gets++;
    fake.last_key = bits;
    return fake.result;
}

static int play_atomic(unsigned which, ptl_size_t source, const void *operand, ptl_size_t len,
                       ptl_match_bits_t bits, ptl_op_t operation, ptl_datatype_t type)
{
    fake.atomics[which]++;
    fake.last_at = source;
    fake.last_len = len;
    fake.last_key = bits;
    fake.last_operation = operation;
    fake.last_type = type;
    fake.sources[0] = fake.sources[1] = 0;
    memcpy(&fake.sources[0], (const char *)buffers + source, len);
    if (operand != NULL)
        memcpy(&fake.sources[1], operand, len);
    return fake.result;
}

int PtlAtomic(ptl_handle_md_t md, ptl_size_t local, ptl_size_t len, ptl_ack_req_t ack,
              ptl_process_t to, ptl_pt_index_t portal, ptl_match_bits_t bits, ptl_size_t offset,
              void *user, ptl_hdr_data_t data, ptl_op_t operation, ptl_datatype_t type)
{
    (void)md, (void)to, (void)portal, (void)offset, (void)user, (void)data;
    fake.last_ack = ack;
    return play_atomic(0, local, NULL, len, bits, operation, type);
}

int PtlFetchAtomic(ptl_handle_md_t get_md, ptl_size_t get, ptl_handle_md_t md, ptl_size_t local,
                   ptl_size_t len, ptl_process_t to, ptl_pt_index_t portal, ptl_match_bits_t bits,
                   ptl_size_t offset, void *user, ptl_hdr_data_t data, ptl_op_t operation,
                   ptl_datatype_t type)
{
    (void)get_md, (void)md, (void)to, (void)portal, (void)offset, (void)user, (void)data;
    fake.last_old_at = get;
    return play_atomic(1, local, NULL, len, bits, operation, type);
}

int PtlSwap(ptl_handle_md_t get_md, ptl_size_t get, ptl_handle_md_t md, ptl_size_t local,
            ptl_size_t len, ptl_process_t to, ptl_pt_index_t portal, ptl_match_bits_t bits,
            ptl_size_t offset, void *user, ptl_hdr_data_t data, const void *operand,
            ptl_op_t operation, ptl_datatype_t type)
{
    (void)get_md, (void)md, (void)to, (void)portal, (void)offset, (void)user, (void)data;
    fake.last_old_at = get;
    return play_atomic(2, local, operand, len, bits, operation, type);
}

int PtlMDBind(ptl_handle_ni_t ni, const ptl_md_t *md, ptl_handle_md_t *out)
{
    (void)ni;
    if (fake.bind_result != PTL_OK)
        return fake.bind_result;
    assert_true(fake.binds < MDS_MAX);
    assert_int_equal(md->eq_handle, QUEUE_ENDED);
    fake.mds[fake.binds].start = md->start;
    fake.mds[fake.binds].len = md->length;
    fake.mds[fake.binds].is_bound = true;
    *out = (ptl_handle_md_t)fake.binds++;
    fake.bound++;
    return PTL_OK;
}

int PtlMDRelease(ptl_handle_md_t md)
{
    assert_true(md < fake.binds && fake.mds[md].is_bound);
    fake.mds[md].is_bound = false;
    fake.bound--;
    return PTL_OK;
}

int PtlMEAppend(ptl_handle_ni_t ni, ptl_pt_index_t portal, const ptl_me_t *entry, ptl_list_t list,
                void *user, ptl_handle_me_t *out)
{
    (void)ni, (void)list, (void)user;
    fake.appends++;
    *out = (ptl_handle_me_t){ 0 };
    if (portal == 10 + PORTALS_MEMORY)
        fake.keys[fake.key_count++] = entry->match_bits;
    if (portal == 10 + PORTALS_DATA)
        fake.data_keys[fake.data_key_count++] = entry->match_bits;
    return fake.appends == fake.append_fails ? PTL_NO_SPACE : PTL_OK;
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
    const bool has_dropped = fake.has_dropped;
    fake.has_dropped = false;
    return has_dropped ? PTL_EQ_DROPPED : PTL_OK;
}

int PtlEQPoll(const ptl_handle_eq_t *queues, unsigned size, ptl_time_t timeout, ptl_event_t *out,
              unsigned *which)
{
    assert_int_equal(timeout, 0);
    int result = PTL_EQ_EMPTY;
    for (*which = 0; *which < size && result == PTL_EQ_EMPTY; ++*which)
        result = PtlEQGet(queues[*which], out);
    --*which;
    return result;
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

int PtlPTEnable(ptl_handle_ni_t ni, ptl_pt_index_t portal)
{
    (void)ni, (void)portal;
    fake.enables++;
    return PTL_OK;
}

uint64_t portals_device_moved(portals_device *device)
{
    (void)device;
    return fake.moved;
}

void portals_device_use(portals_device *device) { (void)device; }

size_t portals_inbox(const portals_link *link)
{
    (void)link;
    return 0;
}

void event_add(unsigned queue, ptl_event_t event)
{
    if (fake.queues[queue].first == fake.queues[queue].count)
        fake.queues[queue].first = fake.queues[queue].count = 0;
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
    (void)ctx, (void)body;
    assert_int_equal(head_len, HEAD_LEN);
    assert_true(body_len == BODY_LEN || body_len == 0);
    if (fake.delivered < sizeof fake.heads / sizeof fake.heads[0])
        memcpy(&fake.heads[fake.delivered], head, sizeof fake.heads[0]);
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
    return fake.now_ns;
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
char block_memory[PORTALS_BLOCK_LEN];
portals_block block;
static _Atomic uint32_t asleep = 1;

void link_init(portals_link *link)
{
    fake = (struct fake){ .result = PTL_OK, .now_ns = 1000 };
    *link = (portals_link){ .peers = PEERS,
                            .peer = peers,
                            .ended = QUEUE_ENDED,
                            .landed = QUEUE_LANDED,
                            .notes_md = NOTES_MD,
                            .memory_md = MEMORY_MD,
                            .frames_md = FRAMES_MD,
                            .buffers = (char *)buffers };
    for (unsigned k = 0; k < PORTALS_COUNT; k++)
        link->portal[k] = 10 + k;
    link->counters = &link->own_counters;
    link->base.host = &host;
    block = (portals_block){ .memory = block_memory, .lane = PEN_LANE_REPLY };
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        link->arrived[lane] = (ptl_handle_eq_t)lane;
    pen_lanes_init(&link->held, host.alloc, host.release, NULL);
    for (unsigned i = 0; i < PEERS; i++) {
        peers[i] =
            (portals_peer){ .process.phys = { .nid = 5, .pid = 100 + i }, .sleeping = &asleep };
        for (unsigned k = 0; k < PORTALS_COUNT; k++)
            peers[i].portal[k] = 20 + k;
    }
    for (unsigned i = 0; i < PORTALS_KINDS * TOKENS; i++) {
        const unsigned kind = i / TOKENS;
        tokens[i] = (portals_token){ .next = link->free_tokens[kind],
                                     .buffer = buffers[i],
                                     .words = (uint64_t *)(void *)(buffers[i] + 128),
                                     .kind = (uint8_t)kind };
        link->free_tokens[kind] = &tokens[i];
    }
    pen_lock_init(&link->lock, PEN_ALONE);
}

portals_token *next_token(const portals_link *link, unsigned kind)
{
    return link->free_tokens[kind];
}

void end(portals_link *link, portals_token *token, ptl_event_kind_t type)
{
    event_add(QUEUE_ENDED, (ptl_event_t){ .type = type, .user_ptr = token });
    (void)portals_poll(&link->base, 0, 9);
}

pen_op new_op(void)
{
    pen_op op = { .source_busy = 1, .incomplete = 1 };
    return op;
}

void expect_put(const pen_op *op, unsigned source_busy, unsigned incomplete)
{
    assert_int_equal(op->source_busy, source_busy);
    assert_int_equal(op->incomplete, incomplete);
}
