/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c: the ports of a rank, and a poll of all of them. */
#include "progress/progress.h"

#include "base/compiler.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "knob/knob.h"
#include "os/lock.h"
#include "os/os.h"
#include "pen_config.h"

#include <penstock/abi.h>
#include <pthread.h>
#include <string.h>

const pen_knob pen_progress_knobs[] = {
    { "PENSTOCK_WAIT_SPIN", PEN_KNOB_SECONDS, "50us", offsetof(pen_progress_config, spin_s),
      "How long a waiting rank that has a core to itself spins before it yields." },
    { "PENSTOCK_WAIT_SLEEP_AFTER", PEN_KNOB_SECONDS, "1ms",
      offsetof(pen_progress_config, sleep_after_s),
      "How long it waits before it sleeps; at least 200us, and no longer where a network's socket "
      "wakes it; sooner when ranks outnumber cores." },
    { "PENSTOCK_WAIT_SLEEP", PEN_KNOB_BOOL, "yes", offsetof(pen_progress_config, sleep),
      "Whether a waiting rank may sleep. Without sleep it yields until the wait ends." },
    { 0 },
};

#define SHOWN_EVERY_NS 3000000u

static uint64_t ns_of(double seconds)
{
    const double s_max = 1e9; /* a larger total changes no decision, and cannot overflow */
    return (uint64_t)((seconds < s_max ? seconds : s_max) * 1e9);
}

void pen_progress_init(pen_progress *progress, pen_concurrency concurrency,
                       const pen_progress_config *config, const pen_sleeper *sleeper,
                       const pen_clock *clock, pen_counters *counters)
{
    memset(progress, 0, sizeof *progress);
    progress->concurrency = concurrency;
    progress->clock = *clock;
    progress->counters = counters;
    progress->spin_ns = ns_of(config->spin_s);
    progress->sleep_after_ns = ns_of(config->sleep_after_s);
    if (progress->sleep_after_ns < PEN_SLEEP_AFTER_NS_MIN)
        progress->sleep_after_ns = PEN_SLEEP_AFTER_NS_MIN;
    progress->may_sleep = config->sleep;
    progress->sweep_events = UINT32_MAX;
    progress->membarrier = pen_membarrier_register() && pen_membarrier();
    if (sleeper != NULL) {
        progress->sleeper = *sleeper;
    } else {
        progress->sleeper = (pen_sleeper){ &progress->own_sleeping, &progress->own_wake,
                                           &progress->own_polling,  NULL,
                                           pen_cores_allowed(NULL), NULL };
    }
    pen_progress_enter_thread(progress);
}

void pen_progress_enter_thread(pen_progress *progress)
{
    /* relaxed: a count that the wait policy reads occasionally */
    atomic_fetch_add_explicit(progress->sleeper.polling_total, 1, memory_order_relaxed);
}

void pen_progress_leave_thread(pen_progress *progress)
{
    atomic_fetch_sub_explicit(progress->sleeper.polling_total, 1, memory_order_relaxed);
}

pen_port *pen_progress_add(pen_progress *progress, pen_link *link)
{
    PEN_INVARIANT(progress->port_count < PEN_PORTS_MAX);
    pen_port *port = &progress->ports[progress->port_count++];
    port->link = link;
    port->progress = progress;
    pen_lock_init(&port->post_lock, progress->concurrency);
    pen_lock_init(&port->poll_lock, progress->concurrency);
    pen_backlog_init(&port->backlog, progress->concurrency);
    bool is_plain = progress->port_count == 1 && progress->concurrency == PEN_ALONE;
    progress->alone = is_plain ? link : NULL;
    progress->rings = (progress->port_count == 1 || progress->rings) && link->wait != NULL;
    progress->rings_alone = progress->rings && progress->concurrency == PEN_ALONE;
    progress->view = link->host->poll_view;
    if (progress->port_count == 1 && progress->view != NULL)
        progress->view_word = progress->view->words[PEN_POLL_WORDS - 1];
    pen_progress_view_changed(progress);
    return port;
}

/* seq_cst: see pen_progress_view_changed */
static const uint32_t *word_of(const pen_progress *progress)
{
    static const uint32_t busy = 1;
    const pen_port *port = &progress->ports[0];
    bool is_plain = progress->port_count == 1 &&
                    atomic_load_explicit(&port->backlog.count, memory_order_seq_cst) == 0 &&
                    atomic_load_explicit(&progress->source_work, memory_order_seq_cst) == 0;
    return is_plain ? progress->view_word : &busy;
}

