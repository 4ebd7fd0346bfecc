/* SPDX-License-Identifier: BSD-3-Clause */
/* ni.c: network interfaces. A process has at most one of each kind; all share one address. */
#include "base/compiler.h"
#include "softnic/portals/inner.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- limits ----------------------------------------------------------------------------- */

enum { OBJECTS_MAX = 65535, HEADERS_MAX = 1 << 20, LAST_PT_MAX = 511 };

typedef struct limit {
    size_t offset;
    bool is_size; /* ptl_size_t, else int */
    uint64_t fallback, min, max;
} limit;

#define COUNT(FIELD, FALLBACK, MIN, MAX) \
    { offsetof(ptl_ni_limits_t, FIELD), false, FALLBACK, MIN, MAX }
#define SIZE(FIELD, FALLBACK, MIN, MAX) \
    { offsetof(ptl_ni_limits_t, FIELD), true, FALLBACK, MIN, MAX }

static const limit limits[] = {
    COUNT(max_entries, 16384, 0, OBJECTS_MAX),
    COUNT(max_unexpected_headers, 16384, 0, HEADERS_MAX),
    COUNT(max_mds, 4096, 0, OBJECTS_MAX),
    COUNT(max_cts, 4096, 0, OBJECTS_MAX),
    COUNT(max_eqs, 4096, 0, OBJECTS_MAX),
    COUNT(max_pt_index, 255, 1, LAST_PT_MAX),
    COUNT(max_iovecs, 1024, 0, INT_MAX),
    COUNT(max_list_size, 16384, 0, INT_MAX),
    COUNT(max_triggered_ops, 4096, 0, HEADERS_MAX),
    SIZE(max_msg_size, UINT64_C(1) << 40, 0, UINT64_C(1) << 47),
    SIZE(max_atomic_size, P4_ATOMIC_MAX, 0, P4_ATOMIC_MAX),
    SIZE(max_fetch_atomic_size, P4_ATOMIC_MAX, 8, P4_ATOMIC_MAX),
    SIZE(max_waw_ordered_size, 4096, 64, 65536),
    SIZE(max_war_ordered_size, P4_ATOMIC_MAX, 8, P4_ATOMIC_MAX),
    SIZE(max_volatile_size, 512, 0, 4096),
};

static uint64_t clamp(const limit *row, const ptl_ni_limits_t *desired)
{
    const char *field = (const char *)desired + row->offset;
    uint64_t value;
    if (row->is_size) {
        memcpy(&value, field, sizeof(value));
    } else {
        int count;
        memcpy(&count, field, sizeof(count));
        value = count > 0 ? (uint64_t)count : 0;
    }
    return value < row->min ? row->min : value > row->max ? row->max : value;
}

static void grant(const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual)
{
    *actual = (ptl_ni_limits_t){ 0 };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        const limit *row = &limits[i];
        uint64_t value = desired != NULL ? clamp(row, desired) : row->fallback;
        char *field = (char *)actual + row->offset;
        if (row->is_size) {
            memcpy(field, &value, sizeof(value));
        } else {
            int count = (int)value;
            memcpy(field, &count, sizeof(count));
        }
    }
    actual->features = desired == NULL
                           ? PTL_COHERENT_ATOMICS
                           : desired->features & (PTL_TOTAL_DATA_ORDERING | PTL_COHERENT_ATOMICS);
}

/* ---- opening ---------------------------------------------------------------------------- */

static p4_peer *make_peers(const pen_portals *card, uint32_t own)
{
    p4_peer *peers = calloc(card->config.processes, sizeof(*peers));
    for (uint32_t i = 0; peers != NULL && i < card->config.processes; i++) {
        for (uint32_t lane = 0; lane < P4_LANES; lane++) {
            p4_side_open(&peers[i].out[lane], card->memory, &card->config, own, i, lane);
            p4_side_open(&peers[i].in[lane], card->memory, &card->config, i, own, lane);
        }
        p4_list_init(&peers[i].requests);
        p4_list_init(&peers[i].responses);
        p4_list_init(&peers[i].busy);
    }
    return peers;
}

