/* SPDX-License-Identifier: BSD-3-Clause */
/* turn.c: the order in which ranks run. The rank with the turn gives it to the rank with the
 * earliest time, by a futex. Ranks that wait without a time are in no queue: an event or another
 * rank ends their waits. */
#include "os/os.h"
#include "virtual/virtual.h"
#include "virtual/world.h"

enum {
    LOOKS_MAX = 1,        /* a client's empty looks in a row before the rank waits instead */
    DOUBLINGS_FIRST = 8,  /* the first of these waits is as long as 2^8 looks, ... */
    DOUBLINGS_MAX = 12,   /* ... and the longest as 2^12 */
    IDLE_NAP_NS = 100000, /* real time between rounds of looks while everybody waits ... */
    IDLE_NAPS_MAX = 100   /* ... longer each time, up to this factor */
};
#define LOOK_AGAIN_NS UINT64_C(1000000000) /* bounds a sleep, in case a wake-up is lost */

static pen_virtual_rank *self_of(const pen_virtual *view) { return &view->ranks[view->rank]; }

static uint64_t clock_of(const pen_virtual *view)
{
    /* relaxed: this process writes it, while it has the turn */
    return atomic_load_explicit(&self_of(view)->clock_ns, memory_order_relaxed);
}

static void set_clock(const pen_virtual *view, uint64_t ns)
{
    atomic_store_explicit(&self_of(view)->clock_ns, ns, memory_order_relaxed);
}

