#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs whole applications with Penstock and with both MPIs, and compares them.

    bench/apps.py BUILD [--quick | --smoke] [--only WORD] [--check] [--json]

RandomAccess, heat2d and the turning of FT's field, at 2 and 4 ranks, each rank bound to a core if
there are enough. The programs run in turn, in random order, some rounds; a result is the median of
the ratios of runs that met the same machine (alike.py), which FT's own computing, the same code with
every library, must bear out. Every program checks its own results, and a wrong one is a miss.
--smoke: ours only, small, once: for tests. --only: words of which one is in an application's name.
measure() is for bench/run.py; a row's form is that of bench/peers/run.py.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "peers"), HERE]

import alike  # noqa: E402
import settings  # noqa: E402

ROUNDS, ROUNDS_QUICK = 5, 3
YARDSTICK_MAX = 1.1  # of one run over another's, on what we call the same machine
ROUNDS_EACH = 2  # rounds for one that is wanted, at most, where the machine does not stay the same
TIMEOUT_S = 120
CHANGED = "no two runs met the same machine, so all are compared"


class Wrong(Exception):
    """A program failed, or its results are wrong."""


class Late(Wrong):
    """A program took too long."""


class Program:
    """A program of one library with its arguments; it prints a result as a number in a line."""

    def __init__(self, library, setting, command, environment=None, failure=None):
        self.library, self.setting, self.failure, self.was_late = library, setting, failure, False
        self._command, self._environment = command, {**os.environ, **(environment or {})}

    def run(self, read):
        """Runs the program and returns read(its output)."""
        try:
            job = subprocess.run(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S,
                                 env=self._environment)
        except subprocess.TimeoutExpired:
            raise Late(f"took more than {TIMEOUT_S} s") from None
        if job.returncode != 0 or "verified" not in job.stdout:
            raise Wrong(f"status {job.returncode}: {' '.join(job.stdout.split())[-300:]}")
        return read(job.stdout)


def ns_of_gups(said):
    """Nanoseconds for each update, of all ranks together."""
    return 1 / float(re.search(r"GUPS +([\d.]+)", said)[1])


def ns_of_step(said):
    return float(re.search(r"steps of ([\d.]+) us", said)[1]) * 1e3


def ns_of_way(way):
    return lambda said: float(re.search(rf"^ +{way} +([\d.]+) us", said, re.MULTILINE)[1]) * 1e3


def hidden_of_way(way):
    return lambda said: float(re.search(rf"^ +{way} .*hides +(-?[\d.]+) %", said,
                                        re.MULTILINE)[1])


class Application:
    """One application: Penstock's program, the programs of the MPIs, and the arguments of each. ours and theirs map
    a variant to arguments; the first variant of Penstock is judged. readings map a variant to the function that reads
    its output. yardstick, or None, reads the time of a part that is the same code for every library, so that a
    difference in it comes from the machine."""

    def __init__(self, name, ours, source, others, arguments, readings, limit, yardstick=None):
        self.name, self.ours, self.source, self.others = name, ours, source, others
        self.our_arguments, self.their_arguments = arguments
        self.readings, self.limit, self.yardstick = readings, limit, yardstick


FT_WAYS = ("blocking", "slabs", "pencils")


def applications(small):
    """The applications to run. A limit is a ratio of times."""
    log2, side, steps, ft = ("14", "64", "50", "4 4 4 2") if small else \
        ("22", "256", "4000", "7 7 7 5")
    raced = "21" if small else log2  # in a small table ranks meet too often
    ft = ft.split()
    mpi = {"alltoall": ["alltoall", log2], "isend": ["isend", log2]}
    return [
        Application("randomaccess", "examples/randomaccess", "randomaccess_mpi.c", [],
                    ({"": ["direct", "-m", raced], "am": ["am", "-m", log2]}, mpi), {"": ns_of_gups}, 0.5),
        Application("heat2d", "examples/heat2d", "heat2d_mpi.c", [],
                    ({"": [side, steps]}, {"": [side, steps]}), {"": ns_of_step}, 1.0),
        Application("ft", "bench/apps/ft", "ft_mpi.c", ["ft.c"], ({"": ft}, {"": ft}),
                    {way: ns_of_way(way) for way in FT_WAYS}
                    | {f"{way}_hidden": hidden_of_way(way) for way in FT_WAYS}
                    | {"computing": ns_of_way("computing"),
                       "exchange": ns_of_way("exchange alone")}, 1.0, "computing"),
    ]


