/* SPDX-License-Identifier: BSD-3-Clause */
/* config.h: the client's choices when it was compiled (thread mode, segment mode, name of the
 * conduit), and macros by which it asks about this release in #if. The library serves every choice.
 * The conduit that runs is decided when the job starts. */
#ifndef PENSTOCK_CONFIG_H
#define PENSTOCK_CONFIG_H

#include <gasnet_config.h>

/* ---- thread mode: who may call at once ------------------------------------------------------ */

#if defined(GASNET_SEQ) + defined(GASNET_PARSYNC) + defined(GASNET_PAR) != 1
#    error define exactly one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR
#endif
#if defined(GASNET_SEQ)
#    define PEN_MODE            PEN_MODE_SEQ
#    define PEN_MODE_NAME       "SEQ"
#    define GASNETI_MAX_THREADS 1
#elif defined(GASNET_PARSYNC)
#    define PEN_MODE            PEN_MODE_PARSYNC
#    define PEN_MODE_NAME       "PARSYNC"
#    define GASNETI_MAX_THREADS 256
#else
#    define PEN_MODE            PEN_MODE_PAR
#    define PEN_MODE_NAME       "PAR"
#    define GASNETI_MAX_THREADS 256
#endif

/* ---- segment mode: which of a peer's addresses may be reached ------------------------------- */

#if defined(GASNET_SEGMENT_FAST) + defined(GASNET_SEGMENT_LARGE) + \
        defined(GASNET_SEGMENT_EVERYTHING) >                       \
    1
#    error define at most one of GASNET_SEGMENT_FAST, GASNET_SEGMENT_LARGE, GASNET_SEGMENT_EVERYTHING
#endif
#if defined(GASNET_SEGMENT_EVERYTHING)
#    define PEN_SEGMENT      PEN_SEGMENT_EVERYTHING
#    define PEN_SEGMENT_NAME "EVERYTHING"
#elif defined(GASNET_SEGMENT_LARGE)
#    define PEN_SEGMENT      PEN_SEGMENT_LARGE
#    define PEN_SEGMENT_NAME "LARGE"
#else
#    ifndef GASNET_SEGMENT_FAST
#        define GASNET_SEGMENT_FAST 1
#    endif
#    define PEN_SEGMENT      PEN_SEGMENT_FAST
#    define PEN_SEGMENT_NAME "FAST"
#endif

/* ---- the conduit's name --------------------------------------------------------------------- */

/* The conduit's name. The client defines GASNET_CONDUIT_..., or has the folder <name>-conduit of
 * the installed tree on its include path. A program built for SMP may assume that its ranks share
 * one host, so it refuses to start elsewhere (PENSTOCK_ALLOW_OTHER_CONDUIT). Programs built for
 * another name run over every conduit. If no name is chosen, the macros name SMP and the program
 * runs over any conduit. */
#ifdef __has_include
#    if __has_include(<gasnet_core.h>)
#        include <gasnet_core.h>
#    endif
#endif
#if defined(GASNET_CONDUIT_SMP) + defined(GASNET_CONDUIT_UDP) + defined(GASNET_CONDUIT_MPI) +     \
        defined(GASNET_CONDUIT_OFI) + defined(GASNET_CONDUIT_UCX) + defined(GASNET_CONDUIT_IBV) + \
        defined(GASNET_CONDUIT_PORTALS4) + defined(GASNET_CONDUIT_EXTOLL) >                       \
    1
