/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes.h: several Portals cards in one thread. A test speaks for one node after another, and lets
 * all of them work between. */
#ifndef PEN_TESTS_UNIT_PORTALS_NODES_H
#define PEN_TESTS_UNIT_PORTALS_NODES_H

#include "softnic/portals/card.h"

#include <portals4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    NODES_MAX = 4,
    QUEUE = 64,
    ME_LOGICAL = PTL_NI_MATCHING | PTL_NI_LOGICAL,
    ME_PHYSICAL = PTL_NI_MATCHING | PTL_NI_PHYSICAL,
    LE_LOGICAL = PTL_NI_NO_MATCHING | PTL_NI_LOGICAL,
    LE_PHYSICAL = PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL
};

static const unsigned every_kind[] = { ME_LOGICAL, ME_PHYSICAL, LE_LOGICAL, LE_PHYSICAL };

typedef struct node {
    pen_portals *card;
    ptl_handle_ni_t ni;
    ptl_ni_limits_t limits;
    ptl_handle_eq_t eq;
    ptl_handle_ct_t ct;
    ptl_pt_index_t pt;
    ptl_process_t id; /* as peers name it */
} node;

typedef struct nodes {
    pen_portals_config config;
    unsigned count, options;
    void *memory;
    node at[NODES_MAX];
} nodes;

static inline void *make_fabric(const pen_portals_config *config)
{
    size_t len = (pen_portals_len(config) + 4095) & ~(size_t)4095;
    void *memory = aligned_alloc(4096, len);
    assert_non_null(memory);
    memset(memory, 0, len);
    return memory;
}

/* Opens the interface of each node, a queue, a counter, and portal 0 with these options. */
static inline void nodes_open_with(nodes *n, unsigned count, unsigned options, unsigned pt_options,
                                   ptl_size_t queue, const ptl_ni_limits_t *desired)
{
    ptl_process_t map[NODES_MAX];
    n->count = count;
    n->options = options;
    n->config.processes = count;
    n->memory = make_fabric(&n->config);
    for (unsigned i = 0; i < count; i++) {
        node *at = &n->at[i];
        assert_int_equal(
            pen_portals_open(n->memory, pen_portals_len(&n->config), &n->config, i, &at->card),
            PEN_OK);
        pen_portals_use(at->card);
        assert_int_equal(PtlInit(), PTL_OK);
        assert_int_equal(
            PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, desired, &at->limits, &at->ni),
            PTL_OK);
        assert_int_equal(PtlGetPhysId(at->ni, &map[i]), PTL_OK);
    }
    for (unsigned i = 0; i < count; i++) {
        node *at = &n->at[i];
        pen_portals_use(at->card);
        if ((options & PTL_NI_LOGICAL) != 0)
            assert_int_equal(PtlSetMap(at->ni, count, map), PTL_OK);
        assert_int_equal(PtlGetId(at->ni, &at->id), PTL_OK);
        assert_int_equal(PtlEQAlloc(at->ni, queue, &at->eq), PTL_OK);
        assert_int_equal(PtlCTAlloc(at->ni, &at->ct), PTL_OK);
        assert_int_equal(PtlPTAlloc(at->ni, pt_options, at->eq, PTL_PT_ANY, &at->pt), PTL_OK);
        assert_int_equal(at->pt, 0);
    }
}

static inline void nodes_open(nodes *n, unsigned count, unsigned options)
{
    pen_portals_config_default(&n->config);
    nodes_open_with(n, count, options, 0, QUEUE, NULL);
}

static inline void nodes_close(nodes *n)
{
    for (unsigned i = 0; i < n->count; i++)
        pen_portals_close(n->at[i].card);
    free(n->memory);
}

static inline node *use(nodes *n, unsigned i)
{
    pen_portals_use(n->at[i].card);
    return &n->at[i];
}

/* Lets all nodes work. */
static inline void work(nodes *n)
{
    ptl_ct_event_t value;
    for (int round = 0; round < 4; round++) {
        for (unsigned i = 0; i < n->count; i++)
            assert_int_equal(PtlCTGet(use(n, i)->ct, &value), PTL_OK);
    }
}

static inline ptl_event_t next_event(nodes *n, unsigned i, int type)
{
    ptl_event_t event = { .type = 99 };
    work(n);
    assert_int_equal(PtlEQGet(use(n, i)->eq, &event), PTL_OK);
    assert_int_equal(event.type, type);
    return event;
}

static inline ptl_event_t good_event(nodes *n, unsigned i, int type)
{
    ptl_event_t event = next_event(n, i, type);
    assert_int_equal(event.ni_fail_type, PTL_NI_OK);
    return event;
}

static inline void no_event(nodes *n, unsigned i)
{
    ptl_event_t event;
    work(n);
    assert_int_equal(PtlEQGet(use(n, i)->eq, &event), PTL_EQ_EMPTY);
}

