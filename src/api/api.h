/* SPDX-License-Identifier: BSD-3-Clause */
/* api.h: shared by the files of api/: the process's job, the calling thread's state, the refusal of
 * wrong arguments, and the checks of calls in checked builds.
 *
 * A set-up call always checks its arguments. On an error it prints a line that names the call, the
 * argument and the rule, and returns an error code. A call that communicates checks in checked
 * builds only (PEN_CHECKED); a wrong argument ends the job. */
#ifndef PEN_API_API_H
#define PEN_API_API_H

/* The public headers require a thread mode; the library serves all modes. */
#define PEN_LIBRARY 1
#define GASNET_PAR  1

#include "am/am.h"
#include "api/config.h"
#include "base/compiler.h"
#include "base/status.h"
#include "boot/boot.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/endpoint.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "os/turns.h"
#include "progress/progress.h"

#include <gasnet.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* ---- the process -------------------------------------------------------------------------- */

/* How far the end of this process has progressed. */
enum pen_api_end {
    PEN_END_NONE,
    PEN_END_ASKED,  /* a signal asked for the end; a thread that waits in the library starts it */
    PEN_END_BEGUN,  /* somebody does */
    PEN_END_FORCED, /* the end took too long */
};

typedef struct pen_coll_functions pen_coll_functions; /* coll_legacy.c */

/* All global state, except variables that clients see and define (root.c). */
typedef struct pen_root {
    pen_job *job;       /* NULL: not started, or the start failed */
    int pid;            /* the process that started the job; a child that it forks is no rank */
    bool started;       /* gasnet_init or gex_Client_Init was called */
    bool attach_owed;   /* gasnet_init was called, gasnet_attach was not */
    bool threads_asked; /* gex_System_QueryProgressThreads was called */
    bool catch_exit;    /* GASNET_CATCH_EXIT */
    bool backtrace;     /* GASNET_BACKTRACE */
    bool prints_stacks; /* GASNET_BACKTRACE_NODES names this rank */
    int backtrace_signal, freeze_signal; /* GASNET_..._SIGNAL; 0: no signal */
    _Atomic bool error_shown;            /* stack printed and debugger awaited at an error */
    const void *host_kind_cdata;         /* client data of GEX_MK_HOST */
    pen_coll_functions *coll_functions;  /* from gasnet_coll_init; NULL: not called */
    struct pen_images *images;           /* NULL: no rank has several images; see coll_images.c */
    pthread_key_t thread_key;            /* its destructor returns a thread's state; PAR only */
    gex_RankInfo_t *nbrhd; /* ranks that share this rank's memory, then all ranks of this host */
    uint32_t nbrhd_count, nbrhd_mine;
    uint32_t host_count, host_mine; /* ranks of this host, and this rank's number among them */
    struct pen_virtual *time;       /* under `penstock sim`, else NULL; see time.h */
    pen_turns turns;                /* the waits of virtual time */
    pen_boot resigned;    /* between pen_finalize and the next start, under a supervisor */
    bool has_resigned;    /* resigned is valid */
    bool forks_watched;   /* the fork handler is registered, once per process */
    pen_job *parents_job; /* in a child that a rank forked: the parent's job; else NULL */
    bool exit_caught;     /* the exit handler is registered, once per process */
    bool leaves;          /* the thread that ends the process waits for other threads to leave */
    uint32_t
        era; /* number of the job in this process; tells thread states of different jobs apart */
    void (*idle)(void *ctx); /* called by waiting threads, before api/ installed its own function */
    void *crash_stack;       /* alternate signal stack of the first thread */
    _Atomic bool asked_early;      /* gex_AM_LUB... or gasnet_AMMax... was called without a job */
    struct sigaction earlier_quit; /* the action of SIGQUIT before the job, for pen_finalize */
    _Atomic int verbose_errors;
    _Atomic int end; /* pen_api_end; relaxed: the thread that advances it does the work itself */
    _Atomic int end_asked; /* 1 + the status of an end that a signal asked for; 0: no signal */
    _Atomic int end_code;
    /* Checked builds. starter: the thread that started the job, as pen_api_me names it. inside,
     * inside_call: in PARSYNC, the thread that is in a call that waits, and the name of the call.
     * relaxed: only the static name is read through them. */
    void *starter;
    _Atomic(void *) inside;
    _Atomic(const char *) inside_call;
} pen_root;

extern pen_root pen_api_root;
extern pen_team pen_api_nobody;                 /* pen_world points here while there is no job */
extern _Thread_local pen_thread *pen_api_here;  /* PAR: this thread's state; NULL: not made yet */
extern _Thread_local uint32_t pen_api_here_era; /* the job of pen_api_here */
extern _Thread_local pen_hsl
    *pen_api_locks; /* checked builds: the locks this thread holds, youngest first */
