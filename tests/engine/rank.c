/* SPDX-License-Identifier: BSD-3-Clause */
/* rank.c: the work of a rank: joins, exchanges messages with every rank, checks the results,
 * leaves. */
#include "engine.h"

#include "../sim/age.h"

#include "am/am.h"
#include "atomic/atomic.h"
#include "boot/control.h"
#include "coll/barrier.h"
#include "coll/coll.h"
#include "job/publish.h"
#include "reliable/protocol.h"
#include "reliable/reliable.h"
#include "rma/rma.h"

#include <penstock/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { ASK = 200, ASK_WITH, TELL, TELL_WITH, HANDLERS = 4, TURNS = 3, BROADCAST_LEN = 3000 };

static eng_rank *rank_of(void *token) { return (eng_rank *)((pen_token *)token)->job; }

/* ---- messages: all about one follows from its number ------------------------------------------
 */

static uint64_t hash_of(uint64_t value)
{
    pen_sim_dice dice = { value };
    return pen_sim_next(&dice);
}

static uint32_t sender_of(const eng_world *world, uint32_t id) { return id / world->plan.messages; }

static bool wants_answer(uint32_t id) { return hash_of(id) % 4 != 0; }

static uint32_t check_word(uint32_t id) { return (uint32_t)(hash_of(id) >> 32) ^ id; }

#define FILL_STEP UINT64_C(0x9e3779b97f4a7c15)

static void fill(void *bytes, size_t len, uint64_t what)
{
    unsigned char *at = bytes;
    for (; len >= sizeof what; at += sizeof what, len -= sizeof what, what += FILL_STEP)
        memcpy(at, &what, sizeof what);
    memcpy(at, &what, len);
}

static bool is_filled(const void *bytes, size_t len, uint64_t what)
{
    const unsigned char *at = bytes;
    uint64_t apart = 0;
    for (; len >= sizeof what; at += sizeof what, len -= sizeof what, what += FILL_STEP) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        apart |= word ^ what;
    }
    return apart == 0 && (len == 0 || memcmp(at, &what, len) == 0);
}

static void expect_message(const eng_rank *mine, const pen_token *token, uint32_t id, uint32_t word,
                           const void *body, size_t len)
{
    const eng_world *world = mine->world;
    if (id >= world->plan.ranks * world->plan.messages || word != check_word(id) ||
        !is_filled(body, len, hash_of(id)))
        engine_fail(world, "rank %u hears from rank %u what was not said: message %u, %zu bytes",
                    mine->job.rank, token->from, id, len);
}

static void note_message(eng_rank *mine, pen_token *token, uint32_t id, uint32_t word, void *body,
                         size_t len)
{
    eng_world *world = mine->world;
    expect_message(mine, token, id, word, body, len);
    if (sender_of(world, id) != token->from)
        engine_fail(world, "rank %u hears message %u from rank %u", mine->job.rank, id,
                    token->from);
    if (world->handled[id]++ != 0)
        engine_fail(world, "rank %u handles message %u of rank %u twice", mine->job.rank, id,
                    token->from);
    world->handled_count++;
    if (!wants_answer(id))
        return;
    uint64_t words[PEN_AM_WORDS_MAX] = { 0, (uint64_t)check_word(id) << 32 | id };
    size_t answer_len = hash_of(id) % 3 == 0 ? hash_of(id) % 500 : 0;
    char answer[512];
    fill(answer, answer_len, hash_of(id));
    if (answer_len != 0)
        (void)pen_am_reply_medium(token, TELL_WITH, answer, answer_len, 0, 2, words);
    else
        (void)pen_am_reply_short(token, TELL, 0, 2, words);
}

static void note_answer(eng_rank *mine, pen_token *token, uint32_t id, uint32_t word, void *body,
                        size_t len)
{
    eng_world *world = mine->world;
    expect_message(mine, token, id, word, body, len);
    if (sender_of(world, id) != mine->job.rank || !wants_answer(id) || world->handled[id] != 1)
        engine_fail(world, "rank %u gets an answer to message %u, which wants none of it",
                    mine->job.rank, id);
    if (world->answered[id]++ != 0)
        engine_fail(world, "rank %u gets a second answer to message %u", mine->job.rank, id);
    mine->answers++;
    if (mine->longs[token->from] == id + 1) /* its place is free */
        mine->longs[token->from] = 0;
}

static void ask(pen_token *token, int32_t id, int32_t word)
{
    note_message(rank_of(token), token, (uint32_t)id, (uint32_t)word, NULL, 0);
}

