/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.h: figures and names of the machine, its limits, and arithmetic on blocks of memory.
 * GASNet tools, chapters "Platform" and "Miscellaneous". */
#ifndef PENSTOCK_TOOLS_MACHINE_H
#define PENSTOCK_TOOLS_MACHINE_H

#include <penstock/tools/mode.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The page size: the largest that the processor family uses, equal to GASNET_PAGESIZE. */
#if defined(__aarch64__)
#    define GASNETT_PAGESHIFT 16
#else
#    define GASNETT_PAGESHIFT 12
#endif
#define GASNETT_PAGESIZE         (1 << GASNETT_PAGESHIFT)
#define GASNETT_CACHE_LINE_BYTES 64

/* The platform that this was compiled for, like "x86_64-linux". */
#if defined(__x86_64__)
#    define PEN_TOOLS_ARCH_NAME "x86_64"
#elif defined(__aarch64__)
#    define PEN_TOOLS_ARCH_NAME "aarch64"
#else
#    define PEN_TOOLS_ARCH_NAME "unknown"
#endif
#define GASNETT_SYSTEM_TUPLE PEN_TOOLS_ARCH_NAME "-linux"

/* Returns non-zero if the lowest byte of a number comes first in memory. Context: any. */
GEX_INLINE int gasnett_isLittleEndian(void)
{
#ifdef PLATFORM_ARCH_LITTLE_ENDIAN
    return 1;
#else
    return 0;
#endif
}

/* Return how many bytes of a value are zero. Context: any. They do not poll. */
GEX_INLINE int gasnett_count0s_uint64_t(uint64_t value)
{
    /* Sets bit 7 of each byte that is not zero. The sum in a byte never carries. */
    const uint64_t low = ~UINT64_C(0) / 255 * 127;
    const uint64_t ones = (((value & low) + low) | value) & ~low;
    return 8 - (int)(((ones >> 7) * (~UINT64_C(0) / 255)) >> 56);
}
GEX_INLINE int gasnett_count0s_uint32_t(uint32_t value)
{
    return gasnett_count0s_uint64_t(value) - 4;
}
GEX_INLINE int gasnett_count0s_uintptr_t(uintptr_t value)
{
    return gasnett_count0s_uint64_t(value) - (int)(8 - sizeof(value));
}

#if !PEN_TOOLS_LITE

/* Return the release of the library that runs, as text and as one number, which is greater for
 * later releases: major * 10^6 + minor * 10^4 + patch, for example 2025080000 for 2025.8.0.
 * GASNETT_RELEASE_VERSION_... is the release of the headers. Context: any. */
PEN_API uint64_t gasnett_release_version(void);
PEN_API const char *gasnett_release_version_str(void);

/* Returns this host's name, or "unknown". The library owns the string. Context: any. */
PEN_API const char *gasnett_gethostname(void);

/* Returns the path of the running program; "unknown" if the system does not tell. The library owns
 * the string. Context: any. */
PEN_API const char *gasnett_exe_name(void);

/* Returns how many processors this process may use: the processors in its affinity mask, limited by
 * its share of processor time. At least 1. Context: no handler. */
PEN_API int gasnett_cpu_count(void);

/* Returns how many bytes of physical memory this process may use.
 *   fatal  if the system does not tell: non-zero ends the process, zero returns 0
 * Context: no handler. */
PEN_API uint64_t gasnett_getPhysMemSz(int fatal);

/* Returns the reasons why the library is slower than it could be, one per line; "" if there are no
 * reasons. Context: any. */
PEN_API const char *gasnett_performance_warning_str(void);

/* Binds the calling thread to one of the processors that it may use.
 *   rank  chooses the processor, modulo their number
 * Returns 0 on success. Deprecated: use `taskset` or the launcher. Context: no handler. */
#    define GASNETT_SET_AFFINITY_SUPPORT 1
PEN_API int gasnett_set_affinity(int rank);

/* Raises the limits of this process as far as it may: memory, data, stack, processor time, files.
 * If GASNET_MAXIMIZE_<name> is "no", the limit RLIMIT_<name> stays unchanged. Context: no handler.
 */
PEN_API void gasnett_maximize_rlimits(void);

/* Raises one limit as far as this process may.
 *   limit  RLIMIT_...
 *   name   name of the limit, for the variable
 * Returns non-zero on success. Context: no handler. */
PEN_API int gasnett_maximize_rlimit(int limit, const char *name);

/* Returns a checksum that depends on every byte of a block and on their order.
 *   source  len bytes
 * Context: any. */
PEN_API uint64_t gasnett_checksum(const void *source, int len);

/* Return how many bytes of a block are zero; the second call also copies the block to dest, which
 * must not overlap. Context: any. */
PEN_API size_t gasnett_count0s(const void *source, size_t len);
PEN_API size_t gasnett_count0s_copy(void *dest, const void *source, size_t len);

#endif

#ifdef __cplusplus
}
#endif
#endif
