/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.h: the host arena: one sparse memfd that all ranks of a host map. Who launches lays it out;
 * who joins maps it and believes nothing it has not checked. In order: host page, exchange area,
 * console environment, barrier lines, the conduit's slice, a segment area per rank. Only pages that
 * are touched cost memory. Also lets tests make a job of threads: one arena, one boot a thread. */
#ifndef PEN_BOOT_ARENA_H
#define PEN_BOOT_ARENA_H

#include "boot/boot.h"

typedef struct pen_arena {
    int fd;
    char *base;
    size_t len;
} pen_arena;

/* A host's part of a job of several. */
typedef struct pen_arena_part {
    uint32_t ranks;    /* on this host */
    uint32_t job_size; /* on all */
    uint32_t host_i, host_count;
    const uint32_t *firsts; /* the first job rank of each host */
    const uint8_t *job_key; /* PEN_HOST_KEY_LEN bytes; NULL: drawn here */
} pen_arena_part;

/* Lays out an arena for so many ranks and maps it. environment: NULL-terminated "NAME=value"
 * strings, copied. On failure one line names the limit that was met. */
pen_status pen_arena_create(pen_log *log, uint32_t ranks, const pen_boot_needs *needs,
                            char *const *environment, uint32_t flags, pen_arena *out);
pen_status pen_arena_create_part(pen_log *log, const pen_arena_part *part,
                                 const pen_boot_needs *needs, char *const *environment,
                                 uint32_t flags, pen_arena *out);
void pen_arena_destroy(pen_arena *arena);

/* Joins as `rank` the job whose arena this descriptor is. On success *out owns both descriptors
 * (control_fd may be -1: nobody supervises) and the mapping. mapped: where the arena is mapped
 * already (self-fork), or NULL. */
pen_status pen_boot_attach(pen_log *log, int arena_fd, char *mapped, int control_fd, uint32_t rank,
                           const char *launcher, pen_boot *out);

/* What segments are laid out for: bytes of address space per rank. Pure; for tests. A limit of
 * length 0 and fraction 0 is no wish. */
size_t pen_arena_stride(uint64_t physical, uint32_t ranks, const pen_memory_limit *wish,
                        size_t page_len, bool wish_only);

#endif
