/* SPDX-License-Identifier: BSD-3-Clause */
/* host_page.h: the head of the host arena: what ranks of one host know of each other without
 * messages. Laid out by the supervisor before the ranks start. Who may write a field is said there.
 */
#ifndef PEN_BOOT_HOST_PAGE_H
#define PEN_BOOT_HOST_PAGE_H

#include "base/compiler.h"
#include "boot/wait_state.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_HOST_PAGE_MAGIC 0x50454e34u
#define PEN_HOST_LINES      32 /* cache lines per rank that coll/ may use */
#define PEN_HOST_KEY_LEN    32 /* bytes of the key of a launch */
#define PEN_HOST_SHARES     64 /* scratch of a rank that it lends to teams: so many shares ... */
#define PEN_HOST_SHARE_LEN  ((size_t)128 << 10) /* ... of so many bytes, for coll/; sparse */

/* One rank's public state: written by that rank unless said otherwise. Lines of their own, so that
 * what peers poll and what they write do not share one. */
typedef struct pen_host_rank {
    /* line 0: read-mostly for peers */
    _Atomic uint32_t sleeping; /* 1: "wake me", by a rank about to sleep; the waker clears it */
    _Atomic uint32_t pid;      /* 0 until it has joined */
    _Atomic uint32_t phase;    /* pen_host_phase, for the time-out's progress report */
    _Atomic uint64_t progress; /* events handled so far, updated now and then; same report */
    _Atomic uint32_t meetings; /* job/: collective set-up calls it has entered */
    /* line 1: written by peers */
    PEN_CACHE_ALIGNED _Atomic uint32_t wake; /* futex word: peers add 1 and wake */
    _Atomic uint32_t boot_sense;             /* start-up barrier */
    /* line 2 */
    pen_wait_state wait;
} pen_host_rank;

#define PEN_HOST_PHASE_LIST(X) \
    X(STARTING, "starting") X(RUNNING, "running") X(ATTACHED, "attached") X(EXITING, "exiting")
typedef enum pen_host_phase {
#define PEN_HOST_PHASE_ENUM(name, text) PEN_HOST_##name,
    PEN_HOST_PHASE_LIST(PEN_HOST_PHASE_ENUM)
#undef PEN_HOST_PHASE_ENUM
} pen_host_phase;

/* The console shows what ranks print line by line: a terminal, so ranks do not hold lines back. */
#define PEN_HOST_FLAG_TERMINAL 1u

typedef struct pen_host_page {
    uint32_t magic, size;        /* size: ranks on this host; written once by the supervisor */
    uint32_t job_size;           /* ranks on all hosts ... */
    uint32_t first;              /* ... of which ours are this one and those behind it */
    uint32_t host_i, host_count; /* this host's number, of how many; written once */
    uint64_t firsts_off;         /* the first job rank of each host: host_count words */
    uint32_t cores;              /* what pen_cores_allowed said to the supervisor */
    uint32_t flags;              /* PEN_HOST_FLAG_...: written once by the supervisor */
    /* What the kernel and control groups told the supervisor, in bytes: a rank does not read their
     * dozen files again. Written once, as are all offsets. */
    uint64_t memory_physical, memory_available;
    uint64_t exchange_off; /* arena offset of 2 * job_size * PEN_BOOT_BLOB_MAX bytes */
    uint64_t environment_off,
        environment_len;   /* the console's environment: NUL-terminated strings */
    uint64_t lines_off;    /* size * PEN_HOST_LINES cache lines, zero: barrier flags */
    uint64_t shares_off;   /* size * PEN_HOST_SHARES * PEN_HOST_SHARE_LEN bytes; 0: none */
    uint64_t departed_off; /* job_size records, zero at first: departed.h */
    uint64_t conduit_off, conduit_len;    /* the conduit's slice */
    uint64_t segment_off, segment_stride; /* rank r's memory: segment_off + r * segment_stride */
    /* What links that leave the host prove themselves with: random, made by the supervisor, told to
     * nobody but ranks, and by no other way than this memory, which core dumps leave out. */
    uint8_t job_key[PEN_HOST_KEY_LEN];
    PEN_CACHE_ALIGNED _Atomic uint32_t polling_total; /* threads that poll, whole host: all write */
    PEN_CACHE_ALIGNED _Atomic uint32_t boot_count;    /* start-up barrier: arrivals */
    _Atomic uint32_t boot_generation;
    _Atomic uint32_t boot_failed;            /* a rank ended: barriers give up */
    _Atomic uint32_t departed_count;         /* ranks that exited with 0, as far as known here */
    PEN_CACHE_ALIGNED pen_host_rank ranks[]; /* size of them */
} pen_host_page;

/* A job rank's row; NULL: it is on another host, or there is no page. */
static inline pen_host_rank *pen_host_row(pen_host_page *page, uint32_t rank)
{
    return page != NULL && rank - page->first < page->size ? &page->ranks[rank - page->first]
                                                           : NULL;
}

#endif
