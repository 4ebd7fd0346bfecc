/* SPDX-License-Identifier: BSD-3-Clause */
/* job_config.c: the variables of a job, and the value of GASNET_MAX_SEGSIZE on this host. */
#include "base/compiler.h"
#include "base/status.h"
#include "boot/boot.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/checks.h"
#include "job/job_internal.h"
#include "knob/knob.h"
#include "link/impair.h"
#include "mem/kind.h"
#include "os/os.h"
#include "progress/progress.h"

#include <penstock/abi.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_MAX_DEFAULT "0.85/H"
#define SEGMENT_MAX_NAME    "GASNET_MAX_SEGSIZE"
#define CONDUIT_NAME        "PENSTOCK_CONDUIT"

const pen_knob pen_job_knobs[] = {
    { SEGMENT_MAX_NAME, PEN_KNOB_MEMORY, SEGMENT_MAX_DEFAULT, offsetof(pen_job_config, segment_max),
      "Largest segment a rank may ask for: a size or a fraction of the host's memory, for each "
      "rank or "
      "(/H) for all ranks of a host together." },
    { "GASNET_USE_HUGEPAGES", PEN_KNOB_BOOL, "no", offsetof(pen_job_config, huge_pages),
      "Whether segments are made of huge pages: all of their memory is taken when they are made, "
      "and random access is faster." },
    { "GASNET_MAX_THREADS", PEN_KNOB_INT, "256", offsetof(pen_job_config, threads_max),
      "Threads of one rank that may use the library at the same time." },
    { CONDUIT_NAME, PEN_KNOB_STRING, NULL, offsetof(pen_job_config, conduit),
      "Conduit to use, or a pair: with udp+extoll messages go over the first, and puts and gets "
      "over "
      "the second. Unset: the best one for the job." },
    { "PENSTOCK_ALLOW_OTHER_CONDUIT", PEN_KNOB_BOOL, "no",
      offsetof(pen_job_config, allow_other_conduit),
      "Whether a program that was built for the smp conduit may run where ranks share no memory." },
    { "PENSTOCK_DEVICE", PEN_KNOB_STRING, NULL, offsetof(pen_job_config, device),
      "Device behind the memory kinds CUDA, HIP and Level Zero: standin (host memory that only "
      "copies reach, to try programs with); unset: none." },
    { "PENSTOCK_CHECK_OFF", PEN_KNOB_STRING, NULL, offsetof(pen_job_config, check_off),
      "Checked builds: classes of mistakes that are not looked for, separated by commas; see "
      "docs/guide/find-a-mistake.md." },
    { "PENSTOCK_CHECKED", PEN_KNOB_BOOL, "no", offsetof(pen_job_config, wants_checks),
      "Whether rank 0 warns if its library makes no checks; `penstock run --checked` sets it." },
    { "PENSTOCK_CHECK_OVERLAP", PEN_KNOB_BOOL, "no", offsetof(pen_job_config, check_overlap),
      "Checked builds: whether operations that use memory of an outstanding one are reported." },
    { "PENSTOCK_STATS", PEN_KNOB_BOOL, "no", offsetof(pen_job_config, stats),
      "Whether each rank prints its counters when it ends." },
    { "GASNET_STATSFILE", PEN_KNOB_STRING, "", offsetof(pen_job_config, stats_file),
      "File to which each rank adds its counters when it ends; % in the name becomes its rank; - "
      "or "
      "stderr: the standard error, stdout: the standard output." },
    { "GASNET_VERBOSEENV", PEN_KNOB_BOOL, "no", offsetof(pen_job_config, verbose_env),
      "Whether rank 0 prints every variable with its value at the start." },
    { "GASNET_EXITTIMEOUT", PEN_KNOB_SECONDS, NULL, offsetof(pen_job_config, exit_timeout),
      "Time for an orderly end; unset: computed from the next three." },
    { "GASNET_EXITTIMEOUT_MAX", PEN_KNOB_SECONDS, "5", offsetof(pen_job_config, exit_timeout_max),
      "Upper bound of the time for an orderly end." },
    { "GASNET_EXITTIMEOUT_MIN", PEN_KNOB_SECONDS, "1", offsetof(pen_job_config, exit_timeout_min),
      "Time for an orderly end before the share of each rank is added." },
    { "GASNET_EXITTIMEOUT_FACTOR", PEN_KNOB_SECONDS, "0.1",
      offsetof(pen_job_config, exit_timeout_factor),
      "Time for an orderly end that each rank adds." },
    { 0 },
};

