/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.c: the runner's end of a rank. A line of its is `run OPERATION LENGTH ROUNDS`; the answer
 * is `NANOSECONDS LOST`, in which only rank 0's time counts and LOST are the nanoseconds that the
 * rank wanted a core and had none. The other is `end`. */
#include "driver.h"

#include "../place.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LINE_LEN = 128 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* How long this thread has waited for a core so far; what it slept by its own will isn't in it. */
static uint64_t lost_ns(void)
{
    uint64_t waited_ns = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*u %" SCNu64, &waited_ns) != 1)
        waited_ns = 0;
    fclose(file);
    return waited_ns;
}

static int fail(const driver *self, const char *what)
{
    fprintf(stderr, "bench: rank %u: %s\n", self->rank, what);
    return 1;
}

static FILE *runner_open(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address.sun_path))
        return NULL;
    memcpy(address.sun_path, path, strlen(path) + 1);
    const int runner = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (runner < 0)
        return NULL;
    if (connect(runner, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(runner);
        return NULL;
    }
    FILE *stream = fdopen(runner, "r+");
    if (stream == NULL)
        close(runner);
    return stream;
}

static const driver_op *op_of(const driver *self, const char *name)
{
    for (size_t op_i = 0; op_i < self->op_count; op_i++)
        if (strcmp(self->ops[op_i].name, name) == 0)
            return &self->ops[op_i];
    return NULL;
}

/* Ranks that have nothing to do in an operation wait for its end in the second barrier. */
static void op_run(const driver *self, const driver_op *op, size_t len, uint64_t rounds,
                   FILE *runner)
{
    const uint64_t lost_before_ns = lost_ns();
    self->meet();
    const double start_ns = now_ns();
    op->run(len, rounds);
    const double took_ns = now_ns() - start_ns;
    self->meet();
    fprintf(runner, "%.0f %" PRIu64 "\n", took_ns, lost_ns() - lost_before_ns);
    fflush(runner);
}

int driver_serve(const driver *self, const char *path)
{
    char line[LINE_LEN], name[LINE_LEN];
    size_t len;
    uint64_t rounds;

    place_rank(self->rank);
    FILE *runner = runner_open(path);
    if (runner == NULL)
        return fail(self, "cannot reach the runner");
    fprintf(runner, "rank %u %u\n", self->rank, self->size);
    fflush(runner);
    while (fgets(line, sizeof(line), runner) != NULL && strcmp(line, "end\n") != 0) {
        fseek(runner, 0, SEEK_CUR); /* from reading to writing */
        if (sscanf(line, "run %127s %zu %" SCNu64, name, &len, &rounds) != 3 ||
            len > DRIVER_BULK_LEN || op_of(self, name) == NULL) {
            fclose(runner);
            return fail(self, "the runner wants what I cannot do");
        }
        op_run(self, op_of(self, name), len, rounds, runner);
    }
    fclose(runner);
    return 0;
}
