/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_join.c: a steward's first task: exchanges greetings with all ranks and gets the arena of
 * its block. All calls of PMIx are made in the steward's thread. That thread blocks all signals,
 * so PMIx's own threads take no signal either. The thread that joins waits for it, with a time
 * limit. */
#include "pmix/pmix.h"

#include "base/pack.h"
#include "base/status.h"
#include "boot/arena.h"
#include "boot/boot.h"
#include "boot/knobs.h"
#include "boot/remedy.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "os/os.h"
#include "pen_config.h"
#include "pmix/oob.h"
#include "pmix/pmi.h"
#include "pmix/pmix_door.h"
#include "pmix/pmix_hello.h"
#include "pmix/pmix_join_internal.h"
#include "pmix/steward.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define HOOK_NS   (5 * SECOND_NS) /* time for the steward to finish PMIx at process exit */
/* added to the time limit, so that the steward can report the failure */
#define GRACE_MS      3000
#define HELLO_KEY     "penstock.hello"

#define TIMEOUT_MAX_S 1e6

/* Result of joining, sent once to the thread that joins. */
typedef struct outcome {
    pen_status status;
    bool alone;
    int arena_fd, control_fd;
    char *arena; /* address of the arena; NULL: not mapped */
} outcome;

void pen_join_doing(pen_steward *s, const char *what)
{
    atomic_store_explicit(&s->doing, what, memory_order_relaxed);
}

bool pen_join_refuse(const joining *j, const char *call, const char *why)
{
    pen_log_error(&j->s->log,
                  "cannot join the job of the %s launcher that started this process (found %s): "
                  "%s: %s; start with `penstock run -n N`, or set PENSTOCK_ALONE=1 to run each "
                  "process as a job of one",
                  j->launcher->launcher, j->launcher->found, call, why);
    return false;
}

/* ---- greetings ------------------------------------------------------------------------------- */

static bool begin_pmix(joining *j)
{
    pen_steward *s = j->s;
    pen_join_doing(s, "PMIx_Init");
    const char *error = pen_pmix_begin(s->pmix, s->news[1], &s->rank);
    if (error != NULL)
        return pen_join_refuse(j, "PMIx_Init", error);
    s->log.rank = (int32_t)s->rank;
    pen_join_doing(s, "PMIx_Get");
    error = pen_pmix_get_u32(s->pmix, PEN_PMIX_WHOLE_JOB, pen_pmix_key_job_size, &s->size);
    return error == NULL || pen_join_refuse(j, "PMIx_Get of the number of processes", error);
}

static bool begin_pmi(joining *j)
{
    pen_steward *s = j->s;
    pen_join_doing(s, "PMI");
    const char *error = pen_pmi_begin(&s->pmi, s->until_ns);
    s->rank = s->pmi.rank;
    s->size = s->pmi.size;
    s->log.rank = (int32_t)s->rank;
    return error == NULL || pen_join_refuse(j, "PMI's init", error);
}

static bool begin(joining *j, bool *alone)
{
    pen_steward *s = j->s;
    if (!(s->pmix != NULL ? begin_pmix(j) : begin_pmi(j)))
        return false;
    s->exit_timeout_ns = (uint64_t)(1e9 * pen_boot_exit_timeout(&s->config, s->size));
    s->leave_limit_ns = pen_boot_leave_limit_ns(&s->config);
    *alone = s->size == 1;
    if (*alone)
        pen_steward_finish(s);
    if (s->size > PEN_BOOT_RANKS_MAX || s->rank >= s->size) {
        pen_log_error(&s->log, "cannot join a job as rank %u of %u: it can have up to %d ranks",
                      s->rank, s->size, PEN_BOOT_RANKS_MAX);
        return false;
    }
    return true;
}

