/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_vis.h: put and get of memory in pieces: by vectors, indices and strides, in the forms of
 * GASNet-EX and of GASNet-1. gasnet.h includes it. */
#ifndef _INCLUDED_GASNET_VIS_H
#define _INCLUDED_GASNET_VIS_H

#include <gasnetex.h>

#include <penstock/vis.h>

#include <penstock/legacy_vis.h>

#endif
