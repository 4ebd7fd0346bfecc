/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.h: the parts of the tools library (gasnett_...) that need no job and keep nothing: the rate
 * of the processor's time-stamp counter, numbers as people write them, sums over blocks of memory,
 * limits of the process. api/ keeps what there is to keep. */
#ifndef PEN_TOOLS_TOOLS_H
#define PEN_TOOLS_TOOLS_H

#include "base/status.h"
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

/* Whether this processor has a counter that a program can read, and that runs at one rate on all
 * cores whatever they do. clocksource: the kernel's choice of clock, a file; NULL: the usual one.
 */
bool pen_tools_counter_usable(const char *clocksource);

typedef struct pen_tools_rate {
    double hz;
    double bound; /* its relative error, at most */
} pen_tools_rate;

/* The error that a stated rate may have: crystals are that exact, and the system's clock is slewed
 * by no more. */
#define PEN_TOOLS_STATED_BOUND 5e-4

/* The counter's rate in Hz as the processor or its hypervisor states it, at no delay; 0: neither
 * does. */
double pen_tools_counter_stated_hz(void);

/* Of a measured rate and a stated one, which may be 0: the stated one, if the measurement allows
 * it, else the measured one. */
pen_tools_rate pen_tools_rate_choose(pen_tools_rate measured, double stated_hz);

/* The counter's rate in Hz, as config wants it: measured, as /proc/cpuinfo has it, or given.
 * The measured rate is the truth that the other two are held against: a rate that is off by more
 * than the tolerance draws a warning, by more than the hard tolerance it is not used. What may be
 * an error of the measurement counts for the rate. cpuinfo: a file; NULL: the usual one. */
double pen_tools_counter_hz(const pen_tools_config *config, pen_tools_rate measured,
                            const char *cpuinfo, pen_log *log);

/* Converts ticks to nanoseconds by a factor of 32 bits before and 32 behind the point, exact to one
 * part in 10^9, for as long as the result fits. */
uint64_t pen_tools_tick_factor(double hz);
uint64_t pen_tools_ticks_to_ns(uint64_t ticks, uint64_t factor);

/* ---- numbers --------------------------------------------------------------------------------- */

/* See gasnett_parse_int; false when the text is no number. */
bool pen_tools_parse_int(const char *text, uint64_t memory_unit, int64_t *out);
bool pen_tools_parse_real(const char *text, double *out); /* also a fraction like 1/3 */
/* See gasnett_format_number. */
void pen_tools_format_number(int64_t value, char *buffer, size_t size, bool is_mem_size);

uint64_t pen_tools_checksum(const void *source, size_t len);
size_t pen_tools_count_zeros(const void *source, size_t len);

/* ---- the process ----------------------------------------------------------------------------- */

bool pen_tools_maximize_limit(int limit);
bool pen_tools_bind(unsigned i); /* this thread to the i-th (modulo) processor it may use */
/* The program's path; false if the system does not tell. */
bool pen_tools_program(char *out, size_t size);

#endif
