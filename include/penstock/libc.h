/* SPDX-License-Identifier: BSD-3-Clause */
/* libc.h: the C library's headers that a client may use after it included only gasnet.h, gasnetex.h
 * or gasnet_tools.h. Many clients include no other header. */
#ifndef PENSTOCK_LIBC_H
#define PENSTOCK_LIBC_H

/* Older C libraries define PRIu64, INT64_MAX and UINT64_C for C++ only on request. */
#ifdef __cplusplus
#    ifndef __STDC_FORMAT_MACROS
#        define __STDC_FORMAT_MACROS 1
#    endif
#    ifndef __STDC_LIMIT_MACROS
#        define __STDC_LIMIT_MACROS 1
#    endif
#    ifndef __STDC_CONSTANT_MACROS
#        define __STDC_CONSTANT_MACROS 1
#    endif
#endif

#include <alloca.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <gasnet_config.h>

/* A strict language mode (-std=c11) hides the POSIX parts of stdlib.h and string.h, unless the
 * client defined a feature macro. Many clients use these three functions without a feature macro.
 */
#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_GNU_SOURCE) &&   \
    !defined(_DEFAULT_SOURCE) && !defined(_BSD_SOURCE) && !defined(_SVID_SOURCE) && \
    !defined(_POSIX_SOURCE) && !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE)
extern int setenv(const char *name, const char *value, int overwrite);
extern int unsetenv(const char *name);
extern char *strdup(const char *text);
#endif

/* Formats of size_t and ptrdiff_t, named like those of inttypes.h. Both types are as long as `long`
 * wherever the library runs, and ISO C90 has no length modifier z. */
/* NOLINTBEGIN(readability-identifier-naming): clients know these names */
#define PRIuSZ "lu"
#define PRIdSZ "ld"
#define PRIiSZ "li"
#define PRIoSZ "lo"
#define PRIxSZ "lx"
#define PRIXSZ "lX"
#define SCNuSZ "lu"
#define SCNdSZ "ld"
#define SCNiSZ "li"
#define SCNoSZ "lo"
#define SCNxSZ "lx"
/* NOLINTEND(readability-identifier-naming) */

#endif
