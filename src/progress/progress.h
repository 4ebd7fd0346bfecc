/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h: the poll loop, replies that found no room, and how a rank waits.
 *
 * A port is a link with what the engine keeps beside it. Polling a port: try its poll lock, send
 * what its backlog holds, poll the link. While the backlog holds anything the link is polled
 * without the REQUEST lane, so a backlog never grows beyond what one poll produced and nobody
 * blocks in a handler.
 *
 * Sweeping: who learned that others have done something may ask for a sweep, after which every
 * frame that had arrived by then has been handled. Barriers end with one.
 *
 * Waiting: enough cores for all polling threads of the host: spin, then yield, then sleep late;
 * oversubscribed: never spin, yield at once, sleep soon. A sleeper is woken by whoever sends to it:
 * through memory, or where all links have descriptors through those, and then it sleeps sooner. */
#ifndef PEN_PROGRESS_PROGRESS_H
#define PEN_PROGRESS_PROGRESS_H

#include "base/compiler.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/turns.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* However short the knob: waking a core that went idle takes tens of microseconds. */
#define PEN_SLEEP_AFTER_NS_MIN 200000u

enum { PEN_PORTS_MAX = 4, PEN_SOURCES_MAX = 4, PEN_POLL_BUDGET = 32 };

typedef struct pen_backlog_entry pen_backlog_entry;
typedef struct pen_progress pen_progress;
struct pen_wait;

/* Copies of frames that found no room, in the order in which they were queued, and those that a
 * link still reads. Guarded by lock. */
typedef struct pen_backlog {
    pen_backlog_entry *first, **last_next;
    pen_backlog_entry *flying; /* posted, PENDING: freed when the link is done with them */
    uint64_t
        peers[PEN_LANES];    /* bit peer % 64: an entry may be queued for that peer on that lane */
    _Atomic uint32_t count;  /* queued and flying; read without the lock by the poll loop */
    _Atomic uint32_t queued; /* queued only; likewise */
    pen_lock lock;
} pen_backlog;

typedef struct pen_port {
    pen_link *link;
    pen_progress *progress;
    pen_lock post_lock; /* round post, put, get, reserve..; unused when the link is thread-safe */
    pen_backlog backlog;
    PEN_CACHE_ALIGNED pen_lock poll_lock; /* try-locked round poll; unused likewise */
    _Atomic uint64_t handled; /* events so far; written under poll_lock, approximate without it */
    _Atomic uintptr_t poller; /* checked builds: the thread that holds poll_lock, 0: none */
} pen_port;

/* Where this rank sleeps and how it learns how crowded the host is; words in the host page. */
typedef struct pen_sleeper {
    _Atomic uint32_t *sleeping, *wake; /* ours; see pen_progress_wake */
    _Atomic uint32_t *polling_total;   /* the host's polling threads */
    _Atomic uint64_t *progress;        /* ours, for the launcher's report; NULL: none */
    uint32_t cores;
} pen_sleeper;

/* GASNET_WAIT_...: what the client asked for with gasnet_set_waitmode. */
typedef enum pen_wait_mode { PEN_WAIT_SPIN, PEN_WAIT_BLOCK, PEN_WAIT_SPINBLOCK } pen_wait_mode;

/* Progress that no link reports: barriers through flag lines, gets by messages whose next piece
 * found no room. poll answers how many events it handled; it may post, and neither polls nor runs
 * handlers. */
typedef struct pen_progress_source {
    unsigned (*poll)(void *ctx);
    void *ctx;
} pen_progress_source;

