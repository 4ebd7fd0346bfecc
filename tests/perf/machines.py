#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/alike.py, coll.py and apps.py on a machine that changes: only jobs that met the same machine are compared. If
there is no such pair, all are compared, and the result says so."""

import argparse
import os
import sys
import unittest
from unittest import mock

SOURCE = os.environ.get("PENSTOCK_SOURCE_DIR", ".")
sys.path.insert(0, os.path.join(SOURCE, "bench"))
sys.dont_write_bytecode = True

import alike  # noqa: E402
import apps  # noqa: E402
import coll  # noqa: E402

NEAR, FAR = 60.0, 300.0  # nanoseconds of a line
POINT = ("coll_gather", 8)
OURS, THEIRS = 1.0, 2.0  # microseconds on the near machine; five times that on the far one


class Machine:
    """Answers in place of jobs and of line.c. kinds: what the machine is at each line; the last
    stays."""

    def __init__(self, kinds, failing=()):
        self.kinds, self.failing, self.asked = list(kinds), failing, []

    def line(self, _build):
        self.now = self.kinds.pop(0) if len(self.kinds) > 1 else self.kinds[0]
        return self.now

    def job(self, command, _timeout_s):
        self.asked.append(command)
        if command in self.failing:
            raise coll.Failed(f"status 1 from: {command}")
        return {POINT: (OURS if command == "ours" else THEIRS) * self.now / NEAR}


def compared(machine, runs=2):
    """coll.py's results of one operation, and who failed."""
    wanted = [("penstock", "ours"), ("openmpi", "theirs"), ("mpich", "others")]
    failures = {}
    with mock.patch.object(alike, "line_ns", machine.line), \
            mock.patch.object(coll, "values", machine.job):
        found = coll.measured("build", wanted, argparse.Namespace(runs=runs, budget=1), failures)
        return list(coll.compared(2, *found)), failures


def rounds(kinds, wanted=2):
    """The result of alike.py for jobs that find the machine in these states."""
    machine = Machine(kinds)
    with mock.patch.object(alike, "line_ns", machine.line):
        return alike.rounds("build", wanted, [lambda: machine.now, lambda: machine.now])


def played(kinds, rounds, works=(1.0,)):
    """The result of apps.py for programs at whose end the machine is in these states: a row for each peer and
    reading. works: what their yardsticks say in turn, the last from then on."""
    machine, works = Machine(kinds), list(works)

    class Program(apps.Program):
        def run(self, read):
            work = works.pop(0) if len(works) > 1 else works[0]
            took = (OURS if self.library == "Penstock" else THEIRS) * machine.kinds[0] / NEAR
            return {"": took * work, "work": work}

    application = apps.Application("app", "", "", [], ({"": []}, {"": []}),
                                   {"": float, "work": float}, 1.0, "work")
    with mock.patch.object(alike, "line_ns", machine.line), \
            mock.patch.object(apps.random, "sample", lambda of, count: of[:count]), \
            mock.patch.object(apps, "our_programs",
                              lambda *_: [Program("Penstock", "default", [])]), \
            mock.patch.object(apps, "their_programs", lambda *_: [
                Program("Open MPI", "default", []),
                Program("MPICH", "default", [], failure="it is not installed")]):
        return apps.compare("build", application, 2, rounds)


class Rounds(unittest.TestCase):
    def test_a_round_in_which_the_machine_changed_is_run_again(self):
        # Three lines a round: before, between and after its two jobs.
        self.assertEqual(rounds([NEAR, NEAR, NEAR, NEAR, FAR, FAR, FAR, FAR, FAR]),
                         [[NEAR, NEAR], [FAR, FAR]])

    def test_rounds_of_a_machine_that_never_stays_make_up_for_those_that_are_missing(self):
        self.assertEqual(rounds([NEAR, NEAR, NEAR] + [FAR, NEAR] * 50),
                         [[NEAR, NEAR], [FAR, NEAR]])


