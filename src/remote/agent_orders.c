/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_orders.c: executes the launcher's orders. */
#include "remote/agent_internal.h"

#include "boot/departed.h"

#include "base/pack.h"
#include "base/status.h"
#include "boot/arena.h"
#include "boot/boot.h"
#include "boot/control.h"
#include "boot/host_page.h"
#include "boot/knobs.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "launch/supervisor_parts.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- starting -------------------------------------------------------------------------------- */

static bool variables_set(struct pen_agent *agent)
{
    for (char **entry = agent->start.handed; *entry != NULL; entry++) {
        char *equals = strchr(*entry, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        bool set = pen_knob_to_process(*entry, equals + 1);
        *equals = '=';
        if (!set)
            return false;
    }
    const char *address = agent->start.addresses[agent->host];
    return address[0] == '\0' || pen_knob_to_process("PENSTOCK_UDP_ADDRESS", address);
}

static bool beat_set(struct pen_agent *agent)
{
    pen_launch_config config = { .beat = 0 };
    if (pen_knob_read(agent->log, pen_launch_knobs, &config, NULL, NULL) != PEN_OK)
        return false;
    agent->beat_every_ns = (uint64_t)(config.beat * 1e9);
    agent->beat_ns = 0;
    return true;
}

/* Takes START. If it returns false, it has printed the reason, and the agent ends, which the
 * launcher notices. */
static bool start_take(struct pen_agent *agent, const pen_record *record, const char *body)
{
    if (agent->started)
        return false;
    pen_pack_bytes(&agent->start_body, body, record->body_len);
    if (agent->start_body.failed ||
        !pen_start_unpack(agent->start_body.bytes, agent->start_body.len, &agent->start) ||
        !agent->planted || agent->start.host_count != agent->fleet.host_count) {
        pen_log_error(agent->log, "cannot start ranks: the launcher's order is not understood; are "
                                  "both of one build?");
        return false;
    }
    explicit_bzero(agent->start_body.bytes + agent->start.job_key_off,
                   sizeof(agent->start.job_key));
    if (chdir(agent->start.folder) != 0) {
        pen_log_error(agent->log,
                      "cannot start ranks on host %s in %s: chdir: %m; start from a "
                      "folder that all hosts have",
                      agent->log->host, agent->start.folder);
        return false;
    }
    if (!variables_set(agent)) {
        pen_log_error(agent->log, "cannot start ranks: setenv: %m; set fewer variables");
        return false;
    }
    agent->started = beat_set(agent);
    return agent->started;
}

pen_status pen_agent_arena(pen_supervisor *s)
{
    struct pen_agent *agent = pen_agent_of(s);
    pen_start *start = &agent->start;
    const pen_arena_part part = { .ranks = s->options->size,
                                  .job_size = start->job_size,
                                  .host_i = agent->host,
                                  .host_count = start->host_count,
                                  .firsts = start->firsts,
                                  .job_key = start->job_key };
    uint32_t flags = (start->flags & PEN_START_TERMINAL) != 0 ? PEN_HOST_FLAG_TERMINAL : 0;
    pen_status status =
        pen_arena_create_part(&s->log, &part, s->options->needs, start->console, flags, &s->arena);
    if (status == PEN_OK)
        s->page = (pen_host_page *)(void *)s->arena.base;
    explicit_bzero(start->job_key, sizeof(start->job_key));
    return status;
}

/* ---- standard input -------------------------------------------------------------------------- */

/* Opens a pipe for the standard input of rank 0. On hosts without rank 0 all ranks read
 * /dev/null. */
bool pen_agent_input_open(pen_supervisor *s)
{
    struct pen_agent *agent = pen_agent_of(s);
    int pair[2];
    s->input_fd = s->null_fd;
    if (s->first != 0)
        return true;
    const char *call = pipe2(pair, O_CLOEXEC) == 0 ? NULL : "pipe2";
    if (call == NULL)
        call = pen_super_keep(s, "pipe2", pair[0], &s->input_fd);
    if (call == NULL)
        call = pen_super_keep(s, "pipe2", pair[1], &agent->input_fd);
    if (call == NULL && fcntl(agent->input_fd, F_SETFL, O_NONBLOCK) != 0)
        call = "fcntl";
    if (call != NULL)
        pen_log_error(agent->log, "cannot start ranks: %s: %m; use fewer ranks", call);
    return call == NULL;
}

static void input_watch(struct pen_agent *agent, bool on)
{
    if (agent->input_watched == on)
        return;
    struct epoll_event event = { .events = EPOLLOUT, .data.u64 = PEN_AGENT_INPUT };
    (void)epoll_ctl(agent->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, agent->input_fd, &event);
    agent->input_watched = on;
}

static void input_close(struct pen_agent *agent)
{
    if (agent->input_fd < 0)
        return;
    input_watch(agent, false);
    close(agent->input_fd);
    agent->input_fd = -1;
}

void pen_agent_input(struct pen_agent *agent)
{
    while (agent->input_fd >= 0 && agent->input_done < agent->input.len) {
        ssize_t written = write(agent->input_fd, agent->input.bytes + agent->input_done,
                                agent->input.len - agent->input_done);
        if (written >= 0) {
            agent->input_done += (size_t)written;
        } else if (errno == EAGAIN) {
            input_watch(agent, true);
            return;
        } else if (errno != EINTR) {
            input_close(agent); /* rank 0 has closed its input */
        }
    }
    if (agent->input_fd >= 0)
        input_watch(agent, false);
    agent->input.len = agent->input_done = 0;
    pen_agent_taken(agent);
}

static void input_take(struct pen_agent *agent, const char *body, size_t len)
{
    if (agent->input.len != 0) /* the launcher sent it unasked */
        return;
    if (len == 0) {
        input_close(agent);
        return;
    }
    pen_pack_bytes(&agent->input, body, len);
    pen_agent_input(agent);
}

/* ---- the ranks ------------------------------------------------------------------------------- */

char *pen_agent_exchange(pen_supervisor *s, int code)
{
    size_t area_len = (size_t)s->page->job_size * PEN_BOOT_BLOB_MAX;
    return s->arena.base + s->page->exchange_off + (size_t)(code & 1) * area_len;
}

static void met(pen_supervisor *s, const pen_record *record, const char *body)
{
    size_t len = record->code < 0 ? SIZE_MAX : (size_t)(record->code >> 1);
    if (len > PEN_BOOT_BLOB_MAX || record->body_len != len * s->page->job_size)
        return;
    char *area = pen_agent_exchange(s, record->code);
    for (uint32_t rank = 0; rank < s->page->job_size; rank++)
        memcpy(area + (size_t)rank * PEN_BOOT_BLOB_MAX, body + rank * len, len);
    /* release: pairs with the acquire in pen_boot_arrived */
    atomic_fetch_add_explicit(&s->page->boot_generation, 1, memory_order_acq_rel);
    pen_futex_wake(&s->page->boot_generation, INT_MAX);
}

static void tell(pen_supervisor *s, const pen_record *record, uint32_t rank, const char *body)
{
    pen_unpack from = { body, body + record->body_len, false };
    int signal = (int)pen_unpack_u32(&from);
    if (!from.failed)
        s->ops->tell(s, rank, record->code, signal);
}

static void order_of_ranks(pen_supervisor *s, const pen_record *record, const char *body)
{
    uint32_t rank = record->rank - s->first; /* wraps if the rank is below first */
    switch (record->kind) {
    case PEN_RECORD_WORD:
        if (rank < s->started)
            (void)s->ops->word(s, rank, (pen_control_kind)record->code,
                               "the message of the launcher");
        break;
    case PEN_RECORD_TELL:
        if (rank < s->started)
            tell(s, record, rank, body);
        break;
    case PEN_RECORD_SIGNAL:
        s->ops->signal(s, record->code, false);
        break;
    case PEN_RECORD_FAIL:
        s->ops->fail(s);
        break;
    case PEN_RECORD_KILL:
        pen_super_kill(s);
        s->kill_ns = 0; /* the launcher watches the time */
        break;
    case PEN_RECORD_MET:
        met(s, record, body);
        break;
    case PEN_RECORD_REPORT:
        s->ops->report(s);
        break;
    case PEN_RECORD_GONE:
        pen_departed_take(s->page, record->rank, body, record->body_len);
        break;
    case PEN_RECORD_INPUT:
        input_take(pen_agent_of(s), body, record->body_len);
        break;
    default:
        break;
    }
}

static bool is_for_others(const struct pen_agent *agent, const pen_record *record)
{
    return agent->planted && (record->host == PEN_RECORD_ALL || record->host != agent->host);
}

static bool is_for_us(const struct pen_agent *agent, const pen_record *record)
{
    return record->host == PEN_RECORD_ALL || !agent->planted || record->host == agent->host;
}

void pen_agent_order(struct pen_agent *agent, const pen_record *record, const char *body)
{
    bool done = true;
    if (is_for_others(agent, record))
        pen_fleet_order(&agent->fleet, record, body, record->body_len);
    if (!is_for_us(agent, record))
        return;
    switch (record->kind) {
    case PEN_RECORD_TREE:
        done = pen_agent_plant(agent, record, body);
        break;
    case PEN_RECORD_START:
        done = start_take(agent, record, body);
        break;
    case PEN_RECORD_HOLD:
        agent->hold = record->code != 0;
        break;
    case PEN_RECORD_QUIT:
        agent->quit = true;
        break;
    default:
        if (agent->s != NULL)
            order_of_ranks(agent->s, record, body);
        break;
    }
    agent->gone = agent->gone || !done;
}
