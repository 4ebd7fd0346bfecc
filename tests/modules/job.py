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


def call(*command, path=FOLDER, **variables):
    env = dict(os.environ, **variables)
    env.pop("PENSTOCK_CONDUIT_PATH", None)
    if path is not None:
        env["PENSTOCK_CONDUIT_PATH"] = path
    return subprocess.run([PENSTOCK, *command], capture_output=True, text=True, env=env, check=False,
                          timeout=patience(60))  # fmt: skip


class Module(unittest.TestCase):
    def test_a_job_runs_over_a_module(self):
        job = call("run", "-n", "1", "--conduit", "relay", PROGRAM)
        self.assertEqual((job.returncode, job.stdout), (0, "all checks passed on 1 ranks\n"), job.stderr)

    def test_two_ranks_talk_over_a_module(self):
        job = call("run", "-n", "2", "--conduit", "relay", PROGRAM)
        self.assertEqual((job.returncode, job.stdout), (0, "all checks passed on 2 ranks\n"), job.stderr)

    def test_its_variables_reach_it_and_are_known(self):
        job = call("run", "-n", "2", "--conduit", "relay", PROGRAM, PENSTOCK_RELAY_SEAL="wax")
        self.assertEqual(job.returncode, 1)
        self.assertIn("cannot use PENSTOCK_UDP_SECURITY=wax", job.stderr)  # the conduit below it names its own
        job = call("run", "-n", "2", "--conduit", "relay", PROGRAM, PENSTOCK_RELAY_SEL="none")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertIn("PENSTOCK_RELAY_SEL has no effect; did you mean PENSTOCK_RELAY_SEAL?", job.stderr)

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
        self.assertIn("built for version 1 of", told["stale"]["why_not"])
        text = call("info", "conduits").stdout
        self.assertRegex(text, r"lost +unusable +a module: its module does not open: libpen_absent")

    def test_info_has_a_section_for_each_module(self):
        told = json.loads(call("info", "--json").stdout)
        modules = {row["name"]: row for row in told["modules"]}
        self.assertEqual(modules["relay"], {"name": "relay", "file": f"{FOLDER}/libpenstock-relay.so",
                                            "opened": True, "why_not": None})  # fmt: skip
        self.assertFalse(modules["lost"]["opened"])
        self.assertIn("libpen_absent", modules["lost"]["why_not"])
        text = call("info", "modules").stdout
        self.assertIn(f"module relay:\n  file       {FOLDER}/libpenstock-relay.so\n  state      opened\n", text)
        self.assertRegex(text, r"module stale:\n  file +\S+stale.so\n  state +refused: .* version 1 of .* version \d+;")
        self.assertNotIn("this host:", text)
        self.assertNotIn("module relay", call("info", path=None).stdout)

    def test_info_knows_the_variables_of_modules(self):
        rows = {row["name"]: row for row in json.loads(call("info", "--json").stdout)["variables"]}
        self.assertEqual((rows["PENSTOCK_RELAY_SEAL"]["module"], rows["PENSTOCK_RELAY_SEAL"]["default"]), ("relay", "auth"))
        text = call("info", "relay").stdout
        for words in ("conduits, for", "module relay:", "variables of relay:", "PENSTOCK_RELAY_SEAL"):
            self.assertIn(words, text)
        self.assertNotIn("PENSTOCK_RELAY_BUFFER", text)
        self.assertIn("PENSTOCK_RELAY_BUFFER", call("info", "--all").stdout)
        self.assertIn("variables of relay", call("info", "PENSTOCK_RELAY_SEAL").stdout)
        self.assertEqual(call("info", "PENSTOCK_RELAY_SEAL", path=None).returncode, 2)

    def test_programs_of_the_build_find_its_modules(self):
        """The folders that they look into are those beside them, which the build fills."""
        build = os.environ["PENSTOCK_BUILD_DIR"]
        for folder in ("lib", "tests/unit", "tests/launch"):
            self.assertTrue(os.path.samefile(f"{build}/{folder}/penstock", f"{build}/lib/penstock"), folder)

    def test_the_first_argument_names_no_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "penstock"))
            shutil.copy(os.path.join(FOLDER, "libpenstock-relay.so"), os.path.join(folder, "penstock"))
            told = subprocess.run([os.path.join(folder, "x"), "info", "--json"], executable=PENSTOCK,
                                  capture_output=True, text=True, check=True, timeout=patience(60))  # fmt: skip
        self.assertNotIn("relay", [row["name"] for row in json.loads(told.stdout)["conduits"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
