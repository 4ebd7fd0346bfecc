/* SPDX-License-Identifier: BSD-3-Clause */
/* mode.h: the mode of the tools: with threads or without, with the library or only as headers.
 *
 *     GASNET_SEQ, GASNET_PARSYNC, GASNET_PAR   together with gasnetex.h: these decide
 *     GASNETT_THREAD_SINGLE                    alone: one thread; locks and weak atomics are plain
 *     GASNETT_THREAD_SAFE                      alone: several threads; also when nothing is said
 *     GASNETT_LITE_MODE                        alone: what needs no library, and no more
 *
 * Every mode links with the same library, and files of all modes may be mixed. */
#ifndef PENSTOCK_TOOLS_MODE_H
#define PENSTOCK_TOOLS_MODE_H

#include <gasnet_config.h>

#include <gasnet_portable_platform.h>

#include <penstock/libc.h>

#include <penstock/abi.h>

#if defined(GASNETT_THREAD_SAFE) && defined(GASNETT_THREAD_SINGLE)
#    error define at most one of GASNETT_THREAD_SAFE and GASNETT_THREAD_SINGLE
#endif

#if defined(GASNET_SEQ) || defined(GASNET_PARSYNC) || defined(GASNET_PAR)
#    define PEN_TOOLS_WITH_JOB 1
#    define PEN_TOOLS_LITE     0
#else
#    define PEN_TOOLS_WITH_JOB 0
#    ifdef GASNETT_LITE_MODE
#        define PEN_TOOLS_LITE 1
#    else
#        define PEN_TOOLS_LITE 0
#    endif
#endif

#if defined(GASNET_SEQ) || (!PEN_TOOLS_WITH_JOB && defined(GASNETT_THREAD_SINGLE))
#    define PEN_TOOLS_THREADED  0
#    define PEN_TOOLS_MODE_NAME "SINGLE"
#else
#    define PEN_TOOLS_THREADED  1
#    define PEN_TOOLS_MODE_NAME "THREAD_SAFE"
#endif
/* GASNETT_USE_TRUE_MUTEXES: locks are real although the mode has one thread. */
#if PEN_TOOLS_THREADED || (defined(GASNETT_USE_TRUE_MUTEXES) && GASNETT_USE_TRUE_MUTEXES + 0)
#    define PEN_TOOLS_LOCKS 1
#else
#    define PEN_TOOLS_LOCKS 0
#endif

/* ---- versions ------------------------------------------------------------------------------- */

#define GASNETT_SPEC_VERSION_MAJOR    1
#define GASNETT_SPEC_VERSION_MINOR    20
#define GASNETT_RELEASE_VERSION_MAJOR GASNET_RELEASE_VERSION_MAJOR
#define GASNETT_RELEASE_VERSION_MINOR GASNET_RELEASE_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_PATCH GASNET_RELEASE_VERSION_PATCH
#define GASNETT_CONFIG_STRING                                              \
    "RELEASE=" GASNETI_RELEASE_VERSION ",IMPLEMENTATION=" GASNETI_BUILD_ID \
    ",THREADMODEL=" PEN_TOOLS_MODE_NAME ",PTR=64bit"

#endif
