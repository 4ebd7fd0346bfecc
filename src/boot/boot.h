/* SPDX-License-Identifier: BSD-3-Clause */
/* boot.h: who am I, how many are we, where is the memory we share, and how do we start and end
 * together. A rank's side of the launch: started by `penstock run`, by itself (GASNET_PSHM_NODES,
 * which makes the caller the supervisor) or alone.
 *
 * One control socket (AF_UNIX seqpacket, inherited) joins a rank with the supervisor; one sparse
 * memfd, the host arena, is shared by all ranks. No name in any file system, no port, no secret in
 * argv or environment: the environment holds only descriptor numbers. */
#ifndef PEN_BOOT_BOOT_H
#define PEN_BOOT_BOOT_H

#include "base/status.h"
#include "boot/host_page.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "os/turns.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pen_boot_heard {
    PEN_BOOT_HEARD_NOTHING,
    PEN_BOOT_HEARD_NOTED, /* that we have resigned */
    PEN_BOOT_HEARD_GO,    /* all ranks have left: go on with your exit */
    PEN_BOOT_HEARD_END,   /* the job ends now, with end_code */
    PEN_BOOT_HEARD_GONE   /* the supervisor is no more */
} pen_boot_heard;

typedef struct pen_boot {
    pen_log *log;
    uint32_t rank, size;
    int control_fd; /* -1: alone, no supervisor */
    int arena_fd;
    char *arena; /* the whole arena as mapped here */
    size_t arena_len;
    pen_host_page *page;  /* the arena's first bytes; see host_page.h */
    char **environment;   /* the spawning console's, as "NAME=value"; NULL-terminated; never NULL */
    const char *launcher; /* "penstock run", "GASNET_PSHM_NODES", "none": for messages and info */
    bool in_process;      /* the supervisor is a thread of ours: to be heard before we end */
    bool from_arguments;  /* the ranks were made because the program's arguments said so */
    uint32_t exchanges;   /* done so far: the two areas are used by turns */
    uint32_t meets;       /* start-up barriers entered */
    const pen_turns
        *turns; /* NULL: this process is one rank, whose waiting is the kernel's business */
    /* what the supervisor has said, whoever read it: pen_boot_heard */
    _Atomic uint32_t heard;
    _Atomic int end_code;
} pen_boot;

/* What the layers above want of the arena; asked by whoever lays it out. */
typedef struct pen_boot_needs {
    size_t (*conduit_len)(
        uint32_t ranks); /* bytes for the conduit's slice: the largest any may want */
    uint32_t ranks; /* that the program's arguments ask for, if no launcher started it; 0: they ask
                       for nothing */
} pen_boot_needs;

/* Ranks of a job, at most. */
#define PEN_BOOT_RANKS_MAX 4096

struct pen_boot_config;

/* Two ways to a job lie in modules above this one. The caller passes them; both are set. */
typedef struct pen_boot_ways {
    /* Joins the job of another launcher, or refuses it in words. Sets *alone if no other launcher
     * started this process, or if this process is the whole job; then nothing was done. */
    pen_status (*join_foreign)(pen_log *log, const pen_boot_needs *needs,
                               const struct pen_boot_config *config, pen_boot *out, bool *alone);
    /* Forks: the caller becomes the supervisor and never returns; each child returns as a rank. */
    pen_status (*fork_ranks)(pen_log *log, const pen_boot_needs *needs, const char *launcher,
                             uint32_t ranks, pen_boot *out);
} pen_boot_ways;

/* Finds out how this process was started and joins its job. GASNET_PSHM_NODES=N without a launcher
 * forks: the caller becomes the supervisor, never returns and exits with the job's status; each of
 * the N children returns from here as a rank. needs->ranks does the same, and goes first. Under a
 * launcher that speaks PMIx (PMIX_RANK with PMIX_NAMESPACE) the processes are a job.
 * Another one (PMI_RANK or PMI_FD, SLURM_PROCID with SLURM_STEP_ID) whose job size is not 1 is
 * refused in words: no silent singletons. */
