/* SPDX-License-Identifier: BSD-3-Clause */
/* fleet.c: starts agents over ssh, and exchanges records with them. */
#include "remote/fleet.h"

#include "base/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SSH_WORDS_MAX = 64, DYING_WAIT_MS = 1000, FILLS_MAX = 16, SSH_FAILED = 255, NO_FILE = 127 };

/* ---- trees ----------------------------------------------------------------------------------- */

void pen_tree_pack(const pen_tree *tree, pen_pack *out)
{
    pen_pack_u32(out, tree->fan_out);
    pen_pack_text(out, tree->agent);
    pen_pack_texts(out, tree->ssh);
    pen_pack_u32(out, tree->count);
    for (uint32_t i = 0; i < tree->count; i++) {
        pen_pack_u32(out, tree->numbers[i]);
        pen_pack_text(out, tree->names[i]);
    }
}

bool pen_tree_unpack(pen_unpack *from, uint32_t host_count_max, pen_tree *out)
{
    *out = (pen_tree){ .fan_out = pen_unpack_u32(from) };
    out->agent = pen_unpack_text(from);
    out->ssh = pen_unpack_texts(from);
    uint32_t count = pen_unpack_u32(from);
    if (from->failed || count > host_count_max || out->fan_out == 0 || out->ssh[0] == NULL) {
        pen_tree_free(out);
        return false;
    }
    out->numbers = calloc((size_t)count + 1, sizeof(*out->numbers));
    out->names = calloc((size_t)count + 1, sizeof(*out->names));
    bool sound = out->numbers != NULL && out->names != NULL;
    for (uint32_t i = 0; sound && i < count; i++) {
        out->numbers[i] = pen_unpack_u32(from);
        out->names[i] = pen_unpack_text(from);
        sound = out->numbers[i] < host_count_max && !from->failed && out->names[i][0] != '-';
    }
    out->count = count;
    if (!sound)
        pen_tree_free(out);
    return sound;
}

void pen_tree_free(pen_tree *tree)
{
    free((void *)(uintptr_t)tree->ssh);
    free(tree->numbers);
    free(tree->names);
    *tree = (pen_tree){ .count = 0 };
}

/* ---- starting -------------------------------------------------------------------------------- */

typedef struct ends { /* ssh's ends of its socket and pipe */
    int talk, said;
} ends;

/* Runs ssh in a session of its own. So Ctrl-C reaches this process only, which passes it on, and
 * ssh cannot ask for passwords on a terminal. Returns the call that failed. */
static const char *child_run(const pen_fleet *fleet, const ends *theirs, char *const *words,
                             pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM, 0L, 0L, 0L) != 0)
        return "prctl";
    if (getppid() != parent)
        return "getppid";
    (void)setsid();
    if (dup2(theirs->talk, STDIN_FILENO) < 0 || dup2(theirs->talk, STDOUT_FILENO) < 0 ||
        dup2(theirs->said, STDERR_FILENO) < 0)
        return "dup2";
    const char *call = fleet->in_child != NULL ? fleet->in_child(fleet->ctx) : NULL;
    if (call != NULL)
        return call;
    execvp(words[0], words);
    return "execvp";
}

static pid_t ssh_start(const pen_fleet *fleet, const pen_tree *tree, const char *name,
                       const ends *theirs)
{
    char *words[SSH_WORDS_MAX + 4];
    size_t count = 0;
    char agent[] = "agent";
    while (tree->ssh[count] != NULL && count < SSH_WORDS_MAX) {
        words[count] = tree->ssh[count];
        count++;
    }
    words[count++] = (char *)(uintptr_t)name;
    words[count++] = (char *)(uintptr_t)tree->agent;
    words[count++] = agent;
    words[count] = NULL;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        const char *call = child_run(fleet, theirs, words, parent);
        (void)dprintf(STDERR_FILENO, "cannot run %s: %s: %s\n", words[0], call, strerror(errno));
        _exit(errno == ENOENT ? NO_FILE : 126);
    }
    return pid;
}

static const char *watch(const pen_fleet *fleet, int fd, uint32_t which)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = fleet->source | which };
    return epoll_ctl(fleet->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? NULL : "epoll_ctl";
}

