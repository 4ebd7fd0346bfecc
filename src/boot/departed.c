/* SPDX-License-Identifier: BSD-3-Clause */
/* departed.c: see departed.h. */
#include "boot/departed.h"

#include <string.h>

void pen_departed_show(pen_host_page *page, uint32_t rank)
{
    pen_departed *row = pen_departed_row(page, rank);
    if (row == NULL || atomic_load_explicit(&row->gone, memory_order_relaxed) != 0)
        return;
    /* release: pairs with the acquire in pen_departed_of */
    atomic_store_explicit(&row->gone, 1, memory_order_release);
    atomic_fetch_add_explicit(&page->departed_count, 1, memory_order_relaxed);
}

size_t pen_departed_len(const pen_departed *row)
{
    uint32_t teams = row->team_count < PEN_DEPARTED_TEAMS ? row->team_count : PEN_DEPARTED_TEAMS;
    return offsetof(pen_departed, teams) + teams * sizeof(pen_departed_team);
}

void pen_departed_take(pen_host_page *page, uint32_t rank, const void *bytes, size_t len)
{
    const size_t head = offsetof(pen_departed, meets);
    pen_departed *row = pen_departed_row(page, rank);
    if (row == NULL || len < offsetof(pen_departed, teams) || len > sizeof(*row) ||
        pen_departed_of(page, rank) != NULL)
        return;
    memcpy((char *)row + head, (const char *)bytes + head, len - head);
    if (pen_departed_len(row) > len)
        row->team_count =
            (uint32_t)((len - offsetof(pen_departed, teams)) / sizeof(pen_departed_team));
    pen_departed_show(page, rank);
}
