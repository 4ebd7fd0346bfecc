/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz.h: the function of a target that libFuzzer, or replay.c in its place, calls. */
#ifndef PEN_TESTS_FUZZ_H
#define PEN_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's name. NOLINTNEXTLINE(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len); /* answers 0 */

#endif