struct pen_progress {
    pen_link *alone; /* the only port's link, when one thread polls it and its backlog is empty */
    _Atomic uint32_t
        eager; /* fruitless polls a waiter makes before it asks the policy; 0 when crowded */
    pen_poll_view *view; /* NULL: none; its last word is ours, see pen_progress_view_changed */
    const uint32_t *view_word; /* what the link had put there */
    int32_t view_patience;     /* what patience was last set to */
    bool polling;     /* with one thread: it is in a poll; with several the poll locks say so */
    bool rings;       /* all links have descriptors to sleep on ... */
    bool rings_alone; /* ... and nobody else polls them: nothing comes in another way */
    _Atomic uint32_t no_yield; /* so many waits are better off asleep; see sleep_at_once */
    uint32_t port_count;
    _Atomic uint32_t source_work; /* what waits for a source; 0: poll calls none. relaxed: a hint,
                                     the sources have locks or flags of their own */
    uint32_t source_count;
    pen_progress_source sources[PEN_SOURCES_MAX];
    pen_port ports[PEN_PORTS_MAX];
    pen_concurrency concurrency;
    pen_wait_mode wait_mode;
    _Atomic uint32_t sweep_asked, sweep_done; /* tickets: see pen_progress_ask_sweep */
    _Atomic int32_t unpolled;                 /* see pen_progress_go_on */
    uint32_t sweep_events;       /* more frames than links may keep for this rank at any moment */
    _Atomic uint32_t room_waits; /* part of source_work: what waits for room in a link, which nobody
                                    wakes this rank for; it may not sleep meanwhile */
    pen_sleeper sleeper;
    _Atomic uint32_t own_sleeping, own_wake, own_polling; /* when no sleeper was given */
    pen_counters *counters;
    bool membarrier;                  /* the kernel grants the sleeper's half of the fence */
    bool may_sleep;                   /* PENSTOCK_WAIT_SLEEP */
    uint64_t spin_ns, sleep_after_ns; /* the policy's limits, from knobs */
    _Atomic bool core_shared;         /* somebody outside the job wants our core too */
    /* Called by waiting threads about ten times a second at most, under no lock; may be NULL. */
    void (*on_idle)(void *ctx);
    void *on_idle_ctx;
    /* Called by each thread that waits for long, PEN_WAIT_SHOWN_NS apart, and with over when such a
     * wait ends; under no lock; may be NULL. */
    void (*on_wait)(void *ctx, struct pen_wait *wait, uint64_t now_ns, bool over);
    void *on_wait_ctx;
    pen_clock clock;        /* the job's; its links have the same one */
    const pen_turns *turns; /* NULL: the policy of wait.c; see turns.h */
    _Atomic uint64_t on_idle_next_ns;
};

extern const pen_knob pen_progress_knobs[];
typedef struct pen_progress_config {
    double spin_s, sleep_after_s;
    bool sleep;
} pen_progress_config;

/* Counts the caller as a polling thread. sleeper NULL: a rank that shares no host page. */
void pen_progress_init(pen_progress *progress, pen_concurrency concurrency,
                       const pen_progress_config *config, const pen_sleeper *sleeper,
                       const pen_clock *clock, pen_counters *counters);
pen_port *pen_progress_add(pen_progress *progress, pen_link *link); /* not thread-safe */

/* progress/'s own: whether there is a backlog may have changed, under its lock. Polls that have one
 * to look after are not idle. */
void pen_progress_view_changed(pen_progress *progress);

/* So much more work for sources, or less: see source_work. Alone without a locked instruction,
 * which would wait for what was stored before, a peer's line as a rule. */
static inline void pen_progress_add_work(pen_progress *progress, int32_t change)
{
    if (pen_likely(progress->concurrency == PEN_ALONE))
        atomic_store_explicit(&progress->source_work,
                              atomic_load_explicit(&progress->source_work, memory_order_relaxed) +
                                  (uint32_t)change,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&progress->source_work, (uint32_t)change, memory_order_relaxed);
    pen_progress_view_changed(progress);
}

/* The view shows nothing of us any more: before the links are closed. */
void pen_progress_hide(pen_progress *progress);

/* Frees backlogs: after the links are closed (they may still read what flies); links are the
 * caller's. */
void pen_progress_close(pen_progress *progress);

/* Another thread starts or ends using the library: the wait policy compares threads with cores. */
void pen_progress_enter_thread(pen_progress *progress);
void pen_progress_leave_thread(pen_progress *progress);

/* Not thread-safe: after pen_progress_init, before the first wait. */
static inline void pen_progress_add_source(pen_progress *progress, unsigned (*poll)(void *ctx),
                                           void *ctx)
{
    PEN_INVARIANT(progress->source_count < PEN_SOURCES_MAX);
    progress->sources[progress->source_count++] = (pen_progress_source){ poll, ctx };
}

