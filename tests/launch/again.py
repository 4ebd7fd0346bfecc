#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Leaving the job and joining it again, many times in one process: alone, by `penstock run` and by
GASNET_PSHM_NODES; and what the job's status is when a rank ends in between."""

import os

import support
from support import BUILD, PENSTOCK, Job, LaunchTest, environment

CYCLES = 100
PROGRAM = os.path.join(BUILD, "tests", "launch", "again")
TROUBLE = os.path.join(BUILD, "tests", "launch", "trouble")


def alone(_ranks, mode, *arguments):
    return Job([f"{PROGRAM}.{mode}", *arguments], env=environment())


def launched(ranks, mode, *arguments):
    return Job([PENSTOCK, "run", "-n", str(ranks), f"{PROGRAM}.{mode}", *arguments])


def forked(ranks, mode, *arguments):
    return Job([f"{PROGRAM}.{mode}", *arguments], env=environment(GASNET_PSHM_NODES=str(ranks)))


class Again(LaunchTest):
    def go_on(self, launch, ranks, mode):
        job = launch(ranks, mode, str(CYCLES))
        self.expect(job, 0)
        self.assertEqual(job.err, "")
        self.assertEqual(job.out, f"{CYCLES} times on {ranks} ranks\n")

    def test_a_rank_alone(self):
        for mode in ("seq", "par"):
            self.go_on(alone, 1, mode)

    def test_ranks_under_the_launcher(self):
        for ranks in (1, 2, 4):
            for mode in ("seq", "par"):
                self.go_on(launched, ranks, mode)

    def test_ranks_that_launch_themselves(self):
        self.go_on(forked, 2, "seq")
        self.go_on(forked, 4, "par")

    def test_the_status_afterwards_counts(self):
        self.expect(alone(1, "seq", "4", "3"), 3)
        for launch in (launched, forked):
            self.expect(launch(2, "seq", "4", "3"), 3, "rank 1 .* exited with status 3")

    def test_a_rank_that_dies_in_between_ends_the_job(self):
        for launch in (launched, forked):
            self.expect(launch(3, "seq", "6", "die"), 137, r"rank 2 \(.*\) killed by SIGKILL")

    def test_a_rank_that_does_not_come_again_is_missed(self):
        for launch in (launched, forked):
            self.expect(launch(3, "seq", "6", "late"), 1,
                        "rank 2 .* ended after pen_finalize, but other ranks have joined the job again")

    def test_what_is_under_way_is_waited_for_before_leaving(self):
        job = Job([PENSTOCK, "run", "-n", "2", TROUBLE, "leave"], env=environment())
        self.assertIn(job.status, (1, 134), job.err)
        self.assertRegex(job.err, "pen_finalize: implicit operations are under way|"
                                  "gex_RMA_PutNBI: 1 not synchronised when pen_finalize is called")

    def test_a_child_of_a_rank_that_left_is_a_job_of_its_own(self):
        self.expect(alone(1, "seq", "3", "fork"), 0)
        self.expect(launched(2, "par", "3", "fork"), 0)


if __name__ == "__main__":
    support.main()
