/* SPDX-License-Identifier: BSD-3-Clause */
/* leave.c: a rank's side of the end of a job: its messages to the supervisor, and the supervisor's
 * answers. */
#include "boot/boot.h"

#include "base/status.h"
#include "boot/control.h"
#include "boot/departed.h"
#include "boot/remedy.h"
#include "diag/log.h"
#include "os/os.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LOOK_MS = 200, /* look at least this often, since another thread may have read the message */
    CODE_LAUNCHER_GONE = 1,
    END_LOOKS_MAX = 5,        /* looks for the end of a job whose barrier has failed */
    PASSED_ON_LOOKS_MAX = 20, /* looks while a supervisor in this process tells all other ranks */
};

static void phase_set(pen_boot *boot, pen_host_phase phase)
{
    if (boot->page != NULL) /* relaxed: shown to people only */
        atomic_store_explicit(&pen_host_row(boot->page, boot->rank)->phase, phase,
                              memory_order_relaxed);
}

/* Reads all messages that have arrived. Two threads may read at once, and a message may reach the
 * thread that does not wait for it, so the result is stored for all threads. */
static pen_boot_heard listen(pen_boot *boot)
{
    pen_control message;
    pen_control_result result = pen_control_receive(boot->control_fd, &message);
    pen_boot_heard news = PEN_BOOT_HEARD_NOTHING;
    int code = CODE_LAUNCHER_GONE;
    if (result == PEN_CONTROL_GONE) {
        news = PEN_BOOT_HEARD_GONE;
    } else if (result == PEN_CONTROL_SOME && message.kind == PEN_CONTROL_NOTED) {
        news = PEN_BOOT_HEARD_NOTED;
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

static void await_word(const pen_boot *boot)
{
    struct pollfd told = { .fd = boot->control_fd, .events = POLLIN };
    (void)poll(&told, 1, LOOK_MS);
}

/* If the supervisor is a thread of this process, waits until it has told all other ranks, since it
 * ends with this process. */
static void await_passed_on(pen_boot *boot)
{
    for (int i = 0; boot->in_process && i < PASSED_ON_LOOKS_MAX; i++) {
        if (listen(boot) != PEN_BOOT_HEARD_NOTHING)
            return;
        await_word(boot);
    }
}

void pen_boot_exit_job(pen_boot *boot, int code)
{
    phase_set(boot, PEN_HOST_EXITING);
    if (boot->control_fd >= 0 &&
        pen_control_send(boot->control_fd, PEN_CONTROL_EXIT, code, NULL, true) == 0)
        await_passed_on(boot);
}

void pen_boot_blocked(pen_boot *boot, uint32_t by, pen_call call)
{
    if (boot->control_fd >= 0)
        (void)pen_control_send(boot->control_fd, PEN_CONTROL_BLOCKED, (int)by, pen_call_text(call),
                               false);
}

void pen_boot_abort_note(pen_boot *boot, const char *cause)
{
    if (boot->control_fd >= 0)
        (void)pen_control_send(boot->control_fd, PEN_CONTROL_NOTE, 0, cause, true);
}

void pen_boot_leave(pen_boot *boot, int code, bool (*idle)(void *ctx), void *ctx)
{
    phase_set(boot, PEN_HOST_EXITING);
    if (boot->control_fd < 0)
        return;
    pen_departed *record = pen_departed_row(boot->page, boot->rank);
    if (record != NULL)
        record->meets = boot->meets;
    if (pen_control_send(boot->control_fd, PEN_CONTROL_LEAVE, code, NULL, true) != 0)
        return;
    if (code == 0)
        pen_departed_show(boot->page, boot->rank);
    if (code != 0) {
        await_passed_on(boot);
        return;
    }
    pen_boot_show_wait(boot, PEN_CALL_LEAVE, pen_now_ns());
    while (listen(boot) == PEN_BOOT_HEARD_NOTHING) {
        if (idle == NULL || !idle(ctx))
            await_word(boot);
    }
}

bool pen_boot_check(pen_boot *boot, int *code_out)
{
    if (boot->control_fd < 0 || listen(boot) <= PEN_BOOT_HEARD_GO)
        return false;
    *code_out = atomic_load_explicit(&boot->end_code, memory_order_relaxed);
    return true;
}

bool pen_boot_await_end(pen_boot *boot, int *code_out)
{
    for (unsigned look = 0; look < END_LOOKS_MAX && boot->control_fd >= 0; look++) {
        if (pen_boot_check(boot, code_out))
            return true;
        await_word(boot);
    }
    return false;
}

/* ---- leaving a job that may be joined again -------------------------------------------------- */

/* Clears this rank's row as if the rank had never joined. */
static void row_clear(pen_host_rank *row)
{
    /* relaxed: the barrier that follows publishes them */
    atomic_store_explicit(&row->sleeping, 0, memory_order_relaxed);
    atomic_store_explicit(&row->phase, PEN_HOST_STARTING, memory_order_relaxed);
    atomic_store_explicit(&row->progress, 0, memory_order_relaxed);
    pen_wait_publish(&row->wait, NULL, 0);
    for (uint32_t kind = 0; kind < PEN_ENTERED_KINDS; kind++)
        atomic_store_explicit(&row->wait.entered[kind], 0, memory_order_relaxed);
    atomic_store_explicit(&row->meetings, 0, memory_order_relaxed);
    atomic_store_explicit(&row->wake, 0, memory_order_relaxed);
    atomic_store_explicit(&row->boot_sense, 0, memory_order_relaxed);
    atomic_store_explicit(&row->pid, 0, memory_order_relaxed);
}

/* Called by the host's first rank only: gives the barrier lines, the conduit's slice and the
 * segments back to the kernel, so that they read as zero again. */
static pen_status arena_clear(const pen_boot *boot)
{
    atomic_store_explicit(&boot->page->polling_total, 0, memory_order_relaxed);
    if (madvise(boot->arena + boot->page->lines_off, boot->arena_len - boot->page->lines_off,
                MADV_REMOVE) == 0)
        return PEN_OK;
    pen_log_error(boot->log, "cannot leave the job: madvise: %m; %s", pen_boot_remedy(errno));
    return PEN_ERR_SYSTEM;
}

static void unmap(pen_boot *boot)
{
    pen_boot kept = { .rank = boot->rank,
                      .size = boot->size,
                      .control_fd = boot->control_fd,
                      .arena_fd = boot->arena_fd,
                      .in_process = boot->in_process,
                      .from_arguments = boot->from_arguments,
                      .launcher = boot->launcher };
    boot->control_fd = boot->arena_fd = -1;
    pen_boot_close(boot);
    *boot = kept;
}

/* Waits until the supervisor has confirmed that this rank resigned. Every rank does so before any
 * rank continues, so the supervisor lags by at most one resignation per rank. */
static pen_status await_noted(pen_boot *boot)
{
    pen_boot_heard heard;
    while ((heard = listen(boot)) == PEN_BOOT_HEARD_NOTHING)
        await_word(boot);
    return heard == PEN_BOOT_HEARD_NOTED ? PEN_OK : PEN_ERR_PEER_LOST;
}

pen_status pen_boot_resign(pen_boot *boot)
{
    if (boot->control_fd < 0) {
        pen_boot_close(boot);
        return PEN_OK;
    }
    pen_status status = pen_boot_barrier(boot); /* after this no rank uses the arena */
    if (status == PEN_OK && boot->rank == boot->page->first)
        status = arena_clear(boot);
    if (status != PEN_OK)
        return status;
    row_clear(&boot->page->ranks[boot->rank - boot->page->first]);
    int error = pen_control_send(boot->control_fd, PEN_CONTROL_RESIGNED, 0, NULL, true);
    if (error != 0) {
        pen_log_error(boot->log, "cannot leave the job: send: %s; is its launcher still there?",
                      strerror(error));
        return PEN_ERR_SYSTEM;
    }
    status = await_noted(boot);
    if (status == PEN_OK)
        status = pen_boot_barrier(boot); /* now the arena is clear and all have resigned */
    if (status == PEN_OK)
        unmap(boot);
    return status;
}
