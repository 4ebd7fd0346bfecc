/* SPDX-License-Identifier: BSD-3-Clause */
/* words.c: operations that a device performs on words of peers: their values, and that no change
 * by a processor comes between. */
#include "contract.h"

#include "conduit/conduit.h"
#include "os/os.h"

#include <penstock/types.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

static bool is_wide(uint32_t type) { return (type & (GEX_DT_I64 | GEX_DT_U64 | GEX_DT_DBL)) != 0; }

static double real_of(uint32_t type, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float narrow;
    double wide;
    memcpy(&narrow, &low, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return type == GEX_DT_FLT ? (double)narrow : wide;
}

static uint64_t bits_of(uint32_t type, double value)
{
    const float narrow = (float)value;
    uint32_t low;
    uint64_t bits;
    memcpy(&low, &narrow, sizeof low);
    memcpy(&bits, &value, sizeof bits);
    return type == GEX_DT_FLT ? low : bits;
}

/* A small number, which every type has exactly. */
static uint64_t number_of(uint32_t type, int value)
{
    if ((type & (GEX_DT_FLT | GEX_DT_DBL)) != 0)
        return bits_of(type, value);
    return is_wide(type) ? (uint64_t)(int64_t)value : (uint32_t)value;
}

static int64_t signed_of(uint32_t type, uint64_t bits)
{
    return type == GEX_DT_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

static bool is_less(uint32_t type, uint64_t a, uint64_t b)
{
    if ((type & (GEX_DT_FLT | GEX_DT_DBL)) != 0)
        return real_of(type, a) < real_of(type, b);
    if ((type & (GEX_DT_I32 | GEX_DT_I64)) != 0)
        return signed_of(type, a) < signed_of(type, b);
    return a < b;
}

static uint64_t sum_of(uint32_t type, uint64_t a, uint64_t b, bool is_product)
{
    if ((type & (GEX_DT_FLT | GEX_DT_DBL)) != 0)
        return bits_of(type, is_product ? real_of(type, a) * real_of(type, b)
                                        : real_of(type, a) + real_of(type, b));
    const uint64_t whole = is_product ? a * b : a + b;
    return is_wide(type) ? whole : (uint32_t)whole;
}

/* Value of a word after an operation on bits, and after one that computes. */
static uint64_t word_after_bits(uint32_t op, uint64_t old, uint64_t a, uint64_t b)
{
    switch (op) {
    case GEX_OP_AND:
        return old & a;
    case GEX_OP_OR:
        return old | a;
    case GEX_OP_XOR:
        return old ^ a;
    case GEX_OP_SET:
        return a;
    case GEX_OP_CAS:
        return old == a ? b : old;
    default: /* GET */
        return old;
    }
}

/* op does not fetch. */
static uint64_t word_after(uint32_t type, uint32_t op, uint64_t old, const int operands[2])
{
    const uint64_t a = number_of(type, operands[0]);
    switch (op) {
    case GEX_OP_ADD:
        return sum_of(type, old, a, false);
    case GEX_OP_SUB:
        return sum_of(type, old, number_of(type, -operands[0]), false);
    case GEX_OP_MULT:
        return sum_of(type, old, a, true);
    case GEX_OP_MIN:
        return is_less(type, a, old) ? a : old;
    case GEX_OP_MAX:
        return is_less(type, old, a) ? a : old;
    case GEX_OP_INC:
        return sum_of(type, old, number_of(type, 1), false);
    case GEX_OP_DEC:
        return sum_of(type, old, number_of(type, -1), false);
    default:
        return word_after_bits(op, old, a, number_of(type, operands[1]));
    }
}

static void wait_for_op(struct job *job, const pen_op *op)
{
    const uint64_t until = pen_now_ns() + UINT64_C(10000000000);
    while (atomic_load(&op->incomplete) != 0) {
        job_poll_all(job);
        CHECK(pen_now_ns() < until);
    }
}

/* Begins the operation on a word of the region. op->incomplete counts it. */
static void begin_amo(struct job *job, pen_peer to, const struct region *region, uint64_t offset,
                      const pen_amo *amo, pen_op *op)
{
    pen_link *link = job->ranks[0].link;
    pen_post result;
    atomic_fetch_add(&op->incomplete, 1);
    while ((result = link->amo->post(link, to, offset, region->key, amo, op)) == PEN_POST_AGAIN)
        job_poll_all(job);
    CHECK(result == PEN_POST_DONE || result == PEN_POST_PENDING);
    if (result == PEN_POST_DONE)
        atomic_fetch_sub(&op->incomplete, 1);
}

/* One operation with each pair of operands; the words beside it keep their values. */
static void change_words(struct job *job, pen_peer to, const struct region *region, uint32_t type,
                         uint32_t op, bool is_fetching)
{
    enum { AT = 64, BESIDE = 0x5a };
    const size_t len = is_wide(type) ? 8 : 4;
    for (int i = 0; i < 49; i += 4) {
        const int operands[2] = { i % 7 - 3, i / 7 - 3 };
        uint64_t word = number_of(type, i / 7 % 5 - 2), got = 0, after = 0, old = UINT64_MAX;
        const pen_amo amo = {
            .type = type,
            .op = is_fetching ? op == GEX_OP_GET ? op : GEX_OP_TO_FETCHING(op) : op,
            .operands = { number_of(type, operands[0]), number_of(type, operands[1]) },
            .result = is_fetching ? &old : NULL
        };
        pen_op wait = { .shared = true };
        memset(region->memory + AT - 8, BESIDE, 24);
        memcpy(region->memory + AT, &word, len);
        begin_amo(job, to, region, AT, &amo, &wait);
        wait_for_op(job, &wait);
        memcpy(&got, region->memory + AT, len);
        after = word_after(type, op, word, operands);
        CHECK(memcmp(&got, &after, len) == 0);
        CHECK(!is_fetching || memcmp(&old, &word, len) == 0);
        CHECK(region->memory[AT - 1] == BESIDE && region->memory[AT + len] == BESIDE);
        CHECK(len == 8 || !is_fetching || (uint32_t)(old >> 32) == UINT32_MAX);
    }
}

static void words_of_a_peer_change_as_asked(struct job *job)
{
    const pen_link *link = job->ranks[0].link;
    const pen_peer to = job->size - 1;
    struct region region;
    CHECK(link->amo == NULL || link->rma != NULL);
    if (link->amo == NULL || !region_open(job, to, &region))
        return;
    for (uint32_t type = 1; type < GEX_DT_USER; type <<= 1) {
        for (uint32_t op = 1; op <= GEX_OP_CAS; op <<= 1) {
            if (link->amo->serves(link, type, op))
                change_words(job, to, &region, type, op, false);
            if (link->amo->serves(link, type, GEX_OP_TO_FETCHING(op)))
                change_words(job, to, &region, type, op, true);
        }
        if (link->amo->serves(link, type, GEX_OP_GET))
            change_words(job, to, &region, type, GEX_OP_GET, true);
    }
    region_close(job, to, &region);
}

typedef struct adder {
    uint64_t *word;
    _Atomic bool is_over;
    uint64_t adds;
} adder;

static void *add_by_instructions(void *arg)
{
    adder *mine = arg;
    while (!atomic_load(&mine->is_over)) {
        (void)__atomic_fetch_add(mine->word, UINT64_C(1) << 32, __ATOMIC_RELAXED);
        mine->adds++;
        if (mine->adds % 64 == 0)
            sched_yield();
    }
    return NULL;
}

/* The lower half of a word counts what the device adds, the upper half what a processor adds. */
static void a_device_and_a_processor_change_one_word(struct job *job)
{
    enum { ADDS = 1000 };
    const pen_peer to = job->size - 1;
    const pen_link *link = job->ranks[0].link;
    struct region region;
    if (link->amo == NULL || !link->amo->serves(link, GEX_DT_U64, GEX_OP_ADD) ||
        !link->amo->serves(link, GEX_DT_U64, GEX_OP_FADD) || !region_open(job, to, &region))
        return;
    adder processor = { .word = (uint64_t *)(void *)region.memory };
    pen_op op = { .shared = true };
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, add_by_instructions, &processor) == 0);
    for (unsigned i = 0; i < ADDS; i++) {
        uint64_t old = 0;
        const pen_amo amo = { .type = GEX_DT_U64,
                              .op = i % 2 == 0 ? GEX_OP_ADD : GEX_OP_FADD,
                              .operands = { 1 },
                              .result = &old };
        begin_amo(job, to, &region, 0, &amo, &op);
        if (i % 2 != 0) {
            wait_for_op(job, &op);
            CHECK((uint32_t)old == i);
        }
    }
    wait_for_op(job, &op);
    atomic_store(&processor.is_over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(*processor.word == (processor.adds << 32 | ADDS));
    region_close(job, to, &region);
}

const contract_test word_tests[] = {
    { "words_of_a_peer_change_as_asked", words_of_a_peer_change_as_asked, 0, false },
    { "a_device_and_a_processor_change_one_word", a_device_and_a_processor_change_one_word, 0,
      false },
    { 0 },
};
