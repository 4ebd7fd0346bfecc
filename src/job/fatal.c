/* SPDX-License-Identifier: BSD-3-Clause */
/* fatal.c: ending a job that cannot continue, and printing the counters at any end. */
#include "job/fatal.h"
#include "job/job.h"

#include "boot/boot.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "pen_config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FATAL_LINE_LEN_MAX = 512, COUNTERS_LEN_MAX = 1024, PEER_LINES_MAX = 64 };

void pen_job_fatal(pen_job *job, const char *format, ...)
{
    char cause[FATAL_LINE_LEN_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    /* relaxed: see host_peer_lost in job_host.c; the flag publishes no other data */
    atomic_store_explicit(&job->ending, true, memory_order_relaxed);
    pen_log_error(&job->log, "%s", cause);
    if (job->on_fatal != NULL) /* before the supervisor reads the note and ends all ranks */
        job->on_fatal(job);
    pen_boot_abort_note(&job->boot, cause);
    if (PEN_CHECKED)
        abort(); /* a stack for the debugger, which the crash handlers print */
    pen_boot_exit_job(&job->boot, EXIT_FAILURE);
    /* If this call hangs, the supervisor kills the process; without a supervisor, the user does. */
    (void)fflush(NULL);
    _exit(EXIT_FAILURE);
}

typedef struct counters_line {
    char text[COUNTERS_LEN_MAX];
    int len; /* negative: it failed */
} counters_line;

static void line_add(counters_line *line, const char *name, uint64_t value)
{
    if (line->len > 0 && (size_t)line->len < sizeof line->text)
        line->len += snprintf(line->text + line->len, sizeof line->text - (size_t)line->len,
                              " %s=%" PRIu64, name, value);
}

/* One write, so that lines of several ranks do not mix. */
static void line_write(counters_line *line, int fd)
{
    if (line->len < 0 || fd < 0)
        return;
    if ((size_t)line->len > sizeof line->text - 2)
        line->len = sizeof line->text - 2;
    line->text[line->len++] = '\n';
    if (write(fd, line->text, (size_t)line->len) < 0)
        return; /* no channel is left for a report */
}

/* Returns false if the link has no counts for this peer, or if all are zero. */
static bool print_peer(const pen_job *job, pen_link *link, pen_peer peer, int fd)
{
    pen_peer_counters counters;
    counters_line line;
    if (!link->count->peer(link, peer, &counters) ||
        (counters.packets_sent == 0 && counters.packets_received == 0))
        return false;
    line.len = snprintf(line.text, sizeof line.text, "penstock[rank %" PRIu32 "] peer %" PRIu32 ":",
                        job->rank, peer);
#define FATAL_PEER_COUNTER(name, text) line_add(&line, #name, counters.name);
    PEN_PEER_COUNTER_LIST(FATAL_PEER_COUNTER)
#undef FATAL_PEER_COUNTER
    line_write(&line, fd);
    return true;
}

static void print_peers(const pen_job *job, int fd)
{
    pen_link *link = job->progress.port_count == 0 ? NULL : job->progress.ports[0].link;
    unsigned lines = 0;
    for (uint32_t peer = 0; link != NULL && link->count != NULL && peer < job->size; peer++)
        if (lines < PEER_LINES_MAX && print_peer(job, link, peer, fd))
            lines++;
}

/* The descriptor that counters go to: that of the log if the user's file cannot be opened. */
static int open_stats(pen_job *job)
{
    const char *wanted = job->config.stats_file;
    char name[PATH_MAX];
    if (wanted == NULL || wanted[0] == '\0' || strcmp(wanted, "-") == 0 ||
        strcmp(wanted, "stderr") == 0)
        return job->log.fd;
    if (strcmp(wanted, "stdout") == 0)
        return STDOUT_FILENO;
    const size_t before = strcspn(wanted, "%");
    if (wanted[before] == '%')
        (void)snprintf(name, sizeof name, "%.*s%" PRIu32 "%s", (int)before, wanted, job->rank,
                       wanted + before + 1);
    else
        (void)snprintf(name, sizeof name, "%s", wanted);
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    pen_log_warn(
        &job->log,
        "the counters go here, since the file of GASNET_STATSFILE cannot be written: open: "
        "%m; set it to a file in a folder that exists instead of %.200s",
        name);
    return job->log.fd;
}

void pen_job_print_counters(pen_job *job)
{
    counters_line line;
    line.len =
        snprintf(line.text, sizeof line.text, "penstock[rank %" PRIu32 "] counters:", job->rank);
#define FATAL_COUNTER(name, text) \
    if (job->counters.name != 0)  \
        line_add(&line, #name, job->counters.name);
    PEN_COUNTER_LIST(FATAL_COUNTER)
#undef FATAL_COUNTER
    int fd = open_stats(job);
    line_write(&line, fd);
    print_peers(job, fd);
    if (fd > STDERR_FILENO && fd != job->log.fd)
        (void)close(fd);
}
