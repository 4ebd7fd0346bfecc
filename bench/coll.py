#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the library's collectives with those of the MPIs that are installed.

    bench/coll.py BUILD [--ranks 2,4,8,16] [--factor F] [--runs N] [--budget S] [--only OPERATION]
                  [--segment] [--check]

Runs the library and each MPI in turn, several times for each operation and number of ranks, and
compares at each point (operation, ranks, bytes): our time divided by the best MPI's. Lower is
better. Targets: geometric mean <= 0.9, 95 % of the points <= 1.1, none > 1.3, and no cliff: time at
2n <= 3 x time at n. --check ends with status 1 when one is missed. An MPI that was too slow to
reach a point in its budget does not count there; a point that no MPI reached is not compared. An
MPI that is not there, or fails, makes a row that has not passed. `make bench-peers` runs this as
well, with few sizes.

A shared machine may be another one a few seconds later (alike.py). A job in which it changed does
not count, and each of ours is compared with those of the MPIs that met the same; the median is the
result.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import alike  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = {  # name: compiler, launcher, its arguments
    "openmpi": ("mpicc.openmpi", "mpirun.openmpi",
                ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]),
    "mpich": ("mpicc.mpich", "mpirun.mpich", []),
}
OPERATIONS = ("barrier", "broadcast", "reduce", "reduce_all", "gather", "gather_all", "all_to_all")
MEAN_MAX, USUAL_MAX, USUAL_SHARE, WORST_MAX, CLIFF_MAX = 0.9, 1.1, 0.95, 1.3, 3.0
TIMEOUT_S = 300
FEW = ["--factor", "16", "--runs", "3", "--budget", "2"]  # for other runners: six minutes, at most
QUICK = ["--factor", "256", "--budget", "1", "--runs", "1", "--ranks", "2,4"]


class Failed(Exception):
    """A job that does not do what it should; says why."""


class Late(Failed):
    """A job that took too long."""


def peers_built(folder, failures):
    """The MPI program of each MPI there is; failures: why there is none, by MPI."""
    programs = {}
    os.makedirs(folder, exist_ok=True)
    for name, (compiler, launcher, _) in PEERS.items():
        if not shutil.which(compiler) or not shutil.which(launcher):
            failures[name] = f"no {compiler} or {launcher}"
            continue
        program = os.path.join(folder, f"mpi_coll.{name}")
        command = [compiler, "-std=gnu11", "-O2", "-o", program,
                   os.path.join(HERE, "peers", "mpi_coll.c")]
        if subprocess.run(command, check=False).returncode != 0:
            failures[name] = f"cannot build: {' '.join(command)}"
            continue
        programs[name] = program
    return programs


def values(command, timeout_s):
    """Runs one job and returns {(metric, bytes): value}."""
    # Its own launcher of the session may be another MPI's, whose variables would confuse it.
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("OMPI_", "PMI_", "PMIX_"))}
    try:
        job = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=timeout_s,
                             env=clean, check=False)
    except subprocess.TimeoutExpired as late:
        raise Late(f"longer than {timeout_s:g} s: {' '.join(command)}") from late
    if job.returncode != 0:
        raise Failed(f"status {job.returncode} from: {' '.join(command)}")
    lines = (json.loads(line) for line in job.stdout.splitlines() if line.startswith("{"))
    return {(line["metric"], line["bytes"]): line["value"] for line in lines}


def commands(build, programs, operation, ranks, options):
    passed_on = ["--factor", str(options.factor), "--budget", str(options.budget),
                 "--only", operation]
    ours = [os.path.join(build, "bin", "penstock"), "run", "-n", str(ranks),
            os.path.join(build, "bench", "coll")]
    yield "penstock", ours + (["--segment"] if options.segment else []) + passed_on
    for name, program in programs.items():
        _, launcher, arguments = PEERS[name]
        yield name, [launcher, *arguments, "-n", str(ranks), program, *passed_on]


