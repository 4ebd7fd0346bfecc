#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A hostile network: strangers who flood a job's ports with datagrams, and connect to every listening port.

    hostile.py <penstock> <chaos.traffic> [--datagrams N] [--connections N] [--seed N]

Everything happens in a network namespace of this test's own. Jobs start and run while datagrams of 0 to
65507 bytes come to every port they may have: empty ones, noise, ones that begin as ours do, and what the
job itself has sent, as it was and changed. Not one byte may be answered, nothing may listen but for the
job's datagrams, every job has to end as if nobody had been there, and what it logs stays below 10 KB.
"""
import argparse
import ctypes
import errno
import os
import random
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

SKIPPED = 77
PORTS = range(40000, 40064)  # all that the namespace hands out
DATAGRAM_MAX = 65507
LOG_MAX = 10 * 1024
RANKS = 2
JOB_S = 1.5
JOBS = 2
FLOOD_WITHIN_S = 200.0
CONNECTIONS_PER_LOOK = 16
STRANGERS = 16
CLONE_NEWNET = 0x40000000
MAGIC = 0x31445550
DROPS = re.compile(r"(net_bad_\w+|net_replayed)=(\d+)")


def enter_namespace():
    """False: this user may not make one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        print(f"skipped: no network namespace: {os.strerror(ctypes.get_errno())}")
        return False
    try:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    except FileNotFoundError:
        print("skipped: there is no ip (package iproute2)")
        return False
    with open("/proc/sys/net/ipv4/ip_local_port_range", "w", encoding="ascii") as file:
        file.write(f"{PORTS[0]} {PORTS[-1]}")
    return True


def packets_of(interface, protocol=0x0800):
    """A socket that gets the packets of an interface, without the wire's header."""
    one = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(protocol))
    one.bind((interface, 0))
    return one


class Eavesdropper(threading.Thread):
    """Keeps some of what the job sends, so that it can be sent again."""

    def __init__(self, *sockets):
        super().__init__(daemon=True)
        self.heard = []
        self.over = False
        self.sockets = sockets
        self.start()

    def run(self):
        while not self.over:
            ready = select.select(self.sockets, [], [], 0.05)[0]
            if not ready:
                continue
            packet = random.choice(ready).recv(65535)
            payload = packet[28:]
            if len(packet) > 36 and packet[9] == 17 and payload[:4] == struct.pack("<I", MAGIC):
                if len(self.heard) < 64:
                    self.heard.append(payload)
                else:
                    self.heard[random.randrange(64)] = payload
            time.sleep(0.002)  # a sample is enough