static const char *child_open(pen_fleet *fleet, const pen_tree *tree, uint32_t child_i,
                              uint32_t host_i)
{
    pen_fleet_child *child = &fleet->children[child_i];
    int pair[2], said[2];
    *child = (pen_fleet_child){
        .host = tree->numbers[host_i], .name = tree->names[host_i], .status = -1, .said_fd = -1
    };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return "socketpair";
    if (pipe2(said, O_CLOEXEC) != 0) {
        close(pair[0]);
        close(pair[1]);
        return "pipe2";
    }
    pen_channel_open(&child->channel, pair[0], pair[0], false);
    child->said_fd = said[0];
    const char *call = NULL;
    child->pid = ssh_start(fleet, tree, child->name, &(ends){ pair[1], said[1] });
    if (child->pid < 0) {
        child->pid = 0;
        call = "fork";
    }
    close(pair[1]);
    close(said[1]);
    if (call == NULL &&
        (fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(said[0], F_SETFL, O_NONBLOCK) != 0))
        call = "fcntl";
    if (call == NULL)
        call = watch(fleet, pair[0], 2 * child_i);
    return call == NULL ? watch(fleet, said[0], 2 * child_i + 1) : call;
}

/* Sends a child its TREE record. The child runs on the first host of the range and starts agents on
 * the remaining hosts. */
static void hand_down(pen_fleet *fleet, const pen_tree *tree, uint32_t child_i, uint32_t first,
                      uint32_t end)
{
    pen_tree below = *tree;
    below.count = end - first - 1;
    below.numbers = tree->numbers + first + 1;
    below.names = tree->names + first + 1;
    pen_pack body = { .bytes = NULL };
    pen_pack_u32(&body, fleet->host_count);
    pen_tree_pack(&below, &body);
    for (uint32_t i = first; i < end; i++)
        fleet->way[tree->numbers[i]] = child_i;
    pen_record head = { .kind = PEN_RECORD_TREE, .host = tree->numbers[first] };
    fleet->children[child_i].channel.failed |= body.failed;
    pen_channel_put(&fleet->children[child_i].channel, &head, body.bytes, body.len);
    pen_pack_free(&body);
}

const char *pen_fleet_open(pen_fleet *fleet, const pen_tree *tree)
{
    uint32_t count = tree->count < tree->fan_out ? tree->count : tree->fan_out;
    fleet->children = calloc((size_t)count + 1, sizeof(*fleet->children));
    fleet->way = calloc((size_t)fleet->host_count + 1, sizeof(*fleet->way));
    if (fleet->children == NULL || fleet->way == NULL)
        return "calloc";
    for (uint32_t i = 0; i < fleet->host_count; i++)
        fleet->way[i] = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = (uint32_t)((uint64_t)i * tree->count / count);
        uint32_t end = (uint32_t)((uint64_t)(i + 1) * tree->count / count);
        fleet->count++;
        const char *call = child_open(fleet, tree, i, first);
        if (call != NULL)
            return call;
        hand_down(fleet, tree, i, first, end);
    }
    pen_fleet_flush(fleet);
    return NULL;
}

/* ---- orders ---------------------------------------------------------------------------------- */

void pen_fleet_order(pen_fleet *fleet, const pen_record *head, const void *body, size_t body_len)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        bool wanted = head->host == PEN_RECORD_ALL ||
                      (head->host < fleet->host_count && fleet->way[head->host] == i);
        if (wanted && !fleet->children[i].closed)
            pen_channel_put(&fleet->children[i].channel, head, body, body_len);
    }
}

static void writing_set(pen_fleet *fleet, uint32_t child_i, bool on)
{
    pen_fleet_child *child = &fleet->children[child_i];
    if (child->writing == on)
        return;
    struct epoll_event event = { .events = on ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                 .data.u64 = fleet->source | 2 * (uint64_t)child_i };
    if (epoll_ctl(fleet->epoll, EPOLL_CTL_MOD, child->channel.in, &event) == 0)
        child->writing = on;
}

void pen_fleet_flush(pen_fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        pen_fleet_child *child = &fleet->children[i];
        if (child->closed)
            continue;
        (void)pen_channel_flush(&child->channel); /* a closed channel is noticed by reading */
        writing_set(fleet, i, pen_channel_queued(&child->channel) != 0);
    }
}

/* ---- records from agents --------------------------------------------------------------------- */

/* Keeps the last non-empty line that ssh printed. */
static void said_take(pen_fleet_child *child, const char *text, size_t len)
{
    bool line_ended = child->said_len != 0 && child->said[child->said_len] == '\n';
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n' || text[i] == '\r') {
            line_ended = true;
            continue;
        }
        if (line_ended)
            child->said_len = 0;
        line_ended = false;
        if (child->said_len < sizeof(child->said) - 1)
            child->said[child->said_len++] = text[i];
    }
    child->said[child->said_len] = line_ended ? '\n' : '\0';
}

