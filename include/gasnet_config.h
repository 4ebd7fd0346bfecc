/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_config.h: the release, as numbers and as text that configure scripts search for.
 *
 * Clients compare GASNET_RELEASE_VERSION_... with the releases of the reference implementation in
 * order to know which calls the interface has. Penstock therefore states the release whose
 * interface it implements. The version of Penstock is PENSTOCK_VERSION_... */
#ifndef _INCLUDED_GASNET_CONFIG_H
#define _INCLUDED_GASNET_CONFIG_H

#define PENSTOCK_VERSION_MAJOR       0
#define PENSTOCK_VERSION_MINOR       1
#define PENSTOCK_VERSION_PATCH       0

#define GASNET_RELEASE_VERSION_MAJOR 2025
#define GASNET_RELEASE_VERSION_MINOR 8
#define GASNET_RELEASE_VERSION_PATCH 0
#define GASNETI_RELEASE_VERSION      "2025.8.0"
#define GASNETI_BUILD_ID             "Penstock 0.1.0"
#define GASNETI_CONFIGURE_ARGS       "'--disable-aligned-segments' '--enable-pshm'"

/* The version of the GASNet-EX specification, under the name that configure scripts search for. */
#define EX_SPEC_VERSION_MAJOR       0
#define EX_SPEC_VERSION_MINOR       19

#define HAVE_MMAP                   1
#define HAVE_PTHREAD_H              1
#define HAVE_PTHREAD_SETCONCURRENCY 1

/* Sizes of C's types in bytes. Config headers of other packages define the same names. */
#ifndef SIZEOF_CHAR
#    define SIZEOF_CHAR 1
#endif
#ifndef SIZEOF_SHORT
#    define SIZEOF_SHORT 2
#endif
#ifndef SIZEOF_INT
#    define SIZEOF_INT 4
#endif
#ifndef SIZEOF_LONG
#    define SIZEOF_LONG 8
#endif
#ifndef SIZEOF_LONG_LONG
#    define SIZEOF_LONG_LONG 8
#endif
#ifndef SIZEOF_VOID_P
#    define SIZEOF_VOID_P 8
#endif
#ifndef SIZEOF_SIZE_T
#    define SIZEOF_SIZE_T 8
#endif
#ifndef SIZEOF_PTRDIFF_T
#    define SIZEOF_PTRDIFF_T 8
#endif

#endif