def run_round(build, wanted, options, jobs, failures):
    """A job of each that is wanted, put with those of its kind; an MPI that fails is not asked
    again."""
    watch = alike.Watch(build)
    for name, command in wanted:
        if name in failures:
            continue
        try:
            run = watch.run(lambda: values(command, options.budget + TIMEOUT_S))
        except Failed as failed:
            if name == "penstock" and isinstance(failed, Late):
                raise alike.Busy(str(failed)) from failed
            if name == "penstock":
                raise SystemExit(f"coll: {failed}") from failed
            failures[name] = str(failed)
            jobs.pop(name, None)
            continue
        jobs.setdefault(name, []).append(run)


def pairs_of(jobs):
    """[(a job of Penstock, {MPI: its jobs that met the same machine})], where every MPI has at least one."""
    pairs = []
    for ours in jobs["penstock"]:
        others = {name: [job for job in of if job.met_machine_of(ours)]
                  for name, of in jobs.items() if name != "penstock"}
        if ours.line is not None and all(others.values()):
            pairs.append((ours, others))
    return pairs


def measured(build, wanted, options, failures):
    """The pairs of `alike`, and whether no job met the same machine, so that every job is compared with every job."""
    jobs = {}
    for _ in range(alike.ROUNDS_EACH * options.runs):
        run_round(build, wanted, options, jobs, failures)
        pairs = pairs_of(jobs)
        if len(pairs) >= options.runs:
            return pairs, False
    if pairs:
        return pairs, False
    others = {name: of for name, of in jobs.items() if name != "penstock"}
    return [(ours, others) for ours in jobs["penstock"]], True


def median_of(jobs, point):
    """The median of a point over jobs; None if no job reached the point."""
    found = [job.values[point] for job in jobs if point in job.values]
    return statistics.median(found) if found else None


def best_of(others, point):
    """(MPI, its time), the best of {MPI: jobs}; None: nobody reached the point."""
    times = {name: median_of(of, point) for name, of in others.items()}
    return min(((name, time) for name, time in times.items() if time is not None),
               key=lambda pair: pair[1], default=None)


