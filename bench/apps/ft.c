/* SPDX-License-Identifier: BSD-3-Clause */
/* ft.c: three ways to turn the field of FT (ft.h), and how much of the communication each hides:
 *
 * blocking  all planes are transformed, then everything is exchanged
 * slabs     a plane's rows for a rank are sent when they are transformed
 * pencils   each row is sent when it is transformed
 *
 * Each is timed as it is, and without computing; computing is timed alone. Hidden is the part of
 * the blocking exchange that is not seen in the time of the whole: 100 (1 - (whole - computing) /
 * exchange). On one host the processor itself makes the copy that a put is, so nothing can run
 * beside it: what is "hidden" there is what copies cost less while the numbers are in the cache,
 * and what ranks would have waited for each other.
 *
 *     ft LOG2_X LOG2_Y LOG2_Z ROUNDS
 *
 * The result of each way is checked at every point: the field has a few points that are not 0,
 * whose transform is known. */
#include "ft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPIKES = 3, COLUMNS = 8, ROUNDS_MAX = 1000, LOG2_MAX = 12 };

typedef struct fft {
    size_t n;
    ft_number *roots;      /* exp(-2 pi i k / n) */
    ft_number *scratch[2]; /* COLUMNS lines each */
} fft;

typedef struct spike {
    size_t x, y, z;
    double height;
} spike;

static ft job;
static fft along_x, along_y, along_z;
static spike spikes[SPIKES];

/* ---- one line ----------------------------------------------------------------------------- */

static void fft_open(fft *self, size_t n)
{
    self->n = n;
    self->roots = malloc(n * sizeof(*self->roots));
    for (int i = 0; i < 2; i++)
        self->scratch[i] = malloc(COLUMNS * n * sizeof(ft_number));
    if (self->roots == NULL || self->scratch[0] == NULL || self->scratch[1] == NULL)
        comm_exit(1);
    for (size_t k = 0; k < n; k++) {
        const double angle = -2 * M_PI * (double)k / (double)n;
        self->roots[k] = (ft_number){ cos(angle), sin(angle) };
    }
}

static void fft_stage(const fft *self, const ft_number *restrict from, ft_number *restrict to,
                      size_t half, size_t stride)
{
    for (size_t p = 0; p < half; p++) {
        const ft_number w = self->roots[p * stride];
        for (size_t q = 0; q < stride; q++) {
            const ft_number a = from[q + stride * p], b = from[q + stride * (p + half)];
            const ft_number difference = { a.re - b.re, a.im - b.im };
            to[q + stride * 2 * p] = (ft_number){ a.re + b.re, a.im + b.im };
            to[q + stride * (2 * p + 1)] =
                (ft_number){ difference.re * w.re - difference.im * w.im,
                             difference.re * w.im + difference.im * w.re };
        }
    }
}

