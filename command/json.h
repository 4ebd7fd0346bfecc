/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h: values of JSON output. */
#ifndef PEN_COMMAND_JSON_H
#define PEN_COMMAND_JSON_H

#include <stdbool.h>
#include <stdio.h>

void json_text(FILE *out, const char *text); /* with its quotes; NULL: null */
const char *json_bool(bool value);

#endif
