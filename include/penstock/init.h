/* SPDX-License-Identifier: BSD-3-Clause */
/* init.h: how a job starts and ends, and the client object. Each object file that includes this
 * leaves a record of its thread and segment mode, so that a program put together from files that
 * disagree is refused by name when it starts. */
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

/* The flags given to gex_Client_Init. Context: any. Does not poll.
 * GASNet-EX, chapter "Client". */
PEN_API gex_Flags_t gex_Client_QueryFlags(gex_Client_t client);

/* The name given to gex_Client_Init, the library's copy. Context: any. Does not poll.
 * GASNet-EX, chapter "Client". */
PEN_API const char *gex_Client_QueryName(gex_Client_t client);

/* Attaches a pointer of the client's own to the object; no atomicity is promised. Context: any.
 * Does not poll. GASNet-EX, chapter "Client". */
PEN_API void gex_Client_SetCData(gex_Client_t client, const void *data);

/* The pointer attached last, at first NULL. Context: any. Does not poll.
 * GASNet-EX, chapter "Client". */
PEN_API void *gex_Client_QueryCData(gex_Client_t client);

/* A progress thread that the client would run if it had asked to with GEX_FLAG_DEFER_THREADS. */
typedef struct {
    const char *gex_device_list;
    unsigned int gex_thread_roles; /* GEX_THREAD_ROLE_... */
    void *(*gex_progress_fn)(void *);
    void *gex_progress_arg;
} gex_ProgressThreadInfo_t;

/* The progress threads the client shall run: none in this release.
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

/* Ends the job, all of it, with this status; never returns. Other ranks receive SIGQUIT, for which
 * a client may install a handler after the start in order to clean up, and are ended by force when
 * the exit time-out (GASNET_EXITTIMEOUT) has passed. If several ranks call it at once, one of their
 * codes is the job's status. Buffered output is written out as far as possible. code  status of the
 * job, 0..255 Context: any, and any thread and signal handler. Does not poll. GASNet-1, chapter
 * "Core API": job control. */
PEN_API void gasnet_exit(int code) __attribute__((noreturn));

/* Leaves the job without ending the process: a library, or a session that lives on, may use
 * Penstock for a while. Everything this process began is done, and none of its other threads is in
 * the library; all objects of the job (teams, segments and their memory, domains, events, tokens)
 * are gone on return, and signals and exit() are the process's own again. Afterwards it may end
 * with any status, which under a launcher counts for the job's if it is not 0, fork, exec, or join
 * again with gasnet_init or gex_Client_Init. To join again is for a process without a launcher: to
 * begin a new job of one; under `penstock run` or GASNET_PSHM_NODES: to join the same ranks with
 * memory as at the first time; all of them have to, and if one has ended instead, that ends the job
 * with status 1. Under a launcher two descriptors stay open meanwhile, closed by exec. Collective
 * over the job, and a barrier. Returns GASNET_OK; GASNET_ERR_NOT_INIT in a process that is no rank.
 * Wrong use ends the job. Context: no handler. Blocks and polls. Not in the specification. */
PEN_API int pen_finalize(void);

/* Variables a client may define (with this type, anywhere in the program) in order to choose the
 * default of GASNET_MAX_SEGSIZE; the string wins, the environment wins over both. */
extern PEN_API const char *gasnet_max_segsize_str; /* as in the environment: "1G/P", "0.5/H" */
extern PEN_API uint64_t gasnet_max_segsize;        /* bytes of each process; deprecated */

/* Called with base and length of a new segment before its memory is touched, if not NULL: the place
 * to choose a memory policy. */
extern PEN_API void (*gasnet_client_attach_hook)(void *base, uintptr_t len);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/init.h>
#endif
