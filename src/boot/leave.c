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

/* True: the wait is over. */
static bool leave_heard(int control_fd)
{
    pen_control message;
    switch (pen_control_receive(control_fd, &message)) {
    case PEN_CONTROL_SOME:
        return message.kind == PEN_CONTROL_GO || message.kind == PEN_CONTROL_END;
    case PEN_CONTROL_GONE:
        return true;
    case PEN_CONTROL_NONE:
    case PEN_CONTROL_BAD:
        break;
    }
    return false;
}

void pen_boot_leave(pen_boot *boot, int code, void (*idle)(void *ctx), void *ctx)
{
    phase_set(boot, PEN_HOST_EXITING);
    if (boot->control_fd < 0)
        return;
    if (!pen_control_send(boot->control_fd, PEN_CONTROL_LEAVE, code, NULL, true) || code != 0)
        return;
    int pause_ms = IDLE_MS_MIN;
    for (unsigned round = 1; !leave_heard(boot->control_fd); round++) {
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
    pen_control message;
    if (boot->control_fd < 0)
        return false;
    switch (pen_control_receive(boot->control_fd, &message)) {
    case PEN_CONTROL_SOME:
        *code_out = message.code;
        return message.kind == PEN_CONTROL_END;
    case PEN_CONTROL_GONE:
        *code_out = CODE_LAUNCHER_GONE;
        return true;
    case PEN_CONTROL_NONE:
    case PEN_CONTROL_BAD:
        break;
    }
    return false;
}
