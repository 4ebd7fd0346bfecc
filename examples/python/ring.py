#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ring.py [RANKS [LIBRARY]]: GASNet-EX from Python, with nothing between ctypes and the library.
Each rank puts a number at the next, gets it back, and sends it a message that runs a function."""
import os
import sys
from ctypes import CDLL, CFUNCTYPE, Structure, byref, c_char_p, c_size_t
from ctypes import c_int32, c_uint8, c_uint32, c_uint64, c_void_p

os.environ["GASNET_PSHM_NODES"] = sys.argv[1] if len(sys.argv) > 1 else "2"  # as many ranks start
pen = CDLL(sys.argv[2] if len(sys.argv) > 2 else "libpenstock.so.0")
for name in ("gex_Segment_QueryAddr", "gex_EP_QueryBoundSegmentNB", "gex_Coll_BarrierNB"):
    getattr(pen, name).restype = c_void_p
Handler = CFUNCTYPE(None, c_void_p, c_int32)  # gex_Token_t, then the message's argument

class Entry(Structure):  # gex_AM_Entry_t
    _fields_ = [("index", c_uint8), ("function", Handler), ("flags", c_uint32),
                ("arguments", c_uint32), ("data", c_void_p), ("name", c_char_p)]

heard, greet = [], Handler(lambda token, rank: heard.append(rank))
client, endpoint, team, segment, there, back = (c_void_p() for _ in range(6))
if pen.gex_Client_Init(byref(client), byref(endpoint), byref(team), b"RING", None, None, 0) or \
   pen.gex_Segment_Attach(byref(segment), team, c_size_t(65536)):
    sys.exit(1)  # who refused has said why
rank, size = pen.gex_TM_QueryRank(team), pen.gex_TM_QuerySize(team)
after, before, number = (rank + 1) % size, (rank - 1) % size, c_uint64(1000 + rank)
entry = Entry(128, greet, 8 | 1, 1)  # GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, one argument
pen.gex_EP_RegisterHandlers(endpoint, byref(entry), c_size_t(1))
pen.gex_Event_Wait(c_void_p(pen.gex_Coll_BarrierNB(team, 0)))
find = pen.gex_EP_QueryBoundSegmentNB(team, after, byref(there), None, None, 0)
pen.gex_Event_Wait(c_void_p(find))
pen.gex_RMA_PutBlocking(team, after, there, byref(number), c_size_t(8), 0)
pen.gex_RMA_GetBlocking(team, byref(back), after, there, c_size_t(8), 0)
pen.gex_AM_RequestShort1(team, after, 128, 0, rank)
while not heard:
    pen.gasnet_AMPoll()
pen.gex_Event_Wait(c_void_p(pen.gex_Coll_BarrierNB(team, 0)))
mine = c_uint64.from_address(pen.gex_Segment_QueryAddr(segment)).value
print(f"rank {rank} of {size}: heard {heard[0]}, mine {mine}, back {back.value}", flush=True)
# A rank that calls gasnet_exit ends the ranks that are still in a barrier, so all print before.
pen.gex_Event_Wait(c_void_p(pen.gex_Coll_BarrierNB(team, 0)))
pen.gasnet_exit((heard, mine, back.value) != ([before], 1000 + before, 1000 + rank))
