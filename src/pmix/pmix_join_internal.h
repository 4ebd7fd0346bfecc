/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_join_internal.h: state of a steward that joins, for pmix_join.c and pmix_arena.c. */
#ifndef PEN_PMIX_PMIX_JOIN_INTERNAL_H
#define PEN_PMIX_PMIX_JOIN_INTERNAL_H

#include "boot/arena.h"
#include "pmix/foreign.h"
#include "pmix/oob.h"
#include "pmix/pmix_hello.h"
#include "pmix/steward.h"

#include <stdbool.h>
#include <stddef.h>

/* State that is needed until all ranks have joined. */
typedef struct joining {
    pen_steward *s;
    const pen_foreign *launcher;
    pen_pmix_hello *hellos; /* greetings of all ranks; they point into blobs */
    char **blobs;
    size_t *blob_lens;
    pen_pmix_hello mine;
    bool whole; /* this block has all ranks of the host */
    int listener;
    char addresses[PEN_OOB_ADDRESSES_LEN];
    int oob_listener; /* rank 0's in a PMI-1 job of several hosts (oob.h) */
    pen_arena arena;
} joining;

/* Names the current call, for the thread that joins. */
void pen_join_doing(pen_steward *s, const char *what);

/* Refuses to join, with advice on how to get a job without the launcher. Returns false. */
bool pen_join_refuse(const joining *j, const char *call, const char *why);

/* Makes the arena of the block or fetches it, and maps its head. */
bool pen_join_arena_get(joining *j);

#endif
