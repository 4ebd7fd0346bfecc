/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_order.c: sends orders to agents: starts the ranks, and executes the exit rule's
 * decisions. */
#include "remote/spread_internal.h"

#include "base/pack.h"
#include "boot/control.h"
#include "diag/log.h"
#include "launch/lines.h"
#include "launch/supervisor_parts.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { INPUT_LEN = 65536 };

/* ---- addresses ------------------------------------------------------------------------------- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static bool same_family(const char *a, const char *b)
{
    return (strchr(a, ':') != NULL) == (strchr(b, ':') != NULL);
}

/* Address at which peers reach a host. If ssh reached it by a loopback address, it is the
 * launcher's own host. Then another agent knows the launcher's address, from which ssh came. */
static const char *address_of(const struct pen_spread *spread, uint32_t host)
{
    const char *at = spread->hosts[host].at;
    if (!is_loopback(at))
        return at;
    for (uint32_t i = 0; i < spread->host_count; i++) {
        const char *from = spread->hosts[i].from;
        if (from[0] != '\0' && !is_loopback(from) && same_family(from, at))
            return from;
    }
    return at;
}

static bool is_set(char *const *variables, const char *name)
{
    size_t len = strlen(name);
    for (; *variables != NULL; variables++) {
        if (strncmp(*variables, name, len) == 0 && (*variables)[len] == '=')
            return (*variables)[len + 1] != '\0';
    }
    return false;
}

/* Finds the network address of each host. If one cannot be found, prints the reason and returns
 * false. */
static bool addresses_find(pen_supervisor *s, const char **out)
{
    const struct pen_spread *spread = pen_spread_of(s);
    const pen_spread_options *options = pen_spread_of(s)->options;
    bool given = is_set(options->handed, "PENSTOCK_UDP_ADDRESS") ||
                 is_set(options->handed, "GASNET_WORKERIP");
    uint32_t loopbacks = 0;
    for (uint32_t host = 0; host < spread->host_count; host++) {
        out[host] = given ? "" : address_of(spread, host);
        loopbacks += is_loopback(out[host]);
        if (given || out[host][0] != '\0')
            continue;
        pen_super_say(s, PEN_LOG_ERROR,
                      "cannot tell at which address host %s is reached: it has no SSH_CONNECTION; "
                      "name the hosts' network, such as PENSTOCK_UDP_ADDRESS=192.168.1.0/24",
                      options->hosts->entries[host].name);
        return false;
    }
    if (loopbacks == 0 || loopbacks == spread->host_count)
        return true;
    pen_super_say(s, PEN_LOG_ERROR,
                  "some hosts were reached by loopback addresses and others not: name the hosts' "
                  "network, such as PENSTOCK_UDP_ADDRESS=192.168.1.0/24");
    return false;
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool ranks_place(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    uint32_t cores[PEN_HOSTS_MAX], counts[PEN_HOSTS_MAX];
    pen_hosts_problem problem;
    for (uint32_t host = 0; host < spread->host_count; host++)
        cores[host] = spread->hosts[host].cores;
    if (!pen_hosts_place(pen_spread_of(s)->options->hosts, cores, s->options->size, counts,
                         &problem)) {
        pen_super_say(s, PEN_LOG_ERROR, "cannot place the ranks: %s", problem.text);
        return false;
    }
    for (uint32_t host = 0; host < spread->host_count; host++) {
        spread->firsts[host + 1] = spread->firsts[host] + counts[host];
        for (uint32_t i = 0; i < counts[host]; i++)
            s->ranks[spread->firsts[host] + i].host = host;
    }
    return true;
}

static bool order_send(pen_supervisor *s, const char *const *addresses)
{
    struct pen_spread *spread = pen_spread_of(s);
    const pen_spread_options *options = pen_spread_of(s)->options;
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof(folder)) == NULL) {
        pen_super_say(s, PEN_LOG_ERROR,
                      "cannot tell the folder to start in: getcwd: %s; go to one "
                      "that exists",
                      strerror(errno));
        return false;
    }
    pen_start start = { .host_count = spread->host_count,
                        .job_size = s->options->size,
                        .firsts = spread->firsts,
                        .addresses = (const char **)(uintptr_t)addresses,
                        .folder = folder,
                        .argv = (char **)(uintptr_t)s->options->argv,
                        .handed = (char **)(uintptr_t)options->handed,
                        .console = s->environment };
    start.flags = (options->bind ? PEN_START_BIND : 0u) | (s->terminal ? PEN_START_TERMINAL : 0u);
    pen_random(start.job_key, sizeof(start.job_key));
    pen_pack body = { .bytes = NULL };
    pen_start_pack(&start, &body);
    explicit_bzero(start.job_key, sizeof(start.job_key));
    bool sound = !body.failed && body.len <= PEN_RECORD_BODY_MAX;
    if (sound)
        pen_fleet_order(&spread->fleet,
                        &(pen_record){ .kind = PEN_RECORD_START, .host = PEN_RECORD_ALL },
                        body.bytes, body.len);
    else
        pen_super_say(s, PEN_LOG_ERROR,
                      "cannot start the ranks: arguments and environment are too long");
    pen_pack_free(&body);
    return sound;
}

