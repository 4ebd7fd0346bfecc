#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/run.py's verdict: a miss is named and fails a check, what was not measured is a miss."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = os.environ.get("PENSTOCK_SOURCE_DIR", ".")
sys.path.insert(0, os.path.join(SOURCE, "bench"))
sys.dont_write_bytecode = True

import run  # noqa: E402
import show  # noqa: E402

GOOD = {"metric": "put_8B", "value": 1.3, "unit": "ns", "baseline": "store_8B", "baseline_value": 1.0,
        "ratio": 1.3, "quarter1": 1.2, "quarter3": 1.4, "min": 1.1, "blocks": 60, "rejected": 3,
        "difference": 0.3, "judged": "difference", "sense": "<=", "pass_at": 2.0, "pass": True,
        "stretch_at": None, "stretch": None}
SLOW = {**GOOD, "metric": "am_flood", "baseline": "ring", "judged": "ratio", "sense": ">=",
        "ratio": 0.31, "pass_at": 0.5, "pass": False}
UNMEASURED = {**GOOD, "metric": "barrier_2_ranks", "judged": "ratio", "ratio": 0.0, "value": 0.0,
              "rejected": 60, "pass": False}


def verdict(results, *arguments):
    """Status and what was printed of a run that found these results."""
    found = {"machine": run.machine(), "load_before": 0.0, "load_after": 0.0, "curves": [],
             "results": results}
    said, errors = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(run, "measure", lambda _: found), \
            mock.patch.object(run, "write_report", lambda _: None), \
            mock.patch.object(sys, "argv", ["run.py", "build", "--into", folder, *arguments]), \
            contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        status = run.main()
    return status, said.getvalue(), errors.getvalue()


class Check(unittest.TestCase):
    def test_all_good(self):
        self.assertEqual(verdict([GOOD], "--check")[0], 0)

    def test_a_miss_fails_and_is_named(self):
        status, _, errors = verdict([GOOD, SLOW], "--check")
        self.assertEqual((status, errors), (1, "bench: am_flood: 0.310 x ring, wanted >= 0.5\n"))

    def test_a_miss_is_named_without_a_check_too(self):
        status, said, errors = verdict([SLOW])
        self.assertEqual(status, 0)
        self.assertIn("NO (>= 0.5)", said)
        self.assertIn("am_flood", errors)

    def test_what_was_not_measured_is_a_miss(self):
        status, said, errors = verdict([UNMEASURED], "--check")
        self.assertEqual(status, 1)
        self.assertIn("0/60", said)
        self.assertIn("not measured: machine busy", said)
        self.assertIn("barrier_2_ranks: not measured: machine busy", errors)

    def test_a_peer_that_was_not_measured_is_a_miss_with_a_reason(self):
        absent = {**UNMEASURED, "peer": "MPICH", "setting": "default", "reason": "mpicc.mpich is missing"}
        status, _, errors = verdict([absent], "--check")
        self.assertEqual(status, 1)
        self.assertIn("MPICH", errors)
        self.assertIn("mpicc.mpich is missing", errors)

    def test_why_a_peer_could_not_be_measured_is_told(self):
        row = {**UNMEASURED, "peer": "MPICH", "setting": "default", "why": "no rank reports"}
        self.assertIn("barrier_2_ranks [MPICH default]: not measured: no rank reports", verdict([row])[2])

    def test_a_peer_measured_among_disturbances_is_a_miss_without_a_limit_too(self):
        row = {**SLOW, "peer": "UCX", "reason": "all blocks were disturbed", "pass_at": None}
        status, said, errors = verdict([row], "--check")
        self.assertEqual(status, 1)
        self.assertIn(" NO", said)
        self.assertIn("all blocks were disturbed", errors)

    def test_rows_that_are_only_reported_fail_nothing(self):
        self.assertEqual(verdict([{**SLOW, "pass": None, "pass_at": None}], "--check")[0], 0)


class Modes(unittest.TestCase):
    @staticmethod
    def compared(sense, seq, par):
        rows = [({**GOOD, "ratio": a, "sense": sense}, {**GOOD, "ratio": b, "sense": sense})
                for a, b in zip(seq, par)]
        return run.compare_modes("am", rows)

    def test_times_may_grow_by_15_percent(self):
        self.assertTrue(self.compared("<=", (1.0, 1.1, 1.2), (1.1, 1.2, 1.3))["pass"])
        self.assertFalse(self.compared("<=", (1.0, 1.1, 1.2), (1.2, 1.3, 1.4))["pass"])

    def test_rates_may_fall_by_15_percent(self):
        row = self.compared(">=", (0.50, 0.51, 0.52), (0.44, 0.45, 0.46))
        self.assertTrue(row["pass"])
        self.assertFalse(row["stretch"])
        self.assertFalse(self.compared(">=", (0.50, 0.51, 0.52), (0.40, 0.41, 0.42))["pass"])

    def test_nothing_measured_is_a_miss(self):
        row = self.compared(">=", (0, 0.5), (0.5, 0))
        self.assertEqual(row["rejected"], 2)
        self.assertEqual((row["pass"], row["stretch"]), (False, False))
        self.assertIn("not measured", show.miss(row))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
