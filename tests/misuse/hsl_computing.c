/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_computing.c: a lock is held for two seconds while another thread waits for it. That is legal;
 * to poll meanwhile is not.
 *
 * EXPECT: gasnet_AMPoll: called while holding a handler-safe lock
 *
 * PEN_RANKS: 1
 * PEN_MODE: par */
#include "misuse/misuse.h"

static volatile int held;

static void *waits(void *argument)
{
    (void)argument;
    while (!held)
        usleep(1000);
    gex_HSL_Lock(&lock);
    gex_HSL_Unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t other;
    begin();
    if (pthread_create(&other, NULL, waits, NULL) != 0)
        exit(72);
    gex_HSL_Lock(&lock);
    held = 1;
    const gasnett_tick_t start = gasnett_ticks_now();
    while (gasnett_ticks_to_ns(gasnett_ticks_now() - start) < 2000000000u) {
    }
    BUG(gasnet_AMPoll();)
    gex_HSL_Unlock(&lock);
    (void)pthread_join(other, NULL);
    return finish();
}
