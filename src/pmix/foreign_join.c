/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign_join.c: decides what a process does that another launcher started: it joins the job by
 * PMIx, refuses with an error, or runs alone. */
#include "pmix/pmix.h"

#include "base/status.h"
#include "boot/boot.h"
#include "boot/knobs.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "pmix/foreign.h"
#include "pmix/pmi.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* True if another launcher started this process as one of several. A child of a rank inherits the
 * launcher's variables but is not a rank. */
static bool is_launched_by_other(const pen_boot_config *config, const pen_foreign *foreign)
{
    long parent;
    bool is_child =
        pen_boot_number("PENSTOCK_PMIX_PID", INT_MAX, &parent) && parent != (long)getpid();
    return !config->alone && !is_child && foreign->launcher != NULL && !foreign->single;
}

static pen_status refuse_singletons(pen_log *log, const pen_foreign *foreign)
{
    pen_log_error(
        log,
        "cannot join the job of the %s launcher that started this process (found %s; %s%s%s): "
        "tried `penstock run` (no PENSTOCK_CONTROL_FD) and PMIx (no PMIX_RANK), and Penstock does "
        "not speak %s as this launcher does; start with `penstock run -n N` or a launcher that "
        "speaks PMIx (Open MPI's mpirun, srun --mpi=pmix), or set PENSTOCK_ALONE=1 to run each "
        "process as a job of one",
        foreign->launcher, foreign->found,
        foreign->size_name != NULL ? foreign->size_name : "its number of processes is not told",
        foreign->size_name != NULL ? "=" : "", foreign->size != NULL ? foreign->size : "",
        foreign->launcher);
    return PEN_ERR_UNUSABLE;
}

pen_status pen_foreign_join(pen_log *log, const pen_boot_needs *needs,
                            const pen_boot_config *config, pen_boot *out, bool *alone)
{
    pen_foreign foreign = pen_foreign_find(pen_knob_from_process, NULL);
    *alone = !is_launched_by_other(config, &foreign);
    if (*alone)
        return PEN_OK;
    if (strcmp(foreign.launcher, "PMIx") != 0 && !pen_pmi_is_there())
        return refuse_singletons(log, &foreign);
    pen_status status = pen_pmix_join(log, &foreign, needs, out, alone);
    if (status != PEN_OK || *alone)
        return status;
    char pid[16];
    (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
    /* otherwise children of this process would try to join */
    (void)pen_knob_to_process("PENSTOCK_PMIX_PID", pid);
    return PEN_OK;
}