extern _Thread_local bool pen_api_no_interrupts; /* checked builds: within gasnet_hold_interrupts */
extern _Thread_local bool pen_api_ends_here;     /* this thread ends the process */

pen_thread *pen_api_enter_thread(pen_job *job); /* first call of a thread; never NULL */
/* PAR: makes threads that end from now on return their state. */
pen_status pen_api_watch_threads(pen_job *job);
/* Invalidates the states of all threads. A thread that lives on gets a new state at its next call.
 */
void pen_api_forget_threads(const pen_job *job);

/* Identifies the calling thread, also before a job and without one. */
static inline void *pen_api_me(void) { return &pen_api_locks; }

/* Returns the calling thread's state. */
static inline pen_thread *pen_api_thread(pen_job *job)
{
    if (pen_likely(job->mode != PEN_MODE_PAR))
        return &job->first_thread;
    return pen_likely(pen_api_here != NULL && pen_api_here_era == pen_api_root.era)
               ? pen_api_here
               : pen_api_enter_thread(job);
}

/* Registers the handlers of gasnet_attach. Returns an error code. */
int pen_api_register_legacy(pen_job *job, gasnet_handlerentry_t *table, int count);

/* Call after segments were published, or failed to be; returns an error code for the status. */
int pen_api_published(pen_job *job, pen_status status);

/* ---- refusing ------------------------------------------------------------------------------ */

/* Prints "<call>: <reason>" if gex_System_SetVerboseErrors allows it. Returns code. */
PEN_COLD int pen_api_refuse(int code, const char *call, const char *format, ...) PEN_PRINTF(3, 4);

/* Returns a log for modules that a call is about to use: a copy of the job's log, silent if
 * gex_System_SetVerboseErrors asks for silence. A copy, because other threads use the job's log. */
pen_log pen_api_log(const pen_job *job);

/* Returns the error code for a module's status; the module has printed the reason. */
int pen_api_code(pen_status status);

/* Checked builds: whether to look for mistakes of this class, PEN_CHECK_... */
bool pen_api_checks(uint32_t class);

/* Ends the job over a client's mistake, with a line that names the call. */
PEN_COLD _Noreturn void pen_api_misuse(const char *call, const char *format, ...) PEN_PRINTF(2, 3);

/* ---- checks -------------------------------------------------------------------------------- */

/* Flags of messages, puts and gets that calls accept; the library does not rely on their promises.
 */
#define PEN_API_COMM_FLAGS                                                            \
    (GEX_FLAG_IMMEDIATE | GEX_FLAG_SELF_SEG_UNKNOWN | GEX_FLAG_SELF_SEG_SOME |        \
     GEX_FLAG_SELF_SEG_BOUND | GEX_FLAG_PEER_SEG_UNKNOWN | GEX_FLAG_PEER_SEG_SOME |   \
     GEX_FLAG_PEER_SEG_BOUND | GEX_FLAG_PEER_NEVER_NBRHD | GEX_FLAG_PEER_NEVER_SELF | \
     GEX_FLAG_LC_COPY_YES | GEX_FLAG_LC_COPY_NO)

/* Checks that a call which may poll is legal here: a job exists, no handler runs, no lock is held.
 */
void pen_api_check_context(const char *call);
/* Checks also that it names a member of a team, and flags that exist. */
void pen_api_check_peer(const char *call, const pen_team *team, uint32_t rank, uint32_t flags);
/* Checks also that the member can receive an active message. */
void pen_api_check_message(const char *call, const pen_team *team, uint32_t rank, uint32_t flags);
/* Checks that the local endpoint of a team and the endpoint of a member have a capability. In every
 * build. */
PEN_COLD void pen_api_check_capabilities(const char *call, const pen_team *team, uint32_t rank,
                                         uint32_t capability);
void pen_api_check_own_capability(const char *call, const pen_endpoint *endpoint,
                                  uint32_t capability);
/* Teams of primordial endpoints, which have all capabilities, pass at once. */
static inline void pen_api_check_capable(const char *call, const pen_team *team, uint32_t rank,
                                         uint32_t capability)
{
    if (pen_unlikely((team->special & PEN_TEAM_ELSEWHERE) != 0))
        pen_api_check_capabilities(call, team, rank, capability);
}
/* Checks that rank names a member of a team. In every build, where the call has no shorter test. */
static inline void pen_api_check_member(const char *call, const pen_team *team, uint32_t rank)
{
    if (pen_unlikely(team == NULL))
        pen_api_misuse(call, "the team is GEX_TM_INVALID");
    uint32_t size = team->view.size != 0 ? team->view.size : team->job->size; /* 0: a pair */
    if (pen_unlikely(rank >= size))
        pen_api_misuse(call, "there is no rank %u in a team of %u", rank, size);
}
void pen_api_check_reply(const char *call, const pen_token *token, uint32_t flags);
/* Checks that collectives can begin on the team: not GEX_TM_INVALID, no TM pair. In every build. */
void pen_api_check_team(const char *call, const pen_team *team);
void pen_api_check_event(const char *call, gex_Event_t event);
/* Checks that the token belongs to the handler that this thread runs. */
void pen_api_check_token(const char *call, const pen_token *token);
void pen_api_check_payload(const char *call, const void *source, size_t len);

