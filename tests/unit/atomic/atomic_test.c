/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_test.c: every operation on every type by every way, against the model; what a peer may
 * send instead; what the client may not do; both ways to one location at once. */
#include "atomic/atomic.h"

#include "am/am.h"
#include "atomic/atomic_internal.h"
#include "os/os.h"
#include "rma/rma.h"
#include "support/atomic_model.h"
#include "support/ranks.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 3, SEGMENT_LEN = 4096, OUTSTANDING = 16, ROUNDS = 3000 };

static void open_world(ranks *world, const ranks_params *params)
{
    ranks_open(world, params);
    for (uint32_t rank = 0; rank < params->size; rank++) {
        assert_int_equal(pen_rma_open(&world->jobs[rank]), PEN_OK);
        assert_int_equal(pen_atomic_open(&world->jobs[rank]), PEN_OK);
    }
}

static void close_world(ranks *world)
{
    for (uint32_t rank = 0; rank < world->params.size; rank++) {
        pen_atomic_close(&world->jobs[rank]);
        pen_rma_close(&world->jobs[rank]);
    }
    ranks_close(world);
}

/* ---- against the model ----------------------------------------------------------------------- */

/* Operations under way, each on a word of its own, which the model follows. */
typedef struct trial {
    ranks world;
    pen_thread *thread;
    pen_atomic_domain *domains[MODEL_TYPES];
    struct {
        pen_event *event;
        uint64_t result, expected;
        size_t result_len; /* 0: the operation fetches nothing, and result stays as it was */
        char *target;
        uint64_t after;
        size_t len;
    } operations[OUTSTANDING];
    uint32_t count;
} trial;

#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)

static uint64_t draw_value(trial *t, uint32_t type)
{
    if (model_is_float(type)) {
        const double zeros[] = { 0.0, -0.0 };
        const uint32_t drawn = ranks_random(&t->world, 300);
        return model_float_bits(type, drawn < 200 ? (double)drawn / 4 - 25 : zeros[drawn % 2]);
    }
    static const uint64_t edges[] = {
        0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, INT32_MAX, (uint32_t)INT32_MIN, 77
    };
    uint64_t value = ranks_random(&t->world, 2) != 0 ? edges[ranks_random(&t->world, 8)]
                                                     : (uint64_t)ranks_random(&t->world, 1u << 30)
                                                           << ranks_random(&t->world, 34);
    return model_is_wide(type) ? value : (uint32_t)value;
}

static void settle(trial *t)
{
    pen_nbi_wait(t->thread, PEN_EC_GET | PEN_EC_PUT | PEN_EC_RMW);
    for (uint32_t i = 0; i < t->count; i++) {
        pen_event_wait(t->thread->job, t->operations[i].event, PEN_CALL_EVENT_WAIT);
        uint64_t word = 0;
        memcpy(&word, t->operations[i].target, t->operations[i].len);
        assert_true(word == t->operations[i].after);
        uint64_t result = UNTOUCHED;
        memcpy(&result, &t->operations[i].expected, t->operations[i].result_len);
        assert_true(t->operations[i].result == result);
    }
    t->count = 0;
}

static void begin_operation(trial *t, uint32_t rank, uint32_t type_i, uint32_t op)
{
    const uint32_t type = model_types[type_i], slot = t->count++;
    uint64_t old = draw_value(t, type), operands[2] = { draw_value(t, type), draw_value(t, type) };
    if (model_plain(op) == GEX_OP_CAS && ranks_random(&t->world, 2) != 0)
        operands[0] = old;
    t->operations[slot].len = model_len(type);
    t->operations[slot].target = t->world.segments[rank] + 24 * slot;
    t->operations[slot].after = model_apply(type, op, old, operands);
    t->operations[slot].expected = old;
    t->operations[slot].result = UNTOUCHED;
    t->operations[slot].result_len = model_fetches(op) ? model_len(type) : 0;
    t->operations[slot].event = PEN_EVENT_DONE;
    memcpy(t->operations[slot].target, &old, model_len(type));
    pen_atomic_call call = { .result = &t->operations[slot].result,
                             .target = t->operations[slot].target,
                             .rank = rank,
                             .type = type,
                             .op = op,
                             .flags = (ranks_random(&t->world, 2) ? GEX_FLAG_AD_REL : 0) |
                                      (ranks_random(&t->world, 2) ? GEX_FLAG_AD_ACQ : 0),
                             .operands = { operands[0], operands[1] } };
    if (ranks_random(&t->world, 2) != 0)
        t->operations[slot].event = pen_atomic_nb(t->thread, t->domains[type_i], &call);
    else
        assert_int_equal(pen_atomic_nbi(t->thread, t->domains[type_i], &call), 0);
}

