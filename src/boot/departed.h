/* SPDX-License-Identifier: BSD-3-Clause */
/* departed.h: what a rank leaves behind for its peers when it exits with 0: how far it has taken
 * part in what ranks do together. A record for each rank of the job lies in the host arena. A rank
 * writes its own; those of ranks on other hosts are written by the host's agent. With it a rank
 * that waits in a barrier or another collective sees that a member will never enter.
 *
 * A departed rank goes on to serve its peers, so a collective that it has entered can end. */
#ifndef PEN_BOOT_DEPARTED_H
#define PEN_BOOT_DEPARTED_H

#include "boot/boot.h"

enum { PEN_DEPARTED_TEAMS = 254 }; /* of further ones nothing is known */

typedef struct pen_departed_team {
    uint64_t id;
    uint32_t begun; /* collectives of the team, among them its barriers */
    uint32_t reserved;
} pen_departed_team;

typedef struct pen_departed {
    _Atomic uint32_t gone; /* 1: the rest is there */
    uint32_t meets;        /* start-up barriers that the rank has entered; pen_boot.meets */
    uint32_t meetings;     /* set-up calls; pen_host_rank.meetings */
    uint32_t named;        /* gasnet_barriers */
    uint32_t begun;        /* collectives of the primordial team */
    uint32_t team_count;
    pen_departed_team teams[PEN_DEPARTED_TEAMS]; /* the other teams it is a member of */
} pen_departed;

#define PEN_DEPARTED_LEN ((size_t)4096) /* a page, so that only those who leave cost memory */
_Static_assert(sizeof(pen_departed) <= PEN_DEPARTED_LEN, "a record is a page");

/* A job rank's record; NULL: there is no arena. */
static inline pen_departed *pen_departed_row(pen_host_page *page, uint32_t rank)
{
    if (page == NULL || page->departed_off == 0 || rank >= page->job_size)
        return NULL;
    return (pen_departed *)(void *)((char *)page + page->departed_off + rank * PEN_DEPARTED_LEN);
}

/* Whether any rank has left; a cheap question for the slow part of waits. */
static inline bool pen_departed_any(const pen_host_page *page)
{
    /* relaxed: the records say so themselves */
    return page != NULL && atomic_load_explicit(&page->departed_count, memory_order_relaxed) != 0;
}

/* The rank's record if it has left; else NULL. */
static inline const pen_departed *pen_departed_of(pen_host_page *page, uint32_t rank)
{
    pen_departed *row = pen_departed_row(page, rank);
    /* acquire: pairs with the release in pen_departed_show */
    return row != NULL && atomic_load_explicit(&row->gone, memory_order_acquire) != 0 ? row : NULL;
}

/* The record is complete: lets others see it. */
void pen_departed_show(pen_host_page *page, uint32_t rank);

/* How many bytes of a record travel between hosts, and taking in what has travelled. What does not
 * fit is dropped. */
size_t pen_departed_len(const pen_departed *row);
void pen_departed_take(pen_host_page *page, uint32_t rank, const void *bytes, size_t len);

#endif
