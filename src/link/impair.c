/* SPDX-License-Identifier: BSD-3-Clause */
/* impair.c: the impairing link: the verdict on a frame, the frames that wait, and the five calls
 * every link has. */
#include "link/impair.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "link/impair_internal.h"
#include "os/lock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Longest wait of a reordered frame that no frame overtakes, as when its sender waits for the
 * answer. */
#define REORDER_NS 1000000u

#define HELD_ALIGN 16u

const pen_knob pen_impair_knobs[] = {
    { "PENSTOCK_IMPAIR_DROP", PEN_KNOB_REAL, "0", offsetof(pen_impair_config, drop),
      "For tests: probability that a frame is lost." },
    { "PENSTOCK_IMPAIR_DUPLICATE", PEN_KNOB_REAL, "0", offsetof(pen_impair_config, duplicate),
      "For tests: probability that a frame arrives twice." },
    { "PENSTOCK_IMPAIR_REORDER", PEN_KNOB_REAL, "0", offsetof(pen_impair_config, reorder),
      "For tests: probability that the next frame overtakes a frame." },
    { "PENSTOCK_IMPAIR_DELAY", PEN_KNOB_REAL, "0", offsetof(pen_impair_config, delay),
      "For tests: probability that a frame is held back." },
    { "PENSTOCK_IMPAIR_DELAY_TIME", PEN_KNOB_SECONDS, "1ms", offsetof(pen_impair_config, delay_s),
      "For tests: how long a frame is held back." },
    { "PENSTOCK_IMPAIR_CORRUPT", PEN_KNOB_REAL, "0", offsetof(pen_impair_config, corrupt),
      "For tests: probability that one bit of a frame is flipped." },
    { "PENSTOCK_IMPAIR_SEED", PEN_KNOB_INT, "1", offsetof(pen_impair_config, seed),
      "For tests: seed that selects the impaired frames; each rank mixes its number in." },
    { "PENSTOCK_IMPAIR_MEND", PEN_KNOB_BOOL, "yes", offsetof(pen_impair_config, mend),
      "For tests: whether lost frames are sent again; if not, programs see the loss." },
    { 0 },
};

/* ---- dice ------------------------------------------------------------------------------------ */

/* splitmix64 */
static uint64_t dice_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t dice_next(uint64_t *dice)
{
    return dice_mix(*dice += UINT64_C(0x9e3779b97f4a7c15));
}

/* Draws in any case, so that changing one probability does not change the frames that the rest
 * hit. */
static bool dice_hits(uint64_t *dice, double probability)
{
    return (double)(dice_next(dice) >> 11) * 0x1p-53 < probability;
}

impair_verdict impair_judge(impair_link *link, const pen_frame *frame)
{
    const pen_impair_config *config = &link->config;
    impair_verdict verdict = { 0 };
    bool drop = dice_hits(&link->dice, config->drop);
    bool duplicate = dice_hits(&link->dice, config->duplicate);
    bool reorder = dice_hits(&link->dice, config->reorder);
    bool delay = dice_hits(&link->dice, config->delay);
    bool corrupt = dice_hits(&link->dice, config->corrupt);
    verdict.bit = dice_next(&link->dice) % (((uint64_t)frame->head_len + frame->body_len) * 8);
    verdict.drop = drop;
    verdict.duplicate = duplicate && !drop;
    verdict.delay = delay && !drop;
    verdict.reorder = reorder && !delay && !drop;
    verdict.corrupt = corrupt && !drop;
    return verdict;
}

/* ---- copies of frames ------------------------------------------------------------------------ */

struct impair_held {
    impair_held *next;
    pen_op op;       /* counts down while the wrapped link reads the body */
    uint64_t due_ns; /* 0: as soon as there is room */
    pen_peer to;
    pen_lane lane;
    bool can_be_overtaken; /* a later frame may overtake it; then it is due */
    uint32_t head_len, body_len;
    _Alignas(HELD_ALIGN) unsigned char bytes[]; /* head, then the body at a multiple of 16 */
};

static size_t held_body_off(uint32_t head_len) { return pen_align_up(head_len, HELD_ALIGN); }

/* relaxed throughout: writers hold the lock, and poll and arm use it as a hint */
static uint32_t held_count(impair_link *link)
{
    return atomic_load_explicit(&link->held, memory_order_relaxed);
}

