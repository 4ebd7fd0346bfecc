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
# Both hosts are this machine.
SSH = """#!/bin/sh
while [ "$1" != a ] && [ "$1" != b ]; do shift; done
shift
SSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec sh -c "exec $*"
"""


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

    def test_modules_are_among_the_names_that_an_unknown_one_is_answered_with(self):
        job = call("run", "-n", "1", "--conduit", "rellay", PROGRAM)
        self.assertEqual(job.returncode, 2)
        self.assertRegex(job.stderr, r'did you mean "relay"\? It has: .*\bsmp\b.*, lost, .*\brelay, .*\bstale\b')

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


class Falling(unittest.TestCase):
    """Jobs on two hosts, whose ranks agree on a conduit."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ssh = os.path.join(folder.name, "ssh")
        with open(self.ssh, "w", encoding="utf-8") as file:
            file.write(SSH)
        os.chmod(self.ssh, 0o755)

    def run_job(self, *options, **variables):
        return call("run", "-n", "4", "--hosts", "a,b", *options, PROGRAM, GASNET_SSH_CMD=self.ssh, **variables)

    def passes(self, job):
        self.assertEqual((job.returncode, job.stdout), (0, "all checks passed on 4 ranks\n"), job.stderr)

    def test_the_best_conduit_is_taken(self):
        job = self.run_job(PENSTOCK_LOG="info")
        self.passes(job)
        self.assertIn("conduit relay is chosen between hosts: it has the best score on every rank", job.stderr)
        self.assertRegex(job.stderr, r"conduit lost is not considered: its module does not open: libpen_absent.so")
        self.assertRegex(job.stderr, r"conduit stale is not considered: .* version 1 of .* \(/.*/libpenstock-stale.so\)")

    def test_one_rank_fails_and_all_fall_back(self):
        for ranks in ("0", "1", "3", "0-3", "1,2"):
            job = self.run_job(PENSTOCK_RELAY_FAILS=ranks, PENSTOCK_LOG="info")
            self.passes(job)
            self.assertIn("conduit relay is not used: it does not open here", job.stderr)
            self.assertIn("info: cannot open relay: its card is broken", job.stderr)
            self.assertRegex(job.stderr, r"conduit (?!relay)\S+ is chosen between hosts: it is the best that all ranks can")
            self.assertNotIn("error", job.stderr)

    def test_a_named_conduit_opens_no_module_but_its_own(self):
        for name in ("relay", "udp"):
            job = self.run_job("--conduit", name, PENSTOCK_LOG="info")
            self.passes(job)
            self.assertNotIn("is not considered", job.stderr)  # as each module that is opened and refused

    def test_falling_back_is_silent_by_default(self):
        job = self.run_job(PENSTOCK_RELAY_FAILS="2")
        self.passes(job)
        self.assertEqual(job.stderr, "")

    def test_a_rank_without_the_module_decides_for_all(self):
        without = os.path.join(os.path.dirname(self.ssh), "without")
        with open(without, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n[ "$PENSTOCK_RANK" = "$LACKS" ] && unset PENSTOCK_CONDUIT_PATH\nexec "$@"\n')
        os.chmod(without, 0o755)
        for rank in ("0", "3"):
            job = call("run", "-n", "4", "--hosts", "a,b", without, PROGRAM, GASNET_SSH_CMD=self.ssh, LACKS=rank,
                       PENSTOCK_LOG="info")  # fmt: skip
            self.passes(job)
            self.assertRegex(job.stderr, r"conduit (?!relay)\S+ is chosen between hosts: it is the best that all ranks can")

    def test_ranks_that_name_different_conduits_are_told(self):
        names = os.path.join(os.path.dirname(self.ssh), "names")
        with open(names, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n[ "$PENSTOCK_RANK" = 2 ] && export PENSTOCK_CONDUIT=relay\nexec "$@"\n')
        os.chmod(names, 0o755)
        job = call("run", "-n", "4", "--hosts", "a,b", "--conduit", "udp", names, PROGRAM, GASNET_SSH_CMD=self.ssh)
        self.assertEqual(job.returncode, 1)
        self.assertIn("no conduit opens on all ranks: rank 0 can use udp, rank 2 relay;", job.stderr)

    def test_the_reason_of_the_last_conduit_is_told(self):
        job = self.run_job(PENSTOCK_RELAY_FAILS="0-3", PENSTOCK_UDP_ADDRESS="203.0.113.9", PENSTOCK_UCX_TLS="nonsense",
                           PENSTOCK_OFI_PROVIDER="nonsense")
        self.assertEqual(job.returncode, 1)
        self.assertIn("no conduit opens on all ranks: rank 0 can use no conduit", job.stderr)
        self.assertRegex(job.stderr, r"rank 0 host \S+ \S+ error: (?!no conduit)")

    def test_info_tells_the_order(self):
        told = json.loads(call("info", "--json").stdout)
        order = told["between_hosts"]
        scores = {row["name"]: row["score"] for row in told["conduits"]}
        self.assertEqual(order, sorted(order, key=lambda name: -scores[name]))
        self.assertEqual(order[:2], ["relay", "udp"])
        self.assertIn("between hosts, the first of these that opens on all ranks: relay, udp", call("info").stdout)

    def test_network_cards_decide(self):
        """The cards are folders that this test makes, so libfabric and UCX have no card to use and all fall back."""
        built = [row["name"] for row in json.loads(call("info", "--json").stdout)["conduits"]]
        root = os.path.join(os.path.dirname(self.ssh), "root")
        os.makedirs(os.path.join(root, "sys/class/cxi/cxi0"))
        os.makedirs(os.path.join(root, "sys/class/infiniband/mlx5_0/device"))
        os.makedirs(os.path.join(root, "sys/class/infiniband/mlx5_0/ports/1"))
        os.symlink("../mlx5_core", os.path.join(root, "sys/class/infiniband/mlx5_0/device/driver"))
        with open(os.path.join(root, "sys/class/infiniband/mlx5_0/ports/1/state"), "w", encoding="utf-8") as file:
            file.write("4: ACTIVE\n")
        cards = {"ofi": (80, "this machine has a Slingshot card (in /sys/class/cxi)"),
                 "ucx": (70, "this machine has an active card of Mellanox (in /sys/class/infiniband)")}  # fmt: skip
        for name in set(cards) & set(built):
            self.judge(name, *cards[name], PENSTOCK_DEVICE_ROOT=root)

    def judge(self, name, score, why, **cards):
        """One conduit: what `penstock info` says without and with cards, and what jobs do."""
        self.assertRegex(call("info", "conduits").stdout, rf"(?m)^  {name} +if named +\w+: .*: this machine has no")
        told = json.loads(call("info", "--json", **cards).stdout)
        row = next(row for row in told["conduits"] if row["name"] == name)
        self.assertEqual((row["score"], row["why"], row["why_not"]), (score, why, None))
        self.assertLess(told["between_hosts"].index(name), told["between_hosts"].index("udp"))
        self.assertIn(f", because {why}", call("info", "conduits", **cards).stdout)
        job = self.run_job(PENSTOCK_LOG="info")
        self.assertRegex(job.stderr, rf"conduit {name} is not considered, because it serves only if it is named: this")
        job = self.run_job(PENSTOCK_LOG="info", **cards)
        self.passes(job)
        self.assertIn(f"conduit {name} has the score {score}, because {why}", job.stderr)
        self.assertRegex(job.stderr, rf"conduit {name} is not used: it does not open here|info: .*cannot open the {name}")
        job = self.run_job("--conduit", name, **cards)
        self.assertEqual(job.returncode, 1)
        self.assertIn(f"cannot open the {name} conduit: {why}, but", job.stderr)

    def test_a_named_conduit_does_not_fall_back(self):
        job = self.run_job("--conduit", "relay", PENSTOCK_RELAY_FAILS="2")
        self.assertEqual(job.returncode, 1)
        self.assertIn("error: cannot open relay: its card is broken", job.stderr)
        self.assertNotIn("all checks", job.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
