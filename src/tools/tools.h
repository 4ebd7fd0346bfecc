/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.h: the parts of the tools library (gasnett_...) that need no job and keep no state: the
 * rate of the processor's time-stamp counter, numbers as people write them, checksums of blocks
 * of memory, limits of the process. State is kept in api/. */
#ifndef PEN_TOOLS_TOOLS_H
#define PEN_TOOLS_TOOLS_H

#include "diag/log.h"
#include "knob/knob.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_tools_config {
    const char *tsc_rate;        /* GASNET_TSC_RATE */
    double tsc_tolerance;        /* GASNET_TSC_RATE_TOLERANCE */
    double tsc_hard_tolerance;   /* GASNET_TSC_RATE_HARD_TOLERANCE */
    bool tsc_verbose;            /* GASNET_TSC_VERBOSE */
    bool freeze_on_error;        /* GASNET_FREEZE_ON_ERROR */
    bool backtrace_threads;      /* GASNET_BACKTRACE_MT */
    const char *backtrace_types; /* GASNET_BACKTRACE_TYPE */
} pen_tools_config;

extern const pen_knob pen_tools_knobs[];

/* ---- the time-stamp counter ------------------------------------------------------------------ */

/* Does this processor have a counter that programs can read, and that runs at one rate on all
 * cores in all power states? clocksource: the file that names the kernel's clock; NULL: the
 * usual one. */
bool pen_tools_counter_usable(const char *clocksource);

typedef struct pen_tools_rate {
    double hz;
    double bound; /* upper bound of its relative error */
} pen_tools_rate;

/* Permitted error of a stated rate: the tolerance of crystals, and the limit of the slewing of
 * the system's clock. */
#define PEN_TOOLS_STATED_BOUND 5e-4

/* The counter's rate in Hz as the processor or its hypervisor reports it, without delay; 0 if
 * neither does. */
double pen_tools_counter_stated_hz(void);

/* Chooses between a measured and a stated rate: the stated one, unless it is 0 or the
 * measurement contradicts it. */
pen_tools_rate pen_tools_rate_choose(pen_tools_rate measured, double stated_hz);

/* The counter's rate in Hz by the method in config: measured, from /proc/cpuinfo, or given. The
 * measured rate is the reference. If the chosen rate differs by more than the tolerance, a
 * warning is printed; by more than the hard tolerance, the measured rate is used. The possible
 * error of the measurement is subtracted first. cpuinfo: a file; NULL: the usual one. */
double pen_tools_counter_hz(const pen_tools_config *config, pen_tools_rate measured,
                            const char *cpuinfo, pen_log *log);

/* Converts ticks to nanoseconds. The factor has 32 bits before and 32 behind the point, so it is
 * exact to one part in 10^9. The result must fit. */
uint64_t pen_tools_tick_factor(double hz);
uint64_t pen_tools_ticks_to_ns(uint64_t ticks, uint64_t factor);

/* ---- numbers --------------------------------------------------------------------------------- */

/* See gasnett_parse_int. Returns false if the text is not a number. */
bool pen_tools_parse_int(const char *text, uint64_t memory_unit, int64_t *out);
bool pen_tools_parse_real(const char *text, double *out); /* also a fraction like 1/3 */
/* See gasnett_format_number. */
void pen_tools_format_number(int64_t value, char *buffer, size_t size, bool is_mem_size);

uint64_t pen_tools_checksum(const void *source, size_t len);
size_t pen_tools_count_zeros(const void *source, size_t len);

/* ---- the process ----------------------------------------------------------------------------- */

bool pen_tools_maximize_limit(int limit);
bool pen_tools_bind(unsigned i); /* binds this thread to its i-th (modulo) allowed processor */
/* The program's path. Returns false if the system does not report it. */
bool pen_tools_program(char *out, size_t size);

#endif
