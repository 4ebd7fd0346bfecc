/* SPDX-License-Identifier: BSD-3-Clause */
/* debug.h: ending a program that cannot go on, finding out why, and the client's part in traces.
 * GASNet tools, chapters "Debugging", "Tracing" and "Miscellaneous". */
#ifndef PENSTOCK_TOOLS_DEBUG_H
#define PENSTOCK_TOOLS_DEBUG_H

#include <penstock/tools/annotate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tracing: this library has none of it, so its calls cost nothing ------------------------- */

/* A name of the reference implementation whose address clients take. */
/* NOLINTNEXTLINE(readability-identifier-naming) */
static __inline__ void _gasnett_trace_printf_noop(const char *format, ...)
    __attribute__((__format__(__printf__, 1, 2), __unused__));
/* NOLINTNEXTLINE(readability-identifier-naming) */
static __inline__ void _gasnett_trace_printf_noop(const char *format, ...) { (void)format; }

/* Calls of printf that are checked by the compiler, and whose arguments are not evaluated. */
#define GASNETT_TRACE_ENABLED                     0
#define GASNETT_TRACE_PRINTF                      (1) ? (void)0 : _gasnett_trace_printf_noop
#define GASNETT_TRACE_PRINTF_FORCE                GASNETT_TRACE_PRINTF
#define GASNETT_STATS_PRINTF                      GASNETT_TRACE_PRINTF
#define GASNETT_STATS_PRINTF_FORCE                GASNETT_TRACE_PRINTF
#define GASNETT_TRACE_GETMASK()                   ""
#define GASNETT_TRACE_SETMASK(mask)               ((void)(mask))
#define GASNETT_STATS_GETMASK()                   ""
#define GASNETT_STATS_SETMASK(mask)               ((void)(mask))
#define GASNETT_STATS_DUMP(reset)                 ((void)(reset))
#define GASNETT_TRACE_SETSOURCELINE(file, line)   ((void)(file), (void)(line))
#define GASNETT_TRACE_GETSOURCELINE(pfile, pline) ((void)(pfile), (void)(pline))
#define GASNETT_TRACE_FREEZESOURCELINE()          ((void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE()        ((void)0)
#define GASNETT_TRACE_GET_TRACELOCAL()            (0)
#define GASNETT_TRACE_SET_TRACELOCAL(enable)      ((void)(enable))

typedef void (*gasnett_sighandlerfn_t)(int);

/* A way of the client's to print a stack. */
typedef struct {
    const char *name;   /* of the way; NULL: there is none */
    int (*fnp)(int fd); /* prints the calling thread's stack; 0 on success */
    int threadsupport;  /* non-zero: works with several threads */
} gasnett_backtrace_type_t;

#if !PEN_TOOLS_LITE

/* ---- the end --------------------------------------------------------------------------------- */

/* Prints what printf would, as the cause of a fatal error, with the stack if GASNET_BACKTRACE says
 * so, and aborts the process, hence the job. The macro adds the caller's place. Never returns.
 * Context: any. */
PEN_API void gasnett_fatalerror(const char *format, ...)
    __attribute__((__format__(__printf__, 1, 2), __noreturn__, __cold__));
PEN_API void gasnett_fatalerror_nopos(const char *format, ...)
    __attribute__((__format__(__printf__, 1, 2), __noreturn__, __cold__));
PEN_API void pen_api_fatal_at(const char *function, const char *file, int line, const char *format,
                              ...)
    __attribute__((__format__(__printf__, 4, 5), __noreturn__, __cold__));
#    if (defined(__cplusplus) && __cplusplus >= 201103L) || \
        (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#        define gasnett_fatalerror(...) \
            pen_api_fatal_at(GASNETT_CURRENT_FUNCTION, __FILE__, __LINE__, __VA_ARGS__)
#    endif

/* Ends the process at once: no exit handler runs, nothing is written out. Never returns.
 * Context: any, also in a signal handler. */
PEN_API void gasnett_killmyprocess(int code) __attribute__((__noreturn__));

/* Writes out stdout and stderr; the second also closes these and stdin. Context: any. */
PEN_API void gasnett_flush_streams(void);
PEN_API void gasnett_close_streams(void);

/* Has a signal handled from now on.
 *   number   SIG...
 *   handler  a function, SIG_DFL or SIG_IGN
 * Returns what handled it before; SIG_ERR if the signal cannot be handled. Context: any. */
PEN_API gasnett_sighandlerfn_t gasnett_reghandler(int number, gasnett_sighandlerfn_t handler);

/* ---- the debugger ---------------------------------------------------------------------------- */

/* Stops here until somebody sets *flag to something else than 0, with a debugger, or sends the
 * process SIGCONT (unless the client handles that).
 *   flag  a variable that is 0
 *   name  how the debugger knows it; it is printed
 * Context: any. Blocks; does not poll. */
PEN_API void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name);

/* The same on a variable of the library's, if GASNET_FREEZE_ON_ERROR is yes. */
PEN_API void gasnett_freezeForDebuggerErr(void);

/* ---- the stack ------------------------------------------------------------------------------- */

/* Readies what prints stacks; is called by the calls below, but not in a signal handler.
 *   program  its path, not needed here: NULL will do
 * Context: any. */
PEN_API void gasnett_backtrace_init(const char *program);

/* Prints the calling thread's stack.
 *   fd  the open file it goes to
 * Returns 0 on success. Context: any. */
PEN_API int gasnett_print_backtrace(int fd);

/* The same if GASNET_BACKTRACE is yes, else a hint on stderr about that variable; returns 0 on
 * success. A variable, which the client may point at a function of its own. */
extern PEN_API int (*gasnett_print_backtrace_ifenabled)(int fd);

/* The client may define this one: what prints stacks then. Unless it does, there is none. */
extern PEN_API gasnett_backtrace_type_t gasnett_backtrace_user;

#endif

#ifdef __cplusplus
}
#endif
#endif