typedef struct job_lookup {
    const pen_boot *boot;
    const pen_job_params *defaults; /* the client's default, or NULL */
} job_lookup;

static const char *job_find(void *ctx, const char *name)
{
    const job_lookup *lookup = ctx;
    const char *value = pen_boot_getenv(lookup->boot, name);
    if (value != NULL || lookup->defaults == NULL)
        return value;
    return strcmp(name, SEGMENT_MAX_NAME) == 0 ? lookup->defaults->segment_max
           : strcmp(name, CONDUIT_NAME) == 0   ? lookup->defaults->conduit
                                               : NULL;
}

static void job_print_table(const pen_job *job, const pen_knob *table)
{
    for (const pen_knob *row = table; row != NULL && row->name != NULL; row++) {
        const char *value = pen_boot_getenv(&job->boot, row->name);
        pen_knob_print(stderr, row, value != NULL ? value : row->fallback, value == NULL);
    }
}

/* Reads one table into its struct. On rank 0, prints it if the user asked. */
static pen_status job_read_table(pen_job *job, const pen_knob *table, void *config,
                                 const pen_job_params *defaults)
{
    job_lookup lookup = { &job->boot, defaults };
    pen_status status = pen_knob_read(&job->log, table, config, job_find, &lookup);
    if (status == PEN_OK && job->config.verbose_env && job->rank == 0)
        job_print_table(job, table);
    return status;
}

pen_status pen_job_read_config(pen_job *job, const pen_job_params *params)
{
    pen_status status = job_read_table(job, pen_job_knobs, &job->config, params);
    const char *device = job->config.device;
    if (status == PEN_OK && device != NULL && device[0] != '\0' && pen_kind_find(device) == NULL) {
        pen_log_error(
            &job->log,
            "PENSTOCK_DEVICE=%s: this build has no such device; give standin, or unset it", device);
        return PEN_ERR_ARGUMENT;
    }
    if (status == PEN_OK && job->config.threads_max < 1) {
        pen_log_error(&job->log,
                      "GASNET_MAX_THREADS=%lld: at least one thread uses the library; "
                      "give a number from 1 up",
                      (long long)job->config.threads_max);
        return PEN_ERR_ARGUMENT;
    }
    if (status != PEN_OK)
        return status;
    job->config.stats = job->config.stats || job->config.stats_file[0] != '\0';
    return pen_checks_parse(&job->log, job->config.check_off, job->config.check_overlap,
                            &job->checks_off);
}

pen_status pen_job_read_progress_config(pen_job *job, pen_progress_config *out)
{
    return job_read_table(job, pen_progress_knobs, out, NULL);
}

pen_status pen_job_read_impair_config(pen_job *job, pen_impair_config *out)
{
    return job_read_table(job, pen_impair_knobs, out, NULL);
}

pen_status pen_job_read_conduit_config(pen_job *job, const pen_conduit *conduit, uint64_t *config)
{
    PEN_INVARIANT(conduit->config_len <= PEN_CONDUIT_CONFIG_MAX);
    memset(config, 0, PEN_CONDUIT_CONFIG_MAX);
    if (conduit->knobs == NULL)
        return PEN_OK;
    return job_read_table(job, conduit->knobs, config, NULL);
}

uintptr_t pen_job_segment_limit(const pen_job *job)
{
    const pen_memory_limit *wish = &job->config.segment_max;
    if (job->segment_mode == PEN_SEGMENT_EVERYTHING)
        return UINTPTR_MAX;
    const pen_host_page *page = job->boot.page;
    double physical = (double)(page != NULL ? page->memory_physical : pen_memory_physical());
    uint64_t limit = wish->len != 0 ? wish->len : (uint64_t)(wish->fraction * physical);
    if (wish->per_host)
        limit /= page != NULL ? page->size : job->size;
    if (limit > job->mem.budget) /* the memory present now, as the default depends on it */
        limit = job->mem.budget;
    if (job->mem.slice != NULL && limit > job->mem.slice_len)
        limit = job->mem.slice_len;
    limit -= limit % PEN_SEGMENT_GRAIN;
    return limit < PEN_SEGMENT_GRAIN ? PEN_SEGMENT_GRAIN : (uintptr_t)limit;
}
