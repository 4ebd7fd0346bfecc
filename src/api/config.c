/* SPDX-License-Identifier: BSD-3-Clause */
/* config.c: the rows of the variables that api/ reads. */
#include "api/config.h"

#include <stddef.h>

const pen_knob pen_api_knobs[] = {
    { "GASNET_QUIET", PEN_KNOB_BOOL, "0", offsetof(pen_api_config, quiet),
      "Whether warnings are left out." },
    { "PENSTOCK_LOG", PEN_KNOB_STRING, "warn", offsetof(pen_api_config, log_level),
      "The most voluble messages shown: error, warn, info, debug or trace." },
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
