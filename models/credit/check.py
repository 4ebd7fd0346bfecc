#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check.py SRC [--long] [-v]: explores the models of credit flow control with Spin, all behaviours of
each, and then each of them without one guard, which Spin must find. Status 77: no spin here.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STATES = re.compile(r"(\d+) states, stored")

REPLIES = "RANKS=2 ANSWERS=1 CONTROL=2 EAGER=1 LOWERS=1"
LEDGERS = "RANKS=3 ANSWERS=0 CONTROL=2 EAGER=1 LOWERS=0 ENDLESS=0 QUOTA=3 SLOTS=7"
# The start credits of a sender are neither the least quota nor all, or are the least quota and
# grow.
GROWTH = "RANKS=2 ANSWERS=1 CONTROL=2 EAGER=1 LOWERS=0 GROWS=1 QUOTA=4 START=3"
# Loans over a network that reorders: loans.pml.
REORDERED = "SENDERS=2 SLOTS=5 LEAST=1"
MODELS = {
    "loans_reordered": f"{REORDERED} PACKETS=3",
    "loans_reordered_three": f"{REORDERED} SENDERS=3 PACKETS=2",
    "static_replies": f"POLICY=STATIC {REPLIES} ENDLESS=0 QUOTA=3",
    "static_replies_late": f"POLICY=STATIC {REPLIES} EAGER=0 ENDLESS=0 QUOTA=3",
    "static_ledgers": f"POLICY=STATIC {LEDGERS}",
    "activity_ledgers": f"POLICY=ACTIVITY {LEDGERS}",
    "loan_ledgers": f"POLICY=LOAN {LEDGERS}",
    "activity_start": f"POLICY=ACTIVITY {LEDGERS} SLOTS=8 START=4",
    "loan_start": f"POLICY=LOAN {LEDGERS} SLOTS=8 START=4",
    "activity_grows": f"POLICY=ACTIVITY {GROWTH} ENDLESS=0",
}
LONG = {
    "loans_reordered_long": f"{REORDERED} PACKETS=4",
    "loan_grows": f"POLICY=LOAN {GROWTH} ENDLESS=0",
    "static_replies_spare": f"POLICY=STATIC {REPLIES} ENDLESS=0 QUOTA=4",
    "activity_replies": f"POLICY=ACTIVITY {REPLIES} ENDLESS=1 QUOTA=4",
    "loan_replies": f"POLICY=LOAN {REPLIES} ENDLESS=1 QUOTA=4",
}
# (guard that is removed, a model in which it matters)
MUTANTS = [
    ("NO_BANK", "loans_reordered"),
    ("NO_LEAST", "loans_reordered"),
    ("NO_SINGLE_RECALL", "loans_reordered"),
    ("NO_LEDGER", "loans_reordered"),
    ("NO_RESERVE", "static_replies"),
    ("NO_URGENT_BIT", "static_replies"),
    ("NO_URGENT_RETURN", "static_replies"),
    ("NO_STASH", "static_replies"),
    ("CONTROL=1 QUOTA=2", "static_replies"),
    ("NO_RESERVE_AT_RECALL", "activity_replies"),
    ("NO_HELP_FOR_DEBTORS", "activity_replies"),
    ("NO_SECOND_LEDGER", "activity_ledgers"),
    ("NO_RECALL", "activity_ledgers"),
    ("NO_SECOND_RECALL", "activity_ledgers"),
    ("NO_SINGLE_RECALL", "activity_ledgers"),
    ("NO_THRESHOLD_OF_HELD SLOTS=12", "activity_ledgers"),
    ("NO_GRANT_LIMIT SLOTS=10", "loan_ledgers"),
    ("NO_START_CHECK START=2", "activity_start"),
    ("NO_START_CHECK START=5", "activity_start"),
    ("NO_COMMON_START START=3", "loan_start"),
]


def explore(source, name, words, optimise):
    """(whether there is an error, what pan said)."""
    model = os.path.join(HERE, "loans.pml" if name.startswith("loans_") else "credit.pml")
    chosen = {}  # a later word replaces an earlier one
    for word in words.split():
        name, _, value = word.partition("=")
        chosen[name] = value or "1"
    with tempfile.TemporaryDirectory() as work:

        def run(*command):
            return subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)

        defines = [f"-D{name}={value}" for name, value in chosen.items()]
        steps = [
            ["gcc", "-E", "-P", "-x", "c", *defines, "-I", source, model, "-o", "model.pml"],
            ["spin", "-a", "model.pml"],
            ["gcc", optimise, "-w", "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=4096", "-DMEMLIM=6000",
             "-o", "pan", "pan.c"],
        ]
        for step in steps:
            done = run(*step)
            if done.returncode != 0 or "rror:" in done.stdout:
                raise RuntimeError(f"{step[0]}: {done.stdout}{done.stderr}")
        said = run("./pan", "-m4000000", "-w20").stdout
    found = "errors: " in said and "errors: 0" not in said
    if not found and ("errors: 0" not in said or "Search not completed" in said):
        raise RuntimeError(f"{words}: not explored to its end: {said}")
    if "max search depth too small" in said:
        raise RuntimeError(f"{words}: the search was not deep enough: {said}")
    return found, said


def main():
    if shutil.which("spin") is None:
        print("no spin: scripts/deps test installs it")
        return 77
    source = os.path.abspath(sys.argv[1])
    models = {**MODELS, **LONG}
    wrong = []

    def check_model(name):
        found, said = explore(source, name, models[name], "-O2" if name in LONG else "-O0")
        states = STATES.search(said)[1]
        print(f"{name}: {states} states: {'WRONG' if found else 'fine'}", flush=True)
        if found:
            wrong.append(f"{name}: {said}")

    def check_mutant(mutant):
        guard, name = mutant
        found, said = explore(source, name, f"{models[name]} {guard}", "-O0")
        if "-v" in sys.argv:
            print(f"{name} {guard}: {said.splitlines()[0][:160]}", flush=True)
        if not found:
            wrong.append(f"{name} with {guard}: nothing found")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        chosen = LONG if "--long" in sys.argv else MODELS
        jobs = [pool.submit(check_model, name) for name in chosen]
        if "--long" not in sys.argv:
            jobs += [pool.submit(check_mutant, mutant) for mutant in MUTANTS]
        for job in jobs:
            job.result()
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
