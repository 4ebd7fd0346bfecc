# SPDX-License-Identifier: BSD-3-Clause
"""Code that the launch tests share: starts jobs of the test rank, by `penstock run` or by the program itself, and
looks for leftovers."""

import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

BUILD = os.environ.get("PENSTOCK_BUILD_DIR", "build/dev")
SOURCE = os.environ.get("PENSTOCK_SOURCE_DIR", ".")
PENSTOCK = os.path.join(BUILD, "bin", "penstock")
RANK = os.path.join(BUILD, "tests", "launch", "launch_rank")
MARK = f"PENSTOCK_TEST_MARK={os.getpid()}.{time.monotonic_ns()}"  # in the environment of what we start
with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
    SANITIZED = bool(re.search(r"^PENSTOCK_SANITIZE:\w+=\S", cache.read(), re.M))
SLOW = 8  # how much longer than promised things may take on a crowded machine


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PENSTOCK_", "GASNET_", "SLURM_"))}
    name, value = MARK.split("=")
    env[name] = value
    # A sanitizer's own handlers would turn the signals that ranks are killed by into exits.
    plain = "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_abort=0:handle_sigill=0"
    env["ASAN_OPTIONS"] = env["TSAN_OPTIONS"] = env["UBSAN_OPTIONS"] = plain
    env.update(extra)
    return env


def launch_command(ranks, *steps, options=()):
    return [PENSTOCK, "run", "-n", str(ranks), *options, RANK, *steps]


class Job:
    """A finished job: status as a shell sees it, output, seconds it took."""

    def __init__(self, command, stdin=None, env=None, limit=60, **more):
        started = time.monotonic()
        try:
            self.process = subprocess.run(
                command,
                input=stdin,
                stdin=None if stdin is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env or environment(),
                timeout=patience(limit),
                check=False,
                **more,
            )
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{late}; until then it said: {late.stdout} {late.stderr}") from None
        self.seconds = time.monotonic() - started
        self.out = self.process.stdout.decode()
        self.err = self.process.stderr.decode()
        code = self.process.returncode
        self.status = 128 - code if code < 0 else code
        self.signalled = code < 0


def run(ranks, *steps, options=(), **more):
    return Job(launch_command(ranks, *steps, options=options), **more)


def fork(ranks, *steps, env=None, **more):
    return Job([RANK, *steps], env={**(env or environment()), "GASNET_PSHM_NODES": str(ranks)}, **more)


def start(command, **more):
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    more.setdefault("stdin", subprocess.DEVNULL)
    more.setdefault("env", environment())
    return subprocess.Popen(command, **more)


def left_over():
    """Processes that carry the test's mark, without the test's own zombies."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as f:
                marked = MARK.encode() in f.read()
            with open(f"/proc/{name}/stat", encoding="latin-1") as f:
                state = f.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marked and state not in "ZX":
            found.append(int(name))
    return found


def wait_until(condition, seconds=10):
    end = time.monotonic() + patience(seconds)
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def pids_of(stream, ranks):
    """Reads what the step `pid` of every rank prints, as {rank: pid}."""
    pids = {}
    while len(pids) < ranks:
        line = stream.readline().decode()
        if not line:
            break
        found = re.match(r"rank (\d+) pid (\d+)$", line.strip())
        if found:
            pids[int(found[1])] = int(found[2])
    return pids


class LaunchTest(unittest.TestCase):
    def tearDown(self):
        self.assertTrue(wait_until(lambda: not left_over(), 20), f"left behind: {left_over()}")

    def expect(self, job, status, *texts):
        """The status, and every text (a regular expression) in the messages, each on one line."""
        self.assertEqual(job.status, status, job.err + job.out)
        for text in texts:
            lines = [line for line in job.err.splitlines() if re.search(text, line)]
            self.assertEqual(len(lines), 1, f"{text!r} not once in:\n{job.err}")
            self.assertRegex(lines[0], r"^penstock\[[^]]+\] (error|warning): ")


def main():
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
