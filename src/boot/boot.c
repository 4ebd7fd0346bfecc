/* SPDX-License-Identifier: BSD-3-Clause */
/* boot.c: finds the job of this process. In this order: variables of a Penstock launcher, PMIx or
 * another foreign launcher, GASNET_PSHM_NODES, a job of one. Also has the start-up barrier and the
 * exchange of blobs, which use the host page only. */
#include "boot/boot.h"

#include "base/status.h"
#include "boot/arena.h"
#include "boot/control.h"
#include "boot/departed.h"
#include "boot/knobs.h"
#include "boot/remedy.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define BARRIER_LOOK_NS \
    UINT64_C(200000000) /* how often a sleeping rank checks that its launcher is there */

/* ---- under `penstock run` -------------------------------------------------------------------- */

typedef struct inherited {
    int control_fd, arena_fd, world_fd;
    uint32_t rank, size;
} inherited;

/* Returns 0 if the descriptor is the control socket of a Penstock launcher, else an errno. */
static int control_error(int fd)
{
    int type = 0;
    socklen_t len = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0)
        return errno;
    return type == SOCK_SEQPACKET ? 0 : ENOTSOCK;
}

static pen_status inherited_read(pen_log *log, inherited *out)
{
    long control_fd, arena_fd, rank, size;
    if (!pen_boot_number("PENSTOCK_CONTROL_FD", INT_MAX, &control_fd) ||
        !pen_boot_number("PENSTOCK_ARENA_FD", INT_MAX, &arena_fd) ||
        !pen_boot_number("PENSTOCK_RANK", PEN_BOOT_RANKS_MAX, &rank) ||
        !pen_boot_number("PENSTOCK_SIZE", PEN_BOOT_RANKS_MAX, &size)) {
        pen_log_error(log,
                      "cannot join the job: PENSTOCK_CONTROL_FD, _ARENA_FD, _RANK and _SIZE are "
                      "not as `penstock run` sets them; do not set them by hand");
        return PEN_ERR_PROTOCOL;
    }
    int error = control_error((int)control_fd);
    if (error != 0) {
        pen_log_error(
            log,
            "cannot join the job: descriptor %ld, which PENSTOCK_CONTROL_FD names, is not its "
            "control socket: getsockopt: %s; a wrapper between launcher and program must leave "
            "descriptors open",
            control_fd, strerror(error));
        return PEN_ERR_PROTOCOL;
    }
    long world_fd = -1; /* stays if there is no such variable */
    (void)pen_boot_number("PENSTOCK_WORLD_FD", INT_MAX, &world_fd);
    *out = (inherited){ (int)control_fd, (int)arena_fd, (int)world_fd, (uint32_t)rank,
                        (uint32_t)size };
    return PEN_OK;
}

/* Hides the job from programs that this process starts: removes the variables and makes the
 * descriptors close at exec. */
