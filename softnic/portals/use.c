/* SPDX-License-Identifier: BSD-3-Clause */
/* use.c: the card of a call, PtlInit, PtlFini and PtlAbort. The interface's calls name no card,
 * because a process has one device. These are the only variables of the library. */
#include "base/compiler.h"
#include "softnic/portals/bootstrap.h"
#include "softnic/portals/inner.h"

static _Thread_local pen_portals *the_thread_card;
static _Atomic(pen_portals *) the_card;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER; /* guards the_card's changes */

void pen_portals_use(pen_portals *card) { the_thread_card = card; }

pen_portals *p4_card_used(void)
{
    if (the_thread_card != NULL)
        return the_thread_card;
    /* acquire: the card was made ready before */
    return atomic_load_explicit(&the_card, memory_order_acquire);
}

pen_portals *p4_enter(void)
{
    pen_portals *card = p4_card_used();
    if (card == NULL)
        return NULL;
    (void)pthread_mutex_lock(&card->lock);
    if (card->init_count > 0)
        return card;
    (void)pthread_mutex_unlock(&card->lock);
    return NULL;
}

void p4_leave(pen_portals *card)
{
    p4_start_fired(card);
    if (card->is_changed) {
        card->is_changed = false;
        if (card->row != NULL)
            p4_ring_bell(card->row);
    }
    (void)pthread_mutex_unlock(&card->lock);
}

int PtlInit(void)
{
    (void)pthread_mutex_lock(&starting);
    pen_portals *card = p4_card_used();
    if (card == NULL) {
        card = p4_bootstrap();
        /* release: the card is ready */
        atomic_store_explicit(&the_card, card, memory_order_release);
    }
    if (card != NULL) {
        (void)pthread_mutex_lock(&card->lock);
        card->init_count++;
        card->is_aborted = false;
        (void)pthread_mutex_unlock(&card->lock);
    }
    (void)pthread_mutex_unlock(&starting);
    return card != NULL ? PTL_OK : PTL_FAIL;
}

void PtlFini(void)
{
    (void)pthread_mutex_lock(&starting);
    pen_portals *card = p4_enter();
    bool is_last = false;
    if (card != NULL) {
        is_last = card->init_count == 1;
        for (int kind = 0; is_last && kind < 4; kind++) {
            if (card->nis[kind] != NULL)
                p4_ni_close(card->nis[kind]);
        }
        card->init_count--;
        p4_leave(card);
    }
    if (is_last && card == atomic_load_explicit(&the_card, memory_order_relaxed)) {
        atomic_store_explicit(&the_card, NULL, memory_order_relaxed);
        p4_bootstrap_end(card);
    }
    (void)pthread_mutex_unlock(&starting);
}

void PtlAbort(void)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return;
    card->is_aborted = true;
    card->is_changed = true;
    p4_leave(card);
}

int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2)
{
    return handle1 == handle2;
}

int PtlAtomicSync(void)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    pen_fence();
    p4_leave(card);
    return PTL_OK;
}
