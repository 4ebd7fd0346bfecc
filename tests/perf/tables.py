#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`penstock perf`: its tables, its errors, and its end."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

BUILD = os.environ.get("PENSTOCK_BUILD_DIR", "build/dev")
PENSTOCK = os.path.join(BUILD, "bin", "penstock")
OPERATIONS = ("am", "put", "get", "vis", "barrier", "coll")
COLUMNS = {"am": 5, "put": 4, "get": 4, "vis": 2, "barrier": 3, "coll": 6}


def perf(*words):
    return subprocess.run([PENSTOCK, "perf", *words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=patience(100))


class Tables(unittest.TestCase):
    def expect_table(self, operation, ranks, *more):
        job = perf(operation, "-n", str(ranks), "--quick", "--max", "64", *more)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        explanation, table = job.stdout.split("\n\n", 1)
        self.assertRegex(explanation, r"(?s)^[A-Z].*\.$", "explained in sentences")
        titles, *lines = table.splitlines()
        if operation != "coll":
            self.assertIn(" us", titles)
        else:
            self.assertIn("microseconds", explanation)
        self.assertGreaterEqual(len(lines), 1)
        for line in lines:
            cells = line.split()
            self.assertEqual(len(cells), 1 + COLUMNS[operation], line)
            for cell in cells[1:]:
                self.assertTrue(cell == "-" or float(cell) > 0, line)
        return [line.split()[0] for line in lines]

    def test_each_operation_at_two_ranks(self):
        for operation in OPERATIONS:
            with self.subTest(operation):
                self.expect_table(operation, 2)

    def test_lengths_are_powers_of_two_up_to_the_limit(self):
        self.assertEqual(self.expect_table("put", 2), ["8", "16", "32", "64"])
        self.assertEqual(self.expect_table("am", 2), ["0", "8", "16", "32", "64"])

    def test_all_ranks_take_part_in_a_barrier(self):
        self.assertEqual(self.expect_table("barrier", 3), ["3"])
        self.assertEqual(self.expect_table("barrier", 1), ["1"])

    def test_other_ranks_wait_while_two_measure(self):
        self.expect_table("am", 4)

    def test_thread_modes(self):
        self.expect_table("put", 2, "--mode", "par")

    def test_json_has_a_line_for_each_length(self):
        job = perf("get", "-n", "2", "--quick", "--max", "32", "--json")
        lines = [json.loads(line) for line in job.stdout.splitlines()]
        self.assertEqual([line["bytes"] for line in lines], [8, 16, 32])
        for line in lines:
            self.assertEqual((line["table"], line["ranks"]), ("get", 2))
            self.assertGreater(line["get_us"], 0)
            self.assertAlmostEqual(line["get_gb_s"], line["bytes"] / line["get_us"] / 1e3,
                                   delta=0.01 * line["get_gb_s"])


class Errors(unittest.TestCase):
    def expect_error(self, pattern, *words):
        job = perf(*words)
        self.assertEqual((job.returncode, job.stdout), (2, ""), job.stderr)
        self.assertEqual(job.stderr.count("\n"), 1, job.stderr)
        self.assertRegex(job.stderr, pattern)

    def test_nothing_asked_for(self):
        self.expect_error("which operation\\? give am, put", "-n", "2")

    def test_unknown_operation(self):
        self.expect_error('unknown operation "barier"; did you mean "barrier"\\?', "barier", "-n", "2")

    def test_two_operations(self):
        self.expect_error('"get" is a second', "put", "get", "-n", "2")

    def test_no_number_of_ranks(self):
        self.expect_error("how many ranks\\? give -n N", "put")

    def test_too_few_ranks(self):
        self.expect_error("put is between two ranks: give -n 2", "put", "-n", "1")

    def test_a_number_of_ranks_that_is_none(self):
        self.expect_error("-n two: give a number of ranks", "put", "-n", "two")

    def test_a_length_that_is_none(self):
        for length in ("4", "big", "1G"):
            self.expect_error(f"--max {length}: give a length", "put", "-n", "2", "--max", length)

    def test_a_mode_that_is_none(self):
        self.expect_error("--mode fast: give seq or par", "put", "-n", "2", "--mode", "fast")

    def test_an_option_without_value(self):
        self.expect_error("--max needs a value", "put", "-n", "2", "--max")

    def test_unknown_option(self):
        self.expect_error('unknown option "--jsn"; did you mean "--json"\\?', "put", "--jsn")


class Help(unittest.TestCase):
    def test_names_every_operation_and_option(self):
        said = subprocess.run([PENSTOCK, "help", "perf"], stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(said, perf("put", "--help").stdout)
        for word in OPERATIONS:
            self.assertRegex(said, rf"\b{word}\b")


class End(unittest.TestCase):
    def test_an_interrupt_ends_it(self):
        job = subprocess.Popen([PENSTOCK, "perf", "coll", "-n", "2"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
        job.stdout.readline()
        started = time.monotonic()
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=patience(60))
        self.assertEqual(job.returncode, -signal.SIGINT)
        self.assertLess(time.monotonic() - started, patience(30))
        with self.assertRaises(ProcessLookupError):
            os.killpg(job.pid, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
