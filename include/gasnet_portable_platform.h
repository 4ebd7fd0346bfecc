/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_portable_platform.h: names the compiler, the operating system and the processor, as macros
 * for #if. Includes no header and declares nothing. In each group exactly one macro is 1; the rest
 * are undefined:
 *
 *     PLATFORM_COMPILER_<family>, with _C or _CXX behind it for the language
 *     PLATFORM_OS_<family>, in some cases with PLATFORM_OS_SUBFAMILY_<name>
 *     PLATFORM_ARCH_<family>; PLATFORM_ARCH_32 or _64; PLATFORM_ARCH_BIG_ENDIAN or _LITTLE_ENDIAN
 *
 * In each group, ..._FAMILYNAME is the family as a token. PLATFORM_COMPILER_VERSION_GE(major,
 * minor, patch), ..._GT, ..._LE, ..._LT and ..._EQ compare the version of the compiler. Two macros
 * describe it as text: PLATFORM_COMPILER_VERSION_STR and PLATFORM_COMPILER_IDSTR. */
#ifndef _PORTABLE_PLATFORM_H
#define _PORTABLE_PLATFORM_H

#define PLATFORM_HEADER_VERSION 23

/* ---- text of tokens ------------------------------------------------------------------------- */

#define PEN_PLATFORM_TEXT_OF(token) #token
#define PEN_PLATFORM_TEXT(token)    PEN_PLATFORM_TEXT_OF(token)

/* ---- compiler ------------------------------------------------------------------------------- */

#define PLATFORM_COMPILER_VERSION_INT(major, minor, patch) \
    (((major) << 16) | ((minor) << 8) | (patch))