static bool block_find(joining *j)
{
    pen_steward *s = j->s;
    char *peers = NULL;
    uint32_t end = 0;
    const char *error = s->pmix == NULL ? pen_pmi_local_peers(&s->pmi, &peers)
                                        : pen_pmix_get_text(s->pmix, PEN_PMIX_WHOLE_JOB,
                                                            pen_pmix_key_local_peers, &peers);
    if (error != NULL)
        return pen_join_refuse(j, "the ranks of this host", error);
    bool sound =
        pen_pmix_block(peers, s->rank, (uint32_t)s->config.block_most, &s->first, &end, &j->whole);
    s->count = end - s->first;
    if (!sound)
        (void)pen_join_refuse(j, "the ranks of this host", peers);
    free(peers);
    return sound;
}

/* Gives the greeting what connections between blocks need, which come without PMIx. */
static bool blocks_prepare(joining *j)
{
    pen_pmix_hello *mine = &j->mine;
    uint16_t port;
    pen_random(mine->salt, sizeof(mine->salt));
    if (j->s->rank != 0)
        return true;
    j->oob_listener = pen_oob_listen(&port, j->addresses);
    mine->port = port;
    mine->addresses = j->addresses;
    if (j->oob_listener < 0)
        pen_log_error(&j->s->log, "cannot let other hosts connect: listen: %m; %s",
                      pen_boot_remedy(errno));
    return j->oob_listener >= 0;
}

static bool greet(joining *j)
{
    pen_steward *s = j->s;
    pen_pmix_hello *mine = &j->mine;
    mine->first = s->first;
    mine->count = s->count;
    mine->host = s->log.host;
    mine->cores = pen_cores_allowed(NULL);
    (void)sched_getaffinity(0, sizeof(mine->cpus), &mine->cpus);
    if (pen_steward_is_first(s) && s->count > 1) {
        pen_random(mine->door, sizeof(mine->door));
        pen_random(mine->ticket, sizeof(mine->ticket));
        j->listener = pen_pmix_door_open(mine->door, s->count);
        if (j->listener < 0) {
            pen_log_error(&s->log, "cannot hand out the job's memory: socket: %m; %s",
                          pen_boot_remedy(errno));
            return false;
        }
    }
    if (s->rank == 0 && s->count < s->size)
        pen_random(mine->job_key, sizeof(mine->job_key));
    if (s->pmix == NULL && s->count < s->size && !blocks_prepare(j))
        return false;
    pen_pack body = { .bytes = NULL };
    pen_pmix_hello_pack(mine, &body);
    const char *error = body.failed ? "out of memory"
                        : s->pmix == NULL
                            ? pen_pmi_put_bytes(&s->pmi, body.bytes, body.len)
                            : pen_pmix_put_bytes(s->pmix, HELLO_KEY, body.bytes, body.len);
    pen_pack_free(&body);
    return error == NULL || pen_join_refuse(j, "publishing a greeting", error);
}

static bool all_greet(joining *j)
{
    pen_steward *s = j->s;
    pen_pmix_news news;
    if (s->pmix == NULL) {
        pen_join_doing(s, "PMI's barrier");
        const char *why = pen_pmi_fence(&s->pmi);
        return why == NULL || pen_join_refuse(j, "PMI's barrier", why);
    }
    pen_join_doing(s, "PMIx_Fence");
    const char *error = pen_pmix_fence(s->pmix, NULL, 0, PEN_STEWARD_FENCE_JOIN);
    if (error != NULL)
        return pen_join_refuse(j, "PMIx_Fence_nb", error);
    if (!pen_steward_await(s, PEN_PMIX_FENCED, s->until_ns, &news)) {
        pen_log_error(&s->log,
                      "cannot join the job: not all of its %u processes have come to gasnet_init "
                      "within %g s; does each call it? (PENSTOCK_LAUNCH_TIMEOUT)",
                      s->size, s->timeout_s);
        return false;
    }
    return news.code == 0 || pen_join_refuse(j, "PMIx_Fence_nb", "a process of the job has failed");
}

/* Refuses a rank of another version. A rank whose version differs from rank 0's reports it; rank 0
 * reports the first rank that differs. */
