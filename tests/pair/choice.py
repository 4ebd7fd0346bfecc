#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pairs that cannot work are refused in words, by the command and by a rank.

    choice.py <penstock> <program that puts and gets>
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

REFUSED = {
    "extoll+udp": "the second has no put and get",
    "udp+udp": "the second has no put and get",
    "smp+extoll": "both need the host's shared memory",
    "loop+extoll": "it serves jobs of one rank only",
    "udp+loop": "it serves jobs of one rank only",
    "udp+nope": 'cannot use conduit "nope"',
    "nope+extoll": 'cannot use conduit "nope"',
    "+extoll": 'cannot use conduit "+extoll"',
    "udp+": 'cannot use conduit "udp+"',
    "udp+extoll+udp": 'cannot use conduit "extoll+udp"',
}


def run(penstock, program, environment, *options):
    """The status and the error stream of a job of two ranks."""
    done = subprocess.run(
        [penstock, "run", "-n", "2", *options, program], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=patience(50), check=False)
    return done.returncode, done.stderr


def main():
    penstock, program = sys.argv[1:]
    for conduit, reason in REFUSED.items():
        for environment, options in ({}, ("--conduit", conduit)), ({"PENSTOCK_CONDUIT": conduit}, ()):
            status, errors = run(penstock, program, environment, *options)
            assert status != 0 and reason in errors, f"{conduit}: {status}: {errors}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
