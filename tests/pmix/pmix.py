#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that Open MPI's mpirun starts, by PMIx: every way to begin and to end, within a block of ranks that
share memory and between blocks, which are hosts as far as the protocol goes. Skipped without mpirun."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

for folder_of_others in ("launch", "hosts"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder_of_others))
import network  # noqa: E402
import support  # noqa: E402
from support import Job, environment, left_over, pids_of, start, state_of, wait_until  # noqa: E402

MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
HYDRA = shutil.which("mpirun.mpich")
ENDS = os.path.join(support.BUILD, "tests", "pmix", "pmix_ends")
MIXED = os.path.join(support.BUILD, "tests", "pmix", "pmix_mixed")
STUCK = os.path.join(support.BUILD, "tests", "launch", "stuck.seq")
AGAIN = os.path.join(support.BUILD, "tests", "launch", "again.seq")
RANDOMACCESS = os.path.join(support.BUILD, "examples", "randomaccess")
LIMIT = 60
# The mpirun of Open MPI 4.1.4 with PMIx 4.2 sometimes crashes or hangs when it ends, after any program.
CRASH_OF_MPIRUN = r"Signal: Segmentation fault[^*]*PMIx_server_finalize"
HANG_OF_RANKS = "lost the launcher's server of its host"
TRIES = 3


def setUpModule():
    global folder
    if MPIRUN is None or b"Open" not in subprocess.run([MPIRUN, "--version"], capture_output=True, check=False,
                                                           stdin=subprocess.DEVNULL).stdout:
        print("skipped: there is no mpirun of Open MPI's (Debian: openmpi-bin)")
        sys.exit(77)
    # Where /etc/hosts does not say what localhost is, each mpirun asks a name server for ten seconds.
    try:
        subprocess.run(["getent", "hosts", "localhost"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       check=True, timeout=2)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        print("skipped: localhost has no address at once; put \"127.0.0.1 localhost\" into /etc/hosts")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="penstock-pmix-")


def tearDownModule():
    shutil.rmtree(folder, ignore_errors=True)


def variables(**extra):
    # No looking for networks, no second of grace, and the rule that root needs to be told twice.
    return environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl="self,vader",
                       OMPI_MCA_pml="ob1", OMPI_MCA_odls_base_sigkill_timeout="0", OMPI_MCA_mca_base_component_show_load_errors="0", TMPDIR=folder, **extra)


def told():
    """Where ranks write their standard error: mpirun loses what comes just before an abnormal end."""
    return os.path.join(folder, "told")


def heard():
    with open(told(), encoding="utf-8") as f:
        return f.read()


def part(ranks, *program):
    """A part of mpirun's command line, which takes several with ":" between them."""
    return ["-n", str(ranks), "sh", "-c", 'exec "$@" 2>>"$0"', told(), *program]


def command(ranks, *program):
    return [MPIRUN, "--oversubscribe", *part(ranks, *program)]


def run(words, **extra):
    """A finished job, with what ranks said in err and what mpirun did in launcher_err."""
    for tries_left in reversed(range(TRIES)):
        open(told(), "wb").close()
        try:
            job = Job(words, env=variables(**extra), limit=LIMIT)
        except AssertionError:  # a time limit, at which mpirun was killed: a rank that lived has said that it lost it
            wait_until(lambda: not left_over())
            if tries_left == 0 or HANG_OF_RANKS in heard():
                raise
            continue
        if not re.search(CRASH_OF_MPIRUN, job.err):
            break
    job.launcher_err = job.err
    job.err = heard()
    return job


def mpirun(ranks, *steps, program=ENDS, **extra):
    return run(command(ranks, program, *steps), **extra)


