/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c: starting ranks as forked processes over one fabric. */
#include "extoll/ranks.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int ranks_options_read(ranks_options *options, int argc, char **argv)
{
    pen_card_config_default(&options->config);
    options->count = 2;
    int i = 1;
    for (; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--latency") == 0) {
            options->config.latency = pen_card_latency_machine();
            continue;
        }
        if (strcmp(argv[i], "--stall") == 0) {
            options->config.full = PEN_CARD_STALL;
            continue;
        }
        if (strcmp(argv[i], "--ranks") == 0)
            options->count = (int)strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--slot") == 0)
            options->config.slot_len = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--mailbox") == 0)
            options->config.mailbox_slots = (uint32_t)strtoul(value, NULL, 10);
        else
            break;
        i++;
    }
    options->config.node_count = (uint16_t)options->count;
    return i;
}

void ranks_fail(const ranks *r, const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: rank %d: %s: %s\n", r->program, r->rank, what, why);
    _exit(1);
}

void ranks_barrier(ranks *r)
{
    uint32_t generation = atomic_load_explicit(&r->page->generation, memory_order_acquire);
    uint32_t before = atomic_fetch_add_explicit(&r->page->arrived, 1, memory_order_acq_rel);
    if ((int)before + 1 == r->count) {
        atomic_store_explicit(&r->page->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&r->page->generation, generation + 1, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&r->page->generation, memory_order_acquire) == generation)
        (void)sched_yield();
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ranks_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return values[count / 2];
}

static void open_ports(ranks *r, void *fabric)
{
    pen_status opened =
        pen_card_open(fabric, pen_card_len(&r->config), &r->config, (uint16_t)r->rank, &r->card);
    if (opened != PEN_OK)
        ranks_fail(r, "pen_card_open", pen_status_text(opened));
    pen_card_use(r->card);
    velo2_ret_t velo = velo2_open(&r->velo);
    if (velo != VELO2_RET_SUCCESS)
        ranks_fail(r, "velo2_open", velo2_strerror(velo));
    RMA2_ERROR_CODE rma = rma2_open(&r->rma);
    if (rma != RMA2_SUCCESS)
        ranks_fail(r, "rma2_open", rma2_strerror(rma));
    r->to = calloc((size_t)r->count, sizeof(*r->to));
    r->rma_to = calloc((size_t)r->count, sizeof(*r->rma_to));
    if (r->to == NULL || r->rma_to == NULL)
        ranks_fail(r, "calloc", "out of memory");
    for (int peer = 0; peer < r->count; peer++) {
        (void)velo2_connect(&r->velo, &r->to[peer], (uint16_t)peer, 0);
        (void)rma2_connect(r->rma, (uint16_t)peer, 0, RMA2_CONN_DEFAULT, &r->rma_to[peer]);
    }
    ranks_barrier(r); /* a packet to a port that is not open is an error */
}

static int be_rank(ranks *r, void *fabric, int (*play)(ranks *, void *), void *context)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)(r->rank % cores), &set);
    r->has_to_yield = r->count > cores;
    (void)sched_setaffinity(0, sizeof(set), &set);
    open_ports(r, fabric);
    int result = play(r, context);
    ranks_barrier(r);
    (void)velo2_close(&r->velo);
    (void)rma2_close(r->rma);
    pen_card_close(r->card);
    free(r->to);
    free(r->rma_to);
    (void)fflush(stdout);
    return result;
}

/* Waits for all of them; the first that fails takes the others with it. */
static int wait_for_all(const pid_t *pids, int count)
{
    int failed = 0;
    for (int left = count; left > 0;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0)
            return 1;
        left--;
        if (failed || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
            continue;
        failed = 1;
        for (int i = 0; i < count; i++)
            if (pids[i] != pid)
                (void)kill(pids[i], SIGKILL);
    }
    return failed;
}

int ranks_run(const ranks_options *options, const char *program, int (*play)(ranks *, void *),
              void *context)
{
    const char *wrong = pen_card_config_check(&options->config);
    if (wrong == NULL && (options->count < 1 || options->count > RANKS_MAX))
        wrong = "ranks are not 1 to 64";
    if (wrong != NULL) {
        (void)fprintf(stderr, "%s: %s\n", program, wrong);
        return 2;
    }
    size_t page_len = (sizeof(ranks_page) + 4095) & ~(size_t)4095;
    char *memory = mmap(NULL, page_len + pen_card_len(&options->config), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        (void)fprintf(stderr, "%s: no memory for the fabric\n", program);
        return 1;
    }
    pid_t pids[RANKS_MAX];
    (void)fflush(stdout);
    for (int rank = 0; rank < options->count; rank++) {
        ranks r = { .rank = rank,
                    .count = options->count,
                    .config = options->config,
                    .page = (ranks_page *)(void *)memory,
                    .program = program };
        pids[rank] = fork();
        if (pids[rank] == 0)
            _exit(be_rank(&r, memory + page_len, play, context));
        if (pids[rank] < 0)
            return 1;
    }
    return wait_for_all(pids, options->count);
}
