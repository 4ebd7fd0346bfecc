/* SPDX-License-Identifier: BSD-3-Clause */
/* init.c: makes this process a rank: compares the program's object files, joins the job, opens the
 * modules from the bottom up, and watches for the end of the process. */
#include "api/api.h"
#include "api/program.h"
#include "api/time.h"

#include "am/am.h"
#include "atomic/atomic.h"
#include "base/compiler.h"
#include "base/status.h"
#include "boot/boot.h"
#include "boot/host_page.h"
#include "coll/barrier.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/checks.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/thread.h"
#include "knob/knob.h"
#include "launch/supervisor.h"
#include "pen_config.h"
#include "pmix/pmix.h"
#include "progress/progress.h"
#include "rma/rma.h"
#include "team/team.h"
#include "tools/tools.h"
#include "vis/vis.h"

#include <errno.h>
#include <gasnetex.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEGSIZE_TEXT_LEN = 32 };

/* ---- what the environment says -------------------------------------------------------------- */

static const char *look_up(void *ctx, const char *name)
{
    const pen_job *job = ctx;
    return pen_boot_getenv(&job->boot, name);
}

/* Until the job is joined, only this process's own environment is known. */
static pen_status read_config(pen_job *job, pen_api_config *config)
{
    pen_status status = pen_knob_read(&job->log, pen_api_knobs, config,
                                      job->boot.environment != NULL ? look_up : NULL, job);
    if (status != PEN_OK)
        return status;
    job->log.quiet = config->quiet;
    if (!pen_log_level_parse(config->log_level, &job->log.level)) {
        pen_log_error(&job->log, "cannot use PENSTOCK_LOG=%s: say error, warn or info",
                      config->log_level);
        return PEN_ERR_ARGUMENT;
    }
    pen_api_root.catch_exit = config->catch_exit;
    pen_api_root.backtrace = config->backtrace;
    return PEN_OK;
}

static void show_config(const pen_job *job)
{
    if (!job->config.verbose_env || job->rank != 0)
        return;
    const pen_knob *const tables[] = { pen_api_knobs, pen_tools_knobs };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const pen_knob *row = tables[i]; row->name != NULL; row++) {
            const char *value = pen_boot_getenv(&job->boot, row->name);
            pen_knob_print(stderr, row, value != NULL ? value : row->fallback, value == NULL);
        }
}

/* Warns of unknown variables whose names resemble a known one. */
static void warn_of_unknown(pen_job *job)
{
    pen_api_table tables[PEN_API_TABLES_MAX];
    const pen_knob *knobs[PEN_API_TABLES_MAX + 3];
    size_t count = pen_api_tables(tables, PEN_API_TABLES_MAX);
    for (size_t i = 0; i < count; i++)
        knobs[i] = tables[i].knobs;
    /* a conduit in a module is in no table */
    if (job->conduit->knobs != NULL)
        knobs[count++] = job->conduit->knobs;
    if (job->memory_conduit != NULL && job->memory_conduit->knobs != NULL)
        knobs[count++] = job->memory_conduit->knobs;
    knobs[count] = NULL;
    pen_knob_warn_unknown(&job->log, job->boot.environment, knobs);
}

/* Called once per job. */
static void say_start(pen_job *job)
{
    if (job->rank != 0)
        return;
    warn_of_unknown(job);
    if (job->config.wants_checks && !PEN_CHECKED)
        pen_log_warn(&job->log,
                     "this program runs unchecked, although --checked is given: it has the library "
                     "linked in, or names another place by DT_RPATH; link it with the shared "
                     "library, and with a run path in DT_RUNPATH");
    const uint32_t hosts = job->boot.page != NULL ? job->boot.page->host_count : 1;
    pen_log_info(&job->log,
                 "a job of %u ranks on %u host%s, started by %s; segments of %zu MiB at most, "
                 "Mediums of %zu bytes",
                 job->size, hosts, hosts == 1 ? "" : "s", job->boot.launcher,
                 (size_t)pen_job_segment_max_global(job) >> 20, pen_am_max_medium(job, 0));
}

/* ---- opening the job ------------------------------------------------------------------------ */

/* Checked builds: reports a handler that returns with a lock held. */
static void deliver_checked(void *ctx, pen_peer from, pen_lane lane, const void *head,
                            uint32_t head_len, void *body, uint32_t body_len)
{
    const pen_hsl *before = pen_api_locks;
    pen_am_deliver(ctx, from, lane, head, head_len, body, body_len);
    if (pen_api_locks != before && pen_api_checks(PEN_CHECK_LOCK))
        pen_job_fatal(ctx, "a handler returned while it holds the lock at %p; it has to drop it",
                      (void *)pen_api_locks);
}

static pen_thread *this_thread(pen_job *job) { return pen_api_thread(job); }

