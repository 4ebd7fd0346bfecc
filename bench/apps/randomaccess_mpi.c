/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_mpi.c: RandomAccess of the HPC Challenge in MPI, beside examples/randomaccess.c. By
 * its rules a rank may hold back 1,024 updates to send many at a time. Two ways:
 *
 * alltoall  every rank draws 1,024 updates, sorts them by owner, and all ranks exchange them
 * isend     every rank fills one bucket for each owner; when they hold 1,024 updates the fullest is
 *           sent, while a receive from anybody is always posted
 *
 * The number of ranks is a power of two, which makes an update's owner a shift.
 *
 *     mpiexec -n 4 randomaccess_mpi alltoall|isend LOG2 */
#include "../../examples/randomaccess_stream.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_AHEAD = 1024, UPDATES_PER_WORD = 4, TAG_UPDATES = 1, TAG_END };

static struct job {
    int rank, size;
    unsigned log2, share_log2;
    uint64_t words, share;
    uint64_t *table;
    uint64_t *buckets; /* LOOK_AHEAD words for each rank */
    int *used;         /* words in use, for each rank */
} job;

static inline int owner_of(uint64_t update)
{
    return (int)((update & (job.words - 1)) >> job.share_log2);
}

static inline void apply(const uint64_t *updates, size_t count)
{
    for (size_t i = 0; i < count; i++)
        job.table[updates[i] & (job.share - 1)] ^= updates[i];
}

/* ---- alltoall ----------------------------------------------------------------------------- */

static void exchange(uint64_t *received, int *from_used, int *places, int *from_places)
{
    size_t all = 0;
    MPI_Alltoall(job.used, 1, MPI_INT, from_used, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0; rank < job.size; rank++) {
        places[rank] = rank * LOOK_AHEAD;
        from_places[rank] = (int)all;
        all += (size_t)from_used[rank];
    }
    MPI_Alltoallv(job.buckets, job.used, places, MPI_UINT64_T, received, from_used, from_places,
                  MPI_UINT64_T, MPI_COMM_WORLD);
    apply(received, all);
}

