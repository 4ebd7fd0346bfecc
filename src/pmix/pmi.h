/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi.h: the few calls of PMI-1 by which ranks find each other under hydra, the mpirun of MPICH and
 * Intel MPI. Requests and answers are lines of text over an inherited socket.
 *
 * An MPI in the same process uses that socket later, and begins as if nobody had. So the calls come
 * before MPI starts, and none comes later but pen_pmi_finish. */
#ifndef PEN_PMIX_PMI_H
#define PEN_PMIX_PMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_PMI_NAME_MAX = 256, PEN_PMI_LINE_MAX = 4096 };

typedef struct pen_pmi {
    int fd;
    uint32_t rank, size;
    uint64_t until_ns; /* time limit of all calls */
    uint64_t socket; /* inode number of the launcher's socket, to notice that fd is another file */
    char space[PEN_PMI_NAME_MAX];
    char answer[PEN_PMI_LINE_MAX];
} pen_pmi;

/* Whether a launcher that speaks PMI-1 has started this process. Slurm's PMI-2 has other lines. */
bool pen_pmi_is_there(void);

/* The functions below return NULL, or an error text. */

const char *pen_pmi_begin(pen_pmi *pmi, uint64_t until_ns);

/* Lists the ranks of this host, "0,1,2" for example. The caller frees *out. */
const char *pen_pmi_local_peers(pen_pmi *pmi, char **out);

/* Publishes this rank's value, which peers can get after a fence. A rank publishes only once. */
const char *pen_pmi_put_bytes(pen_pmi *pmi, const void *bytes, size_t len);
const char *pen_pmi_get_bytes(pen_pmi *pmi, uint32_t rank, char **out, size_t *len_out);

/* Waits for all ranks. */
const char *pen_pmi_fence(pen_pmi *pmi);

/* Announces the orderly end of this process, because the launcher kills the job of a process that
 * ends without. An MPI that has ended has announced it and has closed the socket; then this does
 * nothing. Called when the process ends, after MPI. */
void pen_pmi_finish(pen_pmi *pmi, uint64_t until_ns);

/* Lists the ranks that run on the node of `rank`, from what hydra tells: "(vector,(0,2,4))" means
 * nodes 0 and 1 with 4 ranks each. Returns false if the text is malformed, or out is too short. */
bool pen_pmi_peers_in(const char *mapping, uint32_t rank, uint32_t size, char *out, size_t out_len);

#endif
