/* SPDX-License-Identifier: BSD-3-Clause */
/* copies.c: measures the ways of copying. Every way is timed in turn, several times, and its best
 * time counts, because other programs can only slow it down. A way replaces memcpy if it is better
 * at both ends of a class of lengths. */
#include "boot/copies.h"

#include "base/copy.h"
#include "os/os.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Points: lengths that are measured, the shortest of each class. Places: destinations. One is in
 * line with the source in its page, the other lies place_off bytes further, where string
 * instructions are slow on some processors. */
enum {
    OWN_POINTS = PEN_COPIES_POINTS_MAX,
    OTHER_POINTS = 5,
    PLACES = PEN_COPIES_PLACES,
    PLACES_POINTS = 5, /* longer copies are measured at the first place only, to save time */
    PAST = PEN_COPIES_PAST,
    WAYS = PEN_COPIES_WAYS,
    ROUNDS = 5,
    TIMED_LEN = 16 << 10, /* shorter copies are repeated until they have moved this much */
    HOPELESS = 2 /* a way that takes more than this multiple of the best time is not repeated */
};

static const size_t place_off = 8;

/* Time limits for the two measurements. For this core's own caches, only time on the core counts,
 * because other programs may have the core meanwhile. */
static const uint64_t own_limit_ns = 1000000, other_limit_ns = 1400000;

/* Limits in hundredths of a time. A way replaces memcpy if it takes at most WINS of memcpy's time
 * altogether, and at most LOSES at every place. A way past the caches takes at most PAST_WINS of
 * the best time through them. */
enum { WINS = 97, LOSES = 103, LOSES_LITTLE = 110, PAST_WINS = 90 };

static const struct {
    const char *word, *text;
} names[] = {
#define NAME(name, word, text) { word, text },
    PEN_COPY_WAY_LIST(NAME)
#undef NAME
};

const char *pen_copies_word(pen_copy_way way) { return names[way].word; }
const char *pen_copies_text(pen_copy_way way) { return names[way].text; }

/* Returns PEN_COPY_WAYS if no way has this name. */
static pen_copy_way way_of(const char *word)
{
    unsigned way = 0;
    while (way < PEN_COPY_WAYS && strcmp(word, names[way].word) != 0)
        way++;
    return (pen_copy_way)way;
}

static bool is_measured(const char *wish) { return strcmp(wish, PEN_COPIES_MEASURED) == 0; }

bool pen_copies_known(const char *wish)
{
    return is_measured(wish) || pen_copy_usable(way_of(wish));
}

static size_t len_of(unsigned point) { return PEN_COPY_LONG_MIN << point; }

static unsigned places_of(unsigned point) { return point < PLACES_POINTS ? PLACES : 1; }

static void keep_best(uint64_t *best, uint64_t ns)
{
    if (ns == 0)
        ns = 1;
    if (*best == 0 || ns < *best)
        *best = ns;
}

static uint64_t best_of(const uint64_t *ns)
{
    uint64_t best = 0;
    for (unsigned way = 0; way < WAYS; way++)
        if (ns[way] != 0)
            keep_best(&best, ns[way]);
    return best;
}

/* Whether to measure a way once more. */
static bool is_worth(const uint64_t *ns, unsigned way)
{
    return (way == PAST || pen_copy_usable((pen_copy_way)way)) && ns[way] <= HOPELESS * best_of(ns);
}

static uint64_t sum_of(const pen_copies_times *from, unsigned point, unsigned way)
{
    uint64_t sum = 0;
    for (unsigned place = 0; place < places_of(point); place++)
        sum += from->ns[point][place][way];
    return sum;
}

/* Returns the limit of a way's time at one place, in hundredths of memcpy's time. A way that takes
 * half of memcpy's time at all places together gets a higher limit, because a few measurements on a
 * busy host vary by more than LOSES. */
static unsigned allowed(const pen_copies_times *from, unsigned point, unsigned way)
{
    const unsigned full = point < PLACES_POINTS ? point : PLACES_POINTS - 1;
    return 2 * sum_of(from, full, way) <= sum_of(from, full, PEN_COPY_LIBC) ? LOSES_LITTLE : LOSES;
}

