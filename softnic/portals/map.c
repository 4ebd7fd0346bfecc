/* SPDX-License-Identifier: BSD-3-Clause */
/* map.c: addresses. The physical address of process i of a fabric is (PEN_PORTALS_NID, i + 1). A
 * logical interface names processes by rank, after PtlSetMap. */
#include "softnic/portals/inner.h"

#include <stdlib.h>
#include <string.h>

static ptl_process_t phys_of(uint32_t process_i)
{
    return (ptl_process_t){ .phys = { PEN_PORTALS_NID, process_i + 1 } };
}

static bool is_process(const pen_portals *card, ptl_process_t id)
{
    return id.phys.nid == PEN_PORTALS_NID && id.phys.pid >= 1 &&
           id.phys.pid <= card->config.processes;
}

bool p4_process_of(const p4_ni *ni, ptl_process_t id, uint32_t *process_i)
{
    if ((ni->options & PTL_NI_LOGICAL) != 0) {
        if (ni->map == NULL || id.rank >= ni->map_len)
            return false;
        id = ni->map[id.rank];
    }
    if (!is_process(ni->card, id))
        return false;
    *process_i = id.phys.pid - 1;
    return true;
}

ptl_process_t p4_id_of(const p4_ni *ni, uint32_t process_i)
{
    if ((ni->options & PTL_NI_LOGICAL) == 0)
        return phys_of(process_i);
    ptl_process_t id = { .phys = { 0, 0 } };
    id.rank = ni->ranks != NULL ? ni->ranks[process_i] : PTL_RANK_ANY;
    return id;
}

/* Builds the table of ranks. Returns false if a process appears twice or does not exist. */
static bool invert(const pen_portals *card, ptl_size_t map_size, const ptl_process_t *mapping,
                   ptl_rank_t *ranks)
{
    for (uint32_t i = 0; i < card->config.processes; i++)
        ranks[i] = PTL_RANK_ANY;
    for (ptl_size_t rank = 0; rank < map_size; rank++) {
        if (!is_process(card, mapping[rank]) || ranks[mapping[rank].phys.pid - 1] != PTL_RANK_ANY)
            return false;
        ranks[mapping[rank].phys.pid - 1] = (ptl_rank_t)rank;
    }
    return ranks[card->own] != PTL_RANK_ANY;
}

static int set_map(pen_portals *card, p4_ni *ni, ptl_size_t map_size, const ptl_process_t *mapping)
{
    if (ni == NULL || (ni->options & PTL_NI_LOGICAL) == 0 || mapping == NULL || map_size == 0 ||
        map_size > card->config.processes)
        return PTL_ARG_INVALID;
    if (ni->map != NULL)
        return PTL_IGNORED;
    ptl_process_t *map = malloc(map_size * sizeof(*map));
    ptl_rank_t *ranks = malloc(card->config.processes * sizeof(*ranks));
    int result = map == NULL || ranks == NULL ? PTL_NO_SPACE : PTL_OK;
    if (result == PTL_OK && !invert(card, map_size, mapping, ranks))
        result = PTL_ARG_INVALID;
    if (result != PTL_OK) {
        free(map);
        free(ranks);
        return result;
    }
    memcpy(map, mapping, map_size * sizeof(*map));
    ni->map = map;
    ni->map_len = map_size;
    ni->ranks = ranks;
    return PTL_OK;
}

int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    int result = set_map(card, p4_find_ni(card, ni_handle), map_size, mapping);
    p4_leave(card);
    return result;
}

int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping,
              ptl_size_t *actual_map_size)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    const p4_ni *ni = p4_find_ni(card, ni_handle);
    int result = PTL_ARG_INVALID;
    if (ni != NULL && (ni->options & PTL_NI_LOGICAL) != 0 && (mapping != NULL || map_size == 0)) {
        result = ni->map != NULL ? PTL_OK : PTL_NO_SPACE;
        if (actual_map_size != NULL)
            *actual_map_size = ni->map_len;
        ptl_size_t len = map_size < ni->map_len ? map_size : ni->map_len;
        if (len > 0 && ni->map != NULL)
            memcpy(mapping, ni->map, len * sizeof(*mapping));
    }
    p4_leave(card);
    return result;
}

int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    bool is_right = p4_find_ni(card, ni_handle) != NULL && uid != NULL;
    if (is_right)
        *uid = card->uid;
    p4_leave(card);
    return is_right ? PTL_OK : PTL_ARG_INVALID;
}

static int get_id(ptl_handle_ni_t ni_handle, bool is_phys, ptl_process_t *id)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    const p4_ni *ni = p4_find_ni(card, ni_handle);
    bool is_right = ni != NULL && id != NULL;
    if (is_right)
        *id = is_phys ? phys_of(card->own) : p4_id_of(ni, card->own);
    p4_leave(card);
    return is_right ? PTL_OK : PTL_ARG_INVALID;
}

int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t *id) { return get_id(ni_handle, false, id); }

int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t *id)
{
    return get_id(ni_handle, true, id);
}