static void compare_with_model(const ranks_params *params)
{
    trial *t = calloc(1, sizeof *t);
    open_world(&t->world, params);
    t->thread = &t->world.jobs[0].first_thread;
    for (uint32_t i = 0; i < MODEL_TYPES; i++)
        t->domains[i] = pen_atomic_create(&t->world.jobs[0].world, model_types[i], UINT32_MAX, 0);
    /* Each operation of each type at least once, then at random. */
    for (uint32_t i = 0; i < MODEL_TYPES * MODEL_OPS + ROUNDS; i++) {
        const bool all = i < MODEL_TYPES * MODEL_OPS;
        uint32_t type_i = all ? i / MODEL_OPS : ranks_random(&t->world, MODEL_TYPES);
        uint32_t op = model_ops[all ? i % MODEL_OPS : ranks_random(&t->world, MODEL_OPS)];
        if (model_exists(model_types[type_i], op))
            begin_operation(t, i % RANKS, type_i, op);
        if (t->count == OUTSTANDING)
            settle(t);
    }
    settle(t);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(t->world.jobs[rank].counters.frame_dropped, 0);
    const pen_counters *counters = &t->world.jobs[0].counters;
    assert_true((counters->atomic_net == 0) == params->mapped);
    assert_true(counters->atomic_shm != 0); /* its own memory it reaches always */
    close_world(&t->world);
    free(t);
}

static void on_mapped_memory_every_operation_does_what_the_model_says(void **state)
{
    (void)state;
    compare_with_model(&(ranks_params){
        .size = RANKS, .seed = 1, .segment_len = SEGMENT_LEN, .mapped = true, .same_host = true });
}

static void by_messages_every_operation_does_what_the_model_says(void **state)
{
    (void)state;
    compare_with_model(&(ranks_params){ .size = RANKS, .seed = 2, .segment_len = SEGMENT_LEN });
    compare_with_model(&(ranks_params){ .size = RANKS,
                                        .seed = 3,
                                        .segment_len = SEGMENT_LEN,
                                        .room = 2,
                                        .again_percent = 40,
                                        .concurrency = PEN_CONCURRENT });
}

static void anywhere_in_memory_every_operation_does_what_the_model_says(void **state)
{
    (void)state;
    compare_with_model(&(ranks_params){ .size = RANKS,
                                        .seed = 4,
                                        .segment_len = SEGMENT_LEN,
                                        .everything = true,
                                        .same_host = true });
}

/* ---- completion ------------------------------------------------------------------------------ */

typedef struct pair {
    ranks world;
    pen_job *job;
    pen_thread *thread;
    pen_atomic_domain *domain;
    uint64_t *word, result;
    pen_atomic_call call;
} pair;

static void open_pair(pair *p, ranks_params params)
{
    params.size = 2;
    params.seed = 1;
    params.segment_len = SEGMENT_LEN;
    open_world(&p->world, &params);
    p->job = &p->world.jobs[0];
    p->thread = &p->job->first_thread;
    p->domain = pen_atomic_create(&p->job->world, GEX_DT_U64, UINT32_MAX, 0);
    p->word = (uint64_t *)(void *)p->world.segments[1];
    p->result = UNTOUCHED;
    p->call = (pen_atomic_call){ .result = &p->result,
                                 .target = p->word,
                                 .rank = 1,
                                 .type = GEX_DT_U64,
                                 .op = GEX_OP_FADD,
                                 .operands = { 5 } };
}

