#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""exit_codes.py PENSTOCK PROGRAM RANKS: plays every case of g1_exit_codes and compares the status of
the job with the code that a rank gave (GASNet-1 Core, job control: gasnet_exit)."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

TIMEOUT_S = 60
CASES = [  # case, code, what the job prints
    ("all", 0, ""), ("all", 1, ""), ("all", 77, ""), ("all", 255, ""),
    ("one", 3, ""), ("one", 200, ""),
    ("handler", 5, ""), ("handler", 0, ""),
    ("handler-returns", 0, ""), ("handler-returns", 12, ""),
    ("locked", 6, ""),
    ("return", 7, ""),
    ("thread", 8, ""),
    ("output", 9, "last words of rank 0"),
    ("unattached", 10, ""), ("unattached", 0, ""),
    ("atexit", 0, "all ranks met at exit"),
]


def main():
    penstock, program, ranks = sys.argv[1:4]
    wrong = 0
    for case, code, printed in CASES:
        command = [penstock, "run", "-n", ranks, "--timeout", str(int(patience(TIMEOUT_S))), program, case, str(code)]
        job = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=patience(2 * TIMEOUT_S))
        if job.returncode != code:
            print(f"{case}: status {job.returncode}, not {code}: {' '.join(command)}")
            wrong += 1
        if printed not in job.stdout:
            print(f"{case}: {printed!r} was not printed: {' '.join(command)}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