/* Something that a source goes on with waits for room in a link (by: 1), or does so no more (-1).
 */
static inline void pen_progress_wait_for_room(pen_progress *progress, int by)
{
    /* relaxed: hints for the poll loop and for who is about to sleep */
    atomic_fetch_add_explicit(&progress->room_waits, (uint32_t)by, memory_order_relaxed);
    pen_progress_add_work(progress, by);
}

/* Asks for a sweep and answers its ticket: the next polls handle all frames that have arrived by
 * now, and what other threads are handling. Poll while it is not over; work for sources must be
 * registered until then, so that polls take the long way. */
static inline uint32_t pen_progress_ask_sweep(pen_progress *progress)
{
    if (progress->concurrency == PEN_ALONE) {
        uint32_t ticket = atomic_load_explicit(&progress->sweep_asked, memory_order_relaxed) + 1;
        atomic_store_explicit(&progress->sweep_asked, ticket, memory_order_relaxed);
        return ticket;
    }
    /* acq_rel: what the asker has seen, the thread that sweeps sees too */
    return atomic_fetch_add_explicit(&progress->sweep_asked, 1, memory_order_acq_rel) + 1;
}

static inline bool pen_progress_is_swept(const pen_progress *progress, uint32_t ticket)
{
    /* acquire: pairs with the release in the sweep; what its handlers did is visible */
    uint32_t done = atomic_load_explicit(&progress->sweep_done, memory_order_acquire);
    return (int32_t)(done - ticket) >= 0;
}

PEN_COLD void pen_progress_publish(pen_progress *progress); /* for the launcher's report */
unsigned pen_progress_poll_ports(pen_progress *progress);

/* progress/'s own: adds to the port's events, and now and then to the report. */
static inline void pen_port_count(pen_port *port, unsigned handled)
{
    enum { PUBLISH_EVERY = 256 }; /* events; a power of two */
    /* relaxed: see handled; only people read it */
    uint64_t before = atomic_load_explicit(&port->handled, memory_order_relaxed);
    atomic_store_explicit(&port->handled, before + handled, memory_order_relaxed);
    if (pen_unlikely(((before + handled) ^ before) >= PUBLISH_EVERY))
        pen_progress_publish(port->progress);
}

/* Whether the calling thread may poll, for who does not know whether it is below a handler, as at
 * the end of the process. With several threads a poll below one finds its port locked, and does
 * nothing. */
static inline bool pen_progress_may_poll(const pen_progress *progress)
{
    return !progress->polling;
}

/* Serves every port and source once; answers how many events were handled. Runs handlers. Never
 * sleeps. Not from a handler. */
static inline unsigned pen_progress_poll(pen_progress *progress)
{
    if (PEN_CHECKED || pen_unlikely(progress->alone == NULL) ||
        pen_unlikely(atomic_load_explicit(&progress->source_work, memory_order_relaxed) != 0))
        return pen_progress_poll_ports(progress);
    pen_link *link = progress->alone;
    progress->polling = true;
    unsigned handled = link->ops->poll(link, PEN_LANES_ALL, PEN_POLL_BUDGET);
    progress->polling = false;
    if (pen_unlikely(handled != 0))
        pen_port_count(&progress->ports[0], handled);
    return handled;
}

/* For calls that are done without a poll: a thread that makes nothing but such calls polls now and
 * then all the same. weight: of this call, up to PEN_GO_ON_EVERY. */
enum { PEN_GO_ON_EVERY = 128 };

static inline void pen_progress_go_on(pen_progress *progress, int32_t weight)
{
    /* relaxed: of threads that come at the same time some may not count */
    int32_t left = atomic_load_explicit(&progress->unpolled, memory_order_relaxed) - weight;
    atomic_store_explicit(&progress->unpolled, left < 0 ? PEN_GO_ON_EVERY : left,
                          memory_order_relaxed);
    if (pen_unlikely(left < 0) && pen_progress_may_poll(progress))
        (void)pen_progress_poll(progress);
}