/* Transforms the line in scratch[0] after Stockham; answers where the result is. */
static const ft_number *fft_line(fft *self, size_t line)
{
    ft_number *from = self->scratch[0] + line * self->n, *to = self->scratch[1] + line * self->n;
    for (size_t stride = 1; stride < self->n; stride *= 2) {
        fft_stage(self, from, to, self->n / (2 * stride), stride);
        ft_number *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Transforms columns of an array in place: element k of a column stands at k x stride. Some columns
 * at once, so that each line of the cache that is read is used. */
static void fft_columns(fft *self, ft_number *array, size_t stride, size_t columns)
{
    for (size_t first = 0; first < columns; first += COLUMNS) {
        const size_t count = columns - first < COLUMNS ? columns - first : COLUMNS;
        const ft_number *results[COLUMNS];
        for (size_t k = 0; k < self->n; k++)
            for (size_t i = 0; i < count; i++)
                self->scratch[0][i * self->n + k] = array[k * stride + first + i];
        for (size_t i = 0; i < count; i++)
            results[i] = fft_line(self, i);
        for (size_t k = 0; k < self->n; k++)
            for (size_t i = 0; i < count; i++)
                array[k * stride + first + i] = results[i][k];
    }
}

/* ---- the three ways ----------------------------------------------------------------------- */

typedef enum piece { ALL, SLAB, PENCIL } piece;

static size_t piece_len(piece by) { return by == SLAB ? job.rows * job.nx : job.nx; }

/* Transforms a row of a plane, of which y is done, into its place among what is to be sent. */
static void row_ready(const ft_number *plane_done, int to, size_t plane, size_t row)
{
    const ft_number *from = plane_done + ((size_t)to * job.rows + row) * job.nx;
    memcpy(along_x.scratch[0], from, job.nx * sizeof(*from));
    memcpy(job.ready + ft_ready_at(&job, to, plane, row), fft_line(&along_x, 0),
           job.nx * sizeof(*from));
}

static void plane_run(size_t plane, piece by, int computing, int sending)
{
    static ft_number *plane_done;
    const size_t len = job.ny * job.nx;
    if (plane_done == NULL && (plane_done = malloc(len * sizeof(*plane_done))) == NULL)
        comm_exit(1);
    if (computing) {
        memcpy(plane_done, job.field + plane * len, len * sizeof(*plane_done));
        fft_columns(&along_y, plane_done, job.nx, job.nx);
    }
    for (int turn = 1; turn <= job.size; turn++) {
        const int to = (job.rank + turn) % job.size;
        for (size_t row = 0; row < job.rows; row++) {
            if (computing)
                row_ready(plane_done, to, plane, row);
            if (sending && by == PENCIL)
                comm_send(&job, to, plane, row, piece_len(by));
        }
        if (sending && by == SLAB)
            comm_send(&job, to, plane, 0, piece_len(by));
    }
}

/* Seconds until every rank has done this. */
static double run(piece by, int computing, int sending)
{
    struct timespec start, end;
    comm_meet();
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (sending && by != ALL)
        comm_begin(&job, piece_len(by));
    for (size_t plane = 0; plane < job.planes && (computing || by != ALL); plane++)
        plane_run(plane, by, computing, sending);
    if (sending && by == ALL)
        comm_exchange(&job);
    else if (sending)
        comm_finish(&job);
    comm_meet();
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
}

/* ---- what comes out ----------------------------------------------------------------------- */

static void field_fill(void)
{
    const size_t len = job.planes * job.ny * job.nx;
    memset(job.field, 0, len * sizeof(*job.field));
    for (int i = 0; i < SPIKES; i++) {
        spikes[i] = (spike){ .x = (5 * (size_t)i + 1) % job.nx,
                             .y = (7 * (size_t)i + 2) % job.ny,
                             .z = (11 * (size_t)i + 3) % job.nz,
                             .height = i + 1 };
        if (spikes[i].z / job.planes == (size_t)job.rank)
            job.field[((spikes[i].z % job.planes) * job.ny + spikes[i].y) * job.nx + spikes[i].x]
                .re += spikes[i].height;
    }
}

/* The transform of the spikes at one point. */
static ft_number wanted_at(size_t x, size_t y, size_t z)
{
    ft_number sum = { 0, 0 };
    for (int i = 0; i < SPIKES; i++) {
        const ft_number a = along_x.roots[x * spikes[i].x % job.nx];
        const ft_number b = along_y.roots[y * spikes[i].y % job.ny];
        const ft_number c = along_z.roots[z * spikes[i].z % job.nz];
        const ft_number ab = { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
        sum.re += spikes[i].height * (ab.re * c.re - ab.im * c.im);
        sum.im += spikes[i].height * (ab.re * c.im + ab.im * c.re);
    }
    return sum;
}

/* Finishes the transform along z, and counts the points at which it is wrong, of all ranks. What
 * was there is spoiled, so that the next way cannot live on it. */
static uint64_t points_wrong(void)
{
    uint64_t wrong = 0;
    fft_columns(&along_z, job.turned, job.rows * job.nx, job.rows * job.nx);
    for (size_t z = 0; z < job.nz; z++) {
        for (size_t row = 0; row < job.rows; row++) {
            for (size_t x = 0; x < job.nx; x++) {
                ft_number *found = &job.turned[(z * job.rows + row) * job.nx + x];
                const ft_number want = wanted_at(x, (size_t)job.rank * job.rows + row, z);
                wrong += !(fabs(found->re - want.re) < 1e-9 && fabs(found->im - want.im) < 1e-9);
                found->re = found->im = NAN;
            }
        }
    }
    memset(job.ready, 0, job.planes * job.ny * job.nx * sizeof(*job.ready));
    wrong = comm_sum(wrong);
    comm_meet();
    return wrong;
}

/* ---- the program -------------------------------------------------------------------------- */

enum { COMPUTE, EXCHANGE, BLOCKING, SLABS_ALONE, SLABS, PENCILS_ALONE, PENCILS, TIMES };

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static uint64_t play(size_t rounds, double *seconds)
{
    static double times[TIMES][ROUNDS_MAX];
    static const piece by[] = { [BLOCKING] = ALL, [SLABS] = SLAB, [PENCILS] = PENCIL };
    uint64_t wrong = 0;
    for (size_t round = 0; round < rounds; round++) {
        times[COMPUTE][round] = run(ALL, 1, 0);
        for (int way = BLOCKING; way <= PENCILS; way += 2) {
            times[way - 1][round] = run(by[way], 0, 1);
            times[way][round] = run(by[way], 1, 1);
            if (round == 0)
                wrong += points_wrong();
        }
    }
    for (int way = 0; way < TIMES; way++)
        seconds[way] = median(times[way], rounds);
    return wrong;
}

/* The lengths that the arguments name; false: they are not powers of two that ranks can share. */
static int lengths_read(char **argv)
{
    size_t *const lengths[] = { &job.nx, &job.ny, &job.nz };
    for (int i = 0; i < 3; i++) {
        const unsigned long log2 = strtoul(argv[i + 1], NULL, 10);
        if (log2 < 1 || log2 > LOG2_MAX)
            return 0;
        *lengths[i] = 1ul << log2;
    }
    job.planes = job.nz / (size_t)job.size;
    job.rows = job.ny / (size_t)job.size;
    return job.nz % (size_t)job.size == 0 && job.ny % (size_t)job.size == 0;
}

static size_t arguments_read(int argc, char **argv)
{
    const size_t rounds = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (rounds >= 1 && rounds <= ROUNDS_MAX && lengths_read(argv))
        return rounds;
    if (job.rank == 0)
        fprintf(stderr, "ft: arguments: LOG2_X LOG2_Y LOG2_Z ROUNDS; ranks divide y and z\n");
    comm_meet();
    comm_exit(2);
}

static void print_result(const double *seconds, uint64_t wrong)
{
    static const char *const names[] = { "computing", "exchange alone", "blocking", "slabs alone",
                                         "slabs",     "pencils alone",  "pencils" };
    printf("ft: %s: %d ranks, %zu x %zu x %zu points, %llu wrong\n",
           wrong == 0 ? "verified" : "WRONG", job.size, job.nx, job.ny, job.nz,
           (unsigned long long)wrong);
    for (int way = 0; way < TIMES; way++) {
        printf("  %-15s %10.1f us", names[way], seconds[way] * 1e6);
        if (way >= BLOCKING && way % 2 == 0)
            printf("  hides %5.1f %% of the exchange",
                   100 * (1 - (seconds[way] - seconds[COMPUTE]) / seconds[EXCHANGE]));
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    double seconds[TIMES];
    comm_open(&job, &argc, &argv);
    const size_t rounds = arguments_read(argc, argv);
    const size_t len = job.planes * job.ny * job.nx * sizeof(ft_number);
    job.field = malloc(len);
    job.ready = malloc(len);
    if (job.field == NULL || job.ready == NULL)
        comm_exit(1);
    memset(job.ready, 0, len);
    comm_attach(&job);
    memset(job.turned, 0, len);
    fft_open(&along_x, job.nx);
    fft_open(&along_y, job.ny);
    fft_open(&along_z, job.nz);
    field_fill();
    const uint64_t wrong = play(rounds, seconds);
    if (job.rank == 0)
        print_result(seconds, wrong);
    comm_meet();
    comm_exit(wrong == 0 ? 0 : 1);
}
