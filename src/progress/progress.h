/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h: the poll loop, replies that found no room, and the wait policy of a rank.
 *
 * A port is a link with the engine's state for it. To poll a port: try its poll lock, send frames
 * of its backlog, poll the link. While the backlog holds a frame, the link is polled without the
 * REQUEST lane. So a backlog never exceeds the output of one poll, and no handler blocks.
 *
 * Sweeping: a thread that has learned of peers' actions may ask for a sweep. When the sweep is
 * over, every frame that had arrived by then has been handled. Barriers end with a sweep.
 *
 * Waiting: if the host has enough cores for all polling threads, spin, then yield, then sleep
 * late. If it has not, never spin, yield at once, sleep soon. The sender of a frame wakes a
 * sleeper: through memory, or through descriptors if all links have them, in which case the rank
 * sleeps sooner. */
#ifndef PEN_PROGRESS_PROGRESS_H
#define PEN_PROGRESS_PROGRESS_H

#include "base/compiler.h"
#include "base/status.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "knob/knob.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/turns.h"
#include "pen_config.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <penstock/abi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lower bound for the knob, because waking an idle core takes tens of microseconds. */
#define PEN_SLEEP_AFTER_NS_MIN 200000u

enum { PEN_PORTS_MAX = 4, PEN_SOURCES_MAX = 4, PEN_POLL_BUDGET = 32 };

typedef struct pen_backlog_entry pen_backlog_entry;
typedef struct pen_progress pen_progress;
struct pen_wait;

/* Copies of frames that found no room, in the order in which they were queued, and copies that a
 * link still reads. Guarded by lock. */
typedef struct pen_backlog {
    pen_backlog_entry *first, **last_next;
    pen_backlog_entry *flying; /* posted, PENDING: freed when the link is done with them */
    uint64_t
        peers[PEN_LANES];    /* bit peer % 64: an entry may be queued for that peer on that lane */
    _Atomic uint32_t count;  /* queued and flying; read without the lock by the poll loop */
    _Atomic uint32_t queued; /* queued only; read without the lock */
    pen_lock lock;
} pen_backlog;

typedef struct pen_port {
    pen_link *link;
    pen_progress *progress;
    pen_lock post_lock; /* held around post, put, ...; unused if the link is thread-safe */
    pen_backlog backlog;
    PEN_CACHE_ALIGNED pen_lock
        poll_lock;            /* tried, then held around poll; or unused, as post_lock */
    _Atomic uint64_t handled; /* events so far; written under poll_lock, approximate without it */
    _Atomic uintptr_t poller; /* checked builds: the thread that holds poll_lock, or 0 */
} pen_port;

/* The words on which this rank sleeps, and the host's load; in the host page. */
typedef struct pen_sleeper {
    _Atomic uint32_t *sleeping, *wake; /* this rank's words; see pen_progress_wake */
    _Atomic uint32_t *polling_total;   /* the host's polling threads */
    _Atomic uint64_t *progress;        /* this rank's, for the launcher's report; may be NULL */
    uint32_t cores;
    pen_host_shown *shown; /* this rank's, for `penstock top`; may be NULL */
} pen_sleeper;

/* GASNET_WAIT_...: the client's choice with gasnet_set_waitmode. */
typedef enum pen_wait_mode { PEN_WAIT_SPIN, PEN_WAIT_BLOCK, PEN_WAIT_SPINBLOCK } pen_wait_mode;

/* Progress that no link makes: barriers through flag lines, or gets by messages whose next piece
 * found no room. poll returns how many events it handled. It may post; it neither polls nor runs
 * handlers. */
typedef struct pen_progress_source {
    unsigned (*poll)(void *ctx);
    void *ctx;
} pen_progress_source;

