/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_plan.c: hosts from options, files and Slurm; the words of ssh; variables to hand on. */
#include "command/spread_plan.h"

#include "base/status.h"
#include "boot/knobs.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "remote/hosts.h"
#include "remote/spread.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_LEN_MAX = 1 << 20 };

/* ---- hosts ----------------------------------------------------------------------------------- */

static bool file_read(const char *path, pen_hosts *out, pen_hosts_problem *problem)
{
    char *text = malloc(FILE_LEN_MAX);
    FILE *in = text != NULL ? fopen(path, "re") : NULL;
    bool sound = false;
    if (in == NULL) {
        (void)snprintf(problem->text, sizeof(problem->text),
                       "%.300s: %s: give a file that can be "
                       "read",
                       path, strerror(errno));
    } else {
        size_t len = fread(text, 1, FILE_LEN_MAX, in);
        if (ferror(in) != 0 || len == FILE_LEN_MAX)
            (void)snprintf(problem->text, sizeof(problem->text),
                           "%.300s: it cannot be read, or is longer than 1 MiB", path);
        else
            sound = pen_hosts_from_file(text, len, path, out, problem);
        fclose(in);
    }
    free(text);
    return sound;
}

/* An allocation, and no srun that would have started the ranks itself. */
static const char *slurm_nodes(void)
{
    if (pen_knob_from_process(NULL, "SLURM_JOB_ID") == NULL)
        return NULL;
    const char *step = pen_knob_from_process(NULL, "SLURM_STEP_ID");
    const char *tasks = pen_knob_from_process(NULL, "SLURM_STEP_NUM_TASKS");
    if (step != NULL && tasks != NULL && strcmp(tasks, "1") != 0)
        return NULL;
    const char *nodes = pen_knob_from_process(NULL, "SLURM_JOB_NODELIST");
    return nodes != NULL ? nodes : pen_knob_from_process(NULL, "SLURM_NODELIST");
}

static bool hosts_find(const run_options *options, spread_plan *out, pen_hosts_problem *problem)
{
    const char *nodes = slurm_nodes();
    out->used = true;
    if (options->hosts != NULL)
        return pen_hosts_from_list(options->hosts, "--hosts", &out->hosts, problem);
    if (options->hostfile != NULL)
        return file_read(options->hostfile, &out->hosts, problem);
    if (!options->local && nodes != NULL) {
        const char *tasks = pen_knob_from_process(NULL, "SLURM_TASKS_PER_NODE");
        if (!pen_hosts_from_slurm(nodes, tasks, &out->hosts, problem))
            return false;
        out->used = out->hosts.count > 1;
        return true;
    }
    out->used = false;
    return true;
}

/* ---- ssh ------------------------------------------------------------------------------------- */

static bool word_add(spread_plan *out, size_t *count, char *word)
{
    if (*count == SPREAD_WORDS_MAX)
        return false;
    out->ssh[(*count)++] = word;
    return true;
}

static bool is_openssh(const char *command)
{
    const char *slash = strrchr(command, '/');
    return strcmp(slash != NULL ? slash + 1 : command, "ssh") == 0;
}

/* Words of both variables, then what ssh is to do for us; its own files may say more. */
static bool ssh_words(pen_log *log, const pen_launch_config *config, spread_plan *out)
{
    size_t count = 0;
    char *saved = NULL;
    int len = snprintf(out->words_text, sizeof(out->words_text), "%s %s", config->ssh,
                       config->ssh_options);
    bool fits = len > 0 && (size_t)len < sizeof(out->words_text);
    char *word = fits ? strtok_r(out->words_text, " \t", &saved) : NULL;
    for (; word != NULL && fits; word = strtok_r(NULL, " \t", &saved))
        fits = word_add(out, &count, word);
    bool is_ssh = count != 0 && is_openssh(out->ssh[0]);
    (void)snprintf(out->connect_timeout, sizeof(out->connect_timeout), "ConnectTimeout=%.0f",
                   ceil(config->timeout));
    (void)snprintf(out->alive_interval, sizeof(out->alive_interval), "ServerAliveInterval=%.0f",
                   ceil(config->beat));
    static char option[] = "-o", batch[] = "BatchMode=yes", quiet[] = "-x", plain[] = "-T",
                missed[] = "ServerAliveCountMax=3";
    char *const ours[] = {
        quiet,  plain, option, batch, option, out->connect_timeout, option, out->alive_interval,
        option, missed
    };
    for (size_t i = 0; is_ssh && i < sizeof(ours) / sizeof(ours[0]); i++)
        fits = word_add(out, &count, ours[i]) && fits;
    if (fits && count != 0)
        return true;
    pen_log_error(log,
                  "cannot use GASNET_SSH_CMD and GASNET_SSH_OPTIONS: give a command of at most "
                  "%d words",
                  SPREAD_WORDS_MAX - 10);
    return false;
}

