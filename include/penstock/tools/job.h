/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: the tools that know GASNet: its constants as text, and checking the tools themselves. Only
 * together with gasnetex.h. The reference implementation's own tests use them; they are documented
 * nowhere. */
#ifndef PENSTOCK_TOOLS_JOB_H
#define PENSTOCK_TOOLS_JOB_H

#include <penstock/types.h>

#include <penstock/tools/mode.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many threads of a process may use the library at a time; 1 in GASNET_SEQ. */
#define GASNETT_MAX_THREADS GASNETI_MAX_THREADS

/* A data type, an operation or a set of GEX_TI_... as text, like "GEX_OP_ADD|GEX_OP_MAX". The text
 * is the library's. It stays as it is until the same thread has made eight more of these calls.
 * Context: any. They do not poll. */
PEN_API char *gasnett_format_dt(gex_DT_t type);
PEN_API char *gasnett_format_op(gex_OP_t operation);
PEN_API char *gasnett_format_ti(gex_TI_t fields);

/* Writes lists of memory as text; buffer has as many bytes as the function beside it says.
 * The first returns the sum of the lengths. Context: any. They do not poll. */
PEN_API size_t gasnett_format_memveclist_bufsz(size_t count);
PEN_API size_t gasnett_format_memveclist(char *buffer, size_t count, const gex_Memvec_t *list);
PEN_API size_t gasnett_format_addrlist_bufsz(size_t count);
PEN_API char *gasnett_format_addrlist(char *buffer, size_t count, void *const *list, size_t len);

/* Writes what moves between two lists, "putting" or "getting" them.
 * Context: any. They do not poll. */
PEN_API size_t gasnett_format_putsgets_bufsz(size_t dest_count, size_t source_count);
PEN_API char *gasnett_format_putsgets(char *buffer, size_t dest_count, const gex_Memvec_t *dest,
                                      size_t source_count, const gex_Memvec_t *source);

/* Zeroed memory of the system's, for ever, in whole pages; NULL if there is none.
 * Context: no handler. */
PEN_API void *gasnett_mmap(uintptr_t len);

/* Checks the tools: atomics, locks, ticks and numbers, with threads at once.
 *   rounds    how often each thread repeats each step
 *   threads   at most 256; 1 in modes with one thread
 *   sections  letters of those to run, from A up; NULL or "": all
 *   ...       ignored: what the reference implementation's checks need beyond that
 * Returns how many checks failed, each with a line on stderr. Context: no handler. */
PEN_API int gasnett_run_diagnostics(int rounds, int threads, const char *sections, ...);

/* The handlers that gasnett_run_diagnostics needs: none.
 *   table  receives a table of gex_AM_Entry_t; count  receives 0
 * Context: any. */
PEN_API void gasnett_diagnostic_gethandlers(gex_AM_Entry_t **table, int *count);

#ifdef __cplusplus
}
#endif
#endif
