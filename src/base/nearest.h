/* SPDX-License-Identifier: BSD-3-Clause */
/* nearest.h: what a mistyped word may have meant. */
#ifndef PEN_BASE_NEAREST_H
#define PEN_BASE_NEAREST_H

/* The nearest of several words to what was typed, or NULL when none is near. words ends with NULL.
 */
const char *pen_nearest(const char *typed, const char *const *words);

/* How many letters have to be changed, added or removed to make b of a. Words of more than 64
 * letters are far from all others. */
unsigned pen_distance(const char *a, const char *b);

#endif
