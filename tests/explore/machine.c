/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.c: the memory of machine.h. */
#include "machine.h"

#include "explore.h"

#include <string.h>

typedef struct message { /* a value that a word has had */
    uint64_t value;
    machine_view view; /* view of a thread that reads it with acquire */
} message;

typedef struct location {
    uintptr_t address;
    uint32_t size;
    uint32_t count;                        /* messages in this run; 0: not touched yet */
    uint16_t messages[MACHINE_VALUES_MAX]; /* numbers in machine.messages */
} location;

typedef struct thread_memory {
    machine_view seen;     /* the least that it must have seen */
    machine_view acquired; /* additions of an acquire fence */
    machine_view released; /* view of its relaxed stores: `seen` at its last release fence */
    bool has_released;     /* since its last plain access; does not cover the next one */
    uint32_t read_count;   /* words read since it last idled */
    uint8_t read[MACHINE_LOCATIONS_MAX];
    uint8_t read_at[MACHINE_LOCATIONS_MAX]; /* by word: 1 + the value it read last; 0: not read */
} thread_memory;

typedef struct shadow { /* eight bytes of plain memory: the last accesses, and their clocks */
    uint32_t run;
    uint8_t writer; /* 1 + thread; 0: nobody */
    uint16_t written;
    uint16_t read[MACHINE_THREADS_MAX];
} shadow;

enum { HASH_LEN = 1024, SHADOWS = EXPLORE_ARENA_LEN / 8 };

static struct machine {
    uint32_t thread_count, location_count, message_count, run;
    uintptr_t arena;
    size_t arena_len;
    thread_memory threads[MACHINE_THREADS_MAX];
    machine_view consistent; /* view of sequentially consistent operations */
    location locations[MACHINE_LOCATIONS_MAX];
    uint16_t by_address[HASH_LEN]; /* 1 + number */
    uint32_t touched_count;
    uint8_t touched[MACHINE_LOCATIONS_MAX];
    message messages[MACHINE_MESSAGES_MAX];
    shadow shadows[SHADOWS];
} machine;

static bool acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
           order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void join_words(machine_view *to, const machine_view *from)
{
    for (uint32_t i = 0; i < MACHINE_LOCATIONS_MAX; i++)
        to->at[i] = to->at[i] > from->at[i] ? to->at[i] : from->at[i];
}

static void join(machine_view *to, const machine_view *from)
{
    join_words(to, from);
    for (uint32_t i = 0; i < MACHINE_THREADS_MAX; i++)
        to->clock[i] = to->clock[i] > from->clock[i] ? to->clock[i] : from->clock[i];
}

/* ---- words -------------------------------------------------------------------------------- */

static uint64_t memory_load(uintptr_t address, uint32_t size)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)address, size); /* little-endian, as all supported hosts are */
    return value;
}

uint32_t machine_location(uintptr_t address, uint32_t size)
{
    uint32_t at = (uint32_t)(machine_mix(0, address) >> 40) % HASH_LEN;
    for (; machine.by_address[at] != 0; at = (at + 1) % HASH_LEN) {
        const location *found = &machine.locations[machine.by_address[at] - 1];
        if (found->address == address && found->size == size)
            return machine.by_address[at] - 1u;
    }
    if (machine.location_count == MACHINE_LOCATIONS_MAX)
        explore_die("more than %d atomic words: make the scenario smaller", MACHINE_LOCATIONS_MAX);
    machine.locations[machine.location_count] = (location){ .address = address, .size = size };
    machine.by_address[at] = (uint16_t)++machine.location_count;
    return machine.location_count - 1;
}

static message *message_new(uint32_t number, uint64_t value, const machine_view *view)
{
    location *place = &machine.locations[number];
    if (place->count == MACHINE_VALUES_MAX || machine.message_count == MACHINE_MESSAGES_MAX)
        explore_die("too many stores in one run: make the scenario smaller");
    message *new = &machine.messages[machine.message_count];
    *new = (message){ .value = value, .view = *view };
    new->view.at[number] = (uint8_t)place->count;
    place->messages[place->count++] = (uint16_t)machine.message_count++;
    return new;
}

