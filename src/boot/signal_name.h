/* SPDX-License-Identifier: BSD-3-Clause */
/* signal_name.h: a signal as people write it. */
#ifndef PEN_BOOT_SIGNAL_NAME_H
#define PEN_BOOT_SIGNAL_NAME_H

typedef struct pen_signal_text {
    char name[16];
} pen_signal_text;

pen_signal_text pen_signal_name(int signal); /* "SIGKILL", "signal 40" */

#endif
