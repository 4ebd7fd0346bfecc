# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for everything here that starts processes."""

import os
import signal

LOG_TAIL = 300


class Failed(Exception):
    """Why a peer could not be measured."""


def cores():
    return sorted(os.sched_getaffinity(0))


def tail(log):
    log.seek(0)
    said = " ".join(log.read().decode(errors="replace").split())
    return said[-LOG_TAIL:] if said else "it said nothing"


def stop(process):
    """Ends a process that we started, and what it started."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
