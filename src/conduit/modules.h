/* SPDX-License-Identifier: BSD-3-Clause */
/* modules.h: conduits in libraries of their own, opened at run time.
 *
 * A conduit over a library that not every machine has (libfabric, UCX, MPI) is a module: the file
 * libpenstock-<name>.so, which contains `const pen_conduit pen_conduit_<name>`. So the core is not
 * linked with that library. Modules are looked for in the folder `penstock` beside the installed
 * library, then in the folders of PENSTOCK_CONDUIT_PATH. That variable is ignored in a process
 * that has more rights than its user (set-user-ID programs).
 *
 * A module contains its own copies of the helpers that it uses (base, os, credit, diag, knob, seal,
 * link); the core exports none of them. A module is opened when a user names its conduit, when a
 * job spans hosts, and by `penstock info`. It is never closed, because the library below it may
 * have registered functions that run at exit. A module that does not open is a reason in `penstock
 * info`, and an error only if the user has named it.
 *
 * The functions keep no state: the dynamic linker opens a library once. */
#ifndef PEN_CONDUIT_MODULES_H
#define PEN_CONDUIT_MODULES_H

#include "conduit/conduit.h"
#include "knob/knob.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    PEN_MODULES_MAX = 16,
    PEN_MODULE_NAME_MAX = 24,
    PEN_MODULE_WHY_MAX = 512,
    PEN_MODULE_PATHS_MAX = 4096,
    PEN_MODULE_FILE_MAX = PEN_MODULE_PATHS_MAX + 48, /* a folder and libpenstock-<name>.so */
};

typedef struct pen_module {
    char name[PEN_MODULE_NAME_MAX];
    char file[PEN_MODULE_FILE_MAX];
    const pen_conduit *conduit;       /* NULL: the module does not open */
    char why_not[PEN_MODULE_WHY_MAX]; /* the reason, if conduit is NULL */
} pen_module;

extern const pen_knob pen_conduit_knobs[]; /* for a struct with two const char * */

/* Writes the folders in which this process looks for modules, separated by colons. is_privileged:
 * the process has more rights than its user (pen_is_privileged). */
void pen_module_paths(bool is_privileged, char out[PEN_MODULE_PATHS_MAX]);

/* Opens the module of that name in the first folder that has it. Returns false if no folder has it,
 * or if no conduit can have this name; *out is then not written. */
bool pen_module_open(const char *paths, const char *name, pen_module *out);

/* Lists the names of all modules, each once and in their order, and opens none. Returns their
 * number. */
size_t pen_module_names(const char *paths, char out[PEN_MODULES_MAX][PEN_MODULE_NAME_MAX]);

/* Opens all modules, each once, in the order of their names. Returns their number. family: NULL, or
 * a name N, for the modules N-... only. */
size_t pen_modules_open(const char *paths, const char *family, pen_module out[PEN_MODULES_MAX]);

#endif
