/* SPDX-License-Identifier: BSD-3-Clause */
/* environment.h: environment variables, and numbers as people write them.
 *
 * In a job, these calls read the environment of the console that started it, unless this process
 * has set a variable itself. Without a job they read the environment of this process. If
 * GASNET_VERBOSEENV is yes, the calls that take a default print the value they find. If a number is
 * expected and the value is no number, the process ends with a message. Make no call of this header
 * while another thread calls gasnett_setenv or gasnett_unsetenv. GASNet tools, chapter
 * "Environment". Context: no handler. They do not poll. */
#ifndef PENSTOCK_TOOLS_ENVIRONMENT_H
#define PENSTOCK_TOOLS_ENVIRONMENT_H

#include <penstock/tools/mode.h>

#if !PEN_TOOLS_LITE

#    ifdef __cplusplus
extern "C" {
#    endif

/* Returns a variable's value, a string of the library or the system; NULL if it is not set. */
PEN_API char *gasnett_getenv(const char *name);

/* Sets a variable of this process, or removes it: this process then has no value of it, even if the
 * console has one. */
PEN_API void gasnett_setenv(const char *name, const char *value);
PEN_API void gasnett_unsetenv(const char *name);

/* Returns a variable's value, or the default if it is not set. */
PEN_API char *gasnett_getenv_withdefault(const char *name, const char *fallback);

/* Returns a truth value, 0 or 1: 1/0, yes/no, y/n, true/false, t/f, on/off in any case. An empty
 * value counts as not set. */
PEN_API int gasnett_getenv_yesno_withdefault(const char *name, int fallback);

/* Returns an integer.
 *   memory_unit  0: a plain number; otherwise a size in bytes: a value without a suffix K, M, G or
 * T is multiplied by memory_unit */
PEN_API int64_t gasnett_getenv_int_withdefault(const char *name, int64_t fallback,
                                               uint64_t memory_unit);

/* Returns a real number; a fraction like 1/3 is accepted. */
PEN_API double gasnett_getenv_dbl_withdefault(const char *name, double fallback);

/* Returns non-zero if this process prints variables: if GASNET_VERBOSEENV is yes, in the first rank
 * of a job and in a process without a job. */
PEN_API int gasnett_verboseenv(void);

/* Prints a variable as the calls above do, if gasnett_verboseenv() returns non-zero.
 *   is_default   non-zero: the user did not set it
 *   is_mem_size  non-zero: the value is in bytes; it is printed in larger units */
PEN_API void gasnett_envstr_display(const char *name, const char *value, int is_default);
PEN_API void gasnett_envint_display(const char *name, int64_t value, int is_default,
                                    int is_mem_size);
PEN_API void gasnett_envdbl_display(const char *name, double value, int is_default);

/* Writes a number as text, for example "64 KB" if it is a size.
 *   buffer  receives the text, at most size bytes with the terminating 0
 * Returns buffer. */
PEN_API char *gasnett_format_number(int64_t value, char *buffer, size_t size, int is_mem_size);

/* Reads a number: decimal, or hexadecimal after 0x, with or without a sign. With a memory unit, it
 * may be a fraction and have a suffix, as in "1.5G". A number out of range becomes the nearest one
 * that fits. For text that is no number, returns 0 and sets errno to EINVAL. */
PEN_API int64_t gasnett_parse_int(const char *text, uint64_t memory_unit);

#    ifdef __cplusplus
}
#    endif
#endif
#endif
