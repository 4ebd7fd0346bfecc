/* SPDX-License-Identifier: BSD-3-Clause */
/* boot.h: a rank's side of the launch. Tells a rank its number, the number of ranks and the shared
 * memory, and starts and ends the ranks together. A process is started by `penstock run`, by a PMIx
 * launcher, by itself (GASNET_PSHM_NODES, which makes the caller the supervisor) or alone.
 *
 * Each rank has one inherited control socket (AF_UNIX seqpacket) to the supervisor. All ranks of a
 * host share one sparse memfd, the host arena. Nothing has a name in a file system or a port, and
 * no secret stands in argv or environment: the environment holds only descriptor numbers. */
#ifndef PEN_BOOT_BOOT_H
#define PEN_BOOT_BOOT_H

#include "base/status.h"
#include "boot/host_page.h"
#include "diag/log.h"
#include "os/turns.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pen_boot_heard {
    PEN_BOOT_HEARD_NOTHING,
    PEN_BOOT_HEARD_NOTED, /* the supervisor knows that this rank has resigned */
    PEN_BOOT_HEARD_GO,    /* all ranks have left: go on with your exit */
    PEN_BOOT_HEARD_END,   /* the job ends now, with end_code */
    PEN_BOOT_HEARD_GONE   /* the supervisor has ended */
} pen_boot_heard;

typedef struct pen_boot {
    pen_log *log;
    uint32_t rank, size;
    int control_fd; /* -1: the rank is alone and has no supervisor */
    int arena_fd;
    int world_fd; /* under `penstock sim`: see virtual/virtual.h; else -1 */
    char *arena;  /* the whole arena as mapped here */
    size_t arena_len;
    pen_host_page *page; /* the arena's first bytes; see host_page.h */
    /* environment of the console, as "NAME=value"; NULL-terminated; never NULL */
    char **environment;
    const char *launcher; /* for messages and info: "penstock run", for example */
    /* the supervisor is a thread of this process, which has to finish before the process ends */
    bool in_process;
    bool from_arguments;    /* the program's arguments gave the number of ranks */
    uint32_t exchanges;     /* exchanges done so far; the two areas alternate */
    uint32_t meets;         /* start-up barriers entered */
    const pen_turns *turns; /* NULL: this process is one rank and waits in the kernel */
    /* latest message of the supervisor, a pen_boot_heard; any thread may have read it */
    _Atomic uint32_t heard;
    _Atomic int end_code;
} pen_boot;

/* Sizes that the layers above ask for. Read by the process that lays out the arena. */
typedef struct pen_boot_needs {
    size_t (*conduit_len)(
        uint32_t ranks); /* bytes for the conduit's slice: the most that any conduit needs */
    /* number of ranks from the program's arguments, if no launcher started it; 0: not given */
    uint32_t ranks;
} pen_boot_needs;

/* Largest number of ranks in a job. */
#define PEN_BOOT_RANKS_MAX 4096

struct pen_boot_config;

/* Two kinds of start, implemented in modules above this one. The caller passes both functions. */
typedef struct pen_boot_ways {
    /* Joins the job of another launcher, or refuses it with an error. If no other launcher started
     * this process, or if this process is the whole job, does nothing and sets *alone. */
    pen_status (*join_foreign)(pen_log *log, const pen_boot_needs *needs,
                               const struct pen_boot_config *config, pen_boot *out, bool *alone);
    /* Forks: the caller becomes the supervisor and never returns; each child returns as a rank. */
    pen_status (*fork_ranks)(pen_log *log, const pen_boot_needs *needs, const char *launcher,
                             uint32_t ranks, pen_boot *out);
} pen_boot_ways;

/* Finds out how this process was started and joins its job. Called by initialisation. On failure
 * prints the reason.
 *
 * Without a launcher, needs->ranks or GASNET_PSHM_NODES=N makes the process fork; needs->ranks
 * takes precedence. The caller becomes the supervisor, never returns and exits with the job's
 * status. Each of the N children returns from here as a rank. Under a launcher that speaks PMIx
 * (PMIX_RANK with PMIX_NAMESPACE), or PMI-1 on one host (PMI_FD, PMI_RANK and PMI_SIZE), the
 * launcher's processes are the ranks. Under any other launcher (PMI_RANK or PMI_FD alone,
 * SLURM_PROCID with SLURM_STEP_ID) a job of more than one process is refused with an error, so that
 * it does not run as separate jobs of one. */
