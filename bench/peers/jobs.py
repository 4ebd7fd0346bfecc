# SPDX-License-Identifier: BSD-3-Clause
"""The jobs that are compared: ours, two MPIs with several settings, and the tools of UCX and
libfabric (tools.py). Each can do a block: an operation, a length, a number of rounds; the answer is
what it took in nanoseconds and the largest part of it that a rank was without a processor."""

import os
import socket
import subprocess
import tempfile

import settings
import tools
from process import Failed, cores, stop, tail

HERE = os.path.dirname(os.path.abspath(__file__))
START_S, BLOCK_S, END_S = 30, 60, 10


class Absent:
    """A peer that is not there: its rows say why."""

    is_tool = False

    def __init__(self, library, setting, kind, failure):
        self.library, self.setting, self.kind, self.failure = library, setting, kind, failure


class Job:
    """A job whose ranks are told by us what to do next: see driver.h."""

    is_tool = False

    def __init__(self, library, setting, kind, command, ranks, folder, environment=None,
                 after=()):
        self.library, self.setting, self.kind, self.failure = library, setting, kind, None
        self._log = tempfile.TemporaryFile()
        self._ranks, self._sockets = [], []
        path = os.path.join(folder, f"{library}-{setting}".replace(" ", "_"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(ranks)
            self._process = subprocess.Popen(
                [*command, path, *after], stdin=subprocess.DEVNULL, stdout=self._log,
                stderr=self._log, start_new_session=True, cwd=folder,
                env={**os.environ, **(environment or {})})
            try:
                self._accept(listener, ranks)
            except (OSError, Failed):
                self._end()
                self.failure = f"does not start: {tail(self._log)}"
                self._log.close()

    def _accept(self, listener, ranks):
        found = {}
        listener.settimeout(1)
        for _ in range(START_S):
            try:
                while len(found) < ranks:
                    connection = listener.accept()[0]
                    connection.settimeout(BLOCK_S)
                    self._sockets.append(connection)
                    stream = connection.makefile("rw")
                    rank, size = (int(word) for word in stream.readline().split()[1:])
                    if size != ranks:
                        raise Failed("jobs of one")
                    found[rank] = stream
                self._ranks = [found[rank] for rank in range(ranks)]
                return
            except socket.timeout:
                if self._process.poll() is not None:
                    break
        raise Failed("no rank reports")

    def block(self, operation, length, rounds):
        if self.failure:
            raise Failed(self.failure)
        try:
            for stream in self._ranks:
                stream.write(f"run {operation} {length} {rounds}\n")
                stream.flush()
            answers = [self._answer(stream) for stream in self._ranks]
        except (OSError, ValueError) as why:
            self._end()  # what the launcher has to say comes last
            self.failure = f"{operation} of {length} B: {why}: {tail(self._log)}"
            self._log.close()
            raise Failed(self.failure) from why
        took_ns = answers[0][0]
        return took_ns, max(lost_ns for _, lost_ns in answers) / max(took_ns, 1.0)

    @staticmethod
    def _answer(stream):
        line = stream.readline()
        if not line:
            raise ValueError("a rank ended")
        took_ns, lost_ns = line.split()
        return float(took_ns), float(lost_ns)

    def close(self):
        self._end()
        self._log.close()

    def _end(self):
        for stream in self._ranks:
            try:
                stream.write("end\n")
                stream.close()
            except OSError:
                pass
        if self._ranks:
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                pass
        self._ranks = []
        for connection in self._sockets:
            connection.close()
        self._sockets = []
        stop(self._process)


class Stage:
    """All jobs of one number of ranks, from start to end."""

    def __init__(self, build, ranks, network=""):
        self._build, self._ranks, self._network = build, ranks, network
        self.ours, self.peers = None, []

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-peers-")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for job in (self.ours, *self.peers):
            if isinstance(job, Job):
                job.close()
        self._folder.cleanup()

    def _start(self):
        launcher = [os.path.join(self._build, "bin", "penstock"), "run", "-n", str(self._ranks)]
        launcher += settings.OURS_OVER.get(self._network, [])
        program = os.path.join(self._build, "bench", "peers", "penstock")
        self.ours = Job("Penstock", "default", "ours", [*launcher, program], self._ranks,
                        self._folder.name)
        if self.ours.failure:
            raise SystemExit(f"bench: Penstock's own job {self.ours.failure}")
        if self._network in ("", "udp"):
            for setting in settings.mpi(self._ranks, len(cores()), network=self._network != ""):
                self.peers.append(self._mpi(setting))
        if self._ranks == 2:
            found = settings.TOOLS_OVER.get(self._network, settings.TOOLS)
            self.peers += [tools.Tool(*setting) for setting in found]

    def _mpi(self, setting):
        compiled = settings.compile_mpi(setting.flavour, os.path.join(HERE, "mpi.c"),
                                        [os.path.join(HERE, "driver.c")], self._build)
        if compiled.failure:
            return Absent(setting.library, setting.name, "mpi", compiled.failure)
        return Job(setting.library, setting.name, "mpi", [*setting.command, compiled.program],
                   self._ranks, self._folder.name, setting.environment, setting.after)
