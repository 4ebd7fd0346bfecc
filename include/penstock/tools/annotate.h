/* SPDX-License-Identifier: BSD-3-Clause */
/* annotate.h: hints and promises of a program to its compiler, under names that do not depend on
 * the compiler.
 * GASNet tools, chapter "Compiler annotations". */
#ifndef PENSTOCK_TOOLS_ANNOTATE_H
#define PENSTOCK_TOOLS_ANNOTATE_H

#include <penstock/tools/mode.h>

/* ---- tokens --------------------------------------------------------------------------------- */

#define PEN_TOOLS_TEXT(token) #token
#define PEN_TOOLS_JOIN(a, b)  a##b
/* These expand their arguments first. Guarded, because programs define these names, too. */
#ifndef _STRINGIFY
/* NOLINTNEXTLINE(readability-identifier-naming): the documents name it so */
#    define _STRINGIFY(token) PEN_TOOLS_TEXT(token)
#endif
#ifndef _CONCAT
/* NOLINTNEXTLINE(readability-identifier-naming): the documents name it so */
#    define _CONCAT(a, b) PEN_TOOLS_JOIN(a, b)
#endif

/* ---- C linkage ------------------------------------------------------------------------------ */

#ifdef __cplusplus
#    define GASNETT_BEGIN_EXTERNC extern "C" {
#    define GASNETT_END_EXTERNC   }
#    define GASNETT_EXTERNC       extern "C"
#else
#    define GASNETT_BEGIN_EXTERNC
#    define GASNETT_END_EXTERNC
#    define GASNETT_EXTERNC extern
#endif

/* ---- functions: the ones with a declarator as an argument stand in front of a definition ----- */

#define GASNETT_INLINE(function)                   static __inline__
#define GASNETT_NEVER_INLINE(function, declarator) __attribute__((__noinline__)) declarator
#define GASNETT_FORMAT_PRINTF(function, format_i, first_i, declarator) \
    __attribute__((__format__(__printf__, format_i, first_i))) declarator
#define GASNETT_FORMAT_PRINTF_FUNCPTR(function, format_i, first_i, declarator) \
    __attribute__((__format__(__printf__, format_i, first_i))) declarator

#define GASNETT_NORETURN           __attribute__((__noreturn__))
#define GASNETT_MALLOC             __attribute__((__malloc__))
#define GASNETT_PURE               __attribute__((__pure__))
#define GASNETT_CONST              __attribute__((__const__))
#define GASNETT_HOT                __attribute__((__hot__))
#define GASNETT_COLD               __attribute__((__cold__))
#define GASNETT_DEPRECATED         __attribute__((__deprecated__))
#define GASNETT_WARN_UNUSED_RESULT __attribute__((__warn_unused_result__))
#define GASNETT_USED               __attribute__((__used__))
/* Attributes as pragmas after the declaration. The supported compilers need no pragmas. */
#define GASNETT_NORETURNP(function)
#define GASNETT_MALLOCP(function)
#define GASNETT_PUREP(function)
#define GASNETT_CONSTP(function)

#define GASNETT_RESTRICT         __restrict__
#define GASNETT_CURRENT_FUNCTION __func__
/* The place of the macro, "file:line", as a string literal. */
#define gasnett_current_loc __FILE__ ":" _STRINGIFY(__LINE__)

/* ---- flow of control ------------------------------------------------------------------------ */

#define GASNETT_PREDICT_TRUE(condition)  __builtin_expect(!!(condition), 1)
#define GASNETT_PREDICT_FALSE(condition) __builtin_expect(!!(condition), 0)
/* `if` with a forecast: if_pf (p == NULL) return; */
#define if_pf(condition)               if (GASNETT_PREDICT_FALSE(condition))
#define if_pt(condition)               if (GASNETT_PREDICT_TRUE(condition))
#define gasnett_constant_p(expression) __builtin_constant_p(expression)
/* Promises that the compiler relies on: control never reaches this; the condition is true. */
#define gasnett_unreachable()     __builtin_unreachable()
#define gasnett_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
/* Ends a case that continues into the next one. */
#if defined(__GNUC__) && (__GNUC__ >= 7 || defined(__clang__))
#    define GASNETT_FALLTHROUGH __attribute__((__fallthrough__));
#else
#    define GASNETT_FALLTHROUGH
#endif

/* Tells whether programs may switch warnings off with #pragma GCC diagnostic. */
#ifndef GASNETT_USE_PRAGMA_GCC_DIAGNOSTIC
#    define GASNETT_USE_PRAGMA_GCC_DIAGNOSTIC 1
#endif

/* ---- values that are not used: each is evaluated once ---------------------------------------- */

#define GASNETT_UNUSED_ARGS1(a)                ((void)(a))
#define GASNETT_UNUSED_ARGS2(a, b)             (GASNETT_UNUSED_ARGS1(a), (void)(b))
#define GASNETT_UNUSED_ARGS3(a, b, c)          (GASNETT_UNUSED_ARGS2(a, b), (void)(c))
#define GASNETT_UNUSED_ARGS4(a, b, c, d)       (GASNETT_UNUSED_ARGS3(a, b, c), (void)(d))
#define GASNETT_UNUSED_ARGS5(a, b, c, d, e)    (GASNETT_UNUSED_ARGS4(a, b, c, d), (void)(e))
#define GASNETT_UNUSED_ARGS6(a, b, c, d, e, f) (GASNETT_UNUSED_ARGS5(a, b, c, d, e), (void)(f))
#define GASNETT_UNUSED_ARGS7(a, b, c, d, e, f, g) \
    (GASNETT_UNUSED_ARGS6(a, b, c, d, e, f), (void)(g))
#define GASNETT_UNUSED_ARGS8(a, b, c, d, e, f, g, h) \
    (GASNETT_UNUSED_ARGS7(a, b, c, d, e, f, g), (void)(h))

/* At file scope: keeps a text in the binary, for `ident`, `what` and `strings`. */
#define GASNETT_IDENT(name, text)               \
    GASNETT_EXTERNC char const volatile name[]; \
    char const volatile name[] GASNETT_USED = text

#endif
