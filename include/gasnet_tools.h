/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_tools.h: helpers for parallel programs: time, atomics, fences, locks, the environment,
 * figures of the machine, exit and stack traces. They need no job. A program may use them alone,
 * with the library (it defines GASNETT_THREAD_SAFE or GASNETT_THREAD_SINGLE) or in part without it
 * (GASNETT_LITE_MODE); or with gasnetex.h, or gasnet.h, which contains this. See
 * <penstock/tools/mode.h>.
 *
 * gasnetex.h explains what "Context:" means in the documentation of a call. */
#ifndef _INCLUDED_GASNET_TOOLS_H
#define _INCLUDED_GASNET_TOOLS_H

#include <penstock/tools/mode.h>

#if PEN_TOOLS_WITH_JOB
#    include <gasnetex.h>

#    include <penstock/tools/job.h>
#endif

#include <penstock/tools/annotate.h>
#include <penstock/tools/atomic.h>
#include <penstock/tools/debug.h>
#include <penstock/tools/environment.h>
#include <penstock/tools/fence.h>
#include <penstock/tools/machine.h>
#include <penstock/tools/thread.h>
#include <penstock/tools/time.h>

#endif
