/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet.h: the GASNet-1 interface. It includes gasnetex.h, gasnet_tools.h and gasnet_vis.h. A
 * program may use both interfaces, on the same objects. */
#ifndef _INCLUDED_GASNET_H
#define _INCLUDED_GASNET_H

#include <gasnetex.h>

#include <gasnet_tools.h>
#include <gasnet_vis.h>

#include <penstock/legacy.h>
#include <penstock/legacy_am.h>
#include <penstock/legacy_rma.h>

#endif