/* Takes the process's place in the fabric. A process keeps it until its card is closed. */
static int claim(pen_portals *card, ptl_pid_t pid)
{
    bool is_any = pid == PTL_PID_ANY;
    if (card->is_claimed)
        return is_any || pid == card->own + 1 ? PTL_OK : PTL_PID_IN_USE;
    if (!is_any && (pid == 0 || pid > card->config.processes))
        return PTL_ARG_INVALID;
    uint32_t own = is_any ? card->own : pid - 1, state = P4_ROW_FREE;
    p4_row *row = p4_row_of(card->memory, own);
    p4_peer *peers = make_peers(card, own);
    if (peers == NULL)
        return PTL_NO_SPACE;
    atomic_store_explicit(&row->pid, (int32_t)getpid(), memory_order_relaxed);
    /* release: a process that sees the row open sees its pid */
    if (!atomic_compare_exchange_strong_explicit(&row->state, &state, P4_ROW_OPEN,
                                                 memory_order_release, memory_order_relaxed)) {
        free(peers);
        return PTL_PID_IN_USE;
    }
    card->own = own;
    card->row = row;
    card->peers = peers;
    card->is_claimed = true;
    return p4_helper_start(card) ? PTL_OK : PTL_FAIL;
}

static int open_ni(pen_portals *card, unsigned options, ptl_pid_t pid,
                   const ptl_ni_limits_t *desired, p4_ni **out)
{
    uint32_t kind =
        ((options & PTL_NI_MATCHING) != 0 ? 1 : 0) + ((options & PTL_NI_LOGICAL) != 0 ? 2 : 0);
    if (card->nis[kind] != NULL) {
        card->nis[kind]->references++;
        *out = card->nis[kind];
        return PTL_OK;
    }
    int result = claim(card, pid);
    if (result != PTL_OK)
        return result;
    p4_ni *ni = calloc(1, sizeof(*ni));
    if (ni == NULL)
        return PTL_NO_SPACE;
    *ni = (p4_ni){ .card = card, .options = options, .kind = kind, .references = 1 };
    grant(desired, &ni->limits);
    ni->pts = calloc((size_t)ni->limits.max_pt_index + 1, sizeof(*ni->pts));
    ni->handle = ni->pts != NULL ? p4_handle_make(card, P4_NI, ni) : PTL_INVALID_HANDLE;
    if (ni->handle == PTL_INVALID_HANDLE) {
        free(ni->pts);
        free(ni);
        return PTL_NO_SPACE;
    }
    card->nis[kind] = ni;
    *out = ni;
    return PTL_OK;
}

static bool is_one_kind(unsigned options)
{
    const unsigned matching = PTL_NI_MATCHING | PTL_NI_NO_MATCHING;
    const unsigned naming = PTL_NI_LOGICAL | PTL_NI_PHYSICAL;
    unsigned m = options & matching, n = options & naming;
    return (options & ~(unsigned)PTL_NI_INIT_OPTIONS_MASK) == 0 && m != 0 && m != matching &&
           n != 0 && n != naming;
}

int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid,
              const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual, ptl_handle_ni_t *ni_handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_ni *ni;
    int result = PTL_ARG_INVALID;
    if ((iface == PTL_IFACE_DEFAULT || iface == 0) && is_one_kind(options) && ni_handle != NULL)
        result = open_ni(card, options, pid, desired, &ni);
    if (result == PTL_OK) {
        *ni_handle = ni->handle;
        if (actual != NULL)
            *actual = ni->limits;
    }
    p4_leave(card);
    return result;
}

/* ---- closing ---------------------------------------------------------------------------- */

/* Gives up a message under way, without events. */
static void abandon(p4_message *message)
{
    p4_entry *entry = message->entry;
    entry->busy--;
    message->pt->busy--;
    if (message->header != NULL) {
        p4_list_remove(&message->header->link);
        entry->headers--;
        free(message->header);
    }
    if (!entry->is_linked && entry->busy == 0 && entry->headers == 0)
        free(entry);
    message->pt = NULL;
    message->fail = PTL_NI_DROPPED;
}

/* Makes a response whose data is in an entry one without data. */
static void abandon_response(p4_response *response)
{
    abandon(&response->message);
    response->reads_entry = false;
    if (response->moved > 0)
        response->packet = (p4_packet){ .kind = P4_CUT };
    response->packet.fail = PTL_NI_DROPPED;
    response->packet.length = response->packet.match_bits = 0;
    response->moved = 0;
}

/* Ends the messages under way in the interface, whose entries are about to go. */
static void end_messages(pen_portals *card, const p4_ni *ni)
{
    for (uint32_t i = 0; i < card->config.processes; i++) {
        p4_peer *peer = &card->peers[i];
        if (peer->has_message && peer->message.pt != NULL && peer->message.pt->ni == ni)
            abandon(&peer->message);
        for (p4_link *link = peer->responses.next; link != &peer->responses; link = link->next) {
            p4_response *response = pen_container_of(link, p4_response, link);
            if (response->reads_entry && response->message.pt->ni == ni)
                abandon_response(response);
        }
    }
}

