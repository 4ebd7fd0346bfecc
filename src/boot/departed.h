/* SPDX-License-Identifier: BSD-3-Clause */
/* departed.h: the record that a rank leaves for its peers when it exits with 0. It counts the
 * barriers and collectives that the rank has entered. If a rank waits for a member that will never
 * enter, it learns that from the record. The host arena has one record per rank of the job. A rank
 * writes its own record; the host's agent writes those of ranks on other hosts.
 *
 * A departed rank continues to serve its peers, so a collective that it has entered can end. */
#ifndef PEN_BOOT_DEPARTED_H
#define PEN_BOOT_DEPARTED_H

#include "boot/host_page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_DEPARTED_TEAMS = 254 }; /* further teams are not recorded */

typedef struct pen_departed_team {
    uint64_t id;
    uint32_t begun; /* collectives of the team, among them its barriers */
    uint32_t reserved;
} pen_departed_team;

typedef struct pen_departed {
    _Atomic uint32_t gone; /* 1: the fields below are valid */
    uint32_t meets;        /* start-up barriers that the rank has entered; pen_boot.meets */
    uint32_t meetings;     /* set-up calls; pen_host_rank.meetings */
    uint32_t named;        /* gasnet_barriers */
    uint32_t begun;        /* collectives of the primordial team */
    uint32_t team_count;
    pen_departed_team teams[PEN_DEPARTED_TEAMS]; /* teams other than the primordial one */
} pen_departed;

#define PEN_DEPARTED_LEN ((size_t)4096) /* a page, so that only ranks that leave cost memory */
_Static_assert(sizeof(pen_departed) <= PEN_DEPARTED_LEN, "a record is a page");

/* Returns the record of a job rank; NULL if this process has no arena. */
static inline pen_departed *pen_departed_row(pen_host_page *page, uint32_t rank)
{
    if (page == NULL || page->departed_off == 0 || rank >= page->job_size)
        return NULL;
    return (pen_departed *)(void *)((char *)page + page->departed_off + rank * PEN_DEPARTED_LEN);
}

/* Whether any rank has left. Cheap enough for the slow part of waits. */
static inline bool pen_departed_any(const pen_host_page *page)
{
    /* relaxed: pen_departed_of acquires the record itself */
    return page != NULL && atomic_load_explicit(&page->departed_count, memory_order_relaxed) != 0;
}

/* The rank's record if it has left; else NULL. */
static inline const pen_departed *pen_departed_of(pen_host_page *page, uint32_t rank)
{
    pen_departed *row = pen_departed_row(page, rank);
    /* acquire: pairs with the release in pen_departed_show */
    return row != NULL && atomic_load_explicit(&row->gone, memory_order_acquire) != 0 ? row : NULL;
}

/* Publishes a complete record. */
void pen_departed_show(pen_host_page *page, uint32_t rank);

/* Bytes of a record that travel between hosts, and the function that stores received bytes in a
 * row. Bytes that do not fit are dropped. */
size_t pen_departed_len(const pen_departed *row);
void pen_departed_take(pen_host_page *page, uint32_t rank, const void *bytes, size_t len);

#endif
