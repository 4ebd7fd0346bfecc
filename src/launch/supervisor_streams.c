/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_streams.c: passes the ranks' output from pipes to stdout and stderr, line by line,
 * through a bounded queue. A slow reader slows the ranks, not the supervisor. */
#include "launch/supervisor_parts.h"

#include "os/os.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define QUEUE_FULL      ((size_t)1 << 20)   /* stop reading */
#define QUEUE_LOW       ((size_t)256 << 10) /* read again */
#define PROMPT_AFTER_NS UINT64_C(30000000)
enum { READ_LEN = 65536, READS_MAX = 256, STREAM_EVENTS_MAX = 64 };
#define SOURCE_SELF UINT32_MAX

const char *pen_super_watch(int epoll, int fd, uint64_t data)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? NULL : "epoll_ctl";
}

void pen_super_event(pen_supervisor *s, pen_exit_kind kind, uint32_t rank, int code)
{
    s->ops->event(s, kind, rank, code);
}

void pen_super_note(pen_supervisor *s, pen_exit_kind kind, uint32_t rank, int code)
{
    if (s->event_count == s->events_max) /* only messages of a faulty rank can be that many */
        return;
    s->events[s->event_count++] = (pen_exit_event){ kind, rank, code };
}

void pen_super_line(pen_supervisor *s, const char *line, size_t len)
{
    pen_output_put(s->to[PEN_STREAM_ERR], SOURCE_SELF, line, len);
}

void pen_super_words(pen_supervisor *s)
{
    char line[4096];
    ssize_t got;
    pen_output *to = s->to[PEN_STREAM_ERR];
    do {
        got = s->words[0] >= 0 ? read(s->words[0], line, sizeof(line)) : 0;
        if (got > 0)
            s->ops->say(s, line, (size_t)got);
        if (got > 0 && to->call != NULL)
            pen_output_last_words(to, line, (size_t)got);
    } while (got > 0 || (got < 0 && errno == EINTR));
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct sink {
    pen_output *output;
    uint32_t source;
} sink;

static void sink_take(void *ctx, const char *text, size_t len)
{
    const sink *to = ctx;
    pen_output_put(to->output, to->source, text, len);
}

static sink sink_of(pen_supervisor *s, uint32_t rank, int i)
{
    return (sink){ s->to[i], rank * PEN_STREAMS + (uint32_t)i };
}

void pen_super_printed(pen_supervisor *s, uint32_t rank, int i, const char *text, size_t len)
{
    pen_super_rank *r = &s->ranks[rank];
    sink to = sink_of(s, rank, i);
    if (len != 0)
        pen_lines_feed(&r->lines[i], text, len, sink_take, &to);
    /* no line of another rank can be torn */
    if (len == 0 || (s->options->size == 1 && !s->options->tag))
        pen_lines_flush(&r->lines[i], sink_take, &to);
    else if (rank == 0 && s->terminal && pen_lines_pending(&r->lines[i]))
        s->prompt_ns = pen_now_ns() + PROMPT_AFTER_NS;
}

static void stream_close(pen_supervisor *s, uint32_t rank, int i)
{
    pen_super_rank *r = &s->ranks[rank];
    s->ops->printed(s, rank, i, NULL, 0);
    (void)epoll_ctl(s->streams_epoll, EPOLL_CTL_DEL, r->stream[i], NULL);
    close(r->stream[i]);
    r->stream[i] = -1;
}

static void stream_read(pen_supervisor *s, uint32_t rank, int i, char *buffer)
{
    pen_super_rank *r = &s->ranks[rank];
    if (r->stream[i] < 0)
        return;
    ssize_t got = read(r->stream[i], buffer, READ_LEN);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        stream_close(s, rank, i);
        return;
    }
    s->ops->printed(s, rank, i, buffer, (size_t)got);
}

void pen_super_prompt(pen_supervisor *s, uint64_t now_ns)
{
    if (s->prompt_ns == 0 || now_ns < s->prompt_ns)
        return;
    s->prompt_ns = 0;
    for (int i = 0; i < PEN_STREAMS; i++) {
        sink to = sink_of(s, 0, i);
        pen_lines_flush(&s->ranks[0].lines[i], sink_take, &to);
    }
}

size_t pen_super_queued(const pen_supervisor *s)
{
    size_t out = pen_output_queued(&s->outputs[PEN_STREAM_OUT]);
    size_t err = pen_output_queued(&s->outputs[PEN_STREAM_ERR]);
    return out > err ? out : err;
}

/* Takes the ranks' streams out of the main loop, or back in. */
static void streams_listen(pen_supervisor *s, bool on)
{
    if (s->streams_on == on)
        return;
    struct epoll_event event = { .events = EPOLLIN,
                                 .data.u64 = PEN_SUPER_DATA(PEN_SUPER_STREAMS, 0) };
    if (epoll_ctl(s->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, s->streams_epoll, &event) == 0 ||
        !on)
        s->streams_on = on;
}

unsigned pen_super_pump(pen_supervisor *s)
{
    char buffer[READ_LEN];
    unsigned reads = 0;
    while (reads < READS_MAX && s->ops->queued(s) < QUEUE_FULL) {
        struct epoll_event events[STREAM_EVENTS_MAX];
        int count = epoll_wait(s->streams_epoll, events, STREAM_EVENTS_MAX, 0);
        if (count <= 0)
            break;
        for (int i = 0; i < count; i++, reads++) {
            unsigned source = (unsigned)(events[i].data.u64 >> 32);
            stream_read(s, (uint32_t)events[i].data.u64, (int)(source - PEN_SUPER_STREAM), buffer);
        }
        pen_super_write(s);
    }
    pen_super_write(s);
    bool on = s->ops->queued(s) < (s->streams_on ? QUEUE_FULL : QUEUE_LOW);
    if (s->ops->hold != NULL)
        s->ops->hold(s, !on);
    streams_listen(s, on);
    return reads;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void output_listen(pen_supervisor *s, int i, bool on)
{
    if (s->writable[i] == on)
        return;
    struct epoll_event event = { .events = EPOLLOUT,
                                 .data.u64 = PEN_SUPER_DATA(PEN_SUPER_OUTPUT, (unsigned)i) };
    int fd = s->outputs[i].fd;
    if (epoll_ctl(s->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event) == 0 || !on)
        s->writable[i] = on;
}

void pen_super_write(pen_supervisor *s)
{
    for (int i = 0; i < PEN_STREAMS; i++) {
        pen_output *output = &s->outputs[i];
        pen_output_flush(output);
        output_listen(s, i, pen_output_queued(output) != 0);
        if (output->call != NULL && !s->output_reported) {
            s->output_reported = true;
            pen_super_event(s, PEN_EXIT_OUTPUT, (uint32_t)i, output->error);
        }
    }
}

bool pen_super_output_waits(const pen_supervisor *s) { return s->ops->queued(s) != 0; }
