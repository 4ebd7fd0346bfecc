/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_trace.c: drains the trace of this host's ranks into a file, from the supervisor's
 * loop. */
#include "launch/supervisor_parts.h"

#include "base/status.h"
#include "boot/host_page.h"
#include "diag/log.h"
#include "os/os.h"
#include "trace/collect.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each host of a job on several has a file of its own. The number of the host stands in place of
 * the first % in the name, or at its end. */
static int create(pen_supervisor *s, const char *path)
{
    char name[PATH_MAX];
    const size_t before = strcspn(path, "%");
    if (path[before] == '%')
        (void)snprintf(name, sizeof name, "%.*s%u%s", (int)before, path, s->page->host_i,
                       path + before + 1);
    else if (s->page->host_count > 1)
        (void)snprintf(name, sizeof name, "%s.%u", path, s->page->host_i);
    else
        (void)snprintf(name, sizeof name, "%s", path);
    return pen_trace_create(&s->log, name);
}

pen_status pen_super_trace_open(pen_supervisor *s, const char *path)
{
    const pen_host_page *page = s->page;
    if (page->trace_len == 0)
        return PEN_OK;
    int fd = create(s, path);
    if (fd < 0)
        return PEN_ERR_ARGUMENT;
    const char *call = pen_super_keep(s, "fcntl", fd, &s->trace_fd);
    if (call != NULL) {
        pen_log_error(&s->log, "cannot write the trace %s: %s: %m; raise the limit of open files",
                      path, call);
        return PEN_ERR_RESOURCE;
    }
    const pen_collector_params params = { .host = s->log.host,
                                          .host_i = page->host_i,
                                          .first = page->first,
                                          .size = page->size,
                                          .job_size = page->job_size,
                                          .host_count = page->host_count,
                                          .rings = s->arena.base + page->trace_off,
                                          .stride = page->trace_stride,
                                          .ring_len = page->trace_len,
                                          .sink = pen_trace_sink_file,
                                          .sink_ctx = &s->trace_fd };
    (void)pen_trace_write_head(params.sink, params.sink_ctx, page->job_size, page->host_count);
    s->collector = pen_collector_open(&s->log, &params);
    s->trace_ns = pen_now_ns();
    return s->collector != NULL ? PEN_OK : PEN_ERR_MEMORY;
}

void pen_super_trace_tend(pen_supervisor *s, uint64_t now_ns)
{
    if (s->collector != NULL && now_ns >= s->trace_ns)
        s->trace_ns = now_ns + pen_collector_drain(s->collector);
}

void pen_super_trace_close(pen_supervisor *s, bool forked)
{
    if (s->collector != NULL)
        pen_collector_close(s->collector, !forked);
    s->collector = NULL;
    if (s->trace_fd >= 0)
        close(s->trace_fd);
    s->trace_fd = -1;
}