class Alike(unittest.TestCase):
    def test_a_quiet_machine_is_asked_as_often_as_wanted(self):
        machine = Machine([NEAR])
        (result,), failures = compared(machine)
        self.assertEqual(result["ratio"], OURS / THEIRS)
        self.assertEqual((len(machine.asked), result["changed"], failures), (6, False, {}))

    def test_our_job_is_not_compared_with_theirs_of_another_machine(self):
        # A line before the round and one after each job: Penstock near, the peer far, then the reverse.
        machine = Machine([NEAR, NEAR, FAR, FAR, FAR, FAR, NEAR, NEAR, NEAR])
        (result,), _ = compared(machine)
        self.assertAlmostEqual(result["ratio"], OURS / THEIRS)
        self.assertFalse(result["changed"])
        self.assertGreater(len(machine.asked), 6)

    def test_a_job_in_which_the_machine_changed_does_not_count(self):
        wanted = [("penstock", "ours")]
        machine, jobs = Machine([NEAR, FAR]), {}
        with mock.patch.object(alike, "line_ns", machine.line), \
                mock.patch.object(coll, "values", machine.job):
            coll.run_round("build", wanted, argparse.Namespace(budget=1), jobs, {})
        self.assertIsNone(jobs["penstock"][0].line)
        self.assertEqual(coll.pairs_of(jobs), [])

    def test_where_nothing_is_alike_all_are_compared_and_that_is_told(self):
        machine = Machine([NEAR, FAR] * 100)
        (result,), _ = compared(machine)
        self.assertTrue(result["changed"])
        self.assertEqual(len(machine.asked), 3 * 2 * alike.ROUNDS_EACH)
        self.assertIsNotNone(result["ratio"])

    def test_an_mpi_that_fails_is_not_asked_again_nor_waited_for(self):
        machine = Machine([NEAR], failing=("others",))
        (result,), failures = compared(machine)
        self.assertEqual(list(failures), ["mpich"])
        self.assertEqual(machine.asked.count("others"), 1)
        self.assertEqual((result["ratio"], result["baseline"]), (OURS / THEIRS, "openmpi"))

    def test_no_mpi_at_all_leaves_times_without_ratios(self):
        (result,), _ = compared(Machine([NEAR], failing=("theirs", "others")))
        self.assertEqual((result["value"], result["ratio"], result["baseline"]),
                         (OURS, None, "none"))


class Applications(unittest.TestCase):
    def test_runs_are_compared_with_those_of_the_same_machine(self):
        # A round: a line before, one after Penstock's run, one after the peer's. First Penstock near and the peer
        # far; then the reverse; more rounds follow, for no pair of the first two is alike.
        row = played([NEAR, NEAR, FAR, FAR, FAR, NEAR, NEAR, NEAR, NEAR], 2)[0]
        self.assertEqual((row["value"], row["baseline_value"], row["ratio"]),
                         (OURS, THEIRS, OURS / THEIRS))
        self.assertNotIn("why", row)

    def test_runs_whose_yardsticks_differ_are_not_compared(self):
        row, yardstick = played([NEAR], 2, [1.0, 2.0, 1.0, 4.0, 1.0])[:2]  # theirs: 2, 4, then 1
        self.assertEqual((row["value"], row["ratio"]), (OURS, OURS / THEIRS))
        self.assertIsNone(yardstick["pass"])

    def test_where_no_two_met_the_same_machine_that_is_told(self):
        row = played([NEAR, FAR] * 100, 2)[0]
        self.assertEqual(row["why"], apps.CHANGED)
        self.assertIsNotNone(row["ratio"])

    def test_a_peer_that_fails_is_a_miss_and_not_waited_for(self):
        row = played([NEAR], 2)[2]
        self.assertEqual((row["why"], row["pass"]), ("it is not installed", False))


if __name__ == "__main__":
    unittest.main()