/* A shell on the other side reads the path. */
static bool is_plain(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._+-@%:=,";
    return path[0] == '/' && path[strspn(path, plain)] == '\0';
}

static bool agent_find(pen_log *log, const pen_launch_config *config, spread_plan *out)
{
    const char *folder = config->remote_folder;
    ssize_t len = readlink("/proc/self/exe", out->agent, sizeof(out->agent) - 1);
    out->agent[len > 0 ? len : 0] = '\0';
    if (folder != NULL && folder[0] != '\0') {
        len = snprintf(out->agent, sizeof(out->agent), "%s/penstock", folder);
        if (len < 0 || (size_t)len >= sizeof(out->agent))
            out->agent[0] = '\0';
    }
    if (is_plain(out->agent))
        return true;
    pen_log_error(
        log,
        "cannot start agents by the path \"%s\": a shell would read it otherwise; install "
        "Penstock where the path is plain, or set GASNET_SSH_REMOTE_PATH",
        out->agent);
    return false;
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool begins(const char *entry, const char *prefix)
{
    return strncmp(entry, prefix, strlen(prefix)) == 0;
}

static bool is_named(const environment *changed, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (size_t i = 0; i < changed->count; i++) {
        if (strncmp(changed->entries[i], entry, len) == 0 && changed->entries[i][len] == '=')
            return true;
    }
    return false;
}

/* Chooses the variables that go to other hosts: GASNET_..., PENSTOCK_..., LD_LIBRARY_PATH and those
 * that the command line names. */
static char *const *handed_make(const environment *changed)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **out = calloc(count + 1, sizeof(*out));
    for (size_t i = 0; out != NULL && i < count; i++) {
        char *entry = environ[i];
        if (begins(entry, "GASNET_") || begins(entry, "PENSTOCK_") ||
            begins(entry, "LD_LIBRARY_PATH=") || is_named(changed, entry))
            out[kept++] = entry;
    }
    return out;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_time(double seconds) { return seconds > 0 && seconds <= 1e6; }

static bool config_read(pen_log *log, pen_launch_config *out)
{
    *out = (pen_launch_config){ .ssh = NULL };
    if (pen_knob_read(log, pen_launch_knobs, out, NULL, NULL) != PEN_OK)
        return false;
    if (out->fan_out >= 1 && out->fan_out <= PEN_HOSTS_MAX && is_time(out->timeout) &&
        is_time(out->beat))
        return true;
    pen_log_error(log,
                  "GASNET_SSH_OUT_DEGREE wants a number from 1 to %d, PENSTOCK_LAUNCH_TIMEOUT "
                  "and PENSTOCK_LAUNCH_BEAT a time above 0",
                  PEN_HOSTS_MAX);
    return false;
}

bool spread_plan_make(pen_log *log, const run_options *options, const environment *changed,
                      spread_plan *out)
{
    pen_hosts_problem problem;
    if (!hosts_find(options, out, &problem)) {
        pen_log_error(log, "%s", problem.text);
        return false;
    }
    if (!out->used)
        return true;
    pen_launch_config config;
    if (!config_read(log, &config) || !ssh_words(log, &config, out) ||
        !agent_find(log, &config, out))
        return false;
    if (out->hosts.count > options->ranks) /* the others would have nothing to do */
        out->hosts.count = options->ranks;
    out->options = (pen_spread_options){ .hosts = &out->hosts,
                                         .fan_out = (uint32_t)config.fan_out,
                                         .agent = out->agent,
                                         .ssh = out->ssh,
                                         .handed = handed_make(changed),
                                         .start_timeout_s = config.timeout,
                                         .bind = options->bind };
    if (out->options.handed != NULL)
        return true;
    pen_log_error(log, "cannot hand variables on: calloc: %m; set fewer");
    return false;
}