class Case(unittest.TestCase):
    def tearDown(self):
        self.assertTrue(wait_until(lambda: not left_over(), 10), f"left behind: {left_over()}")

    def good(self, job):
        self.assertEqual((job.status, job.err), (0, ""), job.launcher_err + job.out)
        return job

    def said(self, job, *texts):
        """Each text is in one line of Penstock, and Penstock prints no other line."""
        ours = [line for line in job.err.splitlines() if line.startswith("penstock[")]
        for text in texts:
            self.assertTrue(any(re.search(text, line) for line in ours), f"{text!r} is not in:\n{job.err}")
        if not texts:
            self.assertEqual(ours, [])


class Beginning(Case):
    def test_ranks_share_memory(self):
        job = self.good(mpirun(4, "init", "hello", "ring", "barrier", "ring"))
        self.assertEqual(sorted(re.findall(r"rank (\d) of 4, 4 share memory", job.out)), list("0123"), job.out)

    def test_blocks_talk_by_the_network(self):
        job = self.good(mpirun(5, "init", "hello", "ring", "barrier", "ring", GASNET_SUPERNODE_MAXSIZE="2"))
        shares = dict(re.findall(r"rank (\d) of 5, (\d) share memory", job.out))
        self.assertEqual(shares, {"0": "2", "1": "2", "2": "2", "3": "2", "4": "1"}, job.out)

    def test_boot_alone(self):
        job = self.good(mpirun(3, "join", "exchange", "barrier", "exchange", "hello", program=support.RANK))
        self.assertEqual(job.out.count("by PMIx"), 3, job.out)

    def test_randomaccess_is_verified(self):
        for most in ("0", "2"):
            job = self.good(mpirun(4, "am", "-m", "12", program=RANDOMACCESS, GASNET_SUPERNODE_MAXSIZE=most))
            self.assertIn("randomaccess am: verified", job.out)

    def test_leaving_and_joining_again(self):
        for most in ("0", "2"):
            job = self.good(mpirun(3, "8", program=AGAIN, GASNET_SUPERNODE_MAXSIZE=most))
            self.assertIn("8 times on 3 ranks", job.out)

    def test_a_rank_that_does_not_come_again_is_missed(self):
        job = mpirun(3, "8", "late", program=AGAIN)
        self.assertNotEqual(job.status, 0)
        self.said(job, "ended after pen_finalize, but other ranks have joined the job again")

    def test_size_1_and_ALONE_are_jobs_of_one(self):
        job = self.good(mpirun(1, "init", "hello"))
        self.assertIn("rank 0 of 1", job.out)
        job = self.good(mpirun(2, "init", "hello", PENSTOCK_ALONE="1"))
        self.assertEqual(job.out.count("rank 0 of 1"), 2, job.out)

    def test_the_launchers_size_wins_with_a_warning(self):
        job = mpirun(2, "init", "hello", GASNET_PSHM_NODES="3")
        self.assertEqual((job.status, job.out.count("of 2,")), (0, 2), job.err)
        self.said(job, "GASNET_PSHM_NODES=3 is not used")

    def test_what_a_rank_starts_is_no_rank(self):
        job = self.good(mpirun(2, "init", f"0:system={ENDS} init hello", "barrier"))
        self.assertIn("rank 0 of 1", job.out)

    @unittest.skipUnless(os.path.exists(MIXED), "built without MPI's header (Debian: libopenmpi-dev)")
    def test_mixed_with_mpi(self):
        first = ["init", "ring", "mpi_init", "mpi_sum", "ring", "mpi_end", "ring"]
        second = ["mpi_init", "mpi_sum", "init", "ring", "mpi_sum", "barrier", "mpi_end", "ring"]
        self.good(mpirun(3, *first, program=MIXED))
        self.good(mpirun(3, *second, program=MIXED))
        self.good(mpirun(3, *second, program=MIXED, GASNET_SUPERNODE_MAXSIZE="1"))