def processors():
    return len(os.sched_getaffinity(0))


def our_programs(build, application, ranks):
    bound = ["--bind"] if ranks <= processors() else []
    launcher = [os.path.join(build, "bin", "penstock"), "run", "-n", str(ranks), *bound]
    return [Program("Penstock", variant or "default",
                    [*launcher, os.path.join(build, application.ours), *arguments])
            for variant, arguments in application.our_arguments.items()]


def their_programs(build, application, ranks):
    found = []
    for setting in settings.mpi(ranks, processors(), ranks <= processors()):
        if setting.after:
            continue  # a setting of the windows, which no application has
        if setting.library == "MPICH" and ranks > processors() and setting.name != "yield":
            continue  # from time slice to time slice: minutes
        compiled = settings.compile_mpi(
            setting.flavour, os.path.join(HERE, "apps", application.source),
            [os.path.join(HERE, "apps", other) for other in application.others], build)
        for variant, arguments in application.their_arguments.items():
            found.append(Program(setting.library, ", ".join(filter(None, (setting.name, variant))),
                                 [*setting.command, compiled.program, *arguments],
                                 setting.environment, compiled.failure))
    return found


def play_round(build, programs, readings, found):
    """A run of each; programs that fail are marked and left out."""
    watch = alike.Watch(build)
    for program in random.sample(programs, len(programs)):
        if program.failure:
            continue
        try:
            found[program].append(watch.run(lambda: program.run(
                lambda said: {name: read(said) for name, read in readings.items()})))
        except Wrong as wrong:
            program.failure, program.was_late = str(wrong), isinstance(wrong, Late)


def met_the_same(run, other, yardstick):
    if not run.met_machine_of(other):
        return False
    if yardstick is None:
        return True
    measures = run.values[yardstick], other.values[yardstick]
    return max(measures) <= YARDSTICK_MAX * min(measures)


def alike_pairs(ours, theirs, yardstick):
    """Pairs of a run of Penstock and a run of a peer that met the same machine."""
    return [(our, their) for our in ours for their in theirs if met_the_same(our, their, yardstick)]


def play(build, mine, peers, application, rounds):
    """Runs each program several times, and again where too few runs met the same machine."""
    found = {program: [] for program in mine + peers}

    def is_enough():
        return all(len(alike_pairs(found[our], found[peer], application.yardstick)) >= rounds
                   for our in mine for peer in peers if not peer.failure)

    for round_i in range(ROUNDS_EACH * rounds):
        if round_i >= rounds and is_enough():
            break
        play_round(build, mine + peers, application.readings, found)
    return found


def row_of(metric, unit, pairs, peer, limit):
    """pairs: (our value, theirs)."""
    row = {"metric": metric, "unit": unit, "peer": peer.library, "setting": peer.setting,
           "baseline": f"{peer.library} {metric}", "value": None, "ratio": None, "pass_at": limit,
           "pass": None, "stretch_at": None, "stretch": None}
    if peer.failure:
        row.update({"why": peer.failure, "pass": False})
        return row
    row["value"] = statistics.median(ours for ours, _ in pairs)
    row["baseline_value"] = statistics.median(theirs for _, theirs in pairs)
    if unit != "%":  # parts of a whole have no ratio
        row["ratio"] = statistics.median(ours / theirs for ours, theirs in pairs)
    if limit is not None and row["ratio"] is not None:
        row["pass"] = row["ratio"] <= limit
    return row


