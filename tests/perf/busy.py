#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks on a machine that is too busy: each missing result is a row that says so, the table, the page and
the documents are still written, and no program ends in a traceback.

The programs are stand-ins in a build folder of the test's: they take too long, or find no quiet moment."""

import argparse
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = os.environ.get("PENSTOCK_SOURCE_DIR", ".")
sys.path.insert(0, os.path.join(SOURCE, "bench"))
sys.dont_write_bytecode = True

import alike  # noqa: E402
import apps  # noqa: E402
import coll  # noqa: E402
import run  # noqa: E402

SHORT_S, LONG_S = 0.2, 60
TAKES_TOO_LONG = f"exec sleep {LONG_S}"
LINE = 'echo \'{"value": 60.0}\''
UDP_METRICS = ("net_put_1MiB", "net_am_medium_64B_round_trip", "net_am_medium_64B_flood", "net_am_flood")
METRICS = ("put_8B", *run.PAR_METRICS, *UDP_METRICS)


def disturbed(metric):
    """The row that perf prints of an operation when all its blocks were disturbed."""
    zero = ("value", "baseline_value", "ratio", "quarter1", "quarter3", "min", "cpu_ns", "difference", "best")
    return {"metric": metric, **dict.fromkeys(zero, 0.0), "unit": "ns", "baseline": "yardstick", "judged": "ratio",
            "sense": "<=", "blocks": 60, "rejected": 60, "pass_at": 2.0, "pass": False, "stretch_at": None,
            "stretch": None}


def without_a_quiet_moment():
    """A program that prints every row disturbed, or those that --only names; of curves, lines without a time."""
    rows = "\n".join(json.dumps(disturbed(metric)) for metric in METRICS)
    curve = json.dumps({"table": "put", "ranks": 2, "bytes": 8, "put_ns": None})
    return f"""only=
while [ $# -gt 0 ]; do
    case $1 in
    --only) only=$2 ;;
    --json) echo '{curve}'; exit ;;
    esac
    shift
done
if [ "$only" ]; then
    wanted=$(echo "$only" | sed 's/,/|/g')
    cat <<END | grep -E "\\"($wanted)\\""
{rows}
END
else
    cat <<END
{rows}
END
fi"""


class Busy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = os.path.join(folder.name, "build")
        self.limit_s = self.line_limit_s = SHORT_S
        self.into = os.path.join(folder.name, "into")

    def program(self, name, text):
        path = os.path.join(self.build, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def programs(self, launcher, line, start):
        self.program("bin/penstock", launcher)
        self.program("bench/line", line)
        self.program("bench/start/start", start)

    def bench(self, *arguments):
        """Status, output and errors of bench/run.py, whose jobs have not long."""
        said, errors = io.StringIO(), io.StringIO()
        with mock.patch.object(run, "TIMEOUT_S", self.limit_s), mock.patch.object(alike, "TIMEOUT_S", self.line_limit_s), \
                mock.patch.object(os, "sched_getaffinity", lambda _: {0, 1}), \
                mock.patch.object(os, "sched_setaffinity", lambda *_: None), \
                mock.patch.object(sys, "argv", ["run.py", self.build, "--quick", "--into", self.into, *arguments]), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
            status = run.main()
        return status, said.getvalue(), errors.getvalue()

    def expect_rows(self, metrics):
        """Each of them is told in the table, in the errors, on the page and in the tables for documents."""
        status, said, errors = self.bench()
        self.assertEqual(status, 0)
        self.assertEqual(self.bench("--check")[0], 1)
        _, document, _ = self.bench("--markdown")
        with open(os.path.join(self.into, "report.html"), encoding="utf-8") as file:
            page = file.read()
        for metric in metrics:
            for text in (said, errors, document):
                self.assertRegex(text, rf"(?m){re.escape(metric)}\b.*not measured: machine busy")
            self.assertRegex(page, rf'data-metric="{re.escape(metric)}".*not measured: machine busy')
        return errors

    def test_every_job_takes_too_long(self):
        self.line_limit_s = LONG_S
        self.programs(TAKES_TOO_LONG, LINE, TAKES_TOO_LONG)
        errors = self.expect_rows(("rows_on_two_cores", "rows_on_one_core", "rows_of_8_ranks", "par_rows",
                                   "net_rows", "net_auth_64B_unbundled", "net_am_flood_1_percent_lost",
                                   "start_and_exit_16_ranks", "self_fork_128_ranks"))
        self.assertIn("penstock perf put -n 2: not measured: machine busy: a job took more than", errors)

    def test_no_moment_is_quiet(self):
        self.limit_s = self.line_limit_s = LONG_S
        self.programs(without_a_quiet_moment(), LINE, "exit 0")
        self.expect_rows(("put_8B", "par_am_flood", "net_put_1MiB_auth", "net_auth_64B_message",
                          "net_auth_64B_unbundled", "net_am_flood_10_percent_lost"))

    def test_the_machine_does_not_answer(self):
        self.limit_s = LONG_S
        self.programs(without_a_quiet_moment(), TAKES_TOO_LONG, "exit 0")
        self.expect_rows(("par_rows", "net_auth_64B_unbundled"))

    def test_what_was_not_built_is_said_in_words(self):
        with self.assertRaisesRegex(SystemExit, "bench: .*is all of it built"):
            self.bench()

    def test_comparisons_that_take_too_long_are_rows(self):
        def late(*_):
            raise alike.Busy("bench/line took more than 60 s")
        with mock.patch.object(run, "OTHERS", ("coll.py",)), mock.patch("shutil.which", lambda *_: None), \
                mock.patch.object(alike, "line_ns", late):
            self.programs(TAKES_TOO_LONG, LINE, TAKES_TOO_LONG)
            rows = run.measure_others(self.build, argparse.Namespace(quick=True, only=None))
            busy = [row["metric"] for row in rows if row["reason"].startswith("machine busy") and row["pass"] is False]
            self.assertEqual(busy, [f"coll_{operation}_{ranks}_ranks" for ranks in (2, 4) for operation in coll.OPERATIONS])
            with mock.patch.object(apps.settings, "mpi", lambda *_: []):
                rows = apps.measure(self.build, argparse.Namespace(quick=True, only="heat2d"))
            self.assertEqual([row["why"] for row in rows], ["machine busy: bench/line took more than 60 s"] * 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
