#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where the key of a launch is while the job runs: in the memory that its ranks share, and nowhere else in the memory
of the launcher, of the agents and of the ranks. No core file holds it. Two hosts, which an ssh of the test makes up."""

import glob
import os
import re
import resource
import signal
import tempfile
import unittest

import support
from support import LaunchTest, left_over, start, wait_until

RANKS = 4
CORE_MAX = 1 << 30  # bytes; far more than the private memory of a process of this test
SSH = """#!/bin/sh
while [ "$1" != a ] && [ "$1" != b ]; do shift; done
shift
SSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec sh -c "exec $*"
"""


def command_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().decode().split("\0")


def core_files_lie_here():
    """Whether the kernel writes a core file into the folder of the process that dies."""
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        return not file.read().startswith(("|", "/"))


def allow_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (CORE_MAX, CORE_MAX))


def private_memory(pid):
    """Every private mapping of a process that it may read: name, bytes."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) r..p \S+ \S+ \S+ *(.*)", line)
            if not found or found[3] in ("[vvar]", "[vsyscall]", "[vdso]"):
                continue
            first, end = int(found[1], 16), int(found[2], 16)
            memory.seek(first)
            try:
                yield found[3] or "anonymous", memory.read(end - first)
            except OSError:
                pass  # pages that were promised only


class Secrets(LaunchTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.ssh = os.path.join(self.folder.name, "ssh")
        with open(self.ssh, "w", encoding="utf-8") as file:
            file.write(SSH)
        os.chmod(self.ssh, 0o755)

    def read_key(self, job):
        keys = set()
        for _ in range(RANKS):
            line = job.stdout.readline().decode()
            found = re.match(r"rank \d+ key ([0-9a-f]{64})$", line.strip())
            self.assertTrue(found, line)
            keys.add(found[1])
        self.assertEqual(len(keys), 1)
        return bytes.fromhex(keys.pop())

    @unittest.skipIf(support.SANITIZED, "a sanitizer's shadow is too large to read")
    def test_the_key_is_in_no_private_memory(self):
        command = [support.PENSTOCK, "run", "-n", str(RANKS), "--hosts", "a,b", support.RANK,
                   "join", "key", "flush", "barrier", "hang"]  # fmt: skip
        job = start(command, env=support.environment(GASNET_SSH_CMD=self.ssh))
        key = self.read_key(job)
        pids = left_over()
        kinds = [os.path.basename(command_of(pid)[0]) + " " + command_of(pid)[1] for pid in pids]
        self.assertEqual(sorted(kinds), sorted(["penstock run"] + 2 * ["penstock agent"] + RANKS * ["launch_rank join"]))
        found, looked = [], 0
        for pid, kind in zip(pids, kinds):
            for name, content in private_memory(pid):
                looked += len(content)
                if key[:16] in content or key[16:] in content:
                    found.append(f"{kind}: {name}")
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=support.patience(30))
        self.assertGreater(looked, len(pids) << 20)
        self.assertEqual(found, [])
        self.assertTrue(wait_until(lambda: not left_over(), 10))

    @unittest.skipIf(support.SANITIZED, "a sanitizer makes core files of terabytes")
    @unittest.skipUnless(core_files_lie_here(), "core files of this machine are kept elsewhere")
    def test_the_key_is_in_no_core_file(self):
        command = [support.PENSTOCK, "run", "-n", str(RANKS), "--hosts", "a,b", support.RANK,
                   "join", "key", "flush", "barrier", "hang"]  # fmt: skip
        env = support.environment(GASNET_SSH_CMD=self.ssh)
        job = start(command, env=env, cwd=self.folder.name, preexec_fn=allow_core_files)
        key = self.read_key(job)
        ranks = [pid for pid in left_over() if "launch_rank" in command_of(pid)[0]]
        agents = [pid for pid in left_over() if command_of(pid)[1] == "agent"]
        for pid in (ranks[0], agents[0]):
            os.kill(pid, signal.SIGABRT)
        job.communicate(timeout=support.patience(30))
        self.assertTrue(wait_until(lambda: not left_over(), 10))
        cores = glob.glob(os.path.join(self.folder.name, "core*"))
        self.assertTrue(cores, "the kernel wrote no core file")
        mark = support.MARK.encode()
        for core in cores:
            with open(core, "rb") as file:
                content = file.read()
            self.assertLess(len(content), CORE_MAX // 2)
            self.assertTrue(mark in content)  # the environment is in it, so it is the memory of the process
            self.assertFalse(key[:16] in content or key[16:] in content, f"the key is in {os.path.basename(core)}")


if __name__ == "__main__":
    unittest.main()
