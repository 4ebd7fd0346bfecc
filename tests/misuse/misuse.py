#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""misuse.py PENSTOCK SOURCES PROGRAMS [NAME...]: runs the programs with a planted bug against the
checked library.

Each program's first comment holds the line to expect, a regular expression, and the number of ranks.
A job with the bug has to end, with a status other than 0, and every rank that prints an error or a
warning prints that line, once, and no other. The same program with the bug removed has to end with
status 0, and no rank prints anything of the kind. Prints the score by class of mistake (the first
word of a program's name); fails if one is missing, on a class of fewer than five programs, on any job that
does not end by itself and on any false alarm.

Overlaps are reported only with PENSTOCK_CHECK_OVERLAP=1, so programs of that class run with it, and
once more without it: then the bug is no mistake, and no rank prints anything.

For each class of checks one program, with its bug, runs with PENSTOCK_CHECK_OFF=<class>: its line is
not printed, and where the bug does no harm no rank prints anything and the job ends with status 0. It
runs with every other class off, too: its line is printed."""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

SCORE_MIN = 1.0
CLASS_MIN = 5
LIMIT_S = 30 * int(os.environ.get("PEN_MISUSE_SLOWDOWN", "1"))

# The members of the classes, in the order in which they are shown.
CLASSES = {
    "handler restrictions": ("handler",),
    "lock and section restrictions": ("hsl", "hold"),
    "replies and tokens": ("reply", "token"),
    "arguments": ("argument",),
    "addresses outside a segment": ("segment",),
    "outstanding operations that overlap": ("overlap",),
    "sources written too early": ("source",),
    "not synchronised at the end": ("end",),
    "events and access regions": ("event", "region"),
    "barriers and collectives": ("barrier", "collective"),
    "threads and order of calls": ("thread",),
    "negotiated payload": ("prepare",),
    "capabilities of endpoints": ("capability",),
}

# For each class of PENSTOCK_CHECK_OFF, a program whose bug does no harm if it is not checked. The jobs of those in
# HARMFUL fail, but without a message.
HARMFUL = ("reply", "barrier")
OFF = {
    "handler": "handler_getenv",
    "lock": "hsl_put",
    "reply": "token_late",
    "argument": "argument_mask",
    "overlap": "overlap_two_puts",
    "source": "source_written",
    "end": "end_event",
    "event": "event_test_after",
    "barrier": "barrier_names",
    "thread": "thread_seq_poll",
    "prepare": "prepare_put",
}

HEAD = re.compile(r"EXPECT: (?P<line>.*?)\s*\n \*\n \* PEN_RANKS: (?P<ranks>\d+)", re.DOTALL)
# By ranks, also one that has not joined its job; the note that follows a checked build's abort is
# about no mistake.
SAID = re.compile(r"^penstock\[(?!run\])(?P<rank>[^]]*)\] (?:error|warning): "
                  r"(?!caught SIGABRT;)(?P<text>.*)$")


OVERLAP = "outstanding operations that overlap"


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
    """Runs one job; returns the fault of its end, and its output."""

    def __init__(self, command, program, binary, **variables):
        self.hung = False
        environment = dict(os.environ)
        if program.group() == OVERLAP:
            environment["PENSTOCK_CHECK_OVERLAP"] = "1"
        environment.update(variables)
        try:
            job = subprocess.run([command, "run", "-n", program.ranks, "--timeout", str(int(patience(LIMIT_S))),
                                  str(binary)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace",
                                 env=environment,
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


def silent_overlap(command, programs_dir, program):
    """The bug of a program is not reported if the check for overlaps is off."""
    return Run(command, program, programs_dir / program.name,
               PENSTOCK_CHECK_OVERLAP="0", PENSTOCK_CHECK_OFF="source").wrong_without_bug()


def switched_off(command, programs_dir, program, name):
    binary = programs_dir / program.name
    off = Run(command, program, binary, PENSTOCK_CHECK_OFF=name)
    others = ",".join(other for other in OFF if other != name)
    on = Run(command, program, binary, PENSTOCK_CHECK_OFF=others)
    if any(program.expected.search(m["text"]) for m in off.said):
        return "the line is printed"
    wrong = None if name in HARMFUL else off.wrong_without_bug()
    return wrong or on.wrong_with_bug(program.expected)


def wrong_name(command, programs_dir, program):
    run = Run(command, program, programs_dir / f"{program.name}.fixed",
              PENSTOCK_CHECK_OFF="lock, locks")
    line = re.compile("PENSTOCK_CHECK_OFF=lock, locks: locks is no class of checks; give some of "
                      "these, separated by commas: " + " ".join(OFF))
    return run.wrong_with_bug(line)


def switches(command, programs_dir, programs):
    """Faults of the variables that switch checks off and on; a line each."""
    by_name = {program.name: program for program in programs}
    jobs = [(f"{program.name} without PENSTOCK_CHECK_OVERLAP", silent_overlap, (program,))
            for program in programs if program.group() == OVERLAP]
    jobs += [(f"{name} with PENSTOCK_CHECK_OFF={check}", switched_off, (by_name[name], check))
             for check, name in OFF.items() if name in by_name]
    jobs += [("a wrong name in PENSTOCK_CHECK_OFF", wrong_name, (program,))
             for program in programs[:1]]
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        wrongs = list(pool.map(lambda job: job[1](command, programs_dir, *job[2]), jobs))
    print(f"{wrongs.count(None):4} of {len(jobs):3}  switches")
    return [f"{what}: {wrong}" for (what, _, _), wrong in zip(jobs, wrongs) if wrong]


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
    wrong_switches = switches(command, pathlib.Path(programs_dir), programs)
    for line in wrong_switches:
        print(line)
    small = [group for group, count in tally.items() if count[1] < CLASS_MIN] if not names else []
    for group in small:
        print(f"{group}: fewer than {CLASS_MIN} programs")
    return 1 if hung or alarms or small or wrong_switches or named < SCORE_MIN * total else 0


if __name__ == "__main__":
    sys.exit(main())
