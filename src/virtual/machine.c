/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.c: reading a machine's file, which anybody may have written. */
#include "virtual/machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FILE_LEN_MAX = 1 << 16, WORD_LEN_MAX = 32 };

typedef struct row {
    const char *name, *unit;
    uint32_t least, most;
    size_t offset;
} row;

static const row rows[] = {
#define ROW(name, unit, least, most) \
    { #name, unit, least, most, offsetof(pen_virtual_machine, name) },
    PEN_VIRTUAL_MACHINE_VALUES(ROW)
#undef ROW
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct reader {
    const char *name;
    unsigned line;
    char *problem;
    size_t problem_len;
    bool seen[ROWS];
    pen_virtual_machine made;
} reader;

static bool __attribute__((format(printf, 2, 3))) refuse(const reader *r, const char *format, ...)
{
    va_list args;
    int len = snprintf(r->problem, r->problem_len, "%s:%u: ", r->name, r->line);
    if (len < 0 || (size_t)len >= r->problem_len)
        return false;
    va_start(args, format);
    (void)vsnprintf(r->problem + len, r->problem_len - (size_t)len, format, args);
    va_end(args);
    return false;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\r'))
        at++;
    return at;
}

/* Letters and underscores up to something else; false: none, or too many. */
static bool read_word(const char **at, const char *end, char word[WORD_LEN_MAX])
{
    size_t len = 0;
    while (*at < end && ((**at >= 'a' && **at <= 'z') || **at == '_') && len < WORD_LEN_MAX - 1)
        word[len++] = *(*at)++;
    word[len] = 0;
    return len > 0;
}

static bool read_number(const char **at, const char *end, uint64_t *out)
{
    const char *first = *at;
    *out = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && *out <= UINT32_MAX; (*at)++)
        *out = *out * 10 + (uint64_t)(**at - '0');
    return *at > first;
}

static size_t find_row(const char *name)
{
    size_t i = 0;
    while (i < ROWS && strcmp(rows[i].name, name) != 0)
        i++;
    return i;
}

static bool set_value(reader *r, size_t i, uint64_t value, const char *unit)
{
    const row *found = &rows[i];
    if (strcmp(unit, found->unit) != 0)
        return refuse(r, "%s is in \"%s\": write it in %s", found->name, unit, found->unit);
    if (value < found->least || value > found->most)
        return refuse(r, "%s is %llu: it must be %u to %u %s", found->name,
                      (unsigned long long)value, found->least, found->most, found->unit);
    if (r->seen[i])
        return refuse(r, "%s is given twice: keep one of the lines", found->name);
    r->seen[i] = true;
    *(uint32_t *)((char *)&r->made + found->offset) = (uint32_t)value;
    return true;
}

static bool read_line(reader *r, const char *at, const char *end)
{
    char name[WORD_LEN_MAX], unit[WORD_LEN_MAX];
    uint64_t value = 0;
    at = skip_blanks(at, end);
    if (at == end)
        return true;
    if (!read_word(&at, end, name) || (at = skip_blanks(at, end)) == end || *at != '=')
        return refuse(r, "this is no value: write name = number unit");
    size_t i = find_row(name);
    if (i == ROWS)
        return refuse(r, "no machine has a value \"%s\": see src/virtual/machine.h for the names",
                      name);
    at = skip_blanks(at + 1, end);
    if (!read_number(&at, end, &value))
        return refuse(r, "%s has no number: write %s = number %s", name, name, rows[i].unit);
    at = skip_blanks(at, end);
    if (!read_word(&at, end, unit))
        return refuse(r, "%s has no unit: write it in %s", name, rows[i].unit);
    if (skip_blanks(at, end) != end)
        return refuse(r, "%s has more than a number and a unit: remove it", name);
    return set_value(r, i, value, unit);
}

bool pen_virtual_machine_parse(const char *name, const char *text, size_t len,
                               pen_virtual_machine *out, char *problem, size_t problem_len)
{
    reader r = { .name = name, .problem = problem, .problem_len = problem_len };
    const char *end = text + len;
    for (const char *at = text; at < end;) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = next != NULL ? next : end;
        const char *comment = memchr(at, '#', (size_t)(line_end - at));
        r.line++;
        if (!read_line(&r, at, comment != NULL ? comment : line_end))
            return false;
        at = line_end + 1;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (!r.seen[i])
            return refuse(&r, "%s is not given: add a line %s = number %s", rows[i].name,
                          rows[i].name, rows[i].unit);
    }
    *out = r.made;
    return true;
}

bool pen_virtual_machine_read(const char *path, pen_virtual_machine *out, char *problem,
                              size_t problem_len)
{
    static const char too_long[] = "longer than 64 KiB, so it is no machine: name another file";
    char text[FILE_LEN_MAX];
    reader r = { .name = path, .problem = problem, .problem_len = problem_len };
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return refuse(&r,
                      "cannot be opened: %s; name a file such as src/virtual/machines/extoll-r1",
                      strerror(errno));
    size_t len = fread(text, 1, sizeof text, file);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed || len == sizeof text)
        return refuse(&r, "%s", failed ? "cannot be read: check the disk" : too_long);
    return pen_virtual_machine_parse(path, text, len, out, problem, problem_len);
}

static uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

uint32_t pen_virtual_machine_hops(const pen_virtual_machine *machine, uint32_t nodes,
                                  uint32_t from_i, uint32_t to_i)
{
    uint32_t bits = 0, hops = 0;
    while ((UINT32_C(1) << bits) < nodes)
        bits++;
    for (uint32_t axis = machine->mesh_dimensions; axis > 0; axis--) {
        uint32_t own = (bits + axis - 1) / axis; /* the first axes get what does not divide */
        uint32_t mask = (UINT32_C(1) << own) - 1;
        hops += distance(from_i & mask, to_i & mask);
        from_i >>= own;
        to_i >>= own;
        bits -= own;
    }
    return hops;
}
