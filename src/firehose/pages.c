/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.c: a hash table with chains, whose nodes are allocated when it is opened. */
#include "firehose/pages.h"

#include "base/compiler.h"

#include <stdlib.h>

enum { BUCKET_BITS_MIN = 4, BUCKET_BITS_MAX = 31 };

bool pen_pages_open(pen_pages *pages, uint32_t node_count)
{
    unsigned bits = BUCKET_BITS_MIN;
    while (bits < BUCKET_BITS_MAX && (UINT32_C(1) << bits) < node_count)
        bits++;
    *pages = (pen_pages){ .bucket_bits = bits };
    pages->buckets = calloc((size_t)1 << bits, sizeof *pages->buckets);
    pages->nodes = calloc((size_t)node_count + 1, sizeof *pages->nodes);
    if (pages->buckets != NULL && pages->nodes != NULL)
        return true;
    pen_pages_close(pages);
    return false;
}

void pen_pages_close(pen_pages *pages)
{
    free(pages->buckets);
    free(pages->nodes);
    *pages = (pen_pages){ 0 };
}

static uint32_t node_take(pen_pages *pages)
{
    if (pages->spare == 0)
        return ++pages->used;
    uint32_t at = pages->spare;
    pages->spare = pages->nodes[at].next;
    return at;
}

/* Returns the link that leads to the first node of the page, or to the end of its bucket. */
static uint32_t *first_of(pen_pages *pages, uintptr_t page)
{
    uint32_t *link = &pages->buckets[pen_pages_bucket(pages, page)];
    while (*link != 0 && pages->nodes[*link].page != page)
        link = &pages->nodes[*link].next;
    return link;
}

void pen_pages_add(pen_pages *pages, uint32_t owner, uintptr_t begin, uintptr_t end)
{
    for (uintptr_t page = begin; page < end; page++) {
        uint32_t at = node_take(pages);
        uint32_t *link = first_of(pages, page);
        while (*link != 0 && pages->nodes[*link].page == page && pages->nodes[*link].end > end)
            link = &pages->nodes[*link].next;
        pages->nodes[at] =
            (pen_page_node){ .page = page, .end = end, .owner = owner, .next = *link };
        *link = at;
    }
}

void pen_pages_remove(pen_pages *pages, uint32_t owner, uintptr_t begin, uintptr_t end)
{
    for (uintptr_t page = begin; page < end; page++) {
        uint32_t *link = first_of(pages, page);
        while (*link != 0 && pages->nodes[*link].page == page && pages->nodes[*link].owner != owner)
            link = &pages->nodes[*link].next;
        PEN_INVARIANT(*link != 0 && pages->nodes[*link].page == page);
        uint32_t at = *link;
        *link = pages->nodes[at].next;
        pages->nodes[at].next = pages->spare;
        pages->spare = at;
    }
}