/* The time that a way takes at all places of a point. Returns UINT64_MAX if it was not measured, or
 * if it loses to memcpy at any place. */
static uint64_t cost(const pen_copies_times *from, unsigned point, unsigned way)
{
    for (unsigned place = 0; place < places_of(point); place++) {
        const uint64_t *ns = from->ns[point][place];
        if (ns[way] == 0 || ns[way] * 100 > ns[PEN_COPY_LIBC] * allowed(from, point, way))
            return UINT64_MAX;
    }
    return sum_of(from, point, way);
}

/* Whether a way was measured once only at some place, because another way is much faster there. */
static bool is_hopeless(const pen_copies_times *from, unsigned point, unsigned way)
{
    for (unsigned place = 0; place < places_of(point); place++)
        if (from->ns[point][place][way] > HOPELESS * best_of(from->ns[point][place]))
            return true;
    return false;
}

static bool wins(uint64_t cost, uint64_t over, unsigned hundredths)
{
    return cost != UINT64_MAX && over != UINT64_MAX && cost * 100 <= over * hundredths;
}

/* Whether a way wins over memcpy at the point. If that was measured at one place only, the way has
 * to win at the longest copies that were measured at all places, and must not lose here. */
static bool is_better(const pen_copies_times *from, unsigned point, unsigned way)
{
    if (is_hopeless(from, point, way))
        return false;
    if (point >= PLACES_POINTS)
        return cost(from, point, way) != UINT64_MAX && is_better(from, PLACES_POINTS - 1, way);
    return wins(cost(from, point, way), cost(from, point, PEN_COPY_LIBC), WINS);
}

/* Chooses the way of a class, which has to win at both ends of it. Classes after the last point are
 * copied as that point's. */
static pen_copy_way choose(const pen_copies_times *from, unsigned class)
{
    const unsigned last = from->points - 1;
    const unsigned start = class < last ? class : last, end = class < last ? class + 1 : last;
    unsigned chosen = PEN_COPY_LIBC;
    uint64_t least = UINT64_MAX;
    for (unsigned way = PEN_COPY_LIBC + 1; way < PEN_COPY_WAYS; way++) {
        if (!is_better(from, start, way) || !is_better(from, end, way))
            continue;
        uint64_t sum = cost(from, start, way) + cost(from, end, way);
        if (sum < least) {
            least = sum;
            chosen = way;
        }
    }
    return (pen_copy_way)chosen;
}

void pen_copies_judge_own(const pen_copies_times *from, pen_copy_table *out)
{
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        out->own[class] = out->other[class] = (uint8_t)choose(from, class);
}

void pen_copies_judge_other(const pen_copies_times *from, pen_copy_table *out)
{
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++) {
        const unsigned point = class < from->points ? class : from->points - 1;
        uint64_t cached = UINT64_MAX;
        for (unsigned way = 0; way < PEN_COPY_WAYS; way++)
            if (cost(from, point, way) < cached)
                cached = cost(from, point, way);
        out->other[class] = (uint8_t)choose(from, class);
        out->past[class] = wins(cost(from, point, PAST), cached, PAST_WINS);
        uint64_t ticks = from->ticks[point] << (class - point);
        out->ticks[class] = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
    }
}

/* ---- this core's caches ---------------------------------------------------------------------- */

/* Time of as many copies as move TIMED_LEN bytes. */
static uint64_t time_own(pen_copy_way way, char *to, const char *from, size_t len)
{
    const unsigned copies = len < TIMED_LEN ? (unsigned)(TIMED_LEN / len) : 1;
    uint64_t begun = pen_now_ns();
    for (unsigned i = 0; i < copies; i++)
        pen_copy_by(way, to, from, len);
    return pen_now_ns() - begun;
}

