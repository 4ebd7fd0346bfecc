/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_lines.c: meeting through flag lines that all ranks of a host share.
 *
 * Up to four ranks: each writes its word to its own line and reads the lines of its peers, which
 * takes one hop. A rank has a line for each parity, for two reasons. A quick rank may be one phase
 * ahead of a slow reader. And no peer polls the line of the next phase yet, so it can be fetched
 * for writing in advance. A rank never reads its own lines, because that would take them from the
 * peers that poll them.
 *
 * More ranks: a combining tree of nodes with up to eight children each, with the ranks at the
 * bottom. A rank adds its word to its node. The rank that completes a node carries the node's
 * word up. The rank that completes the top writes the result where each bottom group waits for
 * it. So the last rank to arrive does all remaining work. No rank has to poll for peers to pass.
 * With more ranks than cores, a barrier costs each rank one time slice. */
#include "coll/coll_internal.h"

#include "base/compiler.h"
#include "boot/host_page.h"
#include "job/job.h"

#include <stdatomic.h>

/* Line numbers of a rank; each meeting has its own set. The nodes of a level are spread over the
 * ranks at which their spans begin, so every rank has room for one node of each level. */
enum {
    LINE_ARRIVAL = 0, /* two, by parity, in separate pairs of lines: one word each */
    LINE_NOTE = 1,
    LINE_RELEASE = 4, /* one word: the result, for the bottom group that this rank begins */
    LINE_NODE = 5,    /* one word a line, by level */
    LINES_PER_MEET = 16,
    TREE_RADIX = 8,
    TREE_LEVELS_MAX = LINES_PER_MEET - LINE_NODE,
};

_Static_assert(PEN_MEETS *LINES_PER_MEET <= PEN_HOST_LINES, "lines are a fixed resource");

/* A node's word while children arrive: content as in a rank's word, and the number of children
 * that have arrived in place of the phase. */
#define NODE_ONE_MORE ((uint64_t)1 << PEN_WORD_PHASE_SHIFT)

static _Atomic uint64_t *line(const pen_meet *meet, uint32_t rank, uint32_t line_i)
{
    size_t lines = (size_t)rank * PEN_HOST_LINES + (size_t)meet->index * LINES_PER_MEET + line_i;
    return (_Atomic uint64_t *)(void *)(meet->lines + lines * PEN_CACHE_LINE);
}

static _Atomic uint64_t *arrival(const pen_meet *meet, uint32_t rank, uint32_t phase)
{
    return line(meet, rank, LINE_ARRIVAL + 2 * (phase & 1));
}

void pen_lines_note(const pen_meet *meet, uint32_t number, uint32_t history)
{
    /* relaxed, here and below: nothing is read through it */
    atomic_store_explicit(line(meet, meet->job->rank, LINE_NOTE),
                          (uint64_t)history << 32 | (uint32_t)(number + 1), memory_order_relaxed);
}

uint64_t pen_lines_note_of(const pen_meet *meet, uint32_t rank)
{
    return atomic_load_explicit(line(meet, rank, LINE_NOTE), memory_order_relaxed);
}

bool pen_lines_noted(const pen_meet *meet, uint32_t rank, uint32_t number)
{
    return (uint32_t)pen_lines_note_of(meet, rank) == (uint32_t)(number + 1);
}

static void wake(const pen_meet *meet, uint32_t rank)
{
    if (rank != meet->job->rank)
        meet->job->host.wake(meet->job->host.ctx, rank);
}

static void wake_all(const pen_meet *meet)
{
    for (uint32_t rank = 0; rank < meet->job->size; rank++)
        wake(meet, rank);
}

/* ---- few ranks ------------------------------------------------------------------------------- */

static void flat_look(pen_meet *meet, memory_order order)
{
    const pen_job *job = meet->job;
    uint64_t result = meet->combined;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (rank == job->rank)
            continue;
        uint64_t word = atomic_load_explicit(arrival(meet, rank, meet->phase), order);
        if (!pen_word_is_of(word, meet->phase))
            return;
        result = pen_word_combine(result, word & PEN_WORD_CONTENT);
    }
    pen_meet_complete(meet, result);
}

