#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of a benchmark's results in a real browser: each row says what it should, only a missed limit is red,
axes are logarithmic, and the console has no error. The picture is left in build/bench/report.png."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("PENSTOCK_SOURCE_DIR", ".")
PYTHON = os.path.join(SOURCE, "build", "venv", "bin", "python")
if os.path.exists(PYTHON) and os.path.dirname(sys.executable) != os.path.dirname(os.path.abspath(PYTHON)):
    os.execv(PYTHON, [PYTHON, *sys.argv])  # which has matplotlib

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "bench"), os.path.join(SOURCE, "tests", "site")]

import browser  # noqa: E402  (the folders are named above)
import report  # noqa: E402

ROW = {"metric": "put_64KiB", "value": 2.5, "unit": "us", "baseline": "memcpy_64KiB", "baseline_value": 2.25, "ratio": 1.11,
       "quarter1": 1.05, "quarter3": 1.2, "min": 1.0, "blocks": 60, "rejected": 3, "difference": 0.25, "judged": "ratio",
       "sense": "<=", "pass_at": 1.2, "pass": True, "stretch_at": None, "stretch": None}
MISSED = {**ROW, "metric": "am_flood", "unit": "M/s", "baseline_value": 80.0, "ratio": 0.3, "sense": ">=", "pass_at": 0.5,
          "pass": False}
BUSY = {**ROW, "metric": "barrier_2_ranks", "ratio": 0.0, "value": 0.0, "rejected": 60, "pass": False}
CURVES = [{"table": "am", "ranks": 2, "bytes": 2 ** n, "round_trip_us": 0.4 + 2 ** n / 4000, "one_way_gb_s": 1.0,
           "one_way_m_s": 5.0} for n in range(3, 17)]
MACHINE = {"processor": "Processor", "cores": 2, "memory": "24 GiB", "kernel": "6.1", "date": "2026-01-01"}
FOUND = {"machine": MACHINE, "load_before": 0.0, "load_after": 0.1, "curves": CURVES, "results": [ROW, MISSED, BUSY]}


def rows_of(page):
    """metric -> the classes and texts of its cells."""
    rows = re.findall(r'<tr data-metric="(\w+)">(.*?)</tr>', page, re.S)
    return {metric: re.findall(r'<td class="(\w*)">(.*?)</td>', cells, re.S) for metric, cells in rows}


class Rows(unittest.TestCase):
    def setUp(self):
        self.rows = rows_of(report.page(FOUND, ""))

    def test_each_metric_has_one_row_with_spread_and_yardstick(self):
        self.assertEqual(list(self.rows), [row["metric"] for row in FOUND["results"]])
        texts = [text for _, text in self.rows["put_64KiB"]]
        self.assertEqual(texts, ["Put 64 KiB", "2.5 us", "memcpy 64KiB 2250 ns", "1.110 x", "1.05 to 1.20", "&lt;= 1.2", "kept",
                                 "", "57 of 60"])

    def test_a_rate_is_compared_with_the_time_between_messages(self):
        self.assertIn("12.5 ns", self.rows["am_flood"][2][1])

    def test_only_a_row_that_was_measured_can_be_red(self):
        self.assertIn(("no", "missed"), self.rows["am_flood"])
        self.assertIn(("unknown", "not measured: machine busy"), self.rows["barrier_2_ranks"])
        self.assertNotIn("no", [kind for kind, _ in self.rows["barrier_2_ranks"]])

    def test_the_summary_counts_what_was_judged(self):
        self.assertIn("1 of 2 limits are kept. 1 row was not measured.", report.page(FOUND, ""))


class Axes(unittest.TestCase):
    def test_lengths_and_times_have_logarithmic_axes(self):
        pyplot = report.import_pyplot()
        if pyplot is None:
            self.skipTest("matplotlib is not installed (scripts/deps bench)")
        for plot in report.latency, report.bandwidth, report.rate:
            _, axes = pyplot.subplots()
            plot(axes, FOUND)
            self.assertEqual((axes.get_xscale(), axes.get_yscale()), ("log", "log"), plot.__name__)


class Page(unittest.TestCase):
    def test_a_browser_shows_the_page_without_an_error(self):
        if not browser.find():
            self.skipTest("there is no chromium (scripts/deps docs installs it)")
        with tempfile.TemporaryDirectory() as folder:
            results, page = (os.path.join(folder, name) for name in ("results.json", "report.html"))
            with open(results, "w", encoding="utf-8") as file:
                json.dump(FOUND, file)
            subprocess.run([sys.executable, os.path.join(SOURCE, "bench", "report.py"), results, page], check=True)
            picture = os.path.join(SOURCE, "build", "bench", "report.png")
            os.makedirs(os.path.dirname(picture), exist_ok=True)
            with browser.served(folder) as address:
                text, errors = browser.look(f"{address}/report.html", picture)
        self.assertEqual(errors, [])
        self.assertIn("Put 64 KiB", text)
        self.assertGreater(os.path.getsize(picture), 10000)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
