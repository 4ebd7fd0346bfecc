#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether the simulation of whole jobs finds the faults that tests/sim/mutate.py makes in src/reliable.

    mutants.py <engine_mutants> [--seeds N] [--mutant NAME]

Each mutant plays so many seeds, or until one fails. Those of WITHIN change nothing that a whole job shows;
tests/sim finds them.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../sim"))
import mutate  # noqa: E402  (the folder is named above)

WITHIN = {
    "copies_not_bounded": "the bound is 64 MB, which credits keep these jobs below",
    "no_room_but_acknowledged": "the bound is 64 MB, which credits keep these jobs below",
    "lanes_ignored": "backlogs grow, but not beyond their bound",
    "never_acknowledged": "acknowledgements that are late cost frames, not messages",
}


def try_mutant(program, name, seeds, limit=120):
    """Returns the line that reports the fault, or None if it was not found."""
    command = [program, "--mutant", name, "--seeds", "1", str(seeds)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=patience(limit), check=False)
    except subprocess.TimeoutExpired:
        return f"goes on for more than {limit} s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("at ")]
    return lines[0][:140] if lines else f"ends with {done.returncode}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--mutant", action="append")
    options = parser.parse_args()
    names = options.mutant or [row[0] for row in mutate.MUTANTS]
    missed = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, how in zip(names, pool.map(lambda name: try_mutant(options.program, name, options.seeds), names)):
            print(f"{name}: {how or WITHIN.get(name) or 'NOT FOUND'}", flush=True)
            if how is None and name not in WITHIN:
                missed.append(name)
    print(f"{len(names) - len(missed)} of {len(names)} mutants found, or of no effect that a job shows")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