static void trace_locks(const pen_job *job)
{
    pen_hsl_traced = PEN_CHECKED && (job->checks_off & PEN_CHECK_LOCK) == 0;
}

/* Facts that decide how the job is opened. */
typedef struct opening {
    const pen_build *build;
    pen_program program;
    uint32_t ranks; /* from the program's arguments; 0: not given */
} opening;

static pen_status join_job(pen_job *job, const opening *how)
{
    char preset[SEGSIZE_TEXT_LEN];
    (void)snprintf(preset, sizeof preset, "%" PRIu64 "/P", gasnet_max_segsize);
    const pen_job_params params = {
        .mode = how->build->mode,
        .segment_mode = how->build->segment,
        .conduit = job->boot.from_arguments ? "udp" : NULL,
        .segment_max = gasnet_max_segsize_str != NULL ? gasnet_max_segsize_str
                       : gasnet_max_segsize != 0      ? preset
                                                      : NULL,
        .deliver = PEN_CHECKED ? deliver_checked : pen_am_deliver,
        /* In a checked build every message takes the path with checks. */
        .deliver_head = { PEN_CHECKED ? NULL : pen_am_deliver_request,
                          PEN_CHECKED ? NULL : pen_am_deliver_reply },
        .poll_view = PEN_CHECKED ? NULL : &pen_poll,
        .clock = pen_api_time_clock(),
        .virtual = pen_api_root.time,
        .end = pen_api_told_to_end,
        .on_fatal = pen_api_debug_error,
    };
    return pen_job_open(job, &params);
}

static pen_status open_modules(pen_job *job, const opening *how)
{
    pen_status status = join_job(job, how);
    if (status != PEN_OK)
        return status;
    trace_locks(job);
    status = pen_api_program_fits(job, &how->program);
    if (status != PEN_OK)
        goto err_close_job;
    status = pen_am_open(job);
    if (status != PEN_OK)
        goto err_close_job;
    status = pen_rma_open(job);
    if (status != PEN_OK)
        goto err_close_am;
    status = pen_atomic_open(job);
    if (status != PEN_OK)
        goto err_close_rma;
    status = pen_coll_open(job);
    if (status != PEN_OK)
        goto err_close_atomic;
    return PEN_OK;

err_close_atomic:
    pen_atomic_close(job);
err_close_rma:
    pen_vis_close(job);
    pen_rma_close(job);
err_close_am:
    pen_am_close(job);
err_close_job:
    pen_job_close(job);
    return status;
}

void pen_api_close_modules(pen_job *job)
{
    pen_team_close_all(job);
    pen_coll_close(job);
    pen_atomic_close(job);
    pen_vis_close(job);
    pen_rma_close(job);
    pen_am_close(job);
    pen_job_close(job);
}

static pen_status find_neighbours(pen_job *job)
{
    pen_root *root = &pen_api_root;
    root->nbrhd =
        pen_job_calloc(job, 2 * (size_t)job->size, sizeof *root->nbrhd, "the list of neighbours");
    if (root->nbrhd == NULL)
        return PEN_ERR_MEMORY;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (rank == job->rank)
            root->nbrhd_mine = root->nbrhd_count;
        if (rank == job->rank || job->routes[rank].same_host)
            root->nbrhd[root->nbrhd_count++].gex_jobrank = rank;
    }
    const uint32_t host = pen_boot_host_of(&job->boot, job->rank);
    gex_RankInfo_t *hosts = root->nbrhd + root->nbrhd_count;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (pen_boot_host_of(&job->boot, rank) != host)
            continue;
        if (rank == job->rank)
            root->host_mine = root->host_count;
        hosts[root->host_count++].gex_jobrank = rank;
    }
    return PEN_OK;
}

/* The job is joined: from now on this process is a rank, and its end concerns the job. */
static pen_status settle(pen_job *job, const pen_api_config *config)
{
    pen_api_root.job = job;
    pen_api_root.pid = (int)getpid();
    pen_api_root.starter = pen_api_me();
    pen_status status = find_neighbours(job);
    if (status != PEN_OK)
        return status;
    if (job->mode == PEN_MODE_PAR) {
        status = pen_api_watch_threads(job);
        if (status != PEN_OK)
            return status;
        job->this_thread = this_thread;
    }
    status = pen_api_watch_forks(job);
    if (status == PEN_OK)
        status = pen_api_catch_exit();
    if (status != PEN_OK)
        return status;
    pen_api_catch_signals(&job->log, config->no_catch);
    show_config(job);
    say_start(job);
    status = pen_api_debug_open(job, config);
    if (status != PEN_OK)
        return status;
    pen_world = &job->world;
    if (job->boot.page != NULL) /* relaxed: for display only */
        atomic_store_explicit(&pen_host_row(job->boot.page, job->rank)->phase, PEN_HOST_RUNNING,
                              memory_order_relaxed);
    pen_progress_publish(&job->progress);
    return pen_boot_barrier(&job->boot);
}

