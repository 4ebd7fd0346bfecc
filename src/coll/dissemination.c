/* SPDX-License-Identifier: BSD-3-Clause */
/* dissemination.c: meeting by messages. In round i each rank sends its combined word to the rank
 * 2^i after it and waits for the word of the rank 2^i before it. After ceil(log2 ranks) rounds
 * every rank has the words of all ranks. A word that comes early is kept. The handler of a word
 * sends the next one, so a rank that only polls delays no peer. */
#include "am/am.h"
#include "coll/coll_internal.h"
#include "conduit/conduit.h"
#include "job/job.h"

static uint32_t rounds(uint32_t ranks)
{
    uint32_t count = 0;
    while ((uint64_t)1 << count < ranks)
        count++;
    return count;
}

static void send(const pen_meet *meet)
{
    pen_job *job = meet->job;
    uint32_t to = (uint32_t)((job->rank + ((uint64_t)1 << meet->round)) % job->size);
    int32_t args[PEN_MEET_ARGS] = { (int32_t)meet->index, (int32_t)meet->phase,
                                    (int32_t)meet->round, (int32_t)(meet->combined >> 32),
                                    (int32_t)(uint32_t)meet->combined };
    (void)pen_am_send_internal(job, to, PEN_LANE_CONTROL, PEN_AM_INT_BARRIER, PEN_MEET_ARGS, args,
                               NULL, 0);
}

static void advance(pen_meet *meet)
{
    uint32_t slot_i = meet->phase & 1, count = rounds(meet->job->size);
    while (meet->slots[slot_i].received >> meet->round & 1) {
        meet->combined = pen_word_combine(meet->combined, meet->slots[slot_i].word[meet->round]);
        if (++meet->round == count)
            break;
        send(meet);
    }
    if (meet->round == count) {
        meet->slots[slot_i].received = 0; /* for the phase after the next one */
        pen_meet_complete(meet, meet->combined);
    }
}

void pen_dissemination_arrive(pen_meet *meet, uint64_t content)
{
    meet->combined = content;
    meet->round = 0;
    if (meet->job->size > 1)
        send(meet);
    advance(meet);
}

void pen_dissemination_look(pen_meet *meet) { (void)meet; /* arriving words advance the meeting */ }

bool pen_dissemination_receive(pen_meet *meet, pen_peer from, uint32_t phase, uint32_t round,
                               uint64_t content)
{
    const pen_job *job = meet->job;
    bool now = meet->underway && !meet->met && phase == meet->phase,
         next = phase == meet->phase + 1;
    if (round >= rounds(job->size) || !(now || next) ||
        from !=
            (uint32_t)((job->rank + job->size - ((uint64_t)1 << round) % job->size) % job->size))
        return false;
    uint32_t slot_i = phase & 1, bit = (uint32_t)1 << round;
    if (meet->slots[slot_i].received & bit)
        return false;
    meet->slots[slot_i].received |= bit;
    meet->slots[slot_i].word[round] = content & PEN_WORD_CONTENT;
    if (now)
        advance(meet);
    return true;
}
