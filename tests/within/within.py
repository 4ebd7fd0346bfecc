#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `within`: a test's status passes through, a hang ends, and a busy machine does not end a test.

    within.py <the program>
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import patience  # noqa: E402  (the folder is named above)

WITHIN = sys.argv.pop(1)


def within(seconds, *command):
    began = time.monotonic()
    done = subprocess.run([WITHIN, str(seconds), *command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    return done, time.monotonic() - began


class Passing(unittest.TestCase):
    def test_the_status_of_the_command_is_its_own(self):
        for status in 0, 1, 77:
            self.assertEqual(within(30, "sh", "-c", f"exit {status}")[0].returncode, status)

    def test_a_signal_is_shown_as_a_shell_shows_it(self):
        self.assertEqual(within(30, "sh", "-c", "kill -SEGV $$")[0].returncode, 128 + signal.SIGSEGV)

    def test_a_missing_command_is_named(self):
        done, _ = within(30, "/no/such/program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("cannot run /no/such/program", done.stderr)

    def test_the_command_gets_no_blocked_signals(self):
        done, _ = within(30, "grep", "SigBlk", "/proc/self/status")
        self.assertEqual(int(done.stdout.split()[1], 16), 0)

    def test_wrong_limits_are_refused(self):
        for limit in "0", "-1", "x", "":
            self.assertEqual(within(limit, "true")[0].returncode, 2)


class Hanging(unittest.TestCase):
    def test_a_command_that_sleeps_is_ended(self):
        done, _ = within(1, "sleep", "1000")
        self.assertEqual(done.returncode, 124)
        self.assertIn("did not end within 1 fair seconds", done.stderr)

    def test_what_the_command_left_behind_is_ended_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pid")
            done, _ = within(1, "sh", "-c", f"setsid sh -c 'trap \"\" TERM; echo $$ >{path}; sleep 1000; sleep 1000' & wait")
            self.assertEqual(done.returncode, 124)
            with open(path, encoding="ascii") as file:
                self.assertFalse(os.path.exists(f"/proc/{int(file.read())}"))

    def test_a_job_is_asked_what_it_waits_for_before_it_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            penstock = os.path.join(folder, "penstock")
            with open(penstock, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\ntrap 'echo asked' USR2\ntrap 'echo ended; exit 3' TERM\n"
                           "while :; do sleep 0.05; done\n")
            os.chmod(penstock, 0o755)
            done, _ = within(1, penstock, "run")
            self.assertEqual((done.returncode, done.stdout), (124, "asked\nended\n"))


class Busy(unittest.TestCase):
    """Eight processes for each core compete with the command."""

    def setUp(self):
        self.burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                        for _ in range(8 * os.cpu_count())]

    def tearDown(self):
        for burner in self.burners:
            burner.kill()
            burner.wait()

    def test_a_busy_machine_does_not_end_a_command(self):
        # The test takes at least four seconds of the clock; its limit is two fair ones.
        done, seconds = within(2, "sleep", "4")
        self.assertEqual(done.returncode, 0, f"after {seconds} s")

    def test_a_command_that_hangs_on_a_busy_machine_is_ended_later(self):
        done, seconds = within(0.5, "sleep", "1000")
        self.assertEqual(done.returncode, 124)
        self.assertGreater(seconds, 1.5)

    def test_limits_in_python_grow(self):
        self.assertGreater(patience.patience(1), 4)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
