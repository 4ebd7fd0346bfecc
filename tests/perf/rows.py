#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/run.py with a build: rows of each kind are measured, and come out as they should."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

BUILD = os.environ.get("PENSTOCK_BUILD_DIR", "build/dev")
SOURCE = os.environ.get("PENSTOCK_SOURCE_DIR", ".")
KEYS = {"metric", "value", "unit", "baseline", "baseline_value", "ratio", "quarter1", "quarter3",
        "min", "blocks", "rejected", "pass_at", "pass", "stretch_at", "stretch"}
ONLY = ("raw_echo_64B", "am_flood", "put_8B", "get_64KiB", "am_short4_one_core", "barrier_4_ranks",
        "crowd_broadcast_8B_4_ranks", "par_am_flood", "start_and_exit_2_ranks")
UNITS = {"am_flood": "M/s", "par_am_flood": "M/s", "get_64KiB": "GB/s", "start_and_exit_2_ranks": "ms"}


def bench(*arguments):
    return subprocess.run([sys.executable, os.path.join(SOURCE, "bench", "run.py"), BUILD,
                           *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=patience(110))


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="penstock-bench-")
        cls.job = bench("--quick", "--only", ",".join(ONLY), "--into", cls.folder.name)
        if len(os.sched_getaffinity(0)) < 2:
            raise unittest.SkipTest("one processor only: nothing can be compared across two")
        assert cls.job.returncode == 0, cls.job.stderr
        with open(os.path.join(cls.folder.name, "results.json"), encoding="utf-8") as file:
            cls.found = json.load(file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_each_row_that_was_asked_for_is_there_once(self):
        self.assertEqual(sorted(row["metric"] for row in self.found["results"]), sorted(ONLY))

    def test_each_row_has_what_a_row_has(self):
        for row in self.found["results"]:
            self.assertLessEqual(KEYS, set(row), row)
            self.assertEqual(row["unit"], UNITS.get(row["metric"], "ns"))
            self.assertLessEqual(row["rejected"], row["blocks"])
            if row["ratio"]:  # else nothing was left of it on this machine
                self.assertLessEqual(row["quarter1"], row["ratio"])
                self.assertLessEqual(row["ratio"], row["quarter3"])
                self.assertGreater(row["value"], 0)
            else:
                self.assertIn(row["pass"], (False, None), row)

    def test_a_verdict_follows_from_figure_and_limit(self):
        for row in self.found["results"]:
            if row["pass_at"] is None or not row["ratio"]:
                continue
            figure = row["difference"] if row["judged"] == "difference" else row["ratio"]
            good = figure <= row["pass_at"] if row["sense"] == "<=" else figure >= row["pass_at"]
            self.assertEqual(row["pass"], good, row)

    def test_the_table_names_each(self):
        for metric in ONLY:
            self.assertRegex(self.job.stdout, rf"(?m)^{metric} ")

    def test_the_page_is_complete_in_itself(self):
        with open(os.path.join(self.folder.name, "report.html"), encoding="utf-8") as file:
            page = file.read()
        for metric in ONLY:
            self.assertIn(f'<tr data-metric="{metric}">', page)
        self.assertNotRegex(page, r"<(img|script|link)\b")

    def test_results_can_be_printed_for_a_document(self):
        job = bench("--markdown", "--into", self.folder.name)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        for metric in ONLY:
            self.assertIn(f"| {metric} |", job.stdout)
        self.assertIn("Misses:", job.stdout)


class Errors(unittest.TestCase):
    def test_a_metric_that_there_is_not(self):
        job = bench("--quick", "--only", "no_such_metric")
        self.assertEqual((job.returncode, job.stderr.splitlines()[-1]),
                         (1, "bench: no metric is called no_such_metric"))

    def test_a_part_that_there_is_not(self):
        job = bench("--parts", "rows,everything")
        self.assertEqual(job.returncode, 2)
        self.assertIn("no part is called everything", job.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
