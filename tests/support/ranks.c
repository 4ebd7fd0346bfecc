/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c: see ranks.h. The link takes every frame as a copy and delivers in posting order per
 * lane. */
#include "support/ranks.h"

#include "am/am.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "os/os.h"
#include "progress/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAME_MAX_DEFAULT = 512, STEPS_MAX = 3 };

struct ranks_frame {
    ranks_frame *next;
    pen_peer from;
    uint32_t head_len, body_len;
    uint64_t head[PEN_FRAME_HEAD_MAX / 8];
    /* fields of a put or get */
    void *to;
    const void *source;
    size_t len;
    pen_op *op;
    bool source_done;
    _Alignas(16) char body[];
};

static void append(ranks_list *list, ranks_frame *frame)
{
    frame->next = NULL;
    if (list->first == NULL)
        list->first = frame;
    else
        list->last->next = frame;
    list->last = frame;
    list->count++;
}

static ranks_frame *take(ranks *world, ranks_list *list)
{
    pthread_mutex_lock(&world->lock);
    ranks_frame *frame = list->first;
    if (frame != NULL) {
        list->first = frame->next;
        list->count--;
    }
    pthread_mutex_unlock(&world->lock);
    return frame;
}

uint32_t ranks_random(ranks *world, uint32_t below)
{
    world->random = world->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(world->random >> 33) % below;
}

static ranks_frame *frame_new(size_t body_len)
{
    ranks_frame *frame = calloc(1, sizeof *frame + body_len);
    if (frame == NULL)
        abort();
    return frame;
}

static pen_post link_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *given,
                          pen_op *op)
{
    (void)op;
    ranks *world = ((ranks_link *)link)->world;
    ranks_list *inbox = &world->links[to].inbox[lane];
    pen_post result = PEN_POST_DONE;
    pthread_mutex_lock(&world->lock);
    bool full = world->params.room != 0 && inbox->count >= world->params.room;
    bool unlucky =
        lane == PEN_LANE_REQUEST && ranks_random(world, 100) < world->params.again_percent;
    if (full || unlucky) {
        world->posts_refused++;
        result = PEN_POST_AGAIN;
    } else {
        ranks_frame *frame = frame_new(given->body_len);
        frame->from = link->self;
        frame->head_len = given->head_len;
        frame->body_len = given->body_len;
        memcpy(frame->head, given->head, given->head_len);
        if (given->body_len != 0)
            memcpy(frame->body, given->body, given->body_len);
        append(inbox, frame);
        world->frames_posted++;
    }
    pthread_mutex_unlock(&world->lock);
    return result;
}

/* A put or get ends in two steps: the source is free at one poll, all is done at another. */
static unsigned poll_moves(ranks_link *mine)
{
    ranks_frame *move = take(mine->world, &mine->moves);
    if (move == NULL)
        return 0;
    if (!move->source_done) {
        memcpy(move->to, move->source, move->len);
        move->source_done = true;
        pen_op_source_done(move->op);
        pthread_mutex_lock(&mine->world->lock);
        append(&mine->moves, move);
        pthread_mutex_unlock(&mine->world->lock);
        return 1;
    }
    pen_op_done(move->op);
    free(move);
    return 1;
}

static unsigned poll_one(ranks_link *mine, unsigned lanes, unsigned budget)
{
    unsigned handled = poll_moves(mine);
    for (uint32_t lane = PEN_LANES; lane-- > 0;) {
        ranks_frame *frame;
        while ((lanes & PEN_LANE_BIT(lane)) && handled < budget &&
               (frame = take(mine->world, &mine->inbox[lane])) != NULL) {
            const pen_host *host = mine->link.host;
            host->deliver(host->ctx, frame->from, (pen_lane)lane, frame->head, frame->head_len,
                          frame->body_len != 0 ? frame->body : NULL, frame->body_len);
            free(frame);
            handled++;
        }
    }
    return handled;
}

static unsigned link_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    ranks_link *mine = (ranks_link *)link;
    ranks *world = mine->world;
    mine->polling = true;
    unsigned handled = poll_one(mine, lanes, budget);
    for (uint32_t i = world->params.threads ? 0 : ranks_random(world, STEPS_MAX + 1); i > 0; i--) {
        uint32_t other = ranks_random(world, world->params.size);
        if (!world->links[other].polling)
            (void)pen_progress_poll(&world->jobs[other].progress);
    }
    mine->polling = false;
    return handled;
}

