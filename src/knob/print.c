/* SPDX-License-Identifier: BSD-3-Clause */
/* print.c: prints one knob as a line for people. */
#include "knob/knob.h"

#include <string.h>

bool pen_knob_is_for_tests(const pen_knob *row)
{
    static const char beginning[] = "For tests: ";
    return strncmp(row->summary, beginning, sizeof(beginning) - 1) == 0;
}

void pen_knob_print(FILE *out, const pen_knob *row, const char *value, bool is_default)
{
    if (value == NULL)
        value = "(not set)";
    else if (*value == '\0')
        value = "\"\"";
    fprintf(out, "%-32s %-16s %-13s  %s\n", row->name, value,
            is_default ? "(default)" : "(environment)", row->summary);
}
