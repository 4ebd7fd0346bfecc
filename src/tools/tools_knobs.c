/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_knobs.c: the variables of the tools. */
#include "tools/tools.h"

#include "knob/knob.h"

#define TOOLS_FIELD(field) offsetof(pen_tools_config, field)

const pen_knob pen_tools_knobs[] = {
    { "GASNET_TSC_RATE", PEN_KNOB_STRING, "walltime", TOOLS_FIELD(tsc_rate),
      "Rate of the counter behind gasnett_ticks_now: measured (walltime), cpuinfo, or in Hz." },
    { "GASNET_TSC_RATE_TOLERANCE", PEN_KNOB_REAL, "0.0005", TOOLS_FIELD(tsc_tolerance),
      "Warn if that rate differs by more than this part from the measured one." },
    { "GASNET_TSC_RATE_HARD_TOLERANCE", PEN_KNOB_REAL, "0.01", TOOLS_FIELD(tsc_hard_tolerance),
      "Use the measured rate if the wanted one differs by more than this part." },
    { "GASNET_TSC_VERBOSE", PEN_KNOB_BOOL, "no", TOOLS_FIELD(tsc_verbose),
      "Whether to print the source of gasnett_ticks_now, and its rate." },
    { "GASNET_FREEZE_ON_ERROR", PEN_KNOB_BOOL, "no", TOOLS_FIELD(freeze_on_error),
      "Whether a fatal error or a crash stops the process until a debugger, or SIGCONT, lets it "
      "go." },
    { "GASNET_BACKTRACE_TYPE", PEN_KNOB_STRING, "EXECINFO,GDB", TOOLS_FIELD(backtrace_types),
      "Ways to print a stack, the first that works: EXECINFO (of one thread), GDB (if "
      "installed)." },
    { "GASNET_BACKTRACE_MT", PEN_KNOB_BOOL, "yes", TOOLS_FIELD(backtrace_threads),
      "Whether GDB prints the stacks of all threads of a process." },
    { 0 },
};
