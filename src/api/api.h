/* SPDX-License-Identifier: BSD-3-Clause */
/* api.h: what the files of api/ share: the process's job and the calling thread's state, refusing
 * wrong arguments, and the checks of calls that checked builds make.
 *
 * A set-up call always checks its arguments and answers an error code, after a line that names the
 * call, the argument and the rule. A call that communicates checks in checked builds only
 * (PEN_CHECKED), and a wrong argument ends the job. */
#ifndef PEN_API_API_H
#define PEN_API_API_H

/* The public headers want a thread mode; the library serves all of them. */
#define PEN_LIBRARY 1
#define GASNET_PAR  1

#include "am/am.h"
#include "api/config.h"
#include "base/compiler.h"
#include "job/checks.h"
#include "job/job.h"

#include <gasnet.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* ---- the process -------------------------------------------------------------------------- */

/* How far the end of this process has come. */
enum pen_api_end {
    PEN_END_NONE,
    PEN_END_ASKED,  /* a signal asked for it; a thread that waits in the library brings it about */
    PEN_END_BEGUN,  /* somebody does */
    PEN_END_FORCED, /* it took too long */
};

typedef struct pen_coll_functions pen_coll_functions; /* coll_legacy.c */

/* All that is global, apart from what clients see and define (root.c). */
typedef struct pen_root {
    pen_job *job;       /* NULL: not started, or the start failed */
    int pid;            /* of the process that started it: a child it forks is no rank */
    bool started;       /* gasnet_init or gex_Client_Init was called */
    bool attach_owed;   /* gasnet_init was, and gasnet_attach was not */
    bool threads_asked; /* gex_System_QueryProgressThreads was called */
    bool catch_exit;    /* GASNET_CATCH_EXIT */
    bool backtrace;     /* GASNET_BACKTRACE */
    bool prints_stacks; /* GASNET_BACKTRACE_NODES names this rank */
    int backtrace_signal, freeze_signal; /* GASNET_..._SIGNAL; 0: none */
    _Atomic bool error_shown;            /* the stack at an error, and the wait for a debugger */
    const void *host_kind_cdata;         /* of GEX_MK_HOST */
    pen_coll_functions *coll_functions;  /* of gasnet_coll_init; NULL: not called */
    struct pen_images *images;           /* NULL: no rank has several; coll_images.c */
    pthread_key_t thread_key;            /* its destructor returns a thread's state; PAR only */
    gex_RankInfo_t *nbrhd; /* ranks that share our memory; behind them all of this host */
    uint32_t nbrhd_count, nbrhd_mine;
    uint32_t host_count, host_mine; /* ranks of this host, and which of them we are */
    pen_boot resigned;       /* between pen_finalize and the next start, under a supervisor */
    bool has_resigned;       /* resigned is that */
    bool forks_watched;      /* fork() calls us: registered once, for good */
    pen_job *parents_job;    /* this process is a child that a rank of it forked; else NULL */
    bool exit_caught;        /* exit() calls us: registered once, for good */
    bool leaves;             /* the thread that ends the process waits for the others to leave */
    uint32_t era;            /* one more with each job: tells thread states of one from another's */
    void (*idle)(void *ctx); /* what waiting threads called before api/ put itself in front */
    void *crash_stack;       /* of the first thread */
    _Atomic bool asked_early;      /* gex_AM_LUB... or gasnet_AMMax... were, without a job */
    struct sigaction earlier_quit; /* the action of SIGQUIT before the job, for pen_finalize */
    _Atomic int verbose_errors;
    _Atomic int end;       /* pen_api_end; relaxed: whoever moves it forward does the work itself */
    _Atomic int end_asked; /* 1 + the status for an end that a signal asked for; 0: none did */
    _Atomic int end_code;
    /* checks: who started the job, as pen_api_me knows threads; PARSYNC: who is in a call that
     * waits, and in which one; relaxed: nothing is read through them but a name that stays */
    void *starter;
    _Atomic(void *) inside;
    _Atomic(const char *) inside_call;
} pen_root;

extern pen_root pen_api_root;
extern pen_team pen_api_nobody;                 /* what pen_world points at while there is no job */
extern _Thread_local pen_thread *pen_api_here;  /* PAR: this thread's state, NULL: not yet */
extern _Thread_local uint32_t pen_api_here_era; /* in which job */
extern _Thread_local pen_hsl *pen_api_locks;    /* checks: the locks it holds, youngest first */
extern _Thread_local bool pen_api_no_interrupts; /* checks: within gasnet_hold_interrupts */
extern _Thread_local bool pen_api_ends_here;     /* this thread ends the process */