/* Tests a compiler that pretends to be another one before the one that it imitates. */
#if defined(__INTEL_LLVM_COMPILER) || defined(__INTEL_COMPILER)
#    define PLATFORM_COMPILER_INTEL      1
#    define PLATFORM_COMPILER_FAMILYNAME INTEL
#    define PLATFORM_COMPILER_FAMILYID   2
#    if defined(__INTEL_LLVM_COMPILER) && __INTEL_LLVM_COMPILER >= 1000000 /* 20230100 */
#        define PEN_PLATFORM_MAJOR (__INTEL_LLVM_COMPILER / 10000)
#        define PEN_PLATFORM_MINOR (__INTEL_LLVM_COMPILER / 100 % 100)
#        define PEN_PLATFORM_PATCH (__INTEL_LLVM_COMPILER % 100)
#    elif defined(__INTEL_LLVM_COMPILER) /* 202110 */
#        define PEN_PLATFORM_MAJOR (__INTEL_LLVM_COMPILER / 100)
#        define PEN_PLATFORM_MINOR (__INTEL_LLVM_COMPILER / 10 % 10)
#        define PEN_PLATFORM_PATCH (__INTEL_LLVM_COMPILER % 10)
#    else
#        define PEN_PLATFORM_MAJOR (__INTEL_COMPILER / 100)
#        define PEN_PLATFORM_MINOR (__INTEL_COMPILER / 10 % 10)
#        define PEN_PLATFORM_PATCH (__INTEL_COMPILER % 10)
#    endif
#elif defined(__NVCOMPILER)
#    define PLATFORM_COMPILER_NVHPC      1
#    define PLATFORM_COMPILER_FAMILYNAME NVHPC
#    define PLATFORM_COMPILER_FAMILYID   21
#    define PEN_PLATFORM_MAJOR           __NVCOMPILER_MAJOR__
#    define PEN_PLATFORM_MINOR           __NVCOMPILER_MINOR__
#    define PEN_PLATFORM_PATCH           __NVCOMPILER_PATCHLEVEL__
#elif defined(__PGIC__)
#    define PLATFORM_COMPILER_PGI        1
#    define PLATFORM_COMPILER_FAMILYNAME PGI
#    define PLATFORM_COMPILER_FAMILYID   4
#    define PEN_PLATFORM_MAJOR           __PGIC__
#    define PEN_PLATFORM_MINOR           __PGIC_MINOR__
#    define PEN_PLATFORM_PATCH           __PGIC_PATCHLEVEL__
#elif defined(__cray__) || defined(_CRAYC)
#    define PLATFORM_COMPILER_CRAY       1
#    define PLATFORM_COMPILER_FAMILYNAME CRAY
#    define PLATFORM_COMPILER_FAMILYID   10
#    ifdef __cray_major__
#        define PEN_PLATFORM_MAJOR __cray_major__
#        define PEN_PLATFORM_MINOR __cray_minor__
#        define PEN_PLATFORM_PATCH __cray_patchlevel__
#    else
#        define PEN_PLATFORM_MAJOR _RELEASE_MAJOR
#        define PEN_PLATFORM_MINOR _RELEASE_MINOR
#        define PEN_PLATFORM_PATCH 0
#    endif
#elif defined(__OPENCC__) || defined(__OPEN64__)
#    define PLATFORM_COMPILER_OPEN64     1
#    define PLATFORM_COMPILER_FAMILYNAME OPEN64
#    define PLATFORM_COMPILER_FAMILYID   17
#    define PEN_PLATFORM_MAJOR           0
#    define PEN_PLATFORM_MINOR           0
#    define PEN_PLATFORM_PATCH           0
#elif defined(__PATHCC__)
#    define PLATFORM_COMPILER_PATHSCALE  1
#    define PLATFORM_COMPILER_FAMILYNAME PATHSCALE
#    define PLATFORM_COMPILER_FAMILYID   3
#    define PEN_PLATFORM_MAJOR           __PATHCC__
#    define PEN_PLATFORM_MINOR           __PATHCC_MINOR__
#    define PEN_PLATFORM_PATCH           0
#elif defined(__ibmxl__) || defined(__xlC__)
#    define PLATFORM_COMPILER_XLC        1
#    define PLATFORM_COMPILER_FAMILYNAME XLC
#    define PLATFORM_COMPILER_FAMILYID   5
#    ifdef __ibmxl_version__
#        define PEN_PLATFORM_MAJOR __ibmxl_version__
#        define PEN_PLATFORM_MINOR __ibmxl_release__
#        define PEN_PLATFORM_PATCH __ibmxl_modification__
#    else
#        define PEN_PLATFORM_MAJOR (__xlC__ >> 8)
#        define PEN_PLATFORM_MINOR (__xlC__ & 0xff)
#        define PEN_PLATFORM_PATCH 0
#    endif
#elif defined(__SUNPRO_C) || defined(__SUNPRO_CC)
#    define PLATFORM_COMPILER_SUN        1
#    define PLATFORM_COMPILER_FAMILYNAME SUN
#    define PLATFORM_COMPILER_FAMILYID   7
#    ifdef __SUNPRO_C
#        define PEN_PLATFORM_SUN __SUNPRO_C
#    else
#        define PEN_PLATFORM_SUN __SUNPRO_CC
#    endif
#    define PEN_PLATFORM_MAJOR (PEN_PLATFORM_SUN >> 12)
#    define PEN_PLATFORM_MINOR (PEN_PLATFORM_SUN >> 4 & 0xff)
#    define PEN_PLATFORM_PATCH (PEN_PLATFORM_SUN & 0xf)
#elif defined(__TINYC__)
#    define PLATFORM_COMPILER_TINY       1
#    define PLATFORM_COMPILER_FAMILYNAME TINY
#    define PLATFORM_COMPILER_FAMILYID   14
#    define PEN_PLATFORM_MAJOR           (__TINYC__ / 10000)
#    define PEN_PLATFORM_MINOR           (__TINYC__ / 100 % 100)
#    define PEN_PLATFORM_PATCH           (__TINYC__ % 100)
#elif defined(__clang__)
#    define PLATFORM_COMPILER_CLANG      1
#    define PLATFORM_COMPILER_FAMILYNAME CLANG
#    define PLATFORM_COMPILER_FAMILYID   19
#    define PEN_PLATFORM_MAJOR           __clang_major__
#    define PEN_PLATFORM_MINOR           __clang_minor__
#    define PEN_PLATFORM_PATCH           __clang_patchlevel__
#elif defined(_MSC_VER)
#    define PLATFORM_COMPILER_MICROSOFT  1
#    define PLATFORM_COMPILER_FAMILYNAME MICROSOFT
#    define PLATFORM_COMPILER_FAMILYID   13
#    define PEN_PLATFORM_MAJOR           (_MSC_VER / 100)
#    define PEN_PLATFORM_MINOR           (_MSC_VER % 100)
#    define PEN_PLATFORM_PATCH           0
#elif defined(__GNUC__)
#    define PLATFORM_COMPILER_GNU        1
#    define PLATFORM_COMPILER_FAMILYNAME GNU
#    define PLATFORM_COMPILER_FAMILYID   1
#    define PEN_PLATFORM_MAJOR           __GNUC__
#    define PEN_PLATFORM_MINOR           __GNUC_MINOR__
#    define PEN_PLATFORM_PATCH           __GNUC_PATCHLEVEL__
#else
#    define PLATFORM_COMPILER_UNKNOWN    1
#    define PLATFORM_COMPILER_FAMILYNAME UNKNOWN
#    define PLATFORM_COMPILER_FAMILYID   0
#    define PEN_PLATFORM_MAJOR           0
#    define PEN_PLATFORM_MINOR           0
#    define PEN_PLATFORM_PATCH           0
#endif

