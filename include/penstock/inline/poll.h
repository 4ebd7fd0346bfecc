/* SPDX-License-Identifier: BSD-3-Clause */
/* Body of <penstock/poll.h>. Skips a poll that would find nothing. Every pen_poll.patience calls it
 * polls nevertheless, because the library counts how long a thread has polled without success. */
#ifndef PENSTOCK_INLINE_POLL_H
#define PENSTOCK_INLINE_POLL_H

#include <penstock/poll.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(GASNET_PAR)
/* While another thread polls, words and sum may not belong together. Then this call skips its poll,
 * as if the second thread had held it up, or polls and finds nothing. relaxed: no other data
 * depends on it. */
static __inline__ uint32_t pen_poll_word(unsigned i)
{
    return __atomic_load_n(__atomic_load_n(&pen_poll.words[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static __inline__ int pen_poll_is_idle(void)
{
    uint32_t sum = pen_poll_word(0) + pen_poll_word(1) + pen_poll_word(2) + pen_poll_word(3) +
                   pen_poll_word(4);
    int32_t patience = __atomic_load_n(&pen_poll.patience, __ATOMIC_RELAXED) - 1;
    if ((uint16_t)sum != __atomic_load_n(&pen_poll.sum, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(&pen_poll.patience, patience, __ATOMIC_RELAXED); /* threads may lose some */
    return patience >= 0;
}
#else
static __inline__ int pen_poll_is_idle(void)
{
    pen_poll_view *view = &pen_poll;
    /* Peers and other threads write the words, so each call reads them again; the order does not
     * matter. */
    __asm__ __volatile__("" ::: "memory");
    uint32_t sum =
        *view->words[0] + *view->words[1] + *view->words[2] + *view->words[3] + *view->words[4];
    return (uint16_t)sum == view->sum && --view->patience >= 0;
}
#endif

GEX_INLINE int gasnet_AMPoll(void)
{
    if (PEN_LIKELY(pen_poll_is_idle())) {
        pen_acquire();
        return GASNET_OK;
    }
    return pen_api_poll();
}

#ifdef __cplusplus
}
#endif
#endif