static inline void counted(nodes *n, unsigned i, ptl_size_t success, ptl_size_t failure)
{
    ptl_ct_event_t value;
    work(n);
    assert_int_equal(PtlCTGet(use(n, i)->ct, &value), PTL_OK);
    assert_int_equal(value.success, success);
    assert_int_equal(value.failure, failure);
}

static inline void status_is(nodes *n, unsigned i, int dropped, int permission, int operation)
{
    const int expected[PTL_SR_LAST] = { dropped, permission, operation };
    work(n);
    for (int at = 0; at < PTL_SR_LAST; at++) {
        int value = -1;
        assert_int_equal(PtlNIStatus(use(n, i)->ni, (ptl_sr_index_t)at, &value), PTL_OK);
        assert_int_equal(value, expected[at]);
    }
}

/* Binds memory with the node's queue and counter. */
static inline ptl_handle_md_t bind(node *at, void *start, ptl_size_t length, unsigned options)
{
    ptl_handle_md_t handle;
    ptl_md_t md = { start, length, options, at->eq, at->ct };
    assert_int_equal(PtlMDBind(at->ni, &md, &handle), PTL_OK);
    return handle;
}

/* An entry that takes everything; tests change it. */
static inline ptl_me_t entry_of(const nodes *n, const node *at, void *start, ptl_size_t length,
                                unsigned options)
{
    ptl_me_t me = { .start = start,
                    .length = length,
                    .ct_handle = at->ct,
                    .uid = PTL_UID_ANY,
                    .options = options | PTL_ME_OP_PUT | PTL_ME_OP_GET,
                    .ignore_bits = ~(ptl_match_bits_t)0 };
    if ((n->options & PTL_NI_LOGICAL) != 0) {
        me.match_id.rank = PTL_RANK_ANY;
    } else {
        me.match_id.phys.nid = PTL_NID_ANY;
        me.match_id.phys.pid = PTL_PID_ANY;
    }
    return me;
}

/* Appends to portal 0 of the node in use, whichever kind of interface it has. */
static inline int append(const nodes *n, const node *at, const ptl_me_t *me, ptl_list_t list,
                         void *user_ptr, ptl_handle_any_t *handle)
{
    if ((n->options & PTL_NI_MATCHING) != 0)
        return PtlMEAppend(at->ni, at->pt, me, list, user_ptr, handle);
    ptl_le_t le = { me->start, me->length, me->ct_handle, me->uid, me->options };
    return PtlLEAppend(at->ni, at->pt, &le, list, user_ptr, handle);
}

static inline int search(const nodes *n, const node *at, const ptl_me_t *me, ptl_search_op_t op,
                         void *user_ptr)
{
    if ((n->options & PTL_NI_MATCHING) != 0)
        return PtlMESearch(at->ni, at->pt, me, op, user_ptr);
    ptl_le_t le = { me->start, me->length, me->ct_handle, me->uid, me->options };
    return PtlLESearch(at->ni, at->pt, &le, op, user_ptr);
}

static inline int unlink_entry(const nodes *n, ptl_handle_any_t handle)
{
    return (n->options & PTL_NI_MATCHING) != 0 ? PtlMEUnlink(handle) : PtlLEUnlink(handle);
}

/* Appends an entry that says nothing when it is linked. */
static inline ptl_handle_any_t listen_at(nodes *n, unsigned i, void *start, ptl_size_t length,
                                         unsigned options, ptl_list_t list)
{
    ptl_handle_any_t handle;
    node *at = use(n, i);
    ptl_me_t me = entry_of(n, at, start, length, options | PTL_ME_EVENT_LINK_DISABLE);
    assert_int_equal(append(n, at, &me, list, start, &handle), PTL_OK);
    return handle;
}

static inline int put(nodes *n, unsigned from, unsigned to, ptl_handle_md_t md, ptl_size_t offset,
                      ptl_size_t length, ptl_ack_req_t ack, ptl_match_bits_t bits,
                      ptl_size_t remote_offset)
{
    (void)use(n, from);
    return PtlPut(md, offset, length, ack, n->at[to].id, 0, bits, remote_offset, &n->at[from],
                  (ptl_hdr_data_t)bits * 3);
}

/* Returns the options whose bits are set in `chosen`: bit 0 chooses the first. */
static inline unsigned choose(unsigned chosen, const unsigned *options, unsigned count)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum |= (chosen >> i & 1) != 0 ? options[i] : 0;
    return sum;
}

/* Returns what a counter gains: nothing, one, or bytes. */
static inline ptl_size_t gain(bool counts, bool in_bytes, ptl_size_t bytes)
{
    if (!counts)
        return 0;
    return in_bytes ? bytes : 1;
}

#endif