/* GASNET_PARSYNC: between these two, which calls that wait make, no other thread may enter. */
void pen_api_occupy(pen_job *job, const char *call);
void pen_api_vacate(pen_job *job);

/* check_end.c: called when a job ends with code 0, by gasnet_exit (what: the caller) or by the end
 * of the program. Prints a line for everything left open; returns the code to end with. */
int pen_api_check_end(pen_job *job, int code, const char *what);
int pen_api_check_return(pen_job *job, int code);
void pen_api_check_thread_end(pen_thread *thread);

/* Ends a process that is no rank, with a line that names the call. */
PEN_COLD _Noreturn void pen_api_no_job(const char *call);

/* Returns the job, for calls that return nothing and need a job. */
static inline pen_job *pen_api_job(const char *call)
{
    if (pen_unlikely(pen_api_root.job == NULL))
        pen_api_no_job(call);
    return pen_api_root.job;
}

void pen_api_take_turn(pen_job *job);

/* Called first by puts, gets and atomics that the library performs; see pen_stores. Inline code
 * uses one of two counters, and may be compiled for another mode than the calling program. */
static inline void pen_api_go_on(pen_job *job)
{
    if (pen_unlikely(pen_stores < 0 || pen_poll.stores < 0))
        pen_api_take_turn(job);
    else
        pen_progress_go_on(&job->progress, 1);
}

/* ---- local completion of messages (am_local.c) ---------------------------------------------- */

struct pen_event;
typedef struct pen_api_local { /* for one request */
    gex_Event_t *local;        /* where the client wants its event; NULL: nowhere */
    gex_Event_t event;
    pen_op *op; /* NULL: the source is free on return */
} pen_api_local;

/* Refuses an event argument that a request does not accept. */
pen_api_local pen_api_local_begin(const char *call, gex_Event_t *local, pen_job *job,
                                  uint32_t jobrank, size_t len);
/* Writes the client's event unless the request was refused. status: of the request, which is
 * returned. */
int pen_api_local_end(const pen_api_local *when, int status);

/* ---- the end -------------------------------------------------------------------------------- */

/* fork.c: from now on, forked children leave the job alone. */
pen_status pen_api_watch_forks(pen_job *job);
pen_status pen_api_catch_exit(void); /* from now on, exit() and the end of main take part */
/* except: names or numbers, separated by commas; "*": all. Prints a warning for a signal that
 * cannot be caught. */
void pen_api_catch_signals(pen_log *log, const char *except);
/* crash.c: finds the client's call behind a bad access. context: a signal handler's third argument.
 */
typedef struct pen_api_bad_call {
    const char *call, *argument; /* the argument that may be at fault */
} pen_api_bad_call;
bool pen_api_find_bad_call(const void *context, pen_api_bad_call *out);
void pen_api_uncatch_signals(void); /* removes the library's handlers that are still installed */
/* debug.c: reads the variables about stacks and debuggers, catches signals, and waits for a
 * debugger if a variable asks for it. pen_api_debug_close releases the signals. */
pen_status pen_api_debug_open(pen_job *job, const pen_api_config *config);
void pen_api_debug_close(void);
/* Called at an error that ends the job, also from signal handlers. The first call prints the stack
 * and waits for a debugger, as the variables ask. */
PEN_COLD void pen_api_debug_error(pen_job *job);
void pen_api_freeze(void); /* waits for a debugger, or SIGCONT */
/* Closes the modules that start-up opened, in reverse order. */
void pen_api_close_modules(pen_job *job);
/* A waiting thread calls this at intervals: ends the process if that was asked for. */
void pen_api_idle(void *ctx); /* ctx: the job */
/* Ends this process, as the supervisor asked. */
_Noreturn void pen_api_told_to_end(pen_job *job, int code);
/* Called when a set-up call finds that a rank has ended. The supervisor has decided the job's
 * status and is about to end this rank, too; the reason has been printed, so this rank ends
 * silently. */
_Noreturn void pen_api_end_with_job(void);
/* Ends the process when this time has passed, even if it is stuck. Async-signal-safe. */
void pen_api_set_deadline(double seconds);
double pen_api_exit_timeout(const pen_job *job);
/* Calls exit(code), once, after the last messages. */
_Noreturn void pen_api_finish(int code);

#endif
