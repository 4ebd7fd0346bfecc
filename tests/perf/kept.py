#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/run.py keeps results by kind of machine, and names what has become worse on the same kind."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ.get("PENSTOCK_SOURCE_DIR", "."), "bench"))
sys.dont_write_bytecode = True

import kept  # noqa: E402
import run  # noqa: E402


def row(ratio, **more):
    return {"metric": "am_flood", "value": 1.0, "unit": "ns", "baseline": "ring", "baseline_value": 1.0, "ratio": ratio,
            "quarter1": ratio * 0.98, "quarter3": ratio * 1.02, "blocks": 60, "rejected": 0, "judged": "ratio",
            "sense": "<=", "pass_at": None, "pass": None, "stretch_at": None, "stretch": None, **more}


class Kept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def play(self, found_row, *arguments, kind="zen"):
        """Status and errors of a run that found this row."""
        found = {"machine": {**run.machine(), "kind": kind}, "load_before": 0.0, "load_after": 0.0, "curves": [],
                 "results": [found_row]}
        errors = io.StringIO()
        with mock.patch.object(run, "measure", lambda _: found), mock.patch.object(run, "write_report", lambda _: None), \
                mock.patch.object(kept, "FOLDER", self.folder), \
                mock.patch.object(sys, "argv", ["run.py", "build", "--into", self.folder + "/into", *arguments]), \
                contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            return run.main(), errors.getvalue()

    def test_worse_on_the_same_kind_is_named_and_fails_a_check(self):
        self.assertEqual(self.play(row(1.0), "--keep"), (0, ""))
        status, errors = self.play(row(1.3), "--check")
        self.assertEqual(status, 1)
        self.assertRegex(errors, r"^bench: slower: am_flood: 1.300 x ring, 1.000 x on \d{4}-\d\d-\d\d on this kind of machine\n$")
        self.assertEqual(self.play(row(1.3))[0], 0)

    def test_another_kind_of_machine_is_not_compared(self):
        self.play(row(1.0), "--keep")
        self.assertEqual(self.play(row(9.0), "--check", kind="xeon"), (0, ""))

    def test_little_or_uncertain_is_no_regression(self):
        self.play(row(1.0), "--keep")
        self.assertEqual(self.play(row(1.1), "--check"), (0, ""))
        self.assertEqual(self.play(row(1.5, quarter1=0.9), "--check"), (0, ""))
        self.assertEqual(self.play(row(0.5), "--check"), (0, ""))
        self.assertEqual(self.play(row(1.5, baseline="another"), "--check"), (0, ""))

    def test_rates_are_worse_if_they_are_less(self):
        self.play(row(1.0, sense=">="), "--keep")
        self.assertEqual(self.play(row(1.3, sense=">="), "--check"), (0, ""))
        self.assertEqual(self.play(row(0.7, sense=">="), "--check")[0], 1)

    def test_a_run_does_not_replace_what_was_kept_unless_it_is_told_to(self):
        self.play(row(1.0), "--keep")
        self.play(row(1.3))
        self.assertEqual(self.play(row(1.3), "--check")[0], 1)
        self.play(row(1.3), "--keep")
        self.assertEqual(self.play(row(1.3), "--check"), (0, ""))

    def test_rows_that_were_not_measured_stay_as_they_were(self):
        self.play(row(1.0), "--keep")
        self.play(row(0.0), "--keep")
        self.play(row(1.0, metric="put_8B"), "--keep")
        self.assertEqual(self.play(row(1.3), "--check")[0], 1)

    def test_quick_runs_are_not_compared(self):
        self.play(row(1.0), "--keep")
        self.assertEqual(self.play(row(1.3), "--check", "--quick"), (0, ""))

    def test_a_kind_is_processor_caches_and_cores(self):
        for level, kind, size in ("1", "Data", "32K"), ("1", "Instruction", "64K"), ("2", "Unified", "1024K"):
            folder = os.path.join(self.folder, "cache", f"index{level}{kind}")
            os.makedirs(folder)
            for name, value in ("level", level), ("type", kind), ("size", size):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(value + "\n")
        self.assertEqual(kept.caches(os.path.join(self.folder, "cache")), "L1d32K-L21024K")
        with open(os.path.join(self.folder, "cpuinfo"), "w", encoding="utf-8") as file:
            file.write("cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nmodel\t\t: 99\n")
        self.assertEqual(kept.processor(os.path.join(self.folder, "cpuinfo")), "AMD EPYC 25 17")
        self.assertRegex(kept.kind(2), r"\A[a-z0-9.-]+-2-cores\Z")
        self.assertNotEqual(kept.kind(2), kept.kind(4))


if __name__ == "__main__":
    unittest.main(verbosity=2)
