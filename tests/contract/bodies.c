/* SPDX-License-Identifier: BSD-3-Clause */
/* bodies.c: the optional families of a conduit: bodies written in place, put and get. A conduit
 * passes without them. */
#include "contract.h"

#include "conduit/conduit.h"
#include "os/os.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVED_MAX = 64 };

/* ---- written in place ----------------------------------------------------------------------- */

static void *reserve(struct rank *rank, pen_peer to, pen_lane lane, uint32_t len_max)
{
    pthread_mutex_lock(&rank->post_lock);
    void *body = rank->link->zcopy->reserve(rank->link, to, lane, len_max);
    pthread_mutex_unlock(&rank->post_lock);
    CHECK((uintptr_t)body % 16 == 0);
    return body;
}

static void *reserve_sure(struct rank *rank, pen_peer to, pen_lane lane, uint32_t len_max)
{
    uint64_t until = pen_now_ns() + UINT64_C(10000000000);
    void *body;
    while ((body = reserve(rank, to, lane, len_max)) == NULL) {
        job_poll_all(rank->job);
        CHECK(pen_now_ns() < until);
    }
    return body;
}

static void commit(struct rank *rank, pen_peer to, pen_lane lane, void *body, uint32_t head_len,
                   uint32_t body_len)
{
    uint64_t head[PEN_FRAME_HEAD_MAX / 8];
    pthread_mutex_lock(&rank->post_lock);
    uint32_t serial = job_number(rank, to, lane, head_len, body_len);
    job_fill_head(rank, serial, head);
    job_fill_body(rank, serial, body);
    rank->link->zcopy->commit(rank->link, to, lane, body, head, head_len, body_len);
    memset(head, 0x5a, sizeof(head));
    pthread_mutex_unlock(&rank->post_lock);
}

static void cancel(struct rank *rank, pen_peer to, pen_lane lane, void *body)
{
    pthread_mutex_lock(&rank->post_lock);
    rank->link->zcopy->cancel(rank->link, to, lane, body);
    pthread_mutex_unlock(&rank->post_lock);
}

bool job_post_in_place(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                       uint32_t body_len)
{
    void *body = reserve(rank, to, lane, body_len);
    if (body == NULL)
        return false;
    sched_yield(); /* without a lock: other threads of this rank continue to post */
    commit(rank, to, lane, body, head_len, body_len);
    return true;
}

static void bodies_written_in_place_arrive(struct job *job)
{
    uint32_t max = job->ranks[0].link->caps.frame_max;
    if (job->ranks[0].link->zcopy == NULL)
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        for (unsigned i = 0; i < 60; i++) {
            struct rank *from = &job->ranks[i % job->size];
            pen_peer to = (i / 2) % job->size;
            uint32_t len_max = i % 5 == 0 ? max : i * 37;
            void *body = reserve_sure(from, to, (pen_lane)lane, len_max);
            memset(body, 0x3c, len_max);
            /* Draws a length up to the reserved one; it may be 0. */
            commit(from, to, (pen_lane)lane, body, 8 + i % 13 * 8,
                   i % 7 == 0 ? 0 : len_max - len_max / 3);
        }
        job_settle(job);
    }
}

/* Other threads post between reserve and commit, to the same lane of the same peer too. */
static void posts_go_on_between_reserve_and_commit(struct job *job)
{
    pen_peer to = job->size - 1;
    struct rank *from = &job->ranks[0];
    if (from->link->zcopy == NULL)
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        for (unsigned round = 0; round < 20; round++) {
            void *body = reserve_sure(from, to, (pen_lane)lane, 3000);
            for (unsigned i = 0; i < 100; i++)
                job_post_sure(from, to, (pen_lane)lane, i % 2 ? 16 : 88, i % 3 * 500);
            commit(from, to, (pen_lane)lane, body, PEN_FRAME_HEAD_MAX, 3000);
        }
        job_settle(job);
    }
}

