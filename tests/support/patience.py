# SPDX-License-Identifier: BSD-3-Clause
"""Time limits that hold on a busy machine.

A limit of a test counts fair seconds: the time in which the machine could have given the test that many
seconds of one core. `patience` says how many seconds of the clock that is now. tests/within/within.c
does the same for a whole test.
"""
import os


def slowdown():
    """How many times longer than on a quiet machine a thread waits for its share of a core."""
    with open("/proc/loadavg", encoding="ascii") as file:
        runnable = int(file.read().split()[3].partition("/")[0])  # this thread is one of them
    return max(1.0, runnable / (os.cpu_count() or 1))


def patience(fair_seconds):
    """Returns the wall-clock seconds in which a limit of that many fair seconds passes."""
    return fair_seconds * slowdown()
