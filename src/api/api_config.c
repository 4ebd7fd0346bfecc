/* SPDX-License-Identifier: BSD-3-Clause */
/* api_config.c: the rows of the variables that api/ reads. */
#include "api/config.h"

#include "boot/knobs.h"
#include "coll/barrier.h"
#include "conduit/conduit.h"
#include "conduit/modules.h"
#include "job/config.h"
#include "knob/knob.h"
#include "link/impair.h"
#include "progress/progress.h"
#include "tools/tools.h"

#include <stddef.h>

const pen_knob pen_api_knobs[] = {
    { "GASNET_QUIET", PEN_KNOB_BOOL, "0", offsetof(pen_api_config, quiet),
      "Whether warnings are left out." },
    { "PENSTOCK_LOG", PEN_KNOB_STRING, "warn", offsetof(pen_api_config, log_level),
      "The least important messages to print: error, warn or info." },
    { "GASNET_CATCH_EXIT", PEN_KNOB_BOOL, "1", offsetof(pen_api_config, catch_exit),
      "Whether exit() with a status other than 0 ends the whole job with it." },
    { "GASNET_NO_CATCH_SIGNAL", PEN_KNOB_STRING, NULL, offsetof(pen_api_config, no_catch),
      "Signals to leave alone: names or numbers separated by commas, or *." },
    { "GASNET_BACKTRACE", PEN_KNOB_BOOL, "0", offsetof(pen_api_config, backtrace),
      "Whether a rank that crashes or ends the job over an error prints its stack." },
    { "GASNET_BACKTRACE_NODES", PEN_KNOB_STRING, "*", offsetof(pen_api_config, backtrace_nodes),
      "The ranks that print stacks: numbers and ranges like 0,4-7, or *." },
    { "GASNET_BACKTRACE_SIGNAL", PEN_KNOB_STRING, NULL, offsetof(pen_api_config, backtrace_signal),
      "A signal on which a rank prints its stack and goes on, like SIGUSR1." },
    { "GASNET_FREEZE", PEN_KNOB_BOOL, "0", offsetof(pen_api_config, freeze),
      "Whether each rank waits for a debugger, or SIGCONT, when the job starts." },
    { "GASNET_FREEZE_SIGNAL", PEN_KNOB_STRING, NULL, offsetof(pen_api_config, freeze_signal),
      "A signal on which a rank waits for a debugger, or SIGCONT, like SIGUSR2." },
    { NULL, PEN_KNOB_BOOL, NULL, 0, NULL },
};

size_t pen_api_tables(pen_api_table *out, size_t most)
{
    const pen_api_table fixed[] = {
        { "boot", pen_boot_knobs },       { "launch", pen_launch_knobs },
        { "job", pen_job_knobs },         { "progress", pen_progress_knobs },
        { "coll", pen_coll_knobs },       { "api", pen_api_knobs },
        { "tools", pen_tools_knobs },     { "link", pen_impair_knobs },
        { "conduit", pen_conduit_knobs },
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0] && count < most; i++)
        out[count++] = fixed[i];
    for (const pen_conduit *const *at = pen_builtin_conduits; *at != NULL && count < most; at++)
        if ((*at)->knobs != NULL)
            out[count++] = (pen_api_table){ (*at)->name, (*at)->knobs };
    return count;
}
