/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c: starts, runs and ends an agent. agent_orders.c executes the launcher's orders. */
#include "remote/agent_internal.h"

#include "boot/departed.h"

#include "os/os.h"

#include "base/pack.h"
#include "base/status.h"
#include "boot/arena.h"
#include "boot/boot.h"
#include "boot/control.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "launch/exit_rule.h"
#include "launch/seen.h"
#include "launch/supervisor.h"
#include "launch/supervisor_parts.h"
#include "pen_config.h"
#include "remote/hosts.h"
#include "remote/seen_record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* period of looking for stopped ranks while ranks wait to leave */
#define LOOK_NS       (UINT64_C(250) * 1000000)
#define FIRST_BEAT_NS (UINT64_C(10) * 1000000000) /* until START gives the period */
#define DRAIN_MS      3000
enum { FAR_EVENTS_MAX = 64, FD_LEAST = 16, FILLS_MAX = 16 };

/* If this many beats pass without an acknowledgement, the launcher's host has vanished. The
 * launcher gives an agent up after half as many. */
enum { BEATS_LOST_MAX = 6 };

/* ---- to the launcher ------------------------------------------------------------------------- */

static void up(struct pen_agent *agent, pen_record_kind kind, uint32_t rank, int code,
               const void *body, size_t body_len)
{
    const pen_record head = {
        .kind = (uint16_t)kind, .host = agent->host, .rank = rank, .code = code
    };
    pen_channel_put(&agent->up, &head, body, body_len);
}

static void up_event(pen_supervisor *s, pen_exit_kind kind, uint32_t rank, int code)
{
    if (kind == PEN_EXIT_SIGNALLED) {
        pen_super_say(s, PEN_LOG_ERROR,
                      "the agent on host %s was told by signal %d to end; "
                      "ending the job",
                      s->log.host, code);
        kind = PEN_EXIT_LAUNCH_FAILED;
        rank = 0;
    }
    uint32_t body = (uint32_t)kind;
    up(pen_agent_of(s), PEN_RECORD_EVENT, s->first + rank, code, &body, sizeof(body));
}

/* Called when all ranks of the host are in the start-up barrier: sends their blobs to the
 * launcher. */
static void meet(pen_supervisor *s, int code)
{
    size_t len = code < 0 ? SIZE_MAX : (size_t)(code >> 1);
    if (len > PEN_BOOT_BLOB_MAX)
        return;
    const char *row = pen_agent_exchange(s, code) + (size_t)s->first * PEN_BOOT_BLOB_MAX;
    char *body = malloc(len * s->options->size + 1);
    if (body == NULL) {
        pen_agent_of(s)->up.failed = true;
        return;
    }
    for (uint32_t i = 0; i < s->options->size; i++)
        memcpy(body + i * len, row + (size_t)i * PEN_BOOT_BLOB_MAX, len);
    up(pen_agent_of(s), PEN_RECORD_MEET, s->first, code, body, len * s->options->size);
    free(body);
}

/* Keeps the parts of a message that local reports and the order of deaths need. */
static void note_word(pen_exit_rank *rank, const pen_control *message)
{
    switch (message->kind) {
    case PEN_CONTROL_JOINED:
        rank->joined = true;
        break;
    case PEN_CONTROL_RESIGNED:
        rank->joined = false;
        break;
    case PEN_CONTROL_LEAVE:
        rank->left = message->code == 0;
        rank->word = true;
        break;
    case PEN_CONTROL_EXIT:
    case PEN_CONTROL_START_FAILED:
        rank->word = true;
        break;
    default:
        break;
    }
}

/* Sends the record of a departed rank to the launcher, for ranks on other hosts. */
static void up_departed(pen_supervisor *s, uint32_t rank)
{
    const pen_departed *row = pen_departed_row(s->page, s->first + rank);
    if (row != NULL)
        up(pen_agent_of(s), PEN_RECORD_DEPARTED, s->first + rank, 0, row, pen_departed_len(row));
}

