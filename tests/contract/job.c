/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: the job of contract.h: opening all links, posting numbered frames, checking what arrives.
 */
#include "contract.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "link/window.h"
#include "os/os.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LEDGER_FIRST = 256, SURE_SECONDS = 20 };

void contract_failed(const char *what, const char *file, int line)
{
    fflush(stdout);
    fprintf(stderr, "%s:%d: broken: %s\n", file, line, what);
    abort();
}

uint32_t job_random(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

/* ---- contents of frames --------------------------------------------------------------------- */

static uint64_t head_word(pen_peer from, uint32_t serial, uint32_t i)
{
    uint64_t id = (uint64_t)serial | (uint64_t)from << 32;
    return i == 0 ? id : (id + i) * UINT64_C(0x9e3779b97f4a7c15);
}

static void fill_body(char *body, uint32_t len, pen_peer from, uint32_t serial)
{
    for (uint32_t i = 0; i < len; i++)
        body[i] = (char)((serial * 7 + from * 31 + i + i / 251) & 0xff);
}

static bool body_is_intact(const char *body, uint32_t len, pen_peer from, uint32_t serial)
{
    for (uint32_t i = 0; i < len; i++)
        if (body[i] != (char)((serial * 7 + from * 31 + i + i / 251) & 0xff))
            return false;
    return true;
}

void job_fill_head(const struct rank *rank, uint32_t serial, void *head)
{
    uint64_t *words = (uint64_t *)head;
    for (uint32_t i = 0; i < rank->ledger[serial].head_len / 8u; i++)
        words[i] = head_word(rank->self, serial, i);
}

void job_fill_body(const struct rank *rank, uint32_t serial, void *body)
{
    fill_body((char *)body, rank->ledger[serial].body_len, rank->self, serial);
}

/* ---- what the links borrow ------------------------------------------------------------------ */

static void check_head(const struct rank *rank, pen_peer from, const uint64_t *head,
                       uint32_t head_len)
{
    CHECK((uintptr_t)head % 8 == 0);
    CHECK(head_len >= 8 && head_len <= PEN_FRAME_HEAD_MAX && head_len % 8 == 0);
    uint32_t serial = (uint32_t)head[0];
    CHECK(head[0] >> 32 == from);
    CHECK(serial < rank->job->ranks[from].serial_max);
    CHECK(rank->job->ranks[from].ledger[serial].head_len == head_len);
    for (uint32_t i = 1; i < head_len / 8; i++)
        CHECK(head[i] == head_word(from, serial, i));
}

/* ---- credits, where a link drops what finds no room ---- */

/* Returns the charge of a frame at its receiver. */
static size_t charge_of(const pen_caps *caps, uint32_t head_len, uint32_t body_len)
{
    size_t grain = caps->frame_grain > 1 ? caps->frame_grain : 1;
    return (caps->frame_overhead + head_len + body_len + grain - 1) / grain * grain;
}

/* Gives a share to each lane, so that replies find room behind any number of requests; the share
 * of CONTROL is not in inbox_len. Returns false if the receiver's capacity would be exceeded. */
static bool credit_take(struct rank *to, pen_lane lane, uint32_t head_len, uint32_t body_len)
{
    const pen_caps *caps = &to->link->caps;
    size_t charge = charge_of(caps, head_len, body_len);
    size_t most = lane == PEN_LANE_CONTROL ? caps->inbox_len / 3 : caps->inbox_len / 2;
    if (caps->inbox_len == 0)
        return true;
    /* relaxed: a counter; the conduit hands over the frames themselves */
    if (atomic_fetch_add_explicit(&to->charged[lane], charge, memory_order_relaxed) + charge <=
        most)
        return true;
    atomic_fetch_sub_explicit(&to->charged[lane], charge, memory_order_relaxed);
    return false;
}

static void credit_return(struct rank *to, pen_lane lane, uint32_t head_len, uint32_t body_len)
{
    if (to->link->caps.inbox_len != 0)
        atomic_fetch_sub_explicit(&to->charged[lane],
                                  charge_of(&to->link->caps, head_len, body_len),
                                  memory_order_relaxed);
}

static void host_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head,
                         uint32_t head_len, void *body, uint32_t body_len)
{
    struct rank *rank = (struct rank *)ctx;
    struct job *job = rank->job;
    CHECK(from < job->size);
    CHECK(lane < PEN_LANES && (rank->lanes_asked & PEN_LANE_BIT(lane)) != 0);
    check_head(rank, from, (const uint64_t *)head, head_len);
    uint32_t serial = (uint32_t) * (const uint64_t *)head;
    ledger_entry *entry = &job->ranks[from].ledger[serial];
    CHECK(entry->to == rank->self && entry->lane == lane && entry->body_len == body_len);
    CHECK((body == NULL) == (body_len == 0));
    CHECK((uintptr_t)body % 16 == 0);
    CHECK(body_is_intact((const char *)body, body_len, from, serial));
    if (body_len != 0)
        memset(body, 0xa5, body_len); /* handlers may */
    CHECK(entry->arrived == 0);
    entry->arrived = 1;
    credit_return(rank, lane, head_len, body_len);
    rank->delivered[lane]++;
    rank->delivered_total++;
    if (rank->on_deliver != NULL)
        rank->on_deliver(rank, from, lane, body_len);
}

