/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h: how the client's program was built, and the consequences at start: its object files
 * have to agree, a program built for one host does not run over a network, and a program built for
 * udp may start its own ranks. */
#ifndef PEN_API_PROGRAM_H
#define PEN_API_PROGRAM_H

#include "api/api.h"
#include "base/status.h"
#include "diag/log.h"
#include "job/job.h"

#include <gasnetex.h>
#include <stdint.h>

typedef struct pen_program {
    uint32_t name;    /* PEN_NAME_...: the conduit it was built for */
    const char *file; /* an object file built for that conduit, or NULL */
} pen_program;

/* Ends the process with a message if the object files do not fit each other or the library. */
pen_program pen_api_program_check(pen_log *log, const pen_build *build);

/* Called when the job is open. If the program was built for one host, and this job's ranks share no
 * memory, rank 0 prints the reason, and the call returns PEN_ERR_UNUSABLE. */
pen_status pen_api_program_fits(pen_job *job, const pen_program *program);

/* Returns the number of ranks that a program built for udp shall start: `./program N ...`. 0:
 * another program, or the first argument is no number. */
uint32_t pen_api_program_ranks(const pen_program *program, const int *argc, char ***argv);
void pen_api_program_drop_ranks(int *argc, char ***argv); /* removes that argument */

#endif