/* The language of the compiler has a second macro and its own number. */
#ifdef __cplusplus
#    define PLATFORM_COMPILER_ID          (PLATFORM_COMPILER_FAMILYID + 10000)
#    define PLATFORM_COMPILER_CXX_LANGLVL __cplusplus
#    define PEN_PLATFORM_LANGUAGE         "C++"
#    if defined(PLATFORM_COMPILER_GNU)
#        define PLATFORM_COMPILER_GNU_CXX 1
#    elif defined(PLATFORM_COMPILER_CLANG)
#        define PLATFORM_COMPILER_CLANG_CXX 1
#    elif defined(PLATFORM_COMPILER_INTEL)
#        define PLATFORM_COMPILER_INTEL_CXX 1
#    elif defined(PLATFORM_COMPILER_NVHPC)
#        define PLATFORM_COMPILER_NVHPC_CXX 1
#    elif defined(PLATFORM_COMPILER_PGI)
#        define PLATFORM_COMPILER_PGI_CXX 1
#    elif defined(PLATFORM_COMPILER_CRAY)
#        define PLATFORM_COMPILER_CRAY_CXX 1
#    elif defined(PLATFORM_COMPILER_XLC)
#        define PLATFORM_COMPILER_XLC_CXX 1
#    elif defined(PLATFORM_COMPILER_SUN)
#        define PLATFORM_COMPILER_SUN_CXX 1
#    endif
#else
#    define PLATFORM_COMPILER_ID  PLATFORM_COMPILER_FAMILYID
#    define PEN_PLATFORM_LANGUAGE "C"
#    if defined(__STDC_VERSION__)
#        define PLATFORM_COMPILER_C_LANGLVL __STDC_VERSION__
#    else
#        define PLATFORM_COMPILER_C_LANGLVL 199000L
#    endif
#    if defined(PLATFORM_COMPILER_GNU)
#        define PLATFORM_COMPILER_GNU_C 1
#    elif defined(PLATFORM_COMPILER_CLANG)
#        define PLATFORM_COMPILER_CLANG_C 1
#    elif defined(PLATFORM_COMPILER_INTEL)
#        define PLATFORM_COMPILER_INTEL_C 1
#    elif defined(PLATFORM_COMPILER_NVHPC)
#        define PLATFORM_COMPILER_NVHPC_C 1
#    elif defined(PLATFORM_COMPILER_PGI)
#        define PLATFORM_COMPILER_PGI_C 1
#    elif defined(PLATFORM_COMPILER_CRAY)
#        define PLATFORM_COMPILER_CRAY_C 1
#    elif defined(PLATFORM_COMPILER_XLC)
#        define PLATFORM_COMPILER_XLC_C 1
#    elif defined(PLATFORM_COMPILER_SUN)
#        define PLATFORM_COMPILER_SUN_C 1
#    endif
#endif

