/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_open.c: prepares the supervisor before the first rank starts: descriptors, signals,
 * limits, the arena and the ranks' environment. */
#include "launch/supervisor_parts.h"

#include "base/compiler.h"
#include "base/status.h"
#include "boot/knobs.h"
#include "boot/remedy.h"
#include "diag/log.h"
#include "os/os.h"
#include "os/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    FDS_PER_RANK = 3,
    FDS_OWN = 24, /* the supervisor's descriptors that do not depend on the number of ranks */
    FDS_GAP = 16, /* free numbers below them, for descriptors that a rank inherits */
};

const char *pen_super_keep(const pen_supervisor *s, const char *call, int fd, int *out)
{
    *out = -1;
    if (fd < 0)
        return call;
    *out = fcntl(fd, F_DUPFD_CLOEXEC, s->fd_base);
    int error = errno;
    close(fd);
    errno = error;
    return *out < 0 ? "fcntl" : NULL;
}

/* Fills missing descriptors 0, 1 and 2, which the next opened file would take otherwise. Writing to
 * the stand-in fails as on a missing descriptor. */
static void stdio_complete(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", O_RDONLY);
    }
}

static int highest_fd(void)
{
    int highest = 2;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 255;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd > highest)
            highest = fd;
    }
    closedir(folder);
    return highest;
}

static pen_status limit_files(pen_supervisor *s)
{
    struct rlimit limit = s->files_before;
    rlim_t need = (rlim_t)s->fd_base + FDS_PER_RANK * (rlim_t)s->ops->children(s) + FDS_OWN;
    if (limit.rlim_cur >= need)
        return PEN_OK;
    limit.rlim_cur = need;
    if (limit.rlim_max < need)
        limit.rlim_max = need; /* root may raise the limit */
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return PEN_OK;
    pen_log_error(
        &s->log,
        "cannot start %u ranks: they need %llu open files here and the limit "
        "(RLIMIT_NOFILE) is %llu: setrlimit: %m; raise it with `ulimit -n %llu`, or use fewer "
        "ranks",
        s->options->size, (unsigned long long)need, (unsigned long long)s->files_before.rlim_max,
        (unsigned long long)need);
    return PEN_ERR_RESOURCE;
}

/* ---- environment ---------------------------------------------------------------------------- */

static const char *const own_names[] = { "PENSTOCK_RANK", "PENSTOCK_SIZE", "PENSTOCK_CONTROL_FD",
                                         "PENSTOCK_ARENA_FD" };

static bool entry_is(const char *entry, const char *name, size_t name_len)
{
    return strncmp(entry, name, name_len) == 0 && entry[name_len] == '=';
}

static bool is_own(const char *entry)
{
    for (size_t i = 0; i < sizeof(own_names) / sizeof(own_names[0]); i++) {
        if (entry_is(entry, own_names[i], strlen(own_names[i])))
            return true;
    }
    return false;
}

static const char *environment_make(pen_supervisor *s)
{
    size_t count = sizeof(own_names) / sizeof(own_names[0]) + 1;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        count++;
    s->environment = calloc(count, sizeof(*s->environment));
    if (s->environment == NULL)
        return "calloc";
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (!is_own(*entry))
            s->environment[s->environment_count++] = *entry;
    }
    return NULL;
}

/* ---- descriptors and signals ----------------------------------------------------------------- */

static const char *signals_open(pen_supervisor *s)
{
    sigset_t own;
    sigemptyset(&own);
    const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCHLD };
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&own, signals[i]);
    sigset_t blocked = own;
    sigaddset(&blocked, SIGPIPE); /* errno of write reports the same */
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    if (sigaction(SIGCHLD, NULL, &s->child_before) != 0)
        return "sigaction";
    if ((errno = pthread_sigmask(SIG_BLOCK, &blocked, &s->mask_before)) != 0)
        return "pthread_sigmask";
    s->signals_taken = true;
    if (sigaction(SIGCHLD, &plain, NULL) != 0) /* if it were ignored, waitpid would find no child */
        return "sigaction";
    return pen_super_keep(s, "signalfd", signalfd(-1, &own, SFD_CLOEXEC | SFD_NONBLOCK),
                          &s->signal_fd);
}

