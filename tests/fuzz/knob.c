/* SPDX-License-Identifier: BSD-3-Clause */
/* knob.c: the values of variables: any text as a value of every type, as a list of ranges, and as
 * a level of the log. */
#include "knob/knob.h"

#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void try_number(pen_knob_type type, const char *text)
{
    double number = 0;
    if (pen_knob_parse(type, text, &number) &&
        (isnan(number) || isinf(number) || (type == PEN_KNOB_SECONDS && number < 0)))
        abort();
}

static void try_memory(const char *text)
{
    pen_memory_limit limit = { 0 };
    if (pen_knob_parse(PEN_KNOB_MEMORY, text, &limit) &&
        (isnan(limit.fraction) || limit.fraction < 0 || (limit.len != 0 && limit.fraction != 0)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text =
        malloc(len + 1); /* memory of its exact length, so that a read behind its end is found */
    if (text == NULL)
        return 0;
    memcpy(text, bytes, len);
    text[len] = '\0';
    bool is_on = false, is_one = false;
    int64_t number = 0;
    uint64_t count = 0;
    const char *same = NULL;
    pen_log_level level = PEN_LOG_ERROR;
    (void)pen_knob_parse(PEN_KNOB_BOOL, text, &is_on);
    (void)pen_knob_parse(PEN_KNOB_INT, text, &number);
    (void)pen_knob_parse(PEN_KNOB_BYTES, text, &count);
    if (!pen_knob_parse(PEN_KNOB_STRING, text, &same) || same != text)
        abort();
    try_number(PEN_KNOB_SECONDS, text);
    try_number(PEN_KNOB_REAL, text);
    try_memory(text);
    for (uint64_t i = 0; i < 9; i++)
        (void)pen_knob_parse_ranges(text, i * i, &is_one);
    (void)pen_log_level_parse(text, &level);
    free(text);
    return 0;
}
