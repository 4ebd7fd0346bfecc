/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: tools that use GASNet: its constants as text, and checks of the tools themselves.
 * Available only together with gasnetex.h. The tests of the reference implementation use these
 * calls; no document describes them. */
#ifndef PENSTOCK_TOOLS_JOB_H
#define PENSTOCK_TOOLS_JOB_H

#include <penstock/types.h>

#include <penstock/tools/mode.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns how many threads of a process may use the library at a time; 1 in GASNET_SEQ. */
#define GASNETT_MAX_THREADS GASNETI_MAX_THREADS

/* Return a data type, an operation or a set of GEX_TI_... as text, like "GEX_OP_ADD|GEX_OP_MAX".
 * The library owns the text. It stays unchanged until the same thread has made eight more of these
 * calls. Context: any. They do not poll. */
PEN_API char *gasnett_format_dt(gex_DT_t type);
PEN_API char *gasnett_format_op(gex_OP_t operation);
PEN_API char *gasnett_format_ti(gex_TI_t fields);

/* Write lists of memory as text. For each call, the function next to it returns the size of the
 * buffer in bytes. The first call returns the sum of the lengths. Context: any. They do not poll.
 */
PEN_API size_t gasnett_format_memveclist_bufsz(size_t count);
PEN_API size_t gasnett_format_memveclist(char *buffer, size_t count, const gex_Memvec_t *list);
PEN_API size_t gasnett_format_addrlist_bufsz(size_t count);
PEN_API char *gasnett_format_addrlist(char *buffer, size_t count, void *const *list, size_t len);

/* Write a text about a transfer between two lists; the verb is "putting" or "getting". Context:
 * any. They do not poll. */
PEN_API size_t gasnett_format_putsgets_bufsz(size_t dest_count, size_t source_count);
PEN_API char *gasnett_format_putsgets(char *buffer, size_t dest_count, const gex_Memvec_t *dest,
                                      size_t source_count, const gex_Memvec_t *source);

/* Allocates zeroed memory from the system, in whole pages, which is never freed; NULL if there is
 * no memory. Context: no handler. */
PEN_API void *gasnett_mmap(uintptr_t len);

/* Checks the tools: atomics, locks, ticks and numbers, in several threads at once.
 *   rounds    how often each thread repeats each step
 *   threads   at most 256; 1 in modes with one thread
 *   sections  letters of the sections to run, from A up; NULL or "": all
 *   ...       ignored: further arguments of the reference implementation
 * Prints a line on stderr for each check that failed, and returns their number. Context: no
 * handler. */
PEN_API int gasnett_run_diagnostics(int rounds, int threads, const char *sections, ...);

/* Lists the handlers that gasnett_run_diagnostics needs, which are no handlers.
 *   table  receives a table of gex_AM_Entry_t; count receives 0
 * Context: any. */
PEN_API void gasnett_diagnostic_gethandlers(gex_AM_Entry_t **table, int *count);

#ifdef __cplusplus
}
#endif
#endif