static void an_immediate_call_without_room_has_no_effect(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .again_percent = 100 });
    p.call.flags = GEX_FLAG_IMMEDIATE;
    assert_ptr_equal(pen_atomic_nb(p.thread, p.domain, &p.call), PEN_EVENT_NO_OP);
    assert_int_not_equal(pen_atomic_nbi(p.thread, p.domain, &p.call), 0);
    assert_true(pen_nbi_test(p.thread, ~0u));
    assert_int_equal(p.world.frames_posted, 0);
    assert_true(*p.word == 0 && p.result == UNTOUCHED);
    assert_int_equal(p.job->counters.atomic_net, 0);
    p.world.params.again_percent = 0;
    pen_event *event = pen_atomic_nb(p.thread, p.domain, &p.call);
    assert_int_equal(p.job->atomic->request_free, 1); /* both numbers had been given back */
    pen_event_wait(p.job, event, PEN_CALL_EVENT_WAIT);
    assert_true(*p.word == 5 && p.result == 0);
    close_world(&p.world);
}

/* The implicit categories in which an outstanding operation counts. */
static uint32_t categories_of(uint32_t op)
{
    pair p;
    uint32_t categories = 0;
    open_pair(&p, (ranks_params){ .threads = true }); /* no rank answers yet */
    p.call.op = op;
    assert_int_equal(pen_atomic_nbi(p.thread, p.domain, &p.call), 0);
    for (uint32_t bit = 0; bit < 4; bit++)
        if (!pen_nbi_test(p.thread, 1u << bit))
            categories |= 1u << bit;
    p.world.params.threads = false;
    pen_nbi_wait(p.thread, ~0u);
    close_world(&p.world);
    return categories;
}

static void implicit_operations_count_as_put_get_or_read_modify_write(void **state)
{
    (void)state;
    assert_int_equal(categories_of(GEX_OP_SET), PEN_EC_PUT);
    assert_int_equal(categories_of(GEX_OP_GET), PEN_EC_GET);
    assert_int_equal(categories_of(GEX_OP_ADD), PEN_EC_RMW);
    assert_int_equal(categories_of(GEX_OP_SWAP), PEN_EC_RMW);
    assert_int_equal(categories_of(GEX_OP_FCAS), PEN_EC_RMW);
}

static void an_access_region_folds_operations_in(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .room = 2 });
    p.call.op = GEX_OP_INC;
    pen_nbi_begin(p.thread);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(pen_atomic_nbi(p.thread, p.domain, &p.call), 0);
    pen_event_wait(p.job, pen_nbi_end(p.thread), PEN_CALL_EVENT_WAIT);
    assert_true(*p.word == 200);
    close_world(&p.world);
}

static void many_operations_in_flight_keep_their_results_apart(void **state)
{
    (void)state;
    enum { MANY = 300 }; /* more than the table begins with */
    pair p;
    uint64_t results[MANY];
    pen_event *events[MANY];
    bool seen[MANY] = { false };
    open_pair(&p, (ranks_params){ .threads = true });
    p.call.operands[0] = 1;
    for (unsigned i = 0; i < MANY; i++) {
        p.call.result = &results[i];
        events[i] = pen_atomic_nb(p.thread, p.domain, &p.call);
    }
    p.world.params.threads = false;
    pen_event_wait_all(p.job, events, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(results[i] < MANY && !seen[results[i]]);
        seen[results[i]] = true;
    }
    close_world(&p.world);
}

static void domains_that_are_left_are_freed_with_the_job(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .mapped = true });
    pen_atomic_domain *second = pen_atomic_create(&p.job->world, GEX_DT_I32, GEX_OP_ADD, 4);
    pen_atomic_domain *third = pen_atomic_create(&p.job->world, GEX_DT_FLT, GEX_OP_GET, 0);
    assert_ptr_equal(second->view.team, &p.job->world);
    assert_int_equal(second->flags, 4);
    pen_atomic_destroy(second);
    assert_ptr_equal(p.job->atomic->domains, third);
    assert_ptr_equal(third->next, p.domain);
    close_world(&p.world); /* the leak checker looks */
}

/* ---- what does not come from a sound peer ---------------------------------------------------- */

static uint64_t drain(pen_job *job)
{
    while (pen_progress_poll(&job->progress) != 0) {
    }
    return job->counters.frame_dropped;
}

