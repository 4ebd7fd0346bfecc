# SPDX-License-Identifier: BSD-3-Clause
"""Figures 1, 2, 3 and 9 of the paper on dynamic credit flow control, with the library's own code
between simulated ranks (bench/papers/credits). docs/results/papers/README.md says what they show."""

import concurrent.futures
import dataclasses
import hashlib
import json
import math
import os
import subprocess
import time

from judge import Check, Table, missing

NAME = "credits"
FLOOR, OVERHEAD_MAX = 58, 5.0  # slots of a sender that never waits; percent that still count as none
CURVE = (8, 12, 20, 30, 40, 50, 54, 56, 57, 58, 59, 64)
# Operations before measuring, and measured.
TESTS = {
    "pingpong": (60, 20), "sendrecv": (60, 20), "exchange": (60, 20), "bcast": (60, 20),
    "reduce": (60, 20), "allreduce": (60, 20), "allgather": (1, 1), "barrier": (60, 20),
}
PHASES = ("a", "c", "b", "a", "b", "c", "a")
FIG3_SLOTS, SETTLED_AFTER = 30, 15


@dataclasses.dataclass(frozen=True)
class Effort:
    """Operations of an all-to-all: before measuring, measured, and of each phase of Fig. 3."""

    settle: dict
    ops: int
    phase: int


# With many ranks each operation is a mean over all of them, takes seconds, and settles later.
FEW, MANY = Effort({"free": 0, "static": 2, "activity": 24}, 4, 40), Effort(
    {"free": 0, "static": 1, "activity": 40}, 2, 20)


def effort(ranks):
    return FEW if ranks <= 64 else MANY


def ranks(wanted):
    return wanted


def programs(build):
    return [os.path.join(build, "bench", "papers_credits")]