static void free_portal(p4_pt *pt)
{
    for (int list = 0; pt->is_allocated && list < 2; list++) {
        p4_link *end = &pt->lists[list];
        for (p4_link *link = end->next, *next; link != end; link = next) {
            next = link->next;
            p4_entry *entry = pen_container_of(link, p4_entry, link);
            p4_entry_unlink(pt->ni->card, entry, false);
            if (entry->headers == 0)
                free(entry);
        }
    }
}

/* Frees entries that only headers keep, and the headers. */
static void free_headers(p4_pt *pt)
{
    p4_link *end = &pt->headers;
    for (p4_link *link = end->next, *next; pt->is_allocated && link != end; link = next) {
        next = link->next;
        p4_header *header = pen_container_of(link, p4_header, link);
        p4_entry *entry = header->entry;
        p4_list_remove(link);
        free(header);
        if (--entry->headers == 0)
            free(entry);
    }
}

static void free_objects(pen_portals *card, p4_ni *ni)
{
    for (p4_object kind = P4_EQ; kind <= P4_MD; kind++) {
        p4_table *table = &card->tables[kind];
        for (uint32_t i = 0; i < table->used; i++) {
            void *object = table->slots[i].object;
            ptl_handle_any_t handle = p4_handle_at(card, kind, i);
            if (object == NULL || p4_find_owner(card, handle) != ni)
                continue;
            if (kind == P4_EQ) {
                p4_eq_end(card, handle);
            } else if (kind == P4_CT) {
                p4_ct_end(card, handle);
            } else {
                p4_handle_end(card, P4_MD, handle, false);
                free(object);
            }
        }
    }
}

/* Lets what the interface has to send go out, for a bounded time: targets expect it. */
static bool is_flushed(pen_portals *card, void *ctx, int *result)
{
    (void)ctx;
    *result = PTL_OK;
    return p4_list_is_empty(&card->busy);
}

void p4_ni_close(p4_ni *ni)
{
    pen_portals *card = ni->card;
    enum { FLUSH_MS = 2000 };
    (void)p4_wait(card, FLUSH_MS, false, is_flushed, NULL, PTL_OK);
    end_messages(card, ni);
    p4_op_drop_all(ni);
    for (int i = 0; i <= ni->limits.max_pt_index; i++)
        free_portal(&ni->pts[i]);
    for (int i = 0; i <= ni->limits.max_pt_index; i++)
        free_headers(&ni->pts[i]);
    free_objects(card, ni);
    card->nis[ni->kind] = NULL;
    p4_handle_end(card, P4_NI, ni->handle, false);
    card->is_changed = true;
    free(ni->pts);
    free(ni->map);
    free(ni->ranks);
    free(ni);
}

int PtlNIFini(ptl_handle_ni_t ni_handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_ni *ni = p4_find_ni(card, ni_handle);
    if (ni != NULL && --ni->references == 0)
        p4_ni_close(ni);
    p4_leave(card);
    return ni != NULL ? PTL_OK : PTL_ARG_INVALID;
}

/* ---- small calls ------------------------------------------------------------------------ */

int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t status_register, ptl_sr_value_t *status)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    const p4_ni *ni = p4_find_ni(card, ni_handle);
    bool is_right = ni != NULL && status != NULL && (unsigned)status_register < PTL_SR_LAST;
    if (is_right) {
        (void)p4_progress(card);
        *status = ni->status[status_register];
    }
    p4_leave(card);
    return is_right ? PTL_OK : PTL_ARG_INVALID;
}

int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    const p4_ni *ni = p4_find_owner(card, handle);
    if (ni != NULL && ni_handle != NULL)
        *ni_handle = ni->handle;
    p4_leave(card);
    return ni != NULL && ni_handle != NULL ? PTL_OK : PTL_ARG_INVALID;
}

/* Bundles are hints. Nothing is held back, so only the nesting is kept. */
static int bundle(ptl_handle_ni_t ni_handle, bool is_start)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_ni *ni = p4_find_ni(card, ni_handle);
    int result = ni == NULL || (!is_start && ni->bundles == 0) ? PTL_ARG_INVALID : PTL_OK;
    if (result == PTL_OK)
        ni->bundles += is_start ? 1 : UINT32_MAX;
    p4_leave(card);
    return result;
}

int PtlStartBundle(ptl_handle_ni_t ni_handle) { return bundle(ni_handle, true); }

int PtlEndBundle(ptl_handle_ni_t ni_handle) { return bundle(ni_handle, false); }
