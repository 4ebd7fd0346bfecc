/* SPDX-License-Identifier: BSD-3-Clause */
/* counter.c: tests whether the processor's time-stamp counter can serve as a clock, and finds
 * its rate. */
#include "tools/tools.h"

#include "diag/log.h"
#include "knob/knob.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#    include <cpuid.h>
#endif

#define CLOCKSOURCE_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CPUINFO_FILE     "/proc/cpuinfo"
#define FACTOR_ONE       4294967296.0 /* 2^32 */
#define NS_PER_S         1e9
#define HZ_PER_MHZ       1e6
#define HZ_MIN           1e3 /* a rate outside these bounds is not plausible */
#define HZ_MAX           1e11

/* ---- usable? --------------------------------------------------------------------------------- */

static bool processor_promises(void)
{
#if defined(__x86_64__) || defined(__i386__)
    const unsigned leaf_power = 0x80000007, invariant = 1u << 8;
    unsigned a, b, c, d;
    return __get_cpuid(leaf_power, &a, &b, &c, &d) != 0 && (d & invariant) != 0;
#elif defined(__aarch64__)
    return true; /* the architecture guarantees it */
#else
    return false;
#endif
}

/* The kernel watches the counter, and uses a different clock if the counter is unreliable. The
 * clocks of hypervisors are based on the counter. */
static bool kernel_distrusts(const char *path)
{
    FILE *in = fopen(path != NULL ? path : CLOCKSOURCE_FILE, "re");
    if (in == NULL)
        return false; /* not told */
    char name[32] = "";
    if (fscanf(in, "%31s", name) != 1)
        name[0] = '\0';
    fclose(in);
    return strcmp(name, "hpet") == 0 || strcmp(name, "acpi_pm") == 0 ||
           strcmp(name, "jiffies") == 0;
}

bool pen_tools_counter_usable(const char *clocksource)
{
    return processor_promises() && !kernel_distrusts(clocksource);
}

/* ---- the rate that is stated ------------------------------------------------------------------
 */

#if defined(__x86_64__) || defined(__i386__)

/* The counter runs at a multiple of a crystal, whose rate newer processors report. */
static double hz_of_crystal(void)
{
    const unsigned leaf_counter = 0x15;
    unsigned divisor, multiplier, crystal_hz, unused;
    if (__get_cpuid(leaf_counter, &divisor, &multiplier, &crystal_hz, &unused) == 0 || divisor == 0)
        return 0;
    return (double)crystal_hz * multiplier / divisor;
}

/* Several hypervisors report the rate in kHz. */
static double hz_of_hypervisor(void)
{
    const unsigned leaf_features = 1, hypervisor = 1u << 31;
    const unsigned leaf_first = 0x40000000, leaf_rate = 0x40000010, hz_per_khz = 1000;
    unsigned a, b, c, d;
    if (__get_cpuid(leaf_features, &a, &b, &c, &d) == 0 || (c & hypervisor) == 0)
        return 0;
    __cpuid(leaf_first, a, b, c, d);
    if (a < leaf_rate || a - leaf_first > UINT16_MAX)
        return 0;
    __cpuid(leaf_rate, a, b, c, d);
    return (double)a * hz_per_khz;
}

static double hz_stated(void)
{
    double hz = hz_of_crystal();
    return hz > 0 ? hz : hz_of_hypervisor();
}

#elif defined(__aarch64__)

static double hz_stated(void)
{
    uint64_t hz;
    __asm__ __volatile__("mrs %0, cntfrq_el0" : "=r"(hz));
    return (double)hz;
}

#else

static double hz_stated(void) { return 0; }

#endif

double pen_tools_counter_stated_hz(void)
{
    double hz = hz_stated();
    return hz >= HZ_MIN && hz <= HZ_MAX ? hz : 0;
}

pen_tools_rate pen_tools_rate_choose(pen_tools_rate measured, double stated_hz)
{
    if (stated_hz <= 0 || measured.bound <= PEN_TOOLS_STATED_BOUND ||
        fabs(stated_hz - measured.hz) > (measured.bound + PEN_TOOLS_STATED_BOUND) * measured.hz)
        return measured;
    return (pen_tools_rate){ .hz = stated_hz, .bound = PEN_TOOLS_STATED_BOUND };
}