class Refused(Case):
    def test_a_process_that_never_joins(self):
        job = mpirun(3, "1:sleep_ms=9000", "init", "barrier", PENSTOCK_LAUNCH_TIMEOUT="1")
        self.assertNotEqual(job.status, 0)
        self.said(job, "not all of its 3 processes have come to gasnet_init within 1 s")
        self.assertLess(job.seconds, support.patience(3 * support.SLOW))

    def test_another_version(self):
        other = os.path.join(folder, "other")
        with open(support.RANK, "rb") as f:
            program = f.read()
        changed = re.sub(rb"(penstock-pmix-1 )\d", rb"\g<1>7", program)
        self.assertNotEqual(changed, program)
        with open(other, "wb") as f:
            f.write(changed)
        os.chmod(other, 0o755)
        job = run([*command(1, support.RANK, "join"), ":", *part(1, other, "join")])
        self.assertNotEqual(job.status, 0)
        self.said(job, r"cannot join the job: rank (1 has Penstock 7\.\S+, this one 0|0 has Penstock 0\.\S+, this one 7)\.")

    def test_values_that_make_no_sense(self):
        job = mpirun(2, "init", GASNET_SUPERNODE_MAXSIZE="-1")
        self.assertNotEqual(job.status, 0)
        self.said(job, "GASNET_SUPERNODE_MAXSIZE=-1: give a number")

    def test_blocks_of_which_ranks_disagree(self):
        job = run([MPIRUN, "--oversubscribe", "-x", "GASNET_SUPERNODE_MAXSIZE=1", *part(1, ENDS, "init"), ":",
                   *part(2, ENDS, "init")])
        self.assertNotEqual(job.status, 0)
        self.said(job, "do not agree on who is where")

    def test_marks_of_a_launcher_that_is_not_there(self):
        marks = {"PMIX_RANK": "0", "PMIX_NAMESPACE": "n"}
        job = Job([ENDS, "init"], env=variables(**marks), limit=LIMIT)
        self.assertEqual(job.status, 1)
        self.said(job, r"PMIx_Init: \S.*PENSTOCK_ALONE=1")

    def test_info_names_the_library(self):
        job = Job([support.PENSTOCK, "info"], env=variables())
        self.assertRegex(job.out, r"(?m)^  PMIx       .*\d+\.\d+")


# ranks, steps, status of mpirun, Penstock's line; "": no line of Penstock
ENDINGS = {
    "all_return": (["barrier"], 0, ""),
    "gasnet_exit_5": (["barrier", "1:gasnet_exit=5", "poll"], 5, r"rank 1 \(host \S+, pid \d+\) called gasnet_exit\(5\)"),
    "gasnet_exit_5_while_others_compute": (["barrier", "3:gasnet_exit=5", "spin"], 5, r"rank 3 .* called gasnet_exit\(5\)"),
    "gasnet_exit_256_is_no_success": (["barrier", "1:gasnet_exit=256", "poll"], 1, r"gasnet_exit\(256\)"),
    "gasnet_exit_0": (["barrier", "1:gasnet_exit=0", "poll"], 0, ""),
    "gasnet_exit_0_while_others_compute": (["barrier", "3:gasnet_exit=0", "spin"], 0, ""),
    "gasnet_exit_0_of_all": (["barrier", "gasnet_exit=0"], 0, ""),
    "exit_7_of_one": (["barrier", "2:exit=7", "poll"], 7, "rank 2 .* exited with status 7"),
    "exit_3_of_all": (["barrier", "exit=3"], 3, "exited with status 3"),
    "_exit_9": (["barrier", "1:_exit=9", "poll"], 9, ""),
    "_exit_0_is_no_success": (["barrier", "1:_exit=0", "poll"], 1, ""),
    "killed": (["barrier", "1:kill=9"], 137, ""),
    "crashed": (["barrier", "1:kill=11", "poll"], 139, "rank 1 .* caught SIGSEGV"),
    "killed_after_others_left": (["barrier", "1:sleep_ms=200", "1:kill=9"], 137, ""),
    "left_with_0_and_one_stays": (["barrier", "1:spin"], 1, "had not 0.5 s later: ended by force"),
}


