/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.c: `penstock sim`: starts a job on a simulated machine, in virtual time. The ranks are
 * started as `penstock run` starts them. They inherit the world (virtual/virtual.h), use the
 * extoll conduit, and a library that is loaded before them answers their questions for the time. */
#include "command/sim.h"

#include "base/status.h"
#include "boot/boot.h"
#include "command/command.h"
#include "command/environment.h"
#include "command/place.h"
#include "command/run_options.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "launch/supervisor.h"
#include "os/os.h"
#include "virtual/virtual.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The least memory that a rank takes, of which there must be enough for all of them. */
#define RANK_LEN   ((uint64_t)4 << 20)

#define WATCH_NS   UINT64_C(1000000000)
#define SILENCE_NS UINT64_C(10000000000) /* a rank that keeps its turn for so long is told of */

/* ---- watching -------------------------------------------------------------------------------- */

/* A thread that tells of a rank that keeps its turn. */
typedef struct watcher {
    pen_log *log;
    const pen_virtual *world;
    uint32_t ranks;
    pthread_t thread;
    _Atomic uint32_t ended;
} watcher;

static void *watch(void *context)
{
    watcher *w = context;
    uint64_t looks = 0, since_ns = pen_now_ns();
    bool told = false;
    while (atomic_load_explicit(&w->ended, memory_order_relaxed) == 0) {
        pen_futex_wait(&w->ended, 0, WATCH_NS);
        const pen_virtual_figures figures = pen_virtual_read(w->world);
        uint64_t now_ns = pen_now_ns();
        if (figures.looks != looks || figures.left == w->ranks) {
            looks = figures.looks;
            since_ns = now_ns;
            told = false;
        } else if (now_ns - since_ns > SILENCE_NS && !told) {
            pen_log_warn(w->log,
                         "rank %u has had the turn for %u s of real time without observing the "
                         "network, so all other ranks stand still: it computes, sleeps in the "
                         "kernel, or waits for memory that no call of the library polls",
                         figures.turn, (unsigned)(SILENCE_NS / WATCH_NS));
            told = true;
        }
    }
    return NULL;
}

/* Without the thread the job runs, too. */
static bool watch_begin(watcher *w)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the supervisor's */
    bool begun = pthread_create(&w->thread, NULL, watch, w) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

static void watch_end(watcher *w)
{
    atomic_store_explicit(&w->ended, 1, memory_order_relaxed);
    pen_futex_wake(&w->ended, 1);
    (void)pthread_join(w->thread, NULL);
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool memory_suffices(pen_log *log, uint32_t ranks)
{
    uint64_t available = pen_memory_available(), needed = ranks * RANK_LEN;
    if (needed <= available)
        return true;
    pen_log_error(log,
                  "cannot simulate %u ranks: they need at least %u MiB of memory, and %u MiB are "
                  "available; use fewer ranks",
                  ranks, (unsigned)(needed >> 20), (unsigned)(available >> 20));
    return false;
}

/* The library goes before those that the user preloads. */
static bool clock_load(pen_log *log, environment *changed)
{
    static char path[4096];
    if (!place_of_program("libpenstock-clock.so", path, sizeof path)) {
        pen_log_error(
            log,
            "cannot find libpenstock-clock.so, which makes clocks virtual, in %s: install "
            "Penstock again",
            path);
        return false;
    }
    environment_set(changed, "LD_PRELOAD", path, pen_knob_from_process(NULL, "LD_PRELOAD"));
    return true;
}

static bool settings_apply(pen_log *log, const run_options *options, int world_fd,
                           environment *changed)
{
    static char number[16];
    (void)snprintf(number, sizeof number, "%d", world_fd);
    environment_set(changed, PEN_VIRTUAL_VARIABLE, number, NULL);
    environment_set(changed, "PENSTOCK_CONDUIT", "extoll", NULL);
    if (!clock_load(log, changed))
        return false;
    if (options->stats)
        environment_set(changed, "PENSTOCK_STATS", "1", NULL);
    if (options->verbose)
        environment_set(changed, "GASNET_VERBOSEENV", "1", NULL);
    if (options->checked && !command_use_checked(log, changed))
        return false;
    if (environment_apply(changed))
        return true;
    pen_log_error(log, "cannot set variables for the ranks: %s; set fewer", changed->failed);
    return false;
}

/* Answers the exit status. */
static int start(pen_log *log, const run_options *options, const sim_plan *plan,
                 const pen_virtual *world)
{
    const pen_boot_needs needs = { .conduit_len = command_conduit_len };
    const pen_supervisor_options supervisor = { .size = options->ranks,
                                                .timeout_s = options->timeout_s,
                                                .tag = options->tag,
                                                .argv = options->argv,
                                                .launcher = "penstock sim",
                                                .needs = &needs,
                                                .ops = &pen_super_local_ops };
    watcher w = { .log = log, .world = world, .ranks = options->ranks };
    bool watched = watch_begin(&w);
    int status = 1, signal = 0;
    uint64_t begin_ns = pen_now_ns();
    pen_status result = pen_supervise(log, &supervisor, &status, &signal, NULL);
    sim_result done = { .status = status, .real_s = (double)(pen_now_ns() - begin_ns) / 1e9 };
    if (watched)
        watch_end(&w);
    if (result != PEN_OK)
        return result == PEN_ERR_ARGUMENT ? COMMAND_USAGE : 1;
    if (signal != 0)
        pen_supervisor_die(status, signal);
    sim_report(stdout, options->json, plan, world, &done);
    int written = command_written("sim");
    return status != 0 ? status : written;
}

int command_sim(char **arguments)
{
    pen_log log;
    pen_log_init(&log, "sim");
    run_options options;
    run_problem problem;
    environment changed;
    static sim_plan plan; /* it is large */
    environment_open(&changed);
    if (!run_options_parse_sim(arguments, &options, environment_hand_on, &changed, &problem)) {
        if (problem.unknown != NULL)
            return command_unknown("sim", "option", problem.unknown, problem.nearest);
        pen_log_error(&log, "%s (see `penstock help sim`)", problem.text);
        return COMMAND_USAGE;
    }
    if (options.help)
        return command_help((char *[]){ "sim", NULL });
    if (options.verbose)
        log.level = PEN_LOG_INFO;
    if (!sim_plan_make(&log, &options, &plan))
        return COMMAND_USAGE;
    if (!memory_suffices(&log, options.ranks))
        return 1;
    int fd = -1;
    pen_virtual world;
    const char *call = pen_virtual_make(&plan.params, &fd, &world);
    if (call != NULL) {
        pen_log_error(&log, "cannot make the simulated machine: %s: %m; use fewer ranks", call);
        return 1;
    }
    if (!settings_apply(&log, &options, fd, &changed))
        return 1;
    return start(&log, &options, &plan, &world);
}
