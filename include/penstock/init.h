/* SPDX-License-Identifier: BSD-3-Clause */
/* init.h: how a job starts and ends, and the client object. Each object file that includes this
 * header records its thread and segment mode. If the files of a program disagree, the program
 * refuses to start and names them. */
#ifndef PENSTOCK_INIT_H
#define PENSTOCK_INIT_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the job: connects this process with its peers and makes the client, its primordial endpoint
 * (index 0) and the primordial team (all processes; team rank = job rank).
 *   client, endpoint, team  receive the objects
 *   name        the client's name, for messages; letters, digits and underscores
 *   argc, argv  the arguments of main, or both NULL; arguments meant for the launcher are removed
 *   flags       0 or GEX_FLAG_USES_GASNET1 (the GASNet-1 calls for messages, put and get are used
 *               as well) or GEX_FLAG_DEFER_THREADS (accepted; there are no progress threads)
 * Collective over the job, and ends with a barrier. Once per process, and instead of gasnet_init.
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT if the job has started already; GASNET_ERR_BAD_ARG;
 * GASNET_ERR_RESOURCE. Context: no handler. Blocks.
 * GASNet-EX, chapter "Client". */
GEX_INLINE int gex_Client_Init(gex_Client_t *client, gex_EP_t *endpoint, gex_TM_t *team,
                               const char *name, int *argc, char ***argv, gex_Flags_t flags);

/* Returns the flags given to gex_Client_Init. Context: any. Does not poll.
 * GASNet-EX, chapter "Client". */
PEN_API gex_Flags_t gex_Client_QueryFlags(gex_Client_t client);

/* Returns the library's copy of the name given to gex_Client_Init. Context: any. Does not poll.
 * GASNet-EX, chapter "Client". */
PEN_API const char *gex_Client_QueryName(gex_Client_t client);

/* Attaches a client's pointer to the client object. The call is not atomic. Context: any. Does not
 * poll.
 * GASNet-EX, chapter "Client". */
PEN_API void gex_Client_SetCData(gex_Client_t client, const void *data);

/* Returns the pointer that was attached last; NULL before the first. Context: any. Does not poll.
 * GASNet-EX, chapter "Client". */
PEN_API void *gex_Client_QueryCData(gex_Client_t client);

/* A progress thread that the client runs if it initialised with GEX_FLAG_DEFER_THREADS. */
typedef struct {
    const char *gex_device_list;
    unsigned int gex_thread_roles; /* GEX_THREAD_ROLE_... */
    void *(*gex_progress_fn)(void *);
    void *gex_progress_arg;
} gex_ProgressThreadInfo_t;

/* Lists the progress threads that the client must run. This release has no progress threads.
 *   client  initialised with GEX_FLAG_DEFER_THREADS
 *   count   receives 0
 *   info    receives the list, empty
 *   flags   0
 * Returns GASNET_OK; GASNET_ERR_RESOURCE without GEX_FLAG_DEFER_THREADS or when called again;
 * GASNET_ERR_BAD_ARG for NULL or flags. Context: no handler. Does not poll.
 * GASNet-EX, chapter "System": progress threads. */
PEN_API int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count,
                                            const gex_ProgressThreadInfo_t **info,
                                            gex_Flags_t flags);

/* Ends the whole job with this status; never returns. The other ranks receive SIGQUIT; a client may
 * install a handler for it, before or after the start, in order to clean up. A rank that has not
 * ended when the exit time-out (GASNET_EXITTIMEOUT) has passed is killed. If several ranks call
 * gasnet_exit at once, the job's status is one of their codes. Buffered output is written as far as
 * possible.
 *   code  status of the job, 0..255
 * Context: any, and any thread and signal handler. Does not poll.
 * GASNet-1, chapter "Core API": job control. */
PEN_API void gasnet_exit(int code) __attribute__((noreturn));

/* Leaves the job without ending the process, for a library or a session that uses Penstock only for
 * a while. Before the call, all operations that this process began must be done, and no other
 * thread may be in the library. On return all objects of the job (teams, segments and their memory,
 * domains, events, tokens) no longer exist, and the process controls its signals and exit() again.
 *
 * Afterwards the process may end with any status, fork, exec, or join a job again with gasnet_init
 * or gex_Client_Init. Under a launcher, a status other than 0 counts for the job's status. A
 * process without a launcher that joins again begins a new job of one rank. Under `penstock run` or
 * GASNET_PSHM_NODES, all ranks have to join again; they get memory of the same size as the first
 * time. If a rank has ended instead, the job ends with status 1. Under a launcher two descriptors
 * stay open in the meantime; exec closes them.
 *
 * Collective over the job, and a barrier. Returns GASNET_OK; GASNET_ERR_NOT_INIT in a process that
 * is no rank. Wrong use ends the job. Context: no handler. Blocks and polls. Not in the
 * specification. */
PEN_API int pen_finalize(void);

/* A client may define these variables (with this type, anywhere in the program) in order to choose
 * the default of GASNET_MAX_SEGSIZE. The string takes precedence over the number, the environment
 * over both. */
extern PEN_API const char
    *gasnet_max_segsize_str;                /* written as in the environment: "1G/P", "0.5/H" */
extern PEN_API uint64_t gasnet_max_segsize; /* bytes of each process; deprecated */

/* If not NULL, the library calls it with base and length of a new segment before it touches the
 * memory. The client can choose a memory policy there. */
extern PEN_API void (*gasnet_client_attach_hook)(void *base, uintptr_t len);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/init.h>
#endif