class Ending(Case):
    def test_stopped_by_a_debugger_is_not_late(self):
        job = start(command(2, ENDS, "init", "hello", "barrier", "1:kill=19"), env=variables(PENSTOCK_LEAVE_TIMEOUT="0.2"))
        pid = int(re.search(r"rank 1 .* pid (\d+)", job.stdout.readline().decode() + job.stdout.readline().decode())[1])
        self.assertTrue(wait_until(lambda: state_of(pid) in "Tt"))
        time.sleep(0.8)
        self.assertIsNone(job.poll())
        os.kill(pid, signal.SIGCONT)
        _, err = job.communicate(timeout=support.patience(LIMIT))
        self.assertEqual(job.returncode, 0, err)

    def test_who_waits_for_a_rank_that_has_left_ends_the_job(self):
        for most in ("0", "2"):
            job = mpirun(4, "leave_in_barrier", program=STUCK, GASNET_SUPERNODE_MAXSIZE=most)
            self.assertEqual(job.status, 1, job.err + job.out + job.launcher_err)
            self.said(job, r"rank [023] .* waits in gasnet_barrier_wait for rank 1, which has left with 0")

    def test_a_word_is_passed_on_before_the_process_is_gone(self):
        job = mpirun(3, "join", "handler", "barrier", "1:gasnet_exit=5", "hang", program=support.RANK)  # which then calls _exit
        self.assertNotEqual(job.status, 0)
        self.said(job, r"rank 1 .* called gasnet_exit\(5\)")

    def interrupted(self, number, most):
        open(told(), "wb").close()
        job = start(command(3, support.RANK, "join", "handler", "barrier", "pid", "flush", "hang"),
                    env=variables(GASNET_SUPERNODE_MAXSIZE=most), start_new_session=True)
        self.assertEqual(len(pids_of(job.stdout, 3)), 3)
        os.kill(job.pid, number)
        job.communicate(timeout=support.patience(LIMIT))
        self.assertNotEqual(job.returncode, 0)
        if number == signal.SIGKILL:
            self.assertTrue(wait_until(lambda: "lost the launcher's server of its host" in heard()), heard())

    def test_ctrl_c(self):
        self.interrupted(signal.SIGINT, "0")

    def test_sigterm_of_the_launcher(self):
        self.interrupted(signal.SIGTERM, "2")

    def test_launcher_killed(self):
        for most in ("0", "2"):
            self.interrupted(signal.SIGKILL, most)


def add(name, most):
    steps, status, text = ENDINGS[name]

    def test(self):
        job = mpirun(4, "init", *steps, GASNET_SUPERNODE_MAXSIZE=most, GASNET_EXITTIMEOUT="0.5",
                     PENSTOCK_LEAVE_TIMEOUT="0.5")
        self.assertEqual(job.status, status, job.err + job.out + job.launcher_err)
        self.said(job, *([text] if text else []))
        self.assertLess(job.seconds, support.patience(3 * support.SLOW))

    setattr(Ending, f"test_{name}_{'one_block' if most == '0' else 'blocks'}", test)


for row in ENDINGS:
    add(row, "0")
    if row != "killed_after_others_left":  # mpirun may hang when its processes die in a fence
        add(row, "2")


def hydra(ranks, *steps, program=ENDS, hosts="here:2,there:2", **extra):
    """Under the mpirun of MPICH, by PMI-1. Its hosts are two names of this one."""
    return run([HYDRA, "-launcher", "fork", "-hosts", hosts, *part(ranks, program, *steps)], **extra)


