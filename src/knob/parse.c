/* SPDX-License-Identifier: BSD-3-Clause */
/* parse.c: parses the texts that people write for a value, by type. The decimal point is a point
 * in every locale. */
#include "knob/knob.h"

#include <float.h>
#include <string.h>
#include <strings.h>

/* Is the text a number without sign: digits, or digits with a fraction? */
typedef struct decimal {
    uint64_t whole;
    double fraction; /* 0 <= fraction < 1 */
    bool has_point;
} decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *skip_space(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static bool is_end(const char *at) { return *skip_space(at) == '\0'; }

/* Returns the text after the number, or NULL if there is no number or it is too large. */
static const char *decimal_parse(const char *at, decimal *out)
{
    decimal number = { 0 };
    bool any = false;
    for (at = skip_space(at); is_digit(*at); at++) {
        if (__builtin_mul_overflow(number.whole, 10u, &number.whole) ||
            __builtin_add_overflow(number.whole, (uint64_t)(*at - '0'), &number.whole))
            return NULL;
        any = true;
    }
    if (*at == '.') {
        number.has_point = true;
        double place = 0.1;
        for (at++; is_digit(*at); at++) {
            number.fraction += place * (*at - '0');
            place /= 10;
            any = true;
        }
        if (number.fraction >= 1) /* a long row of nines rounds up */
            number.fraction = 1 - 0x1p-53;
    }
    if (!any)
        return NULL;
    *out = number;
    return at;
}

static bool bool_parse(const char *text, bool *out)
{
    static const struct {
        const char *text;
        bool value;
    } words[] = { { "1", true },    { "0", false },     { "y", true },  { "n", false },
                  { "yes", true },  { "no", false },    { "t", true },  { "f", false },
                  { "true", true }, { "false", false }, { "on", true }, { "off", false } };
    text = skip_space(text);
    size_t len = strcspn(text, " \t");
    if (!is_end(text + len))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].text) == len && strncasecmp(text, words[i].text, len) == 0) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}

static bool int_parse(const char *text, int64_t *out)
{
    text = skip_space(text);
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    decimal number;
    const char *end = is_digit(*text) ? decimal_parse(text, &number) : NULL;
    if (end == NULL || number.has_point || !is_end(end))
        return false;
    if (number.whole > (uint64_t)INT64_MAX + (negative ? 1u : 0u))
        return false;
    /* Negated as unsigned, so that INT64_MIN does not overflow. */
    *out = (int64_t)(negative ? 0 - number.whole : number.whole);
    return true;
}

/* Parses K, M, G or T (powers of 1024), then optionally B or iB, and moves *at behind it. If
 * there is no suffix, the shift is 0. */
static bool suffix_parse(const char **at, unsigned *shift_out)
{
    static const char letters[] = "kmgt";
    const char *end = skip_space(*at);
    *shift_out = 0;
    for (unsigned i = 0; i < 4; i++) {
        if ((*end | 0x20) == letters[i])
            *shift_out = 10 * (i + 1);
    }
    if (*shift_out != 0) {
        end++;
        if ((*end | 0x20) == 'i' && (end[1] | 0x20) == 'b')
            end++;
    }
    if ((*end | 0x20) == 'b') {
        end++;
    }
    bool has_suffix = end != skip_space(*at);
    *at = end;
    return has_suffix;
}

static bool scaled(const decimal *number, unsigned shift, uint64_t *out)
{
    if (shift > 0 && number->whole >> (64 - shift) != 0)
        return false;
    *out = (number->whole << shift) + (uint64_t)(number->fraction * (double)(1ull << shift));
    return true; /* the fraction is below 1 << shift, so nothing carries out of the top */
}

static bool bytes_parse(const char *text, uint64_t *out)
{
    decimal number;
    unsigned shift;
    const char *end = decimal_parse(text, &number);
    if (end == NULL)
        return false;
    (void)suffix_parse(&end, &shift);
    return is_end(end) && scaled(&number, shift, out);
}

static bool seconds_parse(const char *text, double *out)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {
        { "", 1 }, { "s", 1 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "m", 60 }, { "h", 3600 }
    };
    decimal number;
    const char *unit = decimal_parse(text, &number);
    if (unit == NULL)
        return false;
    unit = skip_space(unit);
    size_t len = strcspn(unit, " \t");
    if (!is_end(unit + len))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].unit) == len && strncasecmp(unit, units[i].unit, len) == 0) {
            double seconds = ((double)number.whole + number.fraction) * units[i].seconds;
            *out = seconds < PEN_KNOB_SECONDS_MAX ? seconds : PEN_KNOB_SECONDS_MAX;
            return true;
        }
    }
    return false;
}

