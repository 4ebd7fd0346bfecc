#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program with counters, and checks that the network moved its puts and gets itself, and not the engine by frames.

    direct.py COMMAND...      `penstock run` with a program that puts and gets

Each rank must have counted puts and gets over the network, and as many that the network moved itself.
"""
import os
import re
import subprocess
import sys


def counters_of(line):
    return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}


def main():
    environment = dict(os.environ, PENSTOCK_STATS="1")
    done = subprocess.run(sys.argv[1:], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    lines = [line for line in done.stdout.splitlines() if " counters: " in line]
    wrong = [] if done.returncode == 0 and lines else [f"status {done.returncode}, counters of {len(lines)} ranks"]
    for line in lines:
        counters = counters_of(line)
        for kind in ("put", "get"):
            sent, direct = counters.get(f"{kind}_net", 0), counters.get(f"{kind}_direct", 0)
            if sent == 0 or direct < sent:
                wrong.append(f"{kind}s over the network: {sent}, moved by it: {direct}: {line}")
    if wrong:
        print(done.stdout, *wrong, "repeat: " + " ".join(sys.argv), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