static impair_held *held_make(impair_link *link, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    const pen_host *host = link->pass.base.host;
    size_t body_off = held_body_off(frame->head_len);
    if (held_count(link) == PEN_IMPAIR_HELD_MAX)
        return NULL;
    impair_held *held = (impair_held *)host->alloc(
        host->ctx, sizeof *held + body_off + frame->body_len, HELD_ALIGN);
    if (held == NULL)
        return NULL;
    *held = (impair_held){ .to = to, .lane = lane, .op = { .shared = link->shared } };
    held->head_len = frame->head_len;
    held->body_len = frame->body_len;
    memcpy(held->bytes, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(held->bytes + body_off, frame->body, frame->body_len);
    atomic_store_explicit(&link->held, held_count(link) + 1, memory_order_relaxed);
    return held;
}

void impair_held_free(impair_link *link, impair_held *held)
{
    if (held == NULL)
        return;
    atomic_store_explicit(&link->held, held_count(link) - 1, memory_order_relaxed);
    link->pass.base.host->release(link->pass.base.host->ctx, held);
}

static void held_flip(impair_held *held, uint64_t bit)
{
    size_t at = (size_t)(bit / 8);
    if (at >= held->head_len)
        at += held_body_off(held->head_len) - held->head_len;
    held->bytes[at] ^= (unsigned char)(1u << bit % 8);
}

pen_frame impair_held_frame(const impair_held *held)
{
    const unsigned char *body = held->bytes + held_body_off(held->head_len);
    return (pen_frame){ held->bytes, held->body_len != 0 ? body : NULL, held->head_len,
                        held->body_len };
}

pen_post impair_held_post(impair_link *link, impair_held *held)
{
    pen_frame frame = impair_held_frame(held);
    /* relaxed: no further thread knows the op yet */
    atomic_store_explicit(&held->op.source_busy, 1, memory_order_relaxed);
    atomic_store_explicit(&held->op.incomplete, 1, memory_order_relaxed);
    link->pass.inner->may_gather = false;
    pen_post result =
        link->pass.inner->ops->post(link->pass.inner, held->to, held->lane, &frame, &held->op);
    if (result == PEN_POST_PENDING) {
        held->next = link->flying;
        link->flying = held;
    } else if (result == PEN_POST_DONE) {
        impair_held_free(link, held);
    }
    return result;
}

void impair_prepare(impair_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                    impair_verdict *verdict, impair_held **own, impair_held **twin)
{
    *own = *twin = NULL;
    if (verdict->duplicate) {
        *twin = held_make(link, to, lane, frame);
        verdict->duplicate = *twin != NULL;
        verdict->spared += *twin == NULL;
    }
    if (!verdict->corrupt && !verdict->delay && !verdict->reorder)
        return;
    *own = held_make(link, to, lane, frame);
    if (*own == NULL) {
        verdict->corrupt = verdict->delay = verdict->reorder = false;
        verdict->spared++;
    } else if (verdict->corrupt) {
        held_flip(*own, verdict->bit);
    }
}

/* ---- waiting frames -------------------------------------------------------------------------- */

static void list_append(impair_link *link, impair_held *held)
{
    held->next = NULL;
    *link->last_next = held;
    link->last_next = &held->next;
}

void impair_hold(impair_link *link, impair_held *held, const impair_verdict *verdict)
{
    const pen_host *host = link->pass.base.host;
    held->can_be_overtaken = verdict->reorder;
    held->due_ns = host->now_ns(host->ctx) + (verdict->delay ? link->delay_ns : REORDER_NS);
    list_append(link, held);
}

uint64_t impair_next_due(const impair_link *link)
{
    uint64_t due_ns = UINT64_MAX;
    for (const impair_held *held = link->first; held != NULL; held = held->next)
        due_ns = held->due_ns < due_ns ? held->due_ns : due_ns;
    return due_ns;
}

static void free_landed(impair_link *link)
{
    for (impair_held **at = &link->flying; *at != NULL;) {
        impair_held *held = *at;
        /* acquire: pairs with the drop of the thread that completed it; its reads of the body
         * are over */
        if (atomic_load_explicit(&held->op.incomplete, memory_order_acquire) != 0) {
            at = &held->next;
            continue;
        }
        *at = held->next;
        impair_held_free(link, held);
    }
}

/* Sends the waiting frames that are due by then, as far as there is room; returns how many it
 * sent. */
static unsigned send_due(impair_link *link, uint64_t by_ns)
{
    impair_held *rest = link->first;
    unsigned sent = 0;
    link->first = NULL;
    link->last_next = &link->first;
    while (rest != NULL) {
        impair_held *held = rest;
        rest = held->next;
        pen_post result = held->due_ns > by_ns ? PEN_POST_AGAIN : impair_held_post(link, held);
        if (result == PEN_POST_AGAIN)
            list_append(link, held);
        else if (result == PEN_POST_FAILED)
            impair_held_free(link, held); /* the wrapped link reports the lost peer */
        else
            sent++;
    }
    return sent;
}

static unsigned send_waiting(impair_link *link)
{
    const pen_host *host = link->pass.base.host;
    free_landed(link);
    /* While a body is written in place, its writer makes no further call on that lane. */
    if (link->first == NULL || link->reserved != 0)
        return 0;
    return send_due(link, host->now_ns(host->ctx));
}

static void count_verdict(pen_impair_counts *counts, const impair_verdict *verdict)
{
    counts->frames++;
    counts->dropped += verdict->drop;
    counts->duplicated += verdict->duplicate;
    counts->reordered += verdict->reorder;
    counts->delayed += verdict->delay;
    counts->corrupted += verdict->corrupt;
    counts->spared += verdict->spared;
}

void impair_taken(impair_link *link, pen_peer to, pen_lane lane, const impair_verdict *verdict,
                  impair_held *twin)
{
    bool has_gone = !verdict->drop && !verdict->delay && !verdict->reorder;
    count_verdict(&link->counts, verdict);
    for (impair_held *held = link->first; has_gone && held != NULL; held = held->next)
        if (held->can_be_overtaken && held->to == to && held->lane == lane)
            held->due_ns = 0;
    if (twin != NULL)
        list_append(link, twin);
    if (held_count(link) != 0)
        (void)send_waiting(link);
}

/* ---- the five calls every link has ----------------------------------------------------------- */

static pen_post post_as_judged(impair_link *link, pen_peer to, pen_lane lane,
                               const pen_frame *frame, pen_op *op)
{
    impair_held *own, *twin;
    pen_post result = PEN_POST_DONE;
    impair_verdict verdict = impair_judge(link, frame);
    impair_prepare(link, to, lane, frame, &verdict, &own, &twin);
    if (verdict.delay || verdict.reorder) {
        impair_hold(link, own, &verdict);
    } else if (own != NULL) {
        result = impair_held_post(link, own);
        if (result == PEN_POST_AGAIN || result == PEN_POST_FAILED)
            impair_held_free(link, own);
        else
            result = PEN_POST_DONE; /* the copy may be pending, but the frame itself is done */
    } else if (!verdict.drop) {
        link->pass.inner->may_gather = link->pass.base.may_gather;
        result = link->pass.inner->ops->post(link->pass.inner, to, lane, frame, op);
    }
    if (result == PEN_POST_AGAIN || result == PEN_POST_FAILED)
        impair_held_free(link, twin);
    else
        impair_taken(link, to, lane, &verdict, twin);
    return result;
}

static pen_post impair_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                            pen_op *op)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->pass.lock);
    uint64_t dice = link->dice;
    pen_post result = post_as_judged(link, to, lane, frame, op);
    if (result == PEN_POST_AGAIN)
        link->dice = dice; /* nothing happened: the next try gets the same verdict */
    pen_lock_drop(&link->pass.lock);
    return result;
}

