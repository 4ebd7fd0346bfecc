#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The launcher's report on ranks that do not go on: at the time limit and at SIGUSR2, for each kind of call, in
shared memory and over datagrams. Rank 0 does what the word says; rank 1 sleeps without a call of the library."""

import concurrent.futures
import os
import re
import signal
import time

import support
from support import BUILD, PENSTOCK, Job, LaunchTest, start

PROGRAM = os.path.join(BUILD, "tests", "launch", "stuck")
LIMIT = "4"
AT_ONCE = 4  # jobs; most of their ranks sleep

# The call in which rank 0 waits, and its subject; a pair if shared memory makes a difference.
WORDS = {
    "put": (None, r"waits in gex_Event_Wait for [\d.]+ s, for a put to rank 1"),
    "put_blocking": (None, r"waits in gex_RMA_Put for [\d.]+ s, for a put to rank 1"),
    "get_blocking": (None, r"waits in gex_RMA_Get for [\d.]+ s, for a get from rank 1"),
    "nbi": (None, r"waits in gex_NBI_Wait for [\d.]+ s, for a put to rank 1"),
    "all": (None, r"waits in gex_Event_WaitAll for [\d.]+ s, for a get from rank 1"),
    "some": (None, r"waits in gex_Event_WaitSome for [\d.]+ s, for a get from rank 1"),
    "barrier": r"waits in gasnet_barrier_wait for [\d.]+ s, for barrier 0 of all ranks",
    "ex_barrier": r"waits in gex_Event_Wait for [\d.]+ s, for barrier 0 of all ranks",
    "coll": r"waits in gex_Event_Wait for [\d.]+ s, for collective 0 of team 0, and first for rank 1",
    "split": r"waits in gex_TM_Split, .* for [\d.]+ s, for collective 0 of team 0, and first for rank 1",
    "requests": r"waits in gex_AM_Request for [\d.]+ s, for room for a message to rank 1",
    "block": r"waits in GASNET_BLOCKUNTIL for [\d.]+ s",
    "polls": r"polls in a loop of gasnet_AMPoll for [\d.]+ s",
    "computes": r"attached, in no call that waits, .* process computing",
    "init": r"starting, waits in the start-up of the library for [\d.]+ s, for other ranks",
    "exit": r"has left with 0, waits in exit\(0\) or the return from main for [\d.]+ s, for other ranks",
}
NOT_ENTERED = {"barrier": "the gasnet_barrier that ranks wait in was not entered by rank 1$",
               "ex_barrier": "the gex_Coll_BarrierNB that ranks wait in was not entered by rank 1$"}


def command(word, conduit, mode="seq", *options):
    return [PENSTOCK, "run", "-n", "2", "--conduit", conduit, *options, f"{PROGRAM}.{mode}", word]


def expected(word, conduit):
    text = WORDS[word]
    return text if isinstance(text, str) else text[conduit == "udp"]


class Stuck(LaunchTest):
    def look(self, word, conduit, job):
        with self.subTest(word=word, conduit=conduit):
            self.assertEqual(job.status, 124, job.err + job.out)
            self.assertRegex(job.err, rf"(?m)rank 0 \(host \S+, pid \d+\): .*{expected(word, conduit)}")
            away = "has not joined the job" if word == "init" else "attached, in no call that waits"
            self.assertRegex(job.err, rf"(?m)rank 1 \(host \S+, pid \d+\): {away}, .*process asleep")
            found = re.findall("(?m)the .* that ranks wait in was .*$", job.err)
            self.assertEqual(len(found), word in NOT_ENTERED, job.err)
            if found:
                self.assertRegex(found[0], NOT_ENTERED[word])

    def test_each_call_names_itself_and_its_peer_at_the_time_limit(self):
        cases = [(word, conduit) for word in WORDS for conduit in ("shm", "udp") if expected(word, conduit)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            jobs = pool.map(lambda case: Job(command(*case, "seq", "--timeout", LIMIT)), cases)
            for case, job in zip(cases, jobs):
                self.look(*case, job)

    def test_a_thread_that_waits_for_a_lock(self):
        job = Job(command("locks", "shm", "par", "--timeout", LIMIT))
        self.assertEqual(job.status, 124, job.err)
        self.assertRegex(job.err, r"(?m)rank 0 .*: attached, waits in gex_HSL_Lock for [\d.]+ s, 0 events")

    def test_sigusr2_asks_and_the_job_goes_on(self):
        for conduit in ("shm", "udp"):
            job = start(command("barrier", conduit))
            said = b""
            os.set_blocking(job.stderr.fileno(), False)
            end = time.monotonic() + support.patience(30)
            while b"was not entered by rank 1" not in said and time.monotonic() < end:
                time.sleep(0.3)
                if job.poll() is None:
                    job.send_signal(signal.SIGUSR2)
                said += job.stderr.read() or b""
            self.assertIsNone(job.poll(), said)
            job.terminate()
            job.communicate(timeout=support.patience(30))
            self.assertEqual(job.returncode, -signal.SIGTERM)
            self.assertRegex(said, rb"SIGUSR2 received; what each rank does follows")
            self.assertRegex(said, rb"rank 0 .* waits in gasnet_barrier_wait for .* for barrier 0 of all ranks")

    def test_counters_are_printed_at_the_time_limit(self):
        for word in ("barrier", "computes"):
            job = Job(command(word, "shm", "seq", "--timeout", LIMIT, "--stats"))
            self.assertEqual(job.status, 124, job.err)
            for rank in (0, 1):
                self.assertRegex(job.err + job.out, rf"(?m)^penstock\[rank {rank}[^]]*\] counters:")


if __name__ == "__main__":
    support.main()
