/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.c: reads a card's variables, and finds out which process of which job this is. */
#include "softnic/portals/settings.h"
#include "base/status.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct p4_values {
    const char *job;
    int64_t rank, size;
    uint64_t ring_len;
    bool helper;
    pen_portals_costs costs;
} p4_values;

const pen_knob p4_knobs[] = {
    { "PENSTOCK_PORTALS_JOB", PEN_KNOB_STRING, NULL, offsetof(p4_values, job),
      "Name of the job, equal for its processes; default: from the launcher." },
    { "PENSTOCK_PORTALS_RANK", PEN_KNOB_INT, "-1", offsetof(p4_values, rank),
      "Number of this process in the job; used with PENSTOCK_PORTALS_JOB." },
    { "PENSTOCK_PORTALS_SIZE", PEN_KNOB_INT, "0", offsetof(p4_values, size),
      "Number of processes in the job; used with PENSTOCK_PORTALS_JOB." },
    { "PENSTOCK_PORTALS_RING", PEN_KNOB_BYTES, "64K", offsetof(p4_values, ring_len),
      "Bytes of each ring between two processes: a power of two, 4K to 1M." },
    { "PENSTOCK_PORTALS_HELPER", PEN_KNOB_BOOL, "yes", offsetof(p4_values, helper),
      "A thread makes progress while the program makes no calls." },
    PEN_PORTALS_COST_KNOBS(p4_values, costs){ 0 },
};

static bool number_of(const char *name, uint32_t *out)
{
    int64_t value;
    const char *text = pen_knob_from_process(NULL, name);
    if (text == NULL || !pen_knob_parse(PEN_KNOB_INT, text, &value) || value < 0 ||
        value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* Under `penstock run` the job is named by the memory that its processes inherit. */
static bool from_penstock(p4_identity *out)
{
    uint32_t fd;
    struct stat found;
    if (!number_of("PENSTOCK_RANK", &out->rank) || !number_of("PENSTOCK_SIZE", &out->size) ||
        !number_of("PENSTOCK_ARENA_FD", &fd) || fd > INT_MAX || fstat((int)fd, &found) != 0)
        return false;
    (void)snprintf(out->job, sizeof(out->job), "penstock %llx %llx",
                   (unsigned long long)found.st_dev, (unsigned long long)found.st_ino);
    return true;
}

static bool from_pmix(p4_identity *out)
{
    static const char *const sizes[] = { "PMIX_SIZE", "OMPI_COMM_WORLD_SIZE",
                                         "SLURM_STEP_NUM_TASKS" };
    const char *job = pen_knob_from_process(NULL, "PMIX_NAMESPACE");
    if (job == NULL || !number_of("PMIX_RANK", &out->rank))
        return false;
    (void)snprintf(out->job, sizeof(out->job), "pmix %s", job);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (number_of(sizes[i], &out->size))
            return true;
    }
    return false;
}

static bool find_identity(pen_log *log, const p4_values *values, p4_identity *out)
{
    *out = (p4_identity){ .rank = 0, .size = 1 };
    if (values->job != NULL) {
        (void)snprintf(out->job, sizeof(out->job), "named %s", values->job);
        out->rank = values->rank < 0 ? UINT32_MAX : (uint32_t)values->rank;
        out->size = values->size < 0 ? 0 : (uint32_t)values->size;
    } else if (!from_penstock(out) && !from_pmix(out)) {
        *out = (p4_identity){ .rank = 0, .size = 1 };
    }
    if (out->size >= 1 && out->size <= PEN_PORTALS_PROCESSES_MAX && out->rank < out->size)
        return true;
    pen_log_error(log,
                  "cannot start: the job has %u processes, of which this is number %u: a job has 1 "
                  "to %d, numbered from 0; see PENSTOCK_PORTALS_RANK and _SIZE",
                  out->size, out->rank, PEN_PORTALS_PROCESSES_MAX);
    return false;
}

static bool is_time(double seconds) { return seconds >= 0 && seconds <= 1; }
static bool is_count(int64_t value) { return value >= 0 && value <= INT32_MAX; }
static uint32_t ns_of(double seconds) { return (uint32_t)(seconds * 1e9); }

static bool are_counts(const pen_portals_costs *c)
{
    return is_count(c->full) && is_count(c->drop) && is_count(c->disable) && is_count(c->fail) &&
           is_count(c->late);
}

const char *pen_portals_costs_apply(const pen_portals_costs *costs, pen_portals_config *config)
{
    if (!is_time(costs->latency_s) || !is_time(costs->step_s) || !is_time(costs->register_s) ||
        !is_time(costs->page_s) || !is_time(costs->late_s))
        return "times must be 0 to 1 s";
    if (!are_counts(costs))
        return "PENSTOCK_PORTALS_FAULT_... must not be negative";
    if (costs->bandwidth / 1000000 > UINT32_MAX)
        return "a size is too large";
    config->model = (pen_portals_model){ .latency_ns = ns_of(costs->latency_s),
                                         .step_ns = ns_of(costs->step_s),
                                         .bytes_per_us = (uint32_t)(costs->bandwidth / 1000000),
                                         .register_ns = ns_of(costs->register_s),
                                         .register_ns_a_page = ns_of(costs->page_s) };
    config->faults = (pen_portals_faults){ .seed = (uint64_t)costs->seed,
                                           .full_one_in = (uint32_t)costs->full,
                                           .drop_one_in = (uint32_t)costs->drop,
                                           .disable_one_in = (uint32_t)costs->disable,
                                           .fail_one_in = (uint32_t)costs->fail,
                                           .late_one_in = (uint32_t)costs->late,
                                           .late_ns = ns_of(costs->late_s) };
    return NULL;
}

static const char *plan(const p4_values *v, uint32_t processes, pen_portals_config *config)
{
    if (v->ring_len > UINT32_MAX)
        return "a size is too large";
    pen_portals_config_default(config);
    config->processes = processes;
    config->ring_len = (uint32_t)v->ring_len;
    config->helper = v->helper;
    const char *why = pen_portals_costs_apply(&v->costs, config);
    return why != NULL ? why : pen_portals_config_check(config);
}

bool p4_settings_read(pen_log *log, p4_identity *identity, pen_portals_config *config)
{
    p4_values values = { 0 };
    if (pen_knob_read(log, p4_knobs, &values, NULL, NULL) != PEN_OK ||
        !find_identity(log, &values, identity))
        return false;
    const char *why = plan(&values, identity->size, config);
    if (why != NULL)
        pen_log_error(log, "cannot start the card: %s", why);
    return why == NULL;
}
