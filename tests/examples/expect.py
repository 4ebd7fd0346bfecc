#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""expect.py STATUS PATTERN -- COMMAND...: runs the command; its status must be STATUS, and the
regular expression must match a line of what it prints. Shows the output when something is wrong."""

import re
import subprocess
import sys


def main():
    status, pattern, dashes, *command = sys.argv[1:]
    assert dashes == "--"
    job = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    wrong = []
    if job.returncode != int(status):
        wrong.append(f"status {job.returncode}, not {status}")
    if not re.search(pattern, job.stdout, re.MULTILINE):
        wrong.append(f"nothing matches {pattern!r}")
    if wrong:
        print(" ".join(command), *wrong, job.stdout, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
