#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs over the mpi conduit under the mpirun of that MPI: beginning, ending, refusals, and programs that use MPI themselves.

    mpi.py VARIANT MPIRUN [unittest's arguments]      VARIANT: ompi or mpich; MPIRUN: its launcher, with options
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "chaos"))
import chaos  # noqa: E402
import support  # noqa: E402
from support import Job, environment, left_over, wait_until  # noqa: E402

VARIANT = sys.argv.pop(1)
MPIRUN = sys.argv.pop(1).split()
ENDS = os.path.join(support.BUILD, "tests", "mpi", "mpi_ends")
MIXED = os.path.join(support.BUILD, "tests", "mpi", f"mpi_mixed.{VARIANT}")
AGAIN = os.path.join(support.BUILD, "tests", "launch", "again.seq")
TRAFFIC = os.path.join(support.BUILD, "bin", "chaos.traffic")
MOMENTS = 50
LIMIT = 60
# Open MPI's mpirun sometimes crashes when it ends, after any program: see tests/pmix/pmix.py.
CRASH_OF_MPIRUN = r"Signal: Segmentation fault[^*]*PMIx_server_finalize"
TRIES = 3


def setUpModule():
    global folder
    if shutil.which(MPIRUN[0]) is None:
        print(f"skipped: there is no {MPIRUN[0]}")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="penstock-mpi-")


def tearDownModule():
    shutil.rmtree(folder, ignore_errors=True)


def variables(**extra):
    return environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl="self,vader", OMPI_MCA_pml="ob1",
                       OMPI_MCA_odls_base_sigkill_timeout="0", OMPI_MCA_mca_base_component_show_load_errors="0",
                       TMPDIR=folder, **{"PENSTOCK_CONDUIT": "mpi", **extra})


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
            return name.read().strip()
    except OSError:
        return None


def mpirun(ranks, *program, **extra):
    """A finished job. What ranks print on standard error is in a file, because mpirun may lose it at an abnormal end."""
    told = os.path.join(folder, "told")
    command = [*MPIRUN, "-n", str(ranks), "sh", "-c", 'exec "$@" 2>>"$0"', told, *program]
    for _ in range(TRIES):
        open(told, "wb").close()
        job = Job(command, env=variables(**extra), limit=LIMIT)
        if not re.search(CRASH_OF_MPIRUN, job.err):
            break
    job.launcher_err = job.err
    with open(told, encoding="utf-8") as text:
        job.err = text.read()
    return job


