/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c: how a waiting thread uses its core.
 *
 * Waking an idle core takes tens of microseconds; handing over a core takes less than one. So if
 * the host has a core for every polling thread ("roomy"), a waiter keeps its core and sleeps late.
 * If it has not ("crowded"), every fruitless poll gives the core to a rank that may have work for
 * us. Two signs show that a different thread wants our core. One is the host's count of polling
 * threads, compared with its cores. The second is this thread's forced context switches, which the
 * kernel counts for a sched_yield only if a different thread ran. The second sign detects ranks
 * bound to one core, and programs outside the job.
 *
 * A rank whose links all have descriptors need not yield for long, because an arriving frame
 * wakes it from sleep. If a rank on the core computes, a yield takes a time slice of
 * milliseconds; sleeping does not. */
#include "progress/progress.h"

#include "base/compiler.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/turns.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <poll.h>
#include <sched.h>
#include <time.h>

enum {
    EAGER_POLLS = 64,    /* roomy: polls before the first pause or look at the clock */
    LOOK_EVERY = 16,     /* roomy: polls between looks at the clock */
    YIELD_EVERY = 64,    /* roomy: polls between yields, after spinning; a multiple of LOOK_EVERY */
    CROWDED_YIELDS = 16, /* crowded: fruitless yields before the first look at the clock */
    CROWDED_LOOK_EVERY = 8,
    PROBE_AT =
        8, /* crowded by outsiders: the yield of a wait that tests whether they are still there
            * ... */
    PROBE_EVERY = 32, /* ... and in short waits, every PROBE_EVERY yields of the rank */
    IDLE_PER_SECOND = 10,
    LOOP_CROWDED = 8 * PEN_POLLER_FRUITLESS, /* the client's polls between looks at the clock */
    LOOP_ROOMY = 256 * PEN_POLLER_FRUITLESS,
    NO_YIELD = 64, /* waits that sleep at once after a long yield */
    LOOP_NS = 500, /* per poll of the client: a slower loop does more than wait */
};
#define NS_PER_SECOND 1000000000u
#define NAP_NS_MAX    4000000u /* bounds the delay if a wake-up is lost */
#define NAP_FD_NS_MAX                                                                           \
    1000000u                  /* shorter, because a wake-up through memory does not end a ppoll \
                               */
#define YIELD_NS_LONG 200000u /* a yield between waiting ranks is shorter */
#define LOOP_LOOK_NS  200000u /* roomy: how often a loop of polls tests who wants its core */
#define LONG_NAPS     2u      /* a rank that sleeps longer than this is not counted as polling */

/* The clock that the job lent. */
static uint64_t now(const pen_progress *progress)
{
    return progress->clock.now_ns(progress->clock.ctx);
}

static bool has_cores(const pen_progress *progress)
{
    /* relaxed: hints; a wrong one costs a yield or a spin */
    return atomic_load_explicit(progress->sleeper.polling_total, memory_order_relaxed) <=
           progress->sleeper.cores;
}

static bool core_is_shared(const pen_progress *progress)
{
    return atomic_load_explicit(&progress->core_shared, memory_order_relaxed);
}

static bool is_roomy(const pen_progress *progress)
{
    return progress->wait_mode == PEN_WAIT_SPIN && has_cores(progress) && !core_is_shared(progress);
}

/* Yields the core. If look is true, records whether another thread ran. */
static void give_away(pen_waiter *waiter, bool look)
{
    pen_progress *progress = waiter->progress;
    if (look && !waiter->has_switches) {
        waiter->switches = pen_switches_forced();
        waiter->has_switches = true;
    }
    /* relaxed: a count; atomic because threads wait without a lock */
    __atomic_fetch_add(&progress->counters->wait_yield, 1, __ATOMIC_RELAXED);
    pen_progress_publish(progress);
    sched_yield();
    if (!look)
        return;
    uint64_t before = waiter->switches;
    waiter->switches = pen_switches_forced();
    const bool shared = waiter->switches != before;
    atomic_store_explicit(&progress->core_shared, shared, memory_order_relaxed);
    if (shared && has_cores(progress) && progress->on_shared != NULL)
        progress->on_shared(progress->on_idle_ctx);
}

/* May the outsiders that wanted our core have gone? */
static bool is_time_to_probe(const pen_progress *progress)
{
    /* relaxed: any value will do */
    return __atomic_load_n(&progress->counters->wait_yield, __ATOMIC_RELAXED) % PROBE_EVERY == 0;
}

