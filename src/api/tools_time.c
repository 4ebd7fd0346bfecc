/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_time.c: ticks, sleeping, giving the processor away.
 *
 * The first call that reads ticks decides whether they are the processor's counter. The counter's
 * rate is measured from two readings of counter and clock. The first reading is taken when the
 * library is loaded, so the first conversion has nothing to wait for. While the distance between
 * the readings is short, a rate that the processor states is used instead, if it agrees with the
 * measurement. Later conversions measure again over a longer distance, until one second has passed
 * since the first reading. */
#include "api/tools.h"

#include "api/api.h"
#include "api/time.h"
#include "base/compiler.h"
#include "diag/log.h"
#include "os/os.h"
#include "tools/tools.h"

#include <errno.h>
#include <gasnet.h>
#include <gasnet_tools.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_US 1000
#define US_PER_S  UINT64_C(1000000)
#define FINAL_NS  NS_PER_S       /* over this distance the rate is known well enough */
#define LEAST_NS  UINT64_C(5000) /* a shorter distance cannot be measured */
enum { TRIES = 8, READINGS = 1000, COUNTER = 1, CLOCK = 2, DISTANCE_STEP = 8 };

/* Counter and clock at one moment. The counter was read within window_ns around ns. */
typedef struct tick_sample {
    uint64_t ticks, ns, window_ns;
} tick_sample;

unsigned char pen_tick_source;

static struct {
    pthread_once_t decide_once, measure_once;
    tick_sample start;
    uint64_t factor;
    uint64_t again_ticks; /* distance from start at which to measure again; UINT64_MAX: never */
} ticks = { .decide_once = PTHREAD_ONCE_INIT, .measure_once = PTHREAD_ONCE_INIT };

/* Takes several readings and keeps the one with the shortest window. */
static tick_sample take_sample(void)
{
    tick_sample best = { .window_ns = UINT64_MAX };
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = pen_now_ns(), count = pen_tick_counter(), after = pen_now_ns();
        if (after - before < best.window_ns)
            best = (tick_sample){ count, before + (after - before) / 2, after - before };
    }
    return best;
}

/* Runs when the library is loaded. It takes about a microsecond. */
static __attribute__((constructor)) void begin(void) { ticks.start = take_sample(); }

static void decide(void)
{
    unsigned char source = CLOCK;
    if (!pen_api_time_is_virtual() && pen_tools_counter_usable(NULL) &&
        pen_tick_counter() > ticks.start.ticks)
        source = COUNTER;
    /* relaxed: a reader needs no data that was written before it */
    __atomic_store_n(&pen_tick_source, source, __ATOMIC_RELAXED);
}

static bool is_counter(void)
{
    (void)pthread_once(&ticks.decide_once, decide);
    return __atomic_load_n(&pen_tick_source, __ATOMIC_RELAXED) == COUNTER;
}

uint64_t pen_api_ticks(void) { return is_counter() ? pen_tick_counter() : pen_now_ns(); }

/* Returns a reading at least LEAST_NS after the first. If a process converts its first ticks within
 * microseconds after its start, this spins until then. */
static tick_sample second_sample(void)
{
    tick_sample end;
    do
        end = take_sample();
    while (end.ns < ticks.start.ns + LEAST_NS);
    return end;
}

/* Returns the best estimate of the rate now, with a bound of its relative error. */
static pen_tools_rate rate_now(const tick_sample *end)
{
    double distance_ns = (double)(end->ns - ticks.start.ns);
    pen_tools_rate rate = {
        .hz = (double)(end->ticks - ticks.start.ticks) * (double)NS_PER_S / distance_ns,
        .bound = (double)(end->window_ns + ticks.start.window_ns) / 2 / distance_ns,
    };
    if (rate.bound <= PEN_TOOLS_STATED_BOUND) /* the processor states its rate no more exactly */
        return rate;
    return pen_tools_rate_choose(rate, pen_tools_counter_stated_hz());
}

static void use_rate(const tick_sample *end, double hz)
{
    const uint64_t distance = end->ticks - ticks.start.ticks;
    const bool is_final = end->ns - ticks.start.ns >= FINAL_NS;
    /* relaxed: each word is independent */
    __atomic_store_n(&ticks.factor, pen_tools_tick_factor(hz), __ATOMIC_RELAXED);
    __atomic_store_n(&ticks.again_ticks, is_final ? UINT64_MAX : distance * DISTANCE_STEP,
                     __ATOMIC_RELAXED);
}

static void measure(void)
{
    const pen_tools_config *config = pen_api_tools_config();
    pen_log *log = pen_api_tools_log();
    tick_sample end = second_sample();
    pen_tools_rate rate = rate_now(&end);
    double hz = pen_tools_counter_hz(config, rate, NULL, log);
    use_rate(&end, hz);
    if (hz != rate.hz) /* the rate was given by the user or the processor, so it stays */
        __atomic_store_n(&ticks.again_ticks, UINT64_MAX, __ATOMIC_RELAXED);
    if (config->tsc_verbose) {
        pen_log voluble = *log; /* the user asked for this message, so it ignores the log level */
        voluble.level = PEN_LOG_INFO;
        pen_log_info(&voluble,
                     "ticks are the processor's counter, at %.0f Hz (measured: %.0f Hz, within "
                     "%.2g%%)",
                     hz, rate.hz, 100 * rate.bound);
    }
}

/* Measures again, in one thread; meanwhile all threads use the present factor. */
static PEN_COLD void measure_again(uint64_t seen)
{
    /* relaxed: only one thread continues, and it reads no data of another */
    if (!__atomic_compare_exchange_n(&ticks.again_ticks, &seen, UINT64_MAX, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    tick_sample end = take_sample();
    use_rate(&end, rate_now(&end).hz);
}

uint64_t gasnett_ticks_to_ns(gasnett_tick_t count)
{
    if (!is_counter())
        return count;
    (void)pthread_once(&ticks.measure_once, measure);
    uint64_t again = __atomic_load_n(&ticks.again_ticks, __ATOMIC_RELAXED);
    if (again != UINT64_MAX && pen_tick_counter() - ticks.start.ticks >= again)
        measure_again(again);
    return pen_tools_ticks_to_ns(count, __atomic_load_n(&ticks.factor, __ATOMIC_RELAXED));
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
    /* Scale before converting, because the least step is often less than a nanosecond. */
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
