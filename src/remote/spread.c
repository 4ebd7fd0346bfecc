/* SPDX-License-Identifier: BSD-3-Clause */
/* spread.c: starts agents on every host and then the ranks, and takes the agents' records.
 * spread_order.c sends orders to agents. */
#include "remote/spread_internal.h"

#include "os/os.h"

#include "base/pack.h"
#include "base/status.h"
#include "boot/boot.h"
#include "boot/control.h"
#include "diag/log.h"
#include "launch/exit_rule.h"
#include "launch/supervisor.h"
#include "launch/supervisor_parts.h"
#include "pen_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define QUIT_NS (UINT64_C(5) * 1000000000) /* time for agents to send queued records and end */
enum { FAR_EVENTS_MAX = 64 };

static bool reaped(pen_supervisor *s, pid_t pid, int wait_status)
{
    return pen_fleet_reaped(&pen_spread_of(s)->fleet, pid, wait_status);
}

static void far_event(pen_supervisor *s)
{
    struct epoll_event events[FAR_EVENTS_MAX];
    int count = epoll_wait(pen_spread_of(s)->epoll, events, FAR_EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == PEN_SPREAD_INPUT)
            pen_spread_input(s);
        else
            pen_fleet_event(&pen_spread_of(s)->fleet, (uint32_t)events[i].data.u64);
    }
}

/* ---- failures before the ranks start --------------------------------------------------------- */

/* Marks all ranks as ended: no rank was started, and no rank will be. */
static void abandon(pen_supervisor *s)
{
    pen_spread_of(s)->launched = true;
    for (uint32_t rank = 0; rank < s->options->size; rank++) {
        s->exit_ranks[rank].told = true;
        pen_super_event(s, PEN_EXIT_ENDED, rank, 0);
    }
}

static void fail(pen_supervisor *s)
{
    pen_super_event(s, PEN_EXIT_LAUNCH_FAILED, 0, 0);
    if (!pen_spread_of(s)->launched)
        abandon(s);
}

static const char *name_of(const pen_supervisor *s, uint32_t host)
{
    return pen_spread_of(s)->options->hosts->entries[host].name;
}

static const char *host_of(const pen_supervisor *s, uint32_t rank)
{
    return pen_spread_of(s)->launched && s->started != 0 ? name_of(s, s->ranks[rank].host) : "?";
}

static void lost(void *ctx, uint32_t host, const char *why)
{
    pen_supervisor *s = ctx;
    struct pen_spread *spread = pen_spread_of(s);
    if (spread->hosts[host].gone || spread->quitting)
        return;
    spread->hosts[host].gone = true;
    bool news = !spread->lost_said;
    spread->lost_said = true;
    if (news && s->started == 0)
        pen_super_say(s, PEN_LOG_ERROR, "cannot start on host %s: %s", name_of(s, host), why);
    else if (news)
        pen_super_say(s, PEN_LOG_ERROR, "lost host %s with ranks %u to %u: %s; ending the job",
                      name_of(s, host), spread->firsts[host], spread->firsts[host + 1] - 1, why);
    fail(s);
    for (uint32_t rank = spread->firsts[host]; s->started != 0 && rank < spread->firsts[host + 1];
         rank++) {
        if (!s->ranks[rank].alive)
            continue;
        s->ranks[rank].alive = false;
        s->exit_ranks[rank].told = true;
        pen_super_event(s, PEN_EXIT_ENDED, rank, 0);
    }
}

/* ---- records from agents --------------------------------------------------------------------- */

