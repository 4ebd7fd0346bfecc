/* SPDX-License-Identifier: BSD-3-Clause */
/* number.c: numbers as people write them, and checksums of blocks of memory. */
#include "tools/tools.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INT64_END 9223372036854775808.0 /* 2^63 */

/* ---- reading --------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *text)
{
    while (isspace((unsigned char)*text) != 0)
        text++;
    return text;
}

static bool at_end(const char *text) { return *skip_blanks(text) == '\0'; }

static bool is_hexadecimal(const char *text)
{
    text += *text == '-' || *text == '+' ? 1 : 0;
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

/* Parses a suffix like "K", "kB" or "KiB", and moves *text behind it. Returns its bytes, or 0
 * without a suffix. */
static uint64_t take_suffix(const char **text)
{
    static const char letters[] = "KMGTPE";
    const char *at = skip_blanks(*text);
    const char *found = *at == '\0' ? NULL : strchr(letters, toupper((unsigned char)*at));
    if (found == NULL) {
        *text = at;
        return 0;
    }
    at++;
    at += *at == 'i' ? 1 : 0;
    at += *at == 'B' || *at == 'b' ? 1 : 0;
    *text = at;
    return UINT64_C(1) << 10 * (found - letters + 1);
}

static int64_t clamp(double value)
{
    if (value >= INT64_END)
        return INT64_MAX;
    return value < -INT64_END ? INT64_MIN : (int64_t)value;
}

/* Parses a size: a number or fraction, then a suffix. Without suffix, `unit` applies. */
static bool parse_size(const char *text, uint64_t unit, int64_t *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || value != value)
        return false;
    const char *rest = end;
    uint64_t suffix = take_suffix(&rest);
    if (suffix == 0 && (*rest == 'B' || *rest == 'b')) {
        rest++;
        suffix = 1;
    }
    if (!at_end(rest))
        return false;
    *out = clamp(value * (double)(suffix != 0 ? suffix : unit));
    return true;
}

bool pen_tools_parse_int(const char *text, uint64_t memory_unit, int64_t *out)
{
    if (text == NULL)
        return false;
    text = skip_blanks(text);
    char *end;
    errno = 0;
    int64_t value = strtoll(text, &end, is_hexadecimal(text) ? 16 : 10); /* saturates */
    bool whole = end != text && at_end(end);
    if (memory_unit != 0 && !(whole && (memory_unit == 1 || value == 0)))
        return parse_size(text, memory_unit, out);
    if (whole)
        *out = value;
    return whole;
}

bool pen_tools_parse_real(const char *text, double *out)
{
    if (text == NULL)
        return false;
    char *end;
    double value = strtod(text, &end);
    if (end == text)
        return false;
    const char *rest = skip_blanks(end);
    if (*rest == '/') {
        double divisor = strtod(++rest, &end);
        if (end == rest || divisor == 0)
            return false;
        value /= divisor;
        rest = end;
    }
    if (!at_end(rest))
        return false;
    *out = value;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes a size in the largest unit of which it is a whole multiple. */
void pen_tools_format_number(int64_t value, char *buffer, size_t size, bool is_mem_size)
{
    static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
    enum { UNITS = sizeof units / sizeof units[0] };
    size_t unit_i = 0;
    if (!is_mem_size) {
        (void)snprintf(buffer, size, "%" PRId64, value);
        return;
    }
    while (value != 0 && value % 1024 == 0 && unit_i + 1 < UNITS) {
        value /= 1024;
        unit_i++;
    }
    (void)snprintf(buffer, size, "%" PRId64 " %s", value, units[unit_i]);
}

/* ---- blocks of memory ------------------------------------------------------------------------ */

/* FNV-1a of 64 bits. */
uint64_t pen_tools_checksum(const void *source, size_t len)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    const unsigned char *bytes = source;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ bytes[i]) * prime;
    return sum;
}

size_t pen_tools_count_zeros(const void *source, size_t len)
{
    const unsigned char *bytes = source;
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += bytes[i] == 0 ? 1 : 0;
    return count;
}