static void up_heard(pen_supervisor *s, uint32_t rank, const pen_control *message)
{
    struct pen_agent *agent = pen_agent_of(s);
    if (message->kind == PEN_CONTROL_MEET) {
        meet(s, message->code);
        return;
    }
    bool word_before = s->exit_ranks[rank].word;
    note_word(&s->exit_ranks[rank], message);
    bool word = s->exit_ranks[rank].word && !word_before;
    if (word && message->code != 0)
        pen_super_dying_first(s);
    agent->some_left = agent->some_left || word;
    if (message->kind == PEN_CONTROL_LEAVE && message->code == 0)
        up_departed(s, rank);
    pen_pack body = { .bytes = NULL };
    pen_pack_u32(&body, message->kind);
    pen_pack_text(&body, message->text);
    agent->up.failed |= body.failed;
    up(agent, PEN_RECORD_HEARD, s->first + rank, message->code, body.bytes, body.len);
    pen_pack_free(&body);
}

static void up_printed(pen_supervisor *s, uint32_t rank, int i, const char *text, size_t len)
{
    up(pen_agent_of(s), PEN_RECORD_OUTPUT, s->first + rank, i, text, len);
}

/* Reports what the ranks of this host do, and sends the launcher what it needs to explain why they
 * do not go on. */
static void report(pen_supervisor *s)
{
    pen_super_report_ours(s);
    pen_seen *ranks = pen_super_seen(s);
    pen_pack body = { .bytes = NULL };
    for (uint32_t rank = 0; ranks != NULL && rank < s->started; rank++)
        pen_seen_pack(&body, &ranks[rank]);
    free(ranks);
    up(pen_agent_of(s), PEN_RECORD_SEEN, 0, 0, body.bytes, body.len);
    pen_pack_free(&body);
}

static void up_say(pen_supervisor *s, const char *line, size_t len)
{
    up(pen_agent_of(s), PEN_RECORD_SAY, 0, 0, line, len);
}

static void up_started(pen_supervisor *s, uint32_t rank)
{
    up(pen_agent_of(s), PEN_RECORD_STARTED, s->first + rank, s->ranks[rank].pid, NULL, 0);
}

static size_t up_queued(const pen_supervisor *s)
{
    return pen_agent_of(s)->hold ? SIZE_MAX : pen_channel_queued(&pen_agent_of(s)->up);
}

void pen_agent_taken(struct pen_agent *agent) { up(agent, PEN_RECORD_TAKEN, 0, 0, NULL, 0); }

/* ---- from hosts below ------------------------------------------------------------------------ */

static void take(void *ctx, const pen_record *record, const char *body)
{
    struct pen_agent *agent = ctx;
    pen_channel_put(&agent->up, record, body, record->body_len);
}

static void lost(void *ctx, uint32_t host, const char *why)
{
    struct pen_agent *agent = ctx;
    const pen_record head = { .kind = PEN_RECORD_LOST, .host = host };
    pen_channel_put(&agent->up, &head, why, strlen(why));
}

static const char *in_child(void *ctx)
{
    const struct pen_agent *agent = ctx;
    return agent->s != NULL ? pen_super_restore(agent->s) : NULL;
}

/* Number of cores for ranks: those that ranks can be bound to, but no more than a quota allows. */
static uint32_t slots_of(struct pen_agent *agent)
{
    unsigned allowed = pen_cores_allowed(NULL);
    agent->no_cores = agent->needs->cores(&agent->cores, &agent->core_count);
    return agent->core_count != 0 && agent->core_count < allowed ? agent->core_count : allowed;
}

