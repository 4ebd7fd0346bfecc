/* SPDX-License-Identifier: BSD-3-Clause */
/* fake_ofi.h: a libfabric for tests, with all ranks' endpoints in one process. Its `manner` says
 * what the provider demands and grants, as the providers of real networks do: docs/conduits/ofi.md
 * has the table. By chance it has no room, ends operations late and in any order, reports a plain
 * put before its data has landed, lets frames overtake puts if it grants no order, and moves an
 * operation only when a rank that takes part in it reads a queue. It checks what the conduit asks
 * of it. One program has one. */
#ifndef PEN_TESTS_OFI_FAKE_OFI_H
#define PEN_TESTS_OFI_FAKE_OFI_H

#include "base/compiler.h"
#include "conduits/ofi/ofi.h"

#include <rdma/fi_errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    RANKS = 3,
    DEEDS_MAX = 4096, /* operations under way */
    ENTRIES_MAX = 1024,
    REGIONS_MAX = 512,
    MESSAGE_LEN = 1024,
    DATA_LEN = 128 * 1024,
};

typedef struct manner { /* of a provider */
    const char *name;
    uint64_t mr_mode;
    bool has_rma, is_ordered, has_multi, has_fd;
    size_t inject_len, key_len;
    bool lies;      /* delivery complete is not done */
    bool is_silent; /* no put ends */
    int register_error;
    unsigned taken_keys; /* requests for keys that are refused as taken */
} manner;

typedef enum deed_kind { DEED_SEND, DEED_WRITE, DEED_READ } deed_kind;

typedef struct deed { /* an operation under way */
    deed_kind kind;
    unsigned from, to;
    const void
        *source; /* read by the network until the operation is reported; then it is in copy */
    void *local, *context;
    unsigned char *copy;
    size_t len;
    uint64_t key, address, order;
    bool must_land, has_landed, is_reported;
} deed;

typedef struct played_region {
    struct fid_mr mr;
    struct played *owner;
    unsigned char *memory;
    size_t len;
    uint64_t access;
    bool is_open, is_bound, is_enabled;
} played_region;

typedef struct played { /* all objects of one link */
    struct fid_fabric fabric;
    struct fid_domain domain;
    struct fid_av av;
    struct fid_cq sent, arrived;
    struct fid_ep ep;
    unsigned number, objects;
    bool has_queue;
    struct fi_cq_data_entry ended[ENTRIES_MAX], came[ENTRIES_MAX];
    unsigned ended_count, came_count;
    struct fi_cq_err_entry failed;
    bool has_failed;
    struct {
        void *context;
        unsigned char *memory;
        size_t at, len;
    } room[OFI_BUFFERS]; /* posted buffers, oldest first */
    unsigned room_count;
} played;

static struct fake {
    manner manner;
    uint64_t dice, order;
    unsigned refuse_in_8; /* chance that a call has no room */
    int fail_rma;         /* error with which the next puts and gets end */
    int refuse_rma;       /* answer to the next puts and gets */
    played *rank[RANKS];
    unsigned rank_count;
    deed deeds[DEEDS_MAX];
    unsigned deed_count;
    played_region regions[REGIONS_MAX];
    unsigned region_count;
    uint64_t last_key;
    unsigned fabrics, infos, writes, reads, landings_late;
} fake;

static uint32_t dice(uint32_t bound)
{
    fake.dice = fake.dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(fake.dice >> 33) % bound;
}

static bool is_refused(void) { return dice(8) < fake.refuse_in_8; }

/* ---- what the provider is ----------------------------------------------------------------------
 */

static struct fi_info *info_make(void)
{
    struct fi_info *info = calloc(1, sizeof *info);
    assert_non_null(info);
    info->tx_attr = calloc(1, sizeof *info->tx_attr);
    info->rx_attr = calloc(1, sizeof *info->rx_attr);
    info->ep_attr = calloc(1, sizeof *info->ep_attr);
    info->domain_attr = calloc(1, sizeof *info->domain_attr);
    info->fabric_attr = calloc(1, sizeof *info->fabric_attr);
    fake.infos++;
    return info;
}

