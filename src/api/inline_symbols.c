/* SPDX-License-Identifier: BSD-3-Clause */
/* inline_symbols.c: exports every call whose body is in a public header, once, for languages that
 * link by symbol. The calls behave as in GASNET_PAR, which is correct for every program. */
#define PEN_LIBRARY 1
#define GASNET_PAR  1
#define GEX_INLINE  extern __attribute__((visibility("default")))

/* One macro makes the forms of messages for each number of arguments, without prototypes. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#include <gasnet.h>

#include <gasnet_ratomic.h>
