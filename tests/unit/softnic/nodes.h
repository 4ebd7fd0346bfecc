/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes.h: nodes with an RMA port and registered memory, and pairs of them. */
#ifndef PEN_TESTS_UNIT_SOFTNIC_NODES_H
#define PEN_TESTS_UNIT_SOFTNIC_NODES_H

#include "unit/softnic/fabric.h"

#include <rma2.h>

enum { LEN = 20000 };

#define ALL_UNITS                                                                        \
    (RMA2_Notification_Spec)(RMA2_REQUESTER_NOTIFICATION | RMA2_RESPONDER_NOTIFICATION | \
                             RMA2_COMPLETER_NOTIFICATION)

static const RMA2_Notification_Spec put_spec =
    (RMA2_Notification_Spec)(RMA2_REQUESTER_NOTIFICATION | RMA2_COMPLETER_NOTIFICATION);

typedef struct node {
    pen_card *card;
    RMA2_Port port;
    RMA2_Handle to; /* the second node, or itself when alone */
    unsigned char *memory;
    RMA2_Region *region;
    RMA2_NLA nla;
} node;

typedef struct pair {
    pen_card_config config;
    void *fabric;
    node nodes[2];
} pair;

static inline void node_open(node *n, void *fabric, const pen_card_config *config, uint16_t number)
{
    n->card = plug_in(fabric, config, number);
    assert_int_equal(rma2_open(&n->port), RMA2_SUCCESS);
    n->memory = aligned_alloc(RMA2_PAGE_LEN, 5 * RMA2_PAGE_LEN);
    assert_non_null(n->memory);
    memset(n->memory, 0, 5 * RMA2_PAGE_LEN);
    assert_int_equal(rma2_register(n->port, n->memory, LEN, &n->region), RMA2_SUCCESS);
    assert_int_equal(rma2_get_nla(n->region, 0, &n->nla), RMA2_SUCCESS);
    assert_int_equal(rma2_connect(n->port, number ^ 1, 0, RMA2_CONN_DEFAULT, &n->to), RMA2_SUCCESS);
}

static inline void node_close(node *n)
{
    assert_int_equal(rma2_unregister(n->port, n->region), RMA2_SUCCESS);
    assert_int_equal(rma2_close(n->port), RMA2_SUCCESS);
    pen_card_close(n->card);
    free(n->memory);
}

static inline void pair_open(pair *p, pen_card_config config)
{
    p->config = config;
    p->fabric = make_fabric(&config);
    for (uint16_t i = 0; i < 2; i++)
        node_open(&p->nodes[i], p->fabric, &config, i);
}

static inline void pair_close(pair *p)
{
    node_close(&p->nodes[0]);
    node_close(&p->nodes[1]);
    free(p->fabric);
}

static inline RMA2_Notification next(node *n)
{
    RMA2_Notification *noti, copy;
    assert_int_equal(rma2_noti_get_block(n->port, &noti), RMA2_SUCCESS);
    rma2_noti_dup(noti, &copy);
    assert_int_equal(rma2_noti_free(n->port, noti), RMA2_SUCCESS);
    return copy;
}

static inline void expect_none(node *n)
{
    RMA2_Notification *noti;
    assert_int_equal(rma2_noti_probe(n->port, &noti), RMA2_NO_NOTI);
}

#endif
