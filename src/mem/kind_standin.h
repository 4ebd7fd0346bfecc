/* SPDX-License-Identifier: BSD-3-Clause */
/* kind_standin.h: a device made of host memory, for machines without one: programs that use device
 * memory can be tried anywhere. */
#ifndef PEN_MEM_KIND_STANDIN_H
#define PEN_MEM_KIND_STANDIN_H

#include "mem/kind.h"

extern const pen_kind pen_kind_standin;

#endif
