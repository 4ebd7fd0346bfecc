/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_open.c: opening and closing of RMA ports, and connections. */
#include "softnic/extoll/rma_port.h"

#include "base/compiler.h"
#include "os/lock.h"

#include <stdlib.h>
#include <string.h>

/* The number of notifications that are freed before the read pointer is published. */
enum { COMMIT_PERIOD = 32 };

static rma_counters *counters_make(pen_card *card)
{
    rma_counters *counters = aligned_alloc(PEN_CACHE_LINE, sizeof(*counters));
    if (counters == NULL)
        return NULL;
    memset(counters, 0, sizeof(*counters));
    (void)pthread_mutex_lock(&card->lock);
    counters->next = card->rma;
    card->rma = counters;
    (void)pthread_mutex_unlock(&card->lock);
    return counters;
}

static void port_free(RMA2_Port port)
{
    free(port->own);
    free(port->commands);
    free(port->aside);
    free(port);
}

/* Makes a port with its private memory. Returns NULL if memory is short. */
static RMA2_Port port_make(pen_card *card)
{
    RMA2_Port port = aligned_alloc(PEN_CACHE_LINE, sizeof(*port));
    if (port == NULL)
        return NULL;
    memset(port, 0, sizeof(*port));
    port->card = card;
    port->own = calloc(card->config.regions + 1u, sizeof(fabric_row));
    port->commands = calloc(RMA2_COMMANDS, sizeof(rma_command));
    port->aside = calloc(card->config.notifications, sizeof(RMA2_Notification));
    port->counters = counters_make(card);
    if (port->own == NULL || port->commands == NULL || port->aside == NULL ||
        port->counters == NULL || pthread_mutex_init(&port->region_lock, NULL) != 0) {
        port_free(port);
        return NULL;
    }
    return port;
}

/* Clears the state that an earlier user of the VPID left behind. */
static void clear(RMA2_Port port)
{
    for (uint32_t row = 0; row < port->card->config.regions; row++)
        if (atomic_load_explicit(&port->rows[row].len, memory_order_relaxed) != 0)
            atomic_store_explicit(&port->rows[row].len, 0, memory_order_relaxed);
    for (uint32_t place = 0; place <= port->noti_mask; place++)
        if (atomic_load_explicit(&port->queue[place].word[1], memory_order_relaxed) != 0)
            atomic_store_explicit(&port->queue[place].word[1], 0, memory_order_relaxed);
    for (int lock = 0; lock < 2 * RMA2_LOCKS; lock++)
        atomic_store_explicit(&port->shared->locks[lock / RMA2_LOCKS][lock % RMA2_LOCKS], 0,
                              memory_order_relaxed);
}

RMA2_ERROR_CODE rma2_open(RMA2_Port *port)
{
    pen_card *card = fabric_card_used();
    if (card == NULL)
        return RMA2_PORTS_USED;
    RMA2_Port made = port_make(card);
    if (made == NULL)
        return RMA2_NO_MEM;
    uint32_t vpid = fabric_claim(card, true);
    if (vpid == UINT32_MAX) {
        (void)pthread_mutex_destroy(&made->region_lock);
        port_free(made);
        return RMA2_PORTS_USED;
    }
    made->node = card->node;
    made->vpid = (uint16_t)vpid;
    (void)fabric_endpoint(card, made->node, vpid, &made->endpoint_i);
    made->shared = fabric_rma_of(card, made->endpoint_i);
    made->rows = fabric_rows(card, made->endpoint_i);
    made->queue = fabric_queue(card, made->endpoint_i);
    made->due = fabric_noti_due(card, made->endpoint_i);
    made->noti_mask = card->layout.noti_ring - 1;
    made->noti_count = card->config.notifications;
    made->period = made->noti_count / 4 < COMMIT_PERIOD ? made->noti_count / 4 : COMMIT_PERIOD;
    made->random = fabric_seed(card, 1);
    made->region_random = fabric_seed(card, 2);
    pen_lock_init(&made->lock, PEN_CONCURRENT);
    clear(made);
    made->read = made->committed = fabric_ring_open(&made->shared->ring);
    if (card->config.virtual != NULL)
        fabric_virtual_rma(card, made);
    *port = made;
    return RMA2_SUCCESS;
}

RMA2_ERROR_CODE rma2_close(RMA2_Port port)
{
    if (port == NULL)
        return RMA2_INV_PORT;
    rma_drop_regions(port);
    fabric_ring_close(&port->shared->ring);
    if (port->card->config.virtual != NULL)
        fabric_virtual_rma(port->card, NULL);
    (void)pthread_mutex_destroy(&port->region_lock);
    port_free(port);
    return RMA2_SUCCESS;
}

RMA2_Nodeid rma2_get_nodeid(RMA2_Port port) { return port->node; }
RMA2_VPID rma2_get_vpid(RMA2_Port port) { return port->vpid; }
uint32_t rma2_get_node_num(RMA2_Port port) { return port->card->config.node_count; }
uint32_t rma2_get_proc_num(RMA2_Port port) { return port->card->config.vpids; }
uint32_t rma2_get_queue_size(RMA2_Port port) { return port->noti_count; }

RMA2_ERROR_CODE rma2_connect(RMA2_Port port, RMA2_Nodeid node, RMA2_VPID vpid,
                             RMA2_Connection_Options options, RMA2_Handle *handle)
{
    *handle = (RMA2_Handle){ 0 };
    if (port == NULL)
        return RMA2_INV_PORT;
    if (((unsigned)options & (RMA2_CONN_RRA | RMA2_CONN_TE)) != 0)
        return RMA2_INV_VALUE;
    uint32_t endpoint_i;
    if (!fabric_endpoint(port->card, node, vpid, &endpoint_i))
        return RMA2_NO_ROUTE;
    *handle = (RMA2_Handle){ node, vpid, (uint16_t)options, true };
    return RMA2_SUCCESS;
}

RMA2_ERROR_CODE rma2_disconnect(RMA2_Port port, RMA2_Handle *handle)
{
    if (port == NULL)
        return RMA2_INV_PORT;
    if (!handle->connected)
        return RMA2_INV_HANDLE;
    handle->connected = false;
    return RMA2_SUCCESS;
}

RMA2_Nodeid rma2_handle_get_node(const RMA2_Handle *handle) { return handle->node; }
RMA2_VPID rma2_handle_get_vpid(const RMA2_Handle *handle) { return handle->vpid; }
