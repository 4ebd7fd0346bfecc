#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that exit or return from main with 0 while other ranks go on: how the job ends, for each call in which the
remaining ranks may be, in shared memory and over datagrams. A job never reports success if ranks had to be ended."""

import os
import re
import unittest

import support
from support import BUILD, PENSTOCK, Job, LaunchTest, environment

PROGRAM = os.path.join(BUILD, "tests", "launch", "stuck.seq")
RANKS = 4
CHECKED = r"is not waited for when the program ends|not synchronised when the program ends"

# The call in which rank 1 leaves its peers waiting, as the line names it. The job ends at once, with 1.
BLOCKED = {
    "leave_in_barrier": "gasnet_barrier_wait",
    "leave_in_ex_barrier": "gex_Event_Wait",
    "leave_in_coll": "gex_Event_Wait",
    "leave_in_split": "gex_TM_Split, _Create or _Destroy",
    "leave_own_team": "gex_Event_Wait",
    "leave_in_handler": "gasnet_barrier_wait",
}
# The remaining ranks come to their end: their lines, and the ranks that print them.
GOES_ON = {
    "leave_after_notify": ("passed", [0, 2, 3]),
    "leave_after_begin": ("passed", [0, 2, 3]),
    "leave_other_team": ("passed", [0, 2]),
    "leave_serving": ("was served", [0, 2, 3]),
}


def leave(word, conduit, **variables):
    command = [PENSTOCK, "run", "-n", str(RANKS), "--conduit", conduit, PROGRAM, word]
    return Job(command, env=environment(**variables))


class Leave(LaunchTest):
    def each(self, words):
        for word in words:
            for conduit in ("shm", "udp"):
                with self.subTest(word=word, conduit=conduit):
                    yield word, conduit

    def test_who_waits_for_a_departed_rank_ends_the_job_at_once(self):
        for word, conduit in self.each(BLOCKED):
            job = leave(word, conduit, PENSTOCK_LEAVE_TIMEOUT="600")
            self.expect(job, 1, rf"rank [023] \(host \S+, pid \d+\) waits in {BLOCKED[word]} for "
                                r"rank 1 \(host \S+, pid \d+\), which has left with 0")
            errors = [line for line in job.err.splitlines() if "error" in line]
            self.assertEqual(len(errors), 1, job.err)
            if word == "leave_in_barrier": # what ended ranks have printed is delivered
                self.assertEqual(sorted(job.out.splitlines()), [f"rank {r} waits" for r in (0, 2, 3)])

    def test_what_the_departed_rank_has_entered_or_is_not_in_goes_on(self):
        for word, conduit in self.each(GOES_ON):
            job = leave(word, conduit)
            if re.search(CHECKED, job.err): # a mistake of the client's, which checked builds name
                self.assertEqual(job.status, 1)
                continue
            text, ranks = GOES_ON[word]
            self.assertEqual(job.status, 0, job.err)
            self.assertEqual(sorted(job.out.splitlines()), [f"rank {r} {text}" for r in ranks])

    def test_those_who_compute_are_waited_for_and_their_status_counts(self):
        for word, conduit in self.each(["leave_then_compute"]):
            job = leave(word, conduit)
            self.expect(job, 3, "rank 1 has left with 0, ranks 0, 2, 3 have not; the job waits for up to 60 s",
                        r"rank 0 .* exited with status 3")
            self.assertEqual(sorted(job.out.splitlines()), [f"rank {r} computes" for r in (0, 2, 3)])

    def test_those_who_compute_for_too_long_are_ended_by_force_and_their_output_is_delivered(self):
        for word, conduit in self.each(["leave_forever"]):
            job = leave(word, conduit, PENSTOCK_LEAVE_TIMEOUT="1.5")
            self.expect(job, 1, r"rank 1 left with 0 and ranks 0, 2, 3 had not 1.5 s later: ended by force")
            self.assertEqual(sorted(job.out.splitlines()), [f"rank {r} computes" for r in (0, 2, 3)])

    def test__exit_is_no_departure(self):
        for word, conduit in self.each(["leave_by_force"]):
            self.expect(leave(word, conduit), 1, "rank 1 .* left with status 0 without the exit handshake")

    def test_ranks_that_launch_themselves(self):
        job = Job([PROGRAM, "leave_in_barrier"], env=environment(GASNET_PSHM_NODES=str(RANKS)))
        self.expect(job, 1, "rank [023] .* waits in gasnet_barrier_wait for rank 1 .*, which has left with 0")


if __name__ == "__main__":
    support.main()
