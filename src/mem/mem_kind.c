/* SPDX-License-Identifier: BSD-3-Clause */
/* mem_kind.c: the kinds of device memory in this build. */
#include "mem/kind.h"

#include "mem/kind_standin.h"

#include <string.h>

const pen_kind *const pen_kinds[] = { &pen_kind_standin, NULL };

const pen_kind *pen_kind_find(const char *name)
{
    for (const pen_kind *const *kind = pen_kinds; *kind != NULL; kind++)
        if (strcmp((*kind)->name, name) == 0)
            return *kind;
    return NULL;
}