static void greet(struct pen_agent *agent)
{
    char connection[4 * PEN_ADDRESS_TEXT_MAX] = "", *saved = NULL;
    const char *said = pen_knob_from_process(NULL, "SSH_CONNECTION");
    agent->lifeline = pen_lifeline_of(said);
    if (said != NULL && strlen(said) < sizeof(connection))
        (void)snprintf(connection, sizeof(connection), "%s", said);
    /* "address port address port" */
    const char *parts[3] = { "", "", "" };
    char *part = strtok_r(connection, " ", &saved);
    for (int i = 0; part != NULL && i < 3; i++, part = strtok_r(NULL, " ", &saved))
        parts[i] = part;
    const pen_hello hello = {
        .version = PEN_VERSION_STRING, .cores = slots_of(agent), .from = parts[0], .at = parts[2]
    };
    pen_pack out = { .bytes = NULL };
    pen_hello_pack(&hello, &out);
    agent->up.failed |= out.failed;
    up(agent, PEN_RECORD_HELLO, 0, 0, out.bytes, out.len);
    pen_pack_free(&out);
}

/* Takes TREE, which gives this host's number and the hosts below it, and starts agents on these.
 * Returns false if the agent has to end. */
bool pen_agent_plant(struct pen_agent *agent, const pen_record *record, const char *body)
{
    /* the names are used until the end */
    pen_pack_bytes(&agent->tree_body, body, record->body_len);
    pen_unpack from = { agent->tree_body.bytes, agent->tree_body.bytes + agent->tree_body.len,
                        agent->tree_body.failed };
    uint32_t host_count = pen_unpack_u32(&from);
    pen_tree tree;
    if (agent->planted || host_count > PEN_HOSTS_MAX || record->host >= host_count ||
        !pen_tree_unpack(&from, host_count, &tree))
        return false;
    agent->planted = true;
    agent->host = record->host;
    agent->fleet = (pen_fleet){ .host_count = host_count,
                                .epoll = agent->epoll,
                                .in_child = in_child,
                                .take = take,
                                .lost = lost,
                                .ctx = agent };
    greet(agent);
    const char *call = pen_fleet_open(&agent->fleet, &tree);
    if (call != NULL)
        pen_log_error(agent->log, "cannot start agents on %u hosts: %s: %m; use fewer hosts",
                      tree.count, call);
    pen_tree_free(&tree);
    return call == NULL;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Executes orders. Orders for ranks wait until the ranks have been started. */
static void orders_take(struct pen_agent *agent)
{
    pen_record record;
    const char *body;
    while ((!agent->started || agent->ready) && pen_channel_next(&agent->up, &record, &body))
        pen_agent_order(agent, &record, body);
}

static void up_read(struct pen_agent *agent)
{
    for (int i = 0; i < FILLS_MAX && !agent->gone; i++) {
        size_t before = agent->up.buffer_end;
        agent->gone = !pen_channel_fill(&agent->up);
        bool some = agent->up.buffer_end != before;
        orders_take(agent);
        if (!some)
            break;
    }
    agent->gone = agent->gone || agent->up.failed;
}

static void writing_set(struct pen_agent *agent, bool on)
{
    if (agent->writing == on)
        return;
    struct epoll_event event = { .events = EPOLLOUT, .data.u64 = PEN_AGENT_UP };
    if (epoll_ctl(agent->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, agent->up.out, &event) == 0)
        agent->writing = on;
}

static void flush(struct pen_agent *agent)
{
    if (!pen_channel_flush(&agent->up))
        agent->gone = true;
    else
        writing_set(agent, pen_channel_queued(&agent->up) != 0);
    pen_fleet_flush(&agent->fleet);
}

static void far_events(struct pen_agent *agent, int wait_ms)
{
    struct epoll_event events[FAR_EVENTS_MAX];
    int count = epoll_wait(agent->epoll, events, FAR_EVENTS_MAX, wait_ms);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == PEN_AGENT_UP && (events[i].events & EPOLLIN) == 0 &&
            (events[i].events & EPOLLOUT) != 0)
            continue; /* the queue is flushed each round */
        if (events[i].data.u64 == PEN_AGENT_UP)
            up_read(agent);
        else if (events[i].data.u64 == PEN_AGENT_INPUT)
            pen_agent_input(agent);
        else
            pen_fleet_event(&agent->fleet, (uint32_t)events[i].data.u64);
    }
}

