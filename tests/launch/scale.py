#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs with many ranks start, meet and end."""

import support
from support import LaunchTest, fork, run


class Scale(LaunchTest):
    def many(self, launch, ranks):
        job = launch(ranks, "join", "exchange", "barrier", limit=300)
        self.expect(job, 0)
        job = launch(ranks, "join", "barrier", f"{ranks - 1}:kill=9", "barrier", limit=300)
        self.expect(job, 137, f"rank {ranks - 1} .* killed by SIGKILL")

    def test_64_ranks(self):
        self.many(run, 64)
        self.many(fork, 64)

    def test_256_ranks(self):
        self.many(run, 256)
        self.many(fork, 256)

    def test_1024_ranks(self):
        self.many(run, 1024)
        self.many(fork, 1024)

    def test_no_more_ranks_than_a_host_can_have(self):
        self.assertEqual(fork(5000, "join").status, 1)


if __name__ == "__main__":
    support.main()