static bool version_refuse(const joining *j, uint32_t rank, const char *version)
{
    pen_log_error(&j->s->log,
                  "cannot join the job: rank %u has Penstock %s, this one %s; run the same program "
                  "with the same library everywhere",
                  rank, version[0] != '\0' ? version : "of another kind", pen_pmix_hello_version());
    return false;
}

static bool hellos_get(joining *j)
{
    pen_steward *s = j->s;
    pen_join_doing(s, "PMIx_Get");
    j->hellos = calloc(s->size, sizeof(*j->hellos));
    j->blobs = calloc(s->size, sizeof(*j->blobs));
    j->blob_lens = calloc(s->size, sizeof(*j->blob_lens));
    if (j->hellos == NULL || j->blobs == NULL || j->blob_lens == NULL)
        return pen_join_refuse(j, "calloc", "out of memory");
    for (uint32_t rank = 0; rank < s->size; rank++) {
        const char *version;
        char **blob = &j->blobs[rank];
        size_t *len = &j->blob_lens[rank];
        const char *error = s->pmix == NULL
                                ? pen_pmi_get_bytes(&s->pmi, rank, blob, len)
                                : pen_pmix_get_bytes(s->pmix, rank, HELLO_KEY, blob, len);
        if (error != NULL)
            return pen_join_refuse(j, "getting a greeting", error);
        if (!pen_pmix_hello_unpack(j->blobs[rank], j->blob_lens[rank], &j->hellos[rank], &version))
            return version_refuse(j, rank, version);
    }
    return true;
}

static bool blocks_find(joining *j)
{
    pen_steward *s = j->s;
    s->firsts = calloc(s->size + 1u, sizeof(*s->firsts));
    if (s->firsts == NULL)
        return pen_join_refuse(j, "calloc", "out of memory");
    s->block_count = pen_pmix_blocks(j->hellos, s->size, s->firsts);
    if (s->block_count == 0) {
        pen_log_error(&s->log, "cannot join the job: its ranks do not agree on who is where; set "
                               "GASNET_SUPERNODE_MAXSIZE alike for all");
        return false;
    }
    for (uint32_t block = 0; block < s->block_count; block++)
        s->block_i = s->firsts[block] <= s->rank ? block : s->block_i;
    if (!j->whole && s->rank == 0)
        pen_log_warn(&s->log, "the ranks of a host are not consecutive, so that not all of them "
                              "share memory; have the launcher fill host after host "
                              "(mpirun --map-by slot, srun -m block)");
    return true;
}

/* Without PMIx, blocks talk over connections of their own. */
static bool blocks_connect(joining *j)
{
    pen_steward *s = j->s;
    if (s->pmix != NULL || s->block_count == 1 || !pen_steward_is_first(s))
        return true;
    pen_join_doing(s, "the connection to the host of rank 0");
    const char *error = pen_steward_blocks_open(s, j->hellos, j->oob_listener);
    return error == NULL || pen_join_refuse(j, "connecting the job's hosts", error);
}

/* ---- the steward's thread -------------------------------------------------------------------- */

static bool control_make(joining *j, outcome *out)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        pen_log_error(&j->s->log, "cannot join the job: socketpair: %m; %s",
                      pen_boot_remedy(errno));
        return false;
    }
    j->s->control = ends[0];
    *out = (outcome){
        .status = PEN_OK, .arena_fd = j->arena.fd, .control_fd = ends[1], .arena = j->arena.base
    };
    return true;
}

static void joining_end(joining *j)
{
    for (uint32_t rank = 0; j->blobs != NULL && rank < j->s->size; rank++) {
        if (j->blobs[rank] != NULL && j->blob_lens != NULL)
            explicit_bzero(j->blobs[rank], j->blob_lens[rank]);
        free(j->blobs[rank]);
    }
    free(j->blobs);
    free(j->blob_lens);
    if (j->hellos != NULL)
        explicit_bzero(j->hellos, j->s->size * sizeof(*j->hellos));
    free(j->hellos);
    explicit_bzero(&j->mine, sizeof(j->mine));
    if (j->listener >= 0)
        close(j->listener);
    if (j->oob_listener >= 0)
        close(j->oob_listener);
}

