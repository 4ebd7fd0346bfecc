#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether an interrupted experiment goes on where it was: each point is measured once, and again
when the program or the machine is another one; one that failed is not kept."""

import concurrent.futures
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench", "papers")]

import credits as figures  # noqa: E402

PROGRAM = """#!/bin/sh
echo ran >>{log}
echo '{{"op_ns": 1}}'
echo '{{"op_ns": 2}}'
exit {status}
"""


class Resume(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.log = os.path.join(self.folder.name, "log")
        for parts in (("bench",), ("src", "virtual", "machines")):
            os.makedirs(os.path.join(self.folder.name, *parts))
        self.write("src/virtual/machines/extoll-r1", "one")
        self.install(0)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def install(self, status):
        self.write("bench/papers_credits", PROGRAM.format(log=self.log, status=status))

    def ask(self, kept=True, **options):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            folder = self.folder.name
            lab = figures.Lab(folder, folder, 64, pool, os.path.join(folder, "kept") if kept else None)
            return lab.ask(**options).result()

    def runs(self):
        with open(self.log, encoding="utf-8") as file:
            return len(file.readlines())

    def test_a_point_is_measured_once(self):
        first = self.ask(policy="static", slots=58)
        self.assertEqual(first, [{"op_ns": 1}, {"op_ns": 2}])
        self.assertEqual(self.ask(policy="static", slots=58), first)
        self.assertEqual(self.runs(), 1)
        self.ask(policy="static", slots=59)
        self.assertEqual(self.runs(), 2)

    def test_another_program_or_machine_measures_again(self):
        self.ask(policy="static")
        self.write("src/virtual/machines/extoll-r1", "two")
        self.ask(policy="static")
        self.assertEqual(self.runs(), 2)
        self.write("bench/papers_credits", PROGRAM.format(log=self.log, status="0 # new"))
        self.ask(policy="static")
        self.assertEqual(self.runs(), 3)

    def test_what_failed_is_not_kept(self):
        self.install(1)
        for _ in range(2):
            with self.assertRaises(RuntimeError):
                self.ask(policy="static")
        self.assertEqual(self.runs(), 2)

    def test_nothing_is_kept_unasked(self):
        self.ask(kept=False, policy="static")
        self.ask(kept=False, policy="static")
        self.assertEqual(self.runs(), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
