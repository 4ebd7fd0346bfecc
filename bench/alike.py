# SPDX-License-Identifier: BSD-3-Clause
"""Is this still the same machine? A host may run our cores elsewhere a few seconds later, and what a
line takes from one to the other and back then changes tenfold. Jobs are compared with those only
between which and in which it did not change."""

import json
import math
import os
import subprocess
from typing import NamedTuple, Optional

ALIKE_MAX = 1.6  # a line's time over another's, on what we call the same machine
ROUNDS_EACH = 4  # rounds that are run for one that counts, at most
TIMEOUT_S = 60


class Busy(Exception):
    """The machine was too busy to measure; says what took too long."""


def line_ns(build):
    """Measures now how long a line takes to another core and back. Where there is one core, the result
    is a constant."""
    if len(os.sched_getaffinity(0)) < 2:
        return 1.0
    program = os.path.join(build, "bench", "line")
    try:
        job = subprocess.run([program], stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S,
                             check=True)
    except subprocess.TimeoutExpired as late:
        raise Busy(f"bench/line took more than {TIMEOUT_S} s") from late
    except (OSError, subprocess.SubprocessError) as error:
        raise SystemExit(f"bench: cannot ask the machine: {error}; is all of {build} built?") from error
    return json.loads(job.stdout)["value"]


def same_machine(line, other):
    return max(line, other) <= ALIKE_MAX * min(line, other)


class Run(NamedTuple):
    """A job's result, and the time of a line beside it; None if the machine changed during the job."""

    line: Optional[float]
    values: dict

    def met_machine_of(self, other):
        return None not in (self.line, other.line) and same_machine(self.line, other.line)


class Watch:
    """Asks the machine before and after each of the jobs that follow each other."""

    def __init__(self, build):
        self._build, self._before = build, line_ns(build)

    def run(self, job):
        """Run of what job() returns. Where it raises instead, so does this."""
        values = job()
        before, self._before = self._before, line_ns(self._build)
        alike = same_machine(before, self._before)
        return Run(math.sqrt(before * self._before) if alike else None, values)


def rounds(build, wanted, jobs):
    """Results of `count` rounds, during each of which the machine stayed the same. jobs: the functions that
    make a round. A round during which the machine changed is replaced by another."""
    stayed, changed = [], []
    while len(stayed) < wanted and len(stayed) + len(changed) < ROUNDS_EACH * wanted:
        found, lines = [], [line_ns(build)]
        for job in jobs:
            found.append(job())
            lines.append(line_ns(build))
        (stayed if same_machine(max(lines), min(lines)) else changed).append(found)
    return stayed + changed[:wanted - len(stayed)]