static void take_hello(pen_supervisor *s, const pen_record *record, const char *body)
{
    struct pen_spread *spread = pen_spread_of(s);
    pen_hello hello;
    pen_spread_place *host = &spread->hosts[record->host];
    if (host->greeted || spread->launched)
        return;
    if (!pen_hello_unpack(body, record->body_len, &hello) ||
        strcmp(hello.version, PEN_VERSION_STRING) != 0) {
        lost(s, record->host,
             "it has another version of Penstock than " PEN_VERSION_STRING
             "; install the same on all hosts");
        return;
    }
    host->greeted = true;
    host->cores = hello.cores;
    (void)snprintf(host->from, sizeof(host->from), "%s", hello.from);
    (void)snprintf(host->at, sizeof(host->at), "%s", hello.at);
    if (++spread->greeted == spread->host_count && !pen_spread_launch(s))
        fail(s);
}

static void take_heard(pen_supervisor *s, const pen_record *record, const char *body)
{
    pen_control message = { .code = record->code };
    pen_unpack from = { body, body + record->body_len, false };
    message.kind = pen_unpack_u32(&from);
    (void)snprintf(message.text, sizeof(message.text), "%s", pen_unpack_text(&from));
    if (!from.failed)
        pen_super_word(s, record->rank, &message);
}

static void take_event(pen_supervisor *s, const pen_record *record, const char *body)
{
    pen_unpack from = { body, body + record->body_len, false };
    uint32_t kind = pen_unpack_u32(&from);
    bool ended = kind == PEN_EXIT_DIED || kind == PEN_EXIT_ENDED;
    if (from.failed || (!ended && kind != PEN_EXIT_LAUNCH_FAILED))
        return;
    if (ended && !s->ranks[record->rank].alive)
        return;
    if (ended)
        s->ranks[record->rank].alive = false;
    pen_super_event(s, (pen_exit_kind)kind, record->rank, record->code);
}

/* Called when the ranks of all hosts are in the start-up barrier: sends the blobs of all ranks to
 * all hosts. */
static void take_meet(pen_supervisor *s, const pen_record *record, const char *body)
{
    struct pen_spread *spread = pen_spread_of(s);
    uint32_t first = spread->firsts[record->host], end = spread->firsts[record->host + 1];
    size_t len = record->code < 0 ? SIZE_MAX : (size_t)(record->code >> 1);
    bool sound = len <= PEN_BOOT_BLOB_MAX && record->body_len == len * (end - first) &&
                 !spread->hosts[record->host].met &&
                 (spread->met == 0 || spread->meet_code == record->code);
    if (!sound) {
        pen_super_say(s, PEN_LOG_ERROR,
                      "the ranks of host %s and others are not at the same place of their start; "
                      "start one program with one environment",
                      name_of(s, record->host));
        fail(s);
        return;
    }
    spread->hosts[record->host].met = true;
    spread->meet_code = record->code;
    if (len != 0)
        memcpy(spread->blobs + first * len, body, record->body_len);
    if (++spread->met < spread->host_count)
        return;
    pen_record head = { .kind = PEN_RECORD_MET, .host = PEN_RECORD_ALL, .code = record->code };
    pen_fleet_order(&spread->fleet, &head, spread->blobs, len * s->options->size);
    spread->met = 0;
    for (uint32_t i = 0; i < spread->host_count; i++)
        spread->hosts[i].met = false;
}

static void take_of_rank(pen_supervisor *s, const pen_record *record, const char *body)
{
    pen_super_rank *rank = &s->ranks[record->rank];
    switch (record->kind) {
    case PEN_RECORD_STARTED:
        rank->pid = record->code;
        break;
    case PEN_RECORD_HEARD:
        take_heard(s, record, body);
        break;
    case PEN_RECORD_EVENT:
        take_event(s, record, body);
        break;
    case PEN_RECORD_OUTPUT:
        if (record->code >= 0 && record->code < PEN_STREAMS)
            pen_super_printed(s, record->rank, record->code, body, record->body_len);
        break;
    case PEN_RECORD_DEPARTED:
        pen_spread_take_departed(s, record, body);
        break;
    case PEN_RECORD_STOPPED:
        rank->stopped = record->code != 0;
        break;
    default:
        break;
    }
}

