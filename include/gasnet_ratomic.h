/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_ratomic.h: remote atomics. */
#ifndef _INCLUDED_GASNET_RATOMIC_H
#define _INCLUDED_GASNET_RATOMIC_H

#include <gasnetex.h>

#include <penstock/atomic.h>

#endif