static const char *words_open(pen_supervisor *s)
{
    int words[2];
    if (pipe2(words, O_CLOEXEC | O_NONBLOCK) != 0)
        return "pipe2";
    const char *reading = pen_super_keep(s, "pipe2", words[0], &s->words[0]);
    const char *writing = pen_super_keep(s, "pipe2", words[1], &s->words[1]);
    return reading != NULL ? reading : writing;
}

static const char *descriptors_open(pen_supervisor *s)
{
    const char *call = pen_super_keep(s, "epoll_create1", epoll_create1(EPOLL_CLOEXEC), &s->epoll);
    if (call == NULL)
        call = pen_super_keep(s, "epoll_create1", epoll_create1(EPOLL_CLOEXEC), &s->streams_epoll);
    if (call == NULL)
        call = pen_super_keep(s, "/dev/null: open", open("/dev/null", O_RDONLY | O_CLOEXEC),
                              &s->null_fd);
    if (call == NULL)
        call = words_open(s);
    if (call == NULL)
        call = pen_super_watch(s->epoll, s->signal_fd, PEN_SUPER_DATA(PEN_SUPER_SIGNALS, 0));
    if (call == NULL)
        call = pen_super_watch(s->epoll, s->streams_epoll, PEN_SUPER_DATA(PEN_SUPER_STREAMS, 0));
    return call;
}

static const char *outputs_open(pen_supervisor *s)
{
    for (int i = 0; i < PEN_STREAMS; i++) {
        int fd = i == PEN_STREAM_OUT ? STDOUT_FILENO : STDERR_FILENO;
        pen_output_open(&s->outputs[i], fd);
        s->to[i] = &s->outputs[i];
        const char *call = NULL;
        if (s->outputs[i].own)
            call = pen_super_keep(s, "open", s->outputs[i].fd, &s->outputs[i].fd);
        if (call != NULL)
            return call;
        s->inherit[i] = s->options->size == 1 && !s->options->tag && isatty(fd);
    }
    if (pen_output_same(STDOUT_FILENO, STDERR_FILENO))
        s->to[PEN_STREAM_ERR] = &s->outputs[PEN_STREAM_OUT];
    s->terminal = isatty(STDOUT_FILENO);
    return NULL;
}

static const char *memory_open(pen_supervisor *s)
{
    uint32_t size = s->options->size;
    s->ranks = calloc(size, sizeof(*s->ranks));
    if (s->ranks == NULL)
        return "calloc";
    for (uint32_t rank = 0; rank < size; rank++) {
        pen_super_rank *r = &s->ranks[rank];
        r->control = r->stream[PEN_STREAM_OUT] = r->stream[PEN_STREAM_ERR] = -1;
    }
    const size_t rank_events_max = PEN_SUPER_MESSAGES_MAX + 1; /* before its death, and the death */
    s->events_max = 2 * rank_events_max * size + 64;
    if ((s->exit_ranks = calloc(size, sizeof(*s->exit_ranks))) == NULL ||
        (s->events = calloc(s->events_max, sizeof(*s->events))) == NULL)
        return "calloc";
    const char *call;
    s->spared = pen_children(getpid(), &call);
    return s->spared != NULL ? environment_make(s) : call;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static PEN_COLD pen_status complain(pen_supervisor *s, const char *call)
{
    int error = errno;
    pen_log_error(&s->log, "cannot start %u ranks: %s: %s; %s", s->options->size, call,
                  strerror(error), pen_boot_remedy(error));
    return error == ENOMEM ? PEN_ERR_MEMORY : PEN_ERR_SYSTEM;
}

static const char *channels_open(pen_supervisor *s)
{
    const char *call = signals_open(s);
    if (call == NULL)
        call = descriptors_open(s);
    if (call == NULL)
        call = outputs_open(s);
    /* Orphans of ranks become children of this process. */
    if (call == NULL && prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) != 0)
        call = "prctl";
    return call;
}

