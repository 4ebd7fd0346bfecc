/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.c: the ranks that will run, as a binary heap. Each rank knows its place. */
#include "base/compiler.h"
#include "virtual/world.h"

static bool is_before(const pen_virtual *view, uint32_t a, uint32_t b)
{
    uint64_t a_ns = view->ranks[a].key_ns, b_ns = view->ranks[b].key_ns;
    return a_ns < b_ns || (a_ns == b_ns && a < b);
}

static void set(pen_virtual *view, uint32_t place, uint32_t rank)
{
    view->heap[place] = rank;
    view->ranks[rank].place = place + 1;
}

static void rise(pen_virtual *view, uint32_t place, uint32_t rank)
{
    while (place > 0 && is_before(view, rank, view->heap[(place - 1) / 2])) {
        set(view, place, view->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    set(view, place, rank);
}

static void sink(pen_virtual *view, uint32_t rank)
{
    uint32_t place = 0, count = view->world->heap_count;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child + 1 < count && is_before(view, view->heap[child + 1], view->heap[child]))
            child++;
        if (child >= count || !is_before(view, view->heap[child], rank))
            break;
        set(view, place, view->heap[child]);
        place = child;
    }
    set(view, place, rank);
}

void pen_virtual_heap_add(pen_virtual *view, uint32_t rank, uint64_t key_ns)
{
    view->ranks[rank].key_ns = key_ns;
    rise(view, view->world->heap_count++, rank);
}

uint32_t pen_virtual_heap_take(pen_virtual *view)
{
    uint32_t first = view->heap[0], last = view->heap[--view->world->heap_count];
    view->ranks[first].place = 0;
    if (view->world->heap_count > 0)
        sink(view, last);
    return first;
}

void pen_virtual_heap_earlier(pen_virtual *view, uint32_t rank, uint64_t key_ns)
{
    PEN_ASSERT(view->ranks[rank].place != 0);
    if (key_ns >= view->ranks[rank].key_ns)
        return;
    view->ranks[rank].key_ns = key_ns;
    rise(view, view->ranks[rank].place - 1, rank);
}
