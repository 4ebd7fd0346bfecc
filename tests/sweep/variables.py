#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bad values of every variable that `penstock info` lists: a job that gets one starts and ends well, or does not start and
says so in one line that names the variable. It never crashes, and never hangs.

    variables.py <penstock> <program> [--variable NAME]
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

VALUES = [
    "-1", "9223372036854775807", "18446744073709551616", "", "garbage", "99999999T", "nan", "inf", "  7  ", "0x10", "+3",
    "9" * 5000, "gr\u00fc\u00df", "1\n2", "\"'", "../../etc/passwd", "%s%n%d", "1e308",
]  # fmt: skip
LIMIT_S = 60
# Waiting for a debugger is what was asked for.
LEFT_OUT = {"GASNET_FREEZE", "GASNET_FREEZE_ON_ERROR"}
# Variables of a conduit need a job over it, and those of launching several hosts one host name.
CONDUITS = {"PENSTOCK_UDP": "udp", "GASNET_WORKERIP": "udp", "GASNET_SOCKETBUFFER": "udp", "PENSTOCK_IMPAIR": "udp",
            "PENSTOCK_EXTOLL": "extoll"}  # fmt: skip


def environment(name, value):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PENSTOCK_", "GASNET_"))}
    env[name] = value
    return env


def options_of(name, conduits):
    for start, conduit in CONDUITS.items():
        if name.startswith(start) and conduit in conduits:
            return ["--conduit", conduit]
    return []


def is_named(name, line):
    """By its name, or by those of a family and the word that tells it from its sisters."""
    family, *words = name.split("_")[1:]
    if name in line or (not words and f"cannot use {family.lower()} " in line):
        return True
    return name.split("_")[0] + "_" + family + "_" in line and any(word.lower() in line.lower() for word in words)


def play(command, name, value):
    """The fault, or None."""
    try:
        done = subprocess.run(command, env=environment(name, value), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=(limit := patience(LIMIT_S)), check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"goes on for more than {limit:.0f} s"
    said = done.stderr.decode(errors="replace")
    errors = re.findall(r"^penstock\[[^]]*\] error: (?!rank \d+ \(host).*", said, re.M)
    if done.returncode < 0 or done.returncode > 128 or "Sanitizer" in said or "runtime error" in said:
        return f"status {done.returncode}: {said[:300]}"
    if done.returncode == 0:
        return f"succeeds with an error: {errors[0][:300]}" if errors else None
    lines = set(re.sub(r"^penstock\[[^]]*\]", "", line) for line in errors)
    if len(lines) != 1 or not is_named(name, lines.pop()):
        return f"status {done.returncode}, and not one line that names it: {said[:300]}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("program")
    parser.add_argument("--variable", action="append")
    options = parser.parse_args()
    info = json.loads(subprocess.run([options.penstock, "info", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    conduits = {row["name"] for row in info["conduits"]}
    names = options.variable or sorted({row["name"] for row in info["variables"]} - LEFT_OUT)
    cases = [(name, value) for name in names for value in VALUES]

    def one(case):
        name, value = case
        return play([options.penstock, "run", "-n", "2", *options_of(name, conduits), options.program], name, value)

    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (name, value), what in zip(cases, pool.map(one, cases)):
            if what:
                wrong += 1
                print(f"{name}={value[:40]!r}: {what}", flush=True)
    print(f"{len(names)} variables, {len(cases)} starts, {wrong} of them wrong")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
