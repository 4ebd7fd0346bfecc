#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ring.py: GASNet-EX from Python, with nothing between ctypes and the library. Every rank puts a
number into the next rank's segment, gets it back, and sends a message that runs a Python function.

    penstock run -n 2 python3 examples/python/ring.py [path of libpenstock.so.0]
"""

import ctypes
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int32, c_size_t, c_uint8
from ctypes import c_uint32, c_uint64, c_void_p

pen = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libpenstock.so.0")
pen.gex_Segment_QueryAddr.restype = pen.gex_EP_QueryBoundSegmentNB.restype = c_void_p
pen.gex_Coll_BarrierNB.restype = c_void_p
Handler = CFUNCTYPE(None, c_void_p, c_int32)  # gex_Token_t, then the message's one argument


class Entry(Structure):  # gex_AM_Entry_t
    _fields_ = [("index", c_uint8), ("function", Handler), ("flags", c_uint32),
                ("arguments", c_uint32), ("data", c_void_p), ("name", c_char_p)]


heard = []
client, endpoint, team, segment = c_void_p(), c_void_p(), c_void_p(), c_void_p()
if pen.gex_Client_Init(byref(client), byref(endpoint), byref(team), b"RING", None, None, 0) \
        or pen.gex_Segment_Attach(byref(segment), team, c_size_t(65536)):
    sys.exit(1)  # who refused has said why
greet = Handler(lambda token, rank: heard.append(rank))
entries = (Entry * 1)(Entry(128, greet, 8 | 1, 1, None, b"greet"))  # GEX_FLAG_AM_REQUEST, ..._SHORT
pen.gex_EP_RegisterHandlers(endpoint, entries, c_size_t(1))
pen.gex_Event_Wait(c_void_p(pen.gex_Coll_BarrierNB(team, 0)))

rank, size = pen.gex_TM_QueryRank(team), pen.gex_TM_QuerySize(team)
after, before, there = (rank + 1) % size, (rank - 1) % size, c_void_p()
query = pen.gex_EP_QueryBoundSegmentNB(team, after, byref(there), None, None, 0)
pen.gex_Event_Wait(c_void_p(query))
sent, back = c_uint64(1000 + rank), c_uint64()
pen.gex_RMA_PutBlocking(team, after, there, byref(sent), c_size_t(8), 0)
pen.gex_RMA_GetBlocking(team, byref(back), after, there, c_size_t(8), 0)
pen.gex_AM_RequestShort1(team, after, 128, 0, rank)
while not heard:
    pen.gasnet_AMPoll()
pen.gex_Event_Wait(c_void_p(pen.gex_Coll_BarrierNB(team, 0)))

mine = ctypes.cast(pen.gex_Segment_QueryAddr(segment), POINTER(c_uint64))[0]
good = back.value == 1000 + rank and mine == 1000 + before and heard == [before]
verdict = "good" if good else "WRONG"
print(f"rank {rank} of {size}: heard {heard[0]}, got {mine}: {verdict}", flush=True)
pen.gex_Event_Wait(c_void_p(pen.gex_Coll_BarrierNB(team, 0)))
pen.gasnet_exit(0 if good else 1)
