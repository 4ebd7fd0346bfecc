/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.c: what all ranks do together. Each thread has a team of its own for it, and makes the same
 * calls as the threads of its number on the other ranks. */
#include "shadow.h"

enum { BARRIERS_AT_ONCE = 8 };

/* Several barriers in flight: none is over before all ranks have begun it. */
void coll_barrier(worker *w, unsigned most)
{
    random_state random = random_together(w);
    gex_Event_t events[BARRIERS_AT_ONCE];
    while (most > 0) {
        unsigned count = 1 + random_below(&random, BARRIERS_AT_ONCE);
        if (count > most)
            count = most;
        for (unsigned i = 0; i < count; i++) {
            op_begin(w, (shadow.rank + 1) % shadow.size, 1);
            events[i] = gex_Coll_BarrierNB(w->team, 0);
        }
        gex_Event_WaitAll(events, count, 0);
        op_checked(w, count);
        most -= count;
    }
}
