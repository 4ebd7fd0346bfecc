/* SPDX-License-Identifier: BSD-3-Clause */
/* place.c: looks for the library relative to the command first, so that a moved tree still fits
 * together. */
#include "command/place.h"

#include "pen_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* This command's folder; "." when it cannot be told. */
static void own_folder(char out[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (len <= 0) {
        (void)snprintf(out, PATH_MAX, ".");
        return;
    }
    out[len] = '\0';
    char *slash = strrchr(out, '/');
    if (slash != NULL)
        *slash = '\0';
}

static bool holds_library(const char *folder)
{
    char path[PATH_MAX + 256];
    (void)snprintf(path, sizeof(path), "%s/libpenstock.so.%d", folder, PEN_VERSION_MAJOR);
    return access(path, R_OK) == 0;
}

static bool holds_program(const char *path) { return access(path, X_OK) == 0; }

/* The first of the places, relative to this command, that holds what is looked for. */
static bool find(const char *const *below, const char *name, bool (*holds)(const char *path),
                 char *out, size_t out_len)
{
    char folder[PATH_MAX], path[PATH_MAX + 128], real[PATH_MAX];
    own_folder(folder);
    size_t listed_len = 0;
    for (; *below != NULL; below++) {
        (void)snprintf(path, sizeof(path), "%s/%s%s", folder, *below, name);
        if (holds(path)) {
            (void)snprintf(out, out_len, "%s", realpath(path, real) != NULL ? real : path);
            return true;
        }
        if (listed_len < out_len)
            listed_len += (size_t)snprintf(out + listed_len, out_len - listed_len, "%s%s",
                                           listed_len != 0 ? ", " : "", path);
    }
    return false;
}

bool place_of_library(bool checked, char *out, size_t out_len)
{
    static const char *const plain[] = { "../lib", "../" PEN_INSTALL_LIBDIR, NULL };
    static const char *const with_checks[] = { PEN_INSTALLED_CHECKED, "../checked/lib",
                                               "../../checked/lib", "../../dev/lib", NULL };
    return find(checked ? with_checks : plain, "", holds_library, out, out_len);
}

bool place_of_program(const char *name, char *out, size_t out_len)
{
    static const char *const places[] = { "../" PEN_INSTALL_LIBEXECDIR "/penstock/",
                                          "../libexec/penstock/", NULL };
    return find(places, name, holds_program, out, out_len);
}
