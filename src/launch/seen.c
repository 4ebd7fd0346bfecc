/* SPDX-License-Identifier: BSD-3-Clause */
/* seen.c: looks at a rank from outside. */
#include "launch/seen.h"

#include "base/status.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "diag/counters.h"
#include "os/os.h"
#include "os/proc.h"

#include <stddef.h>

/* relaxed, here and below: each number is read by itself, for people */
static uint64_t counter(const pen_host_shown *shown, size_t offset)
{
    return atomic_load_explicit(&shown->counters[offset / sizeof(uint64_t)], memory_order_relaxed);
}

/* Reads the rank's own note whether it is inside a poll. The kernel may refuse. */
static bool is_inside(const pen_host_shown *shown, pid_t pid)
{
    uintptr_t at = (uintptr_t)atomic_load_explicit(&shown->inside_at, memory_order_relaxed);
    unsigned char inside = 0;
    return at != 0 && pen_cma_read(pid, &inside, (const void *)at, 1) == PEN_OK && inside != 0;
}

void pen_seen_read(const pen_host_rank *row, pid_t pid, pen_seen *out)
{
    const pen_host_shown *shown = &row->shown;
    const uint64_t now_ns = pen_now_ns();
    const uint64_t seen_ns = atomic_load_explicit(&shown->seen_ns, memory_order_relaxed);
    pen_process_use use;
    *out = (pen_seen){ .known = true, .alive = true, .joined = true, .pid = (int32_t)pid };
    out->process = pen_process_state(pid);
    (void)pen_process_use_read(pid, &use);
    out->swapped = use.swapped;
    out->resident = use.resident;
    out->quiet_ns = seen_ns == 0 ? PEN_SEEN_NEVER : now_ns > seen_ns ? now_ns - seen_ns : 0;
    out->sent = counter(shown, offsetof(pen_counters, am_sent_shm)) +
                counter(shown, offsetof(pen_counters, am_sent_net));
    out->handled = counter(shown, offsetof(pen_counters, am_handled));
    out->resent = counter(shown, offsetof(pen_counters, frame_resent));
    for (uint32_t kind = 0; kind < PEN_ENTERED_KINDS; kind++)
        out->entered[kind] = atomic_load_explicit(&row->wait.entered[kind], memory_order_relaxed);
    out->waits = pen_wait_read(&row->wait, now_ns, &out->wait);
    if (out->waits && now_ns > out->wait.since_ns)
        out->waited_ns = now_ns - out->wait.since_ns;
    out->inside = !out->waits && is_inside(shown, pid);
}
