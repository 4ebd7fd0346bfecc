/* SPDX-License-Identifier: BSD-3-Clause */
/* ticks.c: promises of gasnett_ticks_to_ns: the first call of a process takes no
 * time, and the rate is right from then on. Each measurement is made in several fresh processes,
 * and the best one counts, since others may use the machine as well. */
#include <gasnet_tools.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 12, WAIT_MS = 100 };

static double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void sleep_ms(long ms)
{
    const struct timespec wait = { 0, ms * 1000000 };
    (void)nanosleep(&wait, NULL);
}

/* A moment by both clocks: ticks were read between the two times. */
typedef struct moment {
    double before_ns, after_ns;
    gasnett_tick_t ticks;
} moment;

static moment read_moment(void)
{
    moment now;
    now.before_ns = now_ns();
    now.ticks = gasnett_ticks_now();
    now.after_ns = now_ns();
    return now;
}

/* How long the first conversion takes, in milliseconds. */
static double first_call_ms(void)
{
    gasnett_tick_t start = gasnett_ticks_now();
    double before = now_ns();
    uint64_t ns = gasnett_ticks_to_ns(gasnett_ticks_now() - start);
    double took = now_ns() - before;
    return ns < 1000000000 ? took / 1e6 : INFINITY;
}

/* By how much 0.1 seconds are converted wrongly beyond what the readings allow, in percent. */
static double tenth_of_a_second_off(void)
{
    moment start = read_moment();
    sleep_ms(WAIT_MS);
    moment end = read_moment();
    double ns = (double)gasnett_ticks_to_ns(end.ticks - start.ticks);
    double least = end.before_ns - start.after_ns, most = end.after_ns - start.before_ns;
    double off = ns < least ? least - ns : ns > most ? ns - most : 0;
    return 100 * off / least;
}

/* By how much the first rate of a process differs from its last, as a multiple of the documented
 * bound. The last rate is the better one. */
static double first_rate_off(void)
{
    const gasnett_tick_t count = 1000000000;
    double start = now_ns();
    while (now_ns() < start + 300e3)
        ;
    double bound = 0.1e3 / (now_ns() - start) + 1e-6;
    double first = (double)gasnett_ticks_to_ns(count);
    for (int i = 0; i < 12; i++) { /* each measures again when it is time */
        sleep_ms(WAIT_MS);
        (void)gasnett_ticks_to_ns(count);
    }
    double last = (double)gasnett_ticks_to_ns(count);
    return fabs(first - last) / last / bound;
}

static const struct {
    const char *name;
    double (*measure)(void);
    double limit;
    const char *says;
} rows[] = {
    { "first_call", first_call_ms, 1, "ms for the first conversion" },
    { "accuracy", tenth_of_a_second_off, 0.1, "% off over 0.1 s" },
    { "first_rate", first_rate_off, 1, "times the documented bound off at first" },
};

/* The best of several processes, one after another, until one is well within the limit. */
static double best_of(const char *program, const char *name, double limit)
{
    double best = INFINITY;
    for (int i = 0; i < TRIES && best > limit / 2; i++) {
        int ends[2];
        if (pipe(ends) != 0)
            abort();
        pid_t pid = fork();
        if (pid == 0) {
            (void)dup2(ends[1], STDOUT_FILENO);
            (void)execl(program, program, name, (char *)NULL);
            _exit(127);
        }
        close(ends[1]);
        char text[64] = "";
        ssize_t len = read(ends[0], text, sizeof text - 1);
        close(ends[0]);
        int status;
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 || len <= 0)
            abort();
        double value = strtod(text, NULL);
        best = value < best ? value : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (argc > 1 && strcmp(argv[1], rows[i].name) == 0)
            return printf("%.9f\n", rows[i].measure()) < 0;
        if (argc > 1)
            continue;
        double best = best_of(argv[0], rows[i].name, rows[i].limit);
        int bad = !(best <= rows[i].limit);
        printf("%s: %.6f %s, at most %g%s\n", rows[i].name, best, rows[i].says, rows[i].limit,
               bad ? ": WRONG" : "");
        wrong |= bad;
    }
    return wrong;
}
