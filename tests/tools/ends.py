#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ends.py PROGRAM: how a process without a job ends when the tools library ends it, and its message.
PROGRAM is alone.c with threads."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

LINE = r"penstock\[tools\] "
# argument, environment, status, what stderr matches, what stdout is
CASES = [
    ("fatal", {}, -signal.SIGABRT, LINE + r"error: the number 7 \(in fail_at at \S*alone\.c:\d+\)",
     ""),
    ("fatal", {}, -signal.SIGABRT, r"GASNET_BACKTRACE=1", ""),
    ("nopos", {}, -signal.SIGABRT, LINE + r"error: no place, please\n", ""),
    ("number", {"ALONE_NUMBER": "many"}, -signal.SIGABRT, r'cannot use ALONE_NUMBER="many"', ""),
    ("number", {"ALONE_NUMBER": ""}, 0, r"^$", ""),
    ("lock", {}, -signal.SIGABRT, r"gasnett_mutex_lock\(0x\w+\): this thread holds it", ""),
    ("unlock", {}, -signal.SIGABRT, r"gasnett_mutex_unlock\(0x\w+\): .* does not hold it", ""),
    ("reader", {}, -signal.SIGABRT, r"not held for reading", ""),
    ("kill", {}, 23, r"^$", ""),
    ("show", {}, 0, r"^$", ""),
    ("show", {"GASNET_VERBOSEENV": "1"}, 0, r"ALONE_SHOWN +by default +\(default\)", ""),
    ("show", {"GASNET_VERBOSEENV": "y", "ALONE_SHOWN": "mine"}, 0,
     r"ALONE_SHOWN +mine +\(environment\)", ""),
    ("ticks", {"GASNET_TSC_RATE": "1000"}, 0, r"^$|GASNET_TSC_RATE=1000 is 1000 Hz", None),
    ("ticks", {"GASNET_TSC_VERBOSE": "1"}, 0, r"^$|info: ticks are the processor's counter", None),
    ("fatal", {"GASNET_TSC_VERBOSE": "maybe"}, -signal.SIGABRT,
     r'cannot use GASNET_TSC_VERBOSE="maybe"', ""),
]


def play(program, argument, environment):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("GASNET_", "ALONE"))}
    return subprocess.run([program, argument], env={**clean, **environment}, timeout=patience(60),
                          capture_output=True, text=True, check=False)


def frozen(program):
    """A process that waits for a debugger waits until a debugger comes."""
    with subprocess.Popen([program, "freeze"], env={**os.environ, "GASNET_FREEZE_ON_ERROR": "1"},
                          stderr=subprocess.PIPE, text=True) as process:
        said = [process.stderr.readline() for _ in range(2)]
        time.sleep(0.2)
        waits = process.poll() is None
        process.kill()
    return waits and "waits for a debugger" in said[1]


def main():
    wrong = 0
    for argument, environment, status, said, out in CASES:
        done = play(sys.argv[1], argument, environment)
        good = (done.returncode == status and re.search(said, done.stderr)
                and out in (None, done.stdout))
        if not good:
            wrong += 1
            print(f"{argument} {environment}: status {done.returncode}, stderr:\n{done.stderr}")
    if not frozen(sys.argv[1]):
        wrong += 1
        print("GASNET_FREEZE_ON_ERROR: does not wait")
    print(f"{len(CASES) + 1} ends, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