bool pen_spread_launch(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    const char *addresses[PEN_HOSTS_MAX];
    s->environment[s->environment_count] = NULL;
    if (!ranks_place(s) || !addresses_find(s, addresses) || !order_send(s, addresses))
        return false;
    spread->launched = true;
    s->started = s->options->size;
    for (uint32_t rank = 0; rank < s->started; rank++) {
        pen_super_rank *r = &s->ranks[rank];
        char tag[16] = "";
        if (s->options->tag)
            (void)snprintf(tag, sizeof(tag), "[%u] ", rank);
        for (int i = 0; i < PEN_STREAMS; i++)
            pen_lines_init(&r->lines[i], tag);
        r->alive = true;
    }
    spread->input_wanted = true;
    return true;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void to_all(pen_supervisor *s, pen_record_kind kind, int code)
{
    const pen_record head = { .kind = (uint16_t)kind, .host = PEN_RECORD_ALL, .code = code };
    pen_fleet_order(&pen_spread_of(s)->fleet, &head, NULL, 0);
}

bool pen_spread_word(pen_supervisor *s, uint32_t rank, pen_control_kind kind, const char *what)
{
    (void)what;
    const pen_record head = {
        .kind = PEN_RECORD_WORD, .host = s->ranks[rank].host, .rank = rank, .code = (int)kind
    };
    pen_fleet_order(&pen_spread_of(s)->fleet, &head, NULL, 0);
    return true; /* a host that does not get it is lost, which is an event of its own */
}

void pen_spread_tell(pen_supervisor *s, uint32_t rank, int status, int signal)
{
    const pen_record head = {
        .kind = PEN_RECORD_TELL, .host = s->ranks[rank].host, .rank = rank, .code = status
    };
    uint32_t body = (uint32_t)signal;
    pen_fleet_order(&pen_spread_of(s)->fleet, &head, &body, sizeof(body));
}

void pen_spread_signal(pen_supervisor *s, int signal, bool from_terminal)
{
    (void)from_terminal; /* the terminal's signal has reached no rank */
    to_all(s, PEN_RECORD_SIGNAL, signal);
    pen_fleet_flush(&pen_spread_of(s)->fleet); /* this process may stop next */
}

void pen_spread_fail(pen_supervisor *s) { to_all(s, PEN_RECORD_FAIL, 0); }

void pen_spread_kill(pen_supervisor *s) { to_all(s, PEN_RECORD_KILL, 0); }

void pen_spread_hold(pen_supervisor *s, bool hold)
{
    if (pen_spread_of(s)->holding == hold)
        return;
    pen_spread_of(s)->holding = hold;
    to_all(s, PEN_RECORD_HOLD, hold ? 1 : 0);
}

/* ---- standard input -------------------------------------------------------------------------- */

static void input_watch(pen_supervisor *s, bool on)
{
    struct pen_spread *spread = pen_spread_of(s);
    if (spread->input_watched == on)
        return;
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = PEN_SPREAD_INPUT };
    int result = epoll_ctl(spread->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, STDIN_FILENO, &event);
    if (result == 0 || !on)
        spread->input_watched = on;
    else
        spread->input_is_file = true; /* a file is always readable, and epoll refuses it */
}

void pen_spread_input(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    if (!spread->input_wanted || spread->input_ended)
        return;
    char bytes[INPUT_LEN];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    const pen_record head = { .kind = PEN_RECORD_INPUT, .host = 0 };
    pen_fleet_order(&spread->fleet, &head, bytes, got > 0 ? (size_t)got : 0);
    spread->input_wanted = false;
    spread->input_ended = got <= 0;
    input_watch(s, false);
}

void pen_spread_input_tend(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    if (!spread->input_wanted || spread->input_ended || spread->quitting)
        return;
    if (!spread->input_is_file)
        input_watch(s, true);
    if (spread->input_is_file)
        pen_spread_input(s);
}