static void count(const pen_virtual *view, _Atomic uint64_t *counter)
{
    if (view->world->is_over)
        return;
    /* relaxed: one writer at a time; readers only show it */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* ---- handing over ---------------------------------------------------------------------------- */

static void await_turn(pen_virtual *view)
{
    pen_virtual_rank *self = self_of(view);
    /* acquire: pairs with the release in give_turn, and covers the whole world */
    while (atomic_load_explicit(&self->turn, memory_order_acquire) == 0)
        pen_futex_wait(&self->turn, 0, LOOK_AGAIN_NS);
    atomic_store_explicit(&self->turn, 0, memory_order_relaxed);
    /* A rank that waited without a time is here because everybody waits. */
    uint64_t now_ns = self->key_ns != PEN_VIRTUAL_NEVER ? self->key_ns : view->net.events->now_ns;
    if (now_ns > clock_of(view))
        set_clock(view, now_ns);
    self->state = PEN_VIRTUAL_RUNNING;
}

static void give_turn(pen_virtual *view, uint32_t rank)
{
    pen_virtual_rank *next = &view->ranks[rank];
    count(view, &view->world->hand_overs);
    atomic_store_explicit(&view->world->turn, rank, memory_order_relaxed); /* for readers only */
    atomic_store_explicit(&next->turn, 1, memory_order_release);
    pen_futex_wake(&next->turn, 1);
}

/* Gives the turn away and returns when it has come back. */
static void switch_to(pen_virtual *view, uint32_t rank)
{
    if (rank != view->rank)
        give_turn(view, rank);
    else /* relaxed: no other process is concerned */
        atomic_store_explicit(&self_of(view)->turn, 1, memory_order_relaxed);
    await_turn(view);
}

static uint64_t first_rank_ns(const pen_virtual *view)
{
    return view->world->heap_count > 0 ? view->ranks[view->heap[0]].key_ns : PEN_VIRTUAL_NEVER;
}

static void go_on(pen_virtual *view)
{
    view->world->idle_looks = 0;
    pen_virtual_net_go_on(&view->net);
}

/* ---- when everybody waits -------------------------------------------------------------------- */

/* The program's ranks all wait, and nothing is under way: for the launcher, or forever. They look
 * around in a circle, with longer and longer pauses of real time. */
static uint32_t next_idle(pen_virtual *view)
{
    pen_virtual_world *world = view->world;
    uint32_t rounds = ++world->idle_looks / (world->alive + 1);
    if (rounds > 0 && world->idle_looks % (world->alive + 1) == 0) {
        _Atomic uint32_t nothing = 0;
        uint32_t naps = rounds < IDLE_NAPS_MAX ? rounds : IDLE_NAPS_MAX;
        pen_futex_wait(&nothing, 0, (uint64_t)naps * IDLE_NAP_NS);
    }
    uint32_t rank = view->rank;
    do {
        rank = (rank + 1) % world->ranks;
    } while (view->ranks[rank].state != PEN_VIRTUAL_WAITING);
    return rank;
}

/* Carries out events until a rank has to run. Returns the rank, which is out of the heap. */
static uint32_t next_rank(pen_virtual *view)
{
    for (;;) {
        uint64_t event_ns = pen_virtual_events_next_ns(view->net.events);
        if (event_ns != PEN_VIRTUAL_NEVER && event_ns <= first_rank_ns(view))
            go_on(view);
        else if (view->world->heap_count > 0)
            return pen_virtual_heap_take(view);
        else
            return next_idle(view);
    }
}

/* ---- a rank's side --------------------------------------------------------------------------- */

/* Called by the network, while any process has the turn. */
static void end_wait(void *ctx, uint32_t rank)
{
    pen_virtual *view = ctx;
    pen_virtual_rank *waiter = &view->ranks[rank];
    uint64_t now_ns = view->net.events->now_ns;
    if (waiter->state != PEN_VIRTUAL_WAITING)
        return;
    if (waiter->place == 0)
        pen_virtual_heap_add(view, rank, now_ns);
    else
        pen_virtual_heap_earlier(view, rank, now_ns);
}

void pen_virtual_begin(pen_virtual *view)
{
    view->net.notify = end_wait;
    view->net.ctx = view;
    self_of(view)->has_begun = true;
    await_turn(view);
}

bool pen_virtual_runs(const pen_virtual *view)
{
    const pen_virtual_rank *self = self_of(view);
    return self->has_begun && self->state != PEN_VIRTUAL_ENDED;
}

uint64_t pen_virtual_now_ns(const pen_virtual *view) { return clock_of(view); }

void pen_virtual_charge(pen_virtual *view, uint64_t ns) { set_clock(view, clock_of(view) + ns); }

/* Lets events and ranks that are before this rank's clock go first. */
static void let_others_go(pen_virtual *view)
{
    pen_virtual_rank *self = self_of(view);
    for (;;) {
        uint64_t event_ns = pen_virtual_events_next_ns(view->net.events);
        uint64_t rank_ns = first_rank_ns(view), clock_ns = clock_of(view);
        if (event_ns <= clock_ns && event_ns <= rank_ns) {
            go_on(view);
            continue;
        }
        bool is_later = rank_ns < clock_ns || (rank_ns == clock_ns && view->heap[0] < view->rank);
        if (!is_later)
            return;
        uint32_t next = pen_virtual_heap_take(view);
        self->state = PEN_VIRTUAL_READY;
        pen_virtual_heap_add(view, view->rank, clock_ns);
        switch_to(view, next);
    }
}

uint32_t pen_virtual_observe(pen_virtual *view)
{
    count(view, &view->world->looks);
    let_others_go(view);
    uint32_t taken = view->take != NULL ? view->take(view->take_ctx) : 0;
    if (taken == 0)
        pen_virtual_charge(view, pen_virtual_net_machine(&view->net)->poll_empty);
    return taken;
}

void pen_virtual_wait(pen_virtual *view, uint64_t until_ns)
{
    pen_virtual_rank *self = self_of(view);
    view->fruitless = 0;
    if (pen_virtual_net_first(&view->net, view->rank) != 0)
        return; /* the caller has not taken it yet */
    self->state = PEN_VIRTUAL_WAITING;
    self->key_ns = PEN_VIRTUAL_NEVER;
    if (until_ns != PEN_VIRTUAL_NEVER)
        pen_virtual_heap_add(view, view->rank,
                             until_ns > clock_of(view) ? until_ns : clock_of(view));
    switch_to(view, next_rank(view));
}

void pen_virtual_await_room(pen_virtual *view)
{
    const uint64_t look_ns = pen_virtual_net_machine(&view->net)->poll_empty;
    view->is_full = false;
    pen_virtual_wait(view, clock_of(view) + (look_ns << DOUBLINGS_FIRST));
}

bool pen_virtual_all_wait(const pen_virtual *view) { return view->world->idle_looks != 0; }

void pen_virtual_look_was_empty(pen_virtual *view)
{
    const uint64_t look_ns = pen_virtual_net_machine(&view->net)->poll_empty;
    uint32_t fruitless = view->fruitless + 1;
    if (fruitless > LOOKS_MAX) {
        uint32_t doublings = DOUBLINGS_FIRST + fruitless - LOOKS_MAX - 1;
        doublings = doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX;
        pen_virtual_wait(view, clock_of(view) + (look_ns << doublings));
    }
    view->fruitless = fruitless;
}

void pen_virtual_wake(pen_virtual *view)
{
    uint64_t clock_ns = clock_of(view);
    view->world->idle_looks = 0;
    for (uint32_t rank = 0; rank < view->world->ranks; rank++) {
        pen_virtual_rank *waiter = &view->ranks[rank];
        if (waiter->state != PEN_VIRTUAL_WAITING)
            continue;
        if (waiter->place == 0)
            pen_virtual_heap_add(view, rank, clock_ns);
        else
            pen_virtual_heap_earlier(view, rank, clock_ns);
    }
}

void pen_virtual_sleep(pen_virtual *view, uint64_t ns)
{
    pen_virtual_charge(view, ns);
    let_others_go(view);
}

void pen_virtual_note_end(pen_virtual *view, bool for_all)
{
    pen_virtual_world *world = view->world;
    /* relaxed: for readers only */
    uint64_t end_ns = atomic_load_explicit(&world->end_ns, memory_order_relaxed);
    if (self_of(view)->state != PEN_VIRTUAL_RUNNING || world->is_over)
        return;
    if (clock_of(view) > end_ns)
        atomic_store_explicit(&world->end_ns, clock_of(view), memory_order_relaxed);
    world->leaving++;
    if (for_all || world->leaving == world->ranks) {
        world->is_over = true;
        pen_virtual_net_freeze(&view->net);
    }
}

void pen_virtual_end(pen_virtual *view)
{
    pen_virtual_world *world = view->world;
    if (self_of(view)->state != PEN_VIRTUAL_RUNNING)
        return;
    self_of(view)->state = PEN_VIRTUAL_ENDED;
    atomic_fetch_add_explicit(&world->left, 1, memory_order_relaxed); /* for readers only */
    if (--world->alive > 0)
        give_turn(view, next_rank(view));
}