static void info_free(struct fi_info *info)
{
    fake.infos--;
    free(info->fabric_attr->prov_name);
    free(info->domain_attr->name);
    free(info->tx_attr);
    free(info->rx_attr);
    free(info->ep_attr);
    free(info->domain_attr);
    free(info->fabric_attr);
    free(info);
}

static struct fi_info *info_dup(const struct fi_info *from)
{
    struct fi_info *info = info_make();
    if (from == NULL)
        return info;
    *info->tx_attr = *from->tx_attr;
    *info->rx_attr = *from->rx_attr;
    *info->ep_attr = *from->ep_attr;
    *info->domain_attr = *from->domain_attr;
    *info->fabric_attr = *from->fabric_attr;
    info->caps = from->caps;
    info->fabric_attr->prov_name = strdup(from->fabric_attr->prov_name);
    info->domain_attr->name = NULL;
    return info;
}

static int get_info(uint32_t version, const char *node, const char *service, uint64_t flags,
                    const struct fi_info *hints, struct fi_info **out)
{
    const manner *is = &fake.manner;
    (void)version, (void)node, (void)service, (void)flags;
    const uint64_t order = hints->tx_attr->msg_order | hints->rx_attr->msg_order;
    assert_true((hints->mode & FI_CONTEXT2) != 0 && hints->ep_attr->type == FI_EP_RDM);
    assert_int_equal(hints->caps & FI_ATOMIC, 0); /* asking for it loses the order */
    if (((hints->caps & FI_RMA) != 0 && !is->has_rma) ||
        ((hints->caps & FI_MULTI_RECV) != 0 && !is->has_multi) ||
        ((order & FI_ORDER_SAW) != 0 && !is->is_ordered) ||
        (is->mr_mode & ~(uint64_t)hints->domain_attr->mr_mode) != 0)
        return -FI_ENODATA;
    struct fi_info *info = info_make();
    info->caps = hints->caps;
    info->tx_attr->msg_order = info->rx_attr->msg_order = order;
    info->tx_attr->inject_size = is->inject_len;
    info->ep_attr->max_msg_size = 1 << 20;
    info->domain_attr->mr_mode = (int)is->mr_mode;
    info->domain_attr->mr_key_size = is->key_len;
    info->fabric_attr->prov_name = strdup(is->name);
    *out = info;
    return 0;
}

static uint32_t version(void) { return FI_VERSION(1, 17); }

