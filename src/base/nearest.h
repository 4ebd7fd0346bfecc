/* SPDX-License-Identifier: BSD-3-Clause */
/* nearest.h: suggests the word that a mistyped word may have meant. */
#ifndef PEN_BASE_NEAREST_H
#define PEN_BASE_NEAREST_H

/* Returns the word nearest to the typed one, or NULL if no word is near. words ends with NULL. */
const char *pen_nearest(const char *typed, const char *const *words);

/* The number of letters to change, add or remove to turn a into b. Words of more than 64 letters
 * are far from all words. */
unsigned pen_distance(const char *a, const char *b);

#endif