static location *touch(uintptr_t address, uint32_t size, uint32_t *number_out)
{
    uint32_t number = machine_location(address, size);
    location *place = &machine.locations[number];
    if (place->count == 0) {
        static const machine_view nothing;
        machine.touched[machine.touched_count++] = (uint8_t)number;
        message_new(number, memory_load(address, size), &nothing);
    }
    *number_out = number;
    return place;
}

static const message *message_at(const location *place, uint32_t i)
{
    return &machine.messages[place->messages[i]];
}

void machine_open(uint32_t threads, const char *arena, size_t arena_len)
{
    memset(&machine, 0, sizeof machine);
    machine.thread_count = threads;
    machine.arena = (uintptr_t)arena;
    machine.arena_len = arena_len;
}

void machine_reset(void)
{
    for (uint32_t i = 0; i < machine.touched_count; i++)
        machine.locations[machine.touched[i]].count = 0;
    machine.touched_count = machine.message_count = 0;
    memset(&machine.consistent, 0, sizeof machine.consistent);
    memset(machine.threads, 0, sizeof machine.threads);
    for (uint32_t i = 0; i < machine.thread_count; i++)
        machine.threads[i].seen.clock[i] = 1;
    machine.run++;
}

/* ---- operations ----------------------------------------------------------------------------- */

/* Returns the oldest value that the thread may read. */
static uint32_t oldest(const thread_memory *memory, uint32_t number, int order)
{
    uint32_t at = memory->seen.at[number];
    if (order == __ATOMIC_SEQ_CST && machine.consistent.at[number] > at)
        at = machine.consistent.at[number];
    return at;
}

static uint64_t truncated(uint64_t value, uint32_t size)
{
    return size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1);
}

/* Returns the value of choice number `choice` of a load; UINT32_MAX: there are fewer choices. A
 * failing compare-exchange is a load, a succeeding one reads the newest value. */
static uint32_t nth_readable(uint32_t thread, const machine_op *op, uint32_t choice)
{
    uint32_t number;
    const location *place = touch(op->address, op->size, &number);
    int order = op->kind == OP_CAS ? op->order_failed : op->order;
    for (uint32_t at = place->count; at-- > oldest(&machine.threads[thread], number, order);) {
        bool is_newest = at + 1 == place->count;
        if (op->kind == OP_CAS && !is_newest && message_at(place, at)->value == op->expected)
            continue;
        if (choice-- == 0)
            return at;
    }
    return UINT32_MAX;
}

uint32_t machine_choices(uint32_t thread, const machine_op *op)
{
    if (op->kind != OP_LOAD && op->kind != OP_CAS)
        return 1;
    uint32_t count = 0;
    while (nth_readable(thread, op, count) != UINT32_MAX)
        count++;
    return count;
}

static void note_read(thread_memory *memory, uint32_t number, uint32_t at)
{
    if (memory->read_at[number] == 0)
        memory->read[memory->read_count++] = (uint8_t)number;
    memory->read_at[number] = (uint8_t)(at + 1);
}

static uint64_t read_value(thread_memory *memory, uint32_t number, uint32_t at, int order)
{
    const message *from = message_at(&machine.locations[number], at);
    memory->seen.at[number] = (uint8_t)at;
    join(acquires(order) ? &memory->seen : &memory->acquired, &from->view);
    note_read(memory, number, at);
    return from->value;
}

/* replaced: the message that a read-modify-write read, whose view is passed on; NULL: a plain
 * store. */
