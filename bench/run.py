#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the benchmarks of a build and judges them.

    bench/run.py BUILD [--quick] [--only METRIC] [--check]

Prints a table, writes BUILD/bench/results.json and, for all builds, build/bench/results.json. Each
metric is a ratio to a yardstick measured in the same run; lower is better. --check ends with status
1 when a ratio is above its limit, and names it.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = ("metric", "value", "unit", "baseline", "ratio", "pass", "stretch")
RANKS_MANY, BARRIERS = 16, 1000
TIMEOUT_S = 300
LOAD_QUIET = 0.3


def launch(build, ranks, arguments, cores=None):
    """The JSON lines that one job prints. cores: the processors its ranks may use."""
    command = [os.path.join(build, "bin", "penstock"), "run", "-n", str(ranks),
               os.path.join(build, "bench", "bench"), *arguments]
    before = os.sched_getaffinity(0)
    try:
        if cores:
            os.sched_setaffinity(0, cores)  # inherited
        job = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
    finally:
        os.sched_setaffinity(0, before)
    if job.returncode != 0:
        raise SystemExit(f"bench: status {job.returncode} from: {' '.join(command)}")
    return [json.loads(line) for line in job.stdout.splitlines() if line.startswith("{")]


def measure(build, options):
    passed_on = ["--quick"] if options.quick else []
    if options.only:
        passed_on += ["--only", options.only]
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("bench: one processor only: what needs two is left out", file=sys.stderr)
        results = []
    else:
        results = launch(build, 2, passed_on, set(cores[:2]))
    results += launch(build, 2, [*passed_on, "--one-core"], {cores[0]})
    if not options.only:
        results += launch(build, RANKS_MANY, ["--barriers", str(BARRIERS)], set(cores[:2]))
    return results


def shown(result, key):
    value = result.get(key)
    if key in ("value", "ratio") and not result["ratio"]:
        return "-"  # every pair of blocks was disturbed
    if key in ("pass", "stretch"):
        limit = result.get(key + "_at")
        return "" if value is None else f"{'yes' if value else 'NO'} (<= {limit:g})"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def print_table(results):
    rows = [COLUMNS + ("kept",)]
    for result in results:
        blocks = result.get("blocks")
        kept = f"{blocks - result['rejected']}/{blocks}" if blocks else ""
        rows.append(tuple(shown(result, key) for key in COLUMNS) + (kept,))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.rjust(width) if i in (1, 4) else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths)))
        print("  ".join(cells).rstrip())


def write_results(build, loads, results):
    text = json.dumps({"load_before": loads[0], "load_after": loads[1], "results": results},
                      indent=1) + "\n"
    for folder in {os.path.join(build, "bench"), os.path.join(ROOT, "build", "bench")}:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as out:
            out.write(text)


def main():
    parser = argparse.ArgumentParser(prog="bench/run.py", description="runs the benchmarks")
    parser.add_argument("build", help="a build folder, build/release for one")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter blocks")
    parser.add_argument("--only", metavar="METRIC", help="only this metric")
    parser.add_argument("--check", action="store_true", help="status 1 if a limit is missed")
    options = parser.parse_args()

    load = os.getloadavg()[0]
    if load > LOAD_QUIET:
        print(f"bench: the machine is not quiet (load {load:.2f}): disturbed blocks are put aside",
              file=sys.stderr)
    results = measure(os.path.abspath(options.build), options)
    load_after = os.getloadavg()[0]
    if not results:
        raise SystemExit(f"bench: no metric is called {options.only}")
    print_table(results)
    write_results(os.path.abspath(options.build), (load, load_after), results)
    misses = [result for result in results if result.get("pass") is False]
    for miss in misses:
        found = f"{miss['ratio']:.3f} x {miss['baseline']}" if miss["ratio"] else "no quiet moment"
        print(f"bench: {miss['metric']}: {found}, limit {miss['pass_at']:g}", file=sys.stderr)
    return 1 if misses and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
