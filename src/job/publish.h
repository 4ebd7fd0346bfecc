/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.h: making segments known to peers and to inline code. */
#ifndef PEN_JOB_PUBLISH_H
#define PEN_JOB_PUBLISH_H

#include "base/status.h"
#include "mem/mem.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pen_job pen_job;
struct pen_team;

enum { PEN_SEGMENT_KEY_MAX = 192 };

/* A rank's description of an endpoint's segment. len 0: no segment is bound. Receivers validate
 * it. */
typedef struct pen_told {
    uint64_t base, len;
    uint64_t arena_off; /* valid if in_arena */
    uint32_t number;
    uint16_t ep_index;
    uint8_t in_arena, has_key;
    uint8_t is_device; /* memory that its rank can only copy */
    uint8_t lacks;     /* capabilities that the endpoint does not have */
    uint8_t key[PEN_SEGMENT_KEY_MAX];
} pen_told;

/* Number of bytes of a pen_told to exchange: the same on all ranks. */
size_t pen_job_told_len(const pen_job *job);

/* Describes the segment bound to this rank's endpoint of that number, and lets peers access it. */
pen_status pen_job_tell(pen_job *job, uint16_t ep_index, pen_segment *segment, pen_told *out);

/* Imports a rank's description. No thread of this process may use that endpoint of that rank at
 * the same time, unless the description is unchanged. The result is not yet visible to inline
 * code. */
pen_status pen_job_believe(pen_job *job, uint32_t rank, const pen_told *told);

/* Make imported descriptions visible to inline code. _show: in the views of the primordial team,
 * of pairs and of all teams. _show_team: in a team that is not in the list yet. The code that
 * frees a team frees its rows. */
pen_status pen_job_show(pen_job *job);
pen_status pen_job_show_team(struct pen_team *team);

/* Collective over all ranks, without a team. Exports the primordial endpoint's segment (may be
 * NULL), imports those of all peers, and makes them visible. Ends with a barrier. Polls until
 * all ranks have arrived, because peers may wait for this rank's answers. */
pen_status pen_job_publish(pen_job *job, pen_segment *segment);

#endif
