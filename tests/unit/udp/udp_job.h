/* SPDX-License-Identifier: BSD-3-Clause */
/* udp_job.h: links of the udp conduit in one process, and a stranger: a socket that may stand
 * between two of them, since a rank uses the addresses that it imported. */
#ifndef PEN_TEST_UDP_JOB_H
#define PEN_TEST_UDP_JOB_H

#include "conduits/udp/udp.h"
#include "os/os.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UDP_JOB_RANKS_MAX = 4, UDP_JOB_LINE_MAX = 512, UDP_JOB_BODY_MAX = 4096 };

extern const pen_conduit pen_conduit_udp;

typedef struct udp_job_rank {
    pen_link *link;
    pen_host host;
    pen_counters counters;
    unsigned delivered, lines;
    char line[UDP_JOB_LINE_MAX]; /* the last one logged */
    pen_peer from;               /* sender of the last frame; its contents follow */
    pen_lane lane;
    uint64_t head;
    uint32_t head_len, body_len;
    uint8_t body[UDP_JOB_BODY_MAX];
    pen_peer answers_to; /* every request is answered with a reply; PEN_PEER_ANY: no request */
} udp_job_rank;

typedef struct udp_job {
    udp_job_rank ranks[UDP_JOB_RANKS_MAX];
    pen_peer size;
    const char *environment[4]; /* "NAME=value" */
    int stranger;               /* a bound socket */
    uint16_t stranger_port;     /* as the network has it */
} udp_job;

static const uint8_t udp_job_key[PEN_JOB_KEY_LEN] = { 3, 1, 4, 1, 5, 9, 2, 6 };

static void udp_job_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head,
                            uint32_t head_len, void *body, uint32_t body_len)
{
    udp_job_rank *rank = ctx;
    rank->delivered++;
    rank->from = from;
    rank->lane = lane;
    memcpy(&rank->head, head, sizeof rank->head);
    rank->head_len = head_len;
    rank->body_len = body_len;
    if (body_len != 0)
        memcpy(rank->body, body, body_len < UDP_JOB_BODY_MAX ? body_len : UDP_JOB_BODY_MAX);
    if (lane == PEN_LANE_REQUEST && rank->answers_to != PEN_PEER_ANY) {
        pen_frame reply = { .head = head, .head_len = head_len };
        (void)rank->link->ops->post(rank->link, rank->answers_to, PEN_LANE_REPLY, &reply, NULL);
    }
}

static inline uint64_t udp_job_now_ns(void *ctx)
{
    (void)ctx;
    return pen_now_ns();
}

