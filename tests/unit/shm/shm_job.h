/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_job.h: shm links of all ranks in this process, and the slice they share, between pages that
 * no rank may touch, for tests that look at the slice or write into it. */
#ifndef PEN_TESTS_SHM_JOB_H
#define PEN_TESTS_SHM_JOB_H

#include "conduits/shm/shm.h"
#include "os/os.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern const pen_conduit pen_conduit_shm;

enum { SHM_JOB_RANKS_MAX = 64 };

static const uint32_t shm_job_nothing;

/* The ways of copying of these links' host. */
static const pen_copy_table shm_job_copies = { .own = { PEN_COPY_MOVES_32 },
                                               .other = { PEN_COPY_STRING, PEN_COPY_MOVES_32 } };

typedef struct shm_job {
    pen_peer size;
    char *map, *slice;
    size_t map_len, slice_len;
    struct shm_job_rank {
        struct shm_job *job;
        shm_link *link;
        pen_host host;
        pen_poll_view view;
        uint32_t delivered, lost, logged;
        pen_peer last_from, lost_peer;
        uint64_t sum; /* sum of all bytes delivered: proves that they have been read */
    } ranks[SHM_JOB_RANKS_MAX];
} shm_job;

/* Reads every byte and writes every byte of the body, as an engine and its handlers may. */
static void shm_job_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head,
                            uint32_t head_len, void *body, uint32_t body_len)
{
    struct shm_job_rank *rank = (struct shm_job_rank *)ctx;
    (void)lane;
    for (uint32_t i = 0; i < head_len; i++)
        rank->sum += ((const unsigned char *)head)[i];
    for (uint32_t i = 0; i < body_len; i++)
        rank->sum += ((unsigned char *)body)[i];
    if (body_len != 0) {
        char *area = rank->link->area;
        if ((char *)body < area || (char *)body + body_len > area + rank->link->layout.rank_len)
            abort(); /* not in our part of the slice */
        memset(body, 0, body_len);
    }
    rank->delivered++;
    rank->last_from = from;
}

static void shm_job_deliver_head(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    shm_job_deliver(ctx, from, PEN_LANE_REQUEST, head, head_len, NULL, 0);
}

static void shm_job_peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    struct shm_job_rank *rank = (struct shm_job_rank *)ctx;
    if (why != PEN_ERR_PROTOCOL)
        abort();
    rank->lost++;
    rank->lost_peer = peer;
}

static __attribute__((format(printf, 3, 4))) void shm_job_log(void *ctx, int level,
                                                              const char *format, ...)
{
    (void)level, (void)format;
    ((struct shm_job_rank *)ctx)->logged++;
}

static void *shm_job_alloc(void *ctx, size_t len, size_t align)
{
    void *memory = NULL;
    (void)ctx;
    return posix_memalign(&memory, align, len) == 0 ? memory : NULL;
}

static void shm_job_release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void *shm_job_shared(void *ctx, size_t *len_out)
{
    shm_job *job = ((struct shm_job_rank *)ctx)->job;
    *len_out = job->slice_len;
    return job->slice;
}

static void shm_job_wake(void *ctx, pen_peer peer) { (void)ctx, (void)peer; }

static inline void shm_job_open(shm_job *job, pen_peer size, const shm_config *config)
{
    size_t page = pen_page_len();
    char blobs[SHM_JOB_RANKS_MAX * 64];
    memset(job, 0, sizeof(*job));
    job->size = size;
    job->slice_len = pen_conduit_shm.shared_len(size, config);
    size_t inner = pen_align_up(job->slice_len, page);
    job->map_len = inner + 2 * page;
    job->map = (char *)mmap(NULL, job->map_len, PROT_NONE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (job->map == MAP_FAILED || mprotect(job->map + page, inner, PROT_READ | PROT_WRITE))
        abort();
    job->slice = job->map + page;
    for (pen_peer self = 0; self < size; self++) {
        struct shm_job_rank *rank = &job->ranks[self];
        rank->job = job;
        rank->host = (pen_host){
            .ctx = rank,
            .deliver = shm_job_deliver,
            .peer_lost = shm_job_peer_lost,
            .log = shm_job_log,
            .alloc = shm_job_alloc,
            .release = shm_job_release,
            .shared = shm_job_shared,
            .wake = shm_job_wake,
            .deliver_head = { shm_job_deliver_head, shm_job_deliver_head },
            .poll_view = &rank->view,
            .copies = &shm_job_copies,
        };
        for (unsigned i = 0; i < PEN_POLL_WORDS; i++)
            rank->view.words[i] = &shm_job_nothing;
        rank->view.sum = 1;
        pen_link_params params = {
            .host = &rank->host, .self = self, .peers = size, .config = config
        };
        pen_link *link = NULL;
        if (pen_conduit_shm.open(&params, &link) != PEN_OK)
            abort();
        rank->link = shm_of(link);
        link->ops->address(link, blobs + self * link->caps.addr_len);
    }
    for (pen_peer self = 0; self < size; self++) {
        pen_link *link = &job->ranks[self].link->base;
        if (link->ops->connect(link, blobs, size) != PEN_OK)
            abort();
    }
}

static inline void shm_job_close(shm_job *job)
{
    for (pen_peer self = 0; self < job->size; self++)
        shm_of(&job->ranks[self].link->base)->base.ops->close(&job->ranks[self].link->base);
    munmap(job->map, job->map_len);
}

static inline pen_post shm_job_post(shm_job *job, pen_peer from, pen_peer to, pen_lane lane,
                                    uint32_t head_len, uint32_t body_len)
{
    static const uint64_t bytes[SHM_BODY_MAX / 8];
    pen_link *link = &job->ranks[from].link->base;
    pen_frame frame = { .head = bytes, .head_len = head_len, .body = bytes, .body_len = body_len };
    return link->ops->post(link, to, lane, &frame, NULL);
}

static inline bool shm_job_is_idle(const shm_job *job, pen_peer self)
{
    const pen_poll_view *view = &job->ranks[self].view;
    uint32_t sum = 0;
    for (unsigned i = 0; i < PEN_POLL_WORDS; i++)
        sum += __atomic_load_n(view->words[i], __ATOMIC_ACQUIRE);
    return (uint16_t)sum == view->sum;
}

static inline unsigned shm_job_poll(shm_job *job, pen_peer self)
{
    pen_link *link = &job->ranks[self].link->base;
    return link->ops->poll(link, PEN_LANES_ALL, 32);
}

#endif