static bool join(joining *j, outcome *out)
{
    if (!begin(j, &out->alone))
        return false;
    if (out->alone) {
        out->status = PEN_OK;
        return true;
    }
    return block_find(j) && greet(j) && all_greet(j) && hellos_get(j) && blocks_find(j) &&
           blocks_connect(j) && pen_join_arena_get(j) && control_make(j, out);
}

typedef struct thread_start {
    pen_steward *s;
    pen_foreign launcher;
} thread_start;

static void *run(void *ctx)
{
    thread_start *start = ctx;
    pen_steward *s = start->s;
    pen_foreign launcher = start->launcher;
    free(start);
    joining j = {
        .s = s, .launcher = &launcher, .listener = -1, .oob_listener = -1, .arena = { .fd = -1 }
    };
    outcome out = { .status = PEN_ERR_UNUSABLE, .arena_fd = -1, .control_fd = -1 };
    bool joined = join(&j, &out);
    joining_end(&j);
    if (write(s->result[1], &out, sizeof(out)) < 0) /* the pipe has room for one outcome */
        joined = false;
    if (joined && !out.alone)
        pen_steward_serve(s);
    /* Unless the process is alone, PMIx is not finished, so the launcher sees a disorderly end. */
    atomic_store_explicit(&s->hook_done, 1, memory_order_release);
    return NULL;
}

/* ---- the thread that joins ------------------------------------------------------------------- */

/* Called when the process ends. If it has left its job or is alone, its steward finishes PMIx, so
 * the launcher sees an orderly end. */
static void on_process_exit(int status, void *ctx)
{
    (void)status;
    pen_steward *s = ctx;
    const pen_pmix_news news = { .kind = PEN_STEWARD_HOOK };
    if (getpid() != s->pid || s->news[1] < 0 || write(s->news[1], &news, sizeof(news)) < 0)
        return;
    uint64_t until_ns = pen_now_ns() + HOOK_NS;
    while (atomic_load_explicit(&s->hook_done, memory_order_acquire) == 0 &&
           pen_now_ns() < until_ns)
        pen_futex_wait(&s->hook_done, 0, HOOK_NS);
}

static const char *thread_make(pen_steward *s, const pen_foreign *launcher)
{
    thread_start *start = malloc(sizeof(*start));
    if (start == NULL)
        return "malloc";
    *start = (thread_start){ s, *launcher };
    sigset_t all, before;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&thread, NULL, run, start);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (errno != 0) {
        free(start);
        return "pthread_create";
    }
    (void)pthread_detach(thread);
    return NULL;
}

static pen_status configure(pen_log *log, pen_steward *s)
{
    pen_launch_config launch = { .timeout = 0 };
    pen_status status = pen_knob_read(log, pen_launch_knobs, &launch, NULL, NULL);
    if (status == PEN_OK)
        status = pen_boot_config_read(log, &s->config);
    if (status != PEN_OK)
        return status;
    if (s->config.block_most < 0 || s->config.block_most > PEN_BOOT_RANKS_MAX) {
        pen_log_error(log,
                      "cannot use GASNET_SUPERNODE_MAXSIZE=%lld: give a number up to %d; 0 for no "
                      "bound",
                      (long long)s->config.block_most, PEN_BOOT_RANKS_MAX);
        return PEN_ERR_ARGUMENT;
    }
    s->timeout_s = launch.timeout < TIMEOUT_MAX_S ? launch.timeout : TIMEOUT_MAX_S;
    s->until_ns = pen_now_ns() + (uint64_t)(s->timeout_s * 1e9);
    return PEN_OK;
}

static bool outcome_await(pen_steward *s, outcome *out)
{
    struct pollfd told = { .fd = s->result[0], .events = POLLIN };
    int left_ms = (int)(s->timeout_s * 1000) + GRACE_MS, ready;
    uint64_t since_ns = pen_now_ns();
    do {
        int passed_ms = (int)((pen_now_ns() - since_ns) / 1000000);
        ready = poll(&told, 1, passed_ms < left_ms ? left_ms - passed_ms : 0);
    } while (ready < 0 && errno == EINTR);
    return ready > 0 && read(s->result[0], out, sizeof(*out)) == (ssize_t)sizeof(*out);
}

