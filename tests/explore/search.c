/* SPDX-License-Identifier: BSD-3-Clause */
/* search.c: runs a scenario again and again, each time with another order of its threads' steps or
 * another value read, until all are tried.
 *
 * A run is a list of choices. To go back to a choice, the run is repeated from the start with the
 * same choices up to there. A state is everything the future depends on: all that each thread has
 * learnt (after the same answers it does the same) and all that memory may answer. States are kept
 * as 64-bit digests: among a million states two have the same digest by chance with probability
 * 3e-8. */
#include "explorer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum {
    STACK_LEN = 128 * 1024,
    CHOICES_MAX = 8192, /* in one run */
    STEPS_MAX = 200000, /* in one run: a thread that runs longer does not end */
    SETTLES_MAX = 8192,
    STATES_START = 1 << 16,
};

typedef struct coroutine {
    ucontext_t start;
    jmp_buf at;
    bool started, ended, asleep; /* asleep: on the futex in op */
    uint64_t history;            /* digest of all it has learnt */
    machine_op op;               /* the next operation, which the explorer performs */
    uint64_t answer;
    bool cas_done;
    char *stack;
} coroutine;

typedef struct search_choice {
    uint32_t count, taken;
} search_choice;

static struct search {
    const explore_scenario *scenario;
    const explore_limits *limits;
    coroutine threads[MACHINE_THREADS_MAX];
    uint32_t current; /* the running thread; UINT32_MAX: no thread */
    jmp_buf explorer;
    search_choice choices[CHOICES_MAX];
    uint32_t choice_count,
        replayed;       /* choices of this run; of these, repeated from the run before ... */
    uint32_t choice_at; /* ... except the last; and how many the run has passed */
    uint64_t settles[SETTLES_MAX]; /* digests, in the order in which threads settled */
    uint32_t settled;
    uint64_t *states, state_count, state_room;
    uint64_t runs, steps;
    bool tracing, faulty, membarrier_refused;
    uint32_t inbox_slack;
    char fault[512];
} search = { .current = UINT32_MAX };

/* ---- what scenarios and hooks ask ---- */

uint32_t explore_thread(void) { return search.current; }
bool explore_is_running(void) { return search.current != UINT32_MAX; }
bool explore_has_fences(void) { return search.scenario->fences; }
bool explore_has_ended(uint32_t thread) { return search.threads[thread].ended; }
bool explore_membarrier_refused(void) { return search.membarrier_refused; }
void explore_refuse_membarrier(bool refused) { search.membarrier_refused = refused; }

uint32_t explore_inbox_slack(void) { return search.inbox_slack; }
void explore_inbox_slack_set(uint32_t slots) { search.inbox_slack = slots; }

bool explore_is(const char *mutant)
{
    return search.limits->mutant != NULL && strcmp(mutant, search.limits->mutant) == 0;
}

void explore_note(uint64_t value)
{
    coroutine *thread = &search.threads[search.current];
    thread->history = machine_mix(thread->history, value);
}

/* Up to the last repeated choice everything equals the run before, including digests. */
void explore_settle(uint64_t (*digest_of)(const void *what), const void *what, uint64_t loop)
{
    if (search.settled == SETTLES_MAX)
        explore_die("a thread settles too often: make the scenario smaller");
    uint64_t *digest = &search.settles[search.settled++];
    if (search.choice_at >= search.replayed)
        *digest = machine_mix(digest_of(what), loop);
    search.threads[search.current].history = machine_mix(search.current + 1, *digest);
}

/* Four chains, for speed. */
uint64_t explore_digest(const void *start, size_t len)
{
    uint64_t chains[4] = { len, 1, 2, 3 };
    for (size_t i = 0; i + sizeof chains <= len; i += sizeof chains) {
        uint64_t words[4];
        memcpy(words, (const char *)start + i, sizeof words);
        for (uint32_t chain = 0; chain < 4; chain++)
            chains[chain] = machine_mix(chains[chain], words[chain]);
    }
    for (size_t i = len / sizeof chains * sizeof chains; i < len; i++)
        chains[0] = machine_mix(chains[0], ((const unsigned char *)start)[i]);
    return machine_mix(machine_mix(chains[0], chains[1]), machine_mix(chains[2], chains[3]));
}

