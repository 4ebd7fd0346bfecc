# SPDX-License-Identifier: BSD-3-Clause
"""Makes a ratio from two jobs: blocks of some ten milliseconds run in turn, in random order. Pairs of blocks in
which the machine did something else, or changed (alike.py), are discarded and counted."""

import random
import statistics
import time

import alike

PAIRS, PAIRS_QUICK = 15, 5
PAIRS_TOOL, PAIRS_TOOL_QUICK = 7, 3
BLOCK_NS, BLOCK_QUICK_NS = 30e6, 12e6
ROUNDS_MAX = 50_000_000
LOST_MAX = 0.01  # of a block, as in bench/blocks.h
PATIENCE_S = 20  # for pairs that make up for disturbed ones


def stolen_ticks():
    """Ticks that the hypervisor gave to others, on all processors."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = stat.readline().split()
    return int(fields[8]) if len(fields) > 8 else 0


def rounds_of(job, operation, length, block_ns):
    """Rounds that fill a block. Short blocks first: a round may take as long as a time slice."""
    rounds = 4
    while True:
        took_ns = job.block(operation, length, rounds)[0]
        if took_ns >= block_ns / 8 or rounds >= ROUNDS_MAX:
            return max(1, min(ROUNDS_MAX, int(rounds * block_ns / max(took_ns, 1.0))))
        rounds *= 4


def quarter(values, part):
    if len(values) < 2:
        return values[0]
    return statistics.quantiles(values, n=4, method="inclusive")[0 if part == 1 else 2]


def quiet_of(pairs):
    return sum(not pair["disturbed"] for pair in pairs)


def judge(pairs):
    """The result of what was kept. Without any there is no ratio, but what all found is told."""
    kept = [pair for pair in pairs if not pair["disturbed"]]
    ratios = [pair["ours"] / pair["theirs"] for pair in kept or pairs]
    if not kept:
        return {"blocks": len(pairs), "rejected": len(pairs), "why": "machine busy: among"
                f" disturbances the ratio was {statistics.median(ratios):.3f}"}
    return {"value": statistics.median(pair["ours"] for pair in kept),
            "baseline_value": statistics.median(pair["theirs"] for pair in kept),
            "ratio": statistics.median(ratios), "quarter1": quarter(ratios, 1),
            "quarter3": quarter(ratios, 3), "min": min(ratios), "blocks": len(pairs),
            "rejected": len(pairs) - len(kept)}


def measure(ours, our_op, peer, their_op, worth, length, options, quiet):
    """worth: operations of Penstock that do the work of one operation of the peer. quiet: each rank has a core, so
    that losing it is a disturbance. options: quick, and the build whose line.c asks the machine."""
    block_ns = BLOCK_QUICK_NS if options.quick else BLOCK_NS
    if peer.is_tool:
        count = PAIRS_TOOL_QUICK if options.quick else PAIRS_TOOL
    else:
        count = PAIRS_QUICK if options.quick else PAIRS
    sides = {"ours": (ours, our_op, rounds_of(ours, our_op, length, block_ns), 1),
             "theirs": (peer, their_op, rounds_of(peer, their_op, length, block_ns), worth)}
    pairs, lines, end_s = [], [alike.line_ns(options.build)], time.monotonic() + PATIENCE_S
    while len(pairs) < count or (quiet_of(pairs) < count / 2 and time.monotonic() < end_s):
        stolen, most_lost, pair, lines = stolen_ticks(), 0.0, {}, lines[-1:]
        for side in random.sample(sorted(sides), 2):
            job, operation, rounds, each = sides[side]
            took_ns, lost = job.block(operation, length, rounds)
            pair[side] = took_ns / rounds * each
            most_lost = max(most_lost, lost)
            lines.append(alike.line_ns(options.build))
        pair["disturbed"] = not alike.same_machine(max(lines), min(lines)) or \
            quiet and (most_lost > LOST_MAX or stolen_ticks() != stolen)
        pairs.append(pair)
    return judge(pairs)
