# SPDX-License-Identifier: BSD-3-Clause
"""Time limits that hold on a busy machine.

A limit of a test counts fair seconds: the time in which the machine could have given the test that many
seconds of one core. `patience` says how many seconds of the clock that is now. tests/within/within.c
does the same for a whole test.
"""
import os


def slowdown(own=1):
    """How many times longer than on a quiet machine a thread waits for its share of a core. `own` is the number of
    threads that the test itself keeps busy, if that is more than the machine has cores."""
    with open("/proc/loadavg", encoding="ascii") as file:
        runnable = int(file.read().split()[3].partition("/")[0])  # this thread is one of them
    return max(1.0, runnable / max(own, os.cpu_count() or 1))


def patience(fair_seconds, own=1):
    """Returns the wall-clock seconds in which a limit of that many fair seconds passes; `own` as in slowdown."""
    return fair_seconds * slowdown(own)