class Mpi(unittest.TestCase):
    def tearDown(self):
        self.assertTrue(wait_until(lambda: not left_over(), 10), f"left behind: {left_over()}")

    def good(self, job):
        self.assertEqual((job.status, job.err), (0, ""), job.launcher_err + job.out)

    def test_messages_go_round(self):
        job = mpirun(3, ENDS, "init", "ring", "barrier", "ring", "hello")
        self.good(job)
        self.assertEqual(len(re.findall(r"rank \d of 3, 1 share memory", job.out)), 3, job.out)

    def test_a_rank_exits_for_all(self):
        self.good(mpirun(2, ENDS, "init", "ring", "1:gasnet_exit=0", "barrier"))
        self.good(mpirun(2, ENDS, "init", "ring", "gasnet_exit=0"))
        job = mpirun(2, ENDS, "init", "ring", "1:gasnet_exit=7", "poll")
        self.assertEqual(job.status, 7, job.err)
        self.assertRegex(job.err, r"rank 1 .*called gasnet_exit\(7\)")

    def test_a_killed_rank_ends_the_job(self):
        job = mpirun(3, ENDS, "init", "ring", "1:kill=9", "poll")
        self.assertNotEqual(job.status, 0)
        self.assertLess(job.seconds, 2 * support.SLOW)

    def test_a_rank_killed_at_any_moment_ends_the_job(self):
        chosen = random.Random(7)
        for moment in range(MOMENTS):
            tag = f"mpi-{os.getpid()}-{moment}"
            job = subprocess.Popen([*MPIRUN, "-n", "3", TRAFFIC, "60"], env=variables(PENSTOCK_CHAOS_TAG=tag),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            job.stdout.readline()
            time.sleep(chosen.uniform(0, 0.5))
            ranks = [pid for pid in chaos.tagged(tag) if name_of(pid) == os.path.basename(TRAFFIC)[:15]]
            self.assertEqual(len(ranks), 3, moment)
            os.kill(chosen.choice(ranks), signal.SIGKILL)
            killed = time.monotonic()
            self.assertTrue(wait_until(lambda: not set(ranks) & set(chaos.tagged(tag)), 2 * support.SLOW), moment)
            job.communicate(timeout=LIMIT)
            self.assertNotEqual(job.returncode, 0, moment)
            self.assertLess(time.monotonic() - killed, 4 * support.SLOW, moment)

    def test_a_job_can_be_joined_again(self):
        self.good(mpirun(2, AGAIN, "4"))

    def test_the_program_may_use_mpi_too(self):
        self.good(mpirun(2, MIXED, "mpi_init", "init", "ring", "mpi_sum", "ring", "mpi_end"))
        self.good(mpirun(2, MIXED, "mpi_init", "init", "ring", "mpi_sum", "barrier", "mpi_end", "gasnet_exit=0"))

    def test_messages_after_the_end_of_mpi_are_refused(self):
        job = mpirun(2, MIXED, "mpi_init", "init", "ring", "mpi_end", "ring")
        self.assertNotEqual(job.status, 0)
        self.assertRegex(job.err, "cannot send: MPI has ended; call MPI_Finalize after the last call of Penstock")

    def test_without_mpirun_it_is_refused(self):
        for command in ([support.PENSTOCK, "run", "-n", "2", ENDS, "init"], [ENDS, "init"]):
            job = Job(command, env=variables())
            self.assertEqual(job.status, 1, job.err)
            self.assertRegex(job.err, "cannot use conduit mpi-.* start the program with the mpirun")

    def test_other_conduits_serve_under_mpirun_too(self):
        job = mpirun(3, ENDS, "init", "ring", "barrier", "hello", PENSTOCK_CONDUIT="")
        self.good(job)
        self.assertEqual(len(re.findall(r"rank \d of 3, 3 share memory", job.out)), 3, job.out)
        self.assertEqual(mpirun(2, ENDS, "init", "1:exit=5", "barrier", PENSTOCK_CONDUIT="").status, 5)

    @unittest.skipIf(VARIANT != "mpich", "for launchers that speak PMI-1")
    def test_jobs_that_pmi_does_not_serve_are_refused(self):
        job = mpirun(2, ENDS, "init", "barrier", GASNET_SUPERNODE_MAXSIZE="1")
        self.assertNotEqual(job.status, 0)
        self.assertRegex(job.err, "PMI: it serves jobs on one host, whose ranks all share memory")

    def test_a_singleton_is_refused(self):
        job = Job([support.PENSTOCK, "run", "-n", "2", ENDS, "init"],
                  env=variables(OMPI_COMM_WORLD_SIZE="2", PMI_RANK="0", PENSTOCK_CONDUIT=f"mpi-{VARIANT}"))  # fmt: skip
        self.assertEqual(job.status, 1, job.err)
        self.assertRegex(job.err, r"MPI has rank 0 of 1 and the job rank \d of 2: MPI did not find its launcher")

    def test_info_shows_the_conduit(self):
        job = mpirun(1, support.PENSTOCK, "info", "mpi")
        self.assertEqual(job.status, 0, job.err)
        self.assertRegex(job.out, r"mpi-\w+ +.*if named")
        alone = Job([support.PENSTOCK, "info", "mpi"], env=variables())
        self.assertRegex(alone.out, r"mpi-ompi +.*unusable.*start the program with the mpirun")


if __name__ == "__main__":
    unittest.main()
