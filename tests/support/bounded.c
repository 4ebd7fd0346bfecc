/* SPDX-License-Identifier: BSD-3-Clause */
/* bounded.c: the inbox of each link is a list of frames behind a mutex. Addresses are pointers. */
#include "support/bounded.h"

#include "link/host.h"
#include "link/window.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bounded_config bounded_defaults = {
    .frame_max = 4096, .grain = 256, .overhead = 32, .units = 80
};

typedef struct bounded_frame {
    struct bounded_frame *next;
    pen_peer from;
    pen_lane lane;
    uint32_t head_len, body_len, due; /* due: the poll that finds it */
    bool is_note;
    _Alignas(16) uint64_t head[PEN_FRAME_HEAD_COUNTED_MAX / 8 + 2];
    _Alignas(16) char body[];
} bounded_frame;

typedef struct bounded_link {
    pen_link base; /* first: the engine sees a pen_link */
    bounded_config config;
    struct bounded_link **peers;
    pen_peer peer_count;
    uint32_t posts;
    bool is_shut; /* it answers AGAIN to every post */
    uint64_t dice;
    pthread_mutex_t lock; /* guards all below */
    bounded_frame *first, **last_next;
    size_t len;      /* bytes of the inbox in use */
    uint32_t *notes; /* by peer */
    uint32_t polls, overruns;
} bounded_link;

static bounded_link *bounded_of(pen_link *link) { return (bounded_link *)(void *)link; }

static size_t charge_of(const bounded_link *link, uint32_t head_len, uint32_t body_len)
{
    size_t grain = link->config.grain;
    return ((size_t)head_len + body_len + link->config.overhead + grain - 1) / grain * grain;
}

static void overrun(bounded_link *to, pen_peer from, const char *what)
{
    to->overruns++;
    if (to->config.counts)
        return;
    fprintf(stderr, "bounded: rank %u overran the inbox of rank %u: %s\n", from, to->base.self,
            what);
    abort();
}

/* Charges the frame to the receiver's inbox. */
static void charge(bounded_link *to, const bounded_frame *frame)
{
    if (frame->is_note) {
        const uint32_t most = to->config.lends ? PEN_WINDOW_NOTES_LENT : PEN_WINDOW_NOTES;
        if (++to->notes[frame->from] > most)
            overrun(to, frame->from, "too many notes");
        return;
    }
    to->len += charge_of(to, frame->head_len, frame->body_len);
    if (to->len > to->base.caps.inbox_len - to->config.hidden)
        overrun(to, frame->from, "too many bytes");
}

static uint32_t roll(bounded_link *link, uint32_t below)
{
    link->dice = link->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(link->dice >> 33) % below;
}

static pen_post bounded_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                             pen_op *op)
{
    bounded_link *link = bounded_of(base), *peer = link->peers[to];
    (void)op; /* all is copied now */
    if (link->is_shut)
        return PEN_POST_AGAIN;
    if (link->config.refuses != 0 && ++link->posts % link->config.refuses == 0)
        return PEN_POST_AGAIN;
    bounded_frame *held = aligned_alloc(16, (sizeof *held + frame->body_len + 15) / 16 * 16);
    if (held == NULL || frame->head_len > PEN_FRAME_HEAD_COUNTED_MAX || frame->head_len % 8 != 0)
        abort();
    *held = (bounded_frame){ .from = base->self,
                             .lane = lane,
                             .head_len = frame->head_len,
                             .body_len = frame->body_len,
                             .is_note = pen_window_is_note(frame) };
    memcpy(held->head, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(held->body, frame->body, frame->body_len);
    uint32_t late = link->config.late != 0 ? roll(link, link->config.late) : 0;
    pthread_mutex_lock(&peer->lock);
    held->due = peer->polls + late;
    charge(peer, held);
    *peer->last_next = held;
    peer->last_next = &held->next;
    pthread_mutex_unlock(&peer->lock);
    base->host->wake(base->host->ctx, to);
    return PEN_POST_DONE;
}

/* Takes the oldest frame of the lanes that has come. */
static bounded_frame *take(bounded_link *link, unsigned lanes)
{
    bounded_frame *found = NULL;
    pthread_mutex_lock(&link->lock);
    for (bounded_frame **at = &link->first; *at != NULL; at = &(*at)->next) {
        bounded_frame *frame = *at;
        if ((lanes & PEN_LANE_BIT(frame->lane)) == 0 || (int32_t)(frame->due - link->polls) > 0)
            continue;
        *at = frame->next;
        if (frame->next == NULL)
            link->last_next = at;
        found = frame;
        break;
    }
    pthread_mutex_unlock(&link->lock);
    return found;
}

static void give_room(bounded_link *link, bounded_frame *frame)
{
    pthread_mutex_lock(&link->lock);
    if (frame->is_note)
        link->notes[frame->from]--;
    else
        link->len -= charge_of(link, frame->head_len, frame->body_len);
    pthread_mutex_unlock(&link->lock);
    free(frame);
}

static unsigned bounded_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    bounded_link *link = bounded_of(base);
    unsigned count = 0;
    pthread_mutex_lock(&link->lock);
    link->polls++;
    pthread_mutex_unlock(&link->lock);
    for (unsigned lane = PEN_LANES; lane-- > 0;) {
        bounded_frame *frame;
        while (count < budget && (frame = take(link, lanes & PEN_LANE_BIT(lane))) != NULL) {
            pen_host_hand(base->host, frame->from, frame->lane, frame->head, frame->head_len,
                          frame->body, frame->body_len);
            give_room(link, frame);
            count++;
        }
    }
    return count;
}