static void host_deliver_request(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    host_deliver(ctx, from, PEN_LANE_REQUEST, head, head_len, NULL, 0);
}

static void host_deliver_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    host_deliver(ctx, from, PEN_LANE_REPLY, head, head_len, NULL, 0);
}

/* Returns the view to its first state: never idle. The engine's word is always 0 here. */
static void view_init(pen_poll_view *view)
{
    static const uint32_t nothing;
    for (unsigned i = 0; i < PEN_POLL_WORDS; i++)
        view->words[i] = &nothing;
    view->sum = 1;
}

static bool view_is_idle(const pen_poll_view *view)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < PEN_POLL_WORDS; i++) /* acquire: a poll does the same */
        sum += __atomic_load_n(view->words[i], __ATOMIC_ACQUIRE);
    return (uint16_t)sum == view->sum;
}

static void host_peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    (void)peer, (void)why;
    ((struct rank *)ctx)->lost_count++;
}

static uint64_t host_now_ns(void *ctx)
{
    (void)ctx;
    return pen_now_ns();
}

static void host_log(void *ctx, int level, const char *format, ...)
{
    va_list args;
    (void)ctx;
    if (level > PEN_LOG_WARN)
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static void *host_alloc(void *ctx, size_t len, size_t align)
{
    void *memory = NULL;
    (void)ctx;
    if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, len) != 0)
        return NULL;
    memset(memory, 0xcd, len < 65536 ? len : 65536); /* memory need not be zero */
    return memory;
}

static void host_release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void *host_shared(void *ctx, size_t *len_out)
{
    struct job *job = ((struct rank *)ctx)->job;
    *len_out = job->slice_len;
    return job->slice;
}

static void host_wake(void *ctx, pen_peer peer)
{
    struct job *job = ((struct rank *)ctx)->job;
    CHECK(peer < job->size);
    atomic_fetch_add_explicit(&job->ranks[peer].wakes, 1, memory_order_relaxed);
}

static const _Atomic uint32_t *host_sleeping(void *ctx, pen_peer peer)
{
    struct job *job = ((struct rank *)ctx)->job;
    CHECK(peer < job->size);
    return &job->ranks[peer].sleeping;
}

