/* SPDX-License-Identifier: BSD-3-Clause */
/* inline_symbols.c: every call whose body is in a public header, exported once, for languages that
 * link by symbol. They behave as in GASNET_PAR, which is right for every program. */
#define PEN_LIBRARY 1
#define GASNET_PAR  1
#define GEX_INLINE  extern __attribute__((visibility("default")))

/* The forms of messages for each number of arguments are made by one macro, without prototypes. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#include <gasnet.h>

#include <gasnet_ratomic.h>