/* A reservation keeps its place: frames that are posted after it do not make commit fail. */
static void commit_finds_room_in_a_full_lane(struct job *job)
{
    pen_peer to = job->size - 1;
    if (job->ranks[0].link->zcopy == NULL || job->ranks[0].link->caps.inbox_len != 0)
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        void *bodies[RESERVED_MAX];
        for (pen_peer from = 0; from < job->size && from < 4; from++)
            bodies[from] = reserve(&job->ranks[from], to, (pen_lane)lane, 100);
        for (pen_peer from = 0; from < job->size; from++)
            for (unsigned i = 0; i < 1000; i++)
                (void)job_post(&job->ranks[from], to, (pen_lane)lane, 104, 0);
        for (pen_peer from = 0; from < job->size && from < 4; from++)
            if (bodies[from] != NULL)
                commit(&job->ranks[from], to, (pen_lane)lane, bodies[from], PEN_FRAME_HEAD_MAX,
                       100);
        job_settle(job);
    }
}

static void cancelled_bodies_leave_nothing_behind(struct job *job)
{
    pen_peer to = job->size - 1;
    struct rank *from = &job->ranks[0];
    if (from->link->zcopy == NULL)
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        for (unsigned round = 0; round < 20; round++) {
            void *bodies[RESERVED_MAX];
            unsigned count = 0;
            while (count < RESERVED_MAX &&
                   (bodies[count] = reserve(from, to, (pen_lane)lane, 64)) != NULL)
                count++;
            CHECK(count != 0);
            for (unsigned i = 0; i < count; i++)
                for (unsigned k = 0; k < i; k++)
                    CHECK(bodies[i] != bodies[k]);
            for (unsigned i = count; i-- > 0;)
                cancel(from, to, (pen_lane)lane, bodies[i]);
        }
        for (unsigned i = 0; i < 500; i++)
            job_post_sure(from, to, (pen_lane)lane, 16, i % 2 * 5000);
        job_settle(job);
    }
}

/* Bodies of all lengths, some shorter than their place and some given up, among posted ones that
 * run all rings round many times. */
static void places_of_every_length_mix_with_posts(struct job *job)
{
    uint32_t max = job->ranks[0].link->caps.frame_max;
    if (job->ranks[0].link->zcopy == NULL)
        return;
    uint32_t random = 12345;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        for (unsigned round = 0; round < 300; round++) {
            struct rank *from = &job->ranks[round % job->size];
            pen_peer to = round / 3 % job->size;
            random = random * 1103515245u + 12345u;
            uint32_t len_max = (random >> 8) % (round % 16 == 0 ? max : 9000), len = len_max;
            if (random >> 30 == 1)
                len = len_max / 3;
            void *body = reserve_sure(from, to, (pen_lane)lane, len_max);
            memset(body, 0x3c, len_max); /* all of it belongs to this reservation, and to no thread
                                            that posts meanwhile */
            for (unsigned i = 0; i < random >> 28; i++)
                job_post_sure(from, to, (pen_lane)lane, 16, i * 700);
            if (random >> 30 == 2)
                cancel(from, to, (pen_lane)lane, body);
            else
                commit(from, to, (pen_lane)lane, body, 8 + round % 13 * 8, len);
        }
        job_settle(job);
    }
}

/* ---- put and get ---------------------------------------------------------------------------- */

/* Memory that shares no page with other memory: a card may register whole pages, and each page
 * once. */
static char *whole_pages(size_t len)
{
    const size_t page = PEN_SEGMENT_GRAIN;
    char *memory = (char *)aligned_alloc(page, (len + page - 1) / page * page);
    CHECK(memory != NULL);
    memset(memory, 0, len);
    return memory;
}

