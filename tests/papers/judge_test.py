#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether every acceptance value of bench/papers can be missed: results as the papers have them are
accepted, and each of them, once spoilt, is not."""

import copy
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench", "papers")]

import credits as figures  # noqa: E402
import portals  # noqa: E402
import realtime  # noqa: E402
from judge import Check, missing  # noqa: E402

RANKS = 64


def ideal_alltoall():
    found = []
    for groups in (1, 2, 4, 8):
        for slots in (*range(54, 62), 64):
            found.append(["static", groups, slots, 4.0 if slots >= 58 else 20.0])
        at = figures.knee(RANKS, groups)
        for slots in {*figures.around(RANKS, groups), 64}:
            found.append(["activity", groups, slots, 4.5 if slots >= at else 15.0])
    return found


def ideal_line(number, op):
    phase = figures.PHASES[number]
    group = RANKS // {"a": 1, "b": 2, "c": 4}[phase]
    level = figures.active_quota(RANKS, group, figures.FIG3_SLOTS)
    parts = []
    for active in figures.parts_of(phase):
        quota = (level if op >= 8 else 20.0) if active else 3.0
        parts.append([quota * 0.85 if active else 3.0, 1.0, quota])
    return {"phase": number, "group": group, "op": op, "parts": parts}


def ideal():
    tests = [[test, policy, slots, {"static": 60.0 if slots < 30 else 4.0, "activity": 1.5}[policy]]
             for test in figures.TESTS for policy in ("static", "activity") for slots in (12, 16, 64)]
    return {"ranks": RANKS, "alltoall": ideal_alltoall(), "tests": tests,
            "fig3": [ideal_line(number, op) for number in range(7) for op in range(20)]}


def missed(results):
    return [check.name for check in figures.checks(results) if not check.accepted]


def spoil_knee(policy, groups, up):
    def spoil(results):
        at = 58 if policy == "static" else figures.knee(RANKS, groups)
        for row in results["alltoall"]:
            if row[:2] == [policy, groups]:
                row[3] = 4.0 if not up or row[2] > at + 1.5 else 20.0
    return spoil


def spoil_part(number, part, column, value):
    def spoil(results):
        [line for line in results["fig3"] if line["phase"] == number][-1]["parts"][part][column] = value
    return spoil


def spoil_settling(number):
    def spoil(results):
        for line in results["fig3"]:
            if line["phase"] == number and line["op"] < 17:
                line["parts"][0][2] = 10.0
    return spoil


def spoil_tests(policy, value):
    def spoil(results):
        for row in results["tests"]:
            if row[1] == policy:
                row[3] = value
    return spoil


def spoil_difference(results):
    for row in results["alltoall"]:
        if row[:3] == ["activity", 1, 64]:
            row[3] = 4.0 + 2.5


def faults():
    """(a name that must be among the missed, how to spoil the results)"""
    for groups in (1, 2, 4, 8):
        for up in (True, False):
            yield f"Fig. 1, static, {groups} groups: knee", spoil_knee("static", groups, up)
            yield f"Fig. 2, activity, {groups} groups: knee", spoil_knee("activity", groups, up)
    yield "Fig. 2: dynamic minus static", spoil_difference
    for number, phase in enumerate(figures.PHASES):
        name = f"Fig. 3, phase {number + 1} ({phase})"
        for part, active in enumerate(figures.parts_of(phase)):
            if active:
                yield f"{name}: quotas of part {part + 1}", spoil_part(number, part, 2, 10.0)
                yield f"{name}: in hand, part {part + 1}", spoil_part(number, part, 0, 9.0)
            else:
                yield f"{name}: in hand, idle part {part + 1}", spoil_part(number, part, 0, 5.0)
        yield f"{name}: settled after", spoil_settling(number)
    yield "Fig. 9: buffer sizes", spoil_tests("static", 10.0)
    yield "Fig. 9: mean overhead, dynamic, 12", spoil_tests("activity", 2.1)


# ---- in real time ----------------------------------------------------------------------------------

SIZES = ("8", "64", "512", "2048")


def ideal_realtime():
    results = {"ranks": 2, "cores": 4, "missing": {}, "raw": {"velo": dict.fromkeys(SIZES, 1000.0)},
               "raw latency": {"velo": {"8": 1940.0}}, "two-sided": {"two": dict.fromkeys(SIZES, 1400.0)},
               "extoll am": dict.fromkeys(SIZES, 1200.0), "udp am": dict.fromkeys(SIZES, 9000.0)}
    figures = {"raw": (1.0, 1.0), "coalesced": (0.95, 1.05), "sectioned": (0.7, 1.5), "two-sided": (0.6, 1.2)}
    for way, (gups, packets) in figures.items():
        for count in realtime.TIMED_RANKS:
            for shape in realtime.SHAPES:
                results[f"random {way} {count} {shape}"] = {"gups": gups}
        for count in realtime.COUNTED_RANKS:
            results[f"counted {way} {count}"] = {"packets": packets}
    return results


def put(value, *where):
    def spoil(results):
        for key in where[:-1]:
            results = results[key]
        results[where[-1]] = value
    return spoil


def take(name):
    def spoil(results):
        del results[name]
        results["missing"][name] = "it is not built"
    return spoil


def one_turn(ours):
    return {"raw": {"velo": dict.fromkeys(SIZES, 1000.0)}, "two-sided": {"two": dict.fromkeys(SIZES, 1400.0)},
            "extoll am": dict.fromkeys(SIZES, ours)}


REALTIME_FAULTS = (
    ("raw card, latency", put(3000.0, "raw latency", "velo", "8")),
    ("raw card, latency", put(600.0, "raw latency", "velo", "8")),
    ("raw card, latency", take("raw latency")),
    ("two-sided, 8 bytes", put(1600.0, "two-sided", "two", "8")),
    ("two-sided, 8 bytes", take("two-sided")),
    ("conduit: overhead", put(dict.fromkeys(SIZES, 1300.0), "extoll am")),
    ("conduit: overhead", put({"two": dict.fromkeys(SIZES, 900.0)}, "two-sided")),
    ("conduit: overhead", put([one_turn(1200.0), one_turn(1300.0), one_turn(1300.0)], "turns")),
    ("conduit: overhead", take("extoll am")),
    ("8 bytes: udp's", put(4000.0, "udp am", "8")),
    ("8 bytes: udp's", take("udp am")),
    ("8 bytes: udp's", put({"16": 1.0}, "udp am")),
    ("RandomAccess: coalesced by sectioned, at the worst", put(0.96, "random sectioned 2 singly", "gups")),
    ("RandomAccess: coalesced by sectioned, at the best", take("random sectioned 4 one by one")),
)


def random_faults():
    for count in realtime.TIMED_RANKS:
        for shape in realtime.SHAPES:
            title = f"RandomAccess, {count} ranks, {shape}"
            yield f"{title}: conduit by raw", put(1.1, f"random raw {count} {shape}", "gups")
            yield f"{title}: conduit by raw", take(f"random coalesced {count} {shape}")
            yield f"{title}: conduit by two", put(0.9, f"random two-sided {count} {shape}", "gups")
            yield f"{title}: conduit by two", take(f"random two-sided {count} {shape}")
    for count in realtime.COUNTED_RANKS:
        title = f"RandomAccess, {count} ranks: packets"
        yield f"{title}, conduit by raw", put(0.9, f"counted raw {count}", "packets")
        yield f"{title}, two-sided by conduit", put(1.0, f"counted two-sided {count}", "packets")
        yield f"{title}, sectioned by coalesced", put(1.3, f"counted sectioned {count}", "packets")
        yield f"{title}, sectioned by coalesced", take(f"counted sectioned {count}")


def spoil_both(results):
    for count in realtime.TIMED_RANKS:
        for shape in realtime.SHAPES:
            results[f"random sectioned {count} {shape}"] = {"gups": 0.8}


# ---- Portals ----------------------------------------------------------------------------------------


def ideal_portals():
    short = {str(1 << i): 7.0 + (portals.STEP_US if i > 4 else 0) for i in range(19)}
    flood = dict.fromkeys(short, portals.BANDWIDTH * 0.98e-6)
    results = {"ranks": 2, "cores": 2, "missing": {}, "turns": 1, "load": 0.0}
    for name in ("raw", "portals", "mpi"):
        for kind in portals.KINDS:
            results[f"{name} {kind}"] = dict(flood if kind == "flood" else short)
            results[f"{name} {kind} free"] = dict(flood if kind == "flood" else short)
    for local in portals.LOCALS:
        results[f"local {local}"] = dict.fromkeys(short, 103.5 if local == "temporary" else 100.0)
    results["local temporary"]["8192"] = 108.5
    for policy in portals.POLICIES:
        results[f"exchange {policy} 2"] = {"1024": 1.0}
    for count in portals.STENCIL_RANKS:
        results[f"stencil {count}"] = {"all": [10000, 100], "tight": [1000, 100, 6, 7]}
    return results


PORTALS_FAULTS = (
    ("Fig. 2: put of 16 bytes by put of 1", put(9.0, "portals put", "16")),
    ("Fig. 2: step", put(7.1, "portals put", "32")),
    ("Fig. 2: step", put(9.0, "portals put", "32")),
    ("Fig. 2: put of 8 bytes, conduit by raw", put(6.0, "raw put", "8")),
    ("no cost model: put of 8 bytes", put(6.0, "raw put free", "8")),
    ("Fig. 3: flood of 4096 bytes", put(2000.0, "raw flood", "4096")),
    ("Fig. 3: flood of 262144 bytes", put(2000.0, "raw flood", "262144")),
    ("Fig. 3: flood of 256 KiB", put(900.0, "portals flood", "262144")),
    ("Fig. 3, no cost model", put(2000.0, "mpi flood", "4096")),
    ("Fig. 4: Medium round trip of 8 bytes", put(3.0, "raw trip", "8")),
    ("Fig. 4: Medium round trip of 512 bytes", put(5.0, "raw trip", "512")),
    ("no cost model: Medium", put(5.0, "raw trip free", "8")),
    ("Fig. 3, no cost model", take("mpi flood")),
    ("Fig. 5: firehose over temporary, 256 KiB", put(101.0, "local temporary", "262144")),
    ("Fig. 5: firehose over temporary, 8 KiB", put(104.0, "local temporary", "8192")),
    ("Fig. 5: firehose over temporary, at the worst", put(98.0, "local temporary", "64")),
    ("2 ranks, exchange: loan", put({"1024": 1.5}, "exchange loan 2")),
    ("2 ranks, exchange: disable", put({"1024": 5.0}, "exchange disable 2")),
)


def portals_faults():
    yield from PORTALS_FAULTS
    for count in portals.STENCIL_RANKS:
        yield f"loans, {count} ranks: ticks", put(110, f"stencil {count}", "tight", 1)
        yield f"loans, {count} ranks: steps", put(20, f"stencil {count}", "tight", 3)
    for count in (64, 1024):
        yield f"loans, {count} ranks: slots", put(3000, f"stencil {count}", "tight", 0)


def judge_driver(driver, ideal_of, faults_of):
    """Whether a driver accepts what is ideal, and misses each value that is spoilt."""
    def missed_of(results):
        return [check.name for check in driver.checks(results) if not check.accepted]

    wrong = [f"accepted values are missed: {name}" for name in missed_of(ideal_of())]
    for name, spoil in faults_of:
        results = ideal_of()
        spoil(results)
        if not any(found.startswith(name) for found in missed_of(results)):
            wrong.append(f"spoilt, and accepted: {name}")
    nothing = driver.checks({"ranks": 2, "cores": 4, "missing": {}})
    wrong += [f"accepted without anything: {check.name}" for check in nothing if check.accepted]
    wrong += [f"never spoilt: {check.name}" for check in nothing
              if not any(check.name.startswith(name) for name, _ in faults_of)]
    return len(faults_of), wrong


def main():
    wrong = [f"accepted values are missed: {name}" for name in missed(ideal())]
    count = 0
    for name, spoil in faults():
        results = copy.deepcopy(ideal())
        spoil(results)
        count += 1
        if not any(found.startswith(name) for found in missed(results)):
            wrong.append(f"spoilt, and accepted: {name}")
    names = {check.name for check in figures.checks(ideal())}
    reached = [name for name, _ in faults()]
    wrong += [f"never spoilt: {name}" for name in names
              if not any(name.startswith(one.split(", 12")[0]) for one in reached)]
    if missing("x", "gone").accepted or Check("x", 1, 2, 3).accepted or not Check("x", 1, 2, 2).accepted:
        wrong.append("a check is judged wrongly")
    in_real_time = (*REALTIME_FAULTS, *random_faults(),
                    ("RandomAccess: coalesced by sectioned, at the best", spoil_both))
    for driver, ideal_of, faults_of in ((realtime, ideal_realtime, in_real_time),
                                        (portals, ideal_portals, tuple(portals_faults()))):
        more, found = judge_driver(driver, ideal_of, faults_of)
        count += more
        wrong += found
    for line in wrong:
        print(line)
    print(f"{count} faults, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