void pen_wait_show(pen_progress *progress, pen_wait *wait, uint64_t now_ns)
{
    if (wait == NULL || now_ns < wait->look_ns || progress->on_wait == NULL)
        return;
    bool is_first = wait->look_ns == 0;
    wait->look_ns = now_ns + PEN_WAIT_SHOWN_NS;
    if (is_first)
        wait->since_ns = now_ns;
    else
        progress->on_wait(progress->on_wait_ctx, wait, now_ns, false);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static PEN_COLD void trace_idle(const pen_progress *progress, pen_wait *wait)
{
    atomic_store_explicit(&progress->trace->idle, true, memory_order_relaxed); /* see idle */
    if (wait == NULL || wait->traced_at != 0)
        return;
    wait->traced_at = pen_trace_ticks();
    wait->traced_awaited = wait->awaited;
    wait->traced_peer = wait->peer;
    wait->traced_number = 0;
    wait->traced_described = false;
    wait->shown = true; /* pen_wait_end calls pen_wait_withdraw */
}

void pen_wait_trace_end(const pen_progress *progress, pen_wait *wait, uint64_t now)
{
    const pen_trace_event event = { .at = wait->traced_at,
                                    .span = pen_trace_pack(now - wait->traced_at),
                                    .kind = PEN_TRACE_WAIT,
                                    .detail = (uint8_t)wait->traced_awaited,
                                    .what = (uint16_t)wait->call,
                                    .peer = wait->traced_peer,
                                    .number = wait->traced_number };
    pen_trace_write(progress->trace, &event);
    wait->traced_at = 0;
}

/* A wait has lasted for a while, so that it is worth the time to find out what it is for. */
static PEN_COLD void trace_describe(pen_progress *progress, pen_wait *wait)
{
    wait->traced_described = true;
    progress->on_traced(progress->on_wait_ctx, wait);
}

/* ---- reports --------------------------------------------------------------------------------- */

void pen_wait_withdraw(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    if (waiter->what->traced_at != 0)
        pen_wait_trace_end(progress, waiter->what, pen_trace_ticks());
    progress->on_wait(progress->on_wait_ctx, waiter->what, 0, true);
}

/* Duties of a waiting rank: its owner's on_idle and the launcher's report. */
static void look_around(const pen_waiter *waiter, uint64_t now_ns)
{
    pen_progress *progress = waiter->progress;
    pen_wait *what = waiter->what;
    if (pen_unlikely(progress->trace != NULL) && what != NULL && what->traced_at != 0 &&
        !what->traced_described)
        trace_describe(progress, what);
    pen_wait_show(progress, what, now_ns);
    /* relaxed: the exchange lets one thread through, and orders no data */
    uint64_t next_ns = atomic_load_explicit(&progress->on_idle_next_ns, memory_order_relaxed);
    if (now_ns < next_ns)
        return;
    if (!atomic_compare_exchange_strong_explicit(&progress->on_idle_next_ns, &next_ns,
                                                 now_ns + NS_PER_SECOND / IDLE_PER_SECOND,
                                                 memory_order_relaxed, memory_order_relaxed))
        return;
    pen_progress_publish(progress);
    if (progress->on_idle != NULL)
        progress->on_idle(progress->on_idle_ctx);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

/* Does a frame of this rank wait for room? A peer that makes room does not wake this rank. */
static bool waits_for_room(const pen_progress *progress)
{
    /* relaxed: a thread sees its own frames, and other threads test for theirs */
    if (atomic_load_explicit(&progress->room_waits, memory_order_relaxed) != 0)
        return true;
    for (uint32_t i = 0; i < progress->port_count; i++) {
        if (atomic_load_explicit(&progress->ports[i].backlog.count, memory_order_relaxed) != 0)
            return true;
    }
    return false;
}

static void nap(pen_waiter *waiter);

/* Asks to be woken. The caller then tests its condition once more, and the next step polls once
 * more before it sleeps: see pen_progress_wake. If all wake-ups come through descriptors, sleeps
 * at once. */
static void prepare_sleep(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    if (!waiter->may_sleep || !progress->may_sleep)
        return;
    if (waits_for_room(progress)) {
        give_away(waiter, false);
        return;
    }
    if (progress->rings_alone) {
        nap(waiter);
        return;
    }
    /* acquire: loaded before the request below; a sender changes it after taking the request */
    waiter->wake = atomic_load_explicit(progress->sleeper.wake, memory_order_acquire);
    atomic_store_explicit(progress->sleeper.sleeping, 1, memory_order_release);
    if (!progress->membarrier || !pen_membarrier())
        pen_fence(); /* pairs with pen_progress_wake_fence */
    waiter->armed = true;
}

/* Arms every link that sleeps on a descriptor, and lowers until_ns to the latest time to wake.
 * Returns false if a link already has events. */
static bool arm_links(pen_progress *progress, struct pollfd *fds, nfds_t *count_out,
                      uint64_t *until_ns)
{
    nfds_t armed = 0;
    for (uint32_t i = 0; i < progress->port_count; i++) {
        pen_port *port = &progress->ports[i];
        pen_link *link = port->link;
        if (link->wait == NULL && link->due == NULL)
            continue;
        if (!pen_lock_try(&port->poll_lock))
            return false; /* a different thread polls it: there may be events soon */
        bool quiet = true;
        if (link->wait != NULL) {
            quiet = link->wait->arm(link);
            fds[armed++] = (struct pollfd){ .fd = link->wait->fd(link), .events = POLLIN };
        }
        uint64_t due_ns = link->due != NULL ? link->due->due_ns(link) : UINT64_MAX;
        *until_ns = due_ns < *until_ns ? due_ns : *until_ns;
        pen_lock_drop(&port->poll_lock);
        if (!quiet)
            return false;
    }
    *count_out = armed;
    return true;
}

static bool was_woken(const pen_waiter *waiter)
{
    /* acquire: pairs with the release in pen_futex_rouse */
    return atomic_load_explicit(waiter->progress->sleeper.wake, memory_order_acquire) !=
           waiter->wake;
}

static bool has_fds(const pen_progress *progress)
{
    for (uint32_t i = 0; i < progress->port_count; i++)
        if (progress->ports[i].link->wait != NULL)
            return true;
    return false;
}

/* Sleeps until woken, or for a limited time. Returns true if there was an event. */
static bool sleep_once(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    struct pollfd fds[PEN_PORTS_MAX];
    nfds_t fd_count = 0;
    uint64_t now_ns = now(progress);
    uint64_t until_ns =
        now_ns + (progress->rings_alone || !has_fds(progress) ? NAP_NS_MAX : NAP_FD_NS_MAX);
    if (!arm_links(progress, fds, &fd_count, &until_ns) || until_ns <= now_ns)
        return true;
    if (fd_count == 0) {
        pen_futex_wait(progress->sleeper.wake, waiter->wake, until_ns - now_ns);
    } else if (progress->rings_alone || !was_woken(waiter)) {
        struct timespec nap = { .tv_nsec = (long)(until_ns - now_ns) };
        if (ppoll(fds, fd_count, &nap, NULL) > 0)
            return true;
    }
    return !progress->rings_alone && was_woken(waiter);
}

static void nap(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    waiter->armed = false;
    __atomic_fetch_add(&progress->counters->wait_sleep, 1, __ATOMIC_RELAXED); /* as above */
    pen_progress_publish(progress);
    bool is_long = waiter->naps >= LONG_NAPS; /* reduces the count of threads that compete for
                                               * cores */
    if (is_long)
        pen_progress_leave_thread(progress);
    bool woken = sleep_once(waiter);
    if (is_long)
        pen_progress_enter_thread(progress);
    /* Withdraws the request, unless it may belong to another thread; then the next sender sends
     * an unneeded wake-up. relaxed: a sender that still sees it does no harm. */
    if (progress->concurrency == PEN_ALONE)
        atomic_store_explicit(progress->sleeper.sleeping, 0, memory_order_relaxed);
    uint32_t naps = waiter->naps + 1;
    if (woken)
        pen_waiter_restart(waiter); /* the wait begins from the start */
    else
        waiter->naps = naps;
    look_around(waiter, now(progress));
}

/* ---- the two policies ------------------------------------------------------------------------ */

/* The time for which a crowded rank yields. A yield that no thread takes is short. Counted
 * without the clock, sixteen would be over before a peer on a different core can answer, and
 * waking us would cost that peer more than our yields cost. */
static uint64_t yield_limit_ns(const pen_progress *progress)
{
    return progress->wait_mode == PEN_WAIT_SPINBLOCK ? progress->sleep_after_ns : progress->spin_ns;
}

/* Sleeps without having yielded, if the last yields of this rank took long. */
static bool sleep_at_once(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    /* relaxed: hints; one wait more or less does no harm */
    uint32_t left = atomic_load_explicit(&progress->no_yield, memory_order_relaxed);
    if (left == 0 || !waiter->may_sleep || !progress->may_sleep)
        return false;
    atomic_store_explicit(&progress->no_yield, left - 1, memory_order_relaxed);
    prepare_sleep(waiter);
    return true;
}

/* The idle step of a crowded rank that every arriving frame wakes. */
static void idle_crowded_ringing(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    if (waiter->yields++ == 0 && sleep_at_once(waiter))
        return;
    uint64_t before_ns = now(progress);
    give_away(waiter, core_is_shared(progress) &&
                          (waiter->yields == PROBE_AT || is_time_to_probe(progress)));
    uint64_t now_ns = now(progress);
    if (waiter->since_ns == 0)
        waiter->since_ns = before_ns;
    if (now_ns - before_ns >= YIELD_NS_LONG)
        atomic_store_explicit(&progress->no_yield, NO_YIELD, memory_order_relaxed);
    look_around(waiter, now_ns);
    if (now_ns - waiter->since_ns >= yield_limit_ns(progress))
        prepare_sleep(waiter);
}

static void idle_crowded(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    waiter->yields++;
    give_away(waiter, core_is_shared(progress) &&
                          (waiter->yields == PROBE_AT || is_time_to_probe(progress)));
    if (waiter->yields < CROWDED_YIELDS || waiter->yields % CROWDED_LOOK_EVERY != 0)
        return;
    uint64_t now_ns = now(progress);
    if (waiter->since_ns == 0) {
        waiter->since_ns = now_ns;
        return;
    }
    look_around(waiter, now_ns);
    if (now_ns - waiter->since_ns >= yield_limit_ns(progress))
        prepare_sleep(waiter);
}

static void idle_roomy(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    if (waiter->fruitless % LOOK_EVERY != 0) {
        pen_cpu_relax();
        return;
    }
    uint64_t now_ns = now(progress);
    if (waiter->since_ns == 0) {
        waiter->since_ns = now_ns;
        return;
    }
    uint64_t waited_ns = now_ns - waiter->since_ns;
    if (waited_ns < progress->spin_ns)
        return;
    if (waiter->fruitless % YIELD_EVERY == 0)
        give_away(waiter, true);
    look_around(waiter, now_ns);
    if (waited_ns >= (progress->rings ? PEN_SLEEP_AFTER_NS_MIN : progress->sleep_after_ns))
        prepare_sleep(waiter);
}

void pen_wait_idle(pen_waiter *waiter)
{
    pen_progress *progress = waiter->progress;
    if (pen_unlikely(progress->trace != NULL))
        trace_idle(progress, waiter->what);
    if (progress->turns != NULL) {
        look_around(waiter, now(progress));
        progress->turns->wait(progress->turns->ctx);
        return;
    }
    if (waiter->armed) {
        nap(waiter);
        return;
    }
    if (waiter->naps != 0) { /* the last sleep ended by timeout: sleep again */
        prepare_sleep(waiter);
        return;
    }
    bool roomy = is_roomy(progress);
    /* A traced rank asks the policy after each poll, so that no wait is missed. */
    uint32_t eager = roomy && progress->trace == NULL ? EAGER_POLLS : 0;
    /* relaxed: a hint; stored only on change, because every poll reads its line */
    if (atomic_load_explicit(&progress->eager, memory_order_relaxed) != eager)
        atomic_store_explicit(&progress->eager, eager, memory_order_relaxed);
    if (roomy)
        idle_roomy(waiter);
    else if (progress->rings)
        idle_crowded_ringing(waiter);
    else
        idle_crowded(waiter);
}

/* Frames keep arriving, but the awaited one may come from a rank that waits for our core. */
void pen_wait_served(pen_waiter *waiter)
{
    const pen_turns *turns = waiter->progress->turns;
    look_around(waiter, now(waiter->progress));
    if (turns != NULL && turns->yield != NULL)
        turns->yield(turns->ctx);
    else if (turns != NULL)
        return;
    else if (!is_roomy(waiter->progress))
        give_away(waiter, false);
}

/* ---- loops of the client's own --------------------------------------------------------------- */

/* Polls at short intervals are a way of waiting. A client that computes between polls keeps its
 * core. */
void pen_poller_look(pen_progress *progress, pen_poller *poller)
{
    uint64_t now_ns = now(progress);
    if (progress->turns != NULL) { /* each poll hands over by itself */
        poller->stretch = LOOP_ROOMY;
        poller->patience = LOOP_ROOMY - 1;
        return;
    }
    bool waits = now_ns - poller->looked_ns < (uint64_t)poller->stretch * LOOP_NS;
    bool roomy = is_roomy(progress);
    pen_waiter waiter = pen_waiter_of(progress, false);
    if (!waits)
        poller->since_ns = now_ns;
    if (now_ns - poller->looked_ns > PEN_WAIT_LOOP_NS) /* a new loop */
        poller->wait = pen_wait_for(PEN_CALL_POLL, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, NULL);
    pen_wait_show(progress, &poller->wait, now_ns);
    pen_progress_publish(progress);
    if (progress->trace != NULL)
        trace_idle(progress, NULL);
    if (waits && !roomy) {
        give_away(&waiter, core_is_shared(progress) && is_time_to_probe(progress));
        now_ns = now(progress);
    } else if (now_ns - poller->since_ns >= LOOP_LOOK_NS) {
        give_away(&waiter, true);
        poller->since_ns = now_ns = now(progress);
    }
    poller->looked_ns = now_ns;
    poller->stretch = roomy ? LOOP_ROOMY : LOOP_CROWDED;
    poller->patience = (int32_t)poller->stretch - 1;
}
