#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""job.py PENSTOCK PROGRAM FOLDER: jobs that name the conduit of a module, and what `penstock info` says."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

PENSTOCK, PROGRAM, FOLDER = sys.argv[1:4]


def call(*command, path=FOLDER):
    env = dict(os.environ)
    env.pop("PENSTOCK_CONDUIT_PATH", None)
    if path is not None:
        env["PENSTOCK_CONDUIT_PATH"] = path
    return subprocess.run([PENSTOCK, *command], capture_output=True, text=True, env=env, check=False,
                          timeout=patience(60))  # fmt: skip


class Module(unittest.TestCase):
    def test_a_job_runs_over_a_module(self):
        job = call("run", "-n", "1", "--conduit", "relay", PROGRAM)
        self.assertEqual((job.returncode, job.stdout), (0, "all checks passed on 1 ranks\n"), job.stderr)

    def test_without_its_folder_the_module_is_unknown(self):
        job = call("run", "-n", "1", "--conduit", "relay", PROGRAM, path=None)
        self.assertEqual(job.returncode, 2)
        self.assertIn('conduit "relay": this build has no conduit of that name', job.stderr)

    def test_the_reason_of_a_named_module_is_told(self):
        job = call("run", "-n", "1", "--conduit", "lost", PROGRAM)
        self.assertEqual(job.returncode, 2)
        self.assertIn("cannot use conduit lost: its module does not open: libpen_absent.so", job.stderr)

    def test_info_lists_modules_with_their_reasons(self):
        told = {row["name"]: row for row in json.loads(call("info", "--json").stdout)["conduits"]}
        self.assertEqual(told["relay"]["summary"], "a module for tests")
        self.assertFalse(told["relay"]["chosen"])
        self.assertIn("another version", told["stale"]["why_not"])
        text = call("info", "conduits").stdout
        self.assertRegex(text, r"lost +unusable +a module: its module does not open: libpen_absent")

    def test_the_first_argument_names_no_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "penstock"))
            shutil.copy(os.path.join(FOLDER, "libpenstock-relay.so"), os.path.join(folder, "penstock"))
            told = subprocess.run([os.path.join(folder, "x"), "info", "--json"], executable=PENSTOCK,
                                  capture_output=True, text=True, check=True, timeout=patience(60))  # fmt: skip
        self.assertNotIn("relay", [row["name"] for row in json.loads(told.stdout)["conduits"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
