#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that fork: children that end in any way, or call the library, have no effect on the job."""

import os
import re
import unittest

from support import BUILD, PENSTOCK, Job, LaunchTest, environment

COMMUNICATES = 5  # acts of children.c that try to, and a child of a child that does
FORKS = 3  # of each act


class Children(LaunchTest):
    def go_on(self, mode, conduit, ranks=2, **env):
        program = os.path.join(BUILD, "tests", "launch", f"children.{mode}")
        job = Job([PENSTOCK, "run", "-n", str(ranks), "--conduit", conduit, program], env=environment(**env), limit=120)
        self.assertEqual(job.status, 0, job.err + job.out)
        self.assertEqual(sorted(job.out.split("\n")), ["", *(f"rank {rank} is well" for rank in range(ranks))])
        lines = [line for line in job.err.splitlines() if "a child that rank" in line]
        self.assertEqual(len(lines), ranks * FORKS * (COMMUNICATES + 1), job.err)
        for line in lines:
            self.assertRegex(line, r"^penstock\[rank \d[^]]*\] error: [\w ]+: not in process \d+, which is a child")
        rest = [line for line in job.err.splitlines() if "a child that rank" not in line and re.search("penstock", line)]
        self.assertEqual(rest, [])

    def test_over_shared_memory(self):
        self.go_on("seq", "shm")
        self.go_on("par", "shm", ranks=3)

    def test_over_udp(self):
        self.go_on("seq", "udp")
        self.go_on("par", "udp", PENSTOCK_UDP_SECURITY="none")


if __name__ == "__main__":
    unittest.main()