static void flat_arrive(pen_meet *meet, uint64_t content)
{
    const pen_job *job = meet->job;
    _Atomic uint64_t *mine = arrival(meet, job->rank, meet->phase);
    uint64_t word = pen_word_of(content, meet->phase);
    meet->combined = content & PEN_WORD_CONTENT;
    if (job->size == 2) {
        /* release: pairs with the acquire in flat_look; peers that see this word see our earlier
         * stores */
        atomic_store_explicit(mine, word, memory_order_release);
        pen_prefetch_to_write(arrival(meet, job->rank, meet->phase + 1));
        wake(meet, 1 - job->rank);
        return;
    }
    /* seq_cst, as are the loads: if several ranks arrive at the same moment, the last in that
     * order sees all words. So exactly the arrival that completes the phase wakes sleepers. */
    atomic_store_explicit(mine, word, memory_order_seq_cst);
    flat_look(meet, memory_order_seq_cst);
    pen_prefetch_to_write(arrival(meet, job->rank, meet->phase + 1));
    if (meet->met)
        wake_all(meet);
}

/* ---- many ranks ------------------------------------------------------------------------------ */

/* Adds a word to a node. Returns true if that completes the node; *content is then the
 * combination, and the node is empty again. */
static bool node_add(_Atomic uint64_t *node, uint32_t children, uint64_t *content)
{
    /* acquire, here and on failure, release on success: additions pass each rank's earlier
     * stores on to the rank that completes the node */
    uint64_t old = atomic_load_explicit(node, memory_order_acquire);
    uint64_t sum, count;
    do {
        count = (old >> PEN_WORD_PHASE_SHIFT) + 1;
        sum = count == 1 ? *content : pen_word_combine(old & PEN_WORD_CONTENT, *content);
        if (count == children) {
            /* Only the last child uses the node now. No rank adds to it before the release
             * below, which orders this relaxed store before the next phase's additions. */
            atomic_store_explicit(node, 0, memory_order_relaxed);
            *content = sum;
            return true;
        }
    } while (!atomic_compare_exchange_weak_explicit(node, &old, sum | count * NODE_ONE_MORE,
                                                    memory_order_acq_rel, memory_order_acquire));
    return false;
}

static void tree_release(pen_meet *meet, uint64_t content)
{
    uint64_t word = pen_word_of(content, meet->phase);
    for (uint32_t first = 0; first < meet->job->size; first += TREE_RADIX) {
        /* release: pairs with the acquire in tree_look */
        atomic_store_explicit(line(meet, first, LINE_RELEASE), word, memory_order_release);
    }
    pen_meet_complete(meet, content);
    wake_all(meet);
}

static void tree_arrive(pen_meet *meet, uint64_t content)
{
    const pen_job *job = meet->job;
    uint64_t span = 1; /* ranks below one child */
    for (uint32_t level = 0; span < job->size; level++) {
        PEN_INVARIANT(level < TREE_LEVELS_MAX);
        uint64_t node_span = span * TREE_RADIX;
        uint32_t first = (uint32_t)(job->rank / node_span * node_span);
        uint64_t below = job->size - first < node_span ? job->size - first : node_span;
        uint32_t children = (uint32_t)((below + span - 1) / span);
        if (!node_add(line(meet, first, LINE_NODE + level), children, &content))
            return;
        span = node_span;
    }
    tree_release(meet, content);
}

static void tree_look(pen_meet *meet)
{
    uint32_t first = meet->job->rank / TREE_RADIX * TREE_RADIX;
    /* acquire: pairs with the release in tree_release */
    uint64_t word = atomic_load_explicit(line(meet, first, LINE_RELEASE), memory_order_acquire);
    if (pen_word_is_of(word, meet->phase))
        pen_meet_complete(meet, word);
}

/* ---- either ---------------------------------------------------------------------------------- */

void pen_lines_arrive(pen_meet *meet, uint64_t content)
{
    if (meet->job->size <= PEN_MEET_ALL_SEE_ALL_MAX)
        flat_arrive(meet, content);
    else
        tree_arrive(meet, content);
}

void pen_lines_look(pen_meet *meet)
{
    if (meet->job->size <= PEN_MEET_ALL_SEE_ALL_MAX)
        flat_look(meet, memory_order_acquire);
    else
        tree_look(meet);
}
