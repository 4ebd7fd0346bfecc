/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_coll.h: collectives: those of GASNet-EX, those that it lacks, and the calls of the
 * GASNet-1 era. Barriers are in gasnetex.h, too. */
#ifndef _INCLUDED_GASNET_COLL_H
#define _INCLUDED_GASNET_COLL_H

#include <gasnetex.h>

#include <penstock/collectives.h>

#include <penstock/legacy_coll.h>

#endif