static pen_post link_move(pen_link *link, void *to, const void *source, size_t len, pen_op *op)
{
    ranks_link *mine = (ranks_link *)link;
    ranks *world = mine->world;
    pthread_mutex_lock(&world->lock);
    pen_post result = PEN_POST_PENDING;
    uint32_t luck = ranks_random(world, 100);
    if (luck < world->params.again_percent) {
        result = PEN_POST_AGAIN;
    } else if (luck % 4 == 0) {
        memcpy(to, source, len);
        result = PEN_POST_DONE;
    } else {
        ranks_frame *move = frame_new(0);
        move->to = to;
        move->source = source;
        move->len = len;
        move->op = op;
        append(&mine->moves, move);
    }
    pthread_mutex_unlock(&world->lock);
    return result;
}

static pen_post link_put(pen_link *link, pen_peer to, uint64_t offset, pen_rkey key,
                         const void *local, pen_region *region, size_t len, pen_op *op)
{
    (void)key, (void)region;
    ranks *world = ((ranks_link *)link)->world;
    return link_move(link, world->segments[to] + offset, local, len, op);
}

static pen_post link_get(pen_link *link, pen_peer to, uint64_t offset, pen_rkey key, void *local,
                         pen_region *region, size_t len, pen_op *op)
{
    (void)key, (void)region;
    ranks *world = ((ranks_link *)link)->world;
    return link_move(link, local, world->segments[to] + offset, len, op);
}

static const pen_link_ops link_ops = { .post = link_post, .poll = link_poll };
static const pen_rma_ops link_rma_ops = { .put = link_put, .get = link_get };

static void wake(void *ctx, pen_peer peer)
{
    pen_job *job = ctx;
    ranks *world = ((ranks_link *)job->routes[0].port->link)->world;
    pen_sleeper *sleeper = &world->jobs[peer].progress.sleeper;
    pen_progress_wake_fence(&job->progress);
    pen_progress_wake(sleeper->sleeping, sleeper->wake);
    __atomic_fetch_add(&world->wakes, 1, __ATOMIC_RELAXED);
}

/* ---- open ------------------------------------------------------------------------------------ */

static void open_link(ranks *world, uint32_t rank)
{
    const ranks_params *params = &world->params;
    ranks_link *mine = &world->links[rank];
    mine->world = world;
    mine->link.ops = &link_ops;
    mine->link.rma = params->link_moves ? &link_rma_ops : NULL;
    mine->link.host = &world->jobs[rank].host;
    mine->link.self = rank;
    mine->link.caps = (pen_caps){ .flags = PEN_CAP_RELIABLE,
                                  .frame_max = world->jobs[rank].frame_max,
                                  .frame_copy_max = world->jobs[rank].frame_max,
                                  .put_max = params->move_max ? params->move_max : SIZE_MAX,
                                  .get_max = params->move_max ? params->move_max : SIZE_MAX };
}

static void open_memory(ranks *world, pen_job *job)
{
    const ranks_params *params = &world->params;
    pen_segment *segment = NULL;
    if (pen_mem_init(&job->mem, &job->log, params->concurrency, NULL, 0, params->size,
                     params->everything, UINT64_MAX) != PEN_OK)
        abort();
    job->mem.rank = job->rank;
    job->mapped[0] = calloc(params->size, sizeof *job->mapped[0]);
    if (params->segment_len != 0) {
        if (pen_mem_create(&job->mem, &job->log, world->segments[job->rank], params->segment_len,
                           &segment) != PEN_OK)
            abort();
        pen_mem_expose(&job->mem, segment);
    }
    for (uint32_t i = 0; params->segment_len != 0 && i < params->size; i++) {
        uintptr_t base = (uintptr_t)world->segments[i];
        job->mem.remote[0][i] = (pen_remote_segment){ .base = base,
                                                      .len = params->segment_len,
                                                      .number = segment->number,
                                                      .mapped = params->mapped,
                                                      .has_key = params->link_moves };
        if (params->mapped)
            job->mapped[0][i] = (pen_mapped){ .base = base, .len = params->segment_len };
    }
}