def knee(ranks, groups):
    """Slots from which on k active peers of each rank never wait."""
    return 5 + (FLOOR - 5) * (ranks // groups - 1) / (ranks - 1)


def active_quota(ranks, group, slots):
    return 3 + (slots - 5) * (ranks - 1) / (group - 1)


# ---- measuring -------------------------------------------------------------------------------------


class Lab:
    """Runs of the program, each once, several at a time. What each printed is kept in a file, if there
    is a folder for it, named by its options and by program and machine: the same give the same."""

    def __init__(self, build, source, ranks, pool, kept=None):
        self.program = programs(build)[0]
        self.machine = os.path.join(source, "src", "virtual", "machines", "extoll-r1")
        self.ranks, self.pool, self.runs, self.kept = ranks, pool, {}, kept
        if kept:
            digest = hashlib.sha256()
            for path in (self.program, self.machine):
                with open(path, "rb") as file:
                    digest.update(file.read())
            self.kept = os.path.join(kept, digest.hexdigest()[:16])
            os.makedirs(self.kept, exist_ok=True)

    def ask(self, **options):
        key = tuple(sorted({"ranks": self.ranks, **options}.items()))
        if key not in self.runs:
            words = [f"{name}={value}" for name, value in key]
            self.runs[key] = self.pool.submit(self.run, words)
        return self.runs[key]

    def run(self, words):
        path = self.kept and os.path.join(self.kept, ".".join(words))
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return [json.loads(line) for line in file]
        began = time.monotonic()
        done = subprocess.run(
            [self.program, self.machine, *words], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"papers_credits {' '.join(words)}: {done.stderr.strip()}")
        if path:
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(done.stdout)
            os.replace(path + ".new", path)
            print(f"{' '.join(words)}: {time.monotonic() - began:.0f} s", flush=True)
        return [json.loads(line) for line in done.stdout.splitlines()]


def ask_alltoalls(lab, slots_of):
    """{(policy, groups, slots): run}, and what each is compared with."""
    asked, spent = {}, effort(lab.ranks)

    def ask(policy, groups, slots=0):
        options = {"slots": slots} if slots else {}
        asked[policy, groups, slots] = lab.ask(
            policy=policy, group=lab.ranks // groups, settle=spent.settle[policy], ops=spent.ops,
            **options)

    for groups in (8, 4, 2, 1):  # what takes longest comes last
        ask("free", groups)
        for policy in ("static", "activity"):
            for slots in slots_of(policy, groups):
                ask(policy, groups, slots)
    return asked


def ask_tests(lab, slots_list):
    asked = {}
    for test, (settle, ops) in TESTS.items():
        asked[test, "free", 0] = lab.ask(policy="free", pattern=test, settle=settle, ops=ops)
        for policy in ("static", "activity"):
            for slots in slots_list:
                asked[test, policy, slots] = lab.ask(
                    policy=policy, pattern=test, slots=slots, settle=settle, ops=ops)
    return asked


def around(ranks, groups):
    middle = knee(ranks, groups)
    return range(math.floor(middle) - 2, math.ceil(middle) + 3)


def slots_in_ci(ranks):
    """Only what the knees and the comparison of both policies need."""
    def slots_of(policy, groups):
        if policy == "static":
            return (20, *range(FLOOR - 2, FLOOR + 3), 64) if groups in (1, 8) else ()
        return (*around(ranks, groups), *((64,) if groups == 1 else ()))
    return slots_of


def slots_in_full(ranks):
    def slots_of(policy, groups):
        if policy == "static":
            return CURVE
        return sorted({*around(ranks, groups),
                       *(slots for slots in CURVE if slots <= knee(ranks, groups) + 8)})
    return slots_of


def op_times(asked):
    return {key: run.result()[0]["op_ns"] for key, run in asked.items()}


def measure(build, source, ranks, quick, jobs=None, kept=None):
    """Everything, as plain data that can be kept. kept: a folder for each run by itself."""
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        lab = Lab(build, source, ranks, pool, kept)
        group = {"a": ranks, "b": ranks // 2, "c": ranks // 4}
        slots_of = slots_in_ci(ranks) if quick else slots_in_full(ranks)
        fig3 = lab.ask(policy="activity", slots=FIG3_SLOTS, ops=effort(ranks).phase,
                       group=",".join(str(group[phase]) for phase in PHASES))
        alltoalls = ask_alltoalls(lab, slots_of)
        least = math.ceil(5 + (FLOOR - 5) * math.log2(ranks) / (ranks - 1)) + 1
        tests = ask_tests(lab, (least, 16) if quick else (least, 16, 24, 32, 48, 64))
        return {"ranks": ranks, "fig3": fig3.result(),
                "alltoall": overheads(op_times(alltoalls), lambda key: ("free", key[1], 0)),
                "tests": overheads(op_times(tests), lambda key: (key[0], "free", 0))}


def overheads(times, reference_of):
    """Percent over the run without flow control, of every other run."""
    return [[*key, 100 * (time / times[reference_of(key)] - 1)]
            for key, time in times.items() if "free" not in key]


# ---- judging ---------------------------------------------------------------------------------------


def curve(results, policy, groups):
    return {slots: over for its, its_groups, slots, over in results["alltoall"]
            if its == policy and its_groups == groups}


def knee_of(points):
    """The least slots from which on the overhead is none; None: it never is."""
    found = None
    for slots in sorted(points, reverse=True):
        if points[slots] >= OVERHEAD_MAX:
            return found
        found = slots
    return found


def check_knees(results):
    checks = []
    for policy, figure in (("static", "Fig. 1"), ("activity", "Fig. 2")):
        for groups in (1, 2, 4, 8):
            points = curve(results, policy, groups)
            expected = FLOOR if policy == "static" else knee(results["ranks"], groups)
            name = f"{figure}, {policy}, {groups} groups: knee"
            if points:
                got = knee_of(points)
                checks.append(Check(name, expected - 1, expected + 1, got, "slots",
                                    f"overhead is {min(points.values()):.1f} % at the least"))
    both = [curve(results, policy, 1).get(64) for policy in ("static", "activity")]
    name = "Fig. 2: dynamic minus static overhead, one group, 64 slots"
    if None in both:
        checks.append(missing(name, "not measured"))
    else:
        checks.append(Check(name, None, 2, both[1] - both[0], "points"))
    return checks


def parts_of(phase):
    """For each third of rank 0's peers, whether it is active."""
    return {"a": (True, True, True), "b": (True, True, False), "c": (True, False, False)}[phase]


def quotas_fit(line, phase, ranks):
    """Active parts have 0.9 of their level or more, idle ones at most one credit beyond the least."""
    level = active_quota(ranks, line["group"], FIG3_SLOTS)
    return all(abs(quota - level) <= 0.1 * level if active else quota <= 4
               for (_, _, quota), active in zip(line["parts"], parts_of(phase)))


def settled_after(lines, phase, ranks):
    """Operations of a phase after which its quotas stay near their levels; None: they never do."""
    unsettled = [line["op"] for line in lines if not quotas_fit(line, phase, ranks)]
    last = max(unsettled, default=-1) + 1
    return last if last < len(lines) else None


def check_fig3(results):
    checks, ranks = [], results["ranks"]
    for number, phase in enumerate(PHASES):
        lines = [line for line in results["fig3"] if line["phase"] == number]
        name = f"Fig. 3, phase {number + 1} ({phase})"
        if not lines:
            checks.append(missing(name, "not measured"))
            continue
        level = active_quota(ranks, lines[-1]["group"], FIG3_SLOTS)
        for part, active in enumerate(parts_of(phase)):
            hand, _, quota = lines[-1]["parts"][part]
            if active:
                checks.append(Check(f"{name}: quotas of part {part + 1}", 0.95 * level,
                                    1.05 * level, quota, "credits"))
                checks.append(Check(f"{name}: in hand, part {part + 1}", 0.6 * level, 1.05 * level,
                                    hand, "credits"))
            else:
                checks.append(Check(f"{name}: in hand, idle part {part + 1}", 2, 4, hand, "credits"))
        checks.append(Check(f"{name}: settled after", None, SETTLED_AFTER,
                            settled_after(lines, phase, ranks), "operations",
                            f"not within {len(lines)}"))
    return checks


def means(results, policy):
    """{slots: mean overhead over the tests}"""
    lists = {}
    for _, its, slots, over in results["tests"]:
        if its == policy:
            lists.setdefault(slots, []).append(over)
    return {slots: sum(values) / len(values) for slots, values in sorted(lists.items())}


def check_fig9(results):
    static, dynamic = means(results, "static"), means(results, "activity")
    starved = [slots for slots in static if static[slots] > 15]
    checks = [Check("Fig. 9: buffer sizes at which static costs more than 15 %", 1, None,
                    len(starved), "sizes")]
    checks += [Check(f"Fig. 9: mean overhead, dynamic, {slots} slots (static {static[slots]:.0f} %)",
                     None, 2, dynamic[slots], "%") for slots in starved]
    return checks


def checks(results):
    return check_knees(results) + check_fig3(results) + check_fig9(results)


# ---- showing ---------------------------------------------------------------------------------------


def tables(results):
    made = []
    for policy, title in (("static", "Fig. 1: overhead of all-to-all, static credits, in %"),
                          ("activity", "Fig. 2: the same, dynamic credits")):
        curves = {groups: curve(results, policy, groups) for groups in (1, 2, 4, 8)}
        used = [groups for groups in curves if curves[groups]]
        rows = [[slots, *(f"{curves[groups][slots]:.1f}" if slots in curves[groups] else ""
                          for groups in used)]
                for slots in sorted({slots for points in curves.values() for slots in points})]
        knees = [knee_of(curves[groups]) for groups in used]
        rows.append(["**knee**", *(f"**{at}**" for at in knees)])
        made.append(Table(title, ["slots", *(f"{groups} x {results['ranks'] // groups}"
                                             for groups in used)], rows))
    rows = []
    for number, phase in enumerate(PHASES):
        lines = [line for line in results["fig3"] if line["phase"] == number]
        if lines:
            parts = [f"{hand:.1f} ± {sigma:.1f} ({quota:.1f})"
                     for hand, sigma, quota in lines[-1]["parts"]]
            level = active_quota(results["ranks"], lines[-1]["group"], FIG3_SLOTS)
            rows.append([phase, lines[-1]["group"], f"{level:.1f}", *parts,
                         settled_after(lines, phase, results["ranks"])])
    quarter = results["ranks"] // 4
    made.append(Table(
        f"Fig. 3: rank 0's credits before the last operation of each phase, {FIG3_SLOTS} slots",
        ["pattern", "group", "level", f"ranks 1-{quarter - 1}", f"{quarter}-{2 * quarter - 1}",
         f"{2 * quarter}-{results['ranks'] - 1}", "settled after"], rows,
        "In hand, mean ± deviation, and in brackets the quota. Operations until all quotas stay "
        "within 10 % of their level."))
    static, dynamic = means(results, "static"), means(results, "activity")
    made.append(Table("Fig. 9: mean overhead over the tests, in %", ["slots", "static", "dynamic"],
                      [[slots, f"{static[slots]:.1f}", f"{dynamic[slots]:.1f}"] for slots in static],
                      "Tests: " + ", ".join(TESTS) + "."))
    return made


def plot_overheads(pyplot, results):
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for side, policy in zip(axes, ("static", "activity")):
        for groups in (1, 2, 4, 8):
            points = sorted(curve(results, policy, groups).items())
            if points:
                side.plot(*zip(*points), "o-", markersize=3,
                          label=f"{groups} x {results['ranks'] // groups}")
        side.set_title({"static": "static", "activity": "dynamic"}[policy])
        side.set_xlabel("slots for each peer")
        side.legend()
    axes[0].set_ylabel("overhead, %")
    return figure


def plot_fig3(pyplot, results):
    figure, axes = pyplot.subplots(figsize=(9, 3))
    quarter = results["ranks"] // 4
    labels = (f"1-{quarter - 1}", f"{quarter}-{2 * quarter - 1}", f"{2 * quarter}-{results['ranks'] - 1}")
    for part, label in enumerate(labels):
        axes.plot([line["parts"][part][0] for line in results["fig3"]], label=f"ranks {label}",
                  linewidth=1)
    axes.set_xlabel("operation")
    axes.set_ylabel("credits of rank 0 in hand, mean")
    axes.legend()
    return figure


def plot_fig9(pyplot, results):
    figure, axes = pyplot.subplots(figsize=(5, 3))
    for policy, label in (("static", "static"), ("activity", "dynamic")):
        axes.plot(*zip(*means(results, policy).items()), "o-", markersize=3, label=label)
    axes.set_xlabel("slots for each peer")
    axes.set_ylabel("mean overhead, %")
    axes.legend()
    return figure


def plots(results, pyplot):
    return {"alltoall": plot_overheads(pyplot, results), "credits": plot_fig3(pyplot, results),
            "tests": plot_fig9(pyplot, results)}
