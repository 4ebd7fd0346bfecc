/* SPDX-License-Identifier: BSD-3-Clause */
/* pace.c: round trip, timers and window of a peer.
 *
 * Smoothing and the probe timer are RFC 6298's and 9002's. The window is additive increase,
 * multiplicative decrease on the round trip, with a bypass while that is short: among ranks that
 * wait for each other loss says little, since credits keep buffers from overflowing. */
#include "reliable/pace.h"

#define FIRST_PROBE_NS  UINT64_C(20000000)   /* nothing measured yet: peers may be starting */
#define SAMPLE_NS_MAX   UINT64_C(1000000000) /* longer: the peer was stopped */
#define SHORT_NS        UINT64_C(50000)      /* no queue worth looking at */
#define QUEUE_NS        UINT64_C(2000000)    /* wanted at most on top of the shortest round trip */
#define LOSS_NS_MIN     UINT64_C(100000)     /* frames of one burst overtake each other */
#define HURRY_NS_MIN    UINT64_C(100000)
#define BACKOFF_MAX     16u
#define COLLAPSE_PROBES 3u

void pen_rel_pace_init(pen_rel_pace *pace, uint32_t window_min, uint32_t window_max)
{
    *pace = (pen_rel_pace){ .window_min = window_min, .window_max = window_max };
    pace->window = window_max / 2 > window_min ? window_max / 2 : window_min;
}

static void smooth(pen_rel_pace *pace, uint64_t round_ns)
{
    if (pace->smooth_ns == 0) {
        pace->smooth_ns = pace->least_ns = round_ns;
        pace->vary_ns = round_ns / 2;
        return;
    }
    if (round_ns < pace->least_ns)
        pace->least_ns = round_ns;
    if (round_ns <
        pace->smooth_ns / 8) { /* the peer was stopped and goes on: forget the long samples soon */
        pace->smooth_ns = (pace->smooth_ns + round_ns) / 2;
        pace->vary_ns /= 2;
        return;
    }
    uint64_t apart =
        round_ns > pace->smooth_ns ? round_ns - pace->smooth_ns : pace->smooth_ns - round_ns;
    pace->vary_ns = (pace->vary_ns * 3 + apart) / 4;
    pace->smooth_ns = (pace->smooth_ns * 7 + round_ns) / 8;
}

static void adapt(pen_rel_pace *pace, uint64_t now_ns, uint64_t round_ns, uint32_t bytes)
{
    uint64_t target_ns = pace->least_ns + QUEUE_NS;
    uint64_t window = pace->window;
    if (round_ns < SHORT_NS) {
        window += bytes;
    } else if (round_ns <= target_ns) {
        window += (uint64_t)bytes * pace->window_min / window + 1;
    } else if (now_ns > pace->cut_ns + pace->smooth_ns) {
        uint64_t excess = window * (round_ns - target_ns) / round_ns;
        window -= excess / 2 < window / 2 ? excess / 2 : window / 2;
        pace->cut_ns = now_ns;
    }
    if (window < pace->window_min)
        window = pace->window_min;
    pace->window = window < pace->window_max ? (uint32_t)window : pace->window_max;
}

void pen_rel_pace_sample(pen_rel_pace *pace, uint64_t now_ns, uint64_t round_ns, uint32_t bytes)
{
    uint64_t bounded_ns = round_ns == 0 ? 1 : round_ns;
    if (bounded_ns > SAMPLE_NS_MAX)
        bounded_ns = SAMPLE_NS_MAX;
    smooth(pace, bounded_ns);
    adapt(pace, now_ns, bounded_ns, bytes);
}

uint64_t pen_rel_pace_hurry_ns(const pen_rel_pace *pace)
{
    if (pace->smooth_ns == 0 || pace->backoff != 0)
        return UINT64_MAX;
    uint64_t wait_ns = pace->smooth_ns + 4 * pace->vary_ns;
    return wait_ns > HURRY_NS_MIN ? wait_ns : HURRY_NS_MIN;
}

uint64_t pen_rel_pace_probe_ns(const pen_rel_pace *pace)
{
    uint64_t wait_ns = pace->smooth_ns == 0 ? FIRST_PROBE_NS : pace->smooth_ns + 4 * pace->vary_ns;
    if (wait_ns < PEN_REL_PROBE_NS_MIN)
        wait_ns = PEN_REL_PROBE_NS_MIN;
    wait_ns <<= pace->backoff;
    return wait_ns < PEN_REL_PROBE_NS_MAX ? wait_ns : PEN_REL_PROBE_NS_MAX;
}

void pen_rel_pace_probed(pen_rel_pace *pace)
{
    if (pace->backoff < BACKOFF_MAX)
        pace->backoff++;
    if (pace->backoff == COLLAPSE_PROBES) /* earlier measurements of the path are no longer valid */
        pace->window = pace->window_min;
}

void pen_rel_pace_heard(pen_rel_pace *pace) { pace->backoff = 0; }

uint64_t pen_rel_pace_loss_ns(const pen_rel_pace *pace)
{
    uint64_t wait_ns = pace->smooth_ns + pace->smooth_ns / 8;
    return wait_ns > LOSS_NS_MIN ? wait_ns : LOSS_NS_MIN;
}