static unsigned impair_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    impair_link *link = impair_of(base);
    unsigned sent = 0;
    if (held_count(link) != 0) {
        pen_lock_take(&link->pass.lock);
        sent = send_waiting(link);
        pen_lock_drop(&link->pass.lock);
    }
    return sent + link->pass.inner->ops->poll(link->pass.inner, lanes, budget);
}

static void say_counts(const impair_link *link)
{
    const pen_host *host = link->pass.base.host;
    const pen_impair_counts *counts = &link->counts;
    host->log(host->ctx, PEN_LOG_INFO,
              "impairment: of %" PRIu64 " frames %" PRIu64 " dropped, %" PRIu64
              " duplicated, %" PRIu64 " reordered, %" PRIu64 " delayed, %" PRIu64
              " corrupted; %" PRIu64 " spared, %" PRIu64 " lost at the end",
              counts->frames, counts->dropped, counts->duplicated, counts->reordered,
              counts->delayed, counts->corrupted, counts->spared, counts->lost);
}

static void impair_close(pen_link *base)
{
    impair_link *link = impair_of(base);
    const pen_host *host = link->pass.base.host;
    if (link->first != NULL && link->reserved == 0)
        (void)send_due(link, UINT64_MAX);
    for (const impair_held *held = link->first; held != NULL; held = held->next)
        link->counts.lost++;
    say_counts(link);
    link->pass.inner->ops->close(link->pass.inner); /* until then it may read the posted copies */
    *link->last_next = link->flying;
    while (link->first != NULL) {
        impair_held *held = link->first;
        link->first = held->next;
        impair_held_free(link, held);
    }
    host->release(host->ctx, link);
}