static void ask_with(pen_token *token, void *body, size_t len, int32_t id, int32_t word)
{
    note_message(rank_of(token), token, (uint32_t)id, (uint32_t)word, body, len);
}

static void tell(pen_token *token, int32_t id, int32_t word)
{
    note_answer(rank_of(token), token, (uint32_t)id, (uint32_t)word, NULL, 0);
}

static void tell_with(pen_token *token, void *body, size_t len, int32_t id, int32_t word)
{
    note_answer(rank_of(token), token, (uint32_t)id, (uint32_t)word, body, len);
}

static void register_handlers(eng_rank *mine)
{
    pen_am_entry entries[HANDLERS] = {
        { ASK, (void (*)(void))ask, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL, "ask" },
        { ASK_WITH, (void (*)(void))ask_with, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, 2, NULL,
          "ask_with" },
        { TELL, (void (*)(void))tell, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, NULL, "tell" },
        { TELL_WITH, (void (*)(void))tell_with, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2, NULL,
          "tell_with" },
    };
    if (pen_am_register(&mine->job, &mine->job.log, entries, HANDLERS) != PEN_OK)
        engine_fail(mine->world, "rank %u cannot register handlers", mine->job.rank);
}

/* The area for this rank's data in a peer's segment: the first half for Longs, the second for
 * puts. */
static char *stripe_of(const eng_rank *mine, uint32_t peer)
{
    return (char *)(uintptr_t)mine->segments[peer] +
           (size_t)mine->job.rank * mine->world->plan.stripe_len;
}

