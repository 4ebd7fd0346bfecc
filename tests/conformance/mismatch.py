#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mismatch.py PENSTOCK PROGRAM RANKS: plays every case of ex_coll_mismatch: the job fails, with a line
that says what each of two ranks has begun."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

TIMEOUT_S = 60
CASES = {  # case: both sides, in either order
    "call": ("a broadcast of 8 bytes from rank 0", "a reduction of 8 bytes (I64, ADD) to all"),
    "root": ("a broadcast of 8 bytes from rank 0", "a broadcast of 8 bytes from rank 1"),
    "length": ("a broadcast of 16 bytes from rank 0", "a broadcast of 8 bytes from rank 0"),
    "type": ("(U64, ADD)", "(I64, ADD)"),
    "operation": ("(I64, MAX)", "(I64, ADD)"),
    "scan": ("a scan of 8 bytes (I64, ADD)", "a scan of 8 bytes (I64, ADD, exclusive)"),
    "barrier": ("a barrier", "a gather of 8 bytes to all"),
    "zero": ("an all-to-all of 0 bytes", "an all-to-all of 4 bytes"),
}


def wrong(job, sides):
    lines = [line for line in job.stderr.splitlines() if "collectives do not match: number 1 " in line]
    if job.returncode == 0:
        return "the job succeeded"
    if not lines:
        return "there is no line about it"
    if not any(all(side in line for side in sides) for line in lines):
        return f"the line does not say {sides}"
    return ""


def main():
    penstock, program, ranks = sys.argv[1:4]
    failed = 0
    for case, sides in CASES.items():
        command = [penstock, "run", "-n", ranks, "--timeout", str(int(patience(TIMEOUT_S))), program, case]
        job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=patience(2 * TIMEOUT_S), check=False)
        reason = wrong(job, sides)
        if reason:
            print(f"{case}: {reason}: {' '.join(command)}\n{job.stderr}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
