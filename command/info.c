/* SPDX-License-Identifier: BSD-3-Clause */
/* info.c: `penstock info`: gathers what decides how a job runs here. */
#include "command/info.h"

#include "boot/boot.h"
#include "boot/copies.h"
#include "command/command.h"
#include "command/place.h"
#include "conduit/conduit.h"
#include "conduit/modules.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "link/near.h"
#include "os/os.h"
#include "os/proc.h"
#include "pmix/foreign.h"
#include "pmix/pmix.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- conduits ------------------------------------------------------------------------------- */

static info_conduit *row_add(info *out, const char *name, const char *summary)
{
    info_conduit *row = &out->conduits[out->conduit_count++];
    *row = (info_conduit){ .name = name, .summary = summary };
    return row;
}

static void judge(info_conduit *row, const pen_conduit *conduit, uint32_t ranks)
{
    row->score = pen_conduit_score(conduit, ranks, &row->why);
}

static bool has_row(const info *from, const char *name)
{
    for (size_t i = 0; i < from->conduit_count; i++)
        if (strcmp(from->conduits[i].name, name) == 0)
            return true;
    return false;
}

static void gather_modules(info *out)
{
    char paths[PEN_MODULE_PATHS_MAX];
    pen_module_paths(pen_is_privileged(), paths);
    out->module_count = pen_modules_open(paths, NULL, out->modules);
    for (size_t i = 0; i < out->module_count && out->conduit_count < INFO_CONDUITS_MAX; i++) {
        const pen_module *module = &out->modules[i];
        if (has_row(out, module->name))
            continue;
        if (module->conduit != NULL)
            judge(row_add(out, module->name, module->conduit->summary), module->conduit,
                  out->ranks);
        else
            row_add(out, module->name, "a module")->why = module->why_not;
    }
}