pen_thread *pen_api_enter_thread(pen_job *job); /* first call of a thread; never NULL */
/* PAR: from now on, threads that end give their state back. */
pen_status pen_api_watch_threads(pen_job *job);
/* Nobody's state is anything any more; threads that live on get a new one when they come again. */
void pen_api_forget_threads(const pen_job *job);

/* What tells threads apart also before and without a job. */
static inline void *pen_api_me(void) { return &pen_api_locks; }

/* The calling thread's state. */
static inline pen_thread *pen_api_thread(pen_job *job)
{
    if (pen_likely(job->mode != PEN_MODE_PAR))
        return &job->first_thread;
    return pen_likely(pen_api_here != NULL && pen_api_here_era == pen_api_root.era)
               ? pen_api_here
               : pen_api_enter_thread(job);
}

/* Registers the handlers of gasnet_attach; an error code. */
int pen_api_register_legacy(pen_job *job, gasnet_handlerentry_t *table, int count);

/* What is to be done when segments were made public, or that went wrong; an error code. */
int pen_api_published(pen_job *job, pen_status status);

/* ---- refusing ------------------------------------------------------------------------------ */

/* Prints "<call>: <reason>" if gex_System_SetVerboseErrors allows it; answers code. */
PEN_COLD int pen_api_refuse(int code, const char *call, const char *format, ...) PEN_PRINTF(3, 4);

/* A log for modules that a call is about to use: the job's, silent if gex_System_SetVerboseErrors
 * wants it so. A copy, because other threads go on using the job's. */
pen_log pen_api_log(const pen_job *job);

/* The error code for what a module answered; the module has printed the reason. */
int pen_api_code(pen_status status);

/* Checked builds: whether mistakes of this class, PEN_CHECK_..., are looked for. */
bool pen_api_checks(uint32_t class);

/* Ends the job over a client's mistake, with a line that names the call. */
PEN_COLD _Noreturn void pen_api_misuse(const char *call, const char *format, ...) PEN_PRINTF(2, 3);

/* ---- checks -------------------------------------------------------------------------------- */

/* Flags of messages, puts and gets that we accept; what they promise we do not rely on. */
#define PEN_API_COMM_FLAGS                                                            \
    (GEX_FLAG_IMMEDIATE | GEX_FLAG_SELF_SEG_UNKNOWN | GEX_FLAG_SELF_SEG_SOME |        \
     GEX_FLAG_SELF_SEG_BOUND | GEX_FLAG_PEER_SEG_UNKNOWN | GEX_FLAG_PEER_SEG_SOME |   \
     GEX_FLAG_PEER_SEG_BOUND | GEX_FLAG_PEER_NEVER_NBRHD | GEX_FLAG_PEER_NEVER_SELF | \
     GEX_FLAG_LC_COPY_YES | GEX_FLAG_LC_COPY_NO)

/* That a call which may poll is made where it may be: a job exists, no handler, no lock held. */
void pen_api_check_context(const char *call);
/* And that it names a member of a team, and flags that exist. */
void pen_api_check_peer(const char *call, const pen_team *team, uint32_t rank, uint32_t flags);
/* And that it may be sent an active message. */
void pen_api_check_message(const char *call, const pen_team *team, uint32_t rank, uint32_t flags);
/* That an endpoint was made for that: our own of a team, and a member's. In every build. */
PEN_COLD void pen_api_check_capabilities(const char *call, const pen_team *team, uint32_t rank,
                                         uint32_t capability);
void pen_api_check_own_capability(const char *call, const pen_endpoint *endpoint,
                                  uint32_t capability);
/* Teams of primordial endpoints, which can do everything, are done with at once. */
static inline void pen_api_check_capable(const char *call, const pen_team *team, uint32_t rank,
                                         uint32_t capability)
{
    if (pen_unlikely((team->special & PEN_TEAM_ELSEWHERE) != 0))
        pen_api_check_capabilities(call, team, rank, capability);
}
/* That it names a member of a team. In every build, where the call has no shorter way. */
static inline void pen_api_check_member(const char *call, const pen_team *team, uint32_t rank)
{
    if (pen_unlikely(team == NULL))
        pen_api_misuse(call, "the team is GEX_TM_INVALID");
    uint32_t size = team->view.size != 0 ? team->view.size : team->job->size; /* 0: a pair */
    if (pen_unlikely(rank >= size))
        pen_api_misuse(call, "there is no rank %u in a team of %u", rank, size);
}
void pen_api_check_reply(const char *call, const pen_token *token, uint32_t flags);
/* That collectives can be begun on it: not GEX_TM_INVALID, no TM pair. In every build. */
void pen_api_check_team(const char *call, const pen_team *team);
void pen_api_check_event(const char *call, gex_Event_t event);
/* That the token is that of the handler which this thread runs. */
void pen_api_check_token(const char *call, const pen_token *token);
void pen_api_check_payload(const char *call, const void *source, size_t len);