static void write_value(uint32_t thread, uint32_t number, const machine_op *op, uint64_t value,
                        const message *replaced)
{
    thread_memory *memory = &machine.threads[thread];
    machine_view view = releases(op->order) ? memory->seen : memory->released;
    if (replaced != NULL)
        join(&view, &replaced->view);
    const message *new = message_new(number, truncated(value, op->size), &view);
    memory->seen.at[number] = new->view.at[number];
    if (memory->read_at[number] != 0)
        note_read(memory, number, new->view.at[number]); /* a thread's own store is no news to it */
    if (op->order == __ATOMIC_SEQ_CST)
        machine.consistent.at[number] = new->view.at[number];
    memory->has_released = memory->has_released || releases(op->order);
    memcpy((void *)op->address, &new->value, op->size);
}

static uint64_t combine(const machine_op *op, uint64_t old)
{
    switch (op->kind) {
    case OP_ADD:
        return old + op->operand;
    case OP_SUB:
        return old - op->operand;
    case OP_AND:
        return old & op->operand;
    case OP_OR:
        return old | op->operand;
    case OP_XOR:
        return old ^ op->operand;
    default:
        return op->operand;
    }
}

static uint64_t perform_cas(uint32_t thread, const machine_op *op, uint32_t choice, bool *done_out)
{
    uint32_t number;
    const location *place = touch(op->address, op->size, &number);
    uint32_t at = nth_readable(thread, op, choice);
    const message *from = message_at(place, at);
    *done_out = from->value == op->expected;
    uint64_t value =
        read_value(&machine.threads[thread], number, at, *done_out ? op->order : op->order_failed);
    if (*done_out)
        write_value(thread, number, op, op->operand, from);
    return value;
}

uint64_t machine_perform(uint32_t thread, const machine_op *op, uint32_t choice, bool *cas_done_out)
{
    thread_memory *memory = &machine.threads[thread];
    if (op->kind == OP_CAS)
        return perform_cas(thread, op, choice, cas_done_out);
    uint32_t number;
    const location *place = touch(op->address, op->size, &number);
    if (op->kind == OP_LOAD)
        return read_value(memory, number, nth_readable(thread, op, choice), op->order);
    if (op->kind == OP_STORE) {
        write_value(thread, number, op, op->operand, NULL);
        return op->operand;
    }
    const message *newest = message_at(place, place->count - 1);
    uint64_t old = read_value(memory, number, place->count - 1, op->order);
    write_value(thread, number, op, combine(op, old), newest);
    return old;
}

uint64_t machine_newest(uint32_t thread, uintptr_t address, uint32_t size)
{
    uint32_t number;
    const location *place = touch(address, size, &number);
    return read_value(&machine.threads[thread], number, place->count - 1, __ATOMIC_RELAXED);
}

void machine_fence(uint32_t thread, int order)
{
    thread_memory *memory = &machine.threads[thread];
    if (acquires(order))
        join(&memory->seen, &memory->acquired);
    if (order == __ATOMIC_SEQ_CST) { /* words only: two fences order no plain memory */
        join_words(&memory->seen, &machine.consistent);
        join_words(&machine.consistent, &memory->seen);
    }
    if (releases(order)) {
        memory->released = memory->seen;
        memory->has_released = true;
    }
}

/* ---- waiting -------------------------------------------------------------------------------- */

bool machine_has_news(uint32_t thread)
{
    const thread_memory *memory = &machine.threads[thread];
    for (uint32_t i = 0; i < memory->read_count; i++) {
        uint32_t number = memory->read[i];
        if (machine.locations[number].count > memory->read_at[number])
            return true;
    }
    return false;
}

bool machine_has_changed(uint32_t thread, uintptr_t address, uint32_t size)
{
    uint32_t number;
    return touch(address, size, &number)->count > machine.threads[thread].read_at[number];
}

void machine_forget_reads(uint32_t thread)
{
    thread_memory *memory = &machine.threads[thread];
    for (uint32_t i = 0; i < memory->read_count; i++)
        memory->read_at[memory->read[i]] = 0;
    memory->read_count = 0;
}

/* ---- plain memory --------------------------------------------------------------------------- */

