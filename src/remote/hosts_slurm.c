/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_slurm.c: reads the hosts of a Slurm allocation from its variables. */
#include "remote/hosts_internal.h"

#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = PEN_HOST_NAME_MAX + 1, BRACKETS_MAX = 8, DIGITS_MAX = 9 };

/* Position in SLURM_TASKS_PER_NODE, "2(x3),1", which is read number by number. */
typedef struct tasks {
    const char *at; /* NULL: not known */
    uint32_t count, again;
} tasks;

static bool tasks_broken(pen_hosts_problem *problem)
{
    return pen_hosts_complain(problem, "SLURM_TASKS_PER_NODE: it is not of the form 2(x3),1: unset "
                                       "it, or give --hosts");
}

static bool tasks_next(tasks *from, uint32_t *out, pen_hosts_problem *problem)
{
    *out = 0;
    if (from->at == NULL)
        return true;
    if (from->again == 0) {
        size_t len = strspn(from->at, "0123456789");
        if (!pen_hosts_number(from->at, len, PEN_HOST_SLOTS_MAX, &from->count) || from->count == 0)
            return tasks_broken(problem);
        from->at += len;
        from->again = 1;
        if (strncmp(from->at, "(x", 2) == 0) {
            len = strspn(from->at + 2, "0123456789");
            if (!pen_hosts_number(from->at + 2, len, PEN_HOSTS_MAX, &from->again) ||
                from->again == 0 || from->at[2 + len] != ')')
                return tasks_broken(problem);
            from->at += len + 3;
        }
        if (*from->at == ',')
            from->at++;
        else if (*from->at != '\0')
            return tasks_broken(problem);
    }
    from->again--;
    *out = from->count;
    return true;
}

typedef struct expansion {
    pen_hosts *out;
    tasks tasks;
    pen_hosts_problem *problem;
    char name[NAME_ROOM];
} expansion;

static bool broken(const expansion *e)
{
    return pen_hosts_complain(e->problem, "SLURM_JOB_NODELIST: it is not of the form "
                                          "n[1-3,07],gpu1: give --hosts");
}

static bool expand(expansion *e, size_t len, const char *at, const char *end, unsigned depth);

/* Expands one number of a bracket, with the width in which it was written. */
static bool expand_number(expansion *e, size_t len, uint32_t number, int width, const char *rest,
                          const char *end, unsigned depth)
{
    char digits[DIGITS_MAX + 2];
    int written = snprintf(digits, sizeof(digits), "%0*u", width, number);
    if (written < 0 || (size_t)written >= sizeof(digits) || len + (size_t)written >= NAME_ROOM)
        return broken(e);
    memcpy(e->name + len, digits, (size_t)written);
    return expand(e, len + (size_t)written, rest, end, depth + 1);
}

/* Expands "3", "1-5" or "01-05". */
static bool expand_range(expansion *e, size_t len, const char *range, size_t range_len,
                         const char *rest, const char *end, unsigned depth)
{
    const char *dash = memchr(range, '-', range_len);
    size_t first_len = dash != NULL ? (size_t)(dash - range) : range_len;
    uint32_t first, last;
    if (first_len > DIGITS_MAX || !pen_hosts_number(range, first_len, 999999999, &first))
        return broken(e);
    last = first;
    if (dash != NULL) {
        size_t last_len = range_len - first_len - 1;
        if (last_len > DIGITS_MAX || !pen_hosts_number(dash + 1, last_len, 999999999, &last) ||
            last < first || last - first >= PEN_HOSTS_MAX)
            return broken(e);
    }
    for (uint32_t number = first; number <= last; number++)
        if (!expand_number(e, len, number, (int)first_len, rest, end, depth))
            return false;
    return true;
}

static bool name_done(expansion *e, size_t len)
{
    pen_hosts_word word = { .where = "SLURM_JOB_NODELIST", .name = e->name, .len = len };
    uint32_t before = e->out->count;
    if (!tasks_next(&e->tasks, &word.slots, e->problem) ||
        !pen_hosts_add(e->out, &word, e->problem))
        return false;
    return e->out->count != before || broken(e); /* Slurm names each host once */
}

/* Expands a name. e->name has its first len bytes; the text that follows is [at, end). */
static bool expand(expansion *e, size_t len, const char *at, const char *end, unsigned depth)
{
    while (at < end && *at != '[') {
        if (len + 1 >= NAME_ROOM || *at == ']')
            return broken(e);
        e->name[len++] = *at++;
    }
    if (at == end)
        return name_done(e, len);
    const char *close = memchr(at, ']', (size_t)(end - at));
    if (close == NULL || depth == BRACKETS_MAX)
        return broken(e);
    for (at++; at <= close;) {
        const char *comma = memchr(at, ',', (size_t)(close - at));
        const char *range_end = comma != NULL ? comma : close;
        if (!expand_range(e, len, at, (size_t)(range_end - at), close + 1, end, depth))
            return false;
        at = range_end + 1;
    }
    return true;
}

/* Length up to the next comma outside brackets. */
static size_t item_len(const char *text)
{
    size_t len = 0;
    for (bool inside = false; text[len] != '\0' && (inside || text[len] != ','); len++)
        inside = text[len] == '[' || (inside && text[len] != ']');
    return len;
}

bool pen_hosts_from_slurm(const char *nodes, const char *tasks_text, pen_hosts *out,
                          pen_hosts_problem *problem)
{
    expansion e = { .out = out, .tasks = { .at = tasks_text }, .problem = problem };
    const char *at = nodes;
    do {
        size_t len = item_len(at);
        if (len == 0)
            return broken(&e);
        if (!expand(&e, 0, at, at + len, 0))
            return false;
        at += len;
    } while (*at++ == ',');
    return true;
}
