/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.c: drains rings of events into a file. */
#include "trace/collect.h"

#include "diag/log.h"
#include "os/os.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 4096 }; /* events of one record */
#define DRAIN_NS_MIN UINT64_C(2000000)
#define DRAIN_NS_MAX UINT64_C(50000000)

_Static_assert(BATCH * sizeof(pen_trace_event) <= PEN_TRACE_RECORD_LEN_MAX, "a batch is a record");

typedef struct source { /* one rank's ring */
    uint64_t next;      /* the number of the first event that was not copied yet */
    uint32_t names;
} source;

struct pen_collector {
    pen_collector_params params;
    pen_log *log;
    uint64_t events; /* in a ring */
    uint64_t pause_ns;
    bool failed;
    pen_trace_event batch[BATCH];
    source sources[];
};

/* ---- the file -------------------------------------------------------------------------------- */

/* Makes the descriptor's file an empty one that only its user can read. Returns NULL, or the name
 * of the call that failed, with errno. */
static const char *make_private(int fd)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return "fstat";
    if (!S_ISREG(file.st_mode) || file.st_uid != geteuid()) {
        errno = EPERM;
        return "fstat";
    }
    if (fchmod(fd, 0600) != 0)
        return "fchmod";
    return ftruncate(fd, 0) != 0 ? "ftruncate" : NULL;
}

int pen_trace_create(pen_log *log, const char *path)
{
    /* No link is followed, so that a name in a folder that others can write to leads nowhere else.
     */
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    const char *failed = fd < 0 ? "open" : make_private(fd);
    if (failed == NULL)
        return fd;
    pen_log_error(
        log,
        "cannot write the trace (--trace, PENSTOCK_TRACE or GASNET_TRACEFILE): %s: %m; give a new "
        "name, or a plain file of your own, in a folder that exists, instead of %.200s",
        failed, path);
    if (fd >= 0)
        close(fd);
    return -1;
}

int pen_trace_sink_file(void *ctx, const void *bytes, size_t len)
{
    int fd = *(const int *)ctx;
    const char *at = bytes;
    while (len != 0) {
        ssize_t written = write(fd, at, len);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            at += written;
            len -= (size_t)written;
        }
    }
    return 0;
}

int pen_trace_write_head(pen_trace_sink sink, void *ctx, uint32_t ranks, uint32_t hosts)
{
    pen_trace_head head = { .version = PEN_TRACE_VERSION,
                            .event_len = sizeof(pen_trace_event),
                            .ranks = ranks,
                            .hosts = hosts };
    memcpy(head.magic, PEN_TRACE_MAGIC, sizeof head.magic);
    return sink(ctx, &head, sizeof head);
}

/* ---- records --------------------------------------------------------------------------------- */

static void put(pen_collector *c, const void *bytes, size_t len)
{
    if (c->failed || len == 0)
        return;
    int error = c->params.sink(c->params.sink_ctx, bytes, len);
    if (error == 0)
        return;
    c->failed = true;
    pen_log_error(c->log, "the trace ends here: write: %s; the job goes on", strerror(error));
}

static void put_record(pen_collector *c, pen_trace_record record, const void *body)
{
    put(c, &record, sizeof record);
    put(c, body, record.len);
}

static uint64_t wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reads the clocks. Of a few tries keeps the one that took the least time. */
static void put_host(pen_collector *c)
{
    pen_trace_host host = { .first = c->params.first, .size = c->params.size };
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = pen_trace_ticks();
        uint64_t mono = pen_now_ns();
        uint64_t wall = wall_ns();
        uint64_t after = pen_trace_ticks();
        if (after - before >= best)
            continue;
        best = after - before;
        host.ticks = before + best / 2;
        host.mono_ns = mono;
        host.wall_ns = wall;
    }
    (void)snprintf(host.name, sizeof host.name, "%s", c->params.host);
    put_record(c,
               (pen_trace_record){
                   .kind = PEN_TRACE_RECORD_HOST, .len = sizeof host, .which = c->params.host_i },
               &host);
}

static const pen_trace_ring *ring_of(const pen_collector *c, uint32_t i)
{
    return (const pen_trace_ring *)(const void *)(c->params.rings + i * c->params.stride);
}

static void put_names(pen_collector *c, uint32_t i)
{
    const pen_trace_ring *ring = ring_of(c, i);
    source *from = &c->sources[i];
    /* acquire: pairs with the release in add_name */
    uint32_t count = atomic_load_explicit(&ring->name_count, memory_order_acquire);
    if (count > PEN_TRACE_NAMES_MAX)
        count = PEN_TRACE_NAMES_MAX;
    if (count <= from->names)
        return;
    uint32_t fresh = count - from->names;
    put_record(c,
               (pen_trace_record){ .kind = PEN_TRACE_RECORD_NAMES,
                                   .len = fresh * PEN_TRACE_NAME_LEN,
                                   .which = c->params.first + i,
                                   .count = fresh,
                                   .first = from->names },
               ring->names[from->names]);
    from->names = count;
}

/* Returns the number of events. */
static uint64_t drain_one(pen_collector *c, uint32_t i)
{
    const pen_trace_ring *ring = ring_of(c, i);
    uint64_t before = c->sources[i].next, first;
    for (uint64_t copied = 0; copied < c->events;) { /* bounded, as the rank goes on writing */
        size_t count =
            pen_trace_read(ring, c->events, &c->sources[i].next, &first, c->batch, BATCH);
        if (count != 0)
            put_record(c,
                       (pen_trace_record){ .kind = PEN_TRACE_RECORD_EVENTS,
                                           .len = (uint32_t)(count * sizeof(pen_trace_event)),
                                           .which = c->params.first + i,
                                           .count = (uint32_t)count,
                                           .first = first },
                       c->batch);
        copied += count;
        if (count < BATCH / 2)
            break;
    }
    put_names(c, i);
    return c->sources[i].next - before;
}

/* ---- what the supervisor calls --------------------------------------------------------------- */

pen_collector *pen_collector_open(pen_log *log, const pen_collector_params *params)
{
    pen_collector *c = calloc(1, sizeof *c + params->size * sizeof c->sources[0]);
    if (c == NULL) {
        pen_log_error(log, "cannot trace the job: calloc: %m; free some memory");
        return NULL;
    }
    c->params = *params;
    c->log = log;
    c->events = pen_trace_ring_events(params->ring_len);
    c->pause_ns = DRAIN_NS_MIN;
    put_host(c);
    return c;
}

uint64_t pen_collector_drain(pen_collector *c)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < c->params.size && !c->failed; i++) {
        uint64_t count = drain_one(c, i);
        most = count > most ? count : most;
    }
    /* A ring should be at most an eighth full, because ranks may become faster. */
    if (most > c->events / 8 && c->pause_ns > DRAIN_NS_MIN)
        c->pause_ns /= 2;
    else if (most < c->events / 32 && c->pause_ns < DRAIN_NS_MAX)
        c->pause_ns *= 2;
    return c->pause_ns;
}

void pen_collector_close(pen_collector *c, bool is_last)
{
    if (is_last) {
        (void)pen_collector_drain(c);
        put_host(c);
        put_record(c, (pen_trace_record){ .kind = PEN_TRACE_RECORD_END, .which = c->params.host_i },
                   NULL);
    }
    free(c);
}
