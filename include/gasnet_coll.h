/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_coll.h: collectives of GASNet-EX, Penstock's additions to them, and the calls of the
 * GASNet-1 era. gasnetex.h declares the barriers, too. */
#ifndef _INCLUDED_GASNET_COLL_H
#define _INCLUDED_GASNET_COLL_H

#include <gasnetex.h>

#include <penstock/collectives.h>

#include <penstock/legacy_coll.h>

#endif