static void requests_that_make_no_sense_are_counted_and_dropped(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .threads = true });
    pen_job *target = &p.world.jobs[1];
    const int32_t number = (int32_t)target->mem.remote[0][1].number;
    const int32_t bad[][11] = {
        { 0, 0, number, 0, 0, 0, GEX_DT_U64, 1 },                        /* no operation */
        { 0, 0, number, 0, 0, GEX_OP_ADD | GEX_OP_SUB, GEX_DT_U64, 1 },  /* two */
        { 0, 0, number, 0, 0, 1 << 12, GEX_DT_U64, 1 },                  /* an operation that does
                                                                          * not exist */
        { 0, 0, number, 0, 0, GEX_OP_USER, GEX_DT_U64, 1 },              /* nor is this */
        { 0, 0, number, 0, 0, GEX_OP_ADD, 0, 1 },                        /* no type */
        { 0, 0, number, 0, 0, GEX_OP_ADD, GEX_DT_USER, 1 },              /* not a message of remote
                                                                          * atomics */
        { 0, 0, number, 0, 0, GEX_OP_ADD, GEX_DT_U64 | GEX_DT_I64, 1 },  /* two */
        { 0, 0, number, 0, 0, GEX_OP_XOR, GEX_DT_DBL, 1 },               /* bits of a float */
        { 0, 0, number, 0, 0, GEX_OP_FAND, GEX_DT_FLT, 1 },              /* likewise */
        { 0, 0, number, SEGMENT_LEN - 4, 0, GEX_OP_ADD, GEX_DT_U64, 1 }, /* half outside */
        { 0, 0, number, SEGMENT_LEN, 0, GEX_OP_ADD, GEX_DT_U32, 1 },     /* outside */
        { 0, 0, number, 0, 1, GEX_OP_ADD, GEX_DT_U32, 1 },               /* far outside */
        { 0, 0, number, -8, -1, GEX_OP_ADD, GEX_DT_U64, 1 },             /* before it */
        { 0, 0, number + 1, 0, 0, GEX_OP_ADD, GEX_DT_U64, 1 },           /* a segment that does not
                                                                          * exist */
        { 0, 0, 0, 0, 0, GEX_OP_ADD, GEX_DT_U64, 1 },                    /* any address: no */
        { 0, 0, number, 4, 0, GEX_OP_ADD, GEX_DT_U64, 1 },               /* not aligned */
        { 0, 0, number, 2, 0, GEX_OP_ADD, GEX_DT_I32, 1 },               /* likewise */
    };
    const unsigned count = sizeof bad / sizeof *bad;
    for (unsigned i = 0; i < count; i++)
        ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_ATOMIC, 11, bad[i], NULL, 0);
    const int32_t good[11] = { 0, 0, number, 0, 0, GEX_OP_ADD, GEX_DT_U64, 1 };
    ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_ATOMIC, 10, good, NULL, 0);
    ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_ATOMIC, 11, good, good, 4);
    ranks_inject(&p.world, 0, 1, PEN_LANE_REPLY, PEN_AM_INT_ATOMIC, 11, good, NULL, 0);
    assert_int_equal(drain(target), count + 3);
    for (unsigned i = 0; i < SEGMENT_LEN; i++)
        assert_int_equal(p.world.segments[1][i], 0);
    /* No rank here sent a request: the answers are dropped, too. */
    (void)drain(p.job);
    ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_ATOMIC, 11, good, NULL, 0);
    assert_int_equal(drain(target), count + 3);
    assert_true(*p.word == 1);
    close_world(&p.world);
}

static void answers_that_fit_no_request_are_counted_and_dropped(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .threads = true });
    pen_event *event = pen_atomic_nb(p.thread, p.domain, &p.call);
    const int32_t bad[][5] = {
        { 1, 0, 0, 9, 9 },       /* a free number */
        { 1 << 20, 0, 0, 9, 9 }, /* no number */
        { -1, 0, 0, 9, 9 },      /* no number */
        { 0, 1, 0, 9, 9 },       /* another generation */
    };
    for (unsigned i = 0; i < 4; i++)
        ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_ATOMIC_DONE, 5, bad[i], NULL, 0);
    const int32_t good[5] = { 0, 0, 0, 9, 9 };
    ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_ATOMIC_DONE, 4, good, NULL, 0);
    ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_ATOMIC_DONE, 5, good, good, 8);
    ranks_inject(&p.world, 0, 0, PEN_LANE_REPLY, PEN_AM_INT_ATOMIC_DONE, 5, good, NULL, 0);
    assert_int_equal(drain(p.job), 7);
    assert_true(p.result == UNTOUCHED);
    p.world.params.threads = false;
    pen_event_wait(p.job, event, PEN_CALL_EVENT_WAIT);
    assert_true(p.result == 0);
    /* The same answer again names a request that has ended. */
    ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_ATOMIC_DONE, 5, good, NULL, 0);
    assert_int_equal(drain(p.job), 8);
    assert_true(p.result == 0);
    close_world(&p.world);
}