static pen_status inherited_hide(pen_log *log, const inherited *from)
{
    static const char *const names[] = { "PENSTOCK_CONTROL_FD", "PENSTOCK_ARENA_FD",
                                         "PENSTOCK_WORLD_FD", "PENSTOCK_RANK", "PENSTOCK_SIZE" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unsetenv(names[i]);
    if (fcntl(from->control_fd, F_SETFD, FD_CLOEXEC) == 0 &&
        fcntl(from->arena_fd, F_SETFD, FD_CLOEXEC) == 0 &&
        (from->world_fd < 0 || fcntl(from->world_fd, F_SETFD, FD_CLOEXEC) == 0))
        return PEN_OK;
    pen_log_error(log, "cannot join the job: fcntl: %m; %s", pen_boot_remedy(errno));
    return PEN_ERR_SYSTEM;
}

/* Makes this process the rank: claims the row in the host page and joins with the supervisor. From
 * then on the rank owes an exit handshake. */
static pen_status enlist(pen_log *log, pen_boot *boot)
{
    uint32_t nobody = 0;
    /* relaxed: the number publishes no other data */
    if (!atomic_compare_exchange_strong_explicit(&pen_host_row(boot->page, boot->rank)->pid,
                                                 &nobody, (uint32_t)getpid(), memory_order_relaxed,
                                                 memory_order_relaxed)) {
        pen_log_error(log,
                      "cannot join the job as rank %u: process %u has done so already; start one "
                      "program per rank",
                      boot->rank, nobody);
        return PEN_ERR_PROTOCOL;
    }
    int error = boot->control_fd < 0
                    ? 0
                    : pen_control_send(boot->control_fd, PEN_CONTROL_JOINED, 0, NULL, true);
    if (error != 0) {
        pen_log_error(log, "cannot join the job: send: %s; is its launcher still there?",
                      strerror(error));
        return PEN_ERR_SYSTEM;
    }
    atomic_store_explicit(&pen_host_row(boot->page, boot->rank)->phase, PEN_HOST_STARTING,
                          memory_order_relaxed);
    if ((boot->page->flags & PEN_HOST_FLAG_TERMINAL) != 0)
        /* standard output is a terminal, so show each line at once */
        (void)setvbuf(stdout, NULL, _IOLBF, 0);
    return PEN_OK;
}

static void warn_size(pen_log *log, const pen_boot_config *config, const pen_boot *boot)
{
    if (config->ranks > 0 && config->ranks != boot->size && boot->rank == 0)
        pen_log_warn(log, "GASNET_PSHM_NODES=%lld is not used: the launcher started %u ranks",
                     (long long)config->ranks, boot->size);
}

static pen_status open_launched(pen_log *log, const pen_boot_config *config, pen_boot *out)
{
    inherited from;
    pen_status status = inherited_read(log, &from);
    if (status != PEN_OK)
        return status;
    status =
        pen_boot_attach(log, from.arena_fd, NULL, from.control_fd, from.rank, "penstock run", out);
    if (status != PEN_OK)
        return status;
    status = inherited_hide(log, &from);
    if (status != PEN_OK) {
        pen_boot_close(out);
        return status;
    }
    out->world_fd = from.world_fd;
    warn_size(log, config, out);
    return PEN_OK;
}

/* ---- without a launcher ---------------------------------------------------------------------- */

static pen_status open_alone(pen_log *log, const pen_boot_needs *needs, pen_boot *out)
{
    char *const none[] = { NULL };
    pen_arena arena;
    pen_status status =
        pen_arena_create(log, 1, needs, environ != NULL ? environ : none, 0, &arena);
    if (status != PEN_OK)
        return status;
    pen_arena_trace_off(log, &arena);
    status = pen_boot_attach(log, arena.fd, arena.base, -1, 0, "none", out);
    if (status != PEN_OK)
        pen_arena_destroy(&arena);
    return status;
}

/* Checks the number of ranks in `./program N ...`, for a program that was built to start its own
 * ranks. */
static pen_status check_arguments(pen_log *log, const pen_boot_needs *needs,
                                  const pen_boot_config *config)
{
    if (config->spawn[0] != '\0' && strcasecmp(config->spawn, "L") != 0) {
        pen_log_error(log,
                      "cannot start %u ranks with GASNET_SPAWNFN=%s: a program that starts itself "
                      "does so on this host; start it with `amudprun -np %u`, or set "
                      "GASNET_SPAWNFN=L",
                      needs->ranks, config->spawn, needs->ranks);
        return PEN_ERR_ARGUMENT;
    }
    if (needs->ranks > PEN_BOOT_RANKS_MAX) {
        pen_log_error(log, "cannot start %u ranks: give a number between 1 and %d", needs->ranks,
                      PEN_BOOT_RANKS_MAX);
        return PEN_ERR_ARGUMENT;
    }
    return PEN_OK;
}

/* Called if no launcher has started this process: forks the ranks, or makes a job of one. */
static pen_status open_unlaunched(pen_log *log, const pen_boot_ways *ways,
                                  const pen_boot_needs *needs, const pen_boot_config *config,
                                  pen_boot *out)
{
    bool is_asked = needs != NULL && needs->ranks != 0 && !config->alone;
    uint32_t ranks = is_asked ? needs->ranks : (uint32_t)config->ranks;
    pen_status status = is_asked ? check_arguments(log, needs, config) : PEN_OK;
    if (status == PEN_OK)
        status = ranks > 1 ? ways->fork_ranks(log, needs,
                                              is_asked ? "the program itself" : "GASNET_PSHM_NODES",
                                              ranks, out)
                           : open_alone(log, needs, out);
    if (status == PEN_OK)
        out->from_arguments = is_asked;
    return status;
}

pen_status pen_boot_open(pen_log *log, const pen_boot_ways *ways, const pen_boot_needs *needs,
                         pen_boot *out)
{
    pen_boot_config config;
    pen_status status = pen_boot_config_read(log, &config);
    if (status != PEN_OK)
        return status;
    if (config.ranks < 0 || config.ranks > PEN_BOOT_RANKS_MAX) {
        pen_log_error(log, "cannot use GASNET_PSHM_NODES=%lld: give a number between 1 and %d",
                      (long long)config.ranks, PEN_BOOT_RANKS_MAX);
        return PEN_ERR_ARGUMENT;
    }
    if (pen_knob_from_process(NULL, "PENSTOCK_CONTROL_FD") != NULL) {
        status = open_launched(log, &config, out);
    } else {
        bool alone = false;
        status = ways->join_foreign(log, needs, &config, out, &alone);
        if (status == PEN_OK && alone)
            status = open_unlaunched(log, ways, needs, &config, out);
        else if (status == PEN_OK)
            warn_size(log, &config, out);
    }
    if (status != PEN_OK)
        return status;
    status = enlist(log, out);
    if (status != PEN_OK)
        pen_boot_close(out);
    return status;
}

/* ---- joining again --------------------------------------------------------------------------- */

pen_status pen_boot_rejoin(pen_log *log, pen_boot *resigned, pen_boot *out)
{
    pen_status status = pen_boot_attach(log, resigned->arena_fd, NULL, resigned->control_fd,
                                        resigned->rank, resigned->launcher, out);
    if (status != PEN_OK) {
        pen_boot_close(resigned);
        return status;
    }
    out->in_process = resigned->in_process;
    out->from_arguments = resigned->from_arguments;
    resigned->arena_fd = resigned->control_fd = -1; /* *out owns them */
    status = enlist(log, out);
    if (status != PEN_OK)
        pen_boot_close(out);
    return status;
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool is_of_name(const char *entry, const char *name)
{
    size_t name_len = strlen(name);
    return strncmp(entry, name, name_len) == 0 && entry[name_len] == '=';
}

const char *pen_boot_getenv(const pen_boot *boot, const char *name)
{
    /* A launcher on this host passes the whole environment on, so a value in this process comes
     * from the console or from the program itself. If this process lacks the variable, the
     * console's copy is read. */
    const char *own = pen_knob_from_process(NULL, name);
    if (own != NULL)
        return own;
    for (char **entry = boot->environment; *entry != NULL; entry++) {
        if (is_of_name(*entry, name))
            return *entry + strlen(name) + 1;
    }
    return NULL;
}

void pen_boot_forget_variable(pen_boot *boot, const char *name)
{
    char **kept = boot->environment;
    for (char **entry = boot->environment; *entry != NULL; entry++) {
        if (!is_of_name(*entry, name))
            *kept++ = *entry;
    }
    *kept = NULL;
}

/* ---- start-up barrier and exchange ----------------------------------------------------------- */

uint32_t pen_boot_host_of(const pen_boot *boot, uint32_t rank)
{
    const uint32_t *firsts = (const uint32_t *)(const void *)(boot->arena + boot->page->firsts_off);
    uint32_t low = 0, high = boot->page->host_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (firsts[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Called by the last rank of this host that arrives. On a single host it releases its peers;
 * otherwise it asks the launcher to release them when all hosts are complete. */
static pen_status all_here(pen_boot *boot, size_t len)
{
    pen_host_page *page = boot->page;
    /* relaxed: no rank counts again before the generation has changed */
    atomic_store_explicit(&page->boot_count, 0, memory_order_relaxed);
    if (page->host_count > 1) {
        int code = (int)(len << 1 | (boot->exchanges & 1));
        return pen_control_send(boot->control_fd, PEN_CONTROL_MEET, code, NULL, true) == 0
                   ? PEN_OK
                   : PEN_ERR_PEER_LOST;
    }
    atomic_fetch_add_explicit(&page->boot_generation, 1, memory_order_acq_rel);
    if (boot->turns != NULL && boot->turns->wake != NULL)
        boot->turns->wake(boot->turns->ctx);
    else if (boot->size > 1)
        pen_futex_wake(&page->boot_generation, INT_MAX);
    return PEN_OK;
}

static pen_status arrive(pen_boot *boot, size_t len, uint32_t *ticket)
{
    pen_host_page *page = boot->page;
    /* acquire: pairs with the release in all_here and in the supervisor's barriers_fail; read
     * before arriving, so that the last arrival's step cannot be missed */
    *ticket = atomic_load_explicit(&page->boot_generation, memory_order_acquire);
    if (atomic_load_explicit(&page->boot_failed, memory_order_relaxed) != 0)
        return PEN_ERR_PEER_LOST;
    boot->meets++;
    /* acq_rel: what each rank wrote before arriving is visible to the last, and through it to
     * all */
    uint32_t arrived = atomic_fetch_add_explicit(&page->boot_count, 1, memory_order_acq_rel) + 1;
    return arrived == page->size ? all_here(boot, len) : PEN_OK;
}

pen_status pen_boot_arrive(pen_boot *boot, uint32_t *ticket) { return arrive(boot, 0, ticket); }

bool pen_boot_arrived(const pen_boot *boot, uint32_t ticket)
{
    return atomic_load_explicit(&boot->page->boot_generation, memory_order_acquire) != ticket;
}

void pen_boot_show_wait(pen_boot *boot, pen_call call, uint64_t since_ns)
{
    const pen_wait_note note = {
        .call = call, .awaited = PEN_AWAITED_RANKS, .peer = PEN_WAIT_NOBODY, .since_ns = since_ns
    };
    pen_host_rank *row = pen_host_row(boot->page, boot->rank);
    if (row != NULL)
        pen_wait_publish(&row->wait, &note, pen_now_ns());
}

/* Looks for a rank that left without entering this barrier, and reports it to the supervisor. */
static void look_for_departed(pen_boot *boot)
{
    for (uint32_t rank = 0; pen_departed_any(boot->page) && rank < boot->size; rank++) {
        const pen_departed *gone = pen_departed_of(boot->page, rank);
        if (gone != NULL && (int32_t)(gone->meets - boot->meets) < 0) {
            pen_boot_blocked(boot, rank, PEN_CALL_INIT);
            return;
        }
    }
}

static pen_status meet(pen_boot *boot, size_t len)
{
    pen_host_page *page = boot->page;
    uint32_t generation;
    pen_status status = arrive(boot, len, &generation);
    if (status != PEN_OK)
        return status;
    bool shown = false;
    while (!pen_boot_arrived(boot, generation)) {
        int code;
        if (boot->turns != NULL) {
            boot->turns->wait(boot->turns->ctx);
            if (pen_boot_check(boot, &code))
                return PEN_ERR_PEER_LOST;
            continue;
        }
        uint64_t until_ns = pen_now_ns() + BARRIER_LOOK_NS;
        pen_futex_wait(&page->boot_generation, generation, BARRIER_LOOK_NS);
        if (pen_now_ns() >= until_ns && pen_boot_check(boot, &code))
            return PEN_ERR_PEER_LOST;
        look_for_departed(boot);
        if (!shown)
            pen_boot_show_wait(boot, PEN_CALL_INIT, until_ns - BARRIER_LOOK_NS);
        shown = true;
    }
    if (shown)
        pen_boot_show_wait(boot, PEN_CALL_NONE, 0);
    return atomic_load_explicit(&page->boot_failed, memory_order_relaxed) != 0 ? PEN_ERR_PEER_LOST
                                                                               : PEN_OK;
}

pen_status pen_boot_barrier(pen_boot *boot) { return meet(boot, 0); }

pen_status pen_boot_exchange(pen_boot *boot, const void *mine, size_t len, void *all)
{
    if (len > PEN_BOOT_BLOB_MAX)
        return PEN_ERR_ARGUMENT;
    /* Exchanges alternate between two areas. A rank writes an area again only after the barrier of
     * the exchange in between, so all ranks have read it by then. */
    size_t area_len = (size_t)boot->size * PEN_BOOT_BLOB_MAX;
    char *area = boot->arena + boot->page->exchange_off + (boot->exchanges % 2) * area_len;
    if (len != 0)
        memcpy(area + (size_t)boot->rank * PEN_BOOT_BLOB_MAX, mine, len);
    pen_status status = meet(boot, len);
    boot->exchanges++;
    for (uint32_t rank = 0; status == PEN_OK && rank < boot->size && len != 0; rank++)
        memcpy((char *)all + rank * len, area + (size_t)rank * PEN_BOOT_BLOB_MAX, len);
    return status;
}