def compare(build, application, ranks, rounds):
    """Rows of one application at one number of ranks."""
    mine = our_programs(build, application, ranks)
    peers = their_programs(build, application, ranks)
    found = play(build, mine, peers, application, rounds)
    for program in mine:
        if program.failure and program.was_late:
            raise alike.Busy(f"{application.name} {program.failure}")
        if program.failure:
            raise SystemExit(f"bench: {application.name}: {program.failure}")
    rows = []
    for our_i, (variant, program) in enumerate(zip(application.our_arguments, mine)):
        for peer in peers:
            alike_runs = alike_pairs(found[program], found[peer], application.yardstick)
            runs = alike_runs or list(zip(found[program], found[peer]))
            for name in application.readings:
                metric = "_".join(filter(None, (application.name, variant, name, f"{ranks}_ranks")))
                judged = our_i == 0 and name != application.yardstick and not name.endswith("hidden")
                row = row_of(metric, "%" if name.endswith("hidden") else "ns",
                             [(ours.values[name], theirs.values[name]) for ours, theirs in runs],
                             peer, application.limit if judged else None)
                if not alike_runs:
                    row.setdefault("why", CHANGED)
                rows.append(row)
    return rows


def busy_row(application, ranks, busy):
    """The row of an application that the machine was too busy for."""
    return {"metric": f"{application.name}_{ranks}_ranks", "unit": "ns", "peer": "all", "setting": "",
            "baseline": "", "value": None, "ratio": None, "pass_at": None, "pass": False, "stretch_at": None,
            "stretch": None, "why": f"machine busy: {busy}"}


def is_wanted(application, options):
    return not options.only or any(word in application.name for word in options.only.split(","))


def measure(build, options):
    """All rows. options: quick, and only, words of which one is in an application's name."""
    build = os.path.abspath(build)
    rounds = ROUNDS_QUICK if options.quick else ROUNDS
    rows = []
    for application in applications(False):
        if not is_wanted(application, options):
            continue
        for ranks in (2, 4):
            try:
                rows += compare(build, application, ranks, rounds)
            except alike.Busy as busy:
                rows.append(busy_row(application, ranks, busy))
    return rows


def smoke(build, options):
    """Runs Penstock's programs once with small sizes, to see whether they run and are right."""
    for application in applications(True):
        if not is_wanted(application, options):
            continue
        for ranks in (1, 2, 4):
            for program in our_programs(build, application, ranks):
                found = program.run(lambda said: [read(said)
                                                  for read in application.readings.values()])
                print(f"{application.name}: {ranks} ranks: {len(found)} results")


def print_table(rows):
    def number(value, form):
        return "-" if value is None else format(value, form)
    for row in rows:
        limit = "" if row["pass_at"] is None else f" (<= {row['pass_at']:g})"
        verdict = {None: "", True: "yes", False: "NO"}[row["pass"]]
        print(f"{row['metric']:32} {number(row['value'], '.2f'):>14} {row['unit']:2}"
              f" {number(row.get('baseline_value'), '.2f'):>14} {row['peer']:9} {row['setting']:22}"
              f" {number(row['ratio'], '.3f'):>7} {verdict}{limit} {row.get('why', '')}".rstrip())


def main():
    parser = argparse.ArgumentParser(prog="bench/apps.py", description="whole applications")
    parser.add_argument("build", help="a build folder, build/release for one")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--smoke", action="store_true", help="ours only, small, once")
    parser.add_argument("--only", metavar="WORD", help="only applications with this in their names")
    parser.add_argument("--check", action="store_true", help="status 1 if a limit is missed")
    parser.add_argument("--json", action="store_true", help="print rows of JSON, no table")
    options = parser.parse_args()
    if options.smoke:
        try:
            smoke(os.path.abspath(options.build), options)
        except Wrong as wrong:
            print(f"bench: {wrong}", file=sys.stderr)
            return 1
        return 0
    rows = measure(options.build, options)
    if options.json:
        print("\n".join(json.dumps(row) for row in rows))
    else:
        print_table(rows)
    return 1 if options.check and any(row["pass"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