void pen_progress_view_changed(pen_progress *progress)
{
    pen_poll_view *view = progress->view;
    if (view == NULL)
        return;
    const uint32_t *word = word_of(progress);
    if (progress->concurrency == PEN_ALONE) {
        /* relaxed. The order is a constant because compilers use the strongest for a variable,
         * and an exchange would wait for earlier stores, which often go to a peer's line */
        __atomic_store_n(&view->words[PEN_POLL_WORDS - 1], word, __ATOMIC_RELAXED);
        return;
    }
    /* seq_cst: each thread stores its value and then looks again; a thread that changes the
     * state after that look stores, too */
    __atomic_store_n(&view->words[PEN_POLL_WORDS - 1], word, __ATOMIC_SEQ_CST);
    for (const uint32_t *now; (now = word_of(progress)) != word; word = now)
        __atomic_store_n(&view->words[PEN_POLL_WORDS - 1], now, __ATOMIC_SEQ_CST);
}

void pen_progress_hide(pen_progress *progress)
{
    static const uint32_t nothing;
    if (progress->view == NULL)
        return;
    for (unsigned i = 0; i < PEN_POLL_WORDS; i++)
        __atomic_store_n(&progress->view->words[i], &nothing, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->view->sum, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->view->patience, 0, __ATOMIC_RELAXED);
    progress->view = NULL;
}

void pen_progress_close(pen_progress *progress)
{
    for (uint32_t i = 0; i < progress->port_count; i++)
        pen_backlog_free(&progress->ports[i].backlog);
    progress->port_count = 0;
    progress->alone = NULL;
    if (progress->sleeper.shown != NULL) /* the memory of the job is freed soon */
        atomic_store_explicit(&progress->sleeper.shown->inside_at, 0, memory_order_relaxed);
    pen_progress_leave_thread(progress);
}

static void drop_ports(pen_progress *progress, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        pen_lock_drop(&progress->ports[i].post_lock);
        pen_lock_drop(&progress->ports[i].poll_lock);
    }
}

/* Messages are counted under the locks of the ports that carry them, with plain stores. Returns
 * false and holds nothing if another thread has one of the locks. */
static bool try_all_ports(pen_progress *progress)
{
    for (uint32_t i = 0; i < progress->port_count; i++) {
        pen_port *port = &progress->ports[i];
        if (pen_lock_try(&port->poll_lock)) {
            if (pen_lock_try(&port->post_lock))
                continue;
            pen_lock_drop(&port->poll_lock);
        }
        drop_ports(progress, i);
        return false;
    }
    return true;
}

/* At most once every SHOWN_EVERY_NS, so that ranks that nap often do not copy each time. */
static void show_counters(pen_progress *progress)
{
    pen_host_shown *shown = progress->sleeper.shown;
    if (shown == NULL)
        return;
    uint64_t now_ns = progress->clock.now_ns(progress->clock.ctx);
    /* relaxed, here and below: people read each number by itself */
    if (now_ns - atomic_load_explicit(&shown->seen_ns, memory_order_relaxed) < SHOWN_EVERY_NS)
        return;
    const void *inside = progress->concurrency == PEN_ALONE
                             ? (const void *)&progress->polling
                             : (const void *)&progress->ports[0].poll_lock.word;
    atomic_store_explicit(&shown->inside_at, (uintptr_t)inside, memory_order_relaxed);
    if (!try_all_ports(progress))
        return;
    const uint64_t *from = (const uint64_t *)(const void *)progress->counters;
    for (size_t i = 0; i < PEN_COUNTER_COUNT; i++)
        atomic_store_explicit(&shown->counters[i], __atomic_load_n(&from[i], __ATOMIC_RELAXED),
                              memory_order_relaxed);
    drop_ports(progress, progress->port_count);
    atomic_store_explicit(&shown->seen_ns, now_ns, memory_order_relaxed);
}

void pen_progress_publish(pen_progress *progress)
{
    show_counters(progress);
    if (progress->sleeper.progress == NULL)
        return;
    uint64_t handled = 0;
    for (uint32_t i = 0; i < progress->port_count; i++)
        handled += atomic_load_explicit(&progress->ports[i].handled, memory_order_relaxed);
    /* relaxed: only printed for people. Stored only on change, because senders read the same
     * line */
    if (atomic_load_explicit(progress->sleeper.progress, memory_order_relaxed) != handled)
        atomic_store_explicit(progress->sleeper.progress, handled, memory_order_relaxed);
}

/* Records the polling thread for checked builds. A handler may not poll: with one thread the
 * link would be entered twice; with several, the nested poll would never find a frame. */
static void note_poller(pen_port *port, uintptr_t poller)
{
    /* relaxed: a thread looks for its own name only */
    if (PEN_CHECKED)
        atomic_store_explicit(&port->poller, poller, memory_order_relaxed);
}

