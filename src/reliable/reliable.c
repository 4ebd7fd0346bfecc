/* SPDX-License-Identifier: BSD-3-Clause */
/* reliable.c: the reliable link: the protocol with a lock around it, and the host that it lends to
 * the link below.
 *
 * The lock guards the protocol. It is held around every post of the link below, as that link
 * requires, and never while the engine takes a frame or the link below is polled. The arguments of
 * the present poll are guarded by the engine's poll lock. */
#include "reliable/reliable.h"

#include "base/bytes.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "link/host.h"
#include "link/lanes.h"
#include "os/lock.h"
#include "os/os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SESSION_LEN = sizeof(uint32_t), LINE_LEN_MAX = 512, FRAME_MAX_LEAST = 1024 };

#define MEMORY_MAX   ((size_t)64 << 20) /* bytes of copies to send again */
#define BORROW_LEN   8192u
#define LINGER_NS    UINT64_C(200000000) /* for the last acknowledgements */
#define LINGER_POLLS 100000u

typedef struct reliable_link {
    pen_link base; /* first: the engine sees a pen_link */
    pen_link *inner;
    const pen_host *host; /* the engine's */
    pen_lender lender;    /* lends the host to the link below */
    pen_lock lock;        /* guards the core */
    pen_rel_core core;
    unsigned lanes, room; /* arguments of the poll that runs */
    unsigned events;      /* frames delivered and ops completed by it */
    bool has_arrivals;
    uint64_t now_ns;         /* time of this poll; 0: not read yet */
    uint64_t counted_resent; /* frames sent again that the rank's counters contain */
} reliable_link;

static reliable_link *reliable_of(pen_link *link) { return (reliable_link *)(void *)link; }

static uint64_t clock_of(reliable_link *link) { return link->host->now_ns(link->host->ctx); }

/* One look at the clock does for all that a poll finds. */
static uint64_t poll_now(reliable_link *link)
{
    if (link->now_ns == 0)
        link->now_ns = clock_of(link);
    return link->now_ns;
}

/* ---- what the link below borrows ------------------------------------------------------------- */

static void hand_up(reliable_link *link, pen_rel_delivery *in)
{
    link->events++;
    link->room -= link->room != 0;
    pen_host_hand(link->host, in->from, in->lane, in->head, in->head_len, in->body, in->body_len);
}

static void lent_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head,
                         uint32_t head_len, void *body, uint32_t body_len)
{
    reliable_link *link = (reliable_link *)((const pen_lender *)ctx)->owner;
    pen_frame frame = { head, body, head_len, body_len };
    pen_rel_delivery delivery;
    uint64_t now_ns = poll_now(link);
    (void)lane; /* the header says which one the sender meant */
    link->has_arrivals = true;
    pen_lock_take(&link->lock);
    pen_rel_result result = pen_rel_receive(&link->core, now_ns, from, &frame,
                                            link->room != 0 ? link->lanes : 0, &delivery);
    pen_lock_drop(&link->lock);
    if (result != PEN_REL_DELIVER)
        return;
    hand_up(link, &delivery);
    pen_lock_take(&link->lock);
    pen_rel_consumed(&link->core, now_ns, &delivery);
    pen_lock_drop(&link->lock);
}

/* ---- what the protocol asks for ---------------------------------------------------------------
 */

static void *out_alloc(void *ctx, size_t len, size_t align)
{
    const pen_host *host = ((const reliable_link *)ctx)->host;
    return host->alloc(host->ctx, len, align);
}

static void out_release(void *ctx, void *memory)
{
    const pen_host *host = ((const reliable_link *)ctx)->host;
    host->release(host->ctx, memory);
}

static pen_post out_send(void *ctx, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    const reliable_link *link = (reliable_link *)ctx;
    pen_link *inner = link->inner;
    inner->may_gather = link->core.may_gather;
    return inner->ops->post(inner, to, lane, frame, op);
}

/* ---- the five calls every link has ----------------------------------------------------------- */

static pen_status reliable_address(pen_link *base, void *blob)
{
    reliable_link *link = reliable_of(base);
    const uint32_t inner_len = link->inner->caps.addr_len;
    pen_sink sink = pen_sink_of((unsigned char *)blob + inner_len, SESSION_LEN);
    pen_sink_u32(&sink, link->core.config.session);
    return link->inner->ops->address(link->inner, blob);
}