static const pen_link_ops impair_ops = {
    .close = impair_close,
    .address = pen_passing_address,
    .connect = pen_passing_connect,
    .post = impair_post,
    .poll = impair_poll,
};

/* ---- opening --------------------------------------------------------------------------------- */

bool pen_impair_is_on(const pen_impair_config *config)
{
    /* Not "> 0": a value out of range must reach the check that reports it. */
    return config->drop != 0 || config->duplicate != 0 || config->reorder != 0 ||
           config->delay != 0 || config->corrupt != 0;
}

static bool is_probability(double value) { return value >= 0 && value <= 1; }

static pen_status check_config(const pen_host *host, const pen_impair_config *config)
{
    if (is_probability(config->drop) && is_probability(config->duplicate) &&
        is_probability(config->reorder) && is_probability(config->delay) &&
        is_probability(config->corrupt))
        return PEN_OK;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot impair frames with the probabilities DROP=%g, DUPLICATE=%g, REORDER=%g, "
              "DELAY=%g, CORRUPT=%g: one is not a probability; set PENSTOCK_IMPAIR_... to numbers "
              "from 0 to 1",
              config->drop, config->duplicate, config->reorder, config->delay, config->corrupt);
    return PEN_ERR_ARGUMENT;
}

/* Promises of the wrapped link that survive the impairment. */
static pen_caps caps_left(const pen_caps *inner, const pen_impair_config *config)
{
    pen_caps caps = *inner;
    if (config->drop > 0 || config->duplicate > 0 || config->corrupt > 0)
        caps.flags &= ~(uint32_t)PEN_CAP_RELIABLE;
    if (config->corrupt > 0)
        caps.flags &= ~(uint32_t)PEN_CAP_INTACT;
    if (config->duplicate > 0 && caps.inbox_len > 1)
        caps.inbox_len /= 2; /* half is reserved for second copies */
    return caps;
}

static void warn_start(const pen_host *host, const pen_impair_config *config)
{
    host->log(host->ctx, PEN_LOG_WARN,
              "frames are impaired with the probabilities drop %g, duplicate %g, reorder %g, delay "
              "%g (by %g s), corrupt %g, seed %" PRId64 ": this job %s; unset PENSTOCK_IMPAIR_... "
              "to stop this",
              config->drop, config->duplicate, config->reorder, config->delay, config->delay_s,
              config->corrupt, config->seed,
              config->mend ? "will be slow" : "may hang, fail or compute nonsense");
}

static void link_init(impair_link *link, pen_link *inner, const pen_impair_config *config,
                      pen_concurrency concurrency)
{
    const double s_max = 1e9; /* no longer wait is useful, and no number overflows */
    memset(link, 0, sizeof *link);
    link->pass.base = *inner;
    link->pass.base.ops = &impair_ops;
    link->pass.base.rma = inner->rma != NULL ? &pen_passing_rma : NULL;
    link->pass.base.amo = inner->amo != NULL ? &pen_passing_amo : NULL;
    link->pass.base.zcopy = inner->zcopy != NULL ? &impair_zcopy : NULL;
    link->pass.base.wait = inner->wait != NULL ? &pen_passing_wait : NULL;
    link->pass.base.due = &impair_due;
    link->pass.base.caps = caps_left(&inner->caps, config);
    link->pass.inner = inner;
    link->config = *config;
    link->delay_ns = (uint64_t)((config->delay_s < s_max ? config->delay_s : s_max) * 1e9);
    link->shared = concurrency != PEN_ALONE;
    link->last_next = &link->first;
    link->dice = dice_mix(dice_mix((uint64_t)config->seed) + inner->self);
    pen_lock_init(&link->pass.lock, concurrency);
}

pen_status pen_impair_open(pen_link *inner, const pen_impair_config *config,
                           pen_concurrency concurrency, pen_link **out)
{
    const pen_host *host = inner->host;
    pen_status status = check_config(host, config);
    if (status != PEN_OK)
        return status;
    impair_link *link = (impair_link *)host->alloc(host->ctx, sizeof *link, _Alignof(impair_link));
    if (link == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot impair frames: aligned_alloc: %s; unset PENSTOCK_IMPAIR_...",
                  strerror(errno));
        return PEN_ERR_MEMORY;
    }
    link_init(link, inner, config, concurrency);
    if (inner->self == 0 && pen_impair_is_on(config))
        warn_start(host, config);
    *out = &link->pass.base;
    return PEN_OK;
}

pen_impair_counts pen_impair_read(pen_link *base)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->pass.lock);
    pen_impair_counts counts = link->counts;
    pen_lock_drop(&link->pass.lock);
    return counts;
}