static void take(void *ctx, const pen_record *record, const char *body)
{
    pen_supervisor *s = ctx;
    struct pen_spread *spread = pen_spread_of(s);
    switch (record->kind) {
    case PEN_RECORD_HELLO:
        take_hello(s, record, body);
        return;
    case PEN_RECORD_SAY:
        pen_super_line(s, body, record->body_len);
        return;
    case PEN_RECORD_LOST: {
        char why[512];
        (void)snprintf(why, sizeof(why), "%.*s",
                       record->body_len < sizeof(why) ? (int)record->body_len : 500, body);
        lost(s, record->host, why);
        return;
    }
    default:
        break;
    }
    if (s->started == 0)
        return;
    if (record->kind == PEN_RECORD_MEET)
        take_meet(s, record, body);
    else if (record->kind == PEN_RECORD_SEEN)
        pen_spread_take_seen(s, record, body);
    else if (record->kind == PEN_RECORD_TAKEN)
        spread->input_wanted = true;
    else if (record->rank >= spread->firsts[record->host] &&
             record->rank < spread->firsts[record->host + 1])
        take_of_rank(s, record, body);
}

/* ---- beginning and ending -------------------------------------------------------------------- */

/* Allocates the tables. Returns false without memory; spread_close frees the rest. */
static bool spread_fill(struct pen_spread *spread)
{
    const pen_spread_options *options = spread->options;
    uint32_t count = options->hosts->count;
    spread->host_count = count;
    spread->hosts = calloc(count, sizeof(*spread->hosts));
    spread->firsts = calloc((size_t)count + 1, sizeof(*spread->firsts));
    spread->tree = (pen_tree){ .fan_out = options->fan_out,
                               .agent = options->agent,
                               .ssh = options->ssh,
                               .count = count,
                               .numbers = calloc(count, sizeof(*spread->tree.numbers)),
                               .names = calloc(count, sizeof(*spread->tree.names)) };
    if (spread->hosts == NULL || spread->firsts == NULL || spread->tree.numbers == NULL ||
        spread->tree.names == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        spread->tree.numbers[i] = i;
        spread->tree.names[i] = options->hosts->entries[i].name;
    }
    return true;
}

static const char *in_child(void *ctx) { return pen_super_restore(ctx); }

static uint32_t children(const pen_supervisor *s)
{
    return pen_spread_of(s)->options->hosts->count;
}

/* Allocates the launcher's tables. Each agent makes its host's shared memory itself. */
static pen_status spread_open(pen_supervisor *s)
{
    if (spread_fill(pen_spread_of(s)))
        return PEN_OK;
    pen_log_error(&s->log, "cannot start agents on %u hosts: calloc: %m; use fewer hosts",
                  pen_spread_of(s)->options->hosts->count);
    return PEN_ERR_MEMORY;
}

/* Starts the agents. Ranks are started when all agents have answered. */
static bool spread_start(pen_supervisor *s, pen_boot *child, pen_status *status)
{
    struct pen_spread *spread = pen_spread_of(s);
    (void)child;
    *status = PEN_OK; /* failures are handled by the loop */
    spread->start_by_ns =
        pen_now_ns() + (uint64_t)(pen_spread_of(s)->options->start_timeout_s * 1e9);
    s->far_ns = spread->start_by_ns;
    spread->blobs = malloc((size_t)s->options->size * PEN_BOOT_BLOB_MAX);
    const char *call = spread->blobs == NULL ? "malloc" : NULL;
    if (call == NULL)
        call = pen_super_keep(s, "epoll_create1", epoll_create1(EPOLL_CLOEXEC), &spread->epoll);
    if (call == NULL)
        call = pen_super_watch(s->epoll, spread->epoll, PEN_SUPER_DATA(PEN_SUPER_FAR, 0));
    spread->fleet = (pen_fleet){ .host_count = spread->host_count,
                                 .epoll = spread->epoll,
                                 .in_child = in_child,
                                 .take = take,
                                 .lost = lost,
                                 .ctx = s };
    if (call == NULL)
        call = pen_fleet_open(&spread->fleet, &spread->tree);
    if (call == NULL)
        return false;
    pen_super_say(s, PEN_LOG_ERROR, "cannot start agents on %u hosts: %s: %s; use fewer hosts",
                  spread->host_count, call, strerror(errno));
    fail(s);
    return false; /* the loop ends the job */
}