@unittest.skipIf(HYDRA is None, "there is no mpirun of MPICH's (Debian: mpich)")
class Hydra(Case):
    def ends(self, job, status):
        """Hydra combines the statuses of hosts, and has 255 if one of its own daemons fails at the end."""
        self.assertEqual(job.status == 0, status == 0, job.err + job.out + job.launcher_err)

    def test_ranks_of_two_hosts(self):
        job = self.good(hydra(5, "init", "hello", "ring", "barrier", "ring", hosts="a:2,b:1,c:2"))
        shares = dict(re.findall(r"rank (\d) of 5, (\d) share memory", job.out))
        self.assertEqual(shares, {"0": "2", "1": "2", "2": "1", "3": "2", "4": "2"}, job.out)

    def test_boot_alone(self):
        job = self.good(hydra(4, "join", "exchange", "barrier", "exchange", "hello", program=support.RANK))
        self.assertEqual(job.out.count("by PMI"), 4, job.out)

    def test_leaving_and_joining_again(self):
        job = self.good(hydra(4, "8", program=AGAIN))
        self.assertIn("8 times on 4 ranks", job.out)

    def test_randomaccess_is_verified(self):
        self.assertIn("randomaccess am: verified", self.good(hydra(4, "am", "-m", "12", program=RANDOMACCESS)).out)

    def test_who_waits_for_a_rank_that_has_left_ends_the_job(self):
        job = hydra(4, "leave_in_barrier", program=STUCK)
        self.ends(job, 1)
        self.said(job, r"rank [023] .* waits in gasnet_barrier_wait for rank 1, which has left with 0")

    def test_a_process_that_never_joins(self):
        job = hydra(4, "2:sleep_ms=9000", "init", "barrier", PENSTOCK_LAUNCH_TIMEOUT="1")
        self.assertNotEqual(job.status, 0)
        self.said(job, "cannot join the job")
        self.assertLess(job.seconds, support.patience(3 * support.SLOW))


def add_hydra(name):
    steps, status, text = ENDINGS[name]

    def test(self):
        job = hydra(4, "init", *steps, GASNET_EXITTIMEOUT="0.5", PENSTOCK_LEAVE_TIMEOUT="0.5")
        self.ends(job, status)
        # Hydra may end the processes of other hosts so late that Penstock has ended them.
        job.err = re.sub(r".*ended without the exit handshake, and the launcher has not ended the job since.*\n", "", job.err)
        self.said(job, *([text] if text else []))
        self.assertLess(job.seconds, support.patience(6 * support.SLOW))

    setattr(Hydra, f"test_{name}", test)


for row in ENDINGS:
    add_hydra(row)


