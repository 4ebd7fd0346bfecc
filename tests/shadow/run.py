#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the shadow-memory checker in every constellation until enough operations are checked.

    run.py <penstock> <folder of shadow.seq, .par and .everything> --ops N [--seed N] [--short] [--udp [--lossy] | --extoll | --conduit NAME]

Each constellation gets its share of N; all have to end well, and together they have to have checked
N operations. --seed: the first of the seeds, one more for each run, so that the same command makes the
same operations. --short: few and small constellations, for builds that are slow. --udp: over datagrams, where
no rank sees another's memory; --lossy: over a network that loses 10 % of them, doubles 1 %, reorders 5 %, damages
0.1 %. --conduit portals: with each policy and way of local memory, few tokens and faults of the card. --extoll: over VELO and RMA, with each policy, both modes, the least mailboxes and a card with faults.
"""
import argparse
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

# program, ranks, arguments, share of the operations, environment
CONSTELLATIONS = [
    ("seq", 2, ["--memory", "mixed"], 20, {}),
    ("seq", 2, ["--memory", "own"], 20, {}),
    ("seq", 4, ["--memory", "mixed"], 10, {}),
    ("par", 2, ["--threads", "2", "--memory", "mixed"], 15, {}),
    ("par", 3, ["--threads", "2", "--memory", "own"], 10, {}),
    ("par", 1, ["--threads", "4", "--memory", "mixed"], 5, {}),
    ("par", 2, ["--threads", "3", "--memory", "arena"], 8, {}),
    ("everything", 2, ["--threads", "2"], 8, {}),
    ("seq", 3, ["--memory", "own"], 2, {"REORDER": "1e-2", "DELAY": "1e-4"}),
    ("par", 2, ["--threads", "2", "--memory", "own"], 1, {"REORDER": "1e-2", "DELAY": "1e-4"}),
    ("seq", 2, ["--memory", "mixed", "--burst", "1"], 1, {}),
]
SHORT = [
    ("seq", 2, ["--memory", "own"], 40, {}),
    ("par", 2, ["--threads", "3", "--memory", "mixed"], 40, {}),
    ("everything", 2, ["--threads", "2"], 20, {}),
]
THREADS_ONLY = [ # what ThreadSanitizer can see
    ("par", 1, ["--threads", "4", "--memory", "mixed"], 50, {}),
    ("par", 2, ["--threads", "3", "--memory", "own"], 50, {}),
]
UDP = [
    ("seq", 2, ["--memory", "own"], 35, {}),
    ("seq", 4, ["--memory", "own"], 15, {}),
    ("par", 2, ["--threads", "2", "--memory", "own"], 25, {}),
    ("par", 3, ["--threads", "2", "--memory", "own"], 15, {}),
    ("everything", 2, ["--threads", "2"], 10, {}),
]
EXTOLL = [
    ("seq", 2, ["--memory", "own"], 25, {}),
    ("seq", 4, ["--memory", "own"], 15, {"CREDIT_QUOTA": "3"}),
    ("par", 2, ["--threads", "2", "--memory", "own"], 20, {"CREDIT_POLICY": "loan", "CREDIT_QUOTA": "6"}),
    ("par", 3, ["--threads", "2", "--memory", "own"], 10, {"CREDIT_POLICY": "static", "SLOT": "128"}),
    ("seq", 2, ["--memory", "own"], 10, {"MODE": "sectioned", "CREDIT_QUOTA": "3"}),
    ("seq", 3, ["--memory", "own"], 10, {"FAULT_FULL": "5", "FAULT_LATE": "5", "NOTIFICATIONS": "8"}),
    ("everything", 2, ["--threads", "2"], 10, {}),
]
PORTALS = [
    ("seq", 2, ["--memory", "own"], 20, {}),
    ("seq", 4, ["--memory", "own"], 10, {"CREDITS": "loan", "TOKENS": "4", "FAULT_LATE": "10"}),
    ("par", 2, ["--threads", "2", "--memory", "own"], 15, {"CREDITS": "disable", "FAULT_DISABLE": "20"}),
    ("seq", 8, ["--memory", "own"], 5, {"CREDITS": "disable", "FAULT_FULL": "20", "TOKENS": "4"}),
    ("par", 3, ["--threads", "2", "--memory", "own"], 10, {"LOCAL": "firehose", "TOKENS": "4"}),
    ("seq", 2, ["--memory", "own"], 10, {"LOCAL": "temporary", "CREDITS": "loan"}),
    ("par", 2, ["--threads", "2", "--memory", "own"], 10, {"LOCAL": "bounce"}),
    ("everything", 2, ["--threads", "2"], 5, {}),
]
LOSSY = {"DROP": "0.1", "DUPLICATE": "0.01", "REORDER": "0.05", "CORRUPT": "0.001"}
DONE = re.compile(r"shadow: (\d+) operations checked, 0 mismatches")


def play(command, limit):
    """Returns (status, output, operations checked)."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=patience(limit + 60), check=False,
    )
    found = DONE.search(done.stdout)
    return done.returncode, done.stdout, int(found[1]) if found else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("folder")
    parser.add_argument("--ops", type=float, default=1e7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=600, help="seconds for one constellation")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--threads-only", action="store_true")
    parser.add_argument("--udp", action="store_true")
    parser.add_argument("--lossy", action="store_true")
    parser.add_argument("--extoll", action="store_true")
    parser.add_argument("--conduit", help="a conduit without settings of its own here: the constellations of --udp")
    arguments = parser.parse_args()
    rows = THREADS_ONLY if arguments.threads_only else SHORT if arguments.short else CONSTELLATIONS
    if arguments.udp:
        rows = [row[:4] + (LOSSY if arguments.lossy else {},) for row in UDP]
    if arguments.conduit:
        rows = UDP
    if arguments.conduit == "portals":
        rows = PORTALS
    if arguments.extoll:
        rows = EXTOLL
    shares = sum(row[3] for row in rows)
    total, faults, begin = 0, 0, time.monotonic()
    for i, (program, ranks, options, share, impair) in enumerate(rows):
        ops = int(arguments.ops * share / shares) + 1
        command = [arguments.penstock, "run", "-n", str(ranks), "--timeout", str(int(patience(arguments.limit)))]
        conduit = "udp" if arguments.udp else "extoll" if arguments.extoll else arguments.conduit
        if conduit:
            command += ["--conduit", conduit]
        area = {"extoll": "EXTOLL", "portals": "PORTALS"}.get(conduit, "IMPAIR")
        for name, value in impair.items():
            command += ["--env", f"PENSTOCK_{area}_{name}={value}"]
        command += [os.path.join(arguments.folder, f"shadow.{program}"), *options]
        command += ["--seed", str(arguments.seed + i), "--ops", str(ops), "--stall", "120"]
        start = time.monotonic()
        status, output, checked = play(command, arguments.limit)
        total += checked
        print(f"{' '.join(command)}: {checked} checked, {time.monotonic() - start:.0f} s", flush=True)
        if i == 0 or status:
            print(output)
        if status or checked < ops:
            print(f"FAILED: status {status}, {checked} of {ops} operations checked", flush=True)
            faults += 1
    print(f"{total} operations checked in {time.monotonic() - begin:.0f} s, {faults} faults")
    return 1 if faults or total < arguments.ops else 0


if __name__ == "__main__":
    sys.exit(main())
