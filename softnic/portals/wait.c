/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c: waiting for an event, and the helper thread. A waiting thread makes progress itself. It
 * first polls, then sleeps on its row's bell, which peers ring after a packet and threads of this
 * process ring after a change. */
#include "base/compiler.h"
#include "os/os.h"
#include "softnic/portals/inner.h"

#include <limits.h>
#include <sched.h>

enum {
    POLLS = 200,             /* rounds before a thread sleeps */
    SLEEP_NS = 5000000,      /* then peers are looked at */
    SLEEP_BUSY_NS = 50000,   /* if a ring is full or a packet is due later */
    HELPER_REST_NS = 500000, /* while calls make progress */
};

void p4_ring_bell(p4_row *row)
{
    /* seq_cst: ordered behind the change or the ready bit. A thread that is about to sleep adds
     * itself first and looks then, so one of the two sees the other. */
    if (atomic_load_explicit(&row->sleepers, memory_order_seq_cst) == 0)
        return;
    atomic_fetch_add_explicit(&row->bell, 1, memory_order_release);
    pen_futex_wake(&row->bell, INT_MAX);
}

/* A thread's way to sleep. `is_armed`: it has announced that, and must look once more. */
typedef struct sleeper {
    unsigned rounds;
    bool is_armed;
    uint32_t bell;
} sleeper;

static void disarm(pen_portals *card, sleeper *s)
{
    if (s->is_armed)
        atomic_fetch_sub_explicit(&card->row->sleepers, 1, memory_order_relaxed);
    s->is_armed = false;
}

/* Tells waiting threads of changes that this thread made. */
static void tell(pen_portals *card)
{
    if (card->is_changed && card->row != NULL)
        p4_ring_bell(card->row);
    card->is_changed = false;
}

/* Gives the lock away for a while. Returns with it. */
static void rest(pen_portals *card, sleeper *s, uint64_t end_ns)
{
    if (s->rounds++ >= POLLS && !s->is_armed) {
        atomic_fetch_add_explicit(&card->row->sleepers, 1, memory_order_seq_cst);
        s->bell = atomic_load_explicit(&card->row->bell, memory_order_acquire);
        s->is_armed = true;
        return;
    }
    bool is_busy = card->due_ns != 0 || !p4_list_is_empty(&card->busy);
    (void)pthread_mutex_unlock(&card->lock);
    if (s->is_armed) {
        uint64_t now = pen_now_ns(), ns = is_busy ? SLEEP_BUSY_NS : SLEEP_NS;
        if (now < end_ns)
            pen_futex_wait(&card->row->bell, s->bell, ns < end_ns - now ? ns : end_ns - now);
    } else if (s->rounds % 8 == 0) {
        (void)sched_yield();
    } else {
        pen_cpu_relax();
    }
    (void)pthread_mutex_lock(&card->lock);
    disarm(card, s);
}

int p4_wait(pen_portals *card, ptl_time_t timeout, bool may_abort, p4_test *test, void *ctx,
            int late)
{
    sleeper s = { 0 };
    int result = PTL_ABORTED;
    uint64_t end_ns = UINT64_MAX;
    if (timeout != PTL_TIME_FOREVER && timeout != 0)
        end_ns = pen_now_ns() + (uint64_t)timeout * 1000000;
    while (!may_abort || !card->is_aborted) {
        if (test(card, ctx, &result))
            break;
        if (p4_progress(card)) {
            s.rounds = 0;
            if (test(card, ctx, &result))
                break;
        }
        if (timeout == 0 || (end_ns != UINT64_MAX && pen_now_ns() >= end_ns)) {
            result = late;
            break;
        }
        tell(card);
        rest(card, &s, end_ns);
    }
    disarm(card, &s);
    return result;
}

static void *help(void *ctx)
{
    pen_portals *card = ctx;
    sleeper s = { 0 };
    uint64_t calls = 0;
    (void)pthread_mutex_lock(&card->lock);
    while (!atomic_load_explicit(&card->is_ending, memory_order_relaxed)) {
        /* While calls make progress, the helper keeps out of their way and is not woken. */
        bool is_rest = card->calls != calls;
        if (p4_progress(card))
            s.rounds = 0;
        calls = card->calls;
        tell(card);
        if (!is_rest) {
            rest(card, &s, UINT64_MAX);
            continue;
        }
        disarm(card, &s);
        (void)pthread_mutex_unlock(&card->lock);
        struct timespec pause = { .tv_nsec = HELPER_REST_NS };
        (void)nanosleep(&pause, NULL);
        (void)pthread_mutex_lock(&card->lock);
    }
    disarm(card, &s);
    (void)pthread_mutex_unlock(&card->lock);
    return NULL;
}

bool p4_helper_start(pen_portals *card)
{
    if (!card->config.helper || card->is_helped)
        return true;
    card->is_helped = pthread_create(&card->helper, NULL, help, card) == 0;
    return card->is_helped;
}

void p4_helper_stop(pen_portals *card)
{
    if (!card->is_helped)
        return;
    atomic_store_explicit(&card->is_ending, true, memory_order_relaxed);
    p4_ring_bell(card->row);
    (void)pthread_join(card->helper, NULL);
    card->is_helped = false;
}