static pen_status reliable_connect(pen_link *base, const void *blobs, pen_peer count)
{
    reliable_link *link = reliable_of(base);
    const size_t inner_len = link->inner->caps.addr_len, len = base->caps.addr_len;
    const pen_host *host = link->host;
    if (count != link->core.config.peers)
        return PEN_ERR_ARGUMENT;
    unsigned char *inner_blobs =
        (unsigned char *)host->alloc(host->ctx, count * inner_len + 1, _Alignof(max_align_t));
    if (inner_blobs == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot connect the reliable link: aligned_alloc of %zu bytes: %s; free some "
                  "memory",
                  count * inner_len + 1, strerror(errno));
        return PEN_ERR_MEMORY;
    }
    for (pen_peer peer = 0; peer < count; peer++) {
        const unsigned char *blob = (const unsigned char *)blobs + peer * len;
        pen_bytes in = pen_bytes_of(blob + inner_len, SESSION_LEN);
        pen_rel_meet(&link->core, peer, pen_bytes_u32(&in));
        memcpy(inner_blobs + peer * inner_len, blob, inner_len);
    }
    pen_status status = link->inner->ops->connect(link->inner, inner_blobs, count);
    host->release(host->ctx, inner_blobs);
    return status;
}

static pen_post reliable_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                              pen_op *op)
{
    reliable_link *link = reliable_of(base);
    uint64_t now_ns = clock_of(link);
    pen_lock_take(&link->lock);
    pen_post result = pen_rel_post(&link->core, now_ns, to, lane, frame, op);
    pen_lock_drop(&link->lock);
    return result;
}

/* Delivers frames that were kept for lanes that are read now. */
static void deliver_kept(reliable_link *link)
{
    pen_rel_delivery delivery;
    while (link->room != 0) {
        pen_lock_take(&link->lock);
        pen_kept *kept = pen_rel_next_kept(&link->core, link->lanes, &delivery);
        pen_lock_drop(&link->lock);
        if (kept == NULL)
            return;
        hand_up(link, &delivery);
        pen_lock_take(&link->lock);
        pen_rel_kept_consumed(&link->core, poll_now(link), kept, &delivery);
        pen_lock_drop(&link->lock);
    }
}

/* Adds the frames sent again since the last call to the rank's counters. The lock is held. */
static void count_resent(reliable_link *link)
{
    const uint64_t resent = link->core.counts.resent;
    if (link->host->counters != NULL)
        link->host->counters->frame_resent += resent - link->counted_resent;
    link->counted_resent = resent;
}

static void tick(reliable_link *link)
{
    pen_lock_take(&link->lock);
    if (pen_rel_has_work(&link->core)) {
        pen_rel_tick(&link->core, poll_now(link), !link->has_arrivals);
        count_resent(link);
    }
    pen_op *op = pen_rel_take_finished(&link->core);
    pen_lock_drop(&link->lock);
    while (op != NULL) {
        link->events++;
        pen_op_source_done(op);
        pen_op_done(op);
        pen_lock_take(&link->lock);
        op = pen_rel_take_finished(&link->core);
        pen_lock_drop(&link->lock);
    }
}

static unsigned reliable_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    reliable_link *link = reliable_of(base);
    link->lanes = lanes;
    link->room = budget;
    link->events = 0;
    link->now_ns = 0;
    link->has_arrivals = false;
    deliver_kept(link);
    (void)link->inner->ops->poll(link->inner, PEN_LANES_ALL, budget);
    tick(link);
    return link->events;
}

/* Until what was posted is acknowledged, within reason: peers may be gone. */
static void linger(reliable_link *link)
{
    uint64_t until_ns = clock_of(link) + LINGER_NS;
    for (unsigned polls = 0; polls < LINGER_POLLS; polls++) {
        if (pen_rel_is_settled(&link->core) || clock_of(link) > until_ns)
            return;
        link->now_ns = 0;
        link->room = 0; /* the engine takes no more frames */
        link->has_arrivals = false;
        (void)link->inner->ops->poll(link->inner, PEN_LANES_ALL, 32);
        if (pen_rel_has_work(&link->core))
            pen_rel_tick(&link->core, poll_now(link), true);
    }
}

static void say_counts(const reliable_link *link)
{
    const pen_rel_counts *counts = &link->core.counts;
    const pen_host *host = link->host;
    char line[LINE_LEN_MAX];
    size_t len = 0;
    line[0] = '\0';
#define REL_SAY(name, text)                                                        \
    if (len < sizeof line)                                                         \
        len += (size_t)snprintf(line + len, sizeof line - len, "%s%" PRIu64 " %s", \
                                len == 0 ? "" : ", ", counts->name, text);
    PEN_REL_COUNT_LIST(REL_SAY)
#undef REL_SAY
    host->log(host->ctx, PEN_LOG_INFO, "reliable link: %s", line);
}

static void reliable_close(pen_link *base)
{
    reliable_link *link = reliable_of(base);
    const pen_host *host = link->host;
    linger(link);
    say_counts(link);
    link->inner->ops->close(link->inner); /* until then it may read posted frames */
    pen_rel_close(&link->core);
    host->release(host->ctx, link);
}

static const pen_link_ops reliable_ops = {
    .close = reliable_close,
    .address = reliable_address,
    .connect = reliable_connect,
    .post = reliable_post,
    .poll = reliable_poll,
};