static void said_read(pen_fleet *fleet, pen_fleet_child *child)
{
    char text[1024];
    ssize_t got;
    while (child->said_fd >= 0 && (got = read(child->said_fd, text, sizeof(text))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return;
        said_take(child, text, (size_t)got);
    }
    if (child->said_fd >= 0) {
        (void)epoll_ctl(fleet->epoll, EPOLL_CTL_DEL, child->said_fd, NULL);
        close(child->said_fd);
        child->said_fd = -1;
    }
}

static void wait_for(pen_fleet_child *child)
{
    if (child->pid == 0)
        return;
    int fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (fd >= 0) {
        struct pollfd dead = { .fd = fd, .events = POLLIN };
        (void)poll(&dead, 1, DYING_WAIT_MS);
        close(fd);
    }
    int status;
    if (waitpid(child->pid, &status, WNOHANG) == child->pid) {
        child->pid = 0;
        child->status = status;
    }
}

/* Exit status of ssh; -1: ended by a signal, or still running. */
static int status_of(const pen_fleet_child *child)
{
    return child->status >= 0 && WIFEXITED(child->status) ? WEXITSTATUS(child->status) : -1;
}

static void why_of(const pen_fleet_child *child, char *out, size_t out_len)
{
    char said[sizeof(child->said)];
    (void)snprintf(said, sizeof(said), "%.*s", (int)child->said_len, child->said);
    const char *mark = said[0] != '\0' ? ": " : "";
    int status = status_of(child);
    if (child->channel.failed && child->channel.begun)
        (void)snprintf(out, out_len, "its agent sent what is no record; are both of one build?");
    else if (!child->greeted && status == NO_FILE)
        (void)snprintf(out, out_len,
                       "status 127%s%s; install Penstock there in the same place, or name its "
                       "folder in GASNET_SSH_REMOTE_PATH",
                       mark, said);
    else if (!child->greeted)
        (void)snprintf(out, out_len,
                       "no agent answered%s%s; does `ssh %s true` work without a "
                       "password?",
                       mark, said, child->name);
    else if (status > 0 && status != SSH_FAILED)
        (void)snprintf(out, out_len, "its agent ended with status %d%s%s", status, mark, said);
    else
        (void)snprintf(out, out_len, "the connection to its agent ended%s%s", mark, said);
}

static void child_lost(pen_fleet *fleet, pen_fleet_child *child)
{
    char why[480];
    (void)epoll_ctl(fleet->epoll, EPOLL_CTL_DEL, child->channel.in, NULL);
    bool failed = child->channel.failed, begun = child->channel.begun;
    pen_channel_close(&child->channel);
    child->channel.failed = failed;
    child->channel.begun = begun;
    child->closed = true;
    fleet->closed_count++;
    wait_for(child);
    said_read(fleet, child);
    why_of(child, why, sizeof(why));
    uint32_t child_i = fleet->way[child->host];
    fleet->lost(fleet->ctx, child->host, why);
    (void)snprintf(why, sizeof(why), "it was reached by way of host %s, which is lost",
                   child->name);
    for (uint32_t host = 0; host < fleet->host_count; host++) {
        if (fleet->way[host] == child_i && host != child->host)
            fleet->lost(fleet->ctx, host, why);
    }
}

/* True if records about this host may come from this child: about its own host, or a host below
 * it. */
static bool speaks_for(const pen_fleet *fleet, uint32_t child_i, uint32_t host)
{
    return host < fleet->host_count && fleet->way[host] == child_i;
}

void pen_fleet_event(pen_fleet *fleet, uint32_t which)
{
    uint32_t child_i = which / 2;
    if (child_i >= fleet->count)
        return;
    pen_fleet_child *child = &fleet->children[child_i];
    if (which % 2 != 0) {
        said_read(fleet, child);
        return;
    }
    bool there = !child->closed;
    for (int i = 0; there && i < FILLS_MAX; i++) {
        size_t before = child->channel.buffer_end;
        there = pen_channel_fill(&child->channel);
        bool some = child->channel.buffer_end != before;
        pen_record record;
        const char *body;
        while (!child->closed && pen_channel_next(&child->channel, &record, &body)) {
            child->greeted = true;
            if (speaks_for(fleet, child_i, record.host))
                fleet->take(fleet->ctx, &record, body);
        }
        if (!some)
            break;
    }
    if (!child->closed && (!there || child->channel.failed))
        child_lost(fleet, child);
}

bool pen_fleet_reaped(pen_fleet *fleet, pid_t pid, int wait_status)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        if (fleet->children[i].pid == pid) {
            fleet->children[i].pid = 0;
            fleet->children[i].status = wait_status;
            return true;
        }
    }
    return false;
}

void pen_fleet_close(pen_fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        pen_fleet_child *child = &fleet->children[i];
        if (child->pid != 0)
            (void)kill(child->pid, SIGKILL);
        if (!child->closed)
            pen_channel_close(&child->channel);
        if (child->said_fd >= 0)
            close(child->said_fd);
    }
    free(fleet->children);
    free(fleet->way);
    fleet->children = NULL;
    fleet->way = NULL;
    fleet->count = fleet->closed_count = 0;
}
