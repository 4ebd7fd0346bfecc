/* SPDX-License-Identifier: BSD-3-Clause */
/* debug.h: ending a program that cannot continue, finding the reason, and the client's part in
 * traces. GASNet tools, chapters "Debugging", "Tracing" and "Miscellaneous". */
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

/* Stands for a call of printf whose format the compiler checks and whose arguments are not
 * evaluated. */
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

/* A client's function that prints a stack. */
typedef struct {
    const char *name;   /* name of the function; NULL: no function */
    int (*fnp)(int fd); /* prints the calling thread's stack; 0 on success */
    int threadsupport;  /* non-zero: works with several threads */
} gasnett_backtrace_type_t;

#if !PEN_TOOLS_LITE

/* ---- the end --------------------------------------------------------------------------------- */

/* Prints a text formatted like printf as the cause of a fatal error, and aborts the process and
 * therefore the job. If GASNET_BACKTRACE is yes, prints the stack, too. The macro adds the caller's
 * place. Never returns. Context: any. */
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

/* Ends the process at once: no exit handler runs, and buffered output is lost. Never returns.
 * Context: any, also in a signal handler. */
PEN_API void gasnett_killmyprocess(int code) __attribute__((__noreturn__));

/* Flush stdout and stderr; the second call also closes them and stdin. Context: any. */
PEN_API void gasnett_flush_streams(void);
PEN_API void gasnett_close_streams(void);

/* Installs a handler for a signal.
 *   number   SIG...
 *   handler  a function, SIG_DFL or SIG_IGN
 * Returns the previous handler; SIG_ERR if the signal cannot be handled. Context: any. */
PEN_API gasnett_sighandlerfn_t gasnett_reghandler(int number, gasnett_sighandlerfn_t handler);

/* ---- the debugger ---------------------------------------------------------------------------- */

/* Stops until a debugger sets *flag to a value other than 0, or the process receives SIGCONT
 * (unless the client handles that signal).
 *   flag  a variable that is 0
 *   name  the name of the variable for the debugger; it is printed
 * Context: any. Blocks; does not poll. */
PEN_API void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name);

/* If GASNET_FREEZE_ON_ERROR is yes, stops like gasnett_freezeForDebugger, on a variable of the
 * library. */
PEN_API void gasnett_freezeForDebuggerErr(void);

/* ---- the stack ------------------------------------------------------------------------------- */

/* Prepares the printing of stacks. The calls below do this themselves, except in a signal handler.
 *   program  path of the program; may be NULL, because it is not needed
 * Context: any. */
PEN_API void gasnett_backtrace_init(const char *program);

/* Prints the calling thread's stack.
 *   fd  an open file, which receives the text
 * Returns 0 on success. Context: any. */
PEN_API int gasnett_print_backtrace(int fd);

/* If GASNET_BACKTRACE is yes, prints the stack; otherwise prints a hint about that variable on
 * stderr. Returns 0 on success. This is a variable: the client may assign a function of its own. */
extern PEN_API int (*gasnett_print_backtrace_ifenabled)(int fd);

/* The client may define this variable: its function then prints stacks. */
extern PEN_API gasnett_backtrace_type_t gasnett_backtrace_user;

#endif

#ifdef __cplusplus
}
#endif
#endif