static void send_message(eng_rank *mine, uint32_t peer)
{
    uint32_t id = mine->job.rank * mine->world->plan.messages + mine->sent++;
    uint64_t words[PEN_AM_WORDS_MAX] = { 0, (uint64_t)check_word(id) << 32 | id };
    pen_team *team = &mine->job.world;
    mine->answers_due += wants_answer(id);
    bool is_long = hash_of(id) % 8 == 7 && wants_answer(id) && mine->longs[peer] == 0;
    bool has_body = is_long || hash_of(id) % 8 >= 5;
    size_t most = is_long ? mine->world->plan.stripe_len / 2
                          : sizeof mine->buffer; /* length of a Medium: more than a frame */
    size_t len = has_body ? (size_t)pen_sim_log_uniform(&mine->dice, 1, most) : 0;
    fill(mine->buffer, len, hash_of(id));
    if (is_long) {
        mine->longs[peer] = id + 1;
        (void)pen_am_request_long(team, peer, ASK_WITH, mine->buffer, len, stripe_of(mine, peer), 0,
                                  2, words);
    } else if (has_body) {
        (void)pen_am_request_medium(team, peer, ASK_WITH, mine->buffer, len, 0, 2, words);
    } else {
        (void)pen_am_request_short(team, peer, ASK, 0, 2, words);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void put_and_get(eng_rank *mine, uint32_t peer)
{
    size_t half = mine->world->plan.stripe_len / 2;
    size_t len = (size_t)pen_sim_log_uniform(&mine->dice, 1, half);
    uint64_t what = pen_sim_next(&mine->dice);
    char *there = stripe_of(mine, peer) + half;
    pen_thread *thread = &mine->job.first_thread;
    fill(mine->buffer, len, what);
    (void)pen_rma_put(thread, &mine->job.world, peer, there, mine->buffer, len, 0);
    memset(mine->buffer, 0, len);
    (void)pen_rma_get(thread, &mine->job.world, mine->buffer, peer, there, len, 0);
    if (!is_filled(mine->buffer, len, what))
        engine_fail(mine->world, "rank %u reads %zu bytes of rank %u that it did not write",
                    mine->job.rank, len, peer);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void meet(eng_rank *mine)
{
    pen_event_wait(&mine->job, pen_coll_barrier_nb(&mine->job.first_thread, &mine->job.world),
                   PEN_CALL_EVENT_WAIT);
}

static void add_up(eng_rank *mine, uint64_t turn)
{
    const uint64_t size = mine->job.size;
    uint64_t part = mine->job.rank + turn, sum = 0;
    const pen_reduction reduction = {
        .type = GEX_DT_U64, .operation = GEX_OP_ADD, .element_len = sizeof part, .count = 1
    };
    pen_event_wait(&mine->job,
                   pen_coll_reduce_nb(&mine->job.first_thread, &mine->job.world, PEN_COLL_ALL, &sum,
                                      &part, &reduction),
                   PEN_CALL_EVENT_WAIT);
    if (sum != size * (size - 1) / 2 + size * turn)
        engine_fail(mine->world, "rank %u gets a sum of %lu", mine->job.rank, (unsigned long)sum);
}

static void broadcast(eng_rank *mine, uint32_t root)
{
    char bytes[BROADCAST_LEN];
    memset(bytes, 0, sizeof bytes);
    if (mine->job.rank == root)
        fill(bytes, sizeof bytes, root);
    pen_event_wait(&mine->job,
                   pen_coll_broadcast_nb(&mine->job.first_thread, &mine->job.world, root, bytes,
                                         bytes, sizeof bytes),
                   PEN_CALL_EVENT_WAIT);
    if (!is_filled(bytes, sizeof bytes, root))
        engine_fail(mine->world, "rank %u gets the wrong broadcast of rank %u", mine->job.rank,
                    root);
}

/* ---- from start to end ------------------------------------------------------------------------
 */

static void expect_ok(const eng_rank *mine, pen_status status, const char *what)
{
    if (status != PEN_OK)
        engine_fail(mine->world, "rank %u: %s: %s", mine->job.rank, what, pen_status_text(status));
}

/* Called when the rank is told to end: the fiber does not run again. */
static void end_rank(pen_job *job, int code)
{
    eng_rank *mine = (eng_rank *)job;
    eng_world *world = mine->world;
    mine->status = code;
    mine->phase = RANK_OVER;
    world->over++;
    supervisor_tell_end(world, job->rank, code);
    world_leave(mine);
}

static void end_if_told(eng_rank *mine)
{
    int code;
    if (pen_boot_check(&mine->job.boot, &code))
        end_rank(&mine->job, code);
}

static uint64_t turn_now_ns(void *ctx)
{
    const eng_rank *mine = ctx;
    return mine->world->network.now_ns;
}

static void join(eng_rank *mine)
{
    const pen_job_params params = { .mode = PEN_MODE_SEQ,
                                    .segment_mode = PEN_SEGMENT_FAST,
                                    .segment_max = "1G",
                                    .deliver = pen_am_deliver,
                                    .deliver_head = { pen_am_deliver_request,
                                                      pen_am_deliver_reply },
                                    .clock = { turn_now_ns, mine },
                                    .end = end_rank };
    pen_job *job = &mine->job;
    (void)pen_control_send(job->boot.control_fd, PEN_CONTROL_JOINED, 0, NULL, true);
    pen_status status = pen_job_open(job, &params);
    if (status == PEN_ERR_PEER_LOST)
        end_if_told(mine);
    expect_ok(mine, status, "joining");
    if (mine->world->plan.near_wrap)
        sim_age((pen_rel_core *)(uintptr_t)pen_reliable_core(job->progress.ports[0].link));
    expect_ok(mine, pen_am_open(job), "pen_am_open");
    expect_ok(mine, pen_rma_open(job), "pen_rma_open");
    expect_ok(mine, pen_atomic_open(job), "pen_atomic_open");
    expect_ok(mine, pen_coll_open(job), "pen_coll_open");
    register_handlers(mine);
    pen_segment *segment = NULL;
    size_t len = pen_align_up((size_t)job->size * mine->world->plan.stripe_len, PEN_SEGMENT_GRAIN);
    mine->segment =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    expect_ok(mine, pen_mem_create(&job->mem, &job->log, mine->segment, len, &segment),
              "pen_mem_create");
    status = pen_boot_barrier(&job->boot);
    if (status == PEN_OK)
        status = pen_job_publish(job, segment);
    if (status == PEN_ERR_PEER_LOST)
        end_if_told(mine);
    expect_ok(mine, status, "publishing the segment");
    for (uint32_t peer = 0; peer < job->size; peer++)
        mine->segments[peer] = job->mem.remote[0][peer].base;
}

static void talk(eng_rank *mine)
{
    const eng_plan *plan = &mine->world->plan;
    const uint32_t turn_len = plan->messages / TURNS + 1;
    world_talk_begins(mine->world);
    for (uint32_t i = 0; i < plan->messages; i++) {
        send_message(mine, pen_sim_below(&mine->dice, mine->job.size));
        if (plan->idle != 0 && pen_sim_hits(&mine->dice, plan->idle))
            world_compute(mine, pen_sim_next(&mine->dice) % plan->compute_ns);
        if (i % 8 == 0)
            (void)pen_progress_poll(&mine->job.progress);
        if (pen_sim_below(&mine->dice, 32) == 0)
            put_and_get(mine, pen_sim_below(&mine->dice, mine->job.size));
        if (i % turn_len == turn_len - 1) {
            add_up(mine, i);
            broadcast(mine, i % mine->job.size);
        }
    }
    const uint64_t all = (uint64_t)plan->messages * plan->ranks;
    pen_waiter waiter = pen_waiter_of(&mine->job.progress, true);
    while (mine->answers < mine->answers_due || mine->world->handled_count < all)
        pen_wait_step(&waiter);
}

/* Returns whether no message is under way. */
static bool is_quiet(const eng_world *world)
{
    for (uint32_t self = 0; self < world->plan.ranks; self++)
        if (pen_reliable_core(world->ranks[self].job.progress.ports[0].link)->record_bytes != 0)
            return false;
    return true;
}

/* Rank 0 calls it once, when all ranks have all messages. */
static void settle(eng_rank *mine)
{
    eng_world *world = mine->world;
    const uint32_t all = world->plan.ranks * world->plan.messages;
    pen_waiter waiter = pen_waiter_of(&mine->job.progress, true);
    while (!is_quiet(world))
        pen_wait_step(&waiter);
    for (uint32_t id = 0; id < all; id++)
        if (world->handled[id] != 1 || world->answered[id] != wants_answer(id))
            engine_fail(world, "message %u is handled %u times and answered %u times", id,
                        world->handled[id], world->answered[id]);
    for (uint32_t self = 0; self < world->plan.ranks; self++) {
        pen_rel_counts counts = pen_reliable_read(world->ranks[self].job.progress.ports[0].link);
        world->resent += counts.resent;
        world->duplicates += counts.duplicates;
        for (uint32_t peer = 0; peer < world->plan.ranks; peer++)
            check_pair(world, self, peer, true);
    }
    world->is_settled = true;
}

static bool idle(void *ctx)
{
    eng_rank *mine = ctx;
    (void)pen_progress_poll(&mine->job.progress);
    world_hand_over(mine);
    return true;
}

static void leave(eng_rank *mine)
{
    pen_job *job = &mine->job;
    pen_boot_leave(&job->boot, 0, idle, mine);
    end_if_told(mine);
    pen_coll_close(job);
    pen_atomic_close(job);
    pen_rma_close(job);
    pen_am_close(job);
    pen_job_close(job);
}

void rank_main(eng_rank *mine)
{
    join(mine);
    talk(mine);
    meet(mine);
    if (mine->job.rank == 0)
        settle(mine);
    meet(mine);
    leave(mine);
    end_rank(&mine->job, 0);
}

/* ---- its place in the world --------------------------------------------------------------------
 */

static void turn_wait(void *ctx) { world_hand_over(ctx); }

void rank_open(eng_world *world, uint32_t self)
{
    static char *no_environment[] = { NULL };
    eng_rank *mine = &world->ranks[self];
    pen_job *job = &mine->job;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        engine_fail(world, "no more sockets: raise the limit of open files (ulimit -n)");
    mine->world = world;
    mine->control = ends[0];
    mine->turns = (pen_turns){ .wait = turn_wait, .yield = turn_wait, .ctx = mine };
    mine->dice.state = hash_of(world->plan.seed) + self;
    pen_sim_queue_init(&mine->inbox);
    mine->segments = calloc(world->plan.ranks, sizeof *mine->segments);
    mine->longs = calloc(world->plan.ranks, sizeof *mine->longs);
    if (mine->segments == NULL || mine->longs == NULL)
        abort();
    job->rank = self;
    pen_log_init(&job->log, "");
    job->boot = (pen_boot){ .log = &job->log,
                            .rank = self,
                            .size = world->plan.ranks,
                            .control_fd = ends[1],
                            .arena_fd = -1,
                            .arena = world->arena,
                            .arena_len = world->arena_len,
                            .page = (pen_host_page *)(void *)world->arena,
                            .environment = no_environment,
                            .launcher = "a seed",
                            .turns = &mine->turns };
}

void rank_close(eng_rank *mine)
{
    for (pen_sim_datagram *first; (first = pen_sim_queue_take(&mine->inbox)) != NULL;)
        pen_sim_datagram_free(&mine->world->network, first);
    if (mine->segment != NULL)
        (void)munmap(mine->segment,
                     pen_align_up((size_t)mine->world->plan.ranks * mine->world->plan.stripe_len,
                                  PEN_SEGMENT_GRAIN));
    free(mine->segments);
    free(mine->longs);
    free(mine->left);
}
