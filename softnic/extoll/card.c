/* SPDX-License-Identifier: BSD-3-Clause */
/* card.c: the tasks of a driver: the fabric's layout, plugging in, mappings, counters. */
#include "softnic/extoll/card.h"
#include "base/compiler.h"
#include "base/status.h"
#include "os/os.h"
#include "softnic/extoll/fabric.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_LEN = 4096, SLOTS_MAX = 1 << 24, ROWS_MAX = 4095 };

void pen_card_config_default(pen_card_config *config)
{
    *config = (pen_card_config){
        .node_count = 1,
        .vpids = 1,
        .slot_len = 64,
        .mailbox_slots = 32768,
        .commit_period = 64,
        .notifications = 4096,
        .regions = 1024,
        .mtu = 496,
        .full = PEN_CARD_TRY_AGAIN,
    };
}

pen_card_latency pen_card_latency_machine(void)
{
    return (pen_card_latency){
        .on = true,
        .pio = 120,
        .transmit = 200,
        .serialise = 128,
        .hop = 300,
        .receive = 170,
        .poll = 52,
        .read = 350,
        .notify = 150,
        .gap = 100,
    };
}

const char *pen_card_config_check(const pen_card_config *config)
{
    const struct {
        uint32_t value, min, max;
        const char *wrong;
    } limits[] = {
        { config->node_count, 1, VELO2_NODES_MAX - config->node_first, "nodes are not 1 to 65534" },
        { config->vpids, 1, VELO2_VPIDS_MAX, "VPIDs of a node are not 1 to 256" },
        { config->mailbox_slots, 2, SLOTS_MAX, "a mailbox does not have 2 to 2^24 slots" },
        { config->commit_period, 1, UINT32_MAX, "read pointers are never committed" },
        { config->notifications, 2, SLOTS_MAX, "a queue has not 2 to 2^24 notifications" },
        { config->regions, 1, ROWS_MAX, "regions of a VPID are not 1 to 4095" },
        { config->mtu, 8, RMA2_SIZE_MAX, "the MTU is not 8 to 2^23 bytes" },
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limits[i].value < limits[i].min || limits[i].value > limits[i].max)
            return limits[i].wrong;
    if (config->slot_len != 64 && config->slot_len != 128)
        return "slots are not of 64 or 128 bytes";
    return config->mtu % 8 == 0 ? NULL : "the MTU is not a multiple of 8";
}

static uint32_t power_up(uint32_t n)
{
    uint32_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static fabric_layout layout_of(const pen_card_config *config)
{
    fabric_layout out = { .mailbox_ring = power_up(config->mailbox_slots),
                          .noti_ring = power_up(config->notifications) };
    size_t endpoints = (size_t)config->node_count * config->vpids;
    out.velo_due = sizeof(velo_box) + (size_t)out.mailbox_ring * config->slot_len;
    out.velo_stride = pen_align_up(out.velo_due + (size_t)out.mailbox_ring * 8, PAGE_LEN);
    out.rma_rows = sizeof(fabric_rma);
    out.rma_queue =
        pen_align_up(out.rma_rows + config->regions * sizeof(fabric_row), PEN_CACHE_LINE);
    out.rma_due = out.rma_queue + out.noti_ring * sizeof(fabric_entry);
    out.rma_stride = pen_align_up(out.rma_due + (size_t)out.noti_ring * 8, PAGE_LEN);
    out.rma_start = PAGE_LEN + endpoints * out.velo_stride;
    out.len = out.rma_start + endpoints * out.rma_stride;
    return out;
}

size_t pen_card_len(const pen_card_config *config)
{
    return pen_card_config_check(config) == NULL ? layout_of(config).len : 0;
}

/* FNV-1a of the settings that all users of a fabric must agree on; never 0. */
static uint64_t digest_of(const pen_card_config *config)
{
    const uint32_t fields[] = { config->node_first, config->node_count,    config->vpids,
                                config->slot_len,   config->mailbox_slots, config->notifications,
                                config->regions,    config->mtu,           config->latency.on };
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t field_i = 0; field_i < sizeof(fields) / sizeof(fields[0]); field_i++)
        digest = (digest ^ fields[field_i]) * UINT64_C(0x100000001b3);
    return digest | 1;
}

