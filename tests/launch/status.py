#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exit status of a job, for every way in which it can end: by `penstock run` and as a program
that launches itself, each time."""

import os
import re
import signal
import time
import unittest

import support
from support import LaunchTest, fork, launch_command, run, start

CRASH = r"rank {rank} \(host \S+, pid \d+\) killed by {name}"

# ranks, steps, status, messages; {}: no message
TABLE = {
    "all_return_0": (3, ["join", "barrier"], 0, None),
    "all_exit_0": (3, ["join", "barrier", "exit=0"], 0, None),
    "rank_killed_by_SIGKILL": (3, ["join", "1:kill=9", "hang"], 137, CRASH.format(rank=1, name="SIGKILL")),
    "rank_0_killed_by_SIGKILL": (2, ["join", "0:kill=9", "hang"], 137, CRASH.format(rank=0, name="SIGKILL")),
    "rank_killed_by_SIGSEGV": (3, ["join", "2:kill=11", "hang"], 139, CRASH.format(rank=2, name="SIGSEGV")),
    "rank_killed_by_SIGABRT": (2, ["join", "1:kill=6", "hang"], 134, CRASH.format(rank=1, name="SIGABRT")),
    "rank_killed_by_SIGBUS": (2, ["join", "1:kill=7", "hang"], 135, CRASH.format(rank=1, name="SIGBUS")),
    "rank_killed_by_SIGFPE": (2, ["join", "1:kill=8", "hang"], 136, CRASH.format(rank=1, name="SIGFPE")),
    "rank_killed_by_SIGTERM": (2, ["join", "1:kill=15", "hang"], 143, CRASH.format(rank=1, name="SIGTERM")),
    "killed_before_joining": (2, ["0:kill=9", "join", "hang"], 137, CRASH.format(rank=0, name="SIGKILL")),
    "killed_in_the_barrier_of_the_others": (4, ["join", "3:kill=9", "barrier"], 137, "killed by SIGKILL"),
    "killed_after_others_left": (3, ["join", "2:sleep=0.2", "2:kill=9"], 137, "killed by SIGKILL"),
    "all_killed": (3, ["join", "kill=9"], 137, "killed by SIGKILL"),
    "dies_with_a_note": (2, ["join", "1:note", "1:kill=11", "hang"], 139, "killed by SIGSEGV: a word of mine"),
    "_exit_9": (3, ["join", "1:_exit=9", "hang"], 9, "rank 1 .* status 9 without the exit handshake"),
    "_exit_0": (3, ["join", "1:_exit=0", "hang"], 1, "rank 1 .* status 0 without the exit handshake"),
    "_exit_0_after_others_left": (2, ["join", "1:sleep=0.2", "1:_exit=0"], 1, "without the exit handshake"),
    "exit_7_of_one": (3, ["join", "2:exit=7", "hang"], 7, "rank 2 .* exited with status 7"),
    "exit_7_of_all": (3, ["join", "exit=7"], 7, "exited with status 7"),
    "return_5_of_one": (2, ["join", "1:return=5"], 5, "rank 1 .* exited with status 5"),
    "exit_3_while_one_has_left_with_0": (2, ["join", "1:sleep=0.2", "1:exit=3"], 3, "exited with status 3"),
    "gasnet_exit_5": (3, ["join", "1:gasnet_exit=5", "hang"], 5, r"rank 1 .* called gasnet_exit\(5\)"),
    "gasnet_exit_5_of_all": (3, ["join", "gasnet_exit=5"], 5, r"called gasnet_exit\(5\)"),
    "gasnet_exit_0": (3, ["join", "handler", "barrier", "1:gasnet_exit=0", "hang"], 0, None),
    "gasnet_exit_256_is_no_success": (2, ["join", "1:gasnet_exit=256", "hang"], 1, r"gasnet_exit\(256\)"),
    "gasnet_exit_255": (2, ["join", "1:gasnet_exit=255", "hang"], 255, r"gasnet_exit\(255\)"),
    "gasnet_exit_while_others_are_deaf": (2, ["join", "deaf", "barrier", "1:gasnet_exit=6", "hang"], 6, "gasnet_exit"),
}


class Status(LaunchTest):
    pass


def add(name, launch, how):
    ranks, steps, status, text = TABLE[name]

    def test(self):
        job = launch(ranks, *steps)
        self.expect(job, status, *([text] if text else []))
        self.assertEqual(job.err.count("\n"), 1 if text else 0, job.err)

    setattr(Status, f"test_{name}_{how}", test)


for row in TABLE:
    add(row, run, "by_penstock_run")
    if row != "killed_before_joining":  # which would be before there is a job
        add(row, fork, "self_launched")


class Rules(LaunchTest):
    def test_first_to_arrive_wins(self):
        job = run(3, "join", "barrier", "0:exit=3", "sleep=0.3", "exit=5")
        self.expect(job, 3, "rank 0 .* exited with status 3")

    def test_a_death_counts_before_the_exits_it_causes(self):
        for _ in range(10):
            job = run(4, "join", "barrier", "1:kill=9", "barrier", "exit=4")
            self.expect(job, 137, "rank 1 .* killed by SIGKILL")

    def test_everything_is_gone_within_a_second_of_a_crash(self):
        job = run(8, "join", "deaf", "barrier", "1:kill=9", "spin")
        self.expect(job, 137)
        self.assertLess(job.seconds, support.patience(1 * support.SLOW))

    def test_a_program_that_is_no_rank_keeps_its_status(self):
        self.assertEqual(support.Job([support.PENSTOCK, "run", "-n", "3", "true"]).status, 0)
        job = support.Job([support.PENSTOCK, "run", "-n", "1", "sh", "-c", "exit 42"])
        self.expect(job, 42, "exited with status 42")

    def test_a_rank_that_never_joins_fails_those_who_do(self):
        job = support.Job(
            [support.PENSTOCK, "run", "-n", "3", "sh", "-c",
             f'test "$PENSTOCK_RANK" = 1 || exec {support.RANK} join barrier']
        )  # fmt: skip
        self.expect(job, 1, "rank 1 .* without joining")

    def test_program_not_found_is_127_and_said_once(self):
        job = support.Job([support.PENSTOCK, "run", "-n", "8", "./no-such-program"])
        self.expect(job, 127, "cannot start ./no-such-program: execvpe: No such file")

    def test_program_not_executable_is_126(self):
        job = support.Job([support.PENSTOCK, "run", "-n", "2", "/etc/passwd"])
        self.expect(job, 126, "cannot start /etc/passwd: execvpe: Permission denied")

    def test_wrong_command_lines_are_2(self):
        for words in (["run"], ["run", "-n", "2"], ["run", "-n", "0", "true"], ["run", "-n", "x", "true"],
                      ["run", "-n", "5000", "true"], ["rum"], ["run", "--tagg", "-n", "1", "true"],
                      ["run", "-n", "1", "--timeout", "-3", "true"], ["run", "-n", "1", "--env", "=x", "true"],
                      ["info", "--jsn"], ["help", "rnu"], ["run", "-n", "1", "--conduit", "nix", "true"]):  # fmt: skip
            job = support.Job([support.PENSTOCK, *words])
            self.assertEqual(job.status, 2, words)
            self.assertEqual(job.err.count("\n"), 1, job.err)
            self.assertRegex(job.err, r"^penstock\[\w+\] error: ")
        self.assertIn('did you mean "--tag"', support.Job([support.PENSTOCK, "run", "--tagg"]).err)

    def test_a_rank_joins_once_only(self):
        job = support.Job(
            [support.PENSTOCK, "run", "-n", "1", "sh", "-c", f"{support.RANK} join; {support.RANK} join"]
        )
        self.expect(job, 1, "has done so already")

    def test_a_wrapper_that_closes_descriptors_is_named(self):
        job = support.Job(
            [support.PENSTOCK, "run", "-n", "1", "python3", "-c",
             f"import subprocess,sys; sys.exit(subprocess.run(['{support.RANK}','join']).returncode)"]
        )  # fmt: skip
        self.assertEqual(job.status, 1)
        self.assertIn("must leave descriptors open", job.err)

    def test_a_wrapper_shell_passes_the_rank_on(self):
        job = support.Job(
            [support.PENSTOCK, "run", "-n", "2", "sh", "-c", f"{support.RANK} join barrier hello; exit $?"]
        )
        self.assertEqual((job.status, job.out.count("hello from")), (0, 2), job.err)

    def test_alone_is_a_job_of_one(self):
        job = support.Job([support.RANK, "join", "barrier", "exchange", "hello"])
        self.assertEqual((job.status, job.out), (0, "hello from 0 of 1 by none\n"))

    def test_silent_singletons_are_refused(self):
        for marks in ({"PMI_RANK": "0", "PMI_SIZE": "4"}, {"PMI_FD": "9"},
                      {"PMI_FD": "9", "PMI_RANK": "0", "PMI_SIZE": "2"},
                      {"PMIX_RANK": "0", "PMIX_NAMESPACE": "n"},
                      {"SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}):  # fmt: skip
            job = support.Job([support.RANK, "join"], env=support.environment(**marks))
            self.expect(job, 1, "PENSTOCK_ALONE=1")
            job = support.Job([support.RANK, "join"], env=support.environment(PENSTOCK_ALONE="1", **marks))
            self.expect(job, 0)
        for marks in ({"PMI_RANK": "0", "PMI_SIZE": "1"}, {"SLURM_JOB_ID": "7"}, {"SLURM_PROCID": "0"}):
            self.expect(support.Job([support.RANK, "join"], env=support.environment(**marks)), 0)

    def test_the_launchers_size_wins_over_pshm_nodes(self):
        job = run(2, "join", "hello", env=support.environment(GASNET_PSHM_NODES="5"))
        self.expect(job, 0, "GASNET_PSHM_NODES=5 is not used")
        self.assertEqual(job.out.count("of 2 by penstock run"), 2)
        self.expect(run(2, "join", "hello", env=support.environment(GASNET_PSHM_NODES="2")), 0)

    @unittest.skipIf(support.SANITIZED, "the sanitizer needs terabytes of address space")
    def test_address_space_limit_is_named_with_its_remedy(self):
        limited = f"ulimit -v 4000000; exec {' '.join(launch_command(2, 'join'))}"
        self.expect(support.Job(["bash", "-c", limited]), 1, r"RLIMIT_AS\) is 3.8 GiB.*ulimit -v")
        smaller = "export GASNET_MAX_SEGSIZE=64M; " + limited
        self.expect(support.Job(["bash", "-c", smaller]), 0)

    def test_file_size_limit_is_named_with_its_remedy(self):
        limited = f"ulimit -f 1000; exec {' '.join(launch_command(2, 'join'))}"
        self.expect(support.Job(["bash", "-c", limited]), 1, r"RLIMIT_FSIZE\).*ulimit -f")

    def test_descriptor_limit_is_raised_or_named(self):
        soft = f"ulimit -Sn 64; exec {' '.join(launch_command(100, 'join', 'barrier'))}"
        self.expect(support.Job(["bash", "-c", soft]), 0)
        hard = "ulimit -n 64; exec setpriv --bounding-set -all --inh-caps -all --reuid 65534 " + " ".join(
            launch_command(100, "join", "barrier")
        )
        job = support.Job(["bash", "-c", hard])
        if re.search("setpriv|Permission denied", job.err):
            self.skipTest("cannot become another user here")
        self.expect(job, 1, r"RLIMIT_NOFILE\).*ulimit -n")

    def test_grandchildren_end_with_the_job(self):
        job = run(2, "join", "orphan", "barrier")
        self.expect(job, 0)
        self.assertEqual(support.left_over(), [])

    def test_stopped_rank_is_not_killed_for_silence(self):
        job = start(launch_command(2, "join", "pid", "flush", "barrier", "1:sleep=0.5", "barrier"))
        pids = support.pids_of(job.stdout, 2)
        os.kill(pids[1], signal.SIGSTOP)
        time.sleep(3)  # the exit time-out of two ranks is 1.2 s
        self.assertIsNone(job.poll())
        os.kill(pids[1], signal.SIGCONT)
        _, err = job.communicate(timeout=support.patience(30))
        self.assertEqual((job.returncode, err), (0, b""))

    def test_one_that_stays_beyond_the_leave_limit_is_ended_by_force(self):
        env = support.environment(PENSTOCK_LEAVE_TIMEOUT="0.5")
        for launch in (run, fork):
            steps = ("join", "handler", "barrier", "1:text=said", "1:flush", "1:hang")
            job = launch(2, *steps, env=env)
            self.expect(job, 1, "rank 0 left with 0 and rank 1 had not 0.5 s later: ended by force")
            self.assertEqual((job.err.count("\n"), job.out.strip()), (1, "said"), job.err)

    def test_one_that_stays_is_named_after_two_seconds_and_waited_for(self):
        job = run(3, "join", "barrier", "1:sleep=4", "1:text=done", "1:exit=3")
        self.expect(job, 3, r"ranks 0, 2 have left with 0, rank 1 has not; the job waits for up to 60 s",
                    "rank 1 .* exited with status 3")
        self.assertEqual((job.err.count("\n"), job.out.strip()), (2, "done"), job.err)
        job = run(2, "join", "barrier", "1:sleep=3", env=support.environment(PENSTOCK_LEAVE_TIMEOUT="0"))
        self.expect(job, 0, "rank 0 has left with 0, rank 1 has not; the job waits without a limit")

    def test_stopped_rank_is_waited_for_when_the_others_have_left(self):
        job = start(launch_command(2, "join", "barrier", "pid", "flush", "1:sleep=1"))
        pids = support.pids_of(job.stdout, 2)
        os.kill(pids[1], signal.SIGSTOP)
        time.sleep(3)
        self.assertIsNone(job.poll())
        os.kill(pids[1], signal.SIGCONT)
        _, err = job.communicate(timeout=support.patience(30))
        self.assertEqual(job.returncode, 0, err)
        self.assertRegex(err, rb"rank 0 has left with 0, rank 1 has not")


if __name__ == "__main__":
    support.main()
