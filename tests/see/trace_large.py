#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`penstock trace` with made-up traces of 64 and 1,024 ranks: it sums them up in time, and finds the slow rank."""

import os
import re
import shutil
import struct
import tempfile
import time

from support import LaunchTest, launch, patience, penstock

SECONDS = 10  # the limit; busy machines get patience
HEAD, RECORD, EVENT = struct.Struct("<8s4IQ"), struct.Struct("<4IQ"), struct.Struct("<QIBBHIIQ")
HOST, END, EVENTS = 1, 4, 2
SENT, HANDLED, WAIT, ENTER = 1, 2, 3, 9
BARRIER_WAIT, COLLECTIVE, NAMED = 12, 8, 1
STEP, WORK = 100_000, 40_000  # ticks, which are nanoseconds


def events_of(rank, ranks, steps, slow):
    """A ring of neighbours: each step sends to the next rank, hears of the one before, and ends with a barrier, to which
    the slow rank comes late."""
    out = bytearray(EVENT.size * 4 * steps)
    there, back = (rank + 1) % ranks, (rank - 1) % ranks
    for step in range(steps):
        begin = step * STEP
        enter = begin + (2 * WORK if rank == slow else WORK)
        at = EVENT.size * 4 * step
        EVENT.pack_into(out, at, begin + 100, 50, SENT, 1, 200, there, step, 256)
        EVENT.pack_into(out, at + 32, begin + 900, 300, HANDLED, 1, 200, back, step, 256)
        EVENT.pack_into(out, at + 64, enter, 0, ENTER, NAMED, 0, 0, step, 0)
        EVENT.pack_into(out, at + 96, enter, begin + 2 * WORK + 500 - enter, WAIT, 6, BARRIER_WAIT, slow, step, 0)
    return bytes(out)


def write(path, ranks, steps, slow):
    def record(file, kind, which, count, first, body):
        file.write(RECORD.pack(kind, len(body), which, count, first) + body)

    with open(path, "wb") as file:
        file.write(HEAD.pack(b"PENTRACE", 1, 32, ranks, 1, 0))
        for clock in (0, 10_000_000):
            record(file, HOST, 0, 0, 0, struct.pack("<2I3Q64s", 0, ranks, clock, clock, clock, b"made-up"))
        for rank in range(ranks):
            events, batch = events_of(rank, ranks, steps, slow), 1024 * EVENT.size
            for at in range(0, len(events), batch):
                part = events[at : at + batch]
                record(file, EVENTS, rank, len(part) // EVENT.size, at // EVENT.size, part)
        record(file, END, 0, 0, 0, b"")


class Large(LaunchTest):
    def check(self, ranks, steps):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path, slow = os.path.join(folder, "trace"), ranks - 5
        write(path, ranks, steps, slow)
        for options in ([], ["--html"]):
            begun = time.monotonic()
            done = penstock("trace", *options, path)
            took = time.monotonic() - begun
            self.assertEqual(done.status, 0, done.err)
            self.assertLess(took, patience(SECONDS))
            print(f"{ranks} ranks, {4 * ranks * steps} events, {' '.join(options) or 'summary'}: {took:.2f} s")
            if not options:
                self.check_text(done.out, ranks, steps, slow)

    def check_text(self, text, ranks, steps, slow):
        self.assertIn(f"{ranks} ranks on 1 host", text)
        self.assertRegex(text, rf"the busiest is rank {slow},")
        self.assertRegex(text, rf"\(rank {slow} was last\)")
        self.assertRegex(text, rf"(?m)^ +{slow} .* {steps} +[\d.]+ ms$")
        self.assertIn(f"({ranks} pairs of ranks in all)", text)
        self.assertIn(f"({ranks * steps} were matched)", text)
        self.assertTrue(re.search(r"(?m)^\s*\.\.\. \(\d+ more\)$", text))

    def test_64_ranks(self):
        self.check(64, 2000)

    def test_1024_ranks(self):
        self.check(1024, 500)


if __name__ == "__main__":
    launch.main()
