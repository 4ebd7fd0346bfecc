#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""early_return.py SOURCE BUILD [--only NAME...] [--every N]: does each call's conformance program notice when
the call does nothing?

Each public call in turn is replaced, in the conformance programs that name it after TESTS:, by one
that evaluates its arguments and returns zero. One of those programs must then fail, in some thread
mode and at some number of ranks; else nobody checks what the call means. At least 95 of 100 calls
must be found out. The numbered forms of a message count as one call.
"""

import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

NEEDED = 0.95
JOB_SECONDS = 20
RANKS_TRIED = (3, 2, 8, 1)
HEADERS = ["gasnet.h", "gasnet_vis.h", "gasnet_coll.h", "gasnet_ratomic.h", "gasnet_mk.h"]
ARITIES = range(17)
# These calls end the process, or are called where no program can look: a script plays their program.
SCRIPTS = {"g1_exit_codes": "exit_codes.py"}

# These calls do nothing, as their headers say; no program could notice.
DO_NOTHING = {"gasnet_coll_loadTuningState", "gasnet_coll_dumpTuningState", "gasnet_coll_dumpProfile"}

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "conformance"))
import names  # noqa: E402  (the one place that knows how programs name calls)


def option(text, word, default):
    found = re.search(word + r":\s*([^\n*]*)", text)
    return found.group(1).split() if found else default


class Program:
    """A conformance program: the calls it names, and how it is built and started."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        text = names.read(path)
        self.calls = set()
        for comment in names.COMMENT.findall(text):
            for part in comment.split("TESTS:")[1:]:
                self.calls.update(names.WORD.findall(part))
        self.modes = option(text, "PEN_MODES", ["seq", "par"])
        allowed = [int(n) for n in option(text, "PEN_RANKS", ["1", "2", "3", "4", "8"])]
        self.ranks = [n for n in RANKS_TRIED if n in allowed] or allowed[:1]
        # Definitions before its first header, which decide what the headers declare.
        self.defines = re.findall(r"^#\s*define\s+GASNET.*$", text.split("#include")[0], re.M)


def is_void(call, text):
    family = re.sub(r"\d+$", "", call)  # the headers spell one as name##n
    return re.search(rf"\bvoid\s+({call}|{family}##n)\s*\(", text) is not None


def mutant_of(call, text):
    """The lines that make the call do nothing."""
    lines = []
    spelled = [call.removesuffix("[M]") + str(n) for n in ARITIES] if call.endswith("[M]") else [call]
    for name in spelled:
        evaluated = "__VA_OPT__((void)(__VA_ARGS__);)"
        if is_void(name, text):
            body = f"({{ {evaluated} (void)0; }})"
        else:
            body = (f"({{ {evaluated} __typeof__({name}(__VA_ARGS__)) pen_nothing_; "
                    "__builtin_memset(&pen_nothing_, 0, sizeof pen_nothing_); pen_nothing_; })")
        lines.append(f"#undef {name}")
        lines.append(f"#define {name}(...) __extension__{body}")
    return lines


class Sweep:
    def __init__(self, source, build, folder):
        self.source, self.build, self.folder = source, build, folder
        self.text = "".join(names.read(path) for path in
                            glob.glob(os.path.join(source, "include", "**", "*.h"), recursive=True))
        self.text = names.COMMENT.sub("", self.text)
        self.launcher = os.path.join(build, "bin", "penstock")
        self.headers = [h for h in HEADERS if os.path.exists(os.path.join(source, "include", h))]

    def compile(self, program, mode, call, out):
        inject = out + ".h"
        lines = program.defines + [f"#include <{header}>" for header in self.headers]
        with open(inject, "w", encoding="utf-8") as text:
            text.write("\n".join(lines + mutant_of(call, self.text)) + "\n")
        done = subprocess.run(
            ["cc", "-std=gnu11", "-O1", "-w", f"-DGASNET_{mode.upper()}=1", "-include", inject,
             "-I" + os.path.join(self.source, "include"), "-I" + os.path.join(self.build, "include"),
             "-I" + os.path.join(self.source, "tests"), program.path, "-o", out,
             "-L" + os.path.join(self.build, "lib"), "-Wl,-rpath," + os.path.join(self.build, "lib"),
             "-lpenstock", "-lm", "-lpthread"],
            capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else done.stderr

    def passes(self, program, binary, ranks):
        command = [self.launcher, "run", "-n", str(ranks), "--timeout", str(int(patience(JOB_SECONDS))), binary]
        if program.name in SCRIPTS:
            script = os.path.join(os.path.dirname(program.path), SCRIPTS[program.name])
            command = [sys.executable, script, self.launcher, binary, str(ranks)]
        try:
            done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL,
                                  timeout=patience(4 * JOB_SECONDS))
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def verdict(self, call, programs):
        """The programs that found the call out; or why no program did."""
        why = "named by no program"
        for program in programs:
            for mode in program.modes:
                tag = re.sub(r"\W", "", call)
                binary = os.path.join(self.folder, f"{program.name}.{mode}.{tag}")
                trouble = self.compile(program, mode, call, binary)
                if trouble is not None:
                    why = "does not compile: " + trouble.strip().split("\n")[0]
                    continue
                ranks = next((n for n in program.ranks if not self.passes(program, binary, n)), None)
                os.remove(binary)
                if ranks is not None:
                    return True, f"{program.name} ({mode}, {ranks} ranks)"
                why = f"{program.name} does not notice"
        return False, why


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--every", type=int, default=1, help="only each N-th call")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    programs = [Program(path) for path in
                sorted(glob.glob(os.path.join(args.source, "tests", "conformance", "*.c")))]
    declared = names.declared(args.source)
    calls = sorted({call for program in programs for call in program.calls
                    if call.endswith("[M]") or call in declared} - DO_NOTHING)
    calls = [call for call in calls if not args.only or call in args.only][::args.every]
    found = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        sweep = Sweep(args.source, args.build, folder)
        jobs = {call: pool.submit(sweep.verdict, call,
                                  [p for p in programs if call in p.calls]) for call in calls}
        for call, job in jobs.items():
            noticed, how = job.result()
            found += noticed
            print(f"{'noticed ' if noticed else 'MISSED  '} {call}: {how}", flush=True)
    print(f"{found} of {len(calls)} calls are noticed when they do nothing; needed: {NEEDED:.0%}")
    return 0 if calls and found >= NEEDED * len(calls) else 1


if __name__ == "__main__":
    sys.exit(main())
