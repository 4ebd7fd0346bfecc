/* SPDX-License-Identifier: BSD-3-Clause */
/* environment.h: variables of the environment, and numbers as people write them.
 *
 * In a job, variables are those of the console that started it, unless this process has set its
 * own; otherwise those of this process. The calls with a default show what they find to people who
 * set GASNET_VERBOSEENV. A value that is no number, where one is wanted, ends the process with a
 * message. None may be called while another thread calls gasnett_setenv or gasnett_unsetenv.
 * GASNet tools, chapter "Environment". Context, of all: no handler. They do not poll. */
#ifndef PENSTOCK_TOOLS_ENVIRONMENT_H
#define PENSTOCK_TOOLS_ENVIRONMENT_H

#include <penstock/tools/mode.h>

#if !PEN_TOOLS_LITE

#    ifdef __cplusplus
extern "C" {
#    endif

/* A variable's value, the library's or the system's string; NULL if it is not set. */
PEN_API char *gasnett_getenv(const char *name);

/* Sets a variable of this process, or removes it. */
PEN_API void gasnett_setenv(const char *name, const char *value);
PEN_API void gasnett_unsetenv(const char *name);

/* A variable's value, or the default if it is not set. */
PEN_API char *gasnett_getenv_withdefault(const char *name, const char *fallback);

/* A truth value: 1/0, yes/no, y/n, true/false, t/f, on/off in any case; 0 or 1. Empty is not set.
 */
PEN_API int gasnett_getenv_yesno_withdefault(const char *name, int fallback);

/* An integer.
 *   memory_unit  0: a plain number; else a size, in units of so many bytes unless the value has a
 *                suffix K, M, G or T
 */
PEN_API int64_t gasnett_getenv_int_withdefault(const char *name, int64_t fallback,
                                               uint64_t memory_unit);

/* A real number; also a fraction like 1/3. */
PEN_API double gasnett_getenv_dbl_withdefault(const char *name, double fallback);

/* Non-zero where variables are to be shown: in the first rank of a job, or in a process without
 * one, if GASNET_VERBOSEENV is yes. */
PEN_API int gasnett_verboseenv(void);

/* Shows a variable as the calls above do, if gasnett_verboseenv() says so.
 *   is_default   non-zero: the user did not set it
 *   is_mem_size  non-zero: bytes, to be shown in larger units
 */
PEN_API void gasnett_envstr_display(const char *name, const char *value, int is_default);
PEN_API void gasnett_envint_display(const char *name, int64_t value, int is_default,
                                    int is_mem_size);
PEN_API void gasnett_envdbl_display(const char *name, double value, int is_default);

/* Writes a number, as "64 KB" if it is a size.
 *   buffer  receives it, at most size bytes with the 0 behind it
 * Returns buffer. */
PEN_API char *gasnett_format_number(int64_t value, char *buffer, size_t size, int is_mem_size);

/* Reads a number, decimal or behind 0x hexadecimal, with a sign or without. With a memory unit it
 * may be a fraction and have a suffix, as in "1.5G". Out of range it becomes the nearest that fits.
 * Text that is no number gives 0, and errno is EINVAL. */
PEN_API int64_t gasnett_parse_int(const char *text, uint64_t memory_unit);

#    ifdef __cplusplus
}
#    endif
#endif
#endif
