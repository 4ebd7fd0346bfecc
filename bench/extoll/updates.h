/* SPDX-License-Identifier: BSD-3-Clause */
/* updates.h: RandomAccess (HPC Challenge) for programs that differ only in how updates travel: a
 * rank's share of the table, the stream, which updates wait for which owner, and whether the table
 * is right in the end. The number of ranks is a power of two.
 *
 * An update of our own share is made at once. Others wait until `batch` of them are for one owner,
 * and go in one message, which its owner answers. An update counts from the moment it is drawn
 * until that answer: at most `look_ahead` do, 1,024 by the rules. With 1 and 1 every update is
 * waited for. */
#ifndef PEN_BENCH_EXTOLL_UPDATES_H
#define PEN_BENCH_EXTOLL_UPDATES_H

#include "../../examples/randomaccess_stream.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    UPDATES_PER_WORD = 4,
    UPDATES_RANKS_MAX = 64,
    UPDATES_LOOK_AHEAD_MAX = 1024,
    UPDATES_BATCH_MAX = 64, /* 512 bytes, which every GASNet carries */
    UPDATES_POLL_EVERY = 8, /* drawn */
};

#define UPDATES_USAGE \
    "[LOG2 of the table's words, 10-30 [LOOK_AHEAD, 1-1024 [BATCH, 1-64 and no more]]]"

typedef struct updates {
    int rank, ranks;
    unsigned log2_words;
    long look_ahead, batch;
    uint64_t words, share,
        count; /* words of the table, words of a rank's part, updates of each rank */
    unsigned share_log2;
    uint64_t *table; /* own part */
    uint64_t buckets[UPDATES_RANKS_MAX][UPDATES_BATCH_MAX];
    int used[UPDATES_RANKS_MAX]; /* filled updates of each bucket */
    long held;                   /* in buckets */
    uint64_t sent, applied;
} updates;

/* How they travel. */
typedef struct updates_way {
    void (*send)(void *context, int owner, const uint64_t *values, int count);
    void (*poll)(void *context); /* takes in: updates_apply, and `applied` for answers */
    void (*end)(
        void *context); /* called when this rank has made its updates; waits until all ranks have */
    void *context;
} updates_way;

/* Reads the rest of the command line. Returns false if there is no such table. */
static inline bool updates_read(updates *u, int count, int argc, char **argv, int next)
{
    long numbers[] = { 16, UPDATES_LOOK_AHEAD_MAX, 1 };
    const long most[] = { 30, UPDATES_LOOK_AHEAD_MAX, UPDATES_BATCH_MAX };
    bool fits =
        count > 0 && count <= UPDATES_RANKS_MAX && (count & (count - 1)) == 0 && argc - next <= 3;
    for (int i = 0; i < 3; i++) {
        if (next + i < argc)
            numbers[i] = strtol(argv[next + i], NULL, 10);
        fits = fits && numbers[i] >= 1 && numbers[i] <= most[i];
    }
    *u = (updates){ .ranks = count,
                    .log2_words = (unsigned)numbers[0],
                    .look_ahead = numbers[1],
                    .batch = numbers[2] };
    return fits && numbers[2] <= numbers[1] && numbers[0] >= 10 && count <= 1 << numbers[0];
}

/* False: no memory. */
static inline bool updates_open(updates *u, int rank)
{
    u->rank = rank;
    u->words = UINT64_C(1) << u->log2_words;
    u->share = u->words / (uint64_t)u->ranks;
    u->share_log2 = (unsigned)__builtin_ctzll(u->share);
    u->count = u->share * UPDATES_PER_WORD;
    u->table = malloc(u->share * sizeof(*u->table));
    if (u->table == NULL)
        return false;
    for (uint64_t i = 0; i < u->share; i++)
        u->table[i] = (uint64_t)rank * u->share + i;
    return true;
}

static inline int updates_owner(const updates *u, uint64_t value)
{
    return (int)((value & (u->words - 1)) >> u->share_log2);
}

/* False: one was not for us. */
static inline bool updates_apply(updates *u, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (updates_owner(u, values[i]) != u->rank)
            return false;
        u->table[values[i] & (u->share - 1)] ^= values[i];
    }
    return true;
}

static inline void updates_flush(updates *u, const updates_way *way, int owner)
{
    int count = u->used[owner];
    if (count == 0)
        return;
    u->used[owner] = 0;
    u->held -= count;
    u->sent += (uint64_t)count; /* before the answer can come */
    way->send(way->context, owner, u->buckets[owner], count);
}

static inline int updates_fullest(const updates *u)
{
    int fullest = 0;
    for (int rank = 1; rank < u->ranks; rank++)
        if (u->used[rank] > u->used[fullest])
            fullest = rank;
    return fullest;
}

static inline void updates_make_room(updates *u, const updates_way *way)
{
    while (u->held + (long)(u->sent - u->applied) >= u->look_ahead) {
        if (u->sent == u->applied || u->held > u->look_ahead / 2)
            updates_flush(u, way, updates_fullest(u));
        else
            way->poll(way->context);
    }
}

/* The timed part. */
static inline void updates_run(updates *u, const updates_way *way)
{
    uint64_t value = stream_at((uint64_t)u->rank * u->count);
    for (uint64_t i = 0; i < u->count; i++) {
        value = stream_next(value);
        int owner = updates_owner(u, value);
        if (owner == u->rank) {
            (void)updates_apply(u, &value, 1);
        } else {
            updates_make_room(u, way);
            u->buckets[owner][u->used[owner]++] = value;
            u->held++;
            if (u->used[owner] == u->batch)
                updates_flush(u, way, owner);
        }
        if (i % UPDATES_POLL_EVERY == 0)
            way->poll(way->context);
    }
    for (int rank = 0; rank < u->ranks; rank++)
        updates_flush(u, way, rank);
    while (u->applied < u->sent)
        way->poll(way->context);
    way->end(way->context);
}

/* Words that are wrong: all updates are made once more, alone, which must undo them. Frees it. */
static inline uint64_t updates_close(updates *u)
{
    uint64_t value = stream_at(0), wrong = 0;
    for (uint64_t i = 0; i < u->count * (uint64_t)u->ranks; i++) {
        value = stream_next(value);
        if (updates_owner(u, value) == u->rank)
            (void)updates_apply(u, &value, 1);
    }
    for (uint64_t i = 0; i < u->share; i++)
        wrong += u->table[i] != (uint64_t)u->rank * u->share + i;
    free(u->table);
    return wrong;
}

/* The line that rank 0 prints: of all ranks the longest time in ns, and packets and stalls. */
static inline void updates_report(const updates *u, const char *name, double ns, double packets,
                                  double stalls)
{
    double all = (double)u->count * u->ranks;
    printf("%s\t%d ranks\t%.0f updates\t%ld ahead\t%ld in a message\t%.6f GUPS\t"
           "%.4f packets/update\t%.4f stalls/update\tverified\n",
           name, u->ranks, all, u->look_ahead, u->batch, all / ns, packets / all, stalls / all);
}

#endif
