# SPDX-License-Identifier: BSD-3-Clause
"""A client in Python: the library's functions through ctypes, handlers that are Python functions, a segment as an array.
argv[1] is the library."""

import ctypes
import os
import sys

gasnet = ctypes.CDLL(sys.argv[1])
POINTER, SIZE, U32 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
CODE, INT = ctypes.c_uint8, ctypes.c_int

for name, result, arguments in (
        ("gex_Client_Init", INT, [POINTER, POINTER, POINTER, ctypes.c_char_p, POINTER, POINTER, U32]),
        ("gex_EP_RegisterHandlers", INT, [POINTER, POINTER, SIZE]),
        ("gex_Segment_Attach", INT, [POINTER, POINTER, SIZE]),
        ("gex_Segment_QueryAddr", POINTER, [POINTER]),
        ("gex_EP_QueryBoundSegmentNB", POINTER, [POINTER, U32, POINTER, POINTER, POINTER, U32]),
        ("gex_TM_QueryRank", U32, [POINTER]), ("gex_TM_QuerySize", U32, [POINTER]),
        ("gex_RMA_PutBlocking", INT, [POINTER, U32, POINTER, POINTER, SIZE, U32]),
        ("gex_RMA_GetNB", POINTER, [POINTER, POINTER, U32, POINTER, SIZE, U32]),
        ("gex_AM_RequestMedium1", INT, [POINTER, U32, CODE, POINTER, SIZE, POINTER, U32, ctypes.c_int32]),
        ("gex_AM_ReplyShort1", INT, [POINTER, CODE, U32, ctypes.c_int32]),
        ("gex_Coll_BarrierNB", POINTER, [POINTER, U32]), ("gex_Event_Wait", None, [POINTER]),
        ("gasnet_AMPoll", INT, []), ("gasnet_exit", None, [INT])):
    function = getattr(gasnet, name)
    function.restype, function.argtypes = result, arguments

NOW = ctypes.c_void_p(1)  # GEX_EVENT_NOW


class Entry(ctypes.Structure):
    """gex_AM_Entry_t"""
    _fields_ = [("index", CODE), ("function", POINTER), ("flags", U32), ("nargs", ctypes.c_uint),
                ("cdata", POINTER), ("name", ctypes.c_char_p)]


texts, replies = [], []


@ctypes.CFUNCTYPE(None, POINTER, POINTER, SIZE, ctypes.c_int32)
def on_text(token, data, length, number):
    texts.append((number, ctypes.string_at(data, length).decode()))
    gasnet.gex_AM_ReplyShort1(token, 201, 0, number * 2)


@ctypes.CFUNCTYPE(None, POINTER, ctypes.c_int32)
def on_reply(token, number):
    replies.append(number)


def barrier():
    gasnet.gex_Event_Wait(gasnet.gex_Coll_BarrierNB(team, 0))


client, endpoint, team, segment = (POINTER() for _ in range(4))
assert gasnet.gex_Client_Init(ctypes.byref(client), ctypes.byref(endpoint), ctypes.byref(team), b"python",
                              None, None, 0) == 0
table = (Entry * 2)(
    Entry(200, ctypes.cast(on_text, POINTER), 1 << 1 | 1 << 3, 1, None, b"on_text"),
    Entry(201, ctypes.cast(on_reply, POINTER), 1 << 0 | 1 << 4, 1, None, b"on_reply"))
assert gasnet.gex_EP_RegisterHandlers(endpoint, table, 2) == 0
assert gasnet.gex_Segment_Attach(ctypes.byref(segment), team, 65536) == 0
rank, ranks = gasnet.gex_TM_QueryRank(team), gasnet.gex_TM_QuerySize(team)
mine = (ctypes.c_double * 1000).from_address(gasnet.gex_Segment_QueryAddr(segment))
right, left = (rank + 1) % ranks, (rank - 1) % ranks
there = POINTER()
gasnet.gex_Event_Wait(gasnet.gex_EP_QueryBoundSegmentNB(team, right, ctypes.byref(there), None, None, 0))
barrier()

values = (ctypes.c_double * 1000)(*(rank * 1000.0 + i for i in range(1000)))
gasnet.gex_RMA_PutBlocking(team, right, there, values, ctypes.sizeof(values), 0)
barrier()
assert list(mine) == [left * 1000.0 + i for i in range(1000)]
back = (ctypes.c_double * 1000)()
gasnet.gex_Event_Wait(gasnet.gex_RMA_GetNB(team, back, right, there, ctypes.sizeof(back), 0))
assert list(back) == list(values)

for peer in range(ranks):
    text = f"naïve text {rank}→{peer}".encode()
    gasnet.gex_AM_RequestMedium1(team, peer, 200, text, len(text), NOW, 0, rank * 100 + peer)
while len(texts) < ranks or len(replies) < ranks:
    gasnet.gasnet_AMPoll()
assert sorted(texts) == [(peer * 100 + rank, f"naïve text {peer}→{rank}") for peer in range(ranks)]
assert sorted(replies) == [(rank * 100 + peer) * 2 for peer in range(ranks)]
os.write(1, f"rank {rank} of {ranks}: good\n".encode())
barrier()
gasnet.gasnet_exit(0)
