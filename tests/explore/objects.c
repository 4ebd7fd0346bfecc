/* SPDX-License-Identifier: BSD-3-Clause */
/* objects.c: the memory that threads of a scenario share: its layout, and how it is restored when
 * the next run begins. */
#include "explorer.h"

#include <string.h>

enum { OBJECTS_MAX = 1024, PAGE_LEN = 1024, PAGES = EXPLORE_ARENA_LEN / PAGE_LEN, GRAIN = 4 };

static struct objects {
    uint32_t count;
    explore_object table[OBJECTS_MAX];
    uint16_t by_grain[EXPLORE_ARENA_LEN / GRAIN]; /* 1 + number of the object; 0: no object */
    bool saved;
    size_t used, used_at_start;
    uint32_t dirty_count;
    uint16_t dirty[PAGES];
    bool is_dirty[PAGES];
    char arena[EXPLORE_ARENA_LEN] __attribute__((aligned(4096)));
    char copy[EXPLORE_ARENA_LEN] __attribute__((aligned(4096)));
} objects;

void explore_objects_open(void) { memset(&objects, 0, sizeof objects); }

const char *explore_arena(void) { return objects.arena; }

bool explore_in_arena(const volatile void *address)
{
    return (uintptr_t)address - (uintptr_t)objects.arena < EXPLORE_ARENA_LEN;
}

void *explore_alloc(size_t len, size_t align)
{
    size_t at = (objects.used + align - 1) & ~(align - 1);
    if (at + len > EXPLORE_ARENA_LEN)
        explore_die("the arena is full: make the scenario smaller");
    objects.used = at + len;
    return objects.arena + at;
}

void explore_declare(const volatile void *start, size_t len, explore_kind kind, const char *name)
{
    if (objects.count == OBJECTS_MAX || objects.saved)
        explore_die("too many objects, or too late");
    objects.table[objects.count++] = (explore_object){ (uintptr_t)start, len, kind, name };
    size_t at = (uintptr_t)start - (uintptr_t)objects.arena;
    for (size_t grain = at / GRAIN; grain <= (at + len - 1) / GRAIN; grain++)
        objects.by_grain[grain] = (uint16_t)objects.count;
}

const explore_object *explore_object_of(uintptr_t address)
{
    uintptr_t at = address - (uintptr_t)objects.arena;
    uint16_t number = at < EXPLORE_ARENA_LEN ? objects.by_grain[at / GRAIN] : 0;
    return number == 0 ? NULL : &objects.table[number - 1];
}

void explore_dirty(uintptr_t address, size_t len)
{
    uintptr_t at = address - (uintptr_t)objects.arena;
    if (at >= EXPLORE_ARENA_LEN || !objects.saved)
        return;
    for (size_t page = at / PAGE_LEN; page <= (at + len - 1) / PAGE_LEN; page++) {
        if (objects.is_dirty[page])
            continue;
        objects.is_dirty[page] = true;
        objects.dirty[objects.dirty_count++] = (uint16_t)page;
    }
}

void explore_snapshot(void)
{
    memcpy(objects.copy, objects.arena, EXPLORE_ARENA_LEN);
    objects.used_at_start = objects.used;
    objects.saved = true;
}

void explore_restore(void)
{
    for (uint32_t i = 0; i < objects.dirty_count; i++) {
        size_t at = (size_t)objects.dirty[i] * PAGE_LEN;
        memcpy(objects.arena + at, objects.copy + at, PAGE_LEN);
        objects.is_dirty[objects.dirty[i]] = false;
    }
    objects.dirty_count = 0;
    objects.used = objects.used_at_start;
}