static bool can_open(const void *memory, size_t len, const pen_card_config *config, uint16_t node)
{
    if (pen_card_config_check(config) != NULL || len < pen_card_len(config) || memory == NULL ||
        (uintptr_t)memory % PEN_CACHE_LINE != 0 || node < config->node_first ||
        node - config->node_first >= config->node_count)
        return false;
    return config->virtual == NULL || fabric_virtual_fits(config, node);
}

pen_status pen_card_open(void *memory, size_t len, const pen_card_config *config, uint16_t node,
                         pen_card **out)
{
    if (!can_open(memory, len, config, node))
        return PEN_ERR_ARGUMENT;
    fabric_head *head = memory;
    uint64_t digest = digest_of(config), found = 0;
    /* Zeroed memory is a valid empty fabric. relaxed: no other data is read through the word. */
    if (!atomic_compare_exchange_strong_explicit(&head->digest, &found, digest,
                                                 memory_order_relaxed, memory_order_relaxed) &&
        found != digest)
        return PEN_ERR_PROTOCOL;
    pen_card *card = calloc(1, sizeof(*card));
    if (card == NULL)
        return PEN_ERR_MEMORY;
    if (pthread_mutex_init(&card->lock, NULL) != 0) {
        free(card);
        return PEN_ERR_MEMORY;
    }
    card->memory = memory;
    card->config = *config;
    card->layout = layout_of(config);
    card->node = node;
    if (config->virtual != NULL)
        fabric_virtual_open(card);
    *out = card;
    return PEN_OK;
}

void pen_card_close(pen_card *card)
{
    if (card->config.virtual != NULL)
        fabric_virtual_close(card);
    if (card == NULL)
        return;
    if (fabric_card_used() == card)
        pen_card_use(NULL);
    for (card_mapping *next, *mapping = card->mappings; mapping != NULL; mapping = next) {
        next = mapping->next;
        free(mapping);
    }
    for (velo_counters *next, *counters = card->velo; counters != NULL; counters = next) {
        next = counters->next;
        free(counters);
    }
    for (rma_counters *next, *counters = card->rma; counters != NULL; counters = next) {
        next = counters->next;
        free(counters);
    }
    (void)pthread_mutex_destroy(&card->lock);
    free(card);
}

pen_status pen_card_map(pen_card *card, uint16_t node, uint16_t vpid, uint64_t theirs, size_t len,
                        void *ours)
{
    uint32_t endpoint_i;
    if (!fabric_endpoint(card, node, vpid, &endpoint_i) || ours == NULL || theirs + len < theirs)
        return PEN_ERR_ARGUMENT;
    card_mapping *mapping = malloc(sizeof(*mapping));
    if (mapping == NULL)
        return PEN_ERR_MEMORY;
    *mapping = (card_mapping){ endpoint_i, theirs, len, ours, card->mappings };
    card->mappings = mapping;
    return PEN_OK;
}

bool fabric_endpoint(const pen_card *card, uint32_t node, uint32_t vpid, uint32_t *endpoint_i)
{
    const pen_card_config *config = &card->config;
    if (node < config->node_first || node - config->node_first >= config->node_count ||
        vpid >= config->vpids)
        return false;
    *endpoint_i = (node - config->node_first) * config->vpids + vpid;
    return true;
}

velo2_mailbox_t fabric_mailbox(const pen_card *card, uint32_t endpoint_i)
{
    unsigned char *start = card->memory + PAGE_LEN + endpoint_i * card->layout.velo_stride;
    return (velo2_mailbox_t){ .box = (velo_box *)(void *)start,
                              .slots = start + sizeof(velo_box),
                              .due = (uint64_t *)(void *)(start + card->layout.velo_due) };
}

static void *rma_part(const pen_card *card, uint32_t endpoint_i, size_t offset)
{
    return card->memory + card->layout.rma_start + endpoint_i * card->layout.rma_stride + offset;
}

