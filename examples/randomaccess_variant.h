/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_variant.h: the ways in which RandomAccess updates words.
 *
 * am      every update, also to the caller's own part, is carried by an active message and applied
 *         by its handler: no error is allowed
 * putget  every update reads, changes and writes back: two ranks may race for a word, and one word
 *         in 10,000 may be wrong (tables below 2^18 words are too small for so low a limit). Over a
 *         network every rank always has a word in hand, so about four words go wrong for each rank
 *         beyond the first, however large the table; there one in 100 may be wrong, as HPCC allows
 * direct  for ranks that share memory: the same where the word lies, in the owner's segment as it
 * is mapped here */
#ifndef RANDOMACCESS_VARIANT_H
#define RANDOMACCESS_VARIANT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum variant { AM, PUTGET, DIRECT, VARIANTS } variant;

static const char *const variant_names[VARIANTS] = { "am", "putget", "direct" };

/* Whether the name is that of a variant, which variant_out receives then. */
static bool variant_read(const char *name, variant *variant_out)
{
    for (unsigned each = 0; each < VARIANTS; each++) {
        if (strcmp(name, variant_names[each]) == 0) {
            *variant_out = (variant)each;
            return true;
        }
    }
    return false;
}

/* How many of the words may be wrong. */
static uint64_t variant_errors_max(variant which, uint64_t words, bool over_network)
{
    return which == AM ? 0 : words / (over_network ? 100 : 10000);
}

#endif