static void open_job(ranks *world, uint32_t rank)
{
    const ranks_params *params = &world->params;
    static char *no_environment[] = { NULL };
    static const pen_progress_config config = { 50e-6, 1e-3, true };
    pen_job *job = &world->jobs[rank];
    job->rank = rank;
    job->size = params->size;
    job->frame_max = params->frame_max != 0 ? params->frame_max : FRAME_MAX_DEFAULT;
    job->concurrency = params->concurrency;
    pen_log_init(&job->log, "");
    job->log.rank = (int32_t)rank;
    job->boot = (pen_boot){ .log = &job->log,
                            .rank = rank,
                            .size = params->size,
                            .control_fd = -1,
                            .arena_fd = -1,
                            .arena = world->arena,
                            .page = (pen_host_page *)(void *)world->arena,
                            .environment = no_environment };
    job->host = (pen_host){ .ctx = job, .deliver = pen_am_deliver, .wake = wake };
    pen_progress_init(&job->progress, params->concurrency, &config, NULL, &pen_machine_clock,
                      &job->counters);
    open_link(world, rank);
    pen_port *port = pen_progress_add(&job->progress, &world->links[rank].link);
    job->routes = calloc(params->size, sizeof *job->routes);
    for (uint32_t peer = 0; peer < params->size; peer++)
        job->routes[peer] = (pen_route){ port, peer, params->same_host };
    job->world = (pen_team){ .view = { .rank = rank, .size = params->size },
                             .job = job,
                             .endpoint = &job->endpoint,
                             .stride = 1 };
    pen_job_use_express(job);
    pen_team_use_express(&job->world);
    job->endpoint.job = job;
    job->endpoint.capabilities = GEX_EP_CAPABILITY_ALL;
    job->endpoint.client = &job->client;
    job->endpoints[job->endpoint_count++] = &job->endpoint;
    job->first_thread.job = job;
    job->first_thread.in_use = true;
    pen_lock_init(&job->threads_lock, params->concurrency);
    open_memory(world, job);
    if (pen_am_open(job) != PEN_OK)
        abort();
}

void ranks_open(ranks *world, const ranks_params *params)
{
    *world = (ranks){ .params = *params, .random = params->seed };
    pthread_mutex_init(&world->lock, NULL);
    world->jobs =
        aligned_alloc(PEN_CACHE_LINE, pen_align_up(params->size * sizeof(pen_job), PEN_CACHE_LINE));
    memset(world->jobs, 0, params->size * sizeof(pen_job));
    world->links = calloc(params->size, sizeof(ranks_link));
    world->segments = calloc(params->size, sizeof(char *));
    size_t page_len =
        pen_align_up(sizeof(pen_host_page) + params->size * sizeof(pen_host_rank), PEN_CACHE_LINE);
    size_t shares_off = pen_align_up(
        page_len + (size_t)params->size * PEN_HOST_LINES * PEN_CACHE_LINE, PEN_SEGMENT_GRAIN);
    world->arena_len =
        shares_off + (params->shares ? params->size * PEN_HOST_SHARES * PEN_HOST_SHARE_LEN : 0);
    world->arena = pen_map_grain(world->arena_len, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (world->arena == MAP_FAILED)
        abort();
    pen_host_page *page = (pen_host_page *)(void *)world->arena;
    page->size = params->size;
    page->lines_off = page_len;
    page->shares_off = params->shares ? shares_off : 0;
    for (uint32_t rank = 0; rank < params->size; rank++) {
        atomic_store(&page->ranks[rank].pid, (uint32_t)getpid());
        if (params->segment_len != 0)
            world->segments[rank] = calloc(1, params->segment_len);
    }
    for (uint32_t rank = 0; rank < params->size; rank++)
        open_job(world, rank);
}

static void free_frames(ranks_list *list)
{
    while (list->first != NULL) {
        ranks_frame *frame = list->first;
        list->first = frame->next;
        free(frame);
    }
}

void ranks_close(ranks *world)
{
    for (uint32_t rank = 0; rank < world->params.size; rank++) {
        pen_job *job = &world->jobs[rank];
        pen_am_close(job);
        pen_mem_close(&job->mem);
        pen_progress_close(&job->progress);
        free(job->routes);
        free(job->mapped[0]);
        free(world->segments[rank]);
        for (uint32_t lane = 0; lane < PEN_LANES; lane++)
            free_frames(&world->links[rank].inbox[lane]);
        free_frames(&world->links[rank].moves);
    }
    free(world->segments);
    free(world->links);
    free(world->jobs);
    munmap(world->arena, world->arena_len);
    pthread_mutex_destroy(&world->lock);
}

void ranks_inject(ranks *world, uint32_t from, uint32_t to, pen_lane lane, pen_am_internal index,
                  unsigned arg_count, const int32_t *args, const void *body, uint32_t body_len)
{
    ranks_params params = world->params;
    world->params.room = world->params.again_percent = 0; /* delivers in every case */
    (void)pen_am_send_internal(&world->jobs[from], to, lane, index, arg_count, args, body,
                               body_len);
    world->params = params;
}

bool ranks_dies(void (*body)(void *ctx), void *ctx, pen_job *job, const char *words)
{
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO);
        job->log.fd = ends[1];
        body(ctx);
        _exit(0);
    }
    close(ends[1]);
    char text[4096];
    size_t len = 0;
    ssize_t got;
    while (len < sizeof text - 1 && (got = read(ends[0], text + len, sizeof text - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = 0;
    close(ends[0]);
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        abort();
    bool found = strstr(text, words) != NULL;
    if (!found)
        fprintf(stderr, "expected \"%s\" in: %s\n", words, text);
    return found && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