/* Parses an exponent like e-5 or E+3, and moves *at behind it. Without an exponent the value
 * is 0. Returns false for an e without digits, or a value far too large. */
static bool exponent_parse(const char **at, int *out)
{
    const int exponent_max = 400; /* beyond this, every number that fits is infinite or 0 */
    *out = 0;
    if ((**at | 0x20) != 'e')
        return true;
    const char *digit = *at + 1;
    bool negative = *digit == '-';
    if (*digit == '-' || *digit == '+')
        digit++;
    if (!is_digit(*digit))
        return false;
    for (; is_digit(*digit) && *out <= exponent_max; digit++)
        *out = *out * 10 + (*digit - '0');
    if (*out > exponent_max)
        return false;
    if (negative)
        *out = -*out;
    *at = digit;
    return true;
}

/* If possible, divides once by an exact power of ten: then 1e-5 is the double nearest to it. */
static double scaled_by_ten(double value, int exponent)
{
    double divisor = 1;
    for (; exponent > 0 && value <= DBL_MAX; exponent--)
        value *= 10;
    for (; exponent < 0 && divisor < 1e22; exponent++)
        divisor *= 10;
    for (value /= divisor; exponent < 0; exponent++)
        value /= 10;
    return value;
}

static bool real_parse(const char *text, double *out)
{
    decimal number;
    int exponent;
    text = skip_space(text);
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    const char *end = is_digit(*text) || *text == '.' ? decimal_parse(text, &number) : NULL;
    if (end == NULL || !exponent_parse(&end, &exponent) || !is_end(end))
        return false;
    double value = scaled_by_ten((double)number.whole + number.fraction, exponent);
    if (value > DBL_MAX)
        return false;
    *out = negative ? -value : value;
    return true;
}

/* A bare number below 1, or 1.0, is a fraction of the memory. All other numbers are bytes. */
static bool memory_parse(const char *text, pen_memory_limit *out)
{
    pen_memory_limit limit = { 0 };
    decimal number;
    unsigned shift;
    const char *end = decimal_parse(text, &number);
    if (end == NULL)
        return false;
    bool is_size = suffix_parse(&end, &shift);
    double value = (double)number.whole + number.fraction;
    if (!is_size && number.has_point && value <= 1)
        limit.fraction = value;
    else if (!scaled(&number, shift, &limit.len))
        return false;
    end = skip_space(end);
    if (*end == '/') {
        end = skip_space(end + 1);
        limit.per_host = (*end | 0x20) == 'h';
        if (!limit.per_host && (*end | 0x20) != 'p')
            return false;
        end++;
    }
    if (!is_end(end))
        return false;
    *out = limit;
    return true;
}

/* Parses a number, or two with a hyphen between. Returns the text behind it, or NULL. */
static const char *range_parse(const char *at, uint64_t *first, uint64_t *last)
{
    decimal number;
    at = decimal_parse(at, &number);
    if (at == NULL || number.has_point)
        return NULL;
    *first = *last = number.whole;
    at = skip_space(at);
    if (*at != '-')
        return at;
    at = decimal_parse(at + 1, &number);
    if (at == NULL || number.has_point || number.whole < *first)
        return NULL;
    *last = number.whole;
    return skip_space(at);
}

bool pen_knob_parse_ranges(const char *text, uint64_t number, bool *is_one)
{
    bool found = false;
    for (const char *at = text;; at++) {
        uint64_t first, last;
        at = range_parse(at, &first, &last);
        if (at == NULL || (*at != '\0' && *at != ','))
            return false;
        found |= first <= number && number <= last;
        if (*at == '\0')
            break;
    }
    *is_one = found;
    return true;
}

bool pen_knob_parse(pen_knob_type type, const char *text, void *out)
{
    switch (type) {
    case PEN_KNOB_BOOL:
        return bool_parse(text, out);
    case PEN_KNOB_INT:
        return int_parse(text, out);
    case PEN_KNOB_BYTES:
        return bytes_parse(text, out);
    case PEN_KNOB_SECONDS:
        return seconds_parse(text, out);
    case PEN_KNOB_STRING:
        *(const char **)out = text;
        return true;
    case PEN_KNOB_MEMORY:
        return memory_parse(text, out);
    case PEN_KNOB_REAL:
        return real_parse(text, out);
    }
    return false;
}
