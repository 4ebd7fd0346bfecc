#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""runner.py BUILD: the runner of bench/peers, with Penstock itself as the only peer."""

import os
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "bench", "peers"), os.path.join(ROOT, "bench")]

import alike  # noqa: E402
import blocks  # noqa: E402
import jobs  # noqa: E402
import process  # noqa: E402
import run  # noqa: E402
import settings  # noqa: E402
import tools  # noqa: E402

BUILD = os.path.abspath(sys.argv.pop())
QUICK = types.SimpleNamespace(quick=True, only=None, build=BUILD)


def ours(folder, setting, ranks=2):
    program = os.path.join(BUILD, "bench", "peers", "penstock")
    return jobs.Job("Penstock", setting, "ours",
                    [os.path.join(BUILD, "bin", "penstock"), "run", "-n", str(ranks), program],
                    ranks, folder)


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def job(self, *arguments, **named):
        job = ours(self.folder, *arguments, **named)
        self.addCleanup(job.close)
        return job

    def test_every_operation_of_ours_can_be_measured(self):
        job = self.job("one")
        self.assertIsNone(job.failure)
        for metric in run.metrics():
            same = {entry[2] for entries in metric.theirs.values() for entry in entries
                    if len(entry) > 2}
            for operation in {metric.ours} | same:
                took_ns, lost = job.block(operation, metric.length, 3)
                self.assertGreater(took_ns, 0, metric.name)
                self.assertGreaterEqual(lost, 0)

    def test_more_rounds_take_longer(self):
        job = self.job("one")
        few = min(job.block("put", 4096, 10)[0] for _ in range(5))
        self.assertGreater(job.block("put", 4096, 100000)[0], 10 * few)

    def test_two_jobs_do_blocks_in_turn(self):
        first, second = self.job("one"), self.job("two")
        with mock.patch.object(alike, "line_ns", lambda build: 1.0):
            result = blocks.measure(first, "put", second, "put", 1, 4096, QUICK, quiet=False)
            other = blocks.measure(first, "put", second, "put", 1e6, 4096, QUICK, quiet=False)
        self.assertEqual(result["blocks"], blocks.PAIRS_QUICK)
        self.assertGreater(result["ratio"], 0)
        self.assertLess(other["ratio"], result["ratio"] / 10)  # worth a million of ours

    def test_barriers_of_more_ranks_than_cores(self):
        job = self.job("four", ranks=4)
        self.assertGreater(job.block("barrier", 0, 10)[0], 0)

    def test_an_operation_that_does_not_exist_is_a_failure_with_a_reason(self):
        job = self.job("one")
        with self.assertRaisesRegex(process.Failed, "wants what I cannot do"):
            job.block("nonsense", 8, 1)
        with self.assertRaises(process.Failed):  # and stays one
            job.block("am_short", 8, 1)

    def test_a_program_that_does_not_start_is_a_failure_with_a_reason(self):
        job = jobs.Job("Nobody", "default", "mpi", ["sh", "-c", "echo no such thing; exit 1"], 2,
                       self.folder)
        self.assertRegex(job.failure, "does not start: no such thing")


class Fixed:
    """A job whose operation takes one nanosecond, always."""

    is_tool = False

    @staticmethod
    def block(_operation, _length, rounds):
        return rounds, 0


class Blocks(unittest.TestCase):
    @staticmethod
    def measure(lines):
        """The reading on a machine whose line takes these times, the last time from then on."""
        with mock.patch.object(alike, "line_ns",
                               lambda build: lines.pop(0) if len(lines) > 1 else lines[0]), \
                mock.patch.object(blocks, "PATIENCE_S", 0.2):
            return blocks.measure(Fixed, "put", Fixed, "put", 1, 8, QUICK, quiet=False)

    def test_pairs_between_whose_blocks_the_machine_changed_are_put_aside(self):
        result = self.measure([60, 60, 60, 60, 300])  # the second pair's second block, and then not
        self.assertEqual((result["blocks"], result["rejected"]), (blocks.PAIRS_QUICK, 1))

    def test_others_make_up_for_them(self):
        result = self.measure([60, 300] * blocks.PAIRS_QUICK + [300])
        self.assertGreater(result["blocks"], blocks.PAIRS_QUICK)
        self.assertEqual(result["ratio"], 1)


class Rows(unittest.TestCase):
    metric = run.Metric("short", "am_short", 8, {"mpi": [("ping_pong", 1)]}, run.SHORT)

    def row(self, ratio, **more):
        peer = types.SimpleNamespace(library="MPICH", setting="default")
        result = {"value": 1, "baseline_value": 1, **more, "ratio": ratio}
        return run.row_of(self.metric, peer, "ping_pong", result, None)

    def test_limits_are_those_of_the_peer(self):
        self.assertEqual([self.row(ratio)["pass"] for ratio in (0.59, 0.61)], [True, False])
        self.assertEqual([self.row(ratio)["stretch"] for ratio in (0.44, 0.46)], [True, False])

    def test_a_peer_that_is_not_there_fails_its_row_and_says_why(self):
        peer = jobs.Absent("MPICH", "default", "mpi", "mpicc.mpich is not installed")
        (row,) = run.compare(self.metric, None, [peer], QUICK)
        self.assertFalse(row["pass"])
        self.assertIn("not installed", row["why"])

    def test_disturbed_pairs_are_put_aside(self):
        quiet = [{"ours": 1.0, "theirs": 2.0, "disturbed": False}] * 3
        result = blocks.judge(quiet + [{"ours": 9.0, "theirs": 2.0, "disturbed": True}] * 4)
        self.assertEqual((result["ratio"], result["rejected"]), (0.5, 4))

    def test_a_run_without_a_quiet_moment_says_so(self):
        result = blocks.judge([{"ours": 1.0, "theirs": 2.0, "disturbed": True}])
        self.assertIn("machine busy", result["why"])
        self.assertFalse(self.row(None, **result)["pass"])

    def test_a_compiler_that_is_not_there_is_a_reason(self):
        compiled = settings.compile_mpi("nobody", "mpi.c", [], BUILD)
        self.assertIn("mpicc.nobody is not installed", compiled.failure)

    def test_tools_are_read(self):
        ucx = tools.Tool("UCX", "default", "ucx", [], {})
        head = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,mr\n"
        said = head + "1000,0.416,172.2,172.2,0.04,0.04,5804,2000000\n"
        self.assertEqual(ucx.each_ns("ucp_am_lat", said), 416)
        self.assertEqual(ucx.each_ns("ucp_am_bw", said), 500)
        self.assertIsNone(ucx.each_ns("ucp_am_bw", "connection refused\n"))
        fabric = tools.Tool("libfabric", "shm", "fabric", [], {})
        said = "bytes   #sent   #ack  total  time  MB/sec usec/xfer Mxfers/sec\n" \
               "8       1k      =1k   15k    0.01s 1.85   4.32      0.23\n"
        self.assertEqual(fabric.each_ns("ping_pong", said), 4320)


if __name__ == "__main__":
    unittest.main()
