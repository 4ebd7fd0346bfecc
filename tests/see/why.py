#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`penstock why`, and the same diagnosis in the launcher's report: ten programs that hang, each for its own reason."""

import concurrent.futures
import re
import shutil
import signal
import time

import support
from support import Job, LaunchTest, launch, penstock, program, running

AT_ONCE = 5  # jobs; most of their ranks sleep
QUIET = r"has not polled for [\d.]+ s, so it takes no messages"

# The lines that each program has to get, as expressions.
WAYS = {
    "barrier": ["the gasnet_barrier that ranks wait in was not entered by rank 1$"],
    "collective": [
        r"collective \d+ of team 0, in which rank 0 waits, was not entered by rank 1$",
        rf"rank 1 sleeps in a call outside of the library and {QUIET}; rank 0 waits for it$",
    ],
    "reply": [
        r"ranks 0, 1 wait for a condition of the program, all ranks wait, and all messages that were sent \(1\) have "
        r"been handled: a message or a reply was not sent$"
    ],
    "locked": [r"rank 0 has waited in gex_HSL_Lock for [\d.]+ s: a thread that holds the lock waits or computes;"],
    "loop": [
        rf"rank 1 computes and {QUIET}; rank 0 waits for it$",
        "the gasnet_barrier that ranks wait in was not entered by rank 1$",
    ],
    "stopped": [
        r"rank 1 is stopped by a signal or a debugger; `kill -CONT \d+` lets it go on; rank 0 waits for it$",
    ],
    "inbox": [
        "rank 0 has no room for a message to rank 1: rank 1's inbox is full, and it takes nothing out of it$",
        r"messages that were sent \(about \d+\) wait to be handled by rank 1$",
    ],
    "mismatch": [
        r"rank 0 waits in gasnet_barrier 0, and rank 1 waits in collective \d+ of team 0: all ranks have to enter the same",
        "a circle: rank 0 waits for rank 1 in gasnet_barrier_wait, rank 1 waits for rank 0 in gex_Event_Wait$",
    ],
    "handler": [rf"rank 1 is inside a handler of a message and {QUIET}; rank 0 waits for it$"],
    "network": [
        r"rank [01] waits in gasnet_barrier_wait for ranks that poll, and has sent \d+ frames again: the network to "
        r"their host loses them$"
    ],
}
# Words that no diagnosis of another program may contain. (In "barrier" a message is missing, too.)
FAULTY = {
    "stopped": "is stopped", "mismatch": "a circle", "handler": "inside a handler", "locked": "gex_HSL_Lock",
    "network": "loses them", "inbox": "no room for a message", "loop": "computes and",
}  # fmt: skip


def start_of(word):
    """The options and variables with which a program is started."""
    if word == "network":  # each datagram is lost
        return ["--conduit", "udp"], launch.environment(PENSTOCK_IMPAIR_DROP="1", PENSTOCK_IMPAIR_SEED="1")
    return ["--conduit", "shm"], launch.environment(PENSTOCK_CHECK_OFF="lock,handler")


def fits(word, text):
    return all(re.search(line, text, re.M) for line in WAYS[word])


class Why(LaunchTest):
    def explain(self, word):
        """Returns the output of `penstock why` once it says enough, and the launcher's report at SIGUSR2."""
        options, env = start_of(word)
        said = [""]

        def ask():
            said[0] = penstock("why", job.pid, "--no-stack").out
            return fits(word, said[0])

        with running("-n", 2, *options, program("hang"), word, env=env) as job:
            launch.wait_until(ask, 15)
            job.send_signal(signal.SIGUSR2)
        return word, said[0], job.said

    def test_ten_programs_that_hang(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for word, said, report in pool.map(self.explain, WAYS):
                with self.subTest(word=word):
                    self.assertTrue(fits(word, said), said)
                    self.assertTrue(fits(word, report), report)
                    for other, fault in FAULTY.items():
                        if other != word:
                            self.assertNotIn(fault, said)

    def test_the_report_at_the_time_limit_says_it_too(self):
        options, env = start_of("mismatch")
        job = Job([support.PENSTOCK, "run", "-n", "2", *options, "--timeout", "3", program("hang"), "mismatch"], env=env)
        self.assertEqual(job.status, 124, job.err)
        self.assertTrue(fits("mismatch", job.err), job.err)

    def test_a_job_that_goes_on_is_not_blamed(self):
        with running("-n", 2, "--conduit", "shm", program("traffic"), "stream", lines=0) as job:
            self.assertTrue(launch.wait_until(lambda: penstock("why", job.pid).status == 0, 15))
            time.sleep(1.2)
            done = penstock("why", job.pid)
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertRegex(done.out, rf"^nothing holds up job {job.pid}: ")

    def test_the_stack_of_a_rank_that_does_not_poll(self):
        if shutil.which("eu-stack") is None and shutil.which("gdb") is None:
            self.skipTest("neither eu-stack nor gdb is installed")
        options, env = start_of("handler")
        with running("-n", 2, *options, program("hang"), "handler", env=env) as job:
            said = [""]

            def ask():
                said[0] = penstock("why", job.pid).out
                return "forever" in said[0]

            self.assertTrue(launch.wait_until(ask, 30), said[0])
        self.assertRegex(said[0], r"(?m)^stack of rank 1 \(pid \d+\):$")


if __name__ == "__main__":
    support.main()
