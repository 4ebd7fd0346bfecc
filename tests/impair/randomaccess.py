#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""RandomAccess notices what a bad network does, with 4 ranks and more than a million frames.

    randomaccess.py <penstock> <randomaccess> <seconds>

Without impairment, with frames that only come late or in another order, and with frames dropped,
doubled and damaged that are sent again, it has to verify. With one in 10^5 dropped, doubled or damaged
and nothing to mend that it must not: neither end with status 0 nor say that it
verified. A job that hangs has failed: the launcher ends it, with status 124, after ten times what the
slowest of the good ones took; these have so many seconds at most.
"""
import math
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

UPDATES_MIN = 1_000_000
HANG_SECONDS_MIN, HANG_FACTOR = 8, 10
WORKS = [{}, {"REORDER": "1e-3"}, {"DELAY": "1e-4"}, {"REORDER": "1e-3", "DELAY": "1e-4"}]
MENDED = [{"DROP": "0.02", "DUPLICATE": "0.01", "REORDER": "0.02", "CORRUPT": "1e-3"}]
FAILS = [
    {"DROP": "1e-5", "MEND": "no"},
    {"DUPLICATE": "1e-5", "MEND": "no"},
    {"CORRUPT": "1e-5", "MEND": "no"},
]


def run(penstock, program, seconds, impair):
    command = [penstock, "run", "-n", "4", "--timeout", str(math.ceil(patience(seconds)))]
    for name, value in impair.items():
        command += ["--env", f"PENSTOCK_IMPAIR_{name}={value}"]
    command += [program, "am", "-m", "18", "--no-bucket"]  # a frame and its answer for each update
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=patience(seconds + 60), check=False,
    )
    return done.returncode, done.stdout


def updates(output):
    for line in output.splitlines():
        words = line.split()
        if words[:1] == ["updates"]:
            return int(words[1])
    return 0


def wrong(impair, expected, status, output):
    """The fault of the outcome, or None."""
    verified = "randomaccess am: verified" in output
    if bool(impair) != ("frames are impaired" in output):
        return "the warning that frames are impaired is there without cause, or missing"
    if expected and (status != 0 or not verified):
        return f"status {status}, verified: {verified}; this must work"
    if expected and updates(output) < UPDATES_MIN:
        return f"only {updates(output)} updates: too few frames to lose one in 10^5"
    if not expected and (status == 0 or verified):
        return f"status {status}, verified: {verified}: nobody noticed"
    return None


def main():
    penstock, program, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    faults, slowest = 0, 0.0
    for expected, rows in ((True, WORKS), (False, FAILS), (True, MENDED)):
        limit = seconds if expected else max(HANG_SECONDS_MIN, math.ceil(HANG_FACTOR * slowest))
        for impair in rows:
            start = time.monotonic()
            status, output = run(penstock, program, limit, impair)
            slowest = max(slowest, time.monotonic() - start) if expected else slowest
            fault = wrong(impair, expected, status, output)
            text = " ".join(f"{name}={value}" for name, value in impair.items()) or "no impairment"
            print(f"{text}: status {status}: {fault or 'as it should be'}", flush=True)
            if fault:
                print(output)
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