/* Posts under the port's lock. AGAIN is the caller's to deal with. */
static inline pen_post pen_port_post(pen_port *port, pen_peer to, pen_lane lane,
                                     const pen_frame *frame, pen_op *op)
{
    pen_lock_take(&port->post_lock);
    pen_post result = port->link->ops->post(port->link, to, lane, frame, op);
    pen_lock_drop(&port->post_lock);
    return result;
}

/* A reply or control frame that may not wait and may not fail: posts it, or copies it to the
 * backlog. Order per lane and peer is kept. PEN_ERR_MEMORY when there is no memory for the copy,
 * PEN_ERR_PEER_LOST when the peer is gone. */
pen_status pen_port_post_or_queue(pen_port *port, pen_counters *counters, pen_peer to,
                                  pen_lane lane, const pen_frame *frame);

/* progress/'s own: sends what has room again, frees what the link has let go; answers how many
 * frames went. */
PEN_COLD unsigned pen_backlog_drain(pen_port *port);
void pen_backlog_init(pen_backlog *backlog, pen_concurrency concurrency);
void pen_backlog_free(pen_backlog *backlog);

/* ---- waking --------------------------------------------------------------------------------- */

/* The sender's half, after what the sleeper waits for has been stored: one load when it is awake.
 *
 * `sleeping` is a request, made by a rank that is about to sleep, to be woken once; the sender that
 * finds it takes it. The sleeper: reads wake, stores sleeping = 1, fences all cores (membarrier),
 * looks once more, sleeps while wake is unchanged. So either our load sees the request, or its
 * last look sees what we stored, without a fence here. */
static inline void pen_progress_wake(_Atomic uint32_t *sleeping, _Atomic uint32_t *wake)
{
    atomic_signal_fence(memory_order_seq_cst); /* the compiler must keep the order, too */
    /* relaxed: pairs with the sleeper's membarrier */
    if (pen_unlikely(atomic_load_explicit(sleeping, memory_order_relaxed) != 0))
        pen_futex_rouse(sleeping, wake);
}

/* What a sender does before pen_progress_wake where the kernel refuses membarrier. A kernel or a
 * sandbox refuses it to every rank of a host alike; should it not, the cap on sleeping bounds the
 * harm. */