static bool reaped(pen_supervisor *s, pid_t pid, int wait_status)
{
    return pen_fleet_reaped(&pen_agent_of(s)->fleet, pid, wait_status);
}

static void far_event(pen_supervisor *s) { far_events(pen_agent_of(s), 0); }

/* Sends the launcher a beat, so that the kernel finds out whether the launcher's host is there. If
 * it has vanished, ends the agent. */
static void beat(struct pen_agent *agent)
{
    uint64_t now_ns = pen_now_ns(), lost_ns = BEATS_LOST_MAX * agent->beat_every_ns;
    if (now_ns < agent->beat_ns)
        return;
    agent->beat_ns = now_ns + agent->beat_every_ns;
    if (agent->planted)
        up(agent, PEN_RECORD_BEAT, 0, 0, NULL, 0);
    if (pen_lifeline_silent_ns(&agent->lifeline) < lost_ns)
        return;
    pen_log_error(agent->log,
                  "the host that started this agent has vanished: nothing heard of it for %.0f s; "
                  "ending the ranks here (PENSTOCK_LAUNCH_BEAT)",
                  (double)lost_ns / 1e9);
    agent->gone = true;
}

/* Tells the launcher which ranks are stopped, while ranks wait for peers to leave. A rank that a
 * debugger holds excuses the delay. */
static void stopped_look(pen_supervisor *s)
{
    for (uint32_t rank = 0; rank < s->started; rank++) {
        pen_super_rank *r = &s->ranks[rank];
        bool before = r->stopped;
        if (r->alive)
            pen_super_look(s, rank);
        r->stopped = r->stopped && r->alive;
        if (r->stopped != before)
            up(pen_agent_of(s), PEN_RECORD_STOPPED, s->first + rank, r->stopped ? 1 : 0, NULL, 0);
    }
}

static void serve(pen_supervisor *s)
{
    struct pen_agent *agent = pen_agent_of(s);
    agent->s = s;
    agent->ready = true;
    orders_take(agent);
    while (!agent->gone && !agent->quit) {
        pen_super_pump(s);
        beat(agent);
        flush(agent);
        if (agent->gone || agent->quit)
            break;
        if (agent->some_left)
            stopped_look(s);
        s->far_ns = agent->some_left ? pen_now_ns() + LOOK_NS : agent->beat_ns;
        pen_super_wait(s);
    }
}

/* Sends the records that are queued for the launcher, and those that hosts below still send, for up
 * to DRAIN_MS. */
static void drain(struct pen_agent *agent)
{
    uint64_t until_ns = pen_now_ns() + (uint64_t)DRAIN_MS * 1000000;
    while (pen_now_ns() < until_ns && !agent->gone) {
        flush(agent);
        if (agent->gone ||
            (pen_channel_queued(&agent->up) == 0 && pen_fleet_is_closed(&agent->fleet)))
            return;
        far_events(agent, 100);
    }
}

static void run_ranks(pen_supervisor *s)
{
    struct pen_agent *agent = pen_agent_of(s);
    pen_status status;
    (void)pen_super_start(s, NULL, &status);
    if (s->input_fd != s->null_fd)
        close(s->input_fd); /* rank 0 has its own copy */
    serve(s);
    pen_super_kill(s);
    agent->hold = false;
    while (!agent->gone && pen_super_pump(s) != 0)
        flush(agent);
}

/* Operations as on one host, except that reports about ranks go to the launcher, which decides. */
static const pen_super_ops agent_ops = {
    .who = "agent",
    .children = pen_super_children,
    .open = pen_agent_arena,
    .start = pen_super_start,
    .far_event = far_event,
    .reaped = reaped,
    .quit = pen_super_sweep,
    .word = pen_super_word_to,
    .tell = pen_super_tell,
    .fail = pen_super_barriers_fail,
    .kill = pen_super_kill_ours,
    .signal = pen_super_signal_ours,
    .host = pen_super_host,
    .look = pen_super_look,
    .dying_first = pen_super_dying_first,
    .report = report,
    .started = up_started,
    .event = up_event,
    .heard = up_heard,
    .printed = up_printed,
    .say = up_say,
    .queued = up_queued,
};

