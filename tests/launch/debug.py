#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stacks and waiting for a debugger, as GASNET_FREEZE... and GASNET_BACKTRACE... ask for them."""

import os
import re
import shutil
import signal
import time
import unittest

import support
from support import LaunchTest

TROUBLE = os.path.join(support.BUILD, "tests", "launch", "trouble")
FRAME = r"\S+\(.*\) ?\[0x[0-9a-f]+\]"
WAITS = r"process (\d+) on \S+ waits for a debugger"
with open(os.path.join(support.BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
    CHECKED = bool(re.search(r"^PENSTOCK_CHECKED:\w+=(ON|1)", cache.read(), re.M))
FATAL = 128 + signal.SIGABRT if CHECKED else 1


def command(what):
    return [support.PENSTOCK, "run", "-n", "2", TROUBLE, what]


def play(what, **variables):
    return support.Job(command(what), env=support.environment(**variables))


class Running:
    """A running job and its output."""

    def __init__(self, what, **variables):
        self.process = support.start(command(what), env=support.environment(**variables))
        self.said = ""

    def waiting(self, count):
        """The process ids of so many ranks that wait for a debugger."""
        found = []
        while len(found) < count:
            line = self.process.stderr.readline().decode()
            self.said += line
            if not line:
                return found
            found += [int(pid) for pid in re.findall(WAITS, line)]
        return found

    def end(self):
        out, err = self.process.communicate(timeout=support.patience(30))
        self.said += err.decode()
        code = self.process.returncode
        return (128 - code if code < 0 else code), out.decode()


class Freeze(LaunchTest):
    def let_go(self, job, pids):
        time.sleep(0.3)
        self.assertIsNone(job.process.poll(), "it does not wait")
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        return job.end()

    def test_all_ranks_wait_at_the_start(self):
        job = Running("well", GASNET_FREEZE="1")
        pids = job.waiting(2)
        self.assertEqual(len(set(pids)), 2, job.said)
        status, out = self.let_go(job, pids)
        self.assertEqual((status, out.count("is here")), (0, 2), job.said)

    def test_a_rank_waits_at_a_fatal_error(self):
        job = Running("fatal", GASNET_FREEZE_ON_ERROR="1")
        status, _ = self.let_go(job, job.waiting(1))
        self.assertEqual(status, FATAL, job.said)
        self.assertEqual(len(re.findall(WAITS, job.said)), 1, job.said)

    def test_a_rank_waits_when_it_crashes(self):
        job = Running("crash", GASNET_FREEZE_ON_ERROR="1")
        status, _ = self.let_go(job, job.waiting(1))
        self.assertEqual(status, 128 + signal.SIGSEGV, job.said)

    def test_a_rank_waits_on_a_signal(self):
        job = Running("loop", GASNET_FREEZE_SIGNAL="usr2")
        for _ in range(2):
            self.assertIn(b"is here", job.process.stdout.readline())
        job.process.send_signal(signal.SIGUSR2)  # for all ranks
        for pid in job.waiting(2):
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.3)
        job.process.terminate()
        self.assertEqual(job.end()[0], 128 + signal.SIGTERM)

    def test_a_wrong_signal_is_refused(self):
        for name in ("SIGNAL", "0", "KILL"):
            job = play("well", GASNET_FREEZE_SIGNAL=name)
            self.assertNotEqual(job.status, 0)
            self.assertRegex(job.err, f"cannot use GASNET_FREEZE_SIGNAL={name}: ")


class Backtrace(LaunchTest):
    def test_errors_and_crashes_show_the_stack_once(self):
        for what in ("fatal", "crash"):
            job = play(what, GASNET_BACKTRACE="1")
            self.assertNotEqual(job.status, 0)
            self.assertGreaterEqual(len(re.findall(FRAME, job.err)), 3, job.err)
            self.assertEqual(job.err.count("(__libc_start_main"), 1, job.err)

    def test_only_when_asked(self):
        self.assertNotRegex(play("fatal").err, FRAME)
        self.assertRegex(play("crash").err, "GASNET_BACKTRACE=1 shows where")

    def test_only_of_the_ranks_that_are_named(self):
        for ranks, prints in (("0", False), ("0-3", True), ("0, 1", True), ("2-", None), ("*", True)):
            job = play("crash", GASNET_BACKTRACE="1", GASNET_BACKTRACE_NODES=ranks)
            if prints is None:
                self.assertRegex(job.err, "cannot use GASNET_BACKTRACE_NODES=2-: name ranks")
            else:
                self.assertEqual(re.search(FRAME, job.err) is not None, prints, job.err)

    def test_a_signal_shows_the_stacks_and_the_job_goes_on(self):
        job = Running("loop", GASNET_BACKTRACE_SIGNAL="SIGUSR1")
        for _ in range(2):
            self.assertIn(b"is here", job.process.stdout.readline())
        job.process.send_signal(signal.SIGUSR1)  # for all ranks
        time.sleep(0.5)
        self.assertIsNone(job.process.poll())
        job.process.terminate()
        self.assertEqual(job.end()[0], 128 + signal.SIGTERM)
        self.assertEqual(job.said.count("a signal asks for the stack"), 2, job.said)
        self.assertGreaterEqual(len(re.findall(FRAME, job.said)), 6, job.said)

    def test_the_way_can_be_chosen(self):
        self.assertNotRegex(play("crash", GASNET_BACKTRACE="1", GASNET_BACKTRACE_TYPE="NONE").err, FRAME)
        self.assertRegex(play("crash", GASNET_BACKTRACE="1", GASNET_BACKTRACE_TYPE="none, execinfo").err, FRAME)

    @unittest.skipUnless(shutil.which("gdb"), "gdb is not installed")
    def test_gdb_shows_the_stack(self):
        job = play("crash", GASNET_BACKTRACE="1", GASNET_BACKTRACE_TYPE="GDB,EXECINFO")
        if re.search("ptrace|not permitted", job.err):
            self.skipTest("gdb may not attach here")
        self.assertRegex(job.err, r"#\d+ .*main \(")
        self.assertEqual(job.status, 128 + signal.SIGSEGV)

    def test_verboseenv_shows_the_variables(self):
        said = play("well", GASNET_VERBOSEENV="1").err
        for name in ("FREEZE", "FREEZE_ON_ERROR", "FREEZE_SIGNAL", "BACKTRACE", "BACKTRACE_TYPE"):
            self.assertEqual(len(re.findall(rf"^\W*GASNET_{name} ", said, re.M)), 1, said)


if __name__ == "__main__":
    support.main()