static inline void pen_progress_wake_fence(const pen_progress *progress)
{
    if (pen_unlikely(!progress->membarrier))
        pen_fence(); /* pairs with the sleeper's */
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* What a call waits for, described by the call, for reports (boot/wait_state.h). Looked at in the
 * slow part of the wait only. */
typedef struct pen_wait {
    pen_call call;
    pen_awaited awaited;
    uint32_t peer; /* job rank; PEN_WAIT_NOBODY: unknown, or the operation says */
    /* The operations that end the wait, count of them; op_at NULL: object is the one pen_op, or
     * what a module knows it by. */
    const void *object;
    const pen_op *(*op_at)(const void *object, size_t i);
    size_t count;
    bool any; /* one of the operations ends the wait; else all of them do */
    bool shown;
    uint64_t since_ns, look_ns; /* the wait's own; 0 at first */
} pen_wait;

static inline pen_wait pen_wait_for(pen_call call, pen_awaited awaited, uint32_t peer,
                                    const void *object)
{
    return (pen_wait){ .call = call, .awaited = awaited, .peer = peer, .object = object };
}

typedef struct pen_waiter {
    pen_progress *progress;
    pen_wait *what;    /* NULL: not to be reported */
    uint64_t since_ns; /* when the fruitless polls began; 0: not taken yet */
    uint64_t
        switches; /* forced switches of this thread when it last looked; valid if has_switches */
    uint32_t fruitless; /* polls in a row that found nothing */
    uint32_t yields;
    uint32_t naps;   /* sleeps in a row that nobody ended */
    uint32_t wake;   /* of the sleeper's wake word; valid if armed */
    uint32_t served; /* polls that found something */
    bool has_switches;
    bool armed;     /* asked to be woken; the next fruitless step sleeps */
    bool may_sleep; /* false where memory may change without anybody waking us */
} pen_waiter;

static inline pen_waiter pen_waiter_of(pen_progress *progress, bool may_sleep)
{
    return (pen_waiter){ .progress = progress, .may_sleep = may_sleep };
}

/* The same of a wait that reports name; it ends with pen_wait_end. */
static inline pen_waiter pen_waiter_for(pen_progress *progress, bool may_sleep, pen_wait *what)
{
    return (pen_waiter){ .progress = progress, .may_sleep = may_sleep, .what = what };
}

/* Lets reports know of a wait once it has lasted for a while; in the slow part of every wait. */
void pen_wait_show(pen_progress *progress, pen_wait *wait, uint64_t now_ns);
PEN_COLD void pen_wait_withdraw(pen_waiter *waiter); /* after pen_waiter_for, if it was shown */

static inline void pen_wait_end(pen_waiter *waiter)
{
    if (pen_unlikely(waiter->what->shown))
        pen_wait_withdraw(waiter);
}

static inline void pen_waiter_restart(pen_waiter *waiter)
{
    waiter->since_ns = 0;
    waiter->fruitless = waiter->yields = waiter->naps = 0;
    waiter->has_switches = waiter->armed = false;
}

void pen_wait_idle(pen_waiter *waiter); /* after a fruitless poll, beyond the first spins */
PEN_COLD void pen_wait_served(pen_waiter *waiter); /* after many that were none */

/* Polls once, and gives the core away as the policy says when there was nothing to do. The caller
 * loops: while (!done) pen_wait_step(&waiter). It must look at its condition before every step: a
 * step that prepares for sleep returns once more before the one that sleeps. */
static inline void pen_wait_step(pen_waiter *waiter)
{
    enum { SERVED_MAX = 16 }; /* a power of two */
    pen_progress *progress = waiter->progress;
    if (pen_progress_poll(progress) != 0) {
        pen_waiter_restart(waiter);
        if (pen_unlikely(++waiter->served % SERVED_MAX == 0))
            pen_wait_served(waiter);
    } else if (++waiter->fruitless > atomic_load_explicit(&progress->eager, memory_order_relaxed)) {
        pen_wait_idle(waiter);
    }
}

/* ---- polling without waiting ----------------------------------------------------------------- */

/* What the library knows of a thread's own polls; zero at first. A loop of them may be the client's
 * way of waiting. */
typedef struct pen_poller {
    int32_t patience; /* until the next look at the clock; a poll that finds nothing counts most */
    uint32_t stretch; /* what patience was at the last look */
    uint64_t looked_ns; /* when that was */
    uint64_t since_ns;  /* since when the polls come close together */
    pen_wait wait;      /* the loop of polls, for reports */
} pen_poller;

enum { PEN_POLLER_FRUITLESS = 8 };

PEN_COLD void pen_poller_look(pen_progress *progress, pen_poller *poller);

/* After a poll that the client asked for, and what it handled. Where ranks outnumber cores, a loop
 * of such polls gives the core to somebody who may have work for us. */
static inline void pen_poller_count(pen_progress *progress, pen_poller *poller, unsigned handled)
{
    pen_poll_view *view = progress->view;
    poller->patience -= handled == 0 ? PEN_POLLER_FRUITLESS : 1;
    if (handled != 0 && pen_likely(poller->patience >= 0)) /* idle polls are counted later */
        return;
    if (view != NULL) { /* polls that were seen to be idle; relaxed: of threads, whoever comes */
        int32_t left = __atomic_load_n(&view->patience, __ATOMIC_RELAXED);
        int32_t given = __atomic_load_n(&progress->view_patience, __ATOMIC_RELAXED);
        poller->patience -= (given - left) * PEN_POLLER_FRUITLESS;
    }
    if (pen_unlikely(poller->patience < 0))
        pen_poller_look(progress, poller);
    if (view != NULL) {
        int32_t given = poller->patience / PEN_POLLER_FRUITLESS;
        __atomic_store_n(&progress->view_patience, given, __ATOMIC_RELAXED);
        __atomic_store_n(&view->patience, given, __ATOMIC_RELAXED);
    }
}

#endif
