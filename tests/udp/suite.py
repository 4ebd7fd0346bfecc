#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the conformance suite over a conduit (udp) where no rank sees another's memory.

    suite.py <build folder> [--conduit NAME] [--set NAME=VALUE]... [--lossy | --few-credits] [--mpirun COMMAND] [--match REGEX] [--repeat N] [--jobs N]

The commands are those of the conformance tests in the build (ctest knows them); the conduit, and with
--lossy a network that loses 10 %, doubles 1 %, reorders 5 % and damages 0.1 % of all frames, come by
the environment. What fails is printed with the command that repeats it.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

LOSSY = {"DROP": "0.1", "DUPLICATE": "0.01", "REORDER": "0.05", "CORRUPT": "0.001"}
SKIPPED = 77
# Programs that need shared memory, or a conduit of their own choice, and why frames do not suffice.
ELSEWHERE = {
    "ex_np_rules": "counts the copies that shared memory makes",
}
# Programs that need requests to arrive before the frames of a later barrier, and why they may not.
IN_TIME = {
    "ex_barrier_drain": "a request that is sent again, or that waits for credits, may arrive after the barrier",
}


def commands_of(folder):
    """Names and commands of the conformance tests of a build."""
    listed = subprocess.run(
        ["ctest", "--test-dir", folder, "--show-only=json-v1", "-L", "conformance"],
        stdout=subprocess.PIPE, check=True,
    )
    tests = json.loads(listed.stdout)["tests"]
    return [(test["name"], test["command"]) for test in tests if "run" in test.get("command", [])]


def patient(command, seconds):
    """The command with another time limit: a test's command begins with `within` and its seconds."""
    return [command[0], str(seconds), *command[2:]]


def under_mpirun(command, mpirun):
    """The command with mpirun in place of `penstock run`; both take -n and the number of ranks."""
    at = command.index("run")
    return [*command[:at - 1], *mpirun.split(), *command[at + 1:]]


def environment_of(options, seed):
    environment = dict(os.environ, PENSTOCK_CONDUIT=options.conduit)
    environment.update(setting.split("=", 1) for setting in options.set)
    if options.lossy:
        environment.update({f"PENSTOCK_IMPAIR_{name}": value for name, value in LOSSY.items()})
        environment["PENSTOCK_IMPAIR_SEED"] = str(seed)
    return environment


def play(name, command, environment, limit):
    begin = time.monotonic()
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=patience(2 * limit), env=environment, check=False,
        )
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as hung:
        status, output = -1, f"not over long after {limit} s\n{(hung.stdout or b'')[-4000:]!r}"
    return name, command, status, output, time.monotonic() - begin


def report(environment, outcome):
    name, command, status, output, seconds = outcome
    settings = " ".join(f"{k}={v}" for k, v in sorted(environment.items())
                        if k.startswith(("PENSTOCK_IMPAIR", "PENSTOCK_CONDUIT", "PENSTOCK_EXTOLL")))
    print(f"FAILED {name}: status {status} after {seconds:.0f} s\n{output[-3000:]}")
    print(f"  repeat: {settings} {' '.join(command)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--conduit", default="udp")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE, a variable of the ranks")
    parser.add_argument("--lossy", action="store_true")
    parser.add_argument("--mpirun", help="a launcher with its options, in place of `penstock run`")
    parser.add_argument("--few-credits", action="store_true", help="requests may wait at their sender")
    parser.add_argument("--match", default="", help="of the tests' names")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=300, help="seconds for one program")
    parser.add_argument("--slowest", type=int, default=0, help="print so many")
    options = parser.parse_args()
    chosen = [(name, patient(command, options.limit)) for name, command in commands_of(options.build)
              if re.search(options.match, name) and name.split(".")[1] not in ELSEWHERE
              and not ((options.lossy or options.few_credits) and name.split(".")[1] in IN_TIME)]
    if options.mpirun:
        chosen = [(name, under_mpirun(command, options.mpirun)) for name, command in chosen]
    failed, skipped, times, begin = 0, 0, [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        started = []
        for turn in range(options.repeat):
            environment = environment_of(options, turn + 1)
            started += [(environment, pool.submit(play, *test, environment, options.limit)) for test in chosen]
        for environment, future in started:
            outcome = future.result()
            times.append((outcome[4], outcome[0]))
            if outcome[2] == SKIPPED:
                skipped += 1
            elif outcome[2] != 0:
                failed += 1
                report(environment, outcome)
    for seconds, name in sorted(times, reverse=True)[:options.slowest]:
        print(f"{seconds:8.1f} s  {name}")
    print(f"{len(started)} runs of {len(chosen)} tests over {options.conduit}{', lossy' if options.lossy else ''}: "
          f"{failed} failed, {skipped} skipped, {time.monotonic() - begin:.0f} s")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