/* ---- waiting --------------------------------------------------------------------------------- */

static int reliable_fd(pen_link *base)
{
    reliable_link *link = reliable_of(base);
    return link->inner->wait->fd(link->inner);
}

static bool reliable_arm(pen_link *base)
{
    reliable_link *link = reliable_of(base);
    return link->inner->wait->arm(link->inner);
}

static const pen_wait_ops reliable_wait = { .fd = reliable_fd, .arm = reliable_arm };

/* At once if a peer is owed an acknowledgement, or a frame is kept for a lane that may be asked for
 * next; else when the protocol's next timer ends. */
static uint64_t reliable_due_ns(pen_link *base)
{
    reliable_link *link = reliable_of(base);
    if (!pen_lock_try(&link->lock))
        return 0;
    bool has_work = link->core.acks_due != 0 || link->core.kept.total != 0;
    uint64_t due_ns = has_work ? 0 : link->core.deadline_ns;
    pen_lock_drop(&link->lock);
    if (due_ns != 0 && link->inner->due != NULL) {
        uint64_t inner_ns = link->inner->due->due_ns(link->inner);
        due_ns = inner_ns < due_ns ? inner_ns : due_ns;
    }
    return due_ns;
}

static const pen_due_ops reliable_due = { .due_ns = reliable_due_ns };

/* ---- opening --------------------------------------------------------------------------------- */

static pen_caps caps_made(const pen_caps *inner, const pen_rel_config *config)
{
    return (pen_caps){
        .flags = PEN_CAP_RELIABLE | PEN_CAP_INTACT | PEN_CAP_COPIES |
                 (inner->flags & (uint32_t)PEN_CAP_SAME_HOST),
        .frame_max = pen_rel_frame_max(config),
        .frame_copy_max = pen_rel_copy_max(config),
        .addr_len = inner->addr_len + SESSION_LEN,
    };
}

static pen_rel_config config_of(const pen_link *inner, pen_peer peers, pen_concurrency concurrency)
{
    const pen_caps *caps = &inner->caps;
    pen_rel_config config = { .self = inner->self,
                              .peers = peers,
                              .frame_max = caps->frame_max,
                              .overhead = caps->frame_overhead,
                              .grain = caps->frame_grain,
                              .inbox_len = caps->inbox_len,
                              .memory_max = MEMORY_MAX,
                              .borrow_len = BORROW_LEN,
                              .intact = (caps->flags & PEN_CAP_INTACT) != 0,
                              .shared = concurrency != PEN_ALONE };
    pen_random(&config.session, sizeof config.session);
    return config;
}

pen_status pen_reliable_open(pen_link *inner, pen_host *lent, const pen_host *host, pen_peer peers,
                             pen_concurrency concurrency, pen_link **out)
{
    if (inner->caps.frame_max < FRAME_MAX_LEAST ||
        inner->caps.addr_len > PEN_ADDR_LEN_MAX - SESSION_LEN) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot make the link reliable: it takes frames of %u bytes and has addresses of "
                  "%u; at least %d and at most %d are needed; choose another conduit with "
                  "PENSTOCK_CONDUIT",
                  inner->caps.frame_max, inner->caps.addr_len, FRAME_MAX_LEAST,
                  PEN_ADDR_LEN_MAX - SESSION_LEN);
        return PEN_ERR_UNUSABLE;
    }
    pen_rel_config config = config_of(inner, peers, concurrency);
    reliable_link *link =
        (reliable_link *)host->alloc(host->ctx, sizeof *link, _Alignof(reliable_link));
    pen_status status = PEN_ERR_MEMORY;
    if (link != NULL) {
        pen_rel_out output = { link, out_send, out_alloc, out_release };
        memset(link, 0, sizeof *link);
        link->host = host;
        status = pen_rel_init(&link->core, &config, &output);
    }
    if (status != PEN_OK) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot make the link reliable: aligned_alloc for %u peers: %s; free some memory",
                  peers, strerror(errno));
        if (link != NULL)
            host->release(host->ctx, link);
        return status;
    }
    link->inner = inner;
    pen_lock_init(&link->lock, concurrency);
    link->base = (pen_link){ .ops = &reliable_ops,
                             .wait = inner->wait != NULL ? &reliable_wait : NULL,
                             .due = &reliable_due,
                             .host = host,
                             .caps = caps_made(&inner->caps, &config),
                             .self = inner->self };
    pen_host_intercept(&link->lender, link->host, link, lent_deliver, lent);
    *out = &link->base;
    return PEN_OK;
}

pen_rel_counts pen_reliable_read(pen_link *base)
{
    reliable_link *link = reliable_of(base);
    pen_lock_take(&link->lock);
    pen_rel_counts counts = link->core.counts;
    pen_lock_drop(&link->lock);
    return counts;
}

const pen_rel_core *pen_reliable_core(pen_link *base) { return &reliable_of(base)->core; }