struct pen_progress {
    pen_link *alone; /* the only port's link, if one thread polls it and its backlog is empty */
    _Atomic uint32_t
        eager; /* fruitless polls a waiter makes before it asks the policy; 0 when crowded */
    pen_poll_view *view;       /* may be NULL; for its last word see pen_progress_view_changed */
    const uint32_t *view_word; /* the link's value of that word */
    int32_t view_patience;     /* the value last stored in patience */
    bool polling;              /* one thread: it is in a poll; several threads use the poll locks */
    bool rings;                /* all links have descriptors to sleep on ... */
    bool rings_alone;          /* ... and no frame arrives without them */
    _Atomic uint32_t no_yield; /* the next waits that sleep without yielding first */
    uint32_t port_count;
    _Atomic uint32_t source_work; /* work for sources; 0: poll calls no source. relaxed: a hint;
                                   * the sources have locks or flags */
    uint32_t source_count;
    pen_progress_source sources[PEN_SOURCES_MAX];
    pen_port ports[PEN_PORTS_MAX];
    pen_concurrency concurrency;
    pen_wait_mode wait_mode;
    _Atomic uint32_t sweep_asked, sweep_done; /* tickets: see pen_progress_ask_sweep */
    _Atomic int32_t unpolled;                 /* see pen_progress_go_on */
    uint32_t sweep_events;       /* more frames than links may keep for this rank at any moment */
    _Atomic uint32_t room_waits; /* part of source_work that waits for room in a link. Room wakes
                                  * no sleeper, so this rank may not sleep */
    pen_sleeper sleeper;
    _Atomic uint32_t own_sleeping, own_wake, own_polling; /* when no sleeper was given */
    pen_counters *counters;
    bool membarrier;                  /* the kernel grants the sleeper's half of the fence */
    bool may_sleep;                   /* PENSTOCK_WAIT_SLEEP */
    uint64_t spin_ns, sleep_after_ns; /* the policy's limits, from knobs */
    _Atomic bool core_shared;         /* a program outside the job also wants our core */
    /* Called by waiting threads, at most about ten times a second, without a lock. May be NULL. */
    void (*on_idle)(void *ctx);
    void *on_idle_ctx;
    /* Called by a waiting thread that has found another thread on its core, although the host has a
     * core for every polling thread. Without a lock. May be NULL. ctx: on_idle_ctx. */
    void (*on_shared)(void *ctx);
    /* Called by each thread that waits long, every PEN_WAIT_SHOWN_NS, and with over when that
     * wait ends. Without a lock. May be NULL. */
    void (*on_wait)(void *ctx, struct pen_wait *wait, uint64_t now_ns, bool over);
    void *on_wait_ctx;
    pen_trace *trace; /* NULL: the job is not traced */
    /* Called in a traced job by each thread that waits long, once for each wait; fills in the
     * fields traced_... of the wait. Without a lock. ctx: on_wait_ctx. */
    void (*on_traced)(void *ctx, struct pen_wait *wait);
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

/* For progress/ only. Called under the backlog's lock when it becomes empty or non-empty. With a
 * backlog, polls are not idle. */
void pen_progress_view_changed(pen_progress *progress);

/* Adds to source_work. If there is one thread, it uses no locked instruction, which would wait
 * for earlier stores, often to a peer's line. */
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

/* Called before the links are closed. The view no longer shows this rank's polls. */
void pen_progress_hide(pen_progress *progress);

/* Frees the backlogs. Called after the links are closed, because links may read entries until
 * then. The caller owns the links. */
void pen_progress_close(pen_progress *progress);

/* Called when a thread starts or ends using the library. The wait policy compares threads with
 * cores. */
void pen_progress_enter_thread(pen_progress *progress);
void pen_progress_leave_thread(pen_progress *progress);

/* Not thread-safe: call after pen_progress_init, before the first wait. */
static inline void pen_progress_add_source(pen_progress *progress, unsigned (*poll)(void *ctx),
                                           void *ctx)
{
    PEN_INVARIANT(progress->source_count < PEN_SOURCES_MAX);
    progress->sources[progress->source_count++] = (pen_progress_source){ poll, ctx };
}

/* Work of a source begins (by: 1) or ends (-1) to wait for room in a link. */
static inline void pen_progress_wait_for_room(pen_progress *progress, int by)
{
    /* relaxed: hints for the poll loop and for threads about to sleep */
    atomic_fetch_add_explicit(&progress->room_waits, (uint32_t)by, memory_order_relaxed);
    pen_progress_add_work(progress, by);
}

/* Asks for a sweep and returns its ticket. The next polls handle all frames that have arrived by
 * now, and wait for those that other threads are handling. Poll until it is over. Until then
 * work for sources must be registered, so that polls take the slow path. */
static inline uint32_t pen_progress_ask_sweep(pen_progress *progress)
{
    if (progress->concurrency == PEN_ALONE) {
        uint32_t ticket = atomic_load_explicit(&progress->sweep_asked, memory_order_relaxed) + 1;
        atomic_store_explicit(&progress->sweep_asked, ticket, memory_order_relaxed);
        return ticket;
    }
    /* acq_rel: the sweeping thread sees everything that the asker has seen */
    return atomic_fetch_add_explicit(&progress->sweep_asked, 1, memory_order_acq_rel) + 1;
}

static inline bool pen_progress_is_swept(const pen_progress *progress, uint32_t ticket)
{
    /* acquire: pairs with the release in the sweep; its handlers' stores are visible */
    uint32_t done = atomic_load_explicit(&progress->sweep_done, memory_order_acquire);
    return (int32_t)(done - ticket) >= 0;
}

/* Copies events and counters to the host page, for reports. The counters stay as they were if
 * another thread has a port's lock. The caller holds no lock of a port. */
PEN_COLD void pen_progress_publish(pen_progress *progress);
unsigned pen_progress_poll_ports(pen_progress *progress);

/* For progress/ only: adds to the port's events. Returns true every PUBLISH_EVERY events; the
 * caller then publishes, after it has dropped the port's locks. */
static inline bool pen_port_count(pen_port *port, unsigned handled)
{
    enum { PUBLISH_EVERY = 256 }; /* events; a power of two */
    /* relaxed: see handled; only people read it */
    uint64_t before = atomic_load_explicit(&port->handled, memory_order_relaxed);
    atomic_store_explicit(&port->handled, before + handled, memory_order_relaxed);
    return pen_unlikely(((before + handled) ^ before) >= PUBLISH_EVERY);
}

/* May the calling thread poll? For code that may run below a handler, such as the end of the
 * process. With several threads, a poll below a handler finds its port locked and returns. */
static inline bool pen_progress_may_poll(const pen_progress *progress)
{
    return !progress->polling;
}

/* Polls every port and source once. Returns how many events were handled. Runs handlers. Never
 * sleeps. Not to be called from a handler. */
static inline unsigned pen_progress_poll(pen_progress *progress)
{
    if (PEN_CHECKED || pen_unlikely(progress->alone == NULL) ||
        pen_unlikely(atomic_load_explicit(&progress->source_work, memory_order_relaxed) != 0))
        return pen_progress_poll_ports(progress);
    pen_link *link = progress->alone;
    progress->polling = true;
    unsigned handled = link->ops->poll(link, PEN_LANES_ALL, PEN_POLL_BUDGET);
    progress->polling = false;
    if (pen_unlikely(handled != 0) && pen_port_count(&progress->ports[0], handled))
        pen_progress_publish(progress);
    return handled;
}

/* Called by operations that finish without a poll, so that a thread that makes only these calls
 * also polls. weight: of this call, up to PEN_GO_ON_EVERY. */
enum { PEN_GO_ON_EVERY = 128 };

static inline void pen_progress_go_on(pen_progress *progress, int32_t weight)
{
    /* relaxed: if threads come at the same time, a count may be lost */
    int32_t left = atomic_load_explicit(&progress->unpolled, memory_order_relaxed) - weight;
    atomic_store_explicit(&progress->unpolled, left < 0 ? PEN_GO_ON_EVERY : left,
                          memory_order_relaxed);
    if (pen_unlikely(left < 0) && pen_progress_may_poll(progress)) {
        (void)pen_progress_poll(progress);
        pen_progress_publish(progress);
    }
}

/* Posts under the port's lock. The caller handles AGAIN. */
static inline pen_post pen_port_post(pen_port *port, pen_peer to, pen_lane lane,
                                     const pen_frame *frame, pen_op *op)
{
    pen_lock_take(&port->post_lock);
    pen_post result = port->link->ops->post(port->link, to, lane, frame, op);
    pen_lock_drop(&port->post_lock);
    return result;
}

/* Sends a reply or control frame that may neither wait nor fail: posts it, or copies it to the
 * backlog. The order per lane and peer is kept. Returns PEN_ERR_MEMORY if there is no memory for
 * the copy, PEN_ERR_PEER_LOST if the peer is lost. */
pen_status pen_port_post_or_queue(pen_port *port, pen_counters *counters, pen_peer to,
                                  pen_lane lane, const pen_frame *frame);

/* For progress/ only: posts frames that have room now, and frees those that the link has
 * released. Returns how many frames were posted. */
PEN_COLD unsigned pen_backlog_drain(pen_port *port);
void pen_backlog_init(pen_backlog *backlog, pen_concurrency concurrency);
void pen_backlog_free(pen_backlog *backlog);

/* ---- waking --------------------------------------------------------------------------------- */

/* The sender's half of waking. Called after the sender has stored the data that the sleeper waits
 * for. It costs one load if the peer is awake.
 *
 * `sleeping` is a request to be woken once, made by a rank that is about to sleep. The sender
 * that finds it takes it. The sleeper reads wake, stores sleeping = 1, fences all cores
 * (membarrier), looks once more, and sleeps while wake is unchanged. So either the sender's load
 * sees the request, or the sleeper's last look sees the sender's stores. The sender needs no
 * fence. */
static inline void pen_progress_wake(_Atomic uint32_t *sleeping, _Atomic uint32_t *wake)
{
    atomic_signal_fence(memory_order_seq_cst); /* the compiler must keep the order, too */
    /* relaxed: pairs with the sleeper's membarrier */
    if (pen_unlikely(atomic_load_explicit(sleeping, memory_order_relaxed) != 0))
        pen_futex_rouse(sleeping, wake);
}

/* Called by a sender before pen_progress_wake if the kernel refuses membarrier. A kernel or a
 * sandbox refuses it to all ranks of a host alike. If it does not, the limit on the length of a
 * sleep bounds the delay. */
static inline void pen_progress_wake_fence(const pen_progress *progress)
{
    if (pen_unlikely(!progress->membarrier))
        pen_fence(); /* pairs with the sleeper's */
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Describes a wait for reports (boot/wait_state.h). The caller of the wait fills it in. Only the
 * slow part of a wait reads it. */
typedef struct pen_wait {
    pen_call call;
    pen_awaited awaited;
    uint32_t peer; /* job rank; PEN_WAIT_NOBODY: unknown, or found through the operation */
    /* The `count` operations that end the wait. If op_at is NULL, object is the only pen_op, or
     * an object that a module can explain. */
    const void *object;
    const pen_op *(*op_at)(const void *object, size_t i);
    size_t count;
    bool any; /* one completed operation ends the wait; otherwise all must complete */
    bool shown;
    uint64_t since_ns, look_ns; /* managed by the wait; 0 at first */
    uint64_t traced_at;         /* ticks at which a traced wait began; 0: it has not */
    /* Valid if traced_at is not 0: */
    pen_awaited traced_awaited;
    uint32_t traced_peer, traced_number;
    bool traced_described;
    uint64_t traced_last; /* if it is a loop: ticks at its last step so far */
} pen_wait;

static inline pen_wait pen_wait_for(pen_call call, pen_awaited awaited, uint32_t peer,
                                    const void *object)
{
    return (pen_wait){ .call = call, .awaited = awaited, .peer = peer, .object = object };
}

typedef struct pen_waiter {
    pen_progress *progress;
    pen_wait *what;     /* NULL: the wait is not reported */
    uint64_t since_ns;  /* when the fruitless polls began; 0: not yet read */
    uint64_t switches;  /* forced switches of this thread at its last look; valid if has_switches */
    uint32_t fruitless; /* polls in a row that found nothing */
    uint32_t yields;
    uint32_t naps;   /* sleeps in a row that ended by timeout */
    uint32_t wake;   /* value of the sleeper's wake word; valid if armed */
    uint32_t served; /* polls that found something */
    bool has_switches;
    bool armed;     /* asked to be woken; the next fruitless step sleeps */
    bool may_sleep; /* false if memory may change without a wake-up */
} pen_waiter;

static inline pen_waiter pen_waiter_of(pen_progress *progress, bool may_sleep)
{
    return (pen_waiter){ .progress = progress, .may_sleep = may_sleep };
}

/* A waiter whose wait reports can name. pen_wait_end must follow it. */
static inline pen_waiter pen_waiter_for(pen_progress *progress, bool may_sleep, pen_wait *what)
{
    return (pen_waiter){ .progress = progress, .may_sleep = may_sleep, .what = what };
}

/* Publishes a wait that has lasted for a while. Called in the slow part of every wait. */
void pen_wait_show(pen_progress *progress, pen_wait *wait, uint64_t now_ns);
PEN_COLD void pen_wait_withdraw(pen_waiter *waiter); /* if the wait was published */

/* The library does not see where a loop of GASNET_BLOCKUNTIL ends. So each step of it calls
 * pen_wait_trace_loop; and the next loop, or the end of the job, pen_wait_trace_loop_end. */
PEN_COLD void pen_wait_trace_end(const pen_progress *progress, pen_wait *wait, uint64_t now);
static inline void pen_wait_trace_loop(pen_wait *wait)
{
    if (pen_unlikely(wait->traced_at != 0))
        wait->traced_last = pen_trace_ticks();
}

static inline void pen_wait_trace_loop_end(const pen_progress *progress, pen_wait *wait)
{
    if (pen_unlikely(wait->traced_at != 0))
        pen_wait_trace_end(progress, wait, wait->traced_last);
}

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

void pen_wait_idle(pen_waiter *waiter); /* called after a fruitless poll, beyond the first spins */
PEN_COLD void pen_wait_served(pen_waiter *waiter); /* called after many polls that found work */

/* Polls once. If there was no work, gives the core away as the policy requires. The caller
 * loops: while (!done) pen_wait_step(&waiter). It must test its condition before every step,
 * because the step that prepares for sleep returns before the step that sleeps. */
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

/* Statistics of a thread's own polls; zero at first. A loop of polls may be the client's way of
 * waiting. */
typedef struct pen_poller {
    int32_t patience;   /* decreases until the next look at the clock; fruitless polls count most */
    uint32_t stretch;   /* the value of patience at the last look */
    uint64_t looked_ns; /* time of the last look */
    uint64_t since_ns;  /* since then the polls come at short intervals */
    pen_wait wait;      /* the loop of polls, for reports */
} pen_poller;

enum { PEN_POLLER_FRUITLESS = 8 };

PEN_COLD void pen_poller_look(pen_progress *progress, pen_poller *poller);

/* Called after a poll by the client; handled is its result. If ranks outnumber cores, a loop of
 * fruitless polls gives the core to a rank that may have work for us. */
static inline void pen_poller_count(pen_progress *progress, pen_poller *poller, unsigned handled)
{
    pen_poll_view *view = progress->view;
    poller->patience -= handled == 0 ? PEN_POLLER_FRUITLESS : 1;
    if (handled != 0 && pen_likely(poller->patience >= 0)) /* idle polls are counted later */
        return;
    if (view != NULL) { /* polls that inline code saw to be idle; relaxed: counts of concurrent
                         * threads may mix */
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
