/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.c: properties of the library's data that compiled clients rely on: sizes, offsets and
 * values that never change under one SONAME. A moved field does not compile. */
#include <gasnet.h>

#include <stddef.h>
#include <stdio.h>

#define SIZE_IS(type, size) \
    _Static_assert(sizeof(type) == (size), "clients know the size of " #type)
#define OFFSET_IS(type, field, offset)                \
    _Static_assert(offsetof(type, field) == (offset), \
                   "clients know where " #field " lies in " #type)
#define VALUE_IS(name, value) _Static_assert((name) == (value), "clients know the value of " #name)

/* ---- what inline code reads ---------------------------------------------------------------- */

SIZE_IS(pen_mapped, 32);
OFFSET_IS(pen_mapped, base, 0);
OFFSET_IS(pen_mapped, len, 8);
OFFSET_IS(pen_mapped, delta, 16);
SIZE_IS(pen_team_view, 40);
OFFSET_IS(pen_team_view, rank, 0);
OFFSET_IS(pen_team_view, size, 4);
OFFSET_IS(pen_team_view, mapped_first, 8);
OFFSET_IS(pen_team_view, mapped_count, 12);
OFFSET_IS(pen_team_view, mapped, 16);
OFFSET_IS(pen_team_view, reserved, 24);
SIZE_IS(pen_atomic_view, 32);
OFFSET_IS(pen_atomic_view, team, 0);
SIZE_IS(pen_atomic_call, 48);
OFFSET_IS(pen_atomic_call, target, 8);
OFFSET_IS(pen_atomic_call, rank, 16);
OFFSET_IS(pen_atomic_call, type, 20);
OFFSET_IS(pen_atomic_call, op, 24);
OFFSET_IS(pen_atomic_call, flags, 28);
OFFSET_IS(pen_atomic_call, operands, 32);
SIZE_IS(pen_unit, 32);
OFFSET_IS(pen_unit, file, 16);
OFFSET_IS(pen_unit, name, 24);
SIZE_IS(pen_build, 40);
OFFSET_IS(pen_build, file, 16);
OFFSET_IS(pen_build, units, 24);
OFFSET_IS(pen_build, units_end, 32);
SIZE_IS(pen_hsl, 24);
OFFSET_IS(pen_hsl, word, 0);
OFFSET_IS(pen_hsl, owner, 8);
OFFSET_IS(pen_hsl, below, 16);
SIZE_IS(pen_block, 64);
SIZE_IS(pen_valget, 16);
VALUE_IS(PEN_ABI, 1);
VALUE_IS(PEN_MODE_SEQ, 1);
VALUE_IS(PEN_MODE_PARSYNC, 2);
VALUE_IS(PEN_MODE_PAR, 3);
VALUE_IS(PEN_SEGMENT_FAST, 1);
VALUE_IS(PEN_SEGMENT_LARGE, 2);
VALUE_IS(PEN_SEGMENT_EVERYTHING, 3);

/* ---- types of the interface ----------------------------------------------------------------- */

SIZE_IS(gex_Rank_t, 4);
SIZE_IS(gex_EP_Index_t, 2);
SIZE_IS(gex_AM_Index_t, 1);
SIZE_IS(gex_AM_Arg_t, 4);
SIZE_IS(gex_Flags_t, 4);
SIZE_IS(gex_RMA_Value_t, 8);
SIZE_IS(gex_Event_t, sizeof(uintptr_t));
SIZE_IS(gex_Client_t, sizeof(uintptr_t));
SIZE_IS(gex_EP_t, sizeof(uintptr_t));
SIZE_IS(gex_TM_t, sizeof(uintptr_t));
SIZE_IS(gex_Segment_t, sizeof(uintptr_t));
SIZE_IS(gex_Token_t, sizeof(uintptr_t));
SIZE_IS(gex_MK_t, sizeof(uintptr_t));
SIZE_IS(gex_AM_Entry_t, 40);
OFFSET_IS(gex_AM_Entry_t, gex_index, 0);
OFFSET_IS(gex_AM_Entry_t, gex_fnptr, 8);
OFFSET_IS(gex_AM_Entry_t, gex_flags, 16);
OFFSET_IS(gex_AM_Entry_t, gex_nargs, 20);
OFFSET_IS(gex_AM_Entry_t, gex_cdata, 24);
OFFSET_IS(gex_AM_Entry_t, gex_name, 32);
SIZE_IS(gex_Token_Info_t, 32);
OFFSET_IS(gex_Token_Info_t, gex_ep, 8);
OFFSET_IS(gex_Token_Info_t, gex_entry, 16);
OFFSET_IS(gex_Token_Info_t, gex_is_req, 24);
OFFSET_IS(gex_Token_Info_t, gex_is_long, 28);
SIZE_IS(gex_Memvec_t, 16);
SIZE_IS(gex_EP_Location_t, 8);
SIZE_IS(gex_RankInfo_t, 4);
SIZE_IS(gasnet_seginfo_t, 16);
SIZE_IS(gasnet_nodeinfo_t, 16);
SIZE_IS(gasnet_handlerentry_t, 16);
SIZE_IS(gasnet_memvec_t, sizeof(gex_Memvec_t));

/* ---- values clients assert ------------------------------------------------------------------- */

VALUE_IS(GASNET_OK, 0);
VALUE_IS(GASNET_ERR_NOT_READY, 10004);
VALUE_IS(GEX_FLAG_IMMEDIATE, 1u);
VALUE_IS(GEX_DT_U64, 8u);
VALUE_IS(GEX_OP_ADD, 8u);
VALUE_IS(GEX_EP_CAPABILITY_RMA, 1u);
VALUE_IS(GEX_FLAG_AM_PREPARE_LEAST_CLIENT, 1u << 11);
VALUE_IS(GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 1u << 12);
VALUE_IS(GEX_EC_AM, GEX_EC_LC);
VALUE_IS(GEX_EC_PUT &GEX_EC_LC, GEX_EC_LC);
VALUE_IS(GASNET_BARRIERFLAG_UNNAMED, 9);

int main(void)
{
    const uintptr_t values[] = { (uintptr_t)GEX_EVENT_INVALID, (uintptr_t)GEX_EVENT_NO_OP,
                                 (uintptr_t)GEX_EVENT_NOW,     (uintptr_t)GEX_EVENT_DEFER,
                                 (uintptr_t)GEX_EVENT_GROUP,   (uintptr_t)GEX_MK_HOST };
    const uintptr_t wanted[] = { 0, 1, 1, 2, 3, 1 };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (values[i] != wanted[i]) {
            fprintf(stderr, "constant %zu is %zu, not %zu\n", i, (size_t)values[i],
                    (size_t)wanted[i]);
            return 1;
        }
    }
    return 0;
}