/* On one host a job chooses among the conduits that are built in. */
static void gather_conduits(info *out)
{
    info_conduit *best = NULL;
    for (const pen_conduit *const *entry = pen_builtin_conduits;
         *entry != NULL && out->conduit_count < INFO_CONDUITS_MAX; entry++) {
        info_conduit *row = row_add(out, (*entry)->name, (*entry)->summary);
        judge(row, *entry, out->ranks);
        if (row->score > PEN_SCORE_NAMED && (best == NULL || row->score > best->score))
            best = row;
    }
    if (best != NULL)
        best->chosen = true;
    gather_modules(out);
    pen_log silent;
    pen_log_init(&silent, "info");
    silent.fd = -1; /* the reasons are in the rows */
    (void)pen_near_list_far(&silent, NULL, out->ranks, 2, &out->far);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static unsigned affinity_count(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 0;
}

/* Ranks are siblings, and some systems let a process reach its children but not its siblings: so
 * one child tries another. */
static bool siblings_reach(void)
{
    uint64_t probe = 0x70656e73746f636b;
    int held[2];
    if (pipe(held) != 0)
        return false;
    (void)fflush(NULL);
    pid_t target = fork();
    if (target == 0) { /* stays until we close the pipe */
        char byte;
        close(held[1]);
        _exit(read(held[0], &byte, 1) == 0 ? 0 : 1);
    }
    pid_t tries = target > 0 ? fork() : -1;
    if (tries == 0)
        _exit(pen_cma_usable(target, &probe) ? 0 : 1);
    int status = 1;
    if (tries > 0)
        (void)waitpid(tries, &status, 0);
    close(held[0]);
    close(held[1]);
    if (target > 0)
        (void)waitpid(target, NULL, 0);
    return tries > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const char *trouble_with(const char *launcher, bool has_pmix)
{
    if (strcmp(launcher, "PMIx") != 0)
        return ", which Penstock does not speak";
    return has_pmix ? "" : ", whose library cannot be opened";
}

static void gather_launcher(info *out)
{
    pen_foreign foreign = pen_foreign_find(pen_knob_from_process, NULL);
    if (pen_knob_from_process(NULL, "PENSTOCK_CONTROL_FD") != NULL)
        (void)snprintf(out->launcher, sizeof(out->launcher), "penstock run");
    else if (foreign.launcher != NULL)
        (void)snprintf(out->launcher, sizeof(out->launcher), "%s%s (%s)", foreign.launcher,
                       trouble_with(foreign.launcher, out->pmix), foreign.found);
    else
        (void)snprintf(out->launcher, sizeof(out->launcher), "none");
}

static void gather_pmix(info *out)
{
    const char *why = NULL;
    char version[INFO_PMIX_LEN];
    out->pmix = pen_pmix_library(version, sizeof(version), &why) != NULL;
    (void)snprintf(out->pmix_text, sizeof(out->pmix_text), "%s", out->pmix ? version : why);
}

/* Measures as the process that starts a job's ranks does. A value that the processor has not stays
 * a text. */
static void gather_copies(info *out)
{
    const char *wish = pen_knob_from_process(NULL, "PENSTOCK_COPIES");
    out->copies_wish = wish != NULL ? wish : PEN_COPIES_MEASURED;
    uint64_t begun_ns = pen_now_ns();
    if (pen_copies_known(out->copies_wish))
        pen_copies_choose(out->copies_wish, out->cores_allowed, &out->copies);
    out->copies_ns = pen_now_ns() - begun_ns;
}

void info_gather(info *out, uint32_t ranks)
{
    *out = (info){ .ranks = ranks };
    out->library_found = place_of_library(false, out->library, sizeof(out->library));
    gather_conduits(out);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    out->cores_online = online > 0 ? (unsigned)online : 0;
    out->cores_affinity = affinity_count();
    out->cores_allowed = pen_cores_allowed(NULL);
    topology_read(&out->topology);
    out->memory_physical = pen_memory_physical();
    out->memory_available = pen_memory_available();
    out->cma = siblings_reach();
    out->membarrier = pen_membarrier_register();
    gather_copies(out);
    gather_pmix(out);
    gather_launcher(out);
    info_tables(out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool has_usable(const info *from)
{
    for (size_t i = 0; i < from->conduit_count; i++) {
        if (from->conduits[i].score > 0)
            return true;
    }
    return false;
}

const char *const info_options[] = { "--all", "--json", "-n", "--help", NULL };

static int usage_error(const char *typed)
{
    return command_unknown_word("info", typed, info_options);
}

static bool ranks_of(const char *text, uint32_t *out)
{
    int64_t ranks;
    if (text != NULL && pen_knob_parse(PEN_KNOB_INT, text, &ranks) && ranks >= 1 &&
        ranks <= PEN_BOOT_RANKS_MAX) {
        *out = (uint32_t)ranks;
        return true;
    }
    pen_log log;
    pen_log_init(&log, "info");
    if (text == NULL)
        pen_log_error(&log, "-n needs a value (see `penstock help info`)");
    else
        pen_log_error(&log, "-n %s: give a number of ranks from 1 to %d", text, PEN_BOOT_RANKS_MAX);
    return false;
}

/* Prints the text. Returns 0, or the status of a word that matches nothing. */
static int print_text(const info *from, const info_view *view)
{
    if (info_print_text(stdout, from, view))
        return 0;
    pen_log log;
    pen_log_init(&log, "info");
    pen_log_error(&log,
                  "no section and no variable has \"%s\" in its name; `penstock info --all` shows "
                  "all of them",
                  view->word);
    return COMMAND_USAGE;
}

typedef struct info_request {
    bool help, json;
    uint32_t ranks;
    info_view view;
} info_request;

/* Takes the command line apart. Returns 0, or the status of a wrong one, which it has reported. */
static int request_parse(char **arguments, info_request *out)
{
    *out = (info_request){ .ranks = 2 };
    for (char **at = arguments; *at != NULL; at++) {
        if (strcmp(*at, "--json") == 0) {
            out->json = true;
        } else if (strcmp(*at, "--all") == 0) {
            out->view.all = true;
        } else if (strcmp(*at, "--help") == 0 || strcmp(*at, "-h") == 0) {
            out->help = true;
        } else if (strcmp(*at, "-n") == 0) {
            if (!ranks_of(*++at, &out->ranks))
                return COMMAND_USAGE;
        } else if (out->view.word == NULL && **at != '-') {
            out->view.word = *at;
        } else {
            return usage_error(*at);
        }
    }
    return 0;
}

int command_info(char **arguments)
{
    info_request request;
    int status = request_parse(arguments, &request);
    if (status != 0)
        return status;
    if (request.help)
        return command_help((char *[]){ "info", NULL });
    static info gathered;
    info_gather(&gathered, request.ranks);
    if (request.json)
        info_print_json(stdout, &gathered);
    else
        status = print_text(&gathered, &request.view);
    if (status != 0)
        return status;
    status = command_written("info");
    return status == 0 && has_usable(&gathered) ? 0 : 1;
}