def compared(ranks, pairs, changed):
    """A result for each point that we reached; with a ratio where an MPI did, too."""
    ours = [job for job, _ in pairs]
    others = {name: [job for _, of in pairs for job in of[name]] for name in pairs[0][1]}
    for point in dict.fromkeys(point for job in ours for point in job.values):
        metric, length = point
        times = {name: median_of(of, point) for name, of in others.items()}
        best, best_time = best_of(others, point) or ("none", None)
        ratios = [job.values[point] / found[1] for job, of in pairs if point in job.values
                  for found in [best_of(of, point)] if found]
        half = (metric, length // 2)
        steps = [job.values[point] / job.values[half] for job in ours
                 if length > 1 and point in job.values and half in job.values]
        yield {"metric": f"{metric}_{length}B_{ranks}_ranks", "operation": metric, "ranks": ranks,
               "bytes": length, "value": median_of(ours, point), "unit": "us", "baseline": best,
               "baseline_value": best_time, "peer": best, "changed": changed,
               "jobs": len(ours),
               "others": {name: time for name, time in times.items() if time is not None},
               "ratio": statistics.median(ratios) if ratios else None,
               "cliff": statistics.median(steps) if steps else None, "pass": None, "stretch": None}


def summary(results):
    """The targets, as results."""
    ratios = sorted(result["ratio"] for result in results if result["ratio"])
    cliffs = [result["cliff"] for result in results if result.get("cliff")]
    if not ratios:
        return []
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    usual = sum(ratio <= USUAL_MAX for ratio in ratios) / len(ratios)
    rows = [("coll_geometric_mean", mean, "<=", MEAN_MAX),
            (f"coll_share_within_{USUAL_MAX}", usual, ">=", USUAL_SHARE),
            ("coll_worst", ratios[-1], "<=", WORST_MAX)]
    if cliffs:
        rows.append(("coll_cliff", max(cliffs), "<=", CLIFF_MAX))
    return [{"metric": name, "value": value, "unit": "", "baseline": "best MPI", "ratio": value,
             "peer": "best", "sense": sense, "pass_at": limit, "stretch_at": None, "stretch": None,
             "pass": value <= limit if sense == "<=" else value >= limit}
            for name, value, sense, limit in rows]


def not_measured(failures):
    """A row for each MPI that there is nothing to compare with, or not everything."""
    return [{"metric": "coll", "value": None, "unit": "us", "baseline": name, "peer": name,
             "ratio": None, "reason": why, "pass_at": None, "pass": False, "stretch": None}
            for name, why in failures.items()]


def busy_row(operation, ranks, busy):
    """The row of an operation that the machine was too busy for."""
    return {"metric": f"coll_{operation}_{ranks}_ranks", "value": None, "unit": "us", "baseline": "best MPI",
            "peer": "best", "ratio": None, "reason": f"machine busy: {busy}", "pass_at": None, "pass": False,
            "stretch": None}


def measure_all(build, options, operations):
    """All results, the summary last. options: as argument_parser makes them."""
    failures, results = {}, []
    programs = peers_built(os.path.join(build, "bench", "peers"), failures)
    for ranks in options.ranks:
        for operation in operations:
            wanted = list(commands(build, programs, operation, ranks, options))
            try:
                results += compared(ranks, *measured(build, wanted, options, failures))
            except alike.Busy as busy:
                results.append(busy_row(operation, ranks, busy))
    return results + summary(results) + not_measured(failures)


def measure(build, options):
    """For other runners. options: quick, and only, words of which one is in a result's name."""
    words = options.only.split(",") if options.only else []
    wanted = [operation for operation in OPERATIONS
              if any(word in f"coll_{operation}" for word in words)]
    if words and not wanted:
        return []
    arguments = argument_parser().parse_args(QUICK if options.quick else FEW)
    return measure_all(build, arguments, wanted or OPERATIONS)


def print_table(results):
    for result in results:
        if "operation" not in result:
            continue
        others = "  ".join(f"{name} {value:10.2f}" for name, value in result["others"].items())
        ratio = f"{result['ratio']:6.2f}" if result["ratio"] else "     -"
        cliff = " CLIFF" if result["cliff"] and result["cliff"] > CLIFF_MAX else ""
        mark = " !" if result["ratio"] and result["ratio"] > WORST_MAX else ""
        print(f"{result['operation'][5:]:<11} {result['ranks']:3} {result['bytes']:8} "
              f"{result['value']:10.2f}  {others}  {ratio}{mark}{cliff}")
    by_group = {}
    for result in results:
        if result.get("operation") and result["ratio"]:
            by_group.setdefault((result["operation"][5:], result["ranks"], result["jobs"]),
                                []).append(result["ratio"])
    for (operation, ranks, jobs), ratios in by_group.items():
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{operation:<11} {ranks:3} ranks: mean {mean:.2f}, worst {max(ratios):.2f} "
              f"of {jobs} jobs")
    for operation, ranks in dict.fromkeys((result["operation"], result["ranks"])
                                          for result in results if result.get("changed")):
        print(f"{operation[5:]:<11} {ranks:3} ranks: the machine changed within each job")
    for result in results:
        if result.get("reason"):
            print(f"{result['metric']}, {result['baseline']}: not measured: {result['reason']}")
        elif "operation" not in result:
            print(f"{result['metric']}: {result['value']:.3f} ({result['sense']} "
                  f"{result['pass_at']:g}: {'yes' if result['pass'] else 'NO'})")


def argument_parser():
    parser = argparse.ArgumentParser(prog="bench/coll.py", description="compares collectives")
    parser.add_argument("--ranks", type=lambda text: [int(part) for part in text.split(",")],
                        default=[2, 4, 8, 16], help="numbers of ranks, 2,4,8,16")
    parser.add_argument("--factor", type=int, default=2, help="between sizes")
    parser.add_argument("--runs", type=int, default=5, help="jobs of ours that count")
    parser.add_argument("--budget", type=float, default=8, help="seconds of a job")
    parser.add_argument("--only", choices=OPERATIONS, metavar="OPERATION",
                        help="one operation, reduce_all for one")
    parser.add_argument("--segment", action="store_true", help="our buffers lie in segments")
    return parser


def main():
    parser = argument_parser()
    parser.add_argument("build", help="a build folder, build/release for one")
    parser.add_argument("--check", action="store_true", help="status 1 if a target is missed")
    options = parser.parse_args()
    operations = (options.only,) if options.only else OPERATIONS
    results = measure_all(os.path.abspath(options.build), options, operations)
    print_table(results)
    return 1 if options.check and any(result["pass"] is False for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
