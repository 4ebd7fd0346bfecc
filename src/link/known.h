/* SPDX-License-Identifier: BSD-3-Clause */
/* known.h: lists of the local memory that a link has registered with its device, to find the
 * registration of the memory of a put or a get; and keys of regions that are plain numbers. The
 * caller holds the lock that guards the list. */
#ifndef PEN_LINK_KNOWN_H
#define PEN_LINK_KNOWN_H

#include "base/status.h"
#include "conduit/conduit.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pen_known {
    struct pen_known *next;
    uintptr_t begin;
    size_t len;
} pen_known;

static inline void pen_known_add(pen_known **list, pen_known *known)
{
    known->next = *list;
    *list = known;
}

/* Takes memory off the list, if it is there. */
static inline void pen_known_remove(pen_known **list, pen_known *known)
{
    while (*list != NULL && *list != known)
        list = &(*list)->next;
    if (*list != NULL)
        *list = known->next;
}

/* Returns an entry that contains all of the memory, or NULL. *offset: its place there. */
static inline pen_known *pen_known_find(pen_known *list, const void *local, size_t len,
                                        size_t *offset)
{
    for (pen_known *known = list; known != NULL; known = known->next) {
        *offset = (uintptr_t)local - known->begin; /* wraps below */
        if (*offset < known->len && len <= known->len - *offset)
            return known;
    }
    return NULL;
}

/* The slots import_region and release_region of a link that exports 8 bytes, which are the key. */
pen_status pen_known_import(pen_link *link, pen_peer peer, const void *blob, pen_rkey *out);
void pen_known_release(pen_link *link, pen_peer peer, pen_rkey key);

#endif
