/* SPDX-License-Identifier: BSD-3-Clause */
/* watch_options.h: options of the commands that look at jobs, for `penstock words`. */
#ifndef PEN_COMMAND_WATCH_OPTIONS_H
#define PEN_COMMAND_WATCH_OPTIONS_H

/* Each list ends with NULL. */
extern const char *const jobs_options[], *const top_options[], *const why_options[];

#endif
