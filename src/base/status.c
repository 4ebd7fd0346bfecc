/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c: the texts of the status list. */
#include "base/status.h"

#include <stddef.h>

typedef struct status_row {
    const char *text, *remedy;
} status_row;

static const status_row status_rows[] = {
#define STATUS_ROW(name, text, remedy) { text, remedy },
    PEN_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const status_row *status_find(pen_status status)
{
    static const status_row unknown = { "unknown status", "" };
    size_t i = (size_t)status; /* a negative status becomes too large */
    return i < sizeof status_rows / sizeof status_rows[0] ? &status_rows[i] : &unknown;
}

const char *pen_status_text(pen_status status) { return status_find(status)->text; }

const char *pen_status_remedy(pen_status status) { return status_find(status)->remedy; }