static bool host_orderly(void *ctx)
{
    (void)ctx;
    return true;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    const size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static const char *find_setting(void *ctx, const char *name)
{
    const struct setup *setup = (const struct setup *)ctx;
    size_t len = strlen(name);
    for (unsigned i = 0; setup->environment[i] != NULL; i++)
        if (strncmp(setup->environment[i], name, len) == 0 && setup->environment[i][len] == '=')
            return setup->environment[i] + len + 1;
    return ends_in(name, "_LIBRARY") ? getenv(name)
                                     : NULL; /* the file of a library that is played */
}

/* Puts the slice between pages without access. */
static void map_slice(struct job *job)
{
    size_t page = pen_page_len();
    job->slice_len = job->setup->conduit->shared_len(job->size, job->config);
    if (job->slice_len == 0)
        return;
    size_t inner = pen_align_up(job->slice_len, page);
    job->map_len = inner + 2 * page;
    job->map = (char *)mmap(NULL, job->map_len, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(job->map != MAP_FAILED);
    CHECK(mprotect(job->map + page, inner, PROT_READ | PROT_WRITE) == 0);
    job->slice = job->map + page;
}

static void rank_init(struct job *job, pen_peer self)
{
    struct rank *rank = &job->ranks[self];
    rank->job = job;
    rank->self = self;
    rank->host = (pen_host){
        .ctx = rank,
        .deliver = host_deliver,
        .peer_lost = host_peer_lost,
        .now_ns = host_now_ns,
        .log = host_log,
        .alloc = host_alloc,
        .release = host_release,
        .shared = host_shared,
        .wake = host_wake,
        .sleeping = job->host_words ? host_sleeping : NULL,
        .orderly = host_orderly,
        .poll_view = job->setup->view ? &rank->view : NULL,
    };
    view_init(&rank->view);
    if (job->size != 3) { /* jobs with deliver_head, and jobs without */
        rank->host.deliver_head[PEN_LANE_REQUEST] = host_deliver_request;
        rank->host.deliver_head[PEN_LANE_REPLY] = host_deliver_reply;
    }
    CHECK(pthread_mutex_init(&rank->post_lock, NULL) == 0);
    CHECK(pthread_mutex_init(&rank->poll_lock, NULL) == 0);
}

static void connect_all(struct job *job)
{
    size_t len = job->ranks[0].link->caps.addr_len;
    char *blobs = (char *)malloc(len * job->size + 1);
    CHECK(blobs != NULL);
    for (pen_peer self = 0; self < job->size; self++) {
        pen_link *link = job->ranks[self].link;
        CHECK(link->caps.addr_len == len && len <= PEN_ADDR_LEN_MAX);
        CHECK(link->ops->address(link, blobs + self * len) == PEN_OK);
    }
    for (pen_peer self = 0; self < job->size; self++) {
        pen_link *link = job->ranks[self].link;
        CHECK(link->ops->connect(link, blobs, job->size) == PEN_OK);
    }
    free(blobs);
}

/* A library that the test plays has no launcher to ask. */
static void tell_size(const struct job *job)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", job->size);
    CHECK(setenv("PLAYED_MPI_RANKS", text, 1) == 0);
}

void job_open(struct job *job, const struct setup *setup)
{
    pen_log log;
    *job =
        (struct job){ .setup = setup, .size = setup->ranks, .host_words = setup->ranks % 2 == 0 };
    CHECK(setup->conduit->config_len <= sizeof(job->config));
    pen_log_init(&log, "contract");
    CHECK(pen_knob_read(&log, setup->conduit->knobs, job->config, find_setting, (void *)setup) ==
          PEN_OK);
    if (setup->adjust != NULL)
        setup->adjust(job->config);
    map_slice(job);
    tell_size(job);
    job->ranks = (struct rank *)calloc(job->size, sizeof(struct rank));
    CHECK(job->ranks != NULL);
    for (pen_peer self = 0; self < job->size; self++) {
        struct rank *rank = &job->ranks[self];
        rank_init(job, self);
        rank->lent = rank->host;
        pen_link_params params = {
            .host = &rank->lent,
            .self = self,
            .peers = job->size,
            .config = job->config,
            .job_key = (const uint8_t *)"the key that all ranks share....",
            .concurrency = PEN_CONCURRENT,
            .local_rank = self,
            .local_size = job->size,
        };
        CHECK(setup->conduit->open(&params, &rank->link) == PEN_OK);
        CHECK(rank->link->self == self && rank->link->host == &rank->lent);
        if (pen_window_is_needed(rank->link))
            CHECK(pen_window_open(rank->link, &rank->lent, &rank->host, job->size, PEN_CONCURRENT,
                                  &rank->link) == PEN_OK);
    }
    connect_all(job);
}

void job_close(struct job *job)
{
    for (pen_peer self = 0; self < job->size; self++) {
        struct rank *rank = &job->ranks[self];
        CHECK(rank->lost_count == 0);
        CHECK(rank->backlog_first == NULL);
        rank->link->ops->close(rank->link);
        while (rank->pending != NULL) {
            struct pending *gone = rank->pending;
            rank->pending = gone->next;
            free(gone->body);
            free(gone);
        }
        free(rank->ledger);
        pthread_mutex_destroy(&rank->post_lock);
        pthread_mutex_destroy(&rank->poll_lock);
    }
    free(job->ranks);
    if (job->map != NULL)
        CHECK(munmap(job->map, job->map_len) == 0);
}

/* ---- posting -------------------------------------------------------------------------------- */

void job_expect(struct rank *rank, uint32_t count)
{
    if (count <= rank->serial_max)
        return;
    void *larger = realloc(rank->ledger, count * sizeof(ledger_entry));
    CHECK(larger != NULL);
    rank->ledger = (ledger_entry *)larger;
    rank->serial_max = count;
}

uint32_t job_number(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                    uint32_t body_len)
{
    if (rank->serial_count == rank->serial_max)
        job_expect(rank, rank->serial_max == 0 ? LEDGER_FIRST : rank->serial_max * 2);
    rank->ledger[rank->serial_count] = (ledger_entry){
        .to = to, .lane = (uint16_t)lane, .head_len = (uint16_t)head_len, .body_len = body_len
    };
    return rank->serial_count++;
}

static void reap(struct rank *rank)
{
    struct pending **at = &rank->pending;
    while (*at != NULL) {
        struct pending *entry = *at;
        if (atomic_load_explicit(&entry->op.incomplete, memory_order_acquire) != 0) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        free(entry->body);
        free(entry);
    }
}

/* Posts by the link's express entry if the frame qualifies and the entry promises room. */
static bool post_express(const pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    const uint64_t *words = (const uint64_t *)frame->head;
    if (link->express.first == NULL || lane == PEN_LANE_CONTROL)
        return false;
    pen_express *entry = pen_express_of(&link->express, to, lane);
    uint32_t room = entry->room;
    int status = 0;
    if (frame->body_len != 0) {
        if (!pen_express_takes(entry, frame->head_len, frame->body_len))
            return false;
        status =
            link->express.ops.body(entry, words, frame->head_len, frame->body, frame->body_len);
        CHECK(status == 0);
        CHECK(entry->room < room && frame->body_len <= link->caps.frame_max);
        return true;
    }
    if (room == 0 || frame->head_len > 4 * sizeof *words)
        return false;
    switch (frame->head_len / sizeof *words) {
    case 1:
        status = link->express.ops.one(entry, words[0]);
        break;
    case 2:
        status = link->express.ops.two(entry, words[0], words[1]);
        break;
    case 3:
        status = link->express.ops.three(entry, words[0], words[1], words[2]);
        break;
    default:
        status = link->express.ops.four(entry, words[0], words[1], words[2], words[3]);
    }
    CHECK(status == 0);
    CHECK(entry->room < room);
    return true;
}

static pen_post post_frame(struct rank *rank, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    pen_link *link = rank->link;
    void *body = (void *)frame->body;
    if (rank->serial_count % 4 != 0 && post_express(link, to, lane, frame)) {
        if (body != NULL)
            memset(body, 0x5a, frame->body_len); /* was copied */
        free(body);
        return PEN_POST_DONE;
    }
    if (frame->body_len <= link->caps.frame_copy_max ||
        ((link->caps.flags & PEN_CAP_COPIES) != 0 && rank->serial_count % 2 == 0)) {
        pen_post result = link->ops->post(link, to, lane, frame, NULL);
        CHECK(result == PEN_POST_DONE || result == PEN_POST_AGAIN);
        if (body != NULL)
            memset(body, 0x5a, frame->body_len); /* it was copied, or never will be */
        free(body);
        return result;
    }
    struct pending *entry = (struct pending *)calloc(1, sizeof(*entry));
    CHECK(entry != NULL);
    entry->body = body;
    entry->op.shared = true;
    atomic_init(&entry->op.source_busy, 1);
    atomic_init(&entry->op.incomplete, 1);
    pen_post result = link->ops->post(link, to, lane, frame, &entry->op);
    CHECK(result != PEN_POST_FAILED);
    if (result != PEN_POST_PENDING)
        atomic_store_explicit(&entry->op.incomplete, 0, memory_order_relaxed);
    entry->next = rank->pending;
    rank->pending = entry;
    return result == PEN_POST_AGAIN ? PEN_POST_AGAIN : PEN_POST_DONE;
}

pen_post job_post(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                  uint32_t body_len)
{
    pthread_mutex_lock(&rank->post_lock);
    uint32_t serial = job_number(rank, to, lane, head_len, body_len);
    char *head = (char *)malloc(head_len);
    char *body = body_len == 0 ? NULL : (char *)malloc(body_len);
    CHECK(head != NULL && (body != NULL || body_len == 0));
    job_fill_head(rank, serial, head);
    if (body != NULL)
        job_fill_body(rank, serial, body);
    pen_frame frame = { .head = head, .head_len = head_len, .body = body, .body_len = body_len };
    pen_post result = PEN_POST_AGAIN;
    struct rank *receiver = &rank->job->ranks[to];
    if (!credit_take(receiver, lane, head_len, body_len))
        free(body);
    else if ((result = post_frame(rank, to, lane, &frame)) == PEN_POST_AGAIN)
        credit_return(receiver, lane, head_len, body_len);
    memset(head, 0x5a, head_len);
    free(head);
    if (result == PEN_POST_AGAIN) {
        CHECK(rank->ledger[serial].arrived == 0);
        rank->ledger[serial].arrived = 1; /* a second arrival is a fault */
        rank->serial_count--;             /* the number is reused */
    }
    reap(rank);
    pthread_mutex_unlock(&rank->post_lock);
    return result;
}

void job_post_sure(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                   uint32_t body_len)
{
    uint64_t until = pen_now_ns() + SURE_SECONDS * UINT64_C(1000000000);
    while (job_post(rank, to, lane, head_len, body_len) != PEN_POST_DONE) {
        job_poll_all(rank->job);
        CHECK(pen_now_ns() < until);
    }
}

/* ---- polling -------------------------------------------------------------------------------- */

unsigned job_poll(struct rank *rank, unsigned lanes, unsigned budget)
{
    if (pthread_mutex_trylock(&rank->poll_lock) != 0)
        return 0;
    uint64_t before = rank->delivered_total;
    rank->lanes_asked = lanes;
    bool is_idle = rank->job->setup->view && view_is_idle(&rank->view);
    unsigned events = rank->link->ops->poll(rank->link, lanes, budget);
    rank->lanes_asked = 0;
    CHECK(!is_idle || events == 0);
    CHECK(rank->delivered_total - before <= events);
    CHECK(rank->delivered_total - before <= 2 * budget);
    pthread_mutex_unlock(&rank->poll_lock);
    return events;
}

void job_reply(struct rank *rank, pen_peer to, uint32_t head_len, uint32_t body_len)
{
    if (rank->backlog_first == NULL &&
        job_post(rank, to, PEN_LANE_REPLY, head_len, body_len) == PEN_POST_DONE)
        return;
    struct queued *entry = (struct queued *)malloc(sizeof(*entry));
    CHECK(entry != NULL);
    *entry = (struct queued){ .to = to, .head_len = head_len, .body_len = body_len };
    if (rank->backlog_first == NULL)
        rank->backlog_first = entry;
    else
        rank->backlog_last->next = entry;
    rank->backlog_last = entry;
}

unsigned job_flush(struct rank *rank)
{
    while (rank->backlog_first != NULL) {
        struct queued *entry = rank->backlog_first;
        if (job_post(rank, entry->to, PEN_LANE_REPLY, entry->head_len, entry->body_len) !=
            PEN_POST_DONE)
            return 1;
        rank->backlog_first = entry->next;
        free(entry);
    }
    return 0;
}
