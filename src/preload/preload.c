/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.c: a library that `penstock sim` loads into each rank before all others. It answers the
 * program's questions for the time from the rank's virtual clock, and turns sleeps into virtual
 * ones. It needs no other library of Penstock: it maps the same world (virtual/virtual.h). In a
 * process that is no rank, and while the rank has no turn, its calls are the system's.
 *
 * Reading a clock costs what the machine says, so a loop that waits for a time ends. Clocks of
 * processor time stay real. */
#include "base/status.h"
#include "virtual/net.h"
#include "virtual/virtual.h"
#include "virtual/world.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED      __attribute__((visibility("default")))

#define NS_PER_S      1000000000L
#define NS_PER_US     1000
#define CALENDAR_S    946684800L /* virtual time begins with the year 2000 ... */
#define MONOTONIC_S   1L         /* ... and one second after the machine's start */
#define PEN_RANK_NAME "PENSTOCK_RANK"

static pen_virtual view;

static bool number_of(const char *name, long *out)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (text == NULL || *text == '\0')
        return false;
    *out = strtol(text, &end, 10);
    return *end == '\0' && *out >= 0;
}

static __attribute__((constructor)) void find_world(void)
{
    long fd, rank;
    if (number_of(PEN_VIRTUAL_VARIABLE, &fd) && number_of(PEN_RANK_NAME, &rank) &&
        pen_virtual_map((int)fd, (uint32_t)rank, &view) != PEN_OK)
        view.world = NULL;
}

static bool is_virtual(void) { return view.world != NULL; }

/* Whether this process may change its clock now. */
static bool has_turn(void)
{
    return is_virtual() && view.ranks[view.rank].state == PEN_VIRTUAL_RUNNING;
}

static uint64_t read_ns(void)
{
    if (has_turn())
        pen_virtual_charge(&view, pen_virtual_net_machine(&view.net)->read_clock);
    return pen_virtual_now_ns(&view);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's names */

/* ---- clocks ---------------------------------------------------------------------------------- */

EXPORTED int clock_gettime(clockid_t clock, struct timespec *out)
{
    bool is_calendar = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    bool is_monotonic = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
                        clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
    if (!is_virtual() || (!is_calendar && !is_monotonic))
        return (int)syscall(SYS_clock_gettime, clock, out);
    uint64_t ns = read_ns();
    out->tv_sec = (time_t)(ns / NS_PER_S) + (is_calendar ? CALENDAR_S : MONOTONIC_S);
    out->tv_nsec = (long)(ns % NS_PER_S);
    return 0;
}

EXPORTED int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    if (result == 0)
        *out = (struct timeval){ now.tv_sec, now.tv_nsec / NS_PER_US };
    return result;
}

EXPORTED time_t time(time_t *out)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

/* ---- sleeps ---------------------------------------------------------------------------------- */

EXPORTED int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    if (!has_turn())
        return (int)syscall(SYS_nanosleep, wanted, left);
    if (wanted->tv_sec < 0 || wanted->tv_nsec < 0 || wanted->tv_nsec >= NS_PER_S) {
        errno = EINVAL;
        return -1;
    }
    pen_virtual_sleep(&view, (uint64_t)wanted->tv_sec * NS_PER_S + (uint64_t)wanted->tv_nsec);
    return 0;
}

EXPORTED int usleep(useconds_t us)
{
    const struct timespec wanted = { (time_t)(us / 1000000), (long)(us % 1000000) * NS_PER_US };
    return nanosleep(&wanted, NULL);
}

EXPORTED unsigned sleep(unsigned seconds)
{
    const struct timespec wanted = { (time_t)seconds, 0 };
    return nanosleep(&wanted, NULL) == 0 ? 0 : seconds;
}

EXPORTED int sched_yield(void)
{
    if (!has_turn())
        return (int)syscall(SYS_sched_yield);
    pen_virtual_sleep(&view, pen_virtual_net_machine(&view.net)->poll_empty);
    return 0;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
