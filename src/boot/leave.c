/* SPDX-License-Identifier: BSD-3-Clause */
/* leave.c: a rank's side of the end: what it tells the supervisor, and what it is told. */
#include "boot/boot.h"

#include "boot/control.h"

#include <poll.h>

enum {
    IDLE_MS_MIN =
        1, /* between two looks at the peers' messages while we wait for the others to leave */
    IDLE_MS_MAX = 32,
    IDLE_ROUNDS_EACH = 8, /* looks before the pause doubles */
    CODE_LAUNCHER_GONE = 1,
};

static void phase_set(pen_boot *boot, pen_host_phase phase)
{
    if (boot->page != NULL) /* relaxed: a picture for people */
        atomic_store_explicit(&boot->page->ranks[boot->rank].phase, phase, memory_order_relaxed);
}

void pen_boot_exit_job(pen_boot *boot, int code)
{
    phase_set(boot, PEN_HOST_EXITING);
    if (boot->control_fd >= 0)
        (void)pen_control_send(boot->control_fd, PEN_CONTROL_EXIT, code, NULL, true);
}

void pen_boot_abort_note(pen_boot *boot, const char *cause)
{
    if (boot->control_fd >= 0)
        (void)pen_control_send(boot->control_fd, PEN_CONTROL_NOTE, 0, cause, true);
}

/* Reads what there is. Two threads may read at once, and the one that gets a message need not be
 * the one that waits for it, so it is noted for all. */
static pen_boot_heard listen(pen_boot *boot)
{
    pen_control message;
    pen_control_result result = pen_control_receive(boot->control_fd, &message);
    pen_boot_heard news = PEN_BOOT_HEARD_NOTHING;
    int code = CODE_LAUNCHER_GONE;
    if (result == PEN_CONTROL_GONE) {
        news = PEN_BOOT_HEARD_GONE;
    } else if (result == PEN_CONTROL_SOME && message.kind == PEN_CONTROL_GO) {
        news = PEN_BOOT_HEARD_GO;
    } else if (result == PEN_CONTROL_SOME && message.kind == PEN_CONTROL_END) {
        news = PEN_BOOT_HEARD_END;
        code = message.code;
    }
    if (news > PEN_BOOT_HEARD_GO)
        atomic_store_explicit(&boot->end_code, code, memory_order_relaxed);
    if (news != PEN_BOOT_HEARD_NOTHING) /* release: pairs with the acquire below, for end_code */
        atomic_store_explicit(&boot->heard, (uint32_t)news, memory_order_release);
    return (pen_boot_heard)atomic_load_explicit(&boot->heard, memory_order_acquire);
}

void pen_boot_leave(pen_boot *boot, int code, void (*idle)(void *ctx), void *ctx)
{
    phase_set(boot, PEN_HOST_EXITING);
    if (boot->control_fd < 0)
        return;
    if (pen_control_send(boot->control_fd, PEN_CONTROL_LEAVE, code, NULL, true) != 0 || code != 0)
        return;
    int pause_ms = IDLE_MS_MIN;
    for (unsigned round = 1; listen(boot) == PEN_BOOT_HEARD_NOTHING; round++) {
        if (idle != NULL)
            idle(ctx);
        struct pollfd told = { .fd = boot->control_fd, .events = POLLIN };
        (void)poll(&told, 1, pause_ms);
        if (round % IDLE_ROUNDS_EACH == 0 && pause_ms < IDLE_MS_MAX)
            pause_ms *= 2;
    }
}

bool pen_boot_check(pen_boot *boot, int *code_out)
{
    if (boot->control_fd < 0 || listen(boot) <= PEN_BOOT_HEARD_GO)
        return false;
    *code_out = atomic_load_explicit(&boot->end_code, memory_order_relaxed);
    return true;
}