static unsigned poll_port(pen_port *port)
{
    PEN_ASSERT(atomic_load_explicit(&port->poller, memory_order_relaxed) !=
               (uintptr_t)pthread_self());
    if (!pen_lock_try(&port->poll_lock))
        return 0; /* a different thread polls it */
    note_poller(port, (uintptr_t)pthread_self());
    unsigned lanes = PEN_LANES_ALL, handled = 0;
    /* relaxed: this thread sees the frames that it queued; a later poll serves those of other
     * threads */
    if (pen_unlikely(atomic_load_explicit(&port->backlog.count, memory_order_relaxed) != 0)) {
        handled = pen_backlog_drain(port);
        if (atomic_load_explicit(&port->backlog.queued, memory_order_relaxed) != 0)
            lanes &= ~PEN_LANE_BIT(PEN_LANE_REQUEST);
    }
    handled += port->link->ops->poll(port->link, lanes, PEN_POLL_BUDGET);
    const bool is_due = handled != 0 && pen_port_count(port, handled);
    note_poller(port, 0);
    pen_lock_drop(&port->poll_lock);
    if (is_due)
        pen_progress_publish(port->progress);
    return handled;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Fruitless polls that end a sweep of a link with a socket. A poll may return 0 while datagrams
 * are left, if it took only acknowledgements. */
enum { QUIET_POLLS_OF_SOCKETS = 2 };

/* Polls until no frame is left, or until more were handled than can have been there at the
 * beginning, so that a flood of new frames cannot prolong it. Requests are taken even if replies
 * wait in the backlog, because the peer that has to make room may have left the barrier and
 * compute; the same bound limits the backlog. Returns false if a different thread polls the
 * port. */
static bool sweep_port(pen_port *port, unsigned *handled)
{
    if (!pen_lock_try(&port->poll_lock))
        return false;
    note_poller(port, (uintptr_t)pthread_self());
    pen_link *link = port->link;
    unsigned quiet_polls = link->wait != NULL ? QUIET_POLLS_OF_SOCKETS : 1, quiet = 0, total = 0;
    if (atomic_load_explicit(&port->backlog.count, memory_order_relaxed) != 0)
        *handled += pen_backlog_drain(port);
    while (quiet < quiet_polls && total < port->progress->sweep_events) {
        unsigned found = link->ops->poll(link, PEN_LANES_ALL, PEN_POLL_BUDGET);
        total += found;
        quiet = found == 0 ? quiet + 1 : 0;
    }
    const bool is_due = total != 0 && pen_port_count(port, total);
    *handled += total;
    note_poller(port, 0);
    pen_lock_drop(&port->poll_lock);
    if (is_due)
        pen_progress_publish(port->progress);
    return true;
}

static bool is_sweep_due(const pen_progress *progress)
{
    /* relaxed: a hint; sweep loads them again */
    return atomic_load_explicit(&progress->sweep_asked, memory_order_relaxed) !=
           atomic_load_explicit(&progress->sweep_done, memory_order_relaxed);
}

/* Runs instead of a poll of all ports. */
static PEN_COLD unsigned sweep(pen_progress *progress)
{
    /* acquire: pairs with pen_progress_ask_sweep; we see everything that the asker had seen */
    uint32_t ticket = atomic_load_explicit(&progress->sweep_asked, memory_order_acquire);
    unsigned handled = 0;
    bool complete = true;
    if (progress->concurrency == PEN_ALONE)
        progress->polling = true;
    for (uint32_t i = 0; i < progress->port_count; i++)
        complete &= sweep_port(&progress->ports[i], &handled);
    if (progress->concurrency == PEN_ALONE)
        progress->polling = false;
    if (!complete)
        return handled + 1; /* non-zero keeps waiting threads from sleeping */
    uint32_t done = atomic_load_explicit(&progress->sweep_done, memory_order_relaxed);
    while ((int32_t)(ticket - done) > 0 &&
           /* release: pairs with pen_progress_is_swept */
           !atomic_compare_exchange_weak_explicit(&progress->sweep_done, &done, ticket,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    return handled;
}

static unsigned poll_sources(pen_progress *progress)
{
    unsigned handled = 0;
    for (uint32_t i = 0; i < progress->source_count; i++)
        handled += progress->sources[i].poll(progress->sources[i].ctx);
    return handled;
}

static unsigned poll_all_ports(pen_progress *progress)
{
    unsigned handled = 0;
    bool is_alone = progress->concurrency == PEN_ALONE;
    if (is_alone)
        progress->polling = true;
    for (uint32_t i = 0; i < progress->port_count; i++)
        handled += poll_port(&progress->ports[i]);
    if (is_alone)
        progress->polling = false;
    return handled;
}

unsigned pen_progress_poll_ports(pen_progress *progress)
{
    unsigned handled =
        pen_unlikely(is_sweep_due(progress)) ? sweep(progress) : poll_all_ports(progress);
    /* relaxed: see source_work */
    if (atomic_load_explicit(&progress->source_work, memory_order_relaxed) != 0) {
        handled += poll_sources(progress);
        if (is_sweep_due(progress)) { /* immediately, because a thread waits for this event alone */
            handled += sweep(progress);
            handled += poll_sources(progress);
        }
    }
    if (handled != 0 && progress->concurrency != PEN_ALONE) {
        /* A sleeping thread of this rank may wait for the events handled here. */
        pen_progress_wake_fence(progress);
        pen_progress_wake(progress->sleeper.sleeping, progress->sleeper.wake);
    }
    return handled;
}
