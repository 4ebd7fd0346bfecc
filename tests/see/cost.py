#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the time of operations with and without a trace: runs one program in turn, and prints medians. Fails
only if a trace costs so much that nobody would use it, since machines of tests are busy."""

import os
import statistics
import tempfile

from support import LaunchTest, launch, penstock, program

ROUNDS, NS_MAX = 5, 2000


class Cost(LaunchTest):
    def times(self, conduit, file):
        options = [f"--trace={file}"] if file else []
        job = penstock("run", "-n", 2, "--bind", "--conduit", conduit, *options, program("cost"),
                       *(["quick"] if conduit == "udp" else []))
        self.assertEqual(job.status, 0, job.err)
        return {name: float(ns) for name, ns in (line.split() for line in job.out.splitlines())}

    def compare(self, conduit):
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(ROUNDS):
                for file in (None, os.path.join(folder, "trace")):
                    for name, ns in self.times(conduit, file).items():
                        found.setdefault(name, {}).setdefault(file is not None, []).append(ns)
        for name, by in found.items():
            off, on = statistics.median(by[False]), statistics.median(by[True])
            print(f"{conduit} {name}: {off:.1f} ns without, {on:.1f} ns with a trace: {on - off:+.1f} ns, {on / off:.2f}")
            self.assertLess(on - off, NS_MAX)

    def test_shared_memory(self):
        self.compare("shm")

    def test_network(self):
        self.compare("udp")


if __name__ == "__main__":
    launch.main()