/* Measures once more. Returns the number of points that were measured before time was up. */
static unsigned round_own(pen_copies_times *out, char *to, const char *from, uint64_t until_ns)
{
    for (unsigned point = 0; point < out->points; point++) {
        for (unsigned place = 0; place < places_of(point); place++) {
            uint64_t *best = out->ns[point][place];
            for (unsigned way = 0; way < PEN_COPY_WAYS; way++) {
                if (!is_worth(best, way))
                    continue;
                if (pen_cpu_ns() > until_ns)
                    return point;
                keep_best(&best[way],
                          time_own((pen_copy_way)way, to + place * place_off, from, len_of(point)));
            }
        }
    }
    return out->points;
}

static void measure_own(char *to, const char *from, uint64_t until_ns, pen_copy_table *out)
{
    pen_copies_times found = { .points = OWN_POINTS };
    found.points = round_own(&found, to, from, until_ns);
    for (unsigned round = 1; round < ROUNDS; round++)
        if (round_own(&found, to, from, until_ns) < found.points)
            break;
    if (found.points > 0)
        pen_copies_judge_own(&found, out);
}

/* ---- memory of a different core -------------------------------------------------------------- */

/* Memory that both processes map. The reader copies what it is told to, and says when it has. */
typedef struct pair {
    _Alignas(64) _Atomic uint32_t told; /* number of the copy, by the writer */
    uint32_t len, off;                  /* place of the bytes; length 0: the reader ends */
    _Alignas(64) _Atomic uint32_t done; /* number of the copy, by the reader */
    _Alignas(4096) char between[(PEN_COPY_LONG_MIN << (OTHER_POINTS - 1)) + 4096];
} pair;

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Waits until the word has the value. Returns false if it took too long. */
static bool await(const _Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
    for (unsigned spins = 1;; spins++) {
        /* acquire: pairs with the release of the process that wrote the word */
        if (atomic_load_explicit(word, memory_order_acquire) == value)
            return true;
        if (spins % 64 == 0 && pen_now_ns() > until_ns)
            return false;
        pause_briefly();
    }
}

/* The process that reads. It makes no call that could find a lock taken. */
static _Noreturn void read_all(pair *shared, char *to, const pen_copy_table *table,
                               uint64_t until_ns)
{
    for (uint32_t number = 1; await(&shared->told, number, until_ns); number++) {
        if (shared->len == 0)
            break;
        pen_copy(table, to, shared->between + shared->off, shared->len);
        /* release: the writer may overwrite what has been read */
        atomic_store_explicit(&shared->done, number, memory_order_release);
    }
    _exit(0);
}

/* Starts the reader on a core of its own. It is no child that a SIGCHLD or another waitpid would
 * report. */
