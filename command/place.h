/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: where the libraries and programs that belong to this command are. */
#ifndef PEN_COMMAND_PLACE_H
#define PEN_COMMAND_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder that holds libpenstock.so, of the checked build if asked: beside this command, in a
 * build tree or where it was installed. False: nowhere; out then lists where it was looked for. */
bool place_of_library(bool checked, char *out, size_t out_len);

/* Finds a program that the command starts. out receives its path, or, if it returns false, the
 * folder in which it was looked for. */
bool place_of_program(const char *name, char *out, size_t out_len);

#endif
