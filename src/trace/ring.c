/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c: opening a ring, names of regions, and the reader's side. */
#include "trace/ring.h"

#include "os/lock.h"
#include "trace/event.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

size_t pen_trace_ring_len(uint64_t wish)
{
    uint64_t events = PEN_TRACE_EVENTS_MIN;
    while (events < PEN_TRACE_EVENTS_MAX && 2 * events * sizeof(pen_trace_event) <= wish)
        events *= 2;
    return sizeof(pen_trace_ring) + (size_t)events * sizeof(pen_trace_event);
}

uint64_t pen_trace_ring_events(size_t len)
{
    if (len < sizeof(pen_trace_ring))
        return 0;
    uint64_t events = (len - sizeof(pen_trace_ring)) / sizeof(pen_trace_event);
    bool fits = events >= PEN_TRACE_EVENTS_MIN && events <= PEN_TRACE_EVENTS_MAX;
    return fits && (events & (events - 1)) == 0 ? events : 0;
}

/* ---- the rank's side ------------------------------------------------------------------------- */

static uint32_t hash(const char *name)
{
    uint32_t sum = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < PEN_TRACE_NAME_LEN - 1 && name[i] != '\0'; i++)
        sum = (sum ^ (unsigned char)name[i]) * 16777619u;
    return sum;
}

static bool is_name(const pen_trace *trace, uint32_t number, const char *name)
{
    return strncmp(trace->ring->names[number], name, PEN_TRACE_NAME_LEN - 1) == 0;
}

static uint16_t *place_of(pen_trace *trace, const char *name)
{
    uint32_t at = hash(name) % PEN_TRACE_TABLE_LEN;
    while (trace->table[at] != 0 && !is_name(trace, trace->table[at] - 1u, name))
        at = (at + 1) % PEN_TRACE_TABLE_LEN;
    return &trace->table[at];
}

static void add_name(pen_trace *trace, const char *name)
{
    pen_trace_ring *ring = trace->ring;
    /* relaxed: only this rank writes it, under the lock */
    uint32_t number = atomic_load_explicit(&ring->name_count, memory_order_relaxed);
    (void)snprintf(ring->names[number], sizeof ring->names[number], "%s", name);
    /* release: pairs with the acquire in the collector; the name comes with it */
    atomic_store_explicit(&ring->name_count, number + 1, memory_order_release);
}

uint16_t pen_trace_name(pen_trace *trace, const char *name)
{
    pen_lock_take(&trace->lock);
    uint16_t *place = place_of(trace, name);
    if (*place == 0) {
        uint32_t count = atomic_load_explicit(&trace->ring->name_count, memory_order_relaxed);
        if (count < PEN_TRACE_NAMES_MAX)
            add_name(trace, count < PEN_TRACE_NAMES_MAX - 1 ? name : "other");
        if (count < PEN_TRACE_NAMES_MAX - 1)
            *place = (uint16_t)(count + 1);
    }
    uint16_t number = *place != 0 ? (uint16_t)(*place - 1u) : PEN_TRACE_NAMES_MAX - 1;
    pen_lock_drop(&trace->lock);
    return number;
}

void pen_trace_open(pen_trace *trace, void *memory, size_t len, uint32_t kinds,
                    pen_concurrency concurrency)
{
    *trace = (pen_trace){ .ring = memory, .mask = pen_trace_ring_events(len) - 1, .kinds = kinds };
    pen_lock_init(&trace->lock, concurrency);
    /* relaxed, both: this rank's own */
    trace->head = atomic_load_explicit(&trace->ring->head, memory_order_relaxed);
    uint32_t count = atomic_load_explicit(&trace->ring->name_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count && i < PEN_TRACE_NAMES_MAX - 1; i++)
        *place_of(trace, trace->ring->names[i]) = (uint16_t)(i + 1);
}

/* ---- the reader's side ----------------------------------------------------------------------- */

/* The oldest event that a writer, which has written `head` events and may be writing the next
 * one, leaves intact. */
static uint64_t oldest(uint64_t head, uint64_t events)
{
    return head < events ? 0 : head - events + 1;
}

static void copy_event(const pen_trace_ring *ring, uint64_t slot, pen_trace_event *out)
{
    uint64_t words[PEN_TRACE_EVENT_WORDS];
    /* acquire: pairs with the release in pen_trace_write; if a word belongs to a newer event, the
     * caller's next load of head sees that the slot was taken */
    for (int i = 0; i < PEN_TRACE_EVENT_WORDS; i++)
        words[i] = atomic_load_explicit(&ring->words[slot * PEN_TRACE_EVENT_WORDS + (size_t)i],
                                        memory_order_acquire);
    memcpy(out, words, sizeof words);
}

size_t pen_trace_read(const pen_trace_ring *ring, uint64_t events, uint64_t *from, uint64_t *first,
                      pen_trace_event *out, size_t max)
{
    /* acquire: pairs with the release in pen_trace_write */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    if (head < *from) /* a rank that writes nonsense */
        return 0;
    uint64_t begin = *from > oldest(head, events) ? *from : oldest(head, events);
    size_t count = head - begin < max ? (size_t)(head - begin) : max;
    for (size_t i = 0; i < count; i++)
        copy_event(ring, (begin + i) & (events - 1), &out[i]);
    /* relaxed: the loads of the words were acquires */
    uint64_t intact = oldest(atomic_load_explicit(&ring->head, memory_order_relaxed), events);
    uint64_t lost = intact > begin ? intact - begin : 0;
    if (lost > count)
        lost = count;
    memmove(out, out + lost, (count - (size_t)lost) * sizeof *out);
    *first = begin + lost;
    *from = begin + count;
    return count - (size_t)lost;
}