class Stranger:
    """One who sends datagrams and keeps count of the answers."""

    def __init__(self, address, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        self.socket.setblocking(False)

    def send(self, bytes_, target):
        self.socket.sendto(bytes_, target)

    def answers(self):
        found = 0
        while True:
            try:
                self.socket.recvfrom(65535)
                found += 1
            except (ConnectionRefusedError, PermissionError):
                continue
            except BlockingIOError:
                return found


class Flood(threading.Thread):
    """Sends until told to stop; counts. anywhere: all targets that a job may have, (address, port)."""

    def __init__(self, rng, eavesdropper, share, strangers, anywhere):
        super().__init__(daemon=True)
        self.rng, self.eavesdropper, self.share = rng, eavesdropper, share
        self.strangers, self.anywhere = strangers, anywhere
        self.noise = rng.randbytes(2 * DATAGRAM_MAX)
        self.sent = 0  # to ports that were there
        self.lengths = set()
        self.over = False
        self.targets = anywhere
        self.budget, self.since = 0, 0.0  # how many of a job's time, and since when

    def aim(self, targets, count):
        """Sends to these ports from now on, spread over the time that a job takes."""
        self.targets, self.budget, self.since = targets, self.sent + count, time.monotonic()

    def done(self, job):
        """Waits until what was aimed is sent; a job that is fed goes on until then."""
        end = time.monotonic() + patience(FLOOD_WITHIN_S)
        while self.sent < self.budget and job.poll() is None and time.monotonic() < end:
            time.sleep(0.01)

    def waits(self):
        left = self.budget - self.sent
        late = (time.monotonic() - self.since) / JOB_S
        return self.targets is not self.anywhere and (left <= 0 or left < self.share * (1 - late))

    def datagram(self):
        kind = self.rng.randrange(8)
        length = int(DATAGRAM_MAX ** self.rng.random()) if kind else self.rng.choice((0, 1, 48, 49, DATAGRAM_MAX))
        at = self.rng.randrange(DATAGRAM_MAX)
        noise = self.noise[at:at + length]
        if kind == 1:
            return struct.pack("<I", MAGIC) + noise[:-4]
        if kind in (2, 3) and self.eavesdropper.heard:
            again = bytearray(self.rng.choice(self.eavesdropper.heard))
            if kind == 3:
                again[self.rng.randrange(len(again))] ^= 1 << self.rng.randrange(8)
            return bytes(again)
        if kind == 4 and self.eavesdropper.heard:
            return self.rng.choice(self.eavesdropper.heard)[:24] + noise
        return noise

    def run(self):
        while not self.over:
            if self.waits():
                time.sleep(0.001)
                continue
            bytes_ = self.datagram()[:DATAGRAM_MAX]
            out = self.rng.choice(self.strangers)
            targets = self.targets
            for _ in range(8):
                try:
                    out.send(bytes_, self.rng.choice(targets))
                    self.sent += targets is not self.anywhere
                except OSError as error:  # refused: an answer of the kernel's to one before
                    if error.errno not in (errno.ECONNREFUSED, errno.EAGAIN, errno.ENOBUFS):
                        raise
            self.lengths.add(len(bytes_))

    def answers(self):
        """Datagrams that arrived at the strangers."""
        return sum(one.answers() for one in self.strangers)


def bound_ports(net="/proc/net"):
    """UDP ports of a namespace's 40000s, which are the job's."""
    ports = set()
    with open(f"{net}/udp", encoding="ascii") as file:
        for line in list(file)[1:]:
            port = int(line.split()[1].split(":")[1], 16)
            if port in PORTS:
                ports.add(port)
    return ports


def listening(net="/proc/net"):
    """TCP ports on which a process listens."""
    found = set()
    for name in ("tcp", "tcp6"):
        try:
            with open(f"{net}/{name}", encoding="ascii") as file:
                found |= {int(line.split()[1].split(":")[1], 16) for line in list(file)[1:] if line.split()[3] == "0A"}
        except FileNotFoundError:
            pass
    return found


def connect_all(rng, count, problems, targets_now, make=None):
    """Silent connections and ones that say noise, to what listens and to the job's port numbers: targets_now()
    tells them, which takes longer than to connect. make: how a socket is made."""
    kept, accepted, answered = [], 0, 0
    targets = []
    for i in range(count):
        if i % CONNECTIONS_PER_LOOK == 0:
            targets = targets_now()
        one = make() if make else socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        one.bind(("", 20000 + i % 10000))
        one.settimeout(0.5)
        try:
            one.connect(rng.choice(targets))
            accepted += 1
            if i % 2:
                one.sendall(rng.randbytes(rng.randrange(1, 4096)))
            kept.append(one)
        except OSError:
            one.close()
    for one in kept:
        one.setblocking(False)
        try:
            answered += len(one.recv(65536))
        except OSError:
            pass
        one.close()
    if answered:
        problems.append(f"{answered} bytes answered to connections")
    return accepted


def judge(job, flood, problems):
    """Waits for the flood and the job. Answers how many datagrams its ranks dropped and counted, and how much it logged."""
    flood.done(job)
    try:
        out, err = job.communicate(timeout=patience(300))
    except subprocess.TimeoutExpired:
        job.kill()
        out, err = job.communicate()
        problems.append("the job did not end")
    if job.returncode != 0 or b"complete" not in out:
        problems.append(f"status {job.returncode}; said: {out[-500:]!r} {err[-1500:]!r}")
    counters = [line for line in err.decode(errors="replace").splitlines() if "counters:" in line]
    log = len(err) - sum(len(line) + 1 for line in counters)
    if log > LOG_MAX:
        problems.append(f"{log} bytes logged")
    if not flood.is_alive():
        problems.append("the flood has ended before the job")
    return sum(int(n) for line in counters for _, n in DROPS.findall(line)), log


def start_job(command, environment):
    """One that goes on until communicate() ends its input."""
    return subprocess.Popen([*command, "fed"], env=dict(environment, PENSTOCK_STATS="1"), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ports_now():
    return [("127.0.0.1", port) for port in sorted(bound_ports())]


def run_job(options, flood, rng, connections, problems):
    command = [options.penstock, "run", "-n", str(RANKS), "--conduit", "udp", "--timeout", str(int(patience(240))), options.traffic,
               str(JOB_S)]
    flood.aim(flood.anywhere, 0)  # before they are there
    job = start_job(command, os.environ)
    end = time.monotonic() + patience(60)
    while len(ports := ports_now()) < RANKS and job.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    flood.aim(ports or flood.anywhere, options.datagrams / JOBS)
    accepted = connect_all(rng, connections, problems, lambda: [("127.0.0.1", port) for port in sorted(listening())] +
                           ports_now() or flood.anywhere)
    dropped, log = judge(job, flood, problems)
    return dropped, log, accepted, len(ports)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("traffic")
    parser.add_argument("--datagrams", type=float, default=1e5)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not enter_namespace():
        return SKIPPED
    rng, problems = random.Random(options.seed), []
    eavesdropper = Eavesdropper(packets_of("lo"))
    flood = Flood(random.Random(options.seed + 1), eavesdropper, options.datagrams / JOBS,
                  [Stranger("127.0.0.1", 30000 + i) for i in range(STRANGERS)], [("127.0.0.1", port) for port in PORTS])
    flood.start()
    jobs = dropped = log = accepted = 0
    begin = time.monotonic()
    while not problems and jobs < JOBS:
        counts = run_job(options, flood, rng, options.connections if jobs == 0 else 0, problems)
        jobs, dropped, log, accepted = jobs + 1, dropped + counts[0], max(log, counts[1]), accepted + counts[2]
        if counts[3] < RANKS and not problems:
            problems.append(f"only {counts[3]} ports of the job were found")
    flood.over = eavesdropper.over = True
    flood.join()
    answers = flood.answers()
    if answers:
        problems.append(f"{answers} datagrams answered")
    if flood.sent < options.datagrams:
        problems.append(f"{jobs} jobs were over before {options.datagrams:.0f} datagrams were sent")
    if dropped == 0:
        problems.append("no rank has counted a datagram of a stranger")
    print(f"{flood.sent} datagrams to the ports of jobs, of {len(flood.lengths)} lengths from {min(flood.lengths)} to {max(flood.lengths)} "
          f"bytes, {options.connections} connections of which {accepted} found a listener; {jobs} jobs, "
          f"{dropped} datagrams dropped and counted, {answers} answered, at most {log} bytes "
          f"logged by a job; {time.monotonic() - begin:.0f} s")
    return verdict(problems)


def verdict(problems):
    for problem in problems:
        print(f"FAILED: {problem}")
    if problems:
        print(f"  repeat: {' '.join(sys.argv)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