bool region_open(struct job *job, pen_peer of, struct region *region)
{
    char blob[256];
    pen_link *link = job->ranks[of].link, *user = job->ranks[0].link;
    CHECK(link->caps.rkey_len <= sizeof(blob));
    region->memory = whole_pages(REGION_LEN);
    pen_status status =
        link->rma->register_region(link, region->memory, REGION_LEN, &region->handle);
    CHECK(status == PEN_OK || status == PEN_ERR_RESOURCE);
    if (status != PEN_OK) {
        free(region->memory);
        return false;
    }
    CHECK(link->rma->export_region(link, region->handle, blob) == PEN_OK);
    CHECK(user->rma->import_region(user, of, blob, &region->key) == PEN_OK);
    return true;
}

void region_close(struct job *job, pen_peer of, struct region *region)
{
    job->ranks[0].link->rma->release_region(job->ranks[0].link, of, region->key);
    job->ranks[of].link->rma->deregister_region(job->ranks[of].link, region->handle);
    free(region->memory);
}

/* Returns the region of a local buffer if the link asks for one. NULL: the link works without a
 * region. */
static pen_region *local_region(pen_link *link, void *local, size_t len)
{
    pen_region *region = NULL;
    if ((link->caps.flags & PEN_CAP_LOCAL_REGION) != 0)
        CHECK(link->rma->register_region(link, local, len, &region) == PEN_OK);
    return region;
}

static void transfer_piece(struct job *job, bool is_put, pen_peer to, const struct region *region,
                           uint64_t offset, char *local, size_t len)
{
    pen_link *link = job->ranks[0].link;
    uint64_t until = pen_now_ns() + UINT64_C(10000000000);
    pen_post result = PEN_POST_AGAIN;
    pen_op op = { .shared = true };
    pen_region *own = local_region(link, local, len);
    while (result == PEN_POST_AGAIN) {
        atomic_store(&op.source_busy, 1);
        atomic_store(&op.incomplete, 1);
        result = is_put ? link->rma->put(link, to, offset, region->key, local, own, len, &op)
                        : link->rma->get(link, to, offset, region->key, local, own, len, &op);
        job_poll_all(job);
        CHECK(pen_now_ns() < until);
    }
    CHECK(result == PEN_POST_DONE || result == PEN_POST_PENDING);
    while (result == PEN_POST_PENDING && atomic_load(&op.incomplete) != 0) {
        job_poll_all(job);
        CHECK(pen_now_ns() < until);
    }
    if (own != NULL)
        link->rma->deregister_region(link, own);
}

/* Splits what the link does not take at once, as the engine does. */
static void transfer(struct job *job, bool is_put, pen_peer to, const struct region *region,
                     uint64_t offset, char *local, size_t len)
{
    const pen_caps *caps = &job->ranks[0].link->caps;
    const size_t most = is_put ? caps->put_max : caps->get_max;
    CHECK(most != 0);
    for (size_t done = 0, step; done < len; done += step) {
        step = len - done < most ? len - done : most;
        transfer_piece(job, is_put, to, region, offset + done, local + done, step);
    }
}

static void put_and_get_move_memory(struct job *job)
{
    static const size_t lens[] = { 1, 8, 13, 64, 4096, 65537 };
    if (job->ranks[0].link->rma == NULL)
        return;
    for (pen_peer to = 0; to < job->size; to++) {
        struct region region;
        if (!region_open(job, to, &region))
            continue;
        for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
            char *local = whole_pages(2 * lens[i]);
            for (size_t k = 0; k < lens[i]; k++)
                local[k] = (char)(k * 5 + i);
            transfer(job, true, to, &region, 3 + i, local, lens[i]);
            CHECK(memcmp(region.memory + 3 + i, local, lens[i]) ==
                  0); /* done means remotely done */
            CHECK(region.memory[3 + i + lens[i]] == 0 || i != 5);
            transfer(job, false, to, &region, 3 + i, local + lens[i], lens[i]);
            CHECK(memcmp(local, local + lens[i], lens[i]) == 0);
            free(local);
        }
        region_close(job, to, &region);
    }
}

static const char *landing; /* the target of the put, for on_deliver */