pen_status pen_boot_open(pen_log *log, const pen_boot_ways *ways, const pen_boot_needs *needs,
                         pen_boot *out);

/* Every rank meets here; through the host page, and between hosts through the launcher, sleeping
 * not spinning. Start-up only. */
pen_status pen_boot_barrier(pen_boot *boot);

/* The same for who has to poll meanwhile: begin, then ask until all have arrived.
 */
pen_status pen_boot_arrive(pen_boot *boot, uint32_t *ticket);
bool pen_boot_arrived(const pen_boot *boot, uint32_t ticket);

/* Shows that this rank waits for others in a call of boot's; NONE: it does so no more. */
void pen_boot_show_wait(pen_boot *boot, pen_call call, uint64_t since_ns);

/* Which host a job rank is on, of page->host_count. */
uint32_t pen_boot_host_of(const pen_boot *boot, uint32_t rank);

/* mine: len bytes (at most PEN_BOOT_BLOB_MAX); all: size * len bytes, in rank order. Collective. */
#define PEN_BOOT_BLOB_MAX 1152
pen_status pen_boot_exchange(pen_boot *boot, const void *mine, size_t len, void *all);

/* The console's value of a variable unless this process has set its own since it started. */
const char *pen_boot_getenv(const pen_boot *boot, const char *name);

/* ---- ending: architecture document, "End" ------------------------------------------------ */

/* gasnet_exit(code): tells the supervisor; it will end the other ranks (SIGQUIT, then after the
 * exit time-out SIGKILL). Async-signal-safe. Only the first word that reaches the supervisor
 * counts. */
void pen_boot_exit_job(pen_boot *boot, int code);

/* exit() or return from main with this code, orderly. For 0 waits until all ranks said so or the
 * supervisor ends us; for another code behaves as pen_boot_exit_job. Between its looks it calls
 * idle(), which serves the peers and may sleep on our word in the host page, for milliseconds at
 * most (the supervisor wakes us there); false, or NULL: there is nothing to do, so we sleep here.
 */
void pen_boot_leave(pen_boot *boot, int code, bool (*idle)(void *ctx), void *ctx);

/* Tells the supervisor that this rank waits in a call that can only end if that rank takes part,
 * which has left. Says nothing where nobody decides. */
void pen_boot_blocked(pen_boot *boot, uint32_t by, pen_call call);

/* Abnormal end decided here (a crash signal, a fatal error): one line of cause for the supervisor's
 * report. Async-signal-safe. */
void pen_boot_abort_note(pen_boot *boot, const char *cause);

/* Readable when the supervisor has something to say or is gone. Called from the wait loop, at most
 * a few times a second, and from a SIGIO-free progress path. True: this process has to end now,
 * with *code_out. */
bool pen_boot_check(pen_boot *boot, int *code_out);

/* ---- leaving the job and joining it again ------------------------------------------------- */

/* Collective, once the layers above are closed: nobody uses the arena any more. The ranks meet; the
 * arena is made as it was before the first of them joined, unmapped, and the supervisor told that
 * none owes a handshake. What is left in *boot is what pen_boot_rejoin needs: two descriptors, or
 * nothing at all for a rank alone. PEN_ERR_PEER_LOST: a rank ended meanwhile. */
pen_status pen_boot_resign(pen_boot *boot);

/* Joins the job that *resigned left, in the same process; out is another. On failure (said) there
 * is no way back: the descriptors are closed. */
pen_status pen_boot_rejoin(pen_log *log, pen_boot *resigned, pen_boot *out);

/* In a process that a rank has forked: it has no supervisor, and what it writes to the arena before
 * the segments stays its own. Async-signal-safe. */
void pen_boot_orphan(pen_boot *boot);

/* Unmaps and closes, without a word to anybody: after a failure, in tests, and in a child process
 * of one that has resigned. */
void pen_boot_close(pen_boot *boot);

#endif
