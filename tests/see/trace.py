#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`penstock run --trace` and `penstock trace`: the trace of a program with known traffic, in every form."""

import collections
import csv
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import unittest

from support import LaunchTest, launch, penstock, program, running

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "site"))
import browser  # noqa: E402  (the folder is named above)

MEDIUMS, PUTS, BARRIERS, MEDIUM_LEN, PUT_LEN, LATE_NS = 500, 300, 5, 128, 64, 30_000_000  # as in traced.c
PLOTS = ["timeline", "balance", "calls", "causes", "matrix", "late"]
SECRET = "a-secret-of-the-user"


def rows_of(file, *options):
    done = penstock("trace", "--csv", file, *options)
    assert done.status == 0, done.err
    return list(csv.DictReader(done.out.splitlines()))


class Traces(LaunchTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def trace(self, name, ranks, *words, conduit="shm", **variables):
        file = os.path.join(self.folder, name)
        env = launch.environment(TOKEN=SECRET, **variables)
        job = penstock("run", "-n", ranks, "--conduit", conduit, f"--trace={file}", program("traced"), *words, env=env)
        self.assertEqual(job.status, 0, job.err)
        self.assertIn("rank 0 is ready, traced 1", job.out)
        return file

    def check_traffic(self, rows, ranks, ordered=True):
        """Each rank sends and handles what the program says; over links that keep the order, numbers match, too."""
        sent, handled = collections.Counter(), collections.Counter()
        for row in rows:
            if int(row["what"]) & 255 == 200 and row["kind"] in ("sent", "handled"):
                self.assertEqual(int(row["value"]), MEDIUM_LEN)
                pair = (row["rank"], row["peer"]) if row["kind"] == "sent" else (row["peer"], row["rank"])
                (sent if row["kind"] == "sent" else handled)[(*pair, row["number"] if ordered else "")] += 1
        self.assertEqual(sent.total(), ranks * MEDIUMS)
        self.assertEqual(sent, handled)
        for rank in range(ranks):
            mine = [row for row in rows if int(row["rank"]) == rank]
            puts = [row for row in mine if row["kind"] == "put" and int(row["value"]) == PUT_LEN]
            self.assertEqual(len(puts), PUTS)
            self.assertEqual({int(row["peer"]) for row in puts}, {(rank + 1) % ranks})
            entered = [row for row in mine if row["kind"] == "enter" and row["name"] == "barrier"]
            self.assertGreaterEqual(len(entered), BARRIERS + 1)
            own = [(row["kind"], row["name"]) for row in mine if row["kind"] in ("begin", "end", "mark", "value")]
            self.assertEqual(own, [("begin", "step"), ("end", "step"), ("mark", "arrived"), ("value", "messages")])

    def test_shared_memory(self):
        self.check_traffic(rows_of(self.trace("shm", 3)), 3)

    def test_a_network_that_loses_frames(self):
        file = self.trace("udp", 2, conduit="udp", PENSTOCK_IMPAIR_DROP="0.05", PENSTOCK_IMPAIR_SEED="3")
        rows = rows_of(file)
        self.check_traffic(rows, 2, ordered=False)
        self.assertTrue([row for row in rows if row["kind"] == "resent"])
        frames = [row for row in rows if row["kind"] == "handled"]
        found = int(re.search(r"\((\d+) were matched\)", penstock("trace", file).out)[1])
        self.assertGreater(found, 0.99 * len(frames))  # frames overtook each other

    def test_late_ranks_and_waits(self):
        file = self.trace("late", 3)
        waits = [row for row in rows_of(file) if row["kind"] == "wait" and row["name"] == "gex_Event_Wait"]
        for rank in (0, 1):  # they wait for the last one in each barrier
            length = sum(int(row["length_ns"]) for row in waits if int(row["rank"]) == rank)
            self.assertGreater(length, BARRIERS * LATE_NS * 0.8)
        text = penstock("trace", file).out
        late = re.search(r"^ +2 .* (\d+) +([\d.]+) ms$", text, re.M)
        self.assertGreaterEqual(int(late[1]), BARRIERS)
        self.assertGreater(float(late[2]), BARRIERS * LATE_NS / 1e6 * 0.8)
        for heading in ("Where the time went", "Time in the library, by call", "Waits, by cause", "Communication",
                        "Barriers and collectives", "Regions of the program"):
            self.assertIn(heading, text)
        self.assertRegex(text, r"load balance [\d.]+ %")
        self.assertNotIn("\033", text)

    def test_perfetto(self):
        file = self.trace("perfetto", 2)
        events = json.loads(penstock("trace", "--perfetto", file).out)["traceEvents"]
        begins = {e["id"]: e for e in events if e["ph"] == "s"}
        ends = {e["id"]: e for e in events if e["ph"] == "f"}
        self.assertGreaterEqual(len(begins), 2 * MEDIUMS)
        self.assertEqual(set(begins), set(ends))
        for name, begin in begins.items():  # one clock: no message is handled before it is sent
            self.assertNotEqual(begin["pid"], ends[name]["pid"])
            self.assertGreaterEqual(ends[name]["ts"], begin["ts"])
        phases = collections.Counter(e["ph"] for e in events)
        self.assertEqual((phases["B"], phases["E"], phases["C"]), (2, 2, 2))
        self.assertIn("rank 1 (", json.dumps([e for e in events if e["ph"] == "M"]))

    def test_selections(self):
        file = self.trace("select", 3)
        rows = rows_of(file)
        self.assertEqual({row["rank"] for row in rows_of(file, "--rank", "0,2")}, {"0", "2"})
        middle = sorted(int(row["begin_ns"]) for row in rows)[len(rows) // 2]
        part = rows_of(file, "--between", "0", f"{middle / 1e9}")
        self.assertTrue(0 < len(part) < len(rows))
        self.assertLess(max(int(row["begin_ns"]) for row in part), middle + 1)
        for words in (["--between", "1"], ["--rank", "x"], ["--colour"], []):
            wrong = penstock("trace", *([file] if words != [] else []), *words)
            self.assertEqual(wrong.status, 2, words)
            self.assertIn("penstock[trace] error: ", wrong.err)

    @unittest.skipUnless(browser.find(), "there is no chromium")
    def test_page(self):
        file = self.trace("page", 4)
        page = os.path.join(self.folder, "page.html")
        with open(page, "w", encoding="utf-8") as out:
            out.write(penstock("trace", "--html", file).out)
        shown, errors = browser.look(f"file://{page}", os.path.join(self.folder, "page.png"))
        self.assertEqual(errors, [])
        for plot in PLOTS:
            self.assertRegex(shown, f'<svg id="{plot}"[^>]*>\\s*<')
        self.assertNotRegex(shown, r"(src|href)=")  # it needs no other file
        self.assertGreater(os.path.getsize(os.path.join(self.folder, "page.png")), 10_000)

    def test_a_small_ring_drops_the_oldest_and_says_so(self):
        file = os.path.join(self.folder, "small")
        env = launch.environment(PENSTOCK_TRACE=file, PENSTOCK_TRACE_SIZE="4K")
        with running("-n", 2, program("traced"), "flood", lines=2, env=env) as job:
            launch.wait_until(lambda: os.path.getsize(file) > 100_000, 20)
        self.assertNotEqual(job.returncode, 0)
        text = penstock("trace", file).out
        self.assertRegex(text, r"\d+ events were dropped")

    def test_only_its_user_reads_it_and_it_holds_no_secret(self):
        file = os.path.join(self.folder, "private")
        with open(file, "w", encoding="utf-8") as out:
            out.write("older")
        os.chmod(file, 0o644)
        self.trace("private", 2)
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)
        with open(file, "rb") as trace:
            content = trace.read()
        for word in (SECRET, "payload-of-a-message", "TOKEN"):
            self.assertNotIn(word.encode(), content)
        self.assertIn(b"arrived", content)  # names of regions are there

    def test_files_that_cannot_be_written_or_read(self):
        link = os.path.join(self.folder, "link")
        os.symlink(os.path.join(self.folder, "elsewhere"), link)
        for name in (link, self.folder, os.path.join(self.folder, "none", "file")):
            job = penstock("run", "-n", 1, f"--trace={name}", program("traced"))
            self.assertNotEqual(job.status, 0)
            self.assertIn("cannot write the trace", job.err)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "elsewhere")))
        for name in ("/nowhere", program("traced")):
            self.assertIn("cannot read the trace", penstock("trace", name).err)

    def test_a_program_without_a_launcher_says_that_it_writes_none(self):
        file = os.path.join(self.folder, "alone")
        job = launch.Job([program("traced")], env=launch.environment(PENSTOCK_TRACE=file))
        self.assertIn("no trace is written", job.err)
        self.assertIn("rank 0 is ready, traced 0", job.out)
        self.assertFalse(os.path.exists(file))

    def test_variables_of_the_gasnet_documents(self):
        stats = os.path.join(self.folder, "stats.%")
        for mask, kinds in (("GP", {"get", "put", "set", "done"}), ("AU", {"sent", "handled", "stall", "begin", "end", "mark",
                                                                          "value"})):
            env = launch.environment(GASNET_TRACEFILE=os.path.join(self.folder, f"{mask}.%"), GASNET_TRACEMASK=mask,
                                     GASNET_STATSFILE=stats)
            job = penstock("run", "-n", 2, program("traced"), env=env)
            self.assertEqual(job.status, 0, job.err)
            found = {row["kind"] for row in rows_of(os.path.join(self.folder, f"{mask}.0"))}
            self.assertTrue(found and found <= kinds, found)
            env = launch.environment(GASNET_TRACEFILE=os.path.join(self.folder, "all"), GASNET_TRACEMASK=f"^{mask}")
            self.assertEqual(penstock("run", "-n", 2, program("traced"), env=env).status, 0)
            found = {row["kind"] for row in rows_of(os.path.join(self.folder, "all"))}
            self.assertTrue("wait" in found and not found & kinds, found)
        for rank in range(2):
            with open(stats.replace("%", str(rank)), encoding="utf-8") as file:
                lines = file.read().splitlines()
            self.assertEqual([line.split(":")[0] for line in lines], [f"penstock[rank {rank}] counters"] * 2)
            self.assertRegex(lines[0], r"am_sent_shm=\d+")
        for name, value in (("GASNET_TRACEMASK", "GQ"), ("GASNET_TRACEFILE", "-")):
            job = penstock("run", "-n", 1, program("traced"), env=launch.environment(**{name: value}))
            self.assertNotEqual(job.status, 0)
            self.assertIn(f"{name}={value}: ", job.err)

    def test_a_job_of_a_program_that_forks_its_ranks(self):
        file = os.path.join(self.folder, "forked")
        env = launch.environment(GASNET_PSHM_NODES="2", PENSTOCK_TRACE=file)
        job = launch.Job([program("traced")], env=env)
        self.assertEqual(job.status, 0, job.err)
        self.check_traffic(rows_of(file), 2)


if __name__ == "__main__":
    launch.main()