static pid_t start_reader(pair *shared, char *to, const pen_copy_table *table, int core,
                          uint64_t until_ns)
{
    pid_t pid = (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
    if (pid == 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((unsigned)core, &set);
        if (sched_setaffinity(0, sizeof(set), &set) != 0)
            _exit(1);
        read_all(shared, to, table, until_ns);
    }
    return pid;
}

/* One copy to make. */
typedef struct errand {
    const char *from;
    size_t len;
    unsigned place, way;
} errand;

/* Nanoseconds of one copy and its reading; 0: the reader did not answer. ticks: of the copy alone.
 */
static uint64_t hand_over(pair *shared, uint32_t *number, const errand *what, uint64_t until_ns,
                          uint64_t *ticks)
{
    const pen_copy_table no_table = { 0 };
    pen_copy_pace pace = { .count = 1, .streams = true };
    char *to = shared->between + what->place * place_off;
    uint64_t begun = pen_now_ns();
    *ticks = pen_copy_ticks();
    if (what->way == PAST)
        pen_copy_out(&no_table, &pace, to, what->from, what->len);
    else
        pen_copy_by((pen_copy_way)what->way, to, what->from, what->len);
    *ticks = pen_copy_ticks() - *ticks;
    shared->len = (uint32_t)what->len;
    shared->off = (uint32_t)(what->place * place_off);
    /* release: the reader sees the length and the bytes */
    atomic_store_explicit(&shared->told, ++*number, memory_order_release);
    return await(&shared->done, *number, until_ns) ? pen_now_ns() - begun : 0;
}

/* Returns false if time is up. */
static bool point_other(pair *shared, uint32_t *number, errand *what, unsigned point,
                        uint64_t until_ns, pen_copies_times *out)
{
    uint64_t *best = out->ns[point][what->place], ticks;
    what->len = len_of(point);
    for (what->way = 0; what->way < WAYS; what->way++) {
        if (!is_worth(best, what->way) || (what->way == PAST && what->len < PEN_COPY_OUT_MIN))
            continue;
        uint64_t ns = hand_over(shared, number, what, until_ns, &ticks);
        if (ns == 0)
            return false;
        keep_best(&best[what->way], ns);
        if (what->way == PEN_COPY_LIBC && what->place == 0)
            keep_best(&out->ticks[point], ticks);
    }
    return pen_now_ns() < until_ns;
}

/* Returns false if time is up. */
static bool round_other(pair *shared, uint32_t *number, const char *from, uint64_t until_ns,
                        pen_copies_times *out)
{
    errand what = { .from = from };
    for (unsigned point = 0; point < out->points; point++)
        for (what.place = 0; what.place < PLACES; what.place++)
            if (!point_other(shared, number, &what, point, until_ns, out))
                return false;
    return true;
}

/* Picks two cores that are far apart in number, and keeps this process on one of them. */
static bool take_cores(cpu_set_t *before, int *other)
{
    int first = -1, last = -1;
    if (sched_getaffinity(0, sizeof(*before), before) != 0)
        return false;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET((unsigned)core, before)) {
            first = first < 0 ? core : first;
            last = core;
        }
    }
    if (first == last)
        return false;
    const int here = sched_getcpu() == last ? last : first;
    *other = here == last ? first : last;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)here, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
}

static void measure_other(pair *shared, const char *from, char *to, uint64_t until_ns,
                          pen_copy_table *out)
{
    cpu_set_t before;
    int core;
    if (!take_cores(&before, &core))
        return;
    pid_t reader = start_reader(shared, to, out, core, until_ns);
    pen_copies_times found = { .points = OTHER_POINTS };
    uint32_t number = 0;
    if (reader > 0) {
        unsigned rounds = 0;
        while (rounds < ROUNDS && round_other(shared, &number, from, until_ns, &found))
            rounds++;
        shared->len = 0;
        /* release: the reader sees the length */
        atomic_store_explicit(&shared->told, number + 1, memory_order_release);
        (void)waitpid(reader, NULL, __WALL);
        if (rounds > 0)
            pen_copies_judge_other(&found, out);
    }
    (void)sched_setaffinity(0, sizeof(before), &before);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Destinations have a page more, for their places. */
typedef struct buffers {
    pair shared;
    _Alignas(4096) char from[PEN_COPY_LONG_MIN << (OWN_POINTS - 1)];
    _Alignas(4096) char to[(PEN_COPY_LONG_MIN << (OWN_POINTS - 1)) + 4096];
} buffers;

static void measure(uint32_t ranks, pen_copy_table *out)
{
    buffers *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (b == MAP_FAILED)
        return;
    const uint64_t forced = pen_switches_forced();
    measure_own(b->to, b->from, pen_cpu_ns() + own_limit_ns, out);
    /* If other programs want this core, the reader would wait for its core, too. */
    if (ranks > 1 && pen_switches_forced() == forced)
        measure_other(&b->shared, b->from, b->to, pen_now_ns() + other_limit_ns, out);
    (void)munmap(b, sizeof(*b));
}

void pen_copies_choose(const char *wish, uint32_t ranks, pen_copy_table *out)
{
    *out = (pen_copy_table){ 0 };
    if (is_measured(wish)) {
        measure(ranks, out);
        return;
    }
    memset(out->own, way_of(wish), sizeof(out->own));
    memset(out->other, way_of(wish), sizeof(out->other));
}
