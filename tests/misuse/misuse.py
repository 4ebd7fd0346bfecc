#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""misuse.py PENSTOCK SOURCES PROGRAMS [NAME...]: runs the programs with a planted bug against the
checked library.

Each program's first comment holds the line to expect, a regular expression, and the number of ranks.
A job with the bug has to end, with a status other than 0, and every rank that prints an error or a
warning prints that line, once, and no other. The same program with the bug removed has to end with
status 0, and no rank prints anything of the kind. Prints the score by class of mistake (the first
word of a program's name); fails under 95 %, on a class of fewer than five programs, on any job that
does not end by itself and on any false alarm."""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

SCORE_MIN = 0.95
CLASS_MIN = 5
LIMIT_S = 30 * int(os.environ.get("PEN_MISUSE_SLOWDOWN", "1"))

# What the classes are made of, in the order in which they are shown.
CLASSES = {
    "handler restrictions": ("handler",),
    "lock and section restrictions": ("hsl", "hold"),
    "replies and tokens": ("reply", "token"),
    "arguments": ("argument",),
    "addresses outside a segment": ("segment",),
    "outstanding operations that overlap": ("overlap",),
    "not synchronised at the end": ("end",),
    "events and access regions": ("event", "region"),
    "barriers and collectives": ("barrier", "collective"),
    "threads and order of calls": ("thread",),
    "negotiated payload": ("prepare",),
    "capabilities of endpoints": ("capability",),
}

HEAD = re.compile(r"EXPECT: (?P<line>.*?)\s*\n \*\n \* PEN_RANKS: (?P<ranks>\d+)", re.DOTALL)
# By ranks, also one that has not joined its job; the note that follows a checked build's abort is
# about no mistake.
SAID = re.compile(r"^penstock\[(?!run\])(?P<rank>[^]]*)\] (?:error|warning): "
                  r"(?!caught SIGABRT;)(?P<text>.*)$")


class Program:
    def __init__(self, source):
        self.name = source.stem
        head = HEAD.search(source.read_text())
        if head is None:
            sys.exit(f"{source}: the first comment names no line to expect, or no PEN_RANKS")
        self.expected = re.compile(re.sub(r"\n \*\s+", " ", head["line"]))
        self.ranks = head["ranks"]

    def group(self):
        word = self.name.split("_")[0]
        for group, words in CLASSES.items():
            if word in words:
                return group
        sys.exit(f"{self.name}: {word} is no class of mistakes")


class Run:
    """One job: what is wrong with how it ended, and what it printed."""

    def __init__(self, command, program, binary):
        self.hung = False
        try:
            job = subprocess.run([command, "run", "-n", program.ranks, "--timeout", str(int(patience(LIMIT_S))),
                                  str(binary)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace",
                                 timeout=patience(2 * LIMIT_S))
            self.status, self.output = job.returncode, job.stdout
        except subprocess.TimeoutExpired as gone:
            self.status, self.output = 124, str(gone.stdout)
        self.hung = self.status == 124
        self.said = [m for m in map(SAID.match, self.output.splitlines()) if m]

    def wrong_with_bug(self, expected):
        if self.hung:
            return "the job did not end"
        if self.status == 0:
            return "status 0"
        other = [m["text"] for m in self.said if not expected.search(m["text"])]
        if other:
            return f"another line: {other[0]}"
        ranks = [m["rank"] for m in self.said]
        if not ranks:
            return "no line"
        return "a rank says it twice" if len(set(ranks)) != len(ranks) else None

    def wrong_without_bug(self):
        if self.hung:
            return "the job did not end"
        if self.status != 0:
            return f"status {self.status}"
        return f"false alarm: {self.said[0]['text']}" if self.said else None


def judge(command, programs_dir, program):
    bug = Run(command, program, programs_dir / program.name)
    fixed = Run(command, program, programs_dir / f"{program.name}.fixed")
    return program, bug, fixed


def main():
    command, sources, programs_dir, *names = sys.argv[1:]
    programs = [Program(source) for source in sorted(pathlib.Path(sources).glob("*.c"))
                if not names or source.stem in names]
    tally = collections.defaultdict(lambda: [0, 0])
    hung, alarms = [], []
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        results = list(pool.map(
            lambda program: judge(command, pathlib.Path(programs_dir), program), programs))
    for program, bug, fixed in results:
        wrong, alarm = bug.wrong_with_bug(program.expected), fixed.wrong_without_bug()
        count = tally[program.group()]
        count[0] += wrong is None
        count[1] += 1
        for what, run, how in ((wrong, bug, "with its bug"), (alarm, fixed, "without its bug")):
            if what is not None:
                print(f"{program.name} {how}: {what}", f"wanted: {program.expected.pattern}",
                      run.output, sep="\n")
        hung += [program.name] if bug.hung or fixed.hung else []
        alarms += [program.name] if alarm else []

    named, total = (sum(count[i] for count in tally.values()) for i in (0, 1))
    for group in CLASSES:
        if group in tally:
            print(f"{tally[group][0]:4} of {tally[group][1]:3}  {group}")
    print(f"{named:4} of {total:3}  named as expected; {len(alarms)} false alarms in {total} "
          f"programs without their bug; {len(hung)} did not end")
    small = [group for group, count in tally.items() if count[1] < CLASS_MIN] if not names else []
    for group in small:
        print(f"{group}: fewer than {CLASS_MIN} programs")
    return 1 if hung or alarms or small or named < SCORE_MIN * total else 0


if __name__ == "__main__":
    sys.exit(main())