static void udp_job_log(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void udp_job_log(void *ctx, int level, const char *format, ...)
{
    udp_job_rank *rank = ctx;
    va_list args;
    (void)level;
    va_start(args, format);
    (void)vsnprintf(rank->line, sizeof rank->line, format, args);
    va_end(args);
    rank->lines++;
}

static void udp_job_lost(void *ctx, pen_peer peer, pen_status why)
{
    (void)ctx, (void)peer, (void)why;
    abort();
}

static void *udp_job_alloc(void *ctx, size_t len, size_t align)
{
    void *memory = NULL;
    (void)ctx;
    return posix_memalign(&memory, align, len) == 0 ? memset(memory, 0xcd, len) : NULL;
}

static void udp_job_release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static const char *udp_job_find(void *ctx, const char *name)
{
    const udp_job *job = ctx;
    for (unsigned i = 0; i < 4 && job->environment[i] != NULL; i++)
        if (strncmp(job->environment[i], name, strlen(name)) == 0 &&
            job->environment[i][strlen(name)] == '=')
            return job->environment[i] + strlen(name) + 1;
    return NULL;
}

/* Opens one rank; its log has a line where that fails. */
static pen_status udp_job_open_rank(udp_job *job, pen_peer self)
{
    udp_job_rank *rank = &job->ranks[self];
    uint64_t config[PEN_CONDUIT_CONFIG_MAX / 8] = { 0 };
    pen_log log = { .fd = -1, .rank = -1 };
    *rank = (udp_job_rank){ .answers_to = PEN_PEER_ANY };
    rank->host = (pen_host){ .ctx = rank,
                             .deliver = udp_job_deliver,
                             .peer_lost = udp_job_lost,
                             .log = udp_job_log,
                             .alloc = udp_job_alloc,
                             .release = udp_job_release,
                             .counters = &rank->counters,
                             .now_ns = udp_job_now_ns };
    if (pen_knob_read(&log, pen_conduit_udp.knobs, config, udp_job_find, job) != PEN_OK)
        abort();
    const pen_link_params params = { .host = &rank->host,
                                     .self = self,
                                     .peers = job->size,
                                     .config = config,
                                     .job_key = udp_job_key };
    return pen_conduit_udp.open(&params, &rank->link);
}

static void udp_job_open(udp_job *job, pen_peer size)
{
    struct sockaddr_in here = { .sin_family = AF_INET };
    socklen_t len = sizeof here;
    job->size = size;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    job->stranger = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (job->stranger < 0 || bind(job->stranger, (struct sockaddr *)&here, sizeof here) != 0 ||
        getsockname(job->stranger, (struct sockaddr *)&here, &len) != 0)
        abort();
    job->stranger_port = here.sin_port;
    for (pen_peer self = 0; self < size; self++)
        if (udp_job_open_rank(job, self) != PEN_OK)
            abort();
}

/* The address that the rank exports. */
static udp_address udp_job_address(udp_job *job, pen_peer self)
{
    udp_address address;
    if (job->ranks[self].link->ops->address(job->ranks[self].link, &address) != PEN_OK)
        abort();
    return address;
}

/* All ranks exchange addresses; those that send to `captured` get the stranger's (PEN_PEER_ANY: no
 * rank does). */
static void udp_job_connect(udp_job *job, pen_peer captured)
{
    udp_address addresses[UDP_JOB_RANKS_MAX];
    for (pen_peer self = 0; self < job->size; self++)
        addresses[self] = udp_job_address(job, self);
    for (pen_peer self = 0; self < job->size; self++) {
        udp_address told[UDP_JOB_RANKS_MAX];
        memcpy(told, addresses, sizeof told);
        if (captured != PEN_PEER_ANY)
            told[captured].port = job->stranger_port;
        pen_link *link = job->ranks[self].link;
        if (link->ops->connect(link, told, job->size) != PEN_OK)
            abort();
    }
}

static void udp_job_close(udp_job *job)
{
    for (pen_peer self = 0; self < job->size; self++)
        job->ranks[self].link->ops->close(job->ranks[self].link);
    (void)close(job->stranger);
}

static pen_post udp_job_post(udp_job *job, pen_peer from, pen_peer to, pen_lane lane, uint64_t head,
                             const void *body, uint32_t body_len)
{
    pen_link *link = job->ranks[from].link;
    pen_frame frame = {
        .head = &head, .head_len = sizeof head, .body = body, .body_len = body_len
    };
    return link->ops->post(link, to, lane, &frame, NULL);
}

static unsigned udp_job_poll(udp_job *job, pen_peer self, unsigned lanes)
{
    pen_link *link = job->ranks[self].link;
    return link->ops->poll(link, lanes, 32);
}

/* Polls until `count` frames have come in all, for at most five seconds. */
static inline bool udp_job_await(udp_job *job, pen_peer self, unsigned delivered)
{
    for (unsigned i = 0; i < 5000 && job->ranks[self].delivered < delivered; i++) {
        struct pollfd fd = { .fd = udp_of(job->ranks[self].link)->fd, .events = POLLIN };
        if (udp_job_poll(job, self, PEN_LANES_ALL) == 0)
            (void)poll(&fd, 1, 1);
    }
    return job->ranks[self].delivered >= delivered;
}

/* ---- what the stranger does ---- */

static inline void udp_job_throw(udp_job *job, pen_peer at, const void *bytes, size_t len)
{
    const udp_sockaddr *to = &udp_of(job->ranks[at].link)->address;
    if (sendto(job->stranger, bytes, len, 0, &to->any, udp_sockaddr_len(to)) != (ssize_t)len)
        abort();
}

/* The next datagram that came to the stranger; -1: there is no datagram. */
static inline ssize_t udp_job_catch(udp_job *job, void *bytes, size_t len)
{
    struct pollfd fd = { .fd = job->stranger, .events = POLLIN };
    (void)poll(&fd, 1, 20);
    return recv(job->stranger, bytes, len, MSG_DONTWAIT);
}

static inline uint64_t udp_job_drops(const udp_job *job, pen_peer self)
{
    const pen_counters *c = &job->ranks[self].counters;
    return c->net_bad_length + c->net_bad_version + c->net_bad_epoch + c->net_bad_source +
           c->net_bad_seal + c->net_replayed + c->net_bad_frame + c->net_no_room;
}

#endif