static pen_status open_job(pen_job *job, const opening *how)
{
    static const pen_boot_ways ways = { pen_foreign_join, pen_supervise_self };
    const pen_boot_needs needs = { .conduit_len = pen_conduit_shared_max, .ranks = how->ranks };
    pen_api_config config;
    pen_status status =
        read_config(job, &config); /* the messages to print until the job is joined */
    if (status != PEN_OK)
        return status;
    status = pen_api_root.has_resigned
                 ? pen_boot_rejoin(&job->log, &pen_api_root.resigned, &job->boot)
                 : pen_boot_open(&job->log, &ways, &needs, &job->boot);
    pen_api_root.has_resigned = false;
    if (status != PEN_OK)
        return status;
    status = read_config(job, &config); /* as the console's environment asks */
    if (status == PEN_OK)
        status = pen_api_time_begin(job);
    if (status == PEN_OK)
        status = open_modules(job, how);
    return status == PEN_OK ? settle(job, &config) : status;
}

/* A child of a process that had resigned is no rank of its parent's job. */
static void leave_parent(void)
{
    if (!pen_api_root.has_resigned || pen_api_root.pid == (int)getpid())
        return;
    pen_boot_close(&pen_api_root.resigned);
    pen_api_root.has_resigned = false;
}

static int start(const char *call, const pen_build *build, int *argc, char ***argv, pen_job **out)
{
    if (pen_api_root.started)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, call, "the job was started already");
    pen_api_root.started = true;
    leave_parent();
    size_t len = pen_align_up(sizeof(pen_job), PEN_CACHE_LINE);
    pen_job *job = aligned_alloc(PEN_CACHE_LINE, len);
    if (job == NULL)
        return pen_api_refuse(GASNET_ERR_RESOURCE, call,
                              "aligned_alloc of %zu bytes: %s; free some memory", len,
                              strerror(errno));
    memset(job, 0, len);
    pen_log_init(&job->log, "");
    opening how = { build, pen_api_program_check(&job->log, build), 0 };
    if (!pen_api_root.has_resigned) /* otherwise the job continues, and the argument was removed */
        how.ranks = pen_api_program_ranks(&how.program, argc, argv);
    pen_status status = open_job(job, &how);
    if (status == PEN_ERR_PEER_LOST)
        pen_api_end_with_job();
    if (status != PEN_OK) {
        /* The reason has been printed already. Nothing refers to a job that was not joined. */
        if (job->boot.page == NULL)
            free(job);
        return pen_api_code(status);
    }
    if (how.ranks != 0 && job->boot.from_arguments)
        pen_api_program_drop_ranks(argc, argv);
    *out = job;
    return GASNET_OK;
}

/* ---- the two ways in ------------------------------------------------------------------------ */

static bool args_agree(const int *argc, char ***argv) { return (argc == NULL) == (argv == NULL); }

int pen_api_init(const pen_build *build, int *argc, char ***argv)
{
    static const char call[] = "gasnet_init";
    pen_job *job = NULL;
    if (!args_agree(argc, argv))
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "argc and argv: give both or neither");
    int code = start(call, build, argc, argv, &job);
    if (job == NULL)
        return code;
    job->legacy = true;
    job->client.flags = GEX_FLAG_USES_GASNET1;
    (void)snprintf(job->client.name, sizeof job->client.name, "GASNET1");
    pen_api_root.attach_owed = true;
    return GASNET_OK;
}

int pen_api_client_init(const pen_build *build, gex_Client_t *client, gex_EP_t *endpoint,
                        gex_TM_t *team, const char *name, int *argc, char ***argv,
                        gex_Flags_t flags)
{
    static const char call[] = "gex_Client_Init";
    pen_job *job = NULL;
    if (client == NULL || endpoint == NULL || team == NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                              "client, endpoint and team must not be NULL");
    if (name == NULL || name[0] == '\0' || strlen(name) >= sizeof job->client.name)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "the name has to have 1 to %zu letters",
                              sizeof job->client.name - 1);
    if ((flags & ~(GEX_FLAG_USES_GASNET1 | GEX_FLAG_DEFER_THREADS)) != 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "flags 0x%x: these flags do not exist",
                              flags);
    if (!args_agree(argc, argv))
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "argc and argv: give both or neither");
    int code = start(call, build, argc, argv, &job);
    if (job == NULL)
        return code;
    job->legacy = (flags & GEX_FLAG_USES_GASNET1) != 0;
    job->client.flags = flags;
    (void)snprintf(job->client.name, sizeof job->client.name, "%s", name);
    *client = &job->client;
    *endpoint = &job->endpoint;
    *team = &job->world;
    return GASNET_OK;
}
