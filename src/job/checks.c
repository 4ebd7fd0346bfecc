/* SPDX-License-Identifier: BSD-3-Clause */
/* checks.c: PENSTOCK_CHECK_OFF: classes of checks by name. */
#include "job/checks.h"

#include "base/status.h"
#include "diag/log.h"

#include <stddef.h>
#include <string.h>

#define CHECK_ROW(upper, name, bit) { #name, PEN_CHECK_##upper },
static const struct {
    const char *name;
    uint32_t bit;
} checks[] = { PEN_CHECK_LIST(CHECK_ROW) };
#undef CHECK_ROW

#define CHECK_NAME(upper, name, bit) " " #name
static const char names[] = PEN_CHECK_LIST(CHECK_NAME);
#undef CHECK_NAME

/* Returns 0 if no class has that name. */
static uint32_t check_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (strlen(checks[i].name) == len && strncmp(checks[i].name, name, len) == 0)
            return checks[i].bit;
    return 0;
}

pen_status pen_checks_parse(pen_log *log, const char *off, bool overlap, uint32_t *checks_off)
{
    static const char between[] = ", ";
    uint32_t bits = overlap ? 0 : PEN_CHECK_OVERLAP;
    const char *at = off != NULL ? off : "";
    for (at += strspn(at, between); *at != '\0'; at += strspn(at, between)) {
        const size_t len = strcspn(at, between);
        const uint32_t bit = check_of(at, len);
        if (bit == 0) {
            pen_log_error(log,
                          "PENSTOCK_CHECK_OFF=%s: %.*s is no class of checks; give some of these, "
                          "separated by commas:%s",
                          off, (int)len, at, names);
            return PEN_ERR_ARGUMENT;
        }
        bits |= bit;
        at += len;
    }
    *checks_off = bits;
    return PEN_OK;
}