/* ---- what the client may not do -------------------------------------------------------------- */

static void operate(void *ctx)
{
    pair *p = ctx;
    pen_event_wait(p->job, pen_atomic_nb(p->thread, p->domain, &p->call), PEN_CALL_EVENT_WAIT);
}

static void dies_for(void *target, uint32_t rank, bool mapped, size_t published_len,
                     const char *words)
{
    pair p;
    open_pair(&p, (ranks_params){ .mapped = mapped });
    p.call.target = (char *)p.word + (uintptr_t)target;
    p.call.rank = rank;
    p.job->mem.remote[0][1].len = published_len;
    assert_true(ranks_dies(operate, &p, p.job, words));
    close_world(&p.world);
}

static void wrong_targets_end_the_job_in_words(void **state)
{
    (void)state;
    for (unsigned mapped = 0; mapped < 2; mapped++) {
        dies_for((void *)4, 1, mapped, SEGMENT_LEN, "a value of 8 bytes lies at a multiple");
        dies_for((void *)SEGMENT_LEN, 1, mapped, SEGMENT_LEN, "is outside its segment");
        dies_for(NULL, 2, mapped, SEGMENT_LEN, "there is no rank 2 in a team of 2");
    }
    dies_for(NULL, 1, false, 0, "that rank has no segment; attach one");
    /* Only the target knows that it does not have so much. */
    dies_for((void *)SEGMENT_LEN, 1, false, SEGMENT_LEN + 64, "is outside its segment");
}

/* ---- both ways at once ----------------------------------------------------------------------- */

/* Every thread goes on until it has seen others come between its operations this often. */
enum { WORKERS = 3, ASKING = 2, MEETINGS = 10000, MEETINGS_ASKING = 500, ROUNDS_A_POLL = 16 };
#define CONTEST_NS_MAX (4 * UINT64_C(1000000000))

typedef struct contest {
    _Atomic uint32_t ready, seeking, working;
    uint64_t begin_ns;
} contest;

typedef struct worker {
    pen_job *job;
    uint64_t *words;
    contest *shared;
    pthread_t id;
    uint32_t rounds, meetings, meetings_wanted;
    bool max_fell;
} worker;

static uint64_t change(worker *mine, pen_atomic_domain *domain, uint32_t op, uint64_t *word,
                       uint64_t operand)
{
    uint64_t old = 0;
    pen_atomic_call call = { .result = &old,
                             .target = word,
                             .rank = 0,
                             .type = domain->type,
                             .op = op,
                             .operands = { operand } };
    pen_event_wait(mine->job, pen_atomic_nb(&mine->job->first_thread, domain, &call),
                   PEN_CALL_EVENT_WAIT);
    return old;
}

static bool goes_on(worker *mine)
{
    contest *shared = mine->shared;
    if (mine->meetings == mine->meetings_wanted) {
        mine->meetings++; /* said once */
        atomic_fetch_sub(&shared->seeking, 1);
    }
    return mine->rounds == 0 ||
           (atomic_load(&shared->seeking) != 0 && pen_now_ns() - shared->begin_ns < CONTEST_NS_MAX);
}

static void serve(worker *mine)
{
    (void)pen_progress_poll(&mine->job->progress);
    sched_yield();
}

static uint64_t offer_of(const worker *mine, uint32_t round)
{
    return (uint64_t)round * WORKERS + mine->job->rank;
}

static void compete(worker *mine, pen_atomic_domain *integers, pen_atomic_domain *doubles)
{
    uint64_t left = 0;
    for (; goes_on(mine); mine->rounds++) {
        uint64_t found = change(mine, integers, GEX_OP_FADD, &mine->words[0], 3);
        if (found != left && mine->meetings < mine->meetings_wanted)
            mine->meetings++;
        left = found + 3;
        (void)change(mine, doubles, GEX_OP_ADD, &mine->words[1], model_float_bits(GEX_DT_DBL, 0.5));
        (void)change(mine, integers, GEX_OP_FXOR, &mine->words[2],
                     UINT64_C(1) << (mine->rounds + mine->job->rank) % 64);
        found = change(mine, integers, GEX_OP_FMAX, &mine->words[3], offer_of(mine, mine->rounds));
        mine->max_fell |= mine->rounds != 0 && found < offer_of(mine, mine->rounds - 1);
        if (mine->rounds % ROUNDS_A_POLL == 0)
            (void)pen_progress_poll(&mine->job->progress); /* one sends messages, rank 0 answers */
    }
}

