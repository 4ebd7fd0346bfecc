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
    double latency_s, step_s, register_s, page_s, late_s;
    uint64_t bandwidth;
    int64_t seed, full, drop, disable, fail, late;
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
    { "PENSTOCK_PORTALS_LATENCY", PEN_KNOB_SECONDS, "0", offsetof(p4_values, latency_s),
      "Cost model: latency of a packet." },
    { "PENSTOCK_PORTALS_STEP", PEN_KNOB_SECONDS, "0", offsetof(p4_values, step_s),
      "Cost model: further latency if more than 16 bytes of payload follow the header." },
    { "PENSTOCK_PORTALS_BANDWIDTH", PEN_KNOB_BYTES, "0", offsetof(p4_values, bandwidth),
      "Cost model: bytes per second that a process sends; 0: no limit." },
    { "PENSTOCK_PORTALS_REGISTER", PEN_KNOB_SECONDS, "0", offsetof(p4_values, register_s),
      "Cost model: time to register memory (descriptors and entries) ..." },
    { "PENSTOCK_PORTALS_REGISTER_PAGE", PEN_KNOB_SECONDS, "0", offsetof(p4_values, page_s),
      "Cost model: ... and for each of its pages." },
    { "PENSTOCK_PORTALS_FAULT_SEED", PEN_KNOB_INT, "1", offsetof(p4_values, seed),
      "For tests: seed of the random faults below." },
    { "PENSTOCK_PORTALS_FAULT_FULL", PEN_KNOB_INT, "0", offsetof(p4_values, full),
      "For tests: report a full event queue once every N messages with flow control." },
    { "PENSTOCK_PORTALS_FAULT_DROP", PEN_KNOB_INT, "0", offsetof(p4_values, drop),
      "For tests: drop one of every N messages without flow control." },
    { "PENSTOCK_PORTALS_FAULT_DISABLE", PEN_KNOB_INT, "0", offsetof(p4_values, disable),
      "For tests: disable a portal with flow control once every N messages." },
    { "PENSTOCK_PORTALS_FAULT_FAIL", PEN_KNOB_INT, "0", offsetof(p4_values, fail),
      "For tests: let one of every N operations end as undeliverable." },
    { "PENSTOCK_PORTALS_FAULT_LATE", PEN_KNOB_INT, "0", offsetof(p4_values, late),
      "For tests: delay one of every N acknowledgements and replies ..." },
    { "PENSTOCK_PORTALS_FAULT_LATE_TIME", PEN_KNOB_SECONDS, "1ms", offsetof(p4_values, late_s),
      "For tests: ... by this time." },
    { 0 },
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

static bool are_counts(const p4_values *v)
{
    return is_count(v->full) && is_count(v->drop) && is_count(v->disable) && is_count(v->fail) &&
           is_count(v->late);
}

static const char *plan(const p4_values *v, uint32_t processes, pen_portals_config *config)
{
    if (!is_time(v->latency_s) || !is_time(v->step_s) || !is_time(v->register_s) ||
        !is_time(v->page_s) || !is_time(v->late_s))
        return "times must be 0 to 1 s";
    if (!are_counts(v))
        return "PENSTOCK_PORTALS_FAULT_... must not be negative";
    if (v->ring_len > UINT32_MAX || v->bandwidth / 1000000 > UINT32_MAX)
        return "a size is too large";
    pen_portals_config_default(config);
    config->processes = processes;
    config->ring_len = (uint32_t)v->ring_len;
    config->helper = v->helper;
    config->model = (pen_portals_model){ .latency_ns = ns_of(v->latency_s),
                                         .step_ns = ns_of(v->step_s),
                                         .bytes_per_us = (uint32_t)(v->bandwidth / 1000000),
                                         .register_ns = ns_of(v->register_s),
                                         .register_ns_a_page = ns_of(v->page_s) };
    config->faults = (pen_portals_faults){ .seed = (uint64_t)v->seed,
                                           .full_one_in = (uint32_t)v->full,
                                           .drop_one_in = (uint32_t)v->drop,
                                           .disable_one_in = (uint32_t)v->disable,
                                           .fail_one_in = (uint32_t)v->fail,
                                           .late_one_in = (uint32_t)v->late,
                                           .late_ns = ns_of(v->late_s) };
    return pen_portals_config_check(config);
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
