/* SPDX-License-Identifier: BSD-3-Clause */
/* pace.h: how fast to send to a peer and how long to wait for it: the round trip as measured, the
 * time until a frame is probed for or taken for lost, and the window, which follows delay and not
 * loss. Pure: every time is an argument. */
#ifndef PEN_RELIABLE_PACE_H
#define PEN_RELIABLE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PEN_REL_PROBE_NS_MIN UINT64_C(1000000)    /* below it a timer only finds busy peers */
#define PEN_REL_PROBE_NS_MAX UINT64_C(4000000000) /* longest time between two probes */

typedef struct pen_rel_pace {
    uint64_t smooth_ns, vary_ns; /* mean and variation of the round trip; 0: not measured yet */
    uint64_t least_ns;
    uint64_t cut_ns;  /* when the window was last made smaller */
    uint32_t backoff; /* probes in a row without an answer */
    uint32_t window;  /* bytes on their way, as charged */
    uint32_t window_min, window_max;
} pen_rel_pace;

void pen_rel_pace_init(pen_rel_pace *pace, uint32_t window_min, uint32_t window_max);

/* Takes a measured round trip and the number of bytes that were acknowledged with it. */
void pen_rel_pace_sample(pen_rel_pace *pace, uint64_t now_ns, uint64_t round_ns, uint32_t bytes);

/* Returns the time from the last sign of life to the next probe. It grows with each unanswered
 * probe up to PEN_REL_PROBE_NS_MAX; probing never ends. */
/* Returns how long a blocked sender waits for an acknowledgement before it asks once, with a note,
 * which frames have arrived. UINT64_MAX: the path is not measured, or the peer does not answer. */
uint64_t pen_rel_pace_hurry_ns(const pen_rel_pace *pace);

uint64_t pen_rel_pace_probe_ns(const pen_rel_pace *pace);
void pen_rel_pace_probed(pen_rel_pace *pace);
void pen_rel_pace_heard(pen_rel_pace *pace);

/* How long after it was sent a frame is lost that a younger one has overtaken. */
uint64_t pen_rel_pace_loss_ns(const pen_rel_pace *pace);

#endif