static int supervise(struct pen_agent *agent)
{
    const pen_start *start = &agent->start;
    pen_supervisor s;
    pen_supervisor_options options = {
        .size = start->firsts[agent->host + 1] - start->firsts[agent->host],
        .argv = start->argv,
        .launcher = "penstock run",
        .needs = agent->needs->boot,
        .ops = &agent_ops,
        .ops_state = agent,
    };
    if ((start->flags & PEN_START_BIND) != 0) {
        options.cores = agent->cores;
        options.core_count = agent->core_count;
    }
    if ((start->flags & PEN_START_BIND) != 0 && agent->core_count == 0) {
        pen_log_error(agent->log, "cannot bind ranks to cores on host %s: %s; leave --bind out",
                      agent->log->host, agent->no_cores);
        return 1;
    }
    pen_status status = pen_super_open(&s, agent->log, &options);
    s.first = start->firsts[agent->host];
    if (status == PEN_OK && !pen_agent_input_open(&s))
        status = PEN_ERR_SYSTEM;
    if (status == PEN_OK &&
        pen_super_watch(s.epoll, agent->epoll, PEN_SUPER_DATA(PEN_SUPER_FAR, 0)) != NULL)
        status = PEN_ERR_SYSTEM;
    if (status == PEN_OK)
        run_ranks(&s);
    drain(agent); /* before the sweep, which also kills ssh */
    if (status == PEN_OK)
        pen_super_sweep(&s);
    agent->s = NULL;
    pen_super_close(&s, false);
    pen_arena_destroy(&s.arena);
    return status == PEN_OK && agent->quit ? 0 : 1;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Keeps standard input and output for records only. A rank or a library that prints by mistake
 * writes to /dev/null. */
static const char *streams_take(struct pen_agent *agent)
{
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, FD_LEAST);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FD_LEAST);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (in < 0 || out < 0 || null < 0)
        return "fcntl";
    pen_channel_open(&agent->up, in, out, true);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return "dup2";
    close(null);
    if (fcntl(in, F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK) != 0)
        return "fcntl";
    agent->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = PEN_AGENT_UP };
    if (agent->epoll < 0 || epoll_ctl(agent->epoll, EPOLL_CTL_ADD, in, &event) != 0)
        return "epoll_ctl";
    return NULL;
}

int pen_agent_run(pen_log *log, const pen_agent_needs *needs)
{
    struct pen_agent agent = {
        .log = log, .needs = needs, .epoll = -1, .input_fd = -1, .beat_every_ns = FIRST_BEAT_NS
    };
    const char *call = streams_take(&agent);
    if (call != NULL) {
        pen_log_error(log,
                      "cannot serve a launcher: %s: %m; `penstock run --hosts` starts agents, "
                      "nobody else does",
                      call);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    pen_channel_put_raw(&agent.up, PEN_RECORD_MAGIC, PEN_RECORD_MAGIC_LEN);
    while (!agent.gone && !agent.quit && !agent.started) {
        beat(&agent);
        flush(&agent);
        if (!agent.gone)
            far_events(&agent, (int)(agent.beat_every_ns / 1000000));
    }
    int status = agent.quit ? 0 : 1;
    if (agent.started && !agent.gone && !agent.quit)
        status = supervise(&agent);
    else
        drain(&agent);
    pen_fleet_close(&agent.fleet);
    pen_channel_close(&agent.up);
    pen_start_free(&agent.start);
    pen_pack_free(&agent.start_body);
    pen_pack_free(&agent.tree_body);
    close(agent.epoll);
    return status;
}
