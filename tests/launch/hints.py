#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A user's mistake, or a call that an unusual system refuses, is answered with a hint that helps."""

import os
import shutil
import subprocess
import tempfile
import unittest

import support
from support import Job, environment

FOLDER = os.path.join(support.BUILD, "tests", "launch")
PROGRAM = os.path.join(FOLDER, "built_for.any")
REFUSE = os.path.join(FOLDER, "refuse_call")

# Command line, and what the answer has and has not in it.
LINES = [
    (["run", "/tmp"], "how many ranks? give -n N before /tmp", None),
    (["run", "-n", "1", "/tmp"], "cannot start /tmp: execvpe: Permission denied; it is a folder", "chmod"),
    (["run", "-n", "1", ""], "the program's name is empty", None),
    (["run", "-c", "2", "true"], 'unknown option "-c"; `penstock help run` lists them', "did you mean"),
    (["run", "-E", "A", "true"], 'unknown option "-E"', "did you mean"),
    (["run", "--np", "2", "true"], 'did you mean "-np"?', None),
    (["run", "-n", "1", "--conduit", "udpp", "true"], 'did you mean "udp"?', None),
    (["-c"], 'unknown option "-c"; `penstock help` lists them', "did you mean"),
    (["--conduit", "udp", "run"], "to start a job, give `penstock run -n N [options] program`", None),
    (["-n", "2", "./program"], "to start a job, give `penstock run -n N", None),
    (["./program"], "to start a job, give `penstock run -n N", None),
    (["2", "program"], "to start a job, give `penstock run -n N", None),
    (["rrun"], 'did you mean "run"?', None),
    (["info", "-n"], "-n needs a value", None),
]

# Variables, and what rank 0 says of them.
VARIABLES = [
    ({"PENSTOCK_COUNDIT": "udp"}, "the variable PENSTOCK_COUNDIT has no effect; did you mean PENSTOCK_CONDUIT?"),
    ({"GASNET_MAX_SEGSIZ": "64M"}, "did you mean GASNET_MAX_SEGSIZE?"),
    ({"PENSTOCK_MAX_SEGSIZE": "64M"}, "did you mean GASNET_MAX_SEGSIZE?"),
    ({"GASNET_LOG": "info"}, "did you mean PENSTOCK_LOG?"),
    # Variables of other programs, and names that resemble no variable.
    ({"GASNET_SPAWNER": "fork", "GASNET_BARRIER": "DISSEM", "GASNET_NETWORKDEPTH": "4", "GASNET_MY_OWN": "1",
      "PENSTOCK_STATISTICIAN": "1", "GASNET_IBV_SPAWNER": "ssh", "GASNET_MAX_SEGSIZE": "64M"}, None),
]


def run(*arguments, before=(), **extra):
    return Job([*before, support.PENSTOCK, *arguments], env=environment(**extra))


class CommandLine(unittest.TestCase):
    def test_each_line(self):
        for words, said, unsaid in LINES:
            with self.subTest(words=words):
                job = run(*words)
                self.assertNotEqual(job.status, 0)
                self.assertEqual(len(job.err.splitlines()), 1, job.err)
                self.assertIn(said, job.err)
                if unsaid is not None:
                    self.assertNotIn(unsaid, job.err)


class Variables(unittest.TestCase):
    def test_each_mistake_is_said_once(self):
        for variables, said in VARIABLES:
            with self.subTest(variables=variables):
                job = run("run", "-n", "3", PROGRAM, **variables)
                self.assertEqual(job.status, 0, job.err)
                if said is None:
                    self.assertEqual(job.err, "")
                else:
                    self.assertEqual(len(job.err.splitlines()), 1, job.err)
                    self.assertIn(said, job.err)
                self.assertEqual(run("run", "-n", "2", PROGRAM, GASNET_QUIET="1", **variables).err, "")

    def test_a_program_without_a_launcher_says_it_as_well(self):
        for ranks in ("1", "3"):
            job = Job([PROGRAM], env=environment(GASNET_PSHM_NODES=ranks, GASNET_VERBOSENV="1"))
            self.assertEqual(job.err.count("did you mean GASNET_VERBOSEENV?"), 1, job.err)

    def test_levels(self):
        job = run("run", "-n", "2", PROGRAM, PENSTOCK_LOG="info")
        self.assertRegex(job.err, r"(?m)^penstock\[rank 0 .*\] info: a job of 2 ranks on 1 host, started by penstock run; ")
        for level in ("debug", "trace"):
            job = run("run", "-n", "1", PROGRAM, PENSTOCK_LOG=level)
            self.assertNotEqual(job.status, 0)
            self.assertIn(f"cannot use PENSTOCK_LOG={level}: say error, warn or info", job.err)


def filtered(call, error, *arguments, **extra):
    job = run(*arguments, before=(REFUSE, call, error), **extra)
    if job.status == 77:
        raise unittest.SkipTest(job.err)
    return job


@unittest.skipIf(support.SANITIZED, "sanitizers make system calls of their own")
class System(unittest.TestCase):
    def test_getrandom_is_refused(self):
        """There is another way to random bytes, so nothing is amiss."""
        for error in ("EPERM", "ENOSYS"):
            job = filtered("getrandom", error, "run", "-n", "2", PROGRAM)
            self.assertEqual((job.status, job.err), (0, ""))

    def test_prctl_is_not_there(self):
        for error in ("EINVAL", "EPERM"):
            job = filtered("prctl", error, "run", "-n", "2", PROGRAM)
            self.assertNotEqual(job.status, 0)
            self.assertIn("prctl: ", job.err)
            self.assertIn("an emulator does not offer that call, or a filter", job.err)
            self.assertNotIn("fewer ranks", job.err)

    def test_madvise_is_refused(self):
        job = filtered("madvise", "EPERM", "run", "-n", "2", PROGRAM, GASNET_USE_HUGEPAGES="1")
        self.assertEqual(job.status, 0, job.err)
        self.assertIn("madvise: Operation not permitted, which a filter (seccomp) around this process refuses", job.err)
        job = filtered("madvise", "EPERM", "run", "-n", "2", PROGRAM)
        self.assertEqual((job.status, job.err), (0, ""))

    @unittest.skipIf(shutil.which("unshare") is None or os.geteuid() != 0, "wants to hide /dev")
    def test_there_is_no_dev(self):
        with tempfile.TemporaryDirectory() as empty:
            hide = ["unshare", "-m", "sh", "-c", f'mount --bind {empty} /dev && exec "$@"', "sh"]
            probe = subprocess.run([*hide, "true"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if probe.returncode != 0:
                raise unittest.SkipTest("no mount namespaces here")
            job = run("run", "-n", "2", PROGRAM, before=hide)
            self.assertNotEqual(job.status, 0)
            self.assertRegex(job.err, "/dev/null: open: No such file or directory; .*mount /dev")
            job = run("run", "-n", "2", PROGRAM, before=[*hide, os.path.abspath(REFUSE), "getrandom", "EPERM"])
            self.assertNotEqual(job.status, 0)
            self.assertNotIn("defect", job.err)


if __name__ == "__main__":
    unittest.main()
