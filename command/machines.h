/* SPDX-License-Identifier: BSD-3-Clause */
/* machines.h: the machines that `penstock sim` knows by name: the files of src/virtual/machines,
 * put into the command when it is built. */
#ifndef PEN_COMMAND_MACHINES_H
#define PEN_COMMAND_MACHINES_H

typedef struct machine_text {
    const char *name, *text;
} machine_text;

extern const machine_text machine_texts[]; /* ends with a row whose name is NULL */

#endif