static const char *race_of(uint32_t thread, shadow *at, bool is_write)
{
    const machine_view *seen = &machine.threads[thread].seen;
    if (at->run != machine.run)
        *at = (shadow){ .run = machine.run };
    if (at->writer != 0 && at->writer != thread + 1 && at->written > seen->clock[at->writer - 1])
        return is_write ? "written while another thread's write may come later"
                        : "read though another thread's write may come later";
    for (uint32_t i = 0; is_write && i < machine.thread_count; i++) {
        if (i != thread && at->read[i] > seen->clock[i])
            return "overwritten though another thread may still read it";
    }
    if (is_write) {
        at->writer = (uint8_t)(thread + 1);
        at->written = seen->clock[thread];
    } else {
        at->read[thread] = seen->clock[thread];
    }
    return NULL;
}

const char *machine_plain(uint32_t thread, uintptr_t address, size_t len, bool is_write)
{
    thread_memory *memory = &machine.threads[thread];
    if (memory->has_released)
        memory->seen.clock[thread]++;
    memory->has_released = false;
    size_t first = (address - machine.arena) / 8, end = (address - machine.arena + len + 7) / 8;
    for (size_t i = first; i < end; i++) {
        const char *race = race_of(thread, &machine.shadows[i], is_write);
        if (race != NULL)
            return race;
    }
    return NULL;
}

/* ---- digest --------------------------------------------------------------------------------- */

/* Finds, by word, the oldest value that a thread which has not ended may read. */
static void oldest_of_all(machine_view *base, uint32_t ended)
{
    memset(base->at, UINT8_MAX, sizeof base->at);
    for (uint32_t i = 0; i < machine.thread_count; i++) {
        const machine_view *seen = &machine.threads[i].seen;
        for (uint32_t at = 0; (ended & 1u << i) == 0 && at < MACHINE_LOCATIONS_MAX; at++)
            base->at[at] = seen->at[at] < base->at[at] ? seen->at[at] : base->at[at];
    }
}

/* Values are counted from the oldest readable one, so that a loop which stores returns to the same
 * state. */
static uint64_t view_digest(const machine_view *view, const machine_view *base)
{
    machine_view from_base;
    uint64_t digest = 0;
    for (uint32_t i = 0; i < MACHINE_LOCATIONS_MAX; i++)
        from_base.at[i] = (uint8_t)(view->at[i] > base->at[i] ? view->at[i] - base->at[i] : 0);
    for (uint32_t i = 0; i < MACHINE_LOCATIONS_MAX / 8; i++) {
        uint64_t word;
        memcpy(&word, from_base.at + (size_t)8 * i, sizeof word);
        digest = machine_mix(digest, word);
    }
    uint64_t clocks;
    memcpy(&clocks, view->clock, sizeof clocks);
    return machine_mix(digest, clocks);
}

static uint64_t thread_digest(const thread_memory *memory, const machine_view *base, bool fences)
{
    uint64_t digest = machine_mix(memory->has_released, view_digest(&memory->seen, base));
    if (!fences)
        return digest;
    digest = machine_mix(digest, view_digest(&memory->acquired, base));
    return machine_mix(digest, view_digest(&memory->released, base));
}

uint64_t machine_digest(bool fences, uint32_t ended)
{
    machine_view base;
    oldest_of_all(&base, ended);
    uint64_t digest = view_digest(&machine.consistent, &base);
    for (uint32_t i = 0; i < machine.thread_count; i++) {
        if ((ended & 1u << i) == 0)
            digest = machine_mix(digest, thread_digest(&machine.threads[i], &base, fences));
    }
    uint64_t sum = 0; /* sum over readable values; order-free, as words are touched in any order */
    for (uint32_t i = 0; i < machine.touched_count; i++) {
        uint32_t number = machine.touched[i];
        const location *place = &machine.locations[number];
        for (uint32_t at = base.at[number]; at < place->count; at++) {
            const message *value = message_at(place, at);
            uint64_t word = machine_mix(number, value->value);
            word = machine_mix(word, at - base.at[number]);
            sum += machine_mix(word, view_digest(&value->view, &base));
        }
    }
    return machine_mix(digest, sum);
}