static void look_at_landing(struct rank *rank, pen_peer from, pen_lane lane, uint32_t body_len)
{
    (void)from, (void)lane;
    CHECK((uint8_t)landing[0] == (uint8_t)rank->delivered_total &&
          landing[REGION_LEN / 2] == landing[0]);
    (void)body_len;
}

/* Puts the whole region in as many pieces as the link needs. */
static void put_whole(struct job *job, pen_peer to, const struct region *region, char *local,
                      pen_region *own, pen_op *op)
{
    pen_link *link = job->ranks[0].link;
    for (size_t done = 0; done < REGION_LEN;) {
        size_t len = REGION_LEN - done;
        len = len < link->caps.put_max ? len : link->caps.put_max;
        atomic_fetch_add(&op->source_busy, 1);
        atomic_fetch_add(&op->incomplete, 1);
        pen_post result = link->rma->put(link, to, done, region->key, local + done, own, len, op);
        CHECK(result != PEN_POST_FAILED);
        if (result != PEN_POST_PENDING) {
            atomic_fetch_sub(&op->source_busy, 1);
            atomic_fetch_sub(&op->incomplete, 1);
        }
        if (result == PEN_POST_AGAIN)
            job_poll_all(job);
        else
            done += len;
    }
}

/* Posts a frame behind puts whose source only this thread waits for. */
static void tell_behind(struct job *job, pen_peer to)
{
    struct rank *rank = &job->ranks[0];
    pen_link *link = rank->link;
    uint64_t head[2];
    uint32_t serial = job_number(rank, to, PEN_LANE_REQUEST, sizeof head, 0);
    job_fill_head(rank, serial, head);
    while (link->behind->post(link, to, PEN_LANE_REQUEST, head, sizeof head) == PEN_POST_AGAIN)
        job_poll_all(job);
    memset(head, 0x5a, sizeof head);
}

static void a_frame_behind_a_put_finds_its_data(struct job *job)
{
    pen_peer to = job->size - 1;
    const pen_link *link = job->ranks[0].link;
    struct region region;
    CHECK(link->behind == NULL || link->rma != NULL);
    if (link->behind == NULL || !region_open(job, to, &region))
        return;
    landing = region.memory;
    job->ranks[to].on_deliver = look_at_landing;
    char *local = whole_pages(REGION_LEN);
    pen_region *own = local_region(job->ranks[0].link, local, REGION_LEN);
    for (unsigned i = 1; i <= 200; i++) {
        pen_op op = { .shared = true, .local = true };
        memset(local, (int)i, REGION_LEN);
        for (unsigned k = 0; k < 1 + i % 2; k++)
            put_whole(job, to, &region, local, own, &op);
        tell_behind(job, to);
        job_settle(job);
        uint64_t until = pen_now_ns() + UINT64_C(10000000000);
        while (atomic_load(&op.incomplete) != 0) {
            job_poll_all(job);
            CHECK(pen_now_ns() < until);
        }
    }
    if (own != NULL)
        job->ranks[0].link->rma->deregister_region(job->ranks[0].link, own);
    free(local);
    region_close(job, to, &region);
}

const contract_test body_tests[] = {
    { "bodies_written_in_place_arrive", bodies_written_in_place_arrive, 0, false },
    { "posts_go_on_between_reserve_and_commit", posts_go_on_between_reserve_and_commit, 0, false },
    { "places_of_every_length_mix_with_posts", places_of_every_length_mix_with_posts, 0, false },
    { "commit_finds_room_in_a_full_lane", commit_finds_room_in_a_full_lane, 0, false },
    { "cancelled_bodies_leave_nothing_behind", cancelled_bodies_leave_nothing_behind, 0, false },
    { "put_and_get_move_memory", put_and_get_move_memory, 0, false },
    { "a_frame_behind_a_put_finds_its_data", a_frame_behind_a_put_finds_its_data, 0, false },
    { 0 },
};