static const char *error_text(int error)
{
    (void)error;
    return "an error";
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static played *of_domain(struct fid *fid) { return pen_container_of(fid, played, domain.fid); }
static played *of_ep(struct fid_ep *ep) { return pen_container_of(ep, played, ep); }

static played_region *of_region(struct fid *fid)
{
    return pen_container_of(fid, played_region, mr.fid);
}

static int region_close(struct fid *fid)
{
    played_region *region = of_region(fid);
    assert_true(region->is_open);
    region->is_open = false;
    region->owner->objects--;
    return 0;
}

static int region_bind(struct fid *fid, struct fid *ep, uint64_t flags)
{
    played_region *region = of_region(fid);
    assert_true(flags == 0 && ep == &region->owner->ep.fid);
    region->is_bound = true;
    return 0;
}

static int region_control(struct fid *fid, int command, void *arg)
{
    (void)arg;
    assert_true(command == FI_ENABLE && of_region(fid)->is_bound);
    of_region(fid)->is_enabled = true;
    return 0;
}

static struct fi_ops region_ops = {
    .size = sizeof region_ops, .close = region_close, .bind = region_bind, .control = region_control
};

static int region_open(struct fid *fid, const void *memory, size_t len, uint64_t access,
                       uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **out,
                       void *context)
{
    (void)context;
    const manner *is = &fake.manner;
    assert_true(offset == 0 && flags == 0 && fake.region_count < REGIONS_MAX);
    if (is->register_error != 0)
        return is->register_error;
    const bool is_for_frames = (access & FI_REMOTE_WRITE) == 0;
    if (!is_for_frames && fake.manner.taken_keys != 0) {
        fake.manner.taken_keys--;
        return -FI_ENOKEY;
    }
    if (!is_for_frames && is->key_len < 8)
        assert_true(key >> 8 * is->key_len == 0);
    played_region *region = &fake.regions[fake.region_count++];
    *region = (played_region){ .owner = of_domain(fid),
                               .memory = (unsigned char *)(uintptr_t)memory,
                               .len = len,
                               .access = access,
                               .is_open = true,
                               .is_enabled = (is->mr_mode & FI_MR_ENDPOINT) == 0 };
    region->mr.fid.ops = &region_ops;
    region->mr.key = (is->mr_mode & FI_MR_PROV_KEY) != 0 ? ++fake.last_key : key;
    region->mr.mem_desc = region;
    region->owner->objects++;
    *out = &region->mr;
    return 0;
}

static struct fi_ops_mr memory_ops = { .size = sizeof memory_ops, .reg = region_open };

/* The memory that a put or get of a peer names. */
static unsigned char *reached(const deed *of)
{
    for (unsigned i = 0; i < fake.region_count; i++) {
        const played_region *region = &fake.regions[i];
        const bool has_addresses = (fake.manner.mr_mode & FI_MR_VIRT_ADDR) != 0;
        const uint64_t at = of->address - (has_addresses ? (uintptr_t)region->memory : 0);
        if (!region->is_open || region->owner->number != of->to || region->mr.key != of->key)
            continue;
        assert_true(region->is_enabled && (region->access & FI_REMOTE_WRITE) != 0 &&
                    (region->access & FI_REMOTE_READ) != 0);
        assert_true(at <= region->len && of->len <= region->len - at);
        return region->memory + at;
    }
    fail_msg("%s", "a put or get with a key that the peer does not have");
    return NULL;
}

/* A provider that demands registered local memory gets it with each message. */
static void check_local(void *desc, const void *memory, size_t len)
{
    if ((fake.manner.mr_mode & FI_MR_LOCAL) == 0)
        return;
    const played_region *region = desc;
    assert_non_null(region);
    assert_true(region->is_open && (const unsigned char *)memory >= region->memory &&
                (const unsigned char *)memory + len <= region->memory + region->len);
}

/* ---- operations --------------------------------------------------------------------------------
 */

static void deed_add(const deed *made)
{
    assert_true(fake.deed_count < DEEDS_MAX);
    deed *out = &fake.deeds[fake.deed_count++];
    *out = *made;
    out->order = ++fake.order;
    out->copy = malloc(out->len + 1);
    assert_non_null(out->copy);
    if (out->source != NULL)
        memcpy(out->copy, out->source, out->len);
}

/* Returns the rank that has this address in the address table of an endpoint. */
static unsigned rank_at(fi_addr_t address) { return (unsigned)(address / 7 - 1); }

static ssize_t play_send(struct fid_ep *ep, const void *bytes, size_t len, void *desc, fi_addr_t to,
                         void *context)
{
    if (is_refused())
        return -FI_EAGAIN;
    assert_true(len <= OFI_MESSAGE_MAX);
    check_local(desc, bytes, len);
    deed_add(&(deed){ .kind = DEED_SEND,
                      .from = of_ep(ep)->number,
                      .to = rank_at(to),
                      .source = bytes,
                      .context = context,
                      .len = len });
    return 0;
}

static ssize_t play_inject(struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to)
{
    assert_true(len <= fake.manner.inject_len);
    if (is_refused())
        return -FI_EAGAIN;
    deed_add(&(deed){ .kind = DEED_SEND,
                      .from = of_ep(ep)->number,
                      .to = rank_at(to),
                      .source = bytes,
                      .len = len,
                      .is_reported = true });
    return 0;
}

static ssize_t play_write(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags)
{
    assert_true(message->iov_count == 1 && message->rma_iov_count == 1);
    assert_true((flags & FI_COMPLETION) != 0 && fake.manner.has_rma);
    assert_int_equal(message->msg_iov[0].iov_len, message->rma_iov[0].len);
    if (fake.refuse_rma != 0)
        return fake.refuse_rma;
    if (is_refused())
        return -FI_EAGAIN;
    fake.writes++;
    deed_add(&(deed){ .kind = DEED_WRITE,
                      .from = of_ep(ep)->number,
                      .to = rank_at(message->addr),
                      .source = message->msg_iov[0].iov_base,
                      .context = message->context,
                      .len = message->rma_iov[0].len,
                      .key = message->rma_iov[0].key,
                      .address = message->rma_iov[0].addr,
                      .must_land = (flags & FI_DELIVERY_COMPLETE) != 0 && !fake.manner.lies });
    return 0;
}

static ssize_t play_read(struct fid_ep *ep, void *local, size_t len, void *desc, fi_addr_t from,
                         uint64_t address, uint64_t key, void *context)
{
    (void)desc;
    if (fake.refuse_rma != 0)
        return fake.refuse_rma;
    if (is_refused())
        return -FI_EAGAIN;
    fake.reads++;
    deed_add(&(deed){ .kind = DEED_READ,
                      .from = of_ep(ep)->number,
                      .to = rank_at(from),
                      .local = local,
                      .context = context,
                      .len = len,
                      .key = key,
                      .address = address,
                      .must_land = true });
    return 0;
}

static ssize_t play_recvmsg(struct fid_ep *ep, const struct fi_msg *message, uint64_t flags)
{
    played *rank = of_ep(ep);
    assert_true((flags & FI_MULTI_RECV) != 0 && rank->room_count < OFI_BUFFERS);
    if (is_refused())
        return -FI_EAGAIN;
    check_local(message->desc[0], message->msg_iov[0].iov_base, message->msg_iov[0].iov_len);
    rank->room[rank->room_count].context = message->context;
    rank->room[rank->room_count].memory = message->msg_iov[0].iov_base;
    rank->room[rank->room_count].len = message->msg_iov[0].iov_len;
    rank->room[rank->room_count++].at = 0;
    return 0;
}

/* ---- progress ----------------------------------------------------------------------------------
 */

static void entry_add(played *rank, void *context, uint64_t flags, void *data, size_t len)
{
    assert_true(rank->came_count < ENTRIES_MAX);
    rank->came[rank->came_count++] =
        (struct fi_cq_data_entry){ .op_context = context, .flags = flags, .buf = data, .len = len };
}

static bool message_lands(const deed *of, const unsigned char *bytes)
{
    played *rank = fake.rank[of->to];
    if (rank->room_count == 0 || rank->came_count + 2 > ENTRIES_MAX)
        return false;
    unsigned char *at = rank->room[0].memory + rank->room[0].at;
    void *context = rank->room[0].context;
    memcpy(at, bytes, of->len);
    rank->room[0].at += of->len;
    const bool is_used_up = rank->room[0].len - rank->room[0].at < OFI_MESSAGE_MAX;
    const bool is_apart = is_used_up && dice(2) == 0;
    entry_add(rank, context, FI_RECV | FI_MSG | (is_used_up && !is_apart ? FI_MULTI_RECV : 0), at,
              of->len);
    if (is_apart)
        entry_add(rank, context, FI_MULTI_RECV, NULL, 0);
    if (is_used_up)
        memmove(&rank->room[0], &rank->room[1], --rank->room_count * sizeof rank->room[0]);
    return true;
}

/* Does an earlier put to the same rank hold this frame up? */
static bool is_behind(const deed *frame)
{
    for (unsigned i = 0; fake.manner.is_ordered && i < fake.deed_count; i++) {
        const deed *other = &fake.deeds[i];
        if (other->kind == DEED_WRITE && other->from == frame->from && other->to == frame->to &&
            other->order < frame->order && !other->has_landed)
            return true;
    }
    return false;
}

static void land(deed *of)
{
    const unsigned char *bytes = of->copy;
    if (!of->is_reported && of->source != NULL) { /* nobody has written there */
        assert_memory_equal(of->source, of->copy, of->len);
        bytes = of->source;
    }
    if (of->kind == DEED_SEND)
        of->has_landed = !is_behind(of) && message_lands(of, bytes);
    else {
        unsigned char *at = reached(of);
        memcpy(of->kind == DEED_WRITE ? at : of->local, of->kind == DEED_WRITE ? bytes : at,
               of->len);
        of->has_landed = true;
        fake.landings_late += of->is_reported;
    }
}

static void report(deed *of)
{
    played *rank = fake.rank[of->from];
    if (rank->ended_count == ENTRIES_MAX || rank->has_failed || fake.manner.is_silent)
        return;
    of->is_reported = true;
    if (of->kind != DEED_SEND && fake.fail_rma != 0) {
        rank->has_failed = of->has_landed = true;
        rank->failed = (struct fi_cq_err_entry){ .op_context = of->context, .err = fake.fail_rma };
        return;
    }
    if (of->source != NULL)
        assert_memory_equal(of->source, of->copy, of->len);
    rank->ended[rank->ended_count++] = (struct fi_cq_data_entry){ .op_context = of->context };
}

/* Moves one operation that this rank takes part in: the target lets it land, the source is told. */
static void progress(const played *rank)
{
    if (fake.deed_count == 0)
        return;
    const unsigned i = dice(fake.deed_count);
    deed *of = &fake.deeds[i];
    const bool may_land = of->to == rank->number && !of->has_landed;
    const bool may_end =
        of->from == rank->number && !of->is_reported && (of->has_landed || !of->must_land);
    if (may_land && !(may_end && dice(2) == 0))
        land(of);
    else if (may_end)
        report(of);
    if (!of->has_landed || !of->is_reported)
        return;
    free(of->copy);
    memmove(of, of + 1, (--fake.deed_count - i) * sizeof *of);
}

static ssize_t entries_read(struct fi_cq_data_entry *queue, unsigned *queued, void *out,
                            size_t count)
{
    const size_t n = *queued < count ? *queued : count;
    memcpy(out, queue, n * sizeof *queue);
    memmove(queue, queue + n, (*queued -= (unsigned)n) * sizeof *queue);
    return n == 0 ? -FI_EAGAIN : (ssize_t)n;
}

static ssize_t read_sent(struct fid_cq *cq, void *out, size_t count)
{
    played *rank = pen_container_of(cq, played, sent);
    for (unsigned i = dice(8); i > 0; i--)
        progress(rank);
    return rank->has_failed ? -FI_EAVAIL
                            : entries_read(rank->ended, &rank->ended_count, out, count);
}

static ssize_t read_arrived(struct fid_cq *cq, void *out, size_t count)
{
    played *rank = pen_container_of(cq, played, arrived);
    for (unsigned i = dice(8); i > 0; i--)
        progress(rank);
    return entries_read(rank->came, &rank->came_count, out, count);
}

static ssize_t read_error(struct fid_cq *cq, struct fi_cq_err_entry *out, uint64_t flags)
{
    played *rank = pen_container_of(cq, played, sent);
    (void)flags;
    assert_true(rank->has_failed);
    rank->has_failed = false;
    *out = rank->failed;
    return 1;
}

static struct fi_ops_cq sent_ops = { .size = sizeof sent_ops,
                                     .read = read_sent,
                                     .readerr = read_error };
static struct fi_ops_cq arrived_ops = { .size = sizeof arrived_ops, .read = read_arrived };

#endif
