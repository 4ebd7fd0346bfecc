/* SPDX-License-Identifier: BSD-3-Clause */
/* remedy.h: advice for the user about a call that failed while a job was started or joined. */
#ifndef PEN_BOOT_REMEDY_H
#define PEN_BOOT_REMEDY_H

const char *pen_boot_remedy(int error); /* by errno; never NULL */

#endif
