# SPDX-License-Identifier: BSD-3-Clause
"""Peers that come with a program for measurements of their own: ucx_perftest, fi_pingpong. A server
and a client, each on its core, are started for each block."""

import os
import shutil
import subprocess
import tempfile
import time

from process import Failed, cores, stop, tail

START_S, RUN_S, END_S = 10, 60, 10
ROUNDS_MIN = 1000
PORT_FIRST, PORTS = 18650, 500


def listening(port):
    """Whether somebody waits for a connection there; without making one."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as lines:
                for line in lines:
                    fields = line.split()
                    if fields[1].endswith(f":{port:04X}") and fields[3] == "0A":
                        return True
        except OSError:
            pass
    return False


class Tool:
    is_tool = True
    _ports_used = 0

    def __init__(self, library, setting, kind, arguments, environment):
        self.library, self.setting, self.kind = library, setting, kind
        self._arguments, self._environment = arguments, {**os.environ, **environment}
        program = {"ucx": "ucx_perftest", "fabric": "fi_pingpong"}[kind]
        self.failure = None
        if shutil.which(program) is None:
            self.failure = f"{program} is not installed: scripts/deps peers"
        elif len(cores()) < 2:
            self.failure = "it takes two processors"

    def _commands(self, port, operation, length, rounds):
        if self.kind == "ucx":
            server = ["ucx_perftest", "-p", str(port)]
            return server, [*server, "127.0.0.1", "-t", operation, "-s", str(length), "-n",
                            str(rounds), "-w", str(ROUNDS_MIN), "-f", "-v", *self._arguments]
        both = ["fi_pingpong", "-e", "rdm", "-S", str(length), "-I", str(rounds),
                *self._arguments]
        return [*both, "-B", str(port)], [*both, "-P", str(port), "127.0.0.1"]

    def each_ns(self, operation, said):
        """The numbers stand in the last line. Half a round trip: of UCX's the median, which is its
        best; of libfabric's the mean, which is all that it prints."""
        try:
            line = said.strip().splitlines()[-1]
            if self.kind == "fabric":
                return float(line.split()[-2]) * 1e3
            numbers = [float(word) for word in line.split(",")]
            return numbers[1] * 1e3 if operation.endswith("lat") else 1e9 / numbers[-1]
        except (ValueError, IndexError, ZeroDivisionError):
            return None

    def block(self, operation, length, rounds):
        if self.failure:
            raise Failed(self.failure)
        asked, rounds = rounds, max(rounds, ROUNDS_MIN)
        Tool._ports_used = (Tool._ports_used + 1) % PORTS
        port = PORT_FIRST + Tool._ports_used
        commands = self._commands(port, operation, length, rounds)
        processes = []
        with tempfile.TemporaryFile() as log:
            try:
                for core, command in zip(cores(), commands):
                    processes.append(self._start(core, command, log))
                    self._await(processes[0], port)
                said = processes[1].communicate(timeout=RUN_S)[0]
                processes[0].communicate(timeout=END_S)
            except subprocess.TimeoutExpired:
                raise Failed(f"{operation} of {length} B took more than {RUN_S} s") from None
            finally:
                for process in processes:
                    stop(process)
            each_ns = self.each_ns(operation, said)
            if each_ns is None or processes[1].returncode != 0:
                raise Failed(f"{operation} of {length} B: {tail(log)}")
        return each_ns * asked, 0

    def _start(self, core, command, log):
        return subprocess.Popen(["taskset", "-c", str(core), *command], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=log, env=self._environment,
                                text=True, start_new_session=True)

    @staticmethod
    def _await(server, port):
        for _ in range(START_S * 100):
            if listening(port) or server.poll() is not None:
                return
            time.sleep(0.01)
