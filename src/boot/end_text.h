/* SPDX-License-Identifier: BSD-3-Clause */
/* end_text.h: lines about the end of a job. The supervisor and the steward name ranks and give
 * reasons in the same words. */
#ifndef PEN_BOOT_END_TEXT_H
#define PEN_BOOT_END_TEXT_H

#include <stdint.h>

typedef struct pen_rank_text {
    char text[112];
} pen_rank_text;

/* Returns "rank 3 (host n17, pid 4711)". */
pen_rank_text pen_rank_text_of(uint32_t rank, const char *host, int pid);

enum { PEN_RANKS_NAMED_MAX = 8 };

/* A list of ranks, of which the first few are named. Starts as zeros. */
typedef struct pen_rank_list {
    uint32_t named[PEN_RANKS_NAMED_MAX];
    unsigned count; /* ranks in the list, named or not */
} pen_rank_list;

void pen_rank_list_add(pen_rank_list *list, uint32_t rank);

typedef struct pen_end_text {
    char text[512];
} pen_end_text;

/* Some ranks have left with 0, and others not. An empty list stands for ranks of other hosts.
 * notice: the job waits for up to leave_limit_ns; 0: without a limit. late: that time has passed.
 */
pen_end_text pen_end_notice(const pen_rank_list *left, const pen_rank_list *stay,
                            uint64_t leave_limit_ns);
pen_end_text pen_end_late(const pen_rank_list *left, const pen_rank_list *stay,
                          uint64_t leave_limit_ns);

/* Reasons for the end. `who` is a rank as pen_rank_text_of names it, `note` a reason or empty,
 * `call` the collective in which the rank waits, and `departed` the rank for which it waits. */
pen_end_text pen_end_exited(const char *who, int code, const char *note);
pen_end_text pen_end_called(const char *who, int code, const char *note);
pen_end_text pen_end_resigned(const char *who);
pen_end_text pen_end_blocked(const char *who, const char *call, const char *departed);

#endif
