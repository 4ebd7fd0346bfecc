#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`penstock sim`: times that a machine's file explains, output that repeats to the last digit, the
figures at the end, and errors in words. Argument: the build folder."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = "."


def sim(*words, **variables):
    command = [os.path.join(BUILD, "bin", "penstock"), "sim", "--timeout", "60", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False,
                          env={**os.environ, **variables})


def example(name):
    return os.path.join(BUILD, "examples", name)


def conformance(name):
    return os.path.join(BUILD, "tests", "conformance", name)


def figures(job):
    return json.loads(job.stdout.splitlines()[-1])


def without_real_time(text):
    return re.sub(r'real time .*|"real_s": [0-9.]+', "", text)


class Sim(unittest.TestCase):
    def passed(self, job):
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        return job

    def test_round_trip_takes_what_the_machine_says(self):
        job = self.passed(sim("-n", "2", example("pingpong"), "1000"))
        found = int(re.search(r"(\d+) ns each", job.stdout)[1])
        message = 250 + 970 + 250  # send_message, a packet, receive_message
        self.assertLess(abs(found - 2 * message), 30, job.stdout)

    def test_hops_add_the_routers_time(self):
        near = self.passed(sim("-n", "2", "--topology", "mesh:8", example("pingpong"), "1000"))
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("0\n7\n")
            file.flush()
            far = self.passed(sim("-n", "2", "--topology", "mesh:8", "--placement", file.name,
                                  example("pingpong"), "1000"))
        times = [int(re.search(r"(\d+) ns each", job.stdout)[1]) for job in (near, far)]
        self.assertEqual(times[1] - times[0], 2 * 6 * 300)

    def test_run_repeats_to_the_last_digit(self):
        for words in (("-n", "32", "--per-node", "4", "--topology", "torus:4x2", example("randomaccess"), "am", "-m", "14"),
                      ("-n", "8", "--topology", "mesh:2x2x2", conformance("g1_put_get_blocking.seq")),
                      ("-n", "5", "--topology", "fat-tree:2x2", "--json", example("heat2d"))):  # fmt: skip
            outputs = {without_real_time(self.passed(sim(*words)).stdout) for _ in range(3)}
            self.assertEqual(len(outputs), 1, outputs)

    def test_figures_agree_with_each_other(self):
        words = ("-n", "16", "--per-node", "4", "--topology", "mesh:2x2", "--json", example("randomaccess"), "am", "-m", "12")
        told = figures(self.passed(sim(*words)))
        self.assertEqual((told["ranks"], told["machine"], told["topology"]), (16, "extoll-r1", "mesh:2x2"))
        self.assertGreater(told["packets"], 0)
        self.assertGreater(told["events"], 2 * told["packets"])
        self.assertTrue(told["busiest"])
        for link in told["busiest"]:
            self.assertGreaterEqual(link["busy_ns"], 64 * link["packets"])
            self.assertLessEqual(link["busy_ns"], told["virtual_ns"])

    def test_placement_decides_what_is_near(self):
        together = ("-n", "2", "--per-node", "2", "--json", example("pingpong"), "1000")
        apart = ("-n", "2", "--per-node", "1", "--json", example("pingpong"), "1000")
        times = [figures(self.passed(sim(*words)))["virtual_ns"] for words in (together, apart)]
        self.assertGreater(times[1] - times[0], 1000 * 2 * 290)  # no router on the way
        self.assertFalse(figures(self.passed(sim(*together)))["busiest"])

    def test_conformance_programs_pass(self):
        for name in ("ex_am.seq", "g1_am_medium.seq", "g1_am_long.seq", "g1_put_get_blocking.seq", "ex_coll.seq"):
            for ranks in "2", "8":
                if os.path.exists(conformance(name)):
                    self.passed(sim("-n", ranks, conformance(name)))

    def test_time_of_the_program_is_virtual(self):
        program = os.path.join(BUILD, "tests", "virtual", "clocks")
        outputs = {self.passed(sim("-n", "3", "--json", program)).stdout.splitlines()[0] for _ in range(2)}
        self.assertEqual(len(outputs), 1, outputs)

    def test_status_of_the_program_is_the_commands(self):
        job = sim("-n", "2", "--json", "/bin/sh", "-c", "exit 0")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(sim("-n", "2", "/nowhere/program").returncode, 127)

    def refused(self, text, *words):
        job = sim(*words)
        self.assertEqual(job.returncode, 2, job.stdout + job.stderr)
        self.assertRegex(job.stderr, r"^penstock\[sim\] error: ")
        self.assertEqual(len(job.stderr.splitlines()), 1)
        self.assertIn(text, job.stderr)

    def test_errors_are_said_in_words(self):
        program = example("hello")
        self.refused('did you mean "extoll-r1"?', "-n", "2", "--machine", "extol-r1", program)
        self.refused("cannot be opened", "-n", "2", "--machine", "/nowhere/m", program)
        self.refused("write crossbar", "-n", "2", "--topology", "ring", program)
        self.refused("it has 4 nodes, and the ranks need 8", "-n", "8", "--topology", "mesh:2x2", program)
        self.refused("cannot read the placement", "-n", "2", "--placement", "/nowhere/p", program)
        self.refused("give a number of ranks", "-n", "2", "--per-node", "0", program)
        self.refused("unknown option", "-n", "2", "--hosts", "a", program)
        self.refused("which program?", "-n", "2")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("0\nnode\n")
            file.flush()
            self.refused(":2: write the number of a node", "-n", "2", "--placement", file.name, program)

    def test_machine_file_of_the_users_is_used(self):
        source = os.environ.get("PENSTOCK_SOURCE_DIR", ".")
        with open(os.path.join(source, "src", "virtual", "machines", "extoll-r1"), encoding="utf-8") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "slow")
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r"router( *)= 300 ns", r"router\1= 1300 ns", text))
            slow = self.passed(sim("-n", "2", "--machine", path, example("pingpong"), "1000"))
        fast = self.passed(sim("-n", "2", example("pingpong"), "1000"))
        times = [int(re.search(r"(\d+) ns each", job.stdout)[1]) for job in (fast, slow)]
        self.assertEqual(times[1] - times[0], 2000)


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
