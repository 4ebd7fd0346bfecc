/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.h: finds the regions that contain a page. For each page that lies in a region, the table
 * knows the region that reaches furthest beyond it. A request that begins in this page lies in one
 * region exactly if that region reaches its end. */
#ifndef PEN_FIREHOSE_PAGES_H
#define PEN_FIREHOSE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_page_node {
    uintptr_t page; /* address / page length */
    uintptr_t end;  /* page behind the last page of the region */
    uint32_t owner; /* number of the region */
    uint32_t next;  /* next node of the same bucket, or of the spare list; 0: it is the last */
} pen_page_node;

/* The nodes of one page follow each other in their bucket, the one that reaches furthest first.
 * Node 0 is not used, so memory that was never written is an empty bucket and costs no page. */
typedef struct pen_pages {
    uint32_t *buckets;
    pen_page_node *nodes;
    uint32_t spare; /* nodes that were removed */
    uint32_t used;  /* nodes that have ever been used */
    unsigned bucket_bits;
} pen_pages;

/* node_count: most pages of all regions together. Returns false if there is no memory. */
bool pen_pages_open(pen_pages *pages, uint32_t node_count);
void pen_pages_close(pen_pages *pages);

static inline uint32_t pen_pages_bucket(const pen_pages *pages, uintptr_t page)
{
    return (uint32_t)((page * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - pages->bucket_bits));
}

/* Returns the node of the region that reaches furthest beyond the page, or NULL. */
static inline const pen_page_node *pen_pages_find(const pen_pages *pages, uintptr_t page)
{
    uint32_t at = pages->buckets[pen_pages_bucket(pages, page)];
    while (at != 0 && pages->nodes[at].page != page)
        at = pages->nodes[at].next;
    return at == 0 ? NULL : &pages->nodes[at];
}

/* Enter and remove the pages begin to end - 1 of a region. A region that is entered later counts as
 * better than one with the same end. */
void pen_pages_add(pen_pages *pages, uint32_t owner, uintptr_t begin, uintptr_t end);
void pen_pages_remove(pen_pages *pages, uint32_t owner, uintptr_t begin, uintptr_t end);

#endif