class Hosts(Case):
    """Two hosts, on which mpirun has daemons by ssh."""

    @classmethod
    def setUpClass(cls):
        cls.net = network.Network(2)
        try:
            cls.net.__enter__()
        except network.Missing as why:
            raise unittest.SkipTest(str(why)) from why

    @classmethod
    def tearDownClass(cls):
        cls.net.__exit__()

    def hosts(self, *steps):
        words = [MPIRUN, "--mca", "plm_rsh_agent", f"ssh -F {self.net.file('ssh.conf')}", "--mca", "oob_tcp_if_include",
                 "10.77.3.0/24", "--host", "h0:2,h1:2", "-x", "PENSTOCK_UDP_ADDRESS=10.77.3.0/24", "-x", "TMPDIR"]
        return run(self.net.inside("root", *words, *part(4, os.path.abspath(ENDS), *steps)))

    def test_ranks_of_two_hosts(self):
        job = self.good(self.hosts("init", "hello", "ring", "barrier", "ring"))
        self.assertEqual(job.out.count("of 4, 2 share memory"), 4, job.out)

    @unittest.skipIf(HYDRA is None, "there is no mpirun of MPICH's (Debian: mpich)")
    def test_hydra_on_two_hosts(self):
        words = [HYDRA, "-launcher", "ssh", "-launcher-exec", self.net.file("ssh.sh"), "-iface", "br0", "-hosts", "h0:2,h1:2"]
        with open(self.net.file("ssh.sh"), "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\nexec ssh -F {self.net.file("ssh.conf")} "$@"\n')
        os.chmod(self.net.file("ssh.sh"), 0o755)
        for steps, status, text in ((("ring", "barrier", "ring"), 0, None), (("barrier", "3:gasnet_exit=5", "poll"), 5, "rank 3 .* called"),
                                    (("barrier", "2:kill=9"), 137, None)):
            job = run(self.net.inside("root", *words, *part(4, os.path.abspath(ENDS), "init", "hello", *steps)),
                      PENSTOCK_UDP_ADDRESS="10.77.3.0/24")
            Hydra.ends(self, job, status)
            self.assertEqual(job.out.count("of 4, 2 share memory"), 4, job.err + job.launcher_err)
            self.said(job, *([text] if text else []))

    def test_ends_reach_the_other_host(self):
        for step, status, text in (("3:gasnet_exit=5", 5, r"rank 3 .* called gasnet_exit\(5\)"), ("0:gasnet_exit=0", 0, None),
                                   ("2:kill=9", 137, None)):
            job = self.hosts("init", "barrier", step, "poll")
            self.assertEqual(job.status, status, job.err + job.launcher_err)
            self.said(job, *([text] if text else []))


SLURM = """ClusterName=penstock
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={port}
SlurmdPort={next_port}
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Slurm(Case):
    """One slurmctld and one slurmd of our own."""

    @classmethod
    def setUpClass(cls):
        for name in ("slurmctld", "slurmd", "srun", "sinfo"):
            if os.geteuid() != 0 or shutil.which(name) is None:
                raise unittest.SkipTest(f"there is no {name}, or no root to run it (Debian: slurmd, slurmctld, slurm-client)")
        port = 20000 + os.getpid() % 10000
        conf = os.path.join(folder, "slurm.conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(SLURM.format(host=os.uname().nodename.split(".")[0], folder=folder, port=port, next_port=port + 1,
                                 cores=os.cpu_count()))
        cls.env = variables(SLURM_CONF=conf)
        cls.daemons = [start([name, "-D", "-f", conf], env=dict(cls.env, PENSTOCK_TEST_MARK="daemon"),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for name in ("slurmctld", "slurmd")]
        if not wait_until(lambda: b"idle" in subprocess.run(["sinfo", "-h", "-o", "%t"], env=cls.env, check=False,
                                                            capture_output=True).stdout, 10):
            cls.tearDownClass()
            raise unittest.SkipTest("slurmctld and slurmd do not come up here")

    @classmethod
    def tearDownClass(cls):
        for daemon in cls.daemons:
            daemon.terminate()
            daemon.wait()

    def srun(self, *words, **extra):
        return Job(["srun", "-Q", "-O", "-t", "1", *words], env=dict(self.env, **extra), limit=LIMIT)

    def test_ranks_share_memory_and_status_is_theirs(self):
        job = self.srun("-n", "3", "--mpi=pmix", ENDS, "init", "hello", "ring", "barrier", "1:gasnet_exit=5", "poll")
        self.assertEqual((job.status, job.out.count("of 3, 3 share memory")), (5, 3), job.err + job.out)
        self.assertRegex(job.err, r"rank 1 .* called gasnet_exit\(5\)")

    def test_blocks_leave_together(self):
        job = self.srun("-n", "4", "--mpi=pmix", ENDS, "init", "hello", "ring", "2:sleep_ms=100",
                        GASNET_SUPERNODE_MAXSIZE="2")
        self.assertEqual((job.status, job.out.count("of 4, 2 share memory")), (0, 4), job.err + job.out)

    def test_without_pmix_it_is_refused(self):
        job = self.srun("-n", "2", ENDS, "init")
        self.assertEqual(job.status, 1)
        self.assertIn("srun --mpi=pmix", job.err)


if __name__ == "__main__":
    support.main()
