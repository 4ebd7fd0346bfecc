/* SPDX-License-Identifier: BSD-3-Clause */
/* nearest.c: suggests the word that a mistyped word may have meant. */
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { WORD_LEN_MAX = 64 };

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* Computes Levenshtein's distance, row by row. */
unsigned pen_distance(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > WORD_LEN_MAX || b_len > WORD_LEN_MAX)
        return WORD_LEN_MAX;
    unsigned row[WORD_LEN_MAX + 1];
    for (unsigned j = 0; j <= b_len; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            unsigned above = row[j];
            unsigned replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = least(replaced, least(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[b_len];
}

const char *pen_nearest(const char *typed, const char *const *words)
{
    if (strlen(typed) < 3) /* too many words resemble a word of one or two letters */
        return NULL;
    const char *best = NULL;
    /* farther is a different word; the hyphens of an option say nothing about which it is */
    unsigned best_distance = (unsigned)strlen(typed + strspn(typed, "-")) / 3 + 1;
    for (; *words != NULL; words++) {
        unsigned d = pen_distance(typed, *words);
        bool begins = strncmp(*words, typed, strlen(typed)) == 0;
        if (begins)
            d = 1;
        if (d < best_distance || (d == best_distance && best == NULL)) {
            best = *words;
            best_distance = d;
        }
    }
    return best;
}