static void play_alltoall(void)
{
    const uint64_t count = job.share * UPDATES_PER_WORD;
    uint64_t *received = malloc((size_t)job.size * LOOK_AHEAD * sizeof(*received));
    int *lists = malloc(3 * (size_t)job.size * sizeof(*lists));
    if (received == NULL || lists == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    uint64_t value = stream_at((uint64_t)job.rank * count);
    for (uint64_t drawn = 0; drawn < count;) {
        memset(job.used, 0, (size_t)job.size * sizeof(*job.used));
        for (int i = 0; i < LOOK_AHEAD && drawn < count; i++, drawn++) {
            value = stream_next(value);
            const int owner = owner_of(value);
            job.buckets[(size_t)owner * LOOK_AHEAD + (size_t)job.used[owner]++] = value;
        }
        exchange(received, lists, lists + job.size, lists + 2 * job.size);
    }
    free(lists);
    free(received);
}

/* ---- isend -------------------------------------------------------------------------------- */

typedef struct mail {
    uint64_t received[LOOK_AHEAD], sent[LOOK_AHEAD];
    MPI_Request receive, send;
    int ended; /* ranks that will send nothing more */
} mail;

static void mail_post(mail *self)
{
    MPI_Irecv(self->received, LOOK_AHEAD, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
              &self->receive);
}

static void mail_poll(mail *self)
{
    int done = 0, count = 0;
    MPI_Status status;
    MPI_Test(&self->receive, &done, &status);
    if (!done)
        return;
    if (status.MPI_TAG == TAG_END) {
        self->ended++;
    } else {
        MPI_Get_count(&status, MPI_UINT64_T, &count);
        apply(self->received, (size_t)count);
    }
    if (self->ended < job.size - 1)
        mail_post(self);
}

static bool mail_may_send(mail *self)
{
    int done = 0;
    MPI_Test(&self->send, &done, MPI_STATUS_IGNORE);
    return done;
}

/* Sends the fullest bucket; answers how many updates it held, 0 if it is not yet possible. */
static int mail_send_fullest(mail *self)
{
    int fullest = 0;
    if (!mail_may_send(self))
        return 0;
    for (int rank = 1; rank < job.size; rank++)
        if (job.used[rank] > job.used[fullest])
            fullest = rank;
    const int used = job.used[fullest];
    memcpy(self->sent, job.buckets + (size_t)fullest * LOOK_AHEAD,
           (size_t)used * sizeof(*self->sent));
    job.used[fullest] = 0;
    MPI_Isend(self->sent, used, MPI_UINT64_T, fullest, TAG_UPDATES, MPI_COMM_WORLD, &self->send);
    return used;
}

static void play_isend(void)
{
    static mail post;
    const uint64_t count = job.share * UPDATES_PER_WORD;
    uint64_t value = stream_at((uint64_t)job.rank * count);
    int held = 0;
    post = (mail){ .send = MPI_REQUEST_NULL, .receive = MPI_REQUEST_NULL };
    memset(job.used, 0, (size_t)job.size * sizeof(*job.used));
    if (job.size > 1)
        mail_post(&post);
    for (uint64_t drawn = 0; drawn < count || held > 0;) {
        while (drawn < count && held < LOOK_AHEAD) {
            value = stream_next(value);
            drawn++;
            const int owner = owner_of(value);
            if (owner == job.rank) {
                apply(&value, 1);
            } else {
                job.buckets[(size_t)owner * LOOK_AHEAD + (size_t)job.used[owner]++] = value;
                held++;
            }
        }
        if (held > 0)
            held -= mail_send_fullest(&post);
        if (job.size > 1)
            mail_poll(&post);
    }
    for (int rank = 0; rank < job.size; rank++)
        if (rank != job.rank)
            MPI_Send(NULL, 0, MPI_UINT64_T, rank, TAG_END, MPI_COMM_WORLD);
    while (post.ended < job.size - 1)
        mail_poll(&post);
    MPI_Wait(&post.send, MPI_STATUS_IGNORE);
}

/* ---- start -------------------------------------------------------------------------------- */

/* Replays all updates without communication; each word must be its index again. */
static unsigned long long table_errors(void)
{
    const uint64_t first = (uint64_t)job.rank * job.share;
    unsigned long long errors = 0, all = 0;
    uint64_t value = stream_at(0);
    for (uint64_t update_i = 0; update_i < job.words * UPDATES_PER_WORD; update_i++) {
        value = stream_next(value);
        if (owner_of(value) == job.rank)
            apply(&value, 1);
    }
    for (uint64_t place = 0; place < job.share; place++)
        errors += job.table[place] != first + place;
    MPI_Allreduce(&errors, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void table_open(void)
{
    job.words = 1ull << job.log2;
    job.share = job.words / (uint64_t)job.size;
    job.share_log2 = (unsigned)__builtin_ctzll(job.share);
    job.table = malloc(job.share * sizeof(*job.table));
    job.buckets = malloc((size_t)job.size * LOOK_AHEAD * sizeof(*job.buckets));
    job.used = malloc((size_t)job.size * sizeof(*job.used));
    if (job.table == NULL || job.buckets == NULL || job.used == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (uint64_t place = 0; place < job.share; place++)
        job.table[place] = (uint64_t)job.rank * job.share + place;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.log2 = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    const bool alltoall = argc == 3 && strcmp(argv[1], "alltoall") == 0;
    if (job.log2 < 1 || job.log2 > 40 || (job.size & (job.size - 1)) != 0 ||
        (1ull << job.log2) < (uint64_t)job.size)
        MPI_Abort(MPI_COMM_WORLD, 2);
    table_open();

    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    if (alltoall)
        play_alltoall();
    else
        play_isend();
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start_s;
    const unsigned long long errors = table_errors();
    if (job.rank == 0)
        printf("randomaccess: %s: %d ranks, GUPS      %.6f\n", errors == 0 ? "verified" : "WRONG",
               job.size, (double)job.words * UPDATES_PER_WORD / seconds / 1e9);
    MPI_Finalize();
    return errors == 0 ? 0 : 1;
}
