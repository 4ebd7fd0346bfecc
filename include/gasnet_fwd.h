/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_fwd.h: the types and constants of GASNet-EX, for headers that only name them. Declares no
 * function and needs no thread mode. */
#ifndef _GASNET_FWD_H
#define _GASNET_FWD_H

#include <penstock/types.h>

#endif
