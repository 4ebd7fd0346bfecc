/* SPDX-License-Identifier: BSD-3-Clause */
/* card.c: opening and closing a card, and its counts. */
#include "base/compiler.h"
#include "base/status.h"
#include "softnic/portals/inner.h"

#include <stdlib.h>
#include <unistd.h>

/* A number for the settings on which all users of a fabric must agree; never 0. */
static uint64_t digest_of(const pen_portals_config *config)
{
    return (uint64_t)config->processes << 32 | (uint64_t)config->ring_len << 1 | 1;
}

static void make_ready(pen_portals *card, void *memory, const pen_portals_config *config,
                       uint32_t process_i)
{
    card->memory = memory;
    card->config = *config;
    card->own = process_i;
    card->uid = geteuid();
    card->random = (config->faults.seed + process_i + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    p4_list_init(&card->busy);
    p4_list_init(&card->fired);
}

pen_status pen_portals_open(void *memory, size_t len, const pen_portals_config *config,
                            uint32_t process_i, pen_portals **out)
{
    if (pen_portals_config_check(config) != NULL || memory == NULL ||
        len < pen_portals_len(config) || (uintptr_t)memory % PEN_CACHE_LINE != 0 ||
        process_i >= config->processes)
        return PEN_ERR_ARGUMENT;
    p4_head *head = memory;
    uint64_t digest = digest_of(config), found = 0;
    /* Zeroed memory is a valid empty fabric. relaxed: no other data is read through the word. */
    if (!atomic_compare_exchange_strong_explicit(&head->digest, &found, digest,
                                                 memory_order_relaxed, memory_order_relaxed) &&
        found != digest)
        return PEN_ERR_PROTOCOL;
    pen_portals *card = calloc(1, sizeof(*card));
    if (card == NULL)
        return PEN_ERR_MEMORY;
    if (pthread_mutex_init(&card->lock, NULL) != 0) {
        free(card);
        return PEN_ERR_MEMORY;
    }
    make_ready(card, memory, config, process_i);
    *out = card;
    return PEN_OK;
}

/* Tells peers that nothing will be sent or taken any more. */
static void withdraw(pen_portals *card)
{
    if (card->row == NULL)
        return;
    /* release: all packets were written before */
    atomic_store_explicit(&card->row->state, P4_ROW_CLOSED, memory_order_release);
    for (uint32_t i = 0; i < card->config.processes; i++) {
        while (!p4_list_is_empty(&card->peers[i].responses)) {
            p4_link *link = card->peers[i].responses.next;
            p4_list_remove(link);
            p4_response_free(card, pen_container_of(link, p4_response, link));
        }
    }
}

void pen_portals_close(pen_portals *card)
{
    if (card == NULL)
        return;
    (void)pthread_mutex_lock(&card->lock);
    for (int kind = 0; kind < 4; kind++) {
        if (card->nis[kind] != NULL)
            p4_ni_close(card->nis[kind]);
    }
    (void)pthread_mutex_unlock(&card->lock);
    p4_helper_stop(card);
    withdraw(card);
    if (p4_card_used() == card)
        pen_portals_use(NULL);
    p4_tables_free(card);
    free(card->tokens);
    free(card->peers);
    (void)pthread_mutex_destroy(&card->lock);
    free(card);
}

void pen_portals_count(pen_portals *card, pen_portals_counts *out)
{
    (void)pthread_mutex_lock(&card->lock);
    *out = card->counts;
    (void)pthread_mutex_unlock(&card->lock);
}
