#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program knows the name of the conduit that it was built for. One for smp does not start where its
ranks share no memory; one for udp starts itself as `./program N`; all others run everywhere."""

import os
import re
import shutil
import unittest

import support
from support import Job, environment

FOLDER = os.path.join(support.BUILD, "tests", "launch")
MPIRUN = shutil.which("mpirun")
REFUSED = (r"\Apenstock\[rank 0 host \S+ (\w+)\] error: cannot run this program over (\w+): built_for\.c was "
           r"built for the smp conduit, .*ranks 0 and 1 do not; build it for udp .*PENSTOCK_ALLOW_OTHER_CONDUIT=1")


def program(name):
    return os.path.join(FOLDER, f"built_for.{name}")


def launched(name, *arguments, ranks=2, conduit=None, **extra):
    options = ["--conduit", conduit] if conduit else []
    return Job([support.PENSTOCK, "run", "-n", str(ranks), *options, program(name), *arguments],
               env=environment(**extra))


def itself(name, *arguments, **extra):
    return Job([program(name), *arguments], env=environment(**extra))


class Case(unittest.TestCase):
    def runs(self, job, ranks, conduit, arguments=""):
        self.assertEqual((job.status, job.err), (0, ""), job.out)
        lines = sorted(job.out.splitlines())
        begin = [f"rank {rank} of {ranks} over {conduit}, " for rank in range(ranks)]
        self.assertEqual([line[:len(text)] for line, text in zip(lines, begin, strict=True)], begin)
        for line in lines:
            self.assertEqual(line.split(":")[1], f" {arguments}end" if arguments == "" else f" {arguments} end")
        return job

    def refused(self, job, conduit="udp"):
        self.assertNotEqual(job.status, 0)
        self.assertEqual(job.out, "")
        ours = [line for line in job.err.splitlines() if "cannot run this program" in line]
        self.assertEqual(len(ours), 1, job.err)
        self.assertEqual(re.match(REFUSED, ours[0]).groups(), (conduit, conduit))


class Smp(Case):
    def test_runs_on_one_host(self):
        self.assertIn("built for SMP and SMP", self.runs(launched("smp"), 2, "smp").out)
        self.runs(itself("smp", GASNET_PSHM_NODES="2"), 2, "smp")
        self.runs(launched("smp", conduit="smp"), 2, "smp")

    def test_is_refused_where_ranks_share_no_memory(self):
        for ranks in (2, 4):
            self.refused(launched("smp", conduit="udp", ranks=ranks))
        self.refused(itself("smp", GASNET_PSHM_NODES="2", PENSTOCK_CONDUIT="udp"))

    def test_runs_there_for_who_asks_for_it(self):
        self.runs(launched("smp", conduit="udp", PENSTOCK_ALLOW_OTHER_CONDUIT="1"), 2, "udp")

    def test_has_no_peer_to_miss_alone(self):
        self.runs(launched("smp", conduit="udp", ranks=1), 1, "udp")

    def test_takes_no_number(self):
        self.runs(itself("smp", "2", "a"), 1, "smp", "2 a")

    @unittest.skipIf(MPIRUN is None or support.SANITIZED, "wants mpirun")
    def test_is_refused_between_blocks_of_a_pmix_job(self):
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = [MPIRUN, "--oversubscribe", "-n", "2", program("smp")]
        self.runs(Job(words, env=environment(**root)), 2, "smp")
        job = Job(words, env=environment(**root, GASNET_SUPERNODE_MAXSIZE="1"))
        job.out = ""  # mpirun's own words
        self.refused(job)
        words[-1] = program("any")
        self.runs(Job(words, env=environment(**root, GASNET_SUPERNODE_MAXSIZE="1")), 2, "udp")


class Any(Case):
    def test_runs_everywhere(self):
        for conduit in ("smp", "udp"):
            self.runs(launched("any", conduit=conduit), 2, conduit)
        self.runs(itself("any", "2", "a"), 1, "smp", "2 a")


class Udp(Case):
    def test_runs_everywhere_under_a_launcher_and_keeps_its_arguments(self):
        for conduit in ("smp", "udp"):
            job = self.runs(launched("udp", "2", "a", conduit=conduit, ranks=3), 3, conduit, "2 a")
            self.assertIn("built for UDP and UDP", job.out)

    def test_starts_itself(self):
        for ranks in (1, 2, 4):
            self.runs(itself("udp", str(ranks), "a", "b"), ranks, "udp", "a b")
        self.runs(itself("udp", "02"), 2, "udp")

    def test_number_in_the_arguments_goes_before_variables(self):
        self.runs(itself("udp", "2", "a", GASNET_PSHM_NODES="3"), 2, "udp", "a")
        self.runs(itself("udp", "2", "a", PENSTOCK_CONDUIT="smp"), 2, "smp", "a")

    def test_without_a_plain_number_it_runs_alone(self):
        for word in ("0x2", "-2", "2x", "+2", "x", "2.0", "0"):
            self.runs(itself("udp", word, "a"), 1, "smp", f"{word} a")
        self.runs(itself("udp"), 1, "smp")
        self.runs(itself("udp", "2", PENSTOCK_ALONE="1"), 1, "smp", "2")

    def test_status_is_the_job_s(self):
        self.assertEqual(itself("udp", "2", "exit", "7").status, 7)
        self.assertEqual(itself("udp", "4", "exit", "0").status, 0)

    def test_way_to_spawn(self):
        for way in ("L", "l", ""):
            self.runs(itself("udp", "2", GASNET_SPAWNFN=way), 2, "udp")
        job = itself("udp", "2", GASNET_SPAWNFN="S")
        self.assertEqual((job.status, job.out), (9, ""))
        self.assertRegex(job.err, "cannot start 2 ranks with GASNET_SPAWNFN=S: .*amudprun -np 2")
        self.runs(launched("udp", GASNET_SPAWNFN="S"), 2, "smp")

    def test_too_many(self):
        job = itself("udp", "4097")
        self.assertEqual(job.status, 9)
        self.assertIn("cannot start 4097 ranks: give a number between 1 and 4096", job.err)


if __name__ == "__main__":
    unittest.main()
