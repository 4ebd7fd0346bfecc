/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.h: shared by the files of the tools library. It works in a process without a job, with a
 * log and an environment of its own. */
#ifndef PEN_API_TOOLS_H
#define PEN_API_TOOLS_H

#include "base/compiler.h"
#include "base/status.h"
#include "diag/log.h"
#include "tools/tools.h"

#include <stdarg.h>

const pen_tools_config *pen_api_tools_config(void); /* read by the first call */
pen_status
pen_api_tools_open(void);         /* reads the configuration now; otherwise a wrong value aborts */
pen_log *pen_api_tools_log(void); /* the job's log, if there is a job */
const char *pen_api_tools_getenv(const char *name); /* the job's environment, if there is a job */

/* Ends the process over a mistake of the client or the user. */
PEN_COLD _Noreturn void pen_api_tools_fatal(const char *format, ...) PEN_PRINTF(1, 2);

#endif