void explore_die(const char *format, ...)
{
    char said[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(said, sizeof said, format, args);
    va_end(args);
    (void)fprintf(stderr, "explore: %s\n", said);
    exit(2);
}

/* Leaves the running thread for the explorer; returns here when the thread is resumed. */
static void leave(void)
{
    coroutine *thread = &search.threads[search.current];
    if (_setjmp(thread->at) == 0)
        _longjmp(search.explorer, 1);
}

void explore_fault(const char *format, ...)
{
    if (search.faulty)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(search.fault, sizeof search.fault, format, args);
    va_end(args);
    search.faulty = true;
    if (explore_is_running()) {
        search.threads[search.current].ended = true;
        leave();
    }
}

/* ---- threads ---- */

static void thread_main(void)
{
    uint32_t self = search.current;
    search.scenario->run(self);
    search.threads[self].ended = true;
    leave();
}

/* Runs the thread up to its next operation, or to its end. */
static void resume(uint32_t number)
{
    coroutine *thread = &search.threads[number];
    search.current = number;
    if (_setjmp(search.explorer) == 0) {
        if (thread->started)
            _longjmp(thread->at, 1);
        thread->started = true;
        (void)setcontext(&thread->start);
    }
    search.current = UINT32_MAX;
}

static void thread_reset(uint32_t number)
{
    coroutine *thread = &search.threads[number];
    thread->started = thread->ended = thread->asleep = false;
    thread->history = number + 1;
    (void)getcontext(&thread->start);
    thread->start.uc_stack.ss_sp = thread->stack;
    thread->start.uc_stack.ss_size = STACK_LEN;
    thread->start.uc_link = NULL;
    makecontext(&thread->start, thread_main, 0);
}

/* ---- operations ---- */

static void trace(uint32_t thread, const machine_op *op, uint32_t choice)
{
    static const char *const kinds[] = { "load",       "store",      "add",        "sub",  "and",
                                         "or",         "xor",        "swap",       "cas",  "fence",
                                         "membarrier", "futex wait", "futex wake", "idle", "end" };
    static const char *const orders[] = { "relaxed", "consume", "acquire",
                                          "release", "acq_rel", "seq_cst" };
    const explore_object *object = explore_object_of(op->address);
    size_t at = object == NULL ? 0 : op->address - object->start;
    printf("  %*s%c %-10s", 2 * (int)thread, "", 'A' + (int)thread, kinds[op->kind]);
    if (object != NULL)
        printf(" %s+%zu", object->name, at);
    if (op->kind <= OP_FENCE)
        printf(" %s", orders[op->order]);
    if (op->kind != OP_LOAD && op->kind < OP_FENCE)
        printf(" operand %#llx", (unsigned long long)op->operand);
    if (op->kind < OP_FENCE)
        printf(" = %#llx", (unsigned long long)search.threads[thread].answer);
    printf(choice != 0 ? ", an older value\n" : "\n");
}

/* membarrier: the caller's own fence, one on each other processor in turn, its own again. */
static bool perform_barrier(uint32_t self, machine_op *op)
{
    machine_fence(self, __ATOMIC_SEQ_CST);
    if (op->step == self)
        op->step++;
    if (op->step < search.scenario->threads)
        machine_fence(op->step++, __ATOMIC_SEQ_CST);
    if (op->step == self)
        op->step++;
    if (op->step < search.scenario->threads)
        return false;
    machine_fence(self, __ATOMIC_SEQ_CST);
    return true;
}

static bool is_asleep_on(uint32_t thread, uintptr_t address)
{
    return search.threads[thread].asleep && search.threads[thread].op.address == address;
}

/* Wakes all threads, or only number `choice`. */
static void perform_wake(const machine_op *op, uint32_t choice)
{
    for (uint32_t i = 0; i < search.scenario->threads; i++) {
        if (!is_asleep_on(i, op->address))
            continue;
        if (op->operand != 1 || choice-- == 0)
            search.threads[i].asleep = false;
    }
}

/* Performs the operation. Returns false if the thread does not continue yet. */
static bool perform(uint32_t number, uint32_t choice)
{
    coroutine *thread = &search.threads[number];
    machine_op *op = &thread->op;
    thread->answer = 0;
    switch (op->kind) {
    case OP_FENCE:
        machine_fence(number, op->order);
        return true;
    case OP_BARRIER:
        return perform_barrier(number, op);
    case OP_FUTEX_WAIT:
        if (op->step++ == 0 && machine_newest(number, op->address, op->size) == op->expected)
            thread->asleep = true;
        return !thread->asleep || op->step > 1; /* a nap is over */
    case OP_FUTEX_WAKE:
        perform_wake(op, choice);
        return true;
    case OP_IDLE:
        machine_forget_reads(number);
        return true;
    default:
        thread->answer = machine_perform(number, op, choice, &thread->cas_done);
        return true;
    }
}

static uint32_t choices_of(uint32_t number)
{
    const coroutine *thread = &search.threads[number];
    const machine_op *op = &thread->op;
    if (thread->ended)
        return 0;
    if (thread->asleep) /* if nothing has changed, the end of a nap would lead to another nap */
        return search.scenario->naps && machine_has_changed(number, op->address, op->size);
    if (op->kind == OP_IDLE)
        return machine_has_news(number) ? 1 : 0;
    if (op->kind == OP_FUTEX_WAKE && op->operand == 1) {
        uint32_t asleep = 0;
        for (uint32_t i = 0; i < search.scenario->threads; i++)
            asleep += is_asleep_on(i, op->address) ? 1 : 0;
        return asleep > 1 ? asleep : 1;
    }
    return op->kind < OP_FENCE ? machine_choices(number, op) : 1;
}

static void learn(coroutine *thread)
{
    thread->history = machine_mix(thread->history, thread->answer);
    if (thread->op.kind == OP_CAS)
        thread->history = machine_mix(thread->history, thread->cas_done);
}

/* Returns whether a store can be made early, because no thread could notice. */
static bool is_made_at_once(const machine_op *op)
{
    if (op->kind != OP_STORE || explore_has_fences() || op->order == __ATOMIC_SEQ_CST)
        return false;
    const explore_object *object = explore_object_of(op->address);
    return object != NULL && object->kind == EXPLORE_ONE;
}

uint64_t explore_perform(const machine_op *op, bool *cas_done_out)
{
    coroutine *thread = &search.threads[search.current];
    thread->op = *op;
    if (is_made_at_once(op)) {
        thread->answer = machine_perform(search.current, op, 0, NULL);
        learn(thread);
        if (search.tracing)
            trace(search.current, op, 0);
        return thread->answer;
    }
    leave();
    if (cas_done_out != NULL)
        *cas_done_out = thread->cas_done;
    return thread->answer;
}

void explore_idle(void)
{
    machine_op op = { .kind = OP_IDLE };
    (void)explore_perform(&op, NULL);
}

/* ---- states ---- */

static bool states_add(uint64_t digest)
{
    digest += digest == 0; /* 0: the place is empty */
    uint64_t at = digest & (search.state_room - 1);
    for (; search.states[at] != 0; at = (at + 1) & (search.state_room - 1)) {
        if (search.states[at] == digest)
            return false;
    }
    search.states[at] = digest;
    search.state_count++;
    return true;
}

static void states_grow(void)
{
    uint64_t *old = search.states, old_room = search.state_room;
    search.state_room = old == NULL ? STATES_START : 2 * old_room;
    search.states = calloc(search.state_room, sizeof *search.states);
    if (search.states == NULL)
        explore_die("no memory for %llu states", (unsigned long long)search.state_room);
    search.state_count = 0;
    for (uint64_t i = 0; old != NULL && i < old_room; i++) {
        if (old[i] != 0)
            (void)states_add(old[i]);
    }
    free(old);
}

static bool state_is_new(void)
{
    uint32_t ended = 0;
    for (uint32_t i = 0; i < search.scenario->threads; i++)
        ended |= (uint32_t)search.threads[i].ended << i;
    uint64_t digest = machine_digest(search.scenario->fences, ended);
    for (uint32_t i = 0; i < search.scenario->threads; i++) {
        const coroutine *thread = &search.threads[i];
        digest = machine_mix(digest, thread->history);
        digest = machine_mix(digest, (uint64_t)thread->op.step << 2 |
                                         (unsigned)thread->asleep << 1 | (unsigned)thread->ended);
    }
    if (2 * search.state_count >= search.state_room)
        states_grow();
    return states_add(digest);
}

/* ---- runs ---- */

/* Chooses one of `count` ways. Returns -1 if the state is known. */
static int64_t choose(uint32_t count, uint32_t at)
{
    if (count == 1)
        return 0;
    if (at >= search.replayed) {
        if (at == CHOICES_MAX)
            explore_die("too many choices in one run: make the scenario smaller");
        if (!state_is_new())
            return -1;
        search.choices[at] = (search_choice){ .count = count };
        search.choice_count = at + 1;
    }
    return search.choices[at].taken;
}

/* Takes one step of one thread. Returns false if no thread can continue, or if the state is known
 * (*known_out). */
static bool step(bool *known_out)
{
    uint32_t counts[MACHINE_THREADS_MAX] = { 0 }, total = 0;
    for (uint32_t i = 0; i < search.scenario->threads; i++)
        total += counts[i] = choices_of(i);
    if (total == 0)
        return false;
    int64_t taken = choose(total, search.choice_at);
    if (taken < 0) {
        *known_out = true;
        return false;
    }
    search.choice_at += total > 1;
    uint32_t thread = 0;
    for (; taken >= counts[thread]; thread++)
        taken -= counts[thread];
    bool goes_on = perform(thread, (uint32_t)taken);
    if (search.tracing)
        trace(thread, &search.threads[thread].op, (uint32_t)taken);
    if (goes_on) {
        search.threads[thread].asleep = false;
        learn(&search.threads[thread]);
        resume(thread);
    }
    return true;
}

static void run_once(void)
{
    uint32_t steps = 0;
    bool known = false;
    explore_restore();
    machine_reset();
    search.choice_count = search.replayed;
    search.choice_at = search.settled = 0;
    for (uint32_t i = 0; i < search.scenario->threads; i++)
        thread_reset(i);
    for (uint32_t i = 0; i < search.scenario->threads && !search.faulty; i++)
        resume(i);
    while (!search.faulty && step(&known)) {
        if (++steps == STEPS_MAX)
            explore_fault("a run does not end");
    }
    search.steps += steps;
    search.runs++;
    if (!known && !search.faulty)
        search.scenario->judge();
}

/* Prepares the next run: it takes the next way at the last choice that has one. Returns false if
 * all are tried. */
static bool backtrack(void)
{
    while (search.choice_count > 0) {
        search_choice *last = &search.choices[search.choice_count - 1];
        if (++last->taken < last->count) {
            search.replayed = search.choice_count;
            return true;
        }
        search.choice_count--;
    }
    return false;
}

explore_result explore_run(const explore_scenario *scenario, const explore_limits *limits)
{
    search.scenario = scenario;
    search.limits = limits;
    explore_objects_open();
    machine_open(scenario->threads, explore_arena(), EXPLORE_ARENA_LEN);
    scenario->setup(limits->is_long);
    explore_snapshot();
    for (uint32_t i = 0; i < scenario->threads; i++) {
        search.threads[i].stack = malloc(STACK_LEN);
        if (search.threads[i].stack == NULL)
            explore_die("no memory for a stack");
    }
    states_grow();
    do {
        run_once();
    } while (!search.faulty && backtrack());
    if (search.faulty && limits->trace) {
        search.faulty = false;
        search.tracing = true;
        search.replayed = search.choice_count;
        run_once();
    }
    return (explore_result){ search.runs, search.state_count, search.steps,
                             search.faulty ? search.fault : NULL };
}
