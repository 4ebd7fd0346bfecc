#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The bugs that the shadow-memory checker has to find: each is an edit of one source file.

A row names what is planted, the file, the text that is there (once) and the text that takes its place,
the program and its arguments, and variables. An edit whose text is not found, or found twice, fails the
test: the engine has changed, and the row has to follow.
"""
from collections import namedtuple

Plant = namedtuple("Plant", "name file old new program ranks arguments variables")

OWN, ARENA, MIXED = ["--memory", "own"], ["--memory", "arena"], ["--memory", "mixed"]
REORDER = {"PENSTOCK_IMPAIR_REORDER": "0.05"}

PLANTS = [
    Plant(
        "put: the last byte of a long piece is not copied", "src/rma/rma_message.c",
        "        pen_copy(&job->copies, to, body, body_len);\n",
        "        pen_copy(&job->copies, to, body, body_len - (body_len > 4096));\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "get: done one piece early", "src/rma/rma_message.c",
        "    if (transfer->pieces != 0 || transfer->sent != transfer->len)\n",
        "    if (transfer->pieces > (transfer->kind == RMA_GET) || transfer->sent != transfer->len)\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "memset: a byte too long", "src/rma/rma_message.c",
        "        memset(to, args[6], (uint32_t)args[5]);\n",
        "        memset(to, args[6], (uint32_t)args[5] + 1u);\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "NBI: puts are not waited for", "src/rma/nbi.c",
        "    if ((categories & PEN_EC_PUT) && !pen_count_is_zero(&mine->put.incomplete))\n",
        "    if (false && !pen_count_is_zero(&mine->put.incomplete))\n",
        "seq", 2, OWN, REORDER,
    ),
    Plant(
        "NBI: an access region is over when it is ended", "src/rma/nbi.c",
        "    return region == NULL ? PEN_EVENT_DONE : pen_event_settle(region, NULL);\n",
        "    (void)region;\n    return PEN_EVENT_DONE;\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "VIS: the stride before the last row is off by one", "src/vis/strided.c",
        "        dest += p->outer.dest;\n",
        "        dest += p->outer.dest + (row == 2);\n",
        "seq", 2, ARENA, {},
    ),
    Plant(
        "get by the kernel: the last byte of a long one is forgotten", "src/reach/reach.c",
        ": pen_cma_read(pid, local, remote, len));\n",
        ": pen_cma_read(pid, local, remote, len - (len > 5000)));\n",
        "everything", 2, [], {},
    ),
    Plant(
        "Medium: one over 4 KiB is cut to a multiple of 8 bytes", "src/conduits/shm/shm_send.c",
        "        pen_copy_out(&link->copies, &peer->pace, to, frame->body, frame->body_len);\n",
        "        pen_copy_out(&link->copies, &peer->pace, to, frame->body,\n"
        "                     frame->body_len > 4096 ? frame->body_len & ~7u : frame->body_len);\n",
        "seq", 2, ARENA, {},
    ),
    Plant(
        "shm: payloads are written over those that are not read yet", "src/conduits/shm/shm_send.c",
        "    if (start + record - tx->ring_done <= ring_len)\n        return start;\n    start = tx->ring_next;\n",
        "    if (start + record - tx->ring_done <= ring_len + 8192)\n        return start;\n    start = tx->ring_next;\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "AM: one Short reply in 10000 is lost", "src/am/am_send.c",
        "    call.job = token->job;\n    call.route = &token->job->routes[token->from];\n",
        "    static _Atomic uint32_t replies;\n    if (++replies % 10000 == 0)\n        return 0;\n"
        "    call.job = token->job;\n    call.route = &token->job->routes[token->from];\n",
        "seq", 2, MIXED, {},
    ),
    Plant(
        "AM: one Medium reply in 5000 is delivered twice", "src/am/deliver_medium.c",
        "    pen_am_call_payload(function, &token, body, len, count, (const pen_am_arg *)&words[1]);\n",
        "    static _Atomic uint32_t runs;\n"
        "    pen_am_call_payload(function, &token, body, len, count, (const pen_am_arg *)&words[1]);\n"
        "    if (lane == PEN_LANE_REPLY && ++runs % 5000 == 0)\n"
        "        pen_am_call_payload(function, &token, body, len, count,\n"
        "                            (const pen_am_arg *)&words[1]);\n",
        "seq", 2, MIXED, {},
    ),
    Plant(
        "events: an array takes one of many for done too early", "src/rma/rma_event.c",
        "        if (!pen_event_is_leaf(events[i]) && root_is_done(pen_event_root_of(events[i])))\n",
        "        if (!pen_event_is_leaf(events[i]) &&\n"
        "            (i == 9 || root_is_done(pen_event_root_of(events[i]))))\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "atomics: an operation that is a loop is not atomic", "src/atomic/apply.c",
        "    while (!word_cas(target, wide, &old, compute(type, op, old, operand))) {\n    }\n",
        "    extern int usleep(unsigned microseconds);\n    (void)usleep(1);\n"
        "    word_store(target, wide, compute(type, op, old, operand));\n",
        "seq", 2, ARENA, {},
    ),
    Plant(
        "atomics: signed integers are compared as if they were not", "src/atomic/apply.c",
        "        return (int32_t)(uint32_t)left < (int32_t)(uint32_t)right;\n",
        "        return (uint32_t)left < (uint32_t)right;\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "collectives: a reduction leaves a rank out", "src/coll/shared_reduce.c",
        "operands(&pile, rank);\n", "operands(&pile, rank != 2 ? rank : 1);\n",
        "seq", 3, MIXED, {},
    ),
    Plant(
        "events: local completion of a Long before all of it has gone", "src/am/flight.c",
        "    if (!flight->source_free && all_posted && count_is_zero(&flight->puts.source_busy)) {\n",
        "    if (!flight->source_free) {\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "endpoints: inline code is shown a second one's memory eight bytes further", "src/job/job_endpoint.c",
        "        row_set(&job->mapped[ep_index][rank], &shown);\n",
        "        shown.delta += ep_index != 0 && row->mapped && rank != job->rank ? 8 : 0;\n"
        "        row_set(&job->mapped[ep_index][rank], &shown);\n",
        "seq", 2, ARENA, {},
    ),
    Plant(
        "endpoints: what a pair has on the other side is taken for the primordial one", "src/rma/rma.c",
        "                       .ep_index = pen_team_ep_index(team, rank),\n",
        "                       .ep_index = len > 512 ? 0 : pen_team_ep_index(team, rank),\n",
        "seq", 2, OWN, {},
    ),
    Plant(
        "VIS: the target is told of a put that is under way", "src/vis/vis.c",
        "    if (result == STARTED)\n        pen_event_wait(thread->job, event, PEN_CALL_VIS);\n"
        "    if (peer_is_told(thread, call))\n        tell_peer(thread, call);\n    if (pen_unlikely(at != 0))\n",
        "    if (peer_is_told(thread, call))\n        tell_peer(thread, call);\n"
        "    if (result == STARTED)\n        pen_event_wait(thread->job, event, PEN_CALL_VIS);\n"
        "    if (pen_unlikely(at != 0))\n",
        "seq", 2, OWN, REORDER,
    ),
]
