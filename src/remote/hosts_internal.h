/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_internal.h: functions shared by the readers of lists of hosts. */
#ifndef PEN_REMOTE_HOSTS_INTERNAL_H
#define PEN_REMOTE_HOSTS_INTERNAL_H

#include "base/compiler.h"
#include "remote/hosts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_hosts_word { /* one mention of a host */
    const char *where;          /* for complaints */
    const char *name;           /* not terminated */
    size_t len;
    uint32_t slots; /* 0: not given */
} pen_hosts_word;

bool pen_hosts_complain(pen_hosts_problem *problem, const char *format, ...) PEN_PRINTF(2, 3);
bool pen_hosts_add(pen_hosts *out, const pen_hosts_word *word, pen_hosts_problem *problem);

/* Reads a number of digits only, at most `most`. Returns false for other text. */
bool pen_hosts_number(const char *text, size_t len, uint32_t most, uint32_t *out);

#endif
