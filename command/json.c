/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c: values of JSON output. */
#include "command/json.h"

void json_text(FILE *out, const char *text)
{
    if (text == NULL) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f) /* bytes that may not be UTF-8: as Latin-1 */
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

const char *json_bool(bool value) { return value ? "true" : "false"; }
