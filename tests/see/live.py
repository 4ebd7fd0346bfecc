#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`penstock jobs` and `penstock top`: they show a job's ranks, its exact traffic, and nothing to other users."""

import json
import os
import pty
import re
import subprocess
import unittest

import support
from support import PENSTOCK, LaunchTest, launch, penstock, program, running

MEDIUMS, LONGS, PUTS, GETS = 1000, 10, 1280, 20  # as in traffic.c
MEDIUM_LEN, LONG_LEN, GET_LEN, PUT_LEN = 300, 60000, 1000, 8
NOBODY = 65534
ESCAPE = "\033"


def top(job, *options):
    done = penstock("top", job.pid, "--once", "--interval", "100ms", *options)
    assert done.status == 0, done.err
    return done.out


def ranks_of(job, *options):
    return json.loads(top(job, "--json", *options))["ranks"]


def is_listed(job):
    return job.pid in [row["job"] for row in json.loads(penstock("jobs", "--json").out)]


def waits_in_barrier(job):
    return ranks_of(job)[0]["call"] == "gex_Event_Wait"


class Live(LaunchTest):
    def settled(self, conduit, **variables):
        """The ranks of the program with known traffic, once rank 0 waits."""
        env = launch.environment(**variables)
        with running("-n", 2, "--conduit", conduit, program("traffic"), lines=2, env=env) as job:
            seen = []

            def is_settled():  # rank 0 has copied its counters since its wait began
                seen[:] = ranks_of(job)
                return seen[0]["call"] == "gex_Event_Wait" and seen[0]["quiet_s"] < seen[0]["since_s"]

            self.assertTrue(launch.wait_until(is_settled, 20), seen)
            return ranks_of(job)

    def test_counters_in_shared_memory_are_exact(self):
        rank = self.settled("shm")[0]
        counters = rank["counters"]
        self.assertEqual(counters["am_sent_shm"], MEDIUMS + LONGS)
        self.assertEqual(counters["am_bytes_shm"] + counters["long_bytes_shm"], MEDIUMS * MEDIUM_LEN + LONGS * LONG_LEN)
        self.assertEqual((counters["get_shm"], counters["get_bytes_shm"]), (GETS, GETS * GET_LEN))
        self.assertGreaterEqual(counters["rma_begun"], PUTS - 128)
        self.assertEqual(counters["am_sent_net"] + counters["put_net"] + counters["am_bytes_net"], 0)
        self.assertEqual((rank["state"], rank["call"]), ("waiting", "gex_Event_Wait"))
        self.assertRegex(rank["wait"], r"waits in gex_Event_Wait for [\d.]+ s, for barrier \d+ of all ranks")

    def test_counters_over_a_network_are_exact(self):
        ranks = self.settled("udp")
        counters = ranks[0]["counters"]
        self.assertEqual(counters["am_sent_net"], MEDIUMS + LONGS)
        self.assertEqual(counters["am_bytes_net"], MEDIUMS * MEDIUM_LEN + LONGS * LONG_LEN)
        self.assertEqual((counters["put_net"], counters["put_bytes_net"]), (PUTS, PUTS * PUT_LEN))
        self.assertEqual((counters["get_net"], counters["get_bytes_net"]), (GETS, GETS * GET_LEN))
        self.assertEqual(counters["am_sent_shm"] + counters["put_shm"] + counters["get_shm"], 0)
        handled = ranks[1]["counters"]["am_handled"]  # as old as the last copy of a rank that sleeps
        self.assertTrue(0 < handled <= MEDIUMS + LONGS, handled)

    def test_resends_of_a_network_that_loses_frames(self):
        ranks = self.settled("udp", PENSTOCK_IMPAIR_DROP="0.2", PENSTOCK_IMPAIR_SEED="7")
        self.assertGreater(ranks[0]["counters"]["frame_resent"], 0)
        self.assertEqual(self.settled("shm")[0]["counters"]["frame_resent"], 0)

    def rates_of(self, conduit, word, way):
        """Operations per second, and bytes per second of that way, of a job in which rank 0 does one thing."""
        rates = []

        def has_rate():
            rates[:] = [row["operations_per_s"] | {"bytes": row["bytes_per_s"][way]} for row in ranks_of(job)]
            return rates[0][way] > 0

        with running("-n", 2, "--conduit", conduit, program("traffic"), word) as job:
            self.assertTrue(launch.wait_until(lambda: is_listed(job), 20))
            self.assertTrue(launch.wait_until(has_rate, 20), rates)
        return rates

    def test_rates_by_way(self):
        for conduit, way, other in (("shm", "shm", "net"), ("udp", "net", "shm")):
            rates = self.rates_of(conduit, "stream", way)
            self.assertAlmostEqual(rates[0]["bytes"] / rates[0][way], MEDIUM_LEN, delta=1)
            self.assertEqual((rates[0][other], rates[0]["inline"], rates[1][way]), (0, 0, 0))
        checked = json.loads(penstock("info", "--json").out)["build"]["checked"]  # there, inline code calls the library
        rates = self.rates_of("shm", "puts", "shm" if checked else "inline")
        self.assertEqual((rates[0]["net"], rates[1]["shm"], rates[1]["inline"]), (0, 0, 0))
        rates = self.rates_of("udp", "puts", "net")
        self.assertLess(rates[0]["inline"], rates[0]["net"] / 2)  # the steps of 128

    def test_jobs_lists_the_job_with_its_program(self):
        with running("-n", 2, program("traffic"), lines=2) as job:
            listed = {row["job"]: row for row in json.loads(penstock("jobs", "--json").out)}
            self.assertIn(job.pid, listed)
            row = listed[job.pid]
            self.assertEqual((row["ranks"], row["job_ranks"], row["hosts"]), (2, 2, 1))
            self.assertIn("see.traffic", row["program"])
            table = penstock("jobs").out
            self.assertRegex(table, rf"(?m)^ *{job.pid}  2 +1 of 1 .*see.traffic$")
            self.assertNotIn(ESCAPE, table)
            self.assertIn(str(job.pid), penstock("words", "top").out.split())
            pids = [rank["pid"] for rank in ranks_of(job)]
        self.assertFalse(is_listed(job))
        gone = penstock("top", job.pid, "--once")
        self.assertEqual(gone.status, 1)
        self.assertRegex(gone.err, rf"error: there is no job {job.pid} of yours on this host")
        self.assertEqual(len(set(pids)), 2)

    def test_the_table_is_plain_and_sorted(self):
        with running("-n", 3, "--conduit", "shm", program("traffic"), lines=3) as job:
            self.assertTrue(launch.wait_until(lambda: waits_in_barrier(job), 20))
            lines = top(job, "--sort", "since").splitlines()
            self.assertRegex(lines[0], rf"^job {job.pid}: ranks 0-2 of 3, host 1 of 1, .*see.traffic$")
            self.assertRegex(lines[1], r"^RANK +PID STATE +CALL +SINCE ")
            self.assertEqual([line.split()[0] for line in lines[2:]][-1], "1")  # it waits in no call
            self.assertRegex(lines[-1], r"^ +1 +\d+ asleep +- +- ")
            self.assertNotIn(ESCAPE, "".join(lines))
            self.assertEqual([row.split()[0] for row in top(job).splitlines()[2:]], ["0", "1", "2"])
            wrong = penstock("top", job.pid, "--sort", "sinc")
            self.assertEqual(wrong.status, 2)
            self.assertIn('did you mean "since"', wrong.err)

    def test_a_terminal_gets_one_table_in_place(self):
        with running("-n", 2, program("traffic"), lines=2) as job:
            pid, terminal = pty.fork()
            if pid == 0:
                os.environ["TERM"] = "xterm"
                os.execv(PENSTOCK, [PENSTOCK, "top", str(job.pid), "--interval", "50ms"])
            text = b""
            while text.count(b"\033[H\033[2J") < 3:
                text += os.read(terminal, 4096)
        with open(terminal, "rb", buffering=0) as rest:
            try:
                while rest.read(4096):
                    pass
            except OSError:
                pass  # the command has ended with the job
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertIn(b"see.traffic", text)

    def test_no_other_user_sees_a_job(self):
        if os.geteuid() != 0:
            self.skipTest("becoming another user takes root")
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        if subprocess.run([PENSTOCK, "--version"], check=False, capture_output=True, **other).returncode != 0:
            self.skipTest("the folder of this build is closed to other users")
        with running("-n", 2, program("traffic"), lines=2) as job:
            for words in (["top", str(job.pid), "--once"], ["why", str(job.pid)]):
                refused = support.Job([PENSTOCK, *words], **other)
                self.assertEqual(refused.status, 1, refused.out)
                self.assertIn(f"there is no job {job.pid} of yours", refused.err)
            self.assertEqual(json.loads(support.Job([PENSTOCK, "jobs", "--json"], **other).out), [])
        with running("-n", 2, program("traffic"), lines=2, **other) as job:  # root is another user, too
            self.assertEqual(penstock("top", job.pid, "--once").status, 1)
            self.assertFalse(is_listed(job))
            mine = json.loads(support.Job([PENSTOCK, "jobs", "--json"], **other).out)
            self.assertEqual([row["job"] for row in mine], [job.pid])

    def test_no_secret_is_shown(self):
        env = launch.environment(SECRET_TOKEN="hunter2-hunter2")
        with running("-n", 2, program("traffic"), lines=2, env=env) as job:
            shown = top(job) + top(job, "--json") + penstock("jobs", "--json").out
        self.assertNotIn("hunter2", shown)
        self.assertFalse(re.search(r"[0-9a-f]{32}", shown))


if __name__ == "__main__":
    support.main()
