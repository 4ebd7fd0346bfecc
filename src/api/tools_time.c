/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_time.c: ticks, sleeping, giving the processor away. Whether ticks are the processor's
 * counter is decided by the first call that reads them; its rate is measured between that moment
 * and the first conversion, at least MEASURE_NS later. */
#include "api/tools.h"

#include "os/os.h"

#include <errno.h>
#include <sched.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_S   UINT64_C(1000000000)
#define NS_PER_US  1000
#define US_PER_S   UINT64_C(1000000)
#define MEASURE_NS UINT64_C(10000000)
enum { TRIES = 8, READINGS = 1000, COUNTER = 1, CLOCK = 2 };

typedef struct tick_sample {
    uint64_t ticks, ns;
} tick_sample;

unsigned char pen_tick_source;

static struct {
    pthread_once_t decide_once, measure_once;
    tick_sample start;
    uint64_t factor;
} ticks = { .decide_once = PTHREAD_ONCE_INIT, .measure_once = PTHREAD_ONCE_INIT };

/* Both clocks at one moment: the pair that was read in the shortest time. */
static tick_sample take_sample(void)
{
    tick_sample best = { 0 };
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = pen_now_ns(), count = pen_tick_counter(), after = pen_now_ns();
        if (after - before < shortest) {
            shortest = after - before;
            best = (tick_sample){ .ticks = count, .ns = before + shortest / 2 };
        }
    }
    return best;
}

static void decide(void)
{
    unsigned char source = CLOCK;
    if (pen_tools_counter_usable(NULL)) {
        ticks.start = take_sample();
        if (pen_tick_counter() > ticks.start.ticks)
            source = COUNTER;
    }
    /* relaxed: whoever reads it needs nothing that was written before it */
    __atomic_store_n(&pen_tick_source, source, __ATOMIC_RELAXED);
}

static bool is_counter(void)
{
    (void)pthread_once(&ticks.decide_once, decide);
    return __atomic_load_n(&pen_tick_source, __ATOMIC_RELAXED) == COUNTER;
}

uint64_t pen_api_ticks(void) { return is_counter() ? pen_tick_counter() : pen_now_ns(); }

static void measure(void)
{
    const pen_tools_config *config = pen_api_tools_config();
    pen_log *log = pen_api_tools_log();
    uint64_t now;
    while ((now = pen_now_ns()) < ticks.start.ns + MEASURE_NS)
        (void)gasnett_nsleep(ticks.start.ns + MEASURE_NS - now);
    tick_sample end = take_sample();
    double measured_hz = (double)(end.ticks - ticks.start.ticks) * (double)NS_PER_S /
                         (double)(end.ns - ticks.start.ns);
    double hz = pen_tools_counter_hz(config, measured_hz, NULL, log);
    ticks.factor = pen_tools_tick_factor(hz);
    if (config->tsc_verbose) {
        pen_log voluble = *log; /* who asks is told, whatever else is shown */
        voluble.level = PEN_LOG_INFO;
        pen_log_info(&voluble, "ticks are the processor's counter, at %.0f Hz (measured: %.0f Hz)",
                     hz, measured_hz);
    }
}

uint64_t gasnett_ticks_to_ns(gasnett_tick_t count)
{
    if (!is_counter())
        return count;
    (void)pthread_once(&ticks.measure_once, measure);
    return pen_tools_ticks_to_ns(count, ticks.factor);
}

uint64_t gasnett_ticks_to_us(gasnett_tick_t count)
{
    return gasnett_ticks_to_ns(count) / NS_PER_US;
}

double gasnett_tick_granularityus(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        gasnett_tick_t first = gasnett_ticks_now(), second;
        do
            second = gasnett_ticks_now();
        while (second == first);
        if (second - first < least)
            least = second - first;
    }
    /* The least step is often less than a nanosecond: scale before converting. */
    return (double)gasnett_ticks_to_ns(least * NS_PER_US) / NS_PER_US / NS_PER_US;
}

double gasnett_tick_overheadus(void)
{
    gasnett_tick_t start = gasnett_ticks_now();
    for (int i = 0; i < READINGS; i++)
        (void)gasnett_ticks_now();
    uint64_t ns = gasnett_ticks_to_ns(gasnett_ticks_now() - start);
    return (double)ns / READINGS / NS_PER_US;
}

uint64_t gasnett_gettimeofday_us(void)
{
    struct timeval now;
    (void)gettimeofday(&now, NULL);
    return (uint64_t)now.tv_sec * US_PER_S + (uint64_t)now.tv_usec;
}

int gasnett_nsleep(uint64_t ns)
{
    struct timespec time = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
    return nanosleep(&time, NULL) == 0 ? 0 : errno;
}

void gasnett_sched_yield(void) { (void)sched_yield(); }