fabric_rma *fabric_rma_of(const pen_card *card, uint32_t endpoint_i)
{
    return rma_part(card, endpoint_i, 0);
}

fabric_row *fabric_rows(const pen_card *card, uint32_t endpoint_i)
{
    return rma_part(card, endpoint_i, card->layout.rma_rows);
}

fabric_entry *fabric_queue(const pen_card *card, uint32_t endpoint_i)
{
    return rma_part(card, endpoint_i, card->layout.rma_queue);
}

uint64_t *fabric_noti_due(const pen_card *card, uint32_t endpoint_i)
{
    return rma_part(card, endpoint_i, card->layout.rma_due);
}

uint32_t fabric_claim(const pen_card *card, bool is_rma)
{
    for (uint32_t vpid = 0; vpid < card->config.vpids; vpid++) {
        uint32_t endpoint_i = 0, state = FABRIC_FREE;
        (void)fabric_endpoint(card, card->node, vpid, &endpoint_i);
        fabric_ring *ring = is_rma ? &fabric_rma_of(card, endpoint_i)->ring
                                   : &fabric_mailbox(card, endpoint_i).box->ring;
        /* acquire: pairs with the release in fabric_ring_close */
        if (atomic_compare_exchange_strong_explicit(&ring->state, &state, FABRIC_OPENING,
                                                    memory_order_acquire, memory_order_relaxed))
            return vpid;
    }
    return UINT32_MAX;
}

uint64_t fabric_ring_open(fabric_ring *ring)
{
    uint64_t start = atomic_load_explicit(&ring->write, memory_order_relaxed);
    atomic_store_explicit(&ring->read, start, memory_order_release);
    atomic_store_explicit(&ring->pid, (int32_t)getpid(), memory_order_relaxed);
    /* release: a thread that sees the VPID open sees the other fields */
    atomic_store_explicit(&ring->state, FABRIC_OPEN, memory_order_release);
    return start;
}

void fabric_ring_close(fabric_ring *ring)
{
    atomic_store_explicit(&ring->state, FABRIC_FREE, memory_order_release);
}

uint64_t fabric_random(uint64_t *state) /* xorshift64 */
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 16;
}

void fabric_wait_until(uint64_t time)
{
    while (pen_now_ns() < time)
        pen_cpu_relax();
}

uint64_t fabric_seed(pen_card *card, uint32_t kind)
{
    (void)pthread_mutex_lock(&card->lock);
    uint64_t number = ++card->ports_made;
    (void)pthread_mutex_unlock(&card->lock);
    uint64_t seed = card->config.faults.seed * UINT64_C(0x9e3779b97f4a7c15) +
                    ((uint64_t)card->node << 32 | number << 2 | kind);
    seed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (seed ^ seed >> 27) | 1;
}

static uint64_t told(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void pen_card_count(const pen_card *card, pen_card_counts *out)
{
    pen_card_counts sum = { 0 };
    pthread_mutex_t *lock = (pthread_mutex_t *)&card->lock;
    (void)pthread_mutex_lock(lock);
    for (const velo_counters *velo = card->velo; velo != NULL; velo = velo->next) {
        sum.packets_sent += told(&velo->sent);
        sum.bytes_sent += told(&velo->bytes);
        sum.stalls += told(&velo->stalls);
        sum.retries += told(&velo->retries);
        sum.packets_received += told(&velo->received);
        sum.commits += told(&velo->commits);
        sum.malformed += told(&velo->malformed);
    }
    for (const rma_counters *rma = card->rma; rma != NULL; rma = rma->next) {
        sum.commands += told(&rma->commands);
        sum.fragments += told(&rma->fragments);
        sum.notifications += told(&rma->notifications);
        sum.errors += told(&rma->errors);
        sum.queue_full += told(&rma->queue_full);
        sum.copied_by_kernel += told(&rma->by_kernel);
        sum.copied_directly += told(&rma->directly);
    }
    (void)pthread_mutex_unlock(lock);
    *out = sum;
}