pen_status pen_super_open(pen_supervisor *s, pen_log *log, const pen_supervisor_options *options)
{
    *s = (pen_supervisor){ .outer = log,
                           .options = options,
                           .ops = options->ops,
                           .ops_state = options->ops_state,
                           .pid = getpid(),
                           .epoll = -1,
                           .streams_epoll = -1,
                           .signal_fd = -1,
                           .null_fd = -1,
                           .words = { -1, -1 },
                           .input_fd = -1,
                           .trace_fd = -1,
                           .streams_on = true,
                           .arena = { .fd = -1 } };
    s->log = *log;
    s->log.rank = -1;
    (void)snprintf(s->log.who, sizeof(s->log.who), "%s", s->ops->who);
    if (getrlimit(RLIMIT_NOFILE, &s->files_before) != 0)
        return complain(s, "getrlimit");
    s->limit_known = true;
    stdio_complete();
    s->fd_base = highest_fd() + 1 + FDS_GAP;

    pen_boot_config config;
    pen_status status = pen_boot_config_read(&s->log, &config);
    if (status == PEN_OK)
        status = limit_files(s);
    if (status != PEN_OK)
        return status;
    const char *call = memory_open(s);
    if (call != NULL)
        return complain(s, call);
    pen_exit_rule_init(&s->rule, s->exit_ranks, options->size,
                       (uint64_t)(1e9 * pen_boot_exit_timeout(&config, options->size)),
                       pen_boot_leave_limit_ns(&config));
    status = s->ops->open(s);
    if (status == PEN_OK && s->page != NULL)
        status = pen_super_trace_open(s, config.trace);
    if (status != PEN_OK)
        return status;
    call = channels_open(s);
    if (call != NULL)
        return complain(s, call);
    s->log.fd = s->words[1];
    if (options->timeout_s > 0)
        s->limit_ns = pen_now_ns() + (uint64_t)(options->timeout_s * 1e9);
    return PEN_OK;
}

static void rank_close(pen_super_rank *r)
{
    if (r->control >= 0)
        close(r->control);
    for (int i = 0; i < PEN_STREAMS; i++) {
        if (r->stream[i] >= 0)
            close(r->stream[i]);
    }
}

static void descriptors_close(pen_supervisor *s)
{
    for (uint32_t rank = 0; s->ranks != NULL && rank < s->options->size; rank++)
        rank_close(&s->ranks[rank]);
    const int fds[] = { s->epoll,   s->streams_epoll, s->signal_fd,
                        s->null_fd, s->words[0],      s->words[1] };
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

static void memory_close(pen_supervisor *s)
{
    for (uint32_t rank = 0; s->ranks != NULL && rank < s->options->size; rank++) {
        pen_lines_free(&s->ranks[rank].lines[PEN_STREAM_OUT]);
        pen_lines_free(&s->ranks[rank].lines[PEN_STREAM_ERR]);
    }
    free(s->ranks);
    free(s->exit_ranks);
    free(s->events);
    free(s->environment);
    free(s->spared);
}

const char *pen_super_restore(const pen_supervisor *s)
{
    if (s->limit_known && setrlimit(RLIMIT_NOFILE, &s->files_before) != 0)
        return "setrlimit";
    if (!s->signals_taken)
        return NULL;
    if (sigaction(SIGCHLD, &s->child_before, NULL) != 0)
        return "sigaction";
    errno = pthread_sigmask(SIG_SETMASK, &s->mask_before, NULL);
    return errno != 0 ? "pthread_sigmask" : NULL;
}

void pen_super_close(pen_supervisor *s, bool forked)
{
    pen_super_trace_close(s, forked);
    if (s->ops->close != NULL)
        s->ops->close(s);
    for (int i = 0; i < PEN_STREAMS; i++) {
        if (s->to[i] != NULL)
            pen_output_close(&s->outputs[i]);
    }
    if (!forked)
        descriptors_close(s);
    memory_close(s);
}
