/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.c: the state of the tools library in a process (like root.c, which has the job's), and
 * figures and names of the machine. */
#include "api/tools.h"

#include "api/api.h"
#include "base/status.h"
#include "boot/boot.h"
#include "diag/log.h"
#include "job/job.h"
#include "knob/knob.h"
#include "os/os.h"
#include "pen_config.h"
#include "tools/tools.h"

#include <gasnet.h>
#include <gasnet_tools.h>
#include <gasnetex.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct {
    pthread_once_t config_once, host_once, program_once;
    pen_tools_config config;
    pen_status config_status;
    pen_log log; /* for a process without a job; the host's name is valid in every process */
    char program[PATH_MAX];
} tools = { .config_once = PTHREAD_ONCE_INIT,
            .host_once = PTHREAD_ONCE_INIT,
            .program_once = PTHREAD_ONCE_INIT };

static void open_log(void) { pen_log_init(&tools.log, "tools"); }

pen_log *pen_api_tools_log(void)
{
    if (pen_api_root.job != NULL)
        return &pen_api_root.job->log;
    (void)pthread_once(&tools.host_once, open_log);
    return &tools.log;
}

const char *pen_api_tools_getenv(const char *name)
{
    const pen_job *job = pen_api_root.job;
    return job != NULL ? pen_boot_getenv(&job->boot, name) : pen_knob_from_process(NULL, name);
}

static const char *look_up(void *ctx, const char *name)
{
    (void)ctx;
    return pen_api_tools_getenv(name);
}

static void read_config(void)
{
    pen_log *log = pen_api_tools_log();
    tools.config_status = pen_knob_read(log, pen_tools_knobs, &tools.config, look_up, NULL);
}

pen_status pen_api_tools_open(void)
{
    (void)pthread_once(&tools.config_once, read_config);
    return tools.config_status;
}

const pen_tools_config *pen_api_tools_config(void)
{
    if (pen_api_tools_open() != PEN_OK)
        abort(); /* the line is printed; the rest of a fatal error needs this table */
    return &tools.config;
}

/* ---- versions and names ---------------------------------------------------------------------- */

uint64_t gasnett_release_version(void)
{
    return GASNET_RELEASE_VERSION_MAJOR * UINT64_C(1000000) +
           GASNET_RELEASE_VERSION_MINOR * UINT64_C(10000) + GASNET_RELEASE_VERSION_PATCH;
}

const char *gasnett_release_version_str(void) { return GASNETI_RELEASE_VERSION; }

const char *gasnett_gethostname(void)
{
    (void)pthread_once(&tools.host_once, open_log);
    return tools.log.host[0] != '\0' ? tools.log.host : "unknown";
}

static void find_program(void)
{
    if (!pen_tools_program(tools.program, sizeof tools.program))
        (void)snprintf(tools.program, sizeof tools.program, "unknown");
}

const char *gasnett_exe_name(void)
{
    (void)pthread_once(&tools.program_once, find_program);
    return tools.program;
}

const char *gasnett_performance_warning_str(void)
{
    return PEN_CHECKED ? "        the library checks arguments and itself (checked build)\n" : "";
}

/* ---- the machine ----------------------------------------------------------------------------- */

int gasnett_cpu_count(void) { return (int)pen_cores_allowed(NULL); }

uint64_t gasnett_getPhysMemSz(int fatal)
{
    uint64_t len = pen_memory_physical();
    if (len == 0 && fatal != 0)
        pen_api_tools_fatal("gasnett_getPhysMemSz: the system does not tell how much memory it "
                            "has; mount /proc");
    return len;
}

int gasnett_set_affinity(int rank)
{
    if (pen_tools_bind((unsigned)rank))
        return 0;
    pen_log_warn(pen_api_tools_log(), "gasnett_set_affinity(%d): cannot bind this thread: %m",
                 rank);
    return 1;
}

int gasnett_maximize_rlimit(int limit, const char *name)
{
    char variable[64];
    (void)snprintf(variable, sizeof variable, "GASNET_MAXIMIZE_%s", name);
    if (gasnett_getenv_yesno_withdefault(variable, 1) == 0)
        return 0;
    return pen_tools_maximize_limit(limit) ? 1 : 0;
}

void gasnett_maximize_rlimits(void)
{
    static const struct {
        int limit;
        const char *name;
    } limits[] = {
        { RLIMIT_CPU, "RLIMIT_CPU" },         { RLIMIT_DATA, "RLIMIT_DATA" },
        { RLIMIT_STACK, "RLIMIT_STACK" },     { RLIMIT_AS, "RLIMIT_AS" },
        { RLIMIT_NOFILE, "RLIMIT_NOFILE" },   { RLIMIT_NPROC, "RLIMIT_NPROC" },
        { RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK" }, { RLIMIT_FSIZE, "RLIMIT_FSIZE" },
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        (void)gasnett_maximize_rlimit(limits[i].limit, limits[i].name);
}

/* ---- blocks of memory ------------------------------------------------------------------------ */

uint64_t gasnett_checksum(const void *source, int len)
{
    return pen_tools_checksum(source, len > 0 ? (size_t)len : 0);
}

size_t gasnett_count0s(const void *source, size_t len)
{
    return pen_tools_count_zeros(source, len);
}

size_t gasnett_count0s_copy(void *dest, const void *source, size_t len)
{
    if (len > 0)
        memcpy(dest, source, len);
    return pen_tools_count_zeros(source, len);
}