/* Ends the job when the time for starting is over: names a host whose agent has not answered. */
static void too_late(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    for (uint32_t host = 0; host < spread->host_count; host++) {
        if (spread->hosts[host].greeted)
            continue;
        char why[160];
        (void)snprintf(why, sizeof(why),
                       "no agent answered within %g s; is it up? (PENSTOCK_LAUNCH_TIMEOUT)",
                       pen_spread_of(s)->options->start_timeout_s);
        lost(s, host, why);
        return;
    }
}

/* Called each round: time limit of the start, records of departed ranks, standard input. */
static void tend(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    if (!spread->launched && s->rule.verdict.decided) {
        abandon(s);
        pen_super_settle(s, pen_now_ns());
    } else if (!spread->launched && pen_now_ns() >= spread->start_by_ns) {
        too_late(s);
        pen_super_settle(s, pen_now_ns());
    }
    if (spread->launched && !spread->quitting)
        s->far_ns = pen_spread_departed_tend(s);
    pen_spread_input_tend(s);
    pen_fleet_flush(&spread->fleet);
}

/* Tells the agents to send queued records and to end. */
static void quit(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    const pen_record head = { .kind = PEN_RECORD_QUIT, .host = PEN_RECORD_ALL };
    spread->quitting = true;
    s->far_ns = pen_now_ns() + QUIT_NS;
    pen_spread_hold(s, false);
    pen_fleet_order(&spread->fleet, &head, NULL, 0);
    pen_fleet_flush(&spread->fleet);
}

static bool done(pen_supervisor *s)
{
    pen_fleet_flush(&pen_spread_of(s)->fleet);
    if (!pen_fleet_is_closed(&pen_spread_of(s)->fleet) && pen_now_ns() < s->far_ns)
        return false;
    s->far_ns = 0;
    return true;
}

/* Ends the ssh processes that still run and frees the tables. */
static void spread_close(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    pen_fleet_close(&spread->fleet);
    if (spread->epoll >= 0)
        close(spread->epoll);
    free(spread->blobs);
    free(spread->seen);
    pen_spread_departed_drop(spread);
    free(spread->hosts);
    free(spread->firsts);
    free(spread->tree.numbers);
    free(spread->tree.names);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Operations of the launcher. `look` and `dying_first` are NULL, since agents do both. */
static const pen_super_ops spread_ops = {
    .who = "run",
    .far = true,
    .children = children,
    .open = spread_open,
    .start = spread_start,
    .tend = tend,
    .far_event = far_event,
    .reaped = reaped,
    .quit = quit,
    .done = done,
    .close = spread_close,
    .word = pen_spread_word,
    .tell = pen_spread_tell,
    .fail = pen_spread_fail,
    .kill = pen_spread_kill,
    .signal = pen_spread_signal,
    .hold = pen_spread_hold,
    .host = host_of,
    .report = pen_spread_report,
    .event = pen_super_note,
    .heard = pen_super_word,
    .printed = pen_super_printed,
    .say = pen_super_line,
    .queued = pen_super_queued,
};

pen_status pen_spread_supervise(pen_log *log, const pen_supervisor_options *options,
                                const pen_spread_options *spread_options, int *status_out,
                                int *signal_out)
{
    struct pen_spread spread = { .options = spread_options, .epoll = -1 };
    pen_supervisor_options own = *options;
    own.ops = &spread_ops;
    own.ops_state = &spread;
    return pen_supervise(log, &own, status_out, signal_out, NULL);
}