/* GASNET_PARSYNC: no other thread may be inside between these two, which calls that wait make. */
void pen_api_occupy(pen_job *job, const char *call);
void pen_api_vacate(pen_job *job);

/* check_end.c: a line for everything that was left open when a job ended with code 0, by
 * gasnet_exit (what: who ends) or by the end of the program; the code to end with. */
int pen_api_check_end(pen_job *job, int code, const char *what);
int pen_api_check_return(pen_job *job, int code);
void pen_api_check_thread_end(pen_thread *thread);

/* Ends the process, which is no rank, with a line that names the call. */
PEN_COLD _Noreturn void pen_api_no_job(const char *call);

/* The job, for calls that are void and need one. */
static inline pen_job *pen_api_job(const char *call)
{
    if (pen_unlikely(pen_api_root.job == NULL))
        pen_api_no_job(call);
    return pen_api_root.job;
}

void pen_api_take_turn(pen_job *job);

/* What puts, gets and atomics begin with that came to the library: see pen_stores. Inline code was
 * compiled for one of the counters, and need not be the calling program's. */
static inline void pen_api_go_on(pen_job *job)
{
    if (pen_unlikely(pen_stores < 0 || pen_poll.stores < 0))
        pen_api_take_turn(job);
    else
        pen_progress_go_on(&job->progress, 1);
}

/* ---- local completion of messages (am_local.c) ---------------------------------------------- */

struct pen_event;
typedef struct pen_api_local { /* of one request */
    gex_Event_t *local;        /* where the client wants its event; NULL: it wants none */
    gex_Event_t event;
    pen_op *op; /* NULL: the source is free on return */
} pen_api_local;

/* Refuses what is no event argument of a request. */
pen_api_local pen_api_local_begin(const char *call, gex_Event_t *local, pen_job *job,
                                  uint32_t jobrank, size_t len);
/* status: of the request. Writes the client's event unless it was refused. Answers status. */
int pen_api_local_end(const pen_api_local *when, int status);

/* ---- the end -------------------------------------------------------------------------------- */

/* fork.c: from now on, children that are forked leave the job alone. */
pen_status pen_api_watch_forks(pen_job *job);
pen_status pen_api_catch_exit(void); /* from now on, exit() and the end of main take part */
/* except: names or numbers, separated by commas; "*": all. What cannot be caught is warned of. */
void pen_api_catch_signals(pen_log *log, const char *except);
/* crash.c: where a bad access came about; context: a signal handler's third argument. */
typedef struct pen_api_bad_call {
    const char *call, *argument; /* which argument of it may be at fault */
} pen_api_bad_call;
bool pen_api_find_bad_call(const void *context, pen_api_bad_call *out);
void pen_api_uncatch_signals(void); /* handlers of ours that are still in place go */
/* debug.c: reads the variables about stacks and debuggers, catches signals, and waits for a
 * debugger if they say so; the other gives the signals back. */
pen_status pen_api_debug_open(pen_job *job, const pen_api_config *config);
void pen_api_debug_close(void);
/* At an error that ends the job: once, prints the stack and waits for a debugger, if that is
 * wanted. From signal handlers too. */
PEN_COLD void pen_api_debug_error(pen_job *job);
void pen_api_freeze(void); /* waits for a debugger, or SIGCONT */
/* Closes what start-up opened, top down. */
void pen_api_close_modules(pen_job *job);
/* What a thread does now and then while it waits: looks whether the process has to end. */
void pen_api_idle(void *ctx); /* ctx: the job */
/* The supervisor wants this process to end. */
_Noreturn void pen_api_told_to_end(pen_job *job, int code);
/* A set-up call found that a rank has ended: the supervisor has decided the job's status already
 * and is about to end us, too. Whoever ended it has said why; we go quietly. */
_Noreturn void pen_api_end_with_job(void);
/* Lets the process end itself when this time has passed, however stuck it is. Async-signal-safe. */
void pen_api_set_deadline(double seconds);
double pen_api_exit_timeout(const pen_job *job);
/* exit(code), after what remains to be said; once. */
_Noreturn void pen_api_finish(int code);

#endif
