/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.h: the host arena, one sparse memfd that all ranks of a host map. The process that launches
 * the ranks lays it out. Each rank that joins maps it and checks every field before use. Parts, in
 * order: host page, exchange area, console environment, barrier lines, scratch that ranks lend to
 * teams, records of departed ranks, rings of a trace, the conduit's slice, one segment area per
 * rank. Only pages that are touched cost memory. Tests use it to make a job of threads: one arena,
 * one pen_boot per thread. */
#ifndef PEN_BOOT_ARENA_H
#define PEN_BOOT_ARENA_H

#include "base/status.h"
#include "boot/boot.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_arena {
    int fd;
    char *base;
    size_t len;
} pen_arena;

/* The part of a job that runs on one host. */
typedef struct pen_arena_part {
    uint32_t ranks;    /* on this host */
    uint32_t job_size; /* on all hosts */
    uint32_t host_i, host_count;
    const uint32_t *firsts; /* the first job rank of each host */
    const uint8_t *job_key; /* PEN_HOST_KEY_LEN bytes; NULL: a random key is made */
} pen_arena_part;

/* Lays out and maps an arena for `ranks` ranks. environment: NULL-terminated array of "NAME=value"
 * strings, which are copied. On failure prints one line that names the limit. */
pen_status pen_arena_create(pen_log *log, uint32_t ranks, const pen_boot_needs *needs,
                            char *const *environment, uint32_t flags, pen_arena *out);
pen_status pen_arena_create_part(pen_log *log, const pen_arena_part *part,
                                 const pen_boot_needs *needs, char *const *environment,
                                 uint32_t flags, pen_arena *out);
/* Called before ranks join, by a launcher that does not read the rings of a trace. If the user has
 * asked for a trace, prints a line and turns it off. */
void pen_arena_trace_off(pen_log *log, const pen_arena *arena);
void pen_arena_destroy(pen_arena *arena);

/* Joins, as `rank`, the job whose arena this descriptor is. On success *out owns both descriptors
 * and the mapping. control_fd: -1 if no supervisor exists. mapped: address of the arena if this
 * process has mapped it already (self-fork), else NULL. On failure prints one line and keeps
 * nothing. */
pen_status pen_boot_attach(pen_log *log, int arena_fd, char *mapped, int control_fd, uint32_t rank,
                           const char *launcher, pen_boot *out);

/* Bytes of address space that each rank's segment gets. A wish of length 0 and fraction 0 means
 * that the user set no limit. Pure; also called by tests. */
size_t pen_arena_stride(uint64_t physical, uint32_t ranks, const pen_memory_limit *wish,
                        size_t page_len, bool wish_only);

#endif
