#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suite_hosts.py BUILD [--match REGEX] [--jobs N] [--slowest N]: the conformance suite on four hosts (see network.py).

Of each program and thread mode the run with eight ranks, or with the most that it has, two on a host. What is left out is
what tests/udp/suite.py leaves out, and for the same reasons.
"""
import argparse
import concurrent.futures
import os
import queue
import re
import sys

import network

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "udp"))
import suite  # noqa: E402

HOSTS, RANKS = 4, 8


def chosen(options):
    """Name -> command: of each program and mode one."""
    found = {}
    for name, command in suite.commands_of(options.build):
        at = re.fullmatch(r"(conformance\.(\w+)\..*)\.n(\d+)", name)
        if at is None or at[2] in suite.ELSEWHERE or int(at[3]) > RANKS or not re.search(options.match, name):
            continue
        if int(at[3]) > found.get(at[1], (0, None))[0]:
            found[at[1]] = (int(at[3]), suite.patient(command, options.limit))
    return {f"{name}.n{ranks}": command for name, (ranks, command) in sorted(found.items())}


def on_hosts(net, command):
    at = command.index("run") + 1
    return net.inside("root", *command[:at], "--hosts", ",".join(f"{name}:2" for name in net.names), *command[at:])


def failed(outcome):
    return outcome[2] not in (0, suite.SKIPPED)


def work(tests, options, outcomes):
    with network.Network(HOSTS) as net:
        while True:
            try:
                name, command = tests.get_nowait()
            except queue.Empty:
                return
            outcome = suite.play(name, on_hosts(net, command), net.environment(), options.limit)
            outcomes.append(outcome)
            if failed(outcome):
                suite.report({}, outcome)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--match", default="", help="of the tests' names")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=300, help="seconds for one program")
    parser.add_argument("--slowest", type=int, default=0, help="print so many")
    options = parser.parse_args()
    tests, outcomes = queue.Queue(), []
    for test in chosen(options).items():
        tests.put(test)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            for worker in [pool.submit(work, tests, options, outcomes) for _ in range(options.jobs)]:
                worker.result()
        except network.Missing as why:
            network.skip(why)
    for name, _, _, _, seconds in sorted(outcomes, key=lambda o: -o[4])[:options.slowest]:
        print(f"{seconds:8.1f} s  {name}")
    count = sum(map(failed, outcomes))
    print(f"{len(outcomes)} programs on {HOSTS} hosts: {count} failed, "
          f"{sum(outcome[2] == suite.SKIPPED for outcome in outcomes)} skipped")
    return 1 if count or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
