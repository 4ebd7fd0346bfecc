/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h: how the client's program was built, and what follows from it when it starts: its
 * object files have to agree, a program for one host does not run over a network, and a program for
 * udp may start itself. */
#ifndef PEN_API_PROGRAM_H
#define PEN_API_PROGRAM_H

#include "api/api.h"

typedef struct pen_program {
    uint32_t name;    /* PEN_NAME_...: of the conduit that it was built for */
    const char *file; /* an object file that was built for it; NULL: none was */
} pen_program;

/* Ends the process, in words, if the object files do not fit each other or the library. */
pen_program pen_api_program_check(pen_log *log, const pen_build *build);

/* PEN_ERR_UNUSABLE, which rank 0 has said: the program wants to be on one host, and this job's
 * ranks share no memory. The job is open. */
pen_status pen_api_program_fits(pen_job *job, const pen_program *program);

/* How many ranks a program for udp is to make of itself: `./program N ...`. 0: it is not such a
 * program, or its first argument is no number. */
uint32_t pen_api_program_ranks(const pen_program *program, const int *argc, char ***argv);
void pen_api_program_drop_ranks(int *argc, char ***argv); /* removes that argument */

#endif