static void bounded_close(pen_link *base)
{
    bounded_link *link = bounded_of(base);
    while (link->first != NULL) {
        bounded_frame *frame = link->first;
        link->first = frame->next;
        free(frame);
    }
    pthread_mutex_destroy(&link->lock);
    free(link->peers);
    free(link->notes);
    free(link);
}

static pen_status bounded_address(pen_link *base, void *blob)
{
    uintptr_t place = (uintptr_t)base;
    memcpy(blob, &place, sizeof place);
    return PEN_OK;
}

static pen_status bounded_connect(pen_link *base, const void *blobs, pen_peer count)
{
    bounded_link *link = bounded_of(base);
    if (count != link->peer_count)
        return PEN_ERR_ARGUMENT;
    memcpy(link->peers, blobs, count * sizeof(uintptr_t));
    return PEN_OK;
}

static const pen_link_ops bounded_ops = { bounded_close, bounded_address, bounded_connect,
                                          bounded_post, bounded_poll };

static pen_status bounded_open(const pen_link_params *params, pen_link **out)
{
    const bounded_config *config = (const bounded_config *)params->config;
    bounded_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return PEN_ERR_MEMORY;
    link->config = config->grain != 0 ? *config : bounded_defaults;
    link->peers = calloc(params->peers, sizeof(pen_link *));
    link->notes = calloc(params->peers, sizeof *link->notes);
    if (link->peers == NULL || link->notes == NULL)
        abort();
    link->peer_count = params->peers;
    link->dice = params->self + 1;
    pthread_mutex_init(&link->lock, NULL);
    link->last_next = &link->first;
    link->base = (pen_link){
        .ops = &bounded_ops,
        .host = params->host,
        .self = params->self,
        .caps = { .flags = PEN_CAP_RELIABLE | PEN_CAP_INTACT | PEN_CAP_COPIES,
                  .frame_max = link->config.frame_max,
                  .frame_copy_max = link->config.frame_max,
                  .frame_overhead = link->config.overhead,
                  .frame_grain = link->config.grain,
                  .inbox_lends = link->config.lends,
                  .inbox_len = (size_t)params->peers * link->config.units * link->config.grain,
                  .addr_len = sizeof(uintptr_t) },
    };
    *out = &link->base;
    return PEN_OK;
}

static int bounded_score(pen_peer peers, const char **why_not)
{
    (void)peers, (void)why_not;
    return PEN_SCORE_NAMED + 1;
}

static size_t bounded_shared_len(pen_peer peers, const void *config)
{
    (void)peers, (void)config;
    return 0;
}

void bounded_refuse(pen_link *link, bool refuses) { bounded_of(link)->is_shut = refuses; }

uint32_t bounded_overruns(const pen_link *link)
{
    return ((const bounded_link *)(const void *)link)->overruns;
}

const pen_conduit pen_conduit_bounded = {
    .abi = PEN_CONDUIT_ABI,
    .name = "bounded",
    .summary = "for tests: a network that never says full",
    .config_len = sizeof(bounded_config),
    .score = bounded_score,
    .shared_len = bounded_shared_len,
    .open = bounded_open,
};