#    error more than one GASNET_CONDUIT_...: -D and the <name>-conduit folder included must agree
#endif
#if defined(GASNET_CONDUIT_UDP)
#    define GASNET_CONDUIT_NAME     UDP
#    define GASNET_CONDUIT_NAME_STR "UDP"
#    define PEN_NAME                PEN_NAME_UDP
#elif defined(GASNET_CONDUIT_MPI)
#    define GASNET_CONDUIT_NAME     MPI
#    define GASNET_CONDUIT_NAME_STR "MPI"
#    define PEN_NAME                PEN_NAME_MPI
#elif defined(GASNET_CONDUIT_OFI)
#    define GASNET_CONDUIT_NAME     OFI
#    define GASNET_CONDUIT_NAME_STR "OFI"
#    define PEN_NAME                PEN_NAME_OFI
#elif defined(GASNET_CONDUIT_UCX)
#    define GASNET_CONDUIT_NAME     UCX
#    define GASNET_CONDUIT_NAME_STR "UCX"
#    define PEN_NAME                PEN_NAME_UCX
#elif defined(GASNET_CONDUIT_IBV)
#    define GASNET_CONDUIT_NAME     IBV
#    define GASNET_CONDUIT_NAME_STR "IBV"
#    define PEN_NAME                PEN_NAME_IBV
#elif defined(GASNET_CONDUIT_PORTALS4)
#    define GASNET_CONDUIT_NAME     PORTALS4
#    define GASNET_CONDUIT_NAME_STR "PORTALS4"
#    define PEN_NAME                PEN_NAME_PORTALS4
#elif defined(GASNET_CONDUIT_EXTOLL)
#    define GASNET_CONDUIT_NAME     EXTOLL
#    define GASNET_CONDUIT_NAME_STR "EXTOLL"
#    define PEN_NAME                PEN_NAME_EXTOLL
#else
#    ifdef GASNET_CONDUIT_SMP
#        define PEN_NAME PEN_NAME_SMP
#    else
#        define GASNET_CONDUIT_SMP 1
#        define PEN_NAME           PEN_NAME_ANY
#    endif
#    define GASNET_CONDUIT_NAME     SMP
#    define GASNET_CONDUIT_NAME_STR "SMP"
#endif
#define GASNET_CORE_NAME            GASNET_CONDUIT_NAME
#define GASNET_CORE_NAME_STR        GASNET_CONDUIT_NAME_STR
#define GASNET_CORE_VERSION         0.1
#define GASNET_CORE_VERSION_STR     "0.1"
#define GASNET_EXTENDED_NAME        GASNET_CONDUIT_NAME
#define GASNET_EXTENDED_NAME_STR    GASNET_CONDUIT_NAME_STR
#define GASNET_EXTENDED_VERSION     0.1
#define GASNET_EXTENDED_VERSION_STR "0.1"

/* ---- versions of the documents -------------------------------------------------------------- */

#define GASNET_VERSION            1
#define GASNET_SPEC_VERSION_MAJOR 1
#define GASNET_SPEC_VERSION_MINOR 8
#define GEX_SPEC_VERSION_MAJOR    0
#define GEX_SPEC_VERSION_MINOR    19

/* ---- what this implementation offers -------------------------------------------------------- */

#define GASNET_ALIGNED_SEGMENTS            0 /* segments start at different addresses */
#define GASNET_MAXNODES                    0x7FFFFFFF
#define GASNET_MAXEPS                      64 /* endpoints of a process, with the primordial one */
#define GASNET_NULL_ARGV_OK                1
#define GASNET_PSHM                        1
#define GASNETI_PSHM_ENABLED               1
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 0 /* no thread of the library runs handlers */
#define GASNET_SUPPORTS_TI_SRCRANK         1
#define GASNET_SUPPORTS_TI_EP              1
#define GASNET_SUPPORTS_TI_ENTRY           1
#define GASNET_SUPPORTS_TI_IS_REQ          1
#define GASNET_SUPPORTS_TI_IS_LONG         1
#define GASNET_SUPPORTS_AM_CANCEL          20240418L
#define GASNET_SUPPORTS_AM_COMMIT_V2       20240906L
#define GASNET_NATIVE_NP_ALLOC_REQ_MEDIUM  1 /* payloads in shared memory are built in place */
#define GASNET_NATIVE_NP_ALLOC_REP_MEDIUM  1

/* Segment sizes are multiples of this page size: the largest that the processor family uses. */
#if defined(__aarch64__)
#    define GASNET_PAGESIZE 65536
#else
#    define GASNET_PAGESIZE 4096
#endif

/* The client may declare a debug build. The library's own checks are chosen at run time. */
#if !defined(GASNET_DEBUG) && !defined(GASNET_NDEBUG)
#    define GASNET_NDEBUG 1
#endif

#define GASNET_CONFIG_STRING                                                                       \
    "RELEASE=" GASNETI_RELEASE_VERSION ",IMPLEMENTATION=" GASNETI_BUILD_ID                         \
    ",CONDUIT=" GASNET_CONDUIT_NAME_STR ",THREADMODEL=" PEN_MODE_NAME ",SEGMENT=" PEN_SEGMENT_NAME \
    ",PTR=64bit,noalign,pshm"

#endif