/* ---- rate ------------------------------------------------------------------------------------ */

/* The nominal rate: from the name of the processor's model ("@ 2.20GHz"), otherwise the first
 * core's current rate; 0 if neither is known. */
static double rate_of_cpuinfo(const char *path)
{
    FILE *in = fopen(path != NULL ? path : CPUINFO_FILE, "re");
    if (in == NULL)
        return 0;
    char line[512];
    double named_ghz = 0, now_mhz = 0;
    while (fgets(line, sizeof line, in) != NULL) {
        const char *at = strstr(line, "@ ");
        if (strncmp(line, "model name", strlen("model name")) == 0 && at != NULL && named_ghz == 0)
            (void)sscanf(at, "@ %lfGHz", &named_ghz);
        else if (now_mhz == 0)
            (void)sscanf(line, "cpu MHz : %lf", &now_mhz);
    }
    fclose(in);
    return named_ghz > 0 ? named_ghz * NS_PER_S : now_mhz * HZ_PER_MHZ;
}

static double rate_wanted(const pen_tools_config *config, double measured_hz, const char *cpuinfo,
                          pen_log *log)
{
    const char *text = config->tsc_rate;
    double hz = 0;
    if (text == NULL || *text == '\0' || strcmp(text, "walltime") == 0)
        return measured_hz;
    if (strcmp(text, "cpuinfo") == 0) {
        hz = rate_of_cpuinfo(cpuinfo);
        if (hz <= 0)
            pen_log_warn(log, "GASNET_TSC_RATE=cpuinfo: %s has no rate; measured instead",
                         CPUINFO_FILE);
    } else if (!pen_knob_parse(PEN_KNOB_REAL, text, &hz) || hz < HZ_MIN || hz > HZ_MAX) {
        pen_log_warn(log,
                     "GASNET_TSC_RATE=%s: neither walltime nor cpuinfo nor a rate in Hz; measured "
                     "instead",
                     text);
        hz = 0;
    }
    return hz > 0 ? hz : measured_hz;
}

double pen_tools_counter_hz(const pen_tools_config *config, pen_tools_rate measured,
                            const char *cpuinfo, pen_log *log)
{
    const double measured_hz = measured.hz;
    double hz = rate_wanted(config, measured_hz, cpuinfo, log);
    double off = fabs(hz - measured_hz) / measured_hz - measured.bound;
    if (off > config->tsc_hard_tolerance) {
        pen_log_warn(log,
                     "GASNET_TSC_RATE=%s is %.0f Hz, but the counter runs at %.0f Hz; the latter "
                     "is used (GASNET_TSC_RATE_HARD_TOLERANCE=%g)",
                     config->tsc_rate, hz, measured_hz, config->tsc_hard_tolerance);
        return measured_hz;
    }
    if (off > config->tsc_tolerance)
        pen_log_warn(log,
                     "GASNET_TSC_RATE=%s is %.0f Hz, but the counter runs at %.0f Hz; times are "
                     "off by %.2g%% (GASNET_TSC_RATE_TOLERANCE=%g)",
                     config->tsc_rate, hz, measured_hz, 100 * off, config->tsc_tolerance);
    return hz;
}

/* ---- conversion ------------------------------------------------------------------------------ */

uint64_t pen_tools_tick_factor(double hz) { return (uint64_t)(NS_PER_S / hz * FACTOR_ONE + 0.5); }

uint64_t pen_tools_ticks_to_ns(uint64_t ticks, uint64_t factor)
{
    /* Multiplies in two halves, because the product has up to 96 bits. */
    uint64_t high = (ticks >> 32) * factor, low = (ticks & UINT32_MAX) * (factor & UINT32_MAX);
    uint64_t middle = (ticks & UINT32_MAX) * (factor >> 32);
    return high + middle + (low >> 32);
}
