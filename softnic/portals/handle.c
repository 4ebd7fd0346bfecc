/* SPDX-License-Identifier: BSD-3-Clause */
/* handle.c: handles. A handle has 3 bits of kind, 10 bits of generation and 16 bits of number, so
 * it is below 2^29, and no live handle is one of the special values. Numbers are used again oldest
 * first, so that an old handle stays invalid for long; and in the same order in all processes. */
#include "softnic/portals/inner.h"

#include <stdlib.h>

enum {
    NUMBER_BITS = 16,
    GENERATION_BITS = 10,
    NUMBERS = 1 << NUMBER_BITS,
    GENERATIONS = 1 << GENERATION_BITS,
    SPARE = 64, /* freed numbers that are kept unused */
    NOWHERE = NUMBERS,
};

static bool grow(p4_table *table)
{
    if (table->used < table->len)
        return true;
    if (table->len == NUMBERS)
        return false;
    uint32_t len = table->len == 0 ? 64 : table->len * 2;
    p4_slot *slots = realloc(table->slots, len * sizeof(*slots));
    if (slots == NULL)
        return false;
    for (uint32_t i = table->len; i < len; i++)
        slots[i] = (p4_slot){ .next = NOWHERE };
    table->slots = slots;
    table->len = len;
    return true;
}

static uint32_t take_free(p4_table *table)
{
    uint32_t number = table->first;
    p4_slot *slot = &table->slots[number];
    table->first = slot->next;
    table->free_count--;
    slot->generation = (uint16_t)((slot->generation + 1) % GENERATIONS);
    slot->is_ghost = false;
    return number;
}

ptl_handle_any_t p4_handle_at(const pen_portals *card, p4_object kind, uint32_t number)
{
    return (uint32_t)kind << (NUMBER_BITS + GENERATION_BITS) |
           (uint32_t)card->tables[kind].slots[number].generation << NUMBER_BITS | number;
}

ptl_handle_any_t p4_handle_make(pen_portals *card, p4_object kind, void *object)
{
    p4_table *table = &card->tables[kind];
    uint32_t number;
    if (table->free_count <= SPARE && grow(table))
        number = table->used++;
    else if (table->free_count > 0)
        number = take_free(table);
    else
        return PTL_INVALID_HANDLE;
    table->slots[number].object = object;
    return p4_handle_at(card, kind, number);
}

static p4_slot *slot_of(const pen_portals *card, p4_object kind, ptl_handle_any_t handle)
{
    const p4_table *table = &card->tables[kind];
    uint32_t number = handle % NUMBERS;
    if (handle >> (NUMBER_BITS + GENERATION_BITS) != (uint32_t)kind || number >= table->used ||
        table->slots[number].generation != (handle >> NUMBER_BITS) % GENERATIONS)
        return NULL;
    return &table->slots[number];
}

void *p4_handle_find(const pen_portals *card, p4_object kind, ptl_handle_any_t handle)
{
    const p4_slot *slot = slot_of(card, kind, handle);
    return slot != NULL ? slot->object : NULL;
}

void p4_handle_end(pen_portals *card, p4_object kind, ptl_handle_any_t handle, bool is_ghost)
{
    p4_slot *slot = slot_of(card, kind, handle);
    if (slot == NULL || slot->object == NULL)
        return;
    p4_table *table = &card->tables[kind];
    uint32_t number = handle % NUMBERS;
    slot->object = NULL;
    slot->is_ghost = is_ghost;
    slot->next = NOWHERE;
    if (table->free_count++ == 0)
        table->first = number;
    else
        table->slots[table->last].next = number;
    table->last = number;
}

bool p4_handle_take_ghost(pen_portals *card, p4_object kind, ptl_handle_any_t handle)
{
    p4_slot *slot = slot_of(card, kind, handle);
    if (slot == NULL || !slot->is_ghost)
        return false;
    slot->is_ghost = false;
    return true;
}

p4_ni *p4_find_ni(const pen_portals *card, ptl_handle_any_t handle)
{
    return p4_handle_find(card, P4_NI, handle);
}

p4_ni *p4_find_owner(const pen_portals *card, ptl_handle_any_t handle)
{
    uint32_t kind = handle >> (NUMBER_BITS + GENERATION_BITS);
    void *object = kind < P4_OBJECTS ? p4_handle_find(card, (p4_object)kind, handle) : NULL;
    if (object == NULL)
        return NULL;
    switch ((p4_object)kind) {
    case P4_NI:
        return object;
    case P4_EQ:
        return ((p4_eq *)object)->ni;
    case P4_CT:
        return ((p4_ct *)object)->ni;
    case P4_MD:
        return ((p4_md *)object)->ni;
    default:
        return ((p4_entry *)object)->pt->ni;
    }
}

void p4_tables_free(pen_portals *card)
{
    for (int kind = 0; kind < P4_OBJECTS; kind++)
        free(card->tables[kind].slots);
}