/* Registers on_process_exit. Only on_exit gives the handler the exit status. Returns false with
 * errno on failure. */
static bool on_exit_registered(pen_steward *s)
{
#if PEN_HAVE_ON_EXIT
    errno = ENOMEM;
    return on_exit(on_process_exit, s) == 0;
#else
    (void)on_process_exit, (void)s;
    errno = ENOSYS;
    return false;
#endif
}

static pen_status steward_start(pen_log *log, const pen_foreign *launcher, pen_steward *s,
                                outcome *out)
{
    const char *call = NULL;
    if (!on_exit_registered(s)) {
        call = "on_exit";
    } else if (pipe2(s->news, O_CLOEXEC) != 0 || pipe2(s->result, O_CLOEXEC) != 0) {
        call = "pipe2";
    }
    if (call == NULL)
        call = thread_make(s, launcher);
    if (call != NULL) {
        pen_log_error(log, "cannot join the job of the %s launcher: %s: %m; %s", launcher->launcher,
                      call, pen_boot_remedy(errno));
        atomic_store_explicit(&s->hook_done, 1, memory_order_relaxed);
        return PEN_ERR_SYSTEM;
    }
    if (outcome_await(s, out))
        return out->status;
    /* the process's exit must not wait as well */
    atomic_store_explicit(&s->hook_done, 1, memory_order_relaxed);
    pen_log_error(log,
                  "cannot join the job of the %s launcher: %s has not come back within %g s; is "
                  "the launcher there? (PENSTOCK_LAUNCH_TIMEOUT)",
                  launcher->launcher, atomic_load_explicit(&s->doing, memory_order_relaxed),
                  s->timeout_s);
    return PEN_ERR_LIMIT_TIME;
}

pen_status pen_pmix_join(pen_log *log, const pen_foreign *launcher, const pen_boot_needs *needs,
                         pen_boot *out, bool *alone)
{
    outcome got = { .status = PEN_ERR_UNUSABLE };
    pen_steward *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        pen_log_error(log, "cannot join the job: calloc: %m; free some memory");
        return PEN_ERR_MEMORY;
    }
    s->log = *log;
    s->needs = needs != NULL ? *needs : (pen_boot_needs){ .conduit_len = NULL };
    s->pid = getpid();
    s->control = s->news[0] = s->news[1] = s->result[0] = s->result[1] = -1;
    s->meet_code = -1;
    pen_join_doing(s, "dlopen");
    const bool is_pmix = strcmp(launcher->launcher, "PMIx") == 0;
    const char *why;
    s->pmix = is_pmix ? pen_pmix_open(&why) : NULL;
    pen_status status = configure(log, s);
    if (status == PEN_OK && is_pmix && s->pmix == NULL) {
        (void)pen_join_refuse(&(joining){ .s = s, .launcher = launcher }, "dlopen", why);
        status = PEN_ERR_UNUSABLE;
    }
    if (status == PEN_OK) /* from here on the thread uses *s, so *s is never freed */
        status = steward_start(log, launcher, s, &got);
    if (status != PEN_OK)
        return status;
    *alone = got.alone;
    if (got.alone)
        return PEN_OK;
    status = pen_boot_attach(log, got.arena_fd, got.arena, got.control_fd, s->rank,
                             launcher->launcher, out);
    if (status == PEN_OK)
        out->in_process = true;
    return status;
}

const char *pen_pmix_library(char *version, size_t version_len, const char **why)
{
    pen_pmix *pmix = pen_pmix_open(why);
    if (pmix == NULL)
        return NULL;
    (void)snprintf(version, version_len, "%s", pen_pmix_version(pmix));
    pen_pmix_close(pmix);
    return version;
}
