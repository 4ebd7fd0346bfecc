#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants each bug of plants.py in a copy of the engine, and expects the checker to find it.

    plant.py <source tree> <penstock> <folder of the checkers> <work folder> [<words of names>...]

The copy is built once; then each plant costs the file it is in and a link. The checkers stay as they
are: the planted library is loaded in place of theirs. Each has 10^6 operations. The copy without
plants has to pass, and every plant to be found: by a mismatch, or by the engine ending the job.
"""
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

import plants

OPS, CONTROL_OPS, SECONDS, STALL = 1000000, 100000, 240, 10
LINKED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "command", "include", "scripts", "docs",
          "README.md", "LICENSE", "man", "bench", "examples", "tests", "compat", "softnic", "sim"]
WITHIN = re.compile(r"within (\d+) operations")


def copy_sources(source, copy):
    """Makes src/ a copy, leaving files with equal contents untouched, and links the rest."""
    os.makedirs(copy, exist_ok=True)
    for name in LINKED:
        link, target = os.path.join(copy, name), os.path.join(source, name)
        if os.path.exists(target) and not os.path.islink(link):
            os.symlink(target, link)
    wanted = set()
    for folder, _, names in os.walk(os.path.join(source, "src")):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), source)
            wanted.add(path)
            write(os.path.join(copy, path), read(os.path.join(source, path)))
    for folder, _, names in os.walk(os.path.join(copy, "src")):
        for name in names:
            if os.path.relpath(os.path.join(folder, name), copy) not in wanted:
                os.remove(os.path.join(folder, name))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    if os.path.exists(path) and read(path) == text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run(command, limit=600, environment=None):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=patience(limit), check=False, env=environment,
    )
    return done.returncode, done.stdout


class Bench:
    """The copy of the engine and the programs that run with it."""

    def __init__(self, source, penstock, programs, work):
        self.source, self.penstock, self.programs = source, penstock, programs
        self.copy, self.build = os.path.join(work, "source"), os.path.join(work, "build")

    def make(self):
        copy_sources(self.source, self.copy)
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            shutil.rmtree(self.build, ignore_errors=True)
            status, output = run(
                ["cmake", "-G", "Ninja", "-S", self.copy, "-B", self.build,
                 "-DCMAKE_BUILD_TYPE=Release", "-DPENSTOCK_TESTS=OFF", "-DPENSTOCK_EXAMPLES=OFF",
                 "-DPENSTOCK_BENCH=OFF"])
            if status:
                sys.exit(f"cannot configure the copy of the engine:\n{output}")
        self.compile()

    def compile(self):
        status, output = run(["cmake", "--build", self.build, "--target", "penstock"])
        if status:
            sys.exit(f"the copy of the engine does not build:\n{output[-4000:]}")

    def check(self, program, ranks, arguments, variables, ops):
        library = os.path.join(self.build, "lib", "libpenstock.so.0")
        command = [self.penstock, "run", "-n", str(ranks), "--timeout", str(int(patience(SECONDS)))]
        for name, value in {**variables, "LD_PRELOAD": library}.items():
            command += ["--env", f"{name}={value}"]
        command += [os.path.join(self.programs, f"shadow.{program}"), *arguments, "--seed", "7"]
        return run(command + ["--ops", str(ops), "--stall", str(int(patience(STALL)))], SECONDS + 60)

    def plant(self, row):
        """Returns the checker's output, or the error of the row."""
        path = os.path.join(self.copy, row.file)
        text = read(path) if os.path.exists(path) else ""
        if text.count(row.old) != 1:
            return None, f"{row.file} has the text to replace {text.count(row.old)} times: mend plants.py"
        write(path, text.replace(row.old, row.new))
        try:
            self.compile()
            return self.check(row.program, row.ranks, row.arguments, row.variables, OPS), None
        finally:
            write(path, text)


def verdict(status, output):
    """Returns how the bug was found, or None if it was not."""
    within = WITHIN.search(output)
    if status and "MISMATCH" in output and within and int(within[1]) <= OPS:
        line = next(line for line in output.splitlines() if "MISMATCH" in line)
        return f"within {within[1]} operations: {line.split('MISMATCH: ')[-1][:150]}"
    if status and status != 124 and "error: " in output:
        line = next(line for line in output.splitlines() if "error: " in line)
        return f"the engine ends the job: {line[:150]}"
    return None


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    words = sys.argv[5:]
    bench = Bench(*sys.argv[1:5])
    bench.make()
    status, output = bench.check("seq", 2, plants.MIXED, {}, CONTROL_OPS)
    if status:
        print(output)
        sys.exit(f"without a plant the checker ends with status {status}")
    faults = 0
    rows = [row for row in plants.PLANTS if not words or any(word in row.name for word in words)]
    for row in rows:
        start = time.monotonic()
        said, wrong = bench.plant(row)
        how = verdict(*said) if said else None
        print(f"{row.name}: {how or wrong or 'NOT FOUND'} ({time.monotonic() - start:.0f} s)",
              flush=True)
        if not how:
            faults += 1
            print(said[1][-2000:] if said else "")
    print(f"{len(rows) - faults} of {len(rows)} planted bugs found")
    return 1 if faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
