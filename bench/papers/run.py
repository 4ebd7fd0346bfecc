#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py BUILD [--check] [--reuse] [--resume] [--ranks N] [--only DRIVER] [--jobs N] [--quick]
    [--docs FOLDER]

Plays the experiments of papers: credits among simulated ranks (credits.py), programs over the
software EXTOLL card in real time (realtime.py), and over the software Portals card (portals.py).
Without --only it plays the first two. Results go to BUILD/papers/<driver>-<ranks>.json;
with --docs, tables and plots go there, too. --check prints every acceptance value, what was expected
and what came, and ends with status 1 if one is missed; a piece that is not there is missed, too.
--reuse
judges what was measured before, if no program has changed since. --resume keeps each simulated point
in BUILD/papers/points, and takes from there what the same program has measured, so that an
interruption loses one point. --jobs: so many simulations at a time. --quick measures only what values
need, for CI.
"""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "bench"))

import credits as credit_figures  # noqa: E402
import portals  # noqa: E402
import realtime  # noqa: E402
import report  # noqa: E402

DRIVERS = {driver.NAME: driver for driver in (credit_figures, realtime, portals)}
EXTOLL = (credit_figures.NAME, realtime.NAME)


def write_docs(driver, results, folder):
    stem = os.path.join(folder, f"{driver.NAME}-{results['ranks']}")
    lines = [f"# {driver.NAME}, {results['ranks']} ranks", "",
             f"Written by `make papers-{'extoll' if driver.NAME in EXTOLL else driver.NAME}`; README.md says what it is.", ""]
    pyplot = report.import_pyplot()
    if pyplot:
        for name, figure in driver.plots(results, pyplot).items():
            figure.tight_layout()
            figure.savefig(f"{stem}-{name}.svg", metadata={"Date": None})
            pyplot.close(figure)
            lines += [f"![{name}]({os.path.basename(stem)}-{name}.svg)", ""]
    for table in driver.tables(results):
        lines += table.markdown().splitlines() + [""]
    lines += ["### Accepted", "", "```", *(check.line() for check in driver.checks(results)), "```"]
    with open(stem + ".md", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return stem + ".md"


def is_fresh(path, programs):
    """Whether results are younger than all that is measured."""
    if not os.path.exists(path):
        return False
    return all(os.path.getmtime(program) < os.path.getmtime(path) for program in programs
               if os.path.exists(program))


def play(driver, args):
    folder = os.path.join(args.build, "papers")
    os.makedirs(folder, exist_ok=True)
    quick = "-quick" if args.quick else ""
    path = os.path.join(folder, f"{driver.NAME}-{driver.ranks(args.ranks)}{quick}.json")
    if args.reuse and is_fresh(path, driver.programs(args.build)):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    options = {}
    if driver is credit_figures:
        options = {"jobs": args.jobs, "kept": os.path.join(folder, "points") if args.resume else None}
    results = driver.measure(args.build, SOURCE, args.ranks, args.quick, **options)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file)
    print(f"{path} written")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--only", choices=DRIVERS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--docs")
    args = parser.parse_args()
    missed = 0
    for name in [args.only] if args.only else EXTOLL:
        driver = DRIVERS[name]
        results = play(driver, args)
        if args.docs:
            print(f"{write_docs(driver, results, args.docs)} written")
        if not args.check:
            for table in driver.tables(results):
                print(table.markdown())
        for check in driver.checks(results) if args.check else ():
            missed += not check.accepted
            print(check.line())
    if args.check:
        print(f"{missed} acceptance values missed" if missed else "all accepted")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