#define PLATFORM_COMPILER_VERSION \
    PLATFORM_COMPILER_VERSION_INT(PEN_PLATFORM_MAJOR, PEN_PLATFORM_MINOR, PEN_PLATFORM_PATCH)
#define PLATFORM_COMPILER_VERSION_GT(major, minor, patch) \
    (PLATFORM_COMPILER_VERSION > PLATFORM_COMPILER_VERSION_INT(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_GE(major, minor, patch) \
    (PLATFORM_COMPILER_VERSION >= PLATFORM_COMPILER_VERSION_INT(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_EQ(major, minor, patch) \
    (PLATFORM_COMPILER_VERSION == PLATFORM_COMPILER_VERSION_INT(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_LE(major, minor, patch) \
    (PLATFORM_COMPILER_VERSION <= PLATFORM_COMPILER_VERSION_INT(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_LT(major, minor, patch) \
    (PLATFORM_COMPILER_VERSION < PLATFORM_COMPILER_VERSION_INT(major, minor, patch))

#ifdef __VERSION__
#    define PLATFORM_COMPILER_VERSION_STR __VERSION__
#else
#    define PLATFORM_COMPILER_VERSION_STR     \
        PEN_PLATFORM_TEXT(PEN_PLATFORM_MAJOR) \
        "." PEN_PLATFORM_TEXT(PEN_PLATFORM_MINOR) "." PEN_PLATFORM_TEXT(PEN_PLATFORM_PATCH)
#endif
/* Describes the compiler in binaries, for `strings`:
 * "|COMPILER_FAMILY:GNU|COMPILER_VERSION:12.2.0|...". */
#define PLATFORM_COMPILER_IDSTR                                                                 \
    "|COMPILER_FAMILY:" PEN_PLATFORM_TEXT(                                                      \
        PLATFORM_COMPILER_FAMILYNAME) "|COMPILER_VERSION:" PLATFORM_COMPILER_VERSION_STR        \
                                      "|COMPILER_FAMILYID:" PEN_PLATFORM_TEXT(                  \
                                          PLATFORM_COMPILER_FAMILYID) "|LANGUAGE"               \
                                                                      ":" PEN_PLATFORM_LANGUAGE \
                                                                      "|"

/* ---- operating system ----------------------------------------------------------------------- */

#if defined(__CYGWIN__)
#    define PLATFORM_OS_CYGWIN     1
#    define PLATFORM_OS_FAMILYNAME CYGWIN
#elif defined(_WIN32)
#    define PLATFORM_OS_MSWINDOWS  1
#    define PLATFORM_OS_FAMILYNAME MSWINDOWS
#elif defined(__linux__) || defined(__linux)
#    define PLATFORM_OS_LINUX      1
#    define PLATFORM_OS_FAMILYNAME LINUX
/* Builds for Cray's compute nodes and for Windows' Linux subsystem define these macros themselves,
 * because compilers predefine nothing for them. */
#    if defined(__CRAYXT_COMPUTE_LINUX_TARGET) || defined(GASNETI_ARCH_CRAYXT)
#        define PLATFORM_OS_SUBFAMILY_CNL 1
#        define PLATFORM_OS_SUBFAMILYNAME CNL
#    elif defined(GASNETI_ARCH_WSL)
#        define PLATFORM_OS_SUBFAMILY_WSL 1
#        define PLATFORM_OS_SUBFAMILYNAME WSL
#    endif
#elif defined(__APPLE__)
#    define PLATFORM_OS_DARWIN     1
#    define PLATFORM_OS_FAMILYNAME DARWIN
#elif defined(__FreeBSD__)
#    define PLATFORM_OS_FREEBSD    1
#    define PLATFORM_OS_FAMILYNAME FREEBSD
#elif defined(__NetBSD__)
#    define PLATFORM_OS_NETBSD     1
#    define PLATFORM_OS_FAMILYNAME NETBSD
#elif defined(__OpenBSD__)
#    define PLATFORM_OS_OPENBSD    1
#    define PLATFORM_OS_FAMILYNAME OPENBSD
#elif defined(__sun)
#    define PLATFORM_OS_SOLARIS    1
#    define PLATFORM_OS_FAMILYNAME SOLARIS
#elif defined(_AIX)
#    define PLATFORM_OS_AIX        1
#    define PLATFORM_OS_FAMILYNAME AIX
#else
#    define PLATFORM_OS_UNKNOWN    1
#    define PLATFORM_OS_FAMILYNAME UNKNOWN
#endif

/* ---- processor ------------------------------------------------------------------------------ */

#if defined(__x86_64__) || defined(_M_X64)
#    define PLATFORM_ARCH_X86_64     1
#    define PLATFORM_ARCH_FAMILYNAME X86_64
#elif defined(__i386__) || defined(_M_IX86)
#    define PLATFORM_ARCH_X86        1
#    define PLATFORM_ARCH_FAMILYNAME X86
#elif defined(__aarch64__) || defined(_M_ARM64)
#    define PLATFORM_ARCH_AARCH64    1
#    define PLATFORM_ARCH_FAMILYNAME AARCH64
#elif defined(__arm__)
#    define PLATFORM_ARCH_ARM        1
#    define PLATFORM_ARCH_FAMILYNAME ARM
#elif defined(__powerpc__) || defined(__powerpc64__) || defined(_ARCH_PPC)
#    define PLATFORM_ARCH_POWERPC    1
#    define PLATFORM_ARCH_FAMILYNAME POWERPC
#elif defined(__riscv)
#    define PLATFORM_ARCH_RISCV      1
#    define PLATFORM_ARCH_FAMILYNAME RISCV
#elif defined(__s390__)
#    define PLATFORM_ARCH_S390       1
#    define PLATFORM_ARCH_FAMILYNAME S390
#elif defined(__mips__)
#    define PLATFORM_ARCH_MIPS       1
#    define PLATFORM_ARCH_FAMILYNAME MIPS
#elif defined(__sparc__) || defined(__sparc)
#    define PLATFORM_ARCH_SPARC      1
#    define PLATFORM_ARCH_FAMILYNAME SPARC
#elif defined(__alpha__)
#    define PLATFORM_ARCH_ALPHA      1
#    define PLATFORM_ARCH_FAMILYNAME ALPHA
#elif defined(_CRAYT3E)
#    define PLATFORM_ARCH_CRAYT3E    1
#    define PLATFORM_ARCH_FAMILYNAME CRAYT3E
#elif defined(__crayx1)
#    define PLATFORM_ARCH_CRAYX1     1
#    define PLATFORM_ARCH_FAMILYNAME CRAYX1
#else
#    define PLATFORM_ARCH_UNKNOWN    1
#    define PLATFORM_ARCH_FAMILYNAME UNKNOWN
#endif

#if defined(__LP64__) || defined(_LP64) || defined(_WIN64) || \
    (defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 8)
#    define PLATFORM_ARCH_64 1
#else
#    define PLATFORM_ARCH_32 1
#endif

#if (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) || defined(__BIG_ENDIAN__)
#    define PLATFORM_ARCH_BIG_ENDIAN 1
#else
#    define PLATFORM_ARCH_LITTLE_ENDIAN 1
#endif

#endif