static void *work(void *ctx)
{
    worker *mine = ctx;
    pen_team *world = &mine->job->world;
    pen_atomic_domain *integers = pen_atomic_create(world, GEX_DT_U64, UINT32_MAX, 0);
    pen_atomic_domain *doubles = pen_atomic_create(world, GEX_DT_DBL, UINT32_MAX, 0);
    atomic_fetch_add(&mine->shared->ready, 1);
    while (atomic_load(&mine->shared->ready) != WORKERS)
        sched_yield();
    compete(mine, integers, doubles);
    atomic_fetch_sub(&mine->shared->working, 1);
    while (atomic_load(&mine->shared->working) != 0)
        serve(mine);
    return NULL;
}

static void check_words(const uint64_t *words, const worker *workers)
{
    uint64_t rounds = 0, bits = 0, most = 0;
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        const worker *one = &workers[rank];
        rounds += one->rounds;
        for (uint32_t i = 0; i < one->rounds; i++)
            bits ^= UINT64_C(1) << (i + rank) % 64;
        if (offer_of(one, one->rounds - 1) > most)
            most = offer_of(one, one->rounds - 1);
        assert_false(one->max_fell);
        if (one->meetings < one->meetings_wanted)
            print_message("rank %u was met only %u times in %u rounds\n", rank, one->meetings,
                          one->rounds);
    }
    assert_int_equal(words[0], 3 * rounds);
    assert_true(model_float_value(GEX_DT_DBL, words[1]) == 0.5 * (double)rounds);
    assert_int_equal(words[2], bits);
    assert_int_equal(words[3], most);
}

static void ways_that_differ_are_atomic_to_one_another(void **state)
{
    (void)state;
    ranks world;
    contest shared = { .seeking = WORKERS, .working = WORKERS, .begin_ns = pen_now_ns() };
    worker workers[WORKERS];
    open_world(&world, &(ranks_params){ .size = WORKERS,
                                        .seed = 1,
                                        .segment_len = SEGMENT_LEN,
                                        .mapped = true,
                                        .threads = true });
    memset(world.jobs[ASKING].mapped[0], 0, WORKERS * sizeof(pen_mapped));
    uint64_t *words = (uint64_t *)(void *)world.segments[0];
    for (uint32_t i = 0; i < WORKERS; i++)
        workers[i] = (worker){ .job = &world.jobs[i],
                               .words = words,
                               .shared = &shared,
                               .meetings_wanted = i == ASKING ? MEETINGS_ASKING : MEETINGS };
    for (uint32_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].id, NULL, work, &workers[i]), 0);
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].id, NULL);
    check_words(words, workers);
    assert_int_equal(world.jobs[ASKING].counters.atomic_net, 4 * workers[ASKING].rounds);
    assert_int_equal(world.jobs[1].counters.atomic_net, 0);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_mapped_memory_every_operation_does_what_the_model_says),
        cmocka_unit_test(by_messages_every_operation_does_what_the_model_says),
        cmocka_unit_test(anywhere_in_memory_every_operation_does_what_the_model_says),
        cmocka_unit_test(an_immediate_call_without_room_has_no_effect),
        cmocka_unit_test(implicit_operations_count_as_put_get_or_read_modify_write),
        cmocka_unit_test(an_access_region_folds_operations_in),
        cmocka_unit_test(many_operations_in_flight_keep_their_results_apart),
        cmocka_unit_test(domains_that_are_left_are_freed_with_the_job),
        cmocka_unit_test(requests_that_make_no_sense_are_counted_and_dropped),
        cmocka_unit_test(answers_that_fit_no_request_are_counted_and_dropped),
        cmocka_unit_test(wrong_targets_end_the_job_in_words),
        cmocka_unit_test(ways_that_differ_are_atomic_to_one_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