pen_status pen_boot_open(pen_log *log, const pen_boot_ways *ways, const pen_boot_needs *needs,
                         pen_boot *out);

/* Start-up barrier of all ranks. Uses the host page, and the launcher between hosts. Waiting ranks
 * sleep. */
pen_status pen_boot_barrier(pen_boot *boot);

/* The start-up barrier for a caller that polls while it waits: call pen_boot_arrive, then
 * pen_boot_arrived until all ranks have arrived. */
pen_status pen_boot_arrive(pen_boot *boot, uint32_t *ticket);
bool pen_boot_arrived(const pen_boot *boot, uint32_t ticket);

/* Publishes that this rank waits for peers in a call of boot. PEN_CALL_NONE: the wait is over. */
void pen_boot_show_wait(pen_boot *boot, pen_call call, uint64_t since_ns);

/* Number of the host that a job rank runs on, below page->host_count. */
uint32_t pen_boot_host_of(const pen_boot *boot, uint32_t rank);

/* Collective. mine: len bytes (at most PEN_BOOT_BLOB_MAX); all: size * len bytes, in rank order. */
#define PEN_BOOT_BLOB_MAX 1152
pen_status pen_boot_exchange(pen_boot *boot, const void *mine, size_t len, void *all);

/* Value of a variable: this process's own if the program has set it since its start, else the
 * console's. */
const char *pen_boot_getenv(const pen_boot *boot, const char *name);

/* Forgets the console's value of a variable. The environment of this process stays as it is. */
void pen_boot_forget_variable(pen_boot *boot, const char *name);

/* ---- ending: see ARCHITECTURE.md, "Ending" --------------------------------------------------- */

/* gasnet_exit(code): tells the supervisor, which ends the remaining ranks: SIGQUIT first, SIGKILL
 * after the exit time-out. Only the first message of this kind that reaches the supervisor counts.
 * Async-signal-safe. */
void pen_boot_exit_job(pen_boot *boot, int code);

/* Called at exit(code) or return from main. If code is 0, waits until all ranks have left or the
 * supervisor ends this process; else behaves as pen_boot_exit_job. While it waits it calls idle(),
 * which serves the peers and may sleep in the host page for some milliseconds; the supervisor wakes
 * it there. If idle is NULL or returns false, this function itself sleeps. */
void pen_boot_leave(pen_boot *boot, int code, bool (*idle)(void *ctx), void *ctx);

/* Tells the supervisor that this rank waits in a call that needs rank `by`, which has left. Does
 * nothing if the rank has no supervisor. */
void pen_boot_blocked(pen_boot *boot, uint32_t by, pen_call call);

/* Called before this process ends abnormally (crash signal, fatal error): sends the cause, one
 * line, for the supervisor's report. Async-signal-safe. */
void pen_boot_abort_note(pen_boot *boot, const char *cause);

/* Reads the supervisor's messages. Called from the wait loop, at most a few times a second. Returns
 * true if this process has to end now, with *code_out. */
bool pen_boot_check(pen_boot *boot, int *code_out);

/* Called after a start-up barrier has failed, which may be before the supervisor's message has
 * come: waits a moment for it. Returns true if it tells this process to end, with *code_out. */
bool pen_boot_await_end(pen_boot *boot, int *code_out);

/* ---- leaving the job and joining it again ------------------------------------------------- */

/* Collective; called when the layers above are closed and no rank uses the arena. The ranks meet,
 * clear the arena for a new start, unmap it and resign with the supervisor, so no rank owes an exit
 * handshake. *boot keeps what pen_boot_rejoin needs: two descriptors, or nothing if the rank is
 * alone. Returns PEN_ERR_PEER_LOST if a rank ended meanwhile. */
pen_status pen_boot_resign(pen_boot *boot);

/* Joins the job that *resigned left, in the same process. *out is another object. On failure prints
 * the reason and closes the descriptors, so the process cannot join any more. */
pen_status pen_boot_rejoin(pen_log *log, pen_boot *resigned, pen_boot *out);

/* Called in a process that a rank has forked. Takes the supervisor's socket away and makes the
 * arena before the segments a private copy. Async-signal-safe. */
void pen_boot_orphan(pen_boot *boot);

/* Unmaps and closes without a message to the supervisor. Called after a failure, in tests, and in a
 * child of a process that has resigned. */
void pen_boot_close(pen_boot *boot);

#endif
