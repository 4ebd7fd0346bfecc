/* SPDX-License-Identifier: BSD-3-Clause */
/* error.h: error codes, their names, and whether they are explained on stderr. Calls that set
 * something up return a code. Calls that communicate end the job if their arguments are wrong. */
#ifndef PENSTOCK_ERROR_H
#define PENSTOCK_ERROR_H

#include <penstock/config.h>

#include <penstock/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASNET_OK                   0
#define GASNET_ERR_NOT_INIT         10001 /* the job has not started, or has started already */
#define GASNET_ERR_RESOURCE         10002 /* memory or another resource is short */
#define GASNET_ERR_BAD_ARG          10003 /* an argument is wrong */
#define GASNET_ERR_NOT_READY        10004 /* not done yet */
#define GASNET_ERR_BARRIER_MISMATCH 10005 /* ranks named different barriers */

/* Returns the name of an error code, "GASNET_ERR_BAD_ARG" for example.
 *   code  any value; for a value that is no error code, the text says so
 * Returns a static string. Context: any. Does not poll.
 * GASNet-1, chapter "Core API": error codes. */
PEN_API const char *gasnet_ErrorName(int code);

/* Explains an error code in a sentence.
 *   code  any value
 * Returns a static string. Context: any. Does not poll.
 * GASNet-1, chapter "Core API": error codes. */
PEN_API const char *gasnet_ErrorDesc(int code);

/* Returns 1 (the default) if a call that returns an error code also prints the reason on stderr,
 * else 0. Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API int gex_System_GetVerboseErrors(void);

/* Chooses whether a call that returns an error code also prints the reason on stderr.
 *   enable  0: quiet, for calls that are expected to fail; otherwise: print
 * Fatal errors are always printed. Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API void gex_System_SetVerboseErrors(int enable);

#ifdef __cplusplus
}
#endif
#endif
