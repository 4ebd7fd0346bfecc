/* SPDX-License-Identifier: BSD-3-Clause */
/* host_page.h: the head of the host arena, which holds what ranks of one host know of each other
 * without messages. The supervisor lays it out before the ranks start. Each field says who may
 * write it. */
#ifndef PEN_BOOT_HOST_PAGE_H
#define PEN_BOOT_HOST_PAGE_H

#include "base/compiler.h"
#include "base/copy.h"
#include "boot/wait_state.h"
#include "diag/counters.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_HOST_PAGE_MAGIC 0x50454e37u
#define PEN_HOST_LINES      32 /* cache lines per rank that coll/ may use */
#define PEN_HOST_KEY_LEN    32 /* bytes of a job's key */
#define PEN_HOST_SHARES     64 /* shares of scratch per rank, which the rank lends to teams */
#define PEN_HOST_SHARE_LEN  ((size_t)128 << 10) /* bytes of one share, for coll/; sparse */

/* Copy of a rank's counters. The rank writes it at most a few hundred times a second, in slow paths
 * of its polls and waits. Each number is read by itself. */
typedef struct pen_host_shown {
    PEN_CACHE_ALIGNED _Atomic uint64_t
        seen_ns; /* time of the copy, CLOCK_MONOTONIC; 0: no copy yet */
    /* address in the rank of a byte that is not 0 while a thread polls; 0: unknown */
    _Atomic uint64_t inside_at;
    _Atomic uint64_t counters[PEN_COUNTER_COUNT]; /* in the order of PEN_COUNTER_LIST */
} pen_host_shown;

/* One rank's public state, written by that rank unless a field says otherwise. Fields that peers
 * poll and fields that peers write lie on different cache lines. */
typedef struct pen_host_rank {
    /* line 0: read-mostly for peers */
    _Atomic uint32_t sleeping; /* 1: set by a rank about to sleep; the peer that wakes it sets 0 */
    _Atomic uint32_t pid;      /* 0 until it has joined */
    _Atomic uint32_t phase;    /* pen_host_phase, for the time-out's progress report */
    /* events handled so far, updated from time to time; for the same report */
    _Atomic uint64_t progress;
    /* collective set-up calls that the rank has entered, counted by job/ */
    _Atomic uint32_t meetings;
    /* 1 + the processor on which the rank was when it last looked; 0: not known. Peers read it to
     * keep to different ones. */
    _Atomic uint32_t cpu;
    /* line 1: written by peers */
    PEN_CACHE_ALIGNED _Atomic uint32_t wake; /* futex word: peers add 1 and wake */
    _Atomic uint32_t boot_sense;             /* start-up barrier */
    /* line 2 */
    pen_wait_state wait;
    pen_host_shown shown;
} pen_host_rank;

#define PEN_HOST_PHASE_LIST(X) \
    X(STARTING, "starting") X(RUNNING, "running") X(ATTACHED, "attached") X(EXITING, "exiting")
typedef enum pen_host_phase {
#define PEN_HOST_PHASE_ENUM(name, text) PEN_HOST_##name,
    PEN_HOST_PHASE_LIST(PEN_HOST_PHASE_ENUM)
#undef PEN_HOST_PHASE_ENUM
} pen_host_phase;

/* The ranks' output goes to a terminal, so ranks flush each line. */
#define PEN_HOST_FLAG_TERMINAL 1u

typedef struct pen_host_page {
    uint32_t magic, size;        /* size: ranks on this host; written once by the supervisor */
    uint32_t job_size;           /* ranks on all hosts */
    uint32_t first;              /* job rank of this host's first rank */
    uint32_t host_i, host_count; /* this host's number and the number of hosts; written once */
    uint64_t firsts_off;         /* the first job rank of each host: host_count words */
    uint32_t cores;              /* result of pen_cores_allowed in the supervisor */
    uint32_t flags;              /* PEN_HOST_FLAG_...: written once by the supervisor */
    uint32_t maker;              /* pid of the process that laid out the page */
    uint32_t reserved;           /* zero */
    uint64_t begun_ns;           /* when it did, CLOCK_MONOTONIC */
    /* Bytes of memory that the kernel and control groups report to the supervisor, so that ranks
     * need not read those files. All offsets and these fields are written once. */
    uint64_t memory_physical, memory_available;
    pen_copy_table copies; /* ways of copying, measured by the supervisor; written once */
    uint64_t exchange_off; /* arena offset of 2 * job_size * PEN_BOOT_BLOB_MAX bytes */
    uint64_t environment_off,
        environment_len; /* the console's environment: NUL-terminated strings */
    uint64_t lines_off;  /* size * PEN_HOST_LINES cache lines, zero: barrier flags */
    /* size * PEN_HOST_SHARES * PEN_HOST_SHARE_LEN bytes; 0: the arena has no shares */
    uint64_t shares_off;
    uint64_t departed_off; /* job_size records, zero at first: departed.h */
    /* Rings of trace events, trace_stride apart; trace_len 0: the job is not traced */
    uint64_t trace_off, trace_stride, trace_len;
    uint64_t trace_kinds;                 /* bits of the pen_trace_kind that are traced */
    uint64_t conduit_off, conduit_len;    /* the conduit's slice */
    uint64_t segment_off, segment_stride; /* rank r's memory: segment_off + r * segment_stride */
    /* Key with which links between hosts authenticate. The supervisor draws it at random. It
     * reaches ranks through this memory only, which core dumps leave out. */
    uint8_t job_key[PEN_HOST_KEY_LEN];
    PEN_CACHE_ALIGNED _Atomic uint32_t polling_total; /* threads that poll, whole host: all write */
    PEN_CACHE_ALIGNED _Atomic uint32_t boot_count;    /* start-up barrier: arrivals */
    _Atomic uint32_t boot_generation;
    _Atomic uint32_t boot_failed;            /* a rank has ended, so barriers fail */
    _Atomic uint32_t departed_count;         /* ranks that exited with 0, as far as known here */
    PEN_CACHE_ALIGNED pen_host_rank ranks[]; /* size of them */
} pen_host_page;

/* Returns a job rank's row; NULL if the rank is on another host, or if there is no page. */
static inline pen_host_rank *pen_host_row(pen_host_page *page, uint32_t rank)
{
    return page != NULL && rank - page->first < page->size ? &page->ranks[rank - page->first]
                                                           : NULL;
}

#endif
