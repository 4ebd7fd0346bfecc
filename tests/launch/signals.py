#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Signals, time limits, and a launcher that is killed."""

import os
import pty
import signal
import subprocess
import time

import support
from support import LaunchTest, launch_command, run, start


class Launched:
    """A running job of which all ranks have joined and printed their process id."""

    def __init__(self, ranks, *steps, forked=False, **more):
        steps = ("join", "pid", "flush", "barrier", *steps)
        command = [support.RANK, *steps] if forked else launch_command(ranks, *steps)
        env = support.environment(GASNET_PSHM_NODES=str(ranks)) if forked else support.environment()
        self.process = start(command, env=env, **more)
        self.pids = support.pids_of(self.process.stdout, ranks)
        self.ended = None

    def end(self, seconds=30):
        """Waits for its end; the status."""
        began = time.monotonic()
        _, err = self.process.communicate(timeout=support.patience(seconds))
        self.ended = time.monotonic() - began
        self.err = err.decode()
        return self.process.returncode


class Signals(LaunchTest):
    def test_each_ending_signal_is_passed_on_and_is_the_status(self):
        for forked in (False, True):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
                job = Launched(2, "hang", forked=forked)
                job.process.send_signal(number)
                self.assertEqual(job.end(), -number)
                self.assertRegex(job.err, f"{number.name} received")

    def test_ctrl_c_in_a_terminal(self):
        master, slave = pty.openpty()
        job = start(["bash", "-ic", " ".join(launch_command(2, "join", "pid", "flush", "hang"))],
                    stdin=slave, stdout=slave, stderr=slave, start_new_session=True)  # fmt: skip
        os.close(slave)
        with os.fdopen(master, "rb", buffering=0) as terminal:
            seen = b""
            while seen.count(b" pid ") < 2:
                seen += terminal.read(4096)
            os.write(master, b"\x03")
            try:
                while True:
                    seen += terminal.read(4096)
            except OSError:
                pass
            self.assertIn(job.wait(timeout=support.patience(20)), (-2, 130), seen)  # bash may have become the launcher
        self.assertIn(b"SIGINT received", seen)

    def test_ctrl_z_stops_the_job_and_fg_goes_on(self):
        job = Launched(2, "hang", process_group=0)
        job.process.send_signal(signal.SIGTSTP)
        everybody = [job.process.pid, *job.pids.values()]
        self.assertTrue(support.wait_until(lambda: all(support.state_of(p) == "T" for p in everybody)))
        os.killpg(job.process.pid, signal.SIGCONT)
        self.assertTrue(support.wait_until(lambda: all(support.state_of(p) in "RSD" for p in everybody)))
        job.process.terminate()
        self.assertEqual(job.end(), -15)

    def test_ctrl_z_without_a_shell_does_not_stop_the_job_for_ever(self):
        job = Launched(2, "hang", start_new_session=True)
        job.process.send_signal(signal.SIGTSTP)
        job.process.terminate()
        self.assertEqual(job.end(), -15)

    def test_deaf_ranks_are_killed_after_the_grace(self):
        job = Launched(2, "deaf", "barrier", "spin")
        time.sleep(0.2)
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.end(), -15)
        self.assertGreater(job.ended, 0.9)

    def test_second_ctrl_c_kills_at_once(self):
        env = support.environment(GASNET_EXITTIMEOUT="60")
        job = start(launch_command(2, "join", "deaf", "pid", "flush", "spin"), env=env)
        support.pids_of(job.stdout, 2)
        job.send_signal(signal.SIGINT)
        time.sleep(0.6)
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=support.patience(20))
        self.assertEqual(job.returncode, -2)

    def test_two_signals_in_a_row_are_one(self):
        job = subprocess.run(["timeout", "1", *launch_command(2, "join", "handler", "hang")], check=False,
                             env=support.environment(), capture_output=True)  # fmt: skip
        self.assertEqual(job.returncode, 124)
        self.assertEqual(job.stderr.count(b"SIGTERM received"), 1)

    def test_killed_launcher_takes_its_ranks_along(self):
        for forked in (False, True):
            for steps in (["hang"], ["deaf", "spin"], ["barrier", "lines=10000000"]):
                job = Launched(4, *steps, forked=forked)
                job.process.kill()
                job.process.stdout.close()
                self.assertTrue(
                    support.wait_until(lambda: all(support.state_of(p) in "XZ" for p in job.pids.values())), steps
                )
                job.process.wait()
                job.process.stderr.close()

    def test_user_signals_reach_the_ranks(self):
        job = Launched(2, "hang")
        job.process.send_signal(signal.SIGUSR1)
        self.assertEqual(job.end(), 128 + signal.SIGUSR1)
        self.assertRegex(job.err, "killed by SIGUSR1")

    def test_ignored_hangup_stays_ignored(self):
        job = subprocess.run(["nohup", *launch_command(2, "join", "0:sleep=0.1", "barrier")], check=False,
                             env=support.environment(), capture_output=True)  # fmt: skip
        self.assertEqual(job.returncode, 0, job.stderr)


class TimeLimit(LaunchTest):
    def test_report_says_what_each_rank_does(self):
        job = run(3, "join", "barrier", "1:hang", "2:spin", "0:sleep=600", options=["--timeout", "1"])
        self.expect(
            job,
            124,
            "time limit of 1 s reached",
            r"rank 0 \(host \S+, pid \d+\): starting, in no call that waits, 0 events handled, .*asleep",
            r"rank 1 \(.*\): running, in no call that waits, 4711 events handled, process asleep",
            r"rank 2 \(.*\): .*process computing",
        )
        self.assertGreater(job.seconds, 0.9)
        self.assertLess(job.seconds, support.patience(3 * support.SLOW))

    def test_deaf_and_stopped_ranks_end_as_well(self):
        job = start(launch_command(2, "join", "deaf", "pid", "flush", "spin", options=["--timeout", "2"]))
        pids = support.pids_of(job.stdout, 2)
        os.kill(pids[1], signal.SIGSTOP)
        began = time.monotonic()
        _, err = job.communicate(timeout=support.patience(30))
        self.assertEqual(job.returncode, 124)
        self.assertIn(b"process stopped", err)
        self.assertLess(time.monotonic() - began, support.patience(4 * support.SLOW))

    def test_rank_that_has_not_joined_is_named(self):
        self.expect(run(2, "sleep=600", options=["--timeout", "500ms"]), 124, "time limit of 0.5 s",
                    "rank 0 .*: has not joined", "rank 1 .*: has not joined")  # fmt: skip

    def test_time_limit_that_is_not_reached(self):
        self.expect(run(2, "join", "barrier", options=["--timeout", "30"]), 0)


if __name__ == "__main__":
    support.main()
