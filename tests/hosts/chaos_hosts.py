#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""chaos_hosts.py PENSTOCK TRAFFIC [--count N] [--seed S] [--jobs J] [--kind K]: what may happen to a job of eight
ranks on four hosts (see network.py), amid traffic.

A seed is an episode: a job and what is done to it. Either it is ended: a rank, an agent, ssh, sshd's process for it or the
launcher dies, a connection is cut, a host vanishes, the user stops it, a rank leaves in its own way, while the job starts or
later; then status, line, time and what is left behind are checked. Or it is hurt several times in a way that heals:
processes are stopped and go on, links are down, deaf or narrow for a while; after each the ranks have to meet again, and at the
end every message has to have come once. Each thing done counts as one injection. A failure prints the command that repeats it.
"""
import argparse
import concurrent.futures
import os
import queue
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import network

HOSTS = 4
RANKS = 2 * HOSTS
HURTS = 8  # in an episode that heals, besides a lossy network
HEALING_SHARE = 0.22  # of the episodes
LASTING = 300  # seconds of traffic, unless we end it
# On a machine that does what this test makes it do; see patience().
STARTS_WITHIN_S = 40.0
ENDS_WITHIN_S = 20.0
GONE_WITHIN_S = 10.0  # a process that waits for TCP to notice, among them
MEETS_WITHIN_S = 20.0
MEETINGS = 3  # that show that a job has healed
EXPECTED = "PENSTOCK_IMPAIR|cannot send over udp: (No route to host|Network is).*it will be tried again"
LOST = r"(lost|cannot start on) host {}[ :].*"


class Failure(Exception):
    """A promise is broken; the episode ends."""


class Episode:
    """One job on the hosts of net, and what happens to it."""

    def __init__(self, seed, options):
        self.rng = random.Random(seed)
        self.seed, self.options = seed, options
        self.heals = self.rng.random() < HEALING_SHARE
        kinds = sorted(HURTING if self.heals else ENDING)
        self.kinds = self.rng.sample(kinds, HURTS) if self.heals else [kinds[seed % len(kinds)]]
        if options.kind:
            self.heals = options.kind in HURTING
            self.kinds = [options.kind] * (HURTS if self.heals else 1)
        self.lossy = self.heals and self.rng.random() < 0.5
        self.fan_out = self.rng.choice((32, 32, 2, 1))
        self.early = self.rng.random() < 0.3
        self.delay = self.rng.uniform(0.0, 0.3)
        self.host = f"h{self.rng.randrange(HOSTS)}"
        self.variables = {"GASNET_SSH_OUT_DEGREE": str(self.fan_out)}
        if self.lossy:
            self.variables.update(PENSTOCK_IMPAIR_SEED=str(seed),
                                  **{f"PENSTOCK_IMPAIR_{k}": v for k, v in LOSSES.items()})
        self.count = len(self.kinds) + self.lossy
        self.job = self.net = None
        self.held = self.holding = 0  # of injections that stop the traffic: in which it was seen to stop

    def title(self):
        return f"{', '.join(self.kinds)}{' over a lossy network' if self.lossy else ''}: host {self.host}, fan-out " \
               f"{self.fan_out}, {'early' if self.early else 'amid traffic'}, {self.delay:.3f} s"

    def patience(self, seconds):
        """Returns the limit `seconds`, longer if other programs want the cores, too."""
        return network.patience(seconds, own=RANKS * self.options.jobs)

    # ---- the job ---------------------------------------------------------------------------------

    def start(self, *arguments):
        places = ",".join(f"{name}:2" for name in self.net.names)
        command = self.net.inside("root", self.options.penstock, "run", "-n", str(RANKS), "--hosts", places,
                                  self.options.traffic, *(arguments or (str(LASTING), "tell")))
        self.err = open(os.path.join(self.scratch, "..", "err"), "ab+")
        self.met, self.complete = queue.Queue(), False
        self.began = time.monotonic()
        self.job = subprocess.Popen(command, env=self.net.environment(**self.variables), stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=self.err, start_new_session=True, cwd=self.scratch)
        self.running = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.job.stdout:
            if line.startswith(b"met "):
                self.met.put(time.monotonic())
            self.complete = self.complete or line == b"complete\n"
            self.running.set()
        self.running.set()

    def said(self):
        self.err.seek(0)
        return self.err.read().decode(errors="replace")

    def await_traffic(self):
        if not self.running.wait(self.patience(STARTS_WITHIN_S)) or self.job.poll() is not None:
            raise Failure(f"it did not start; said: {self.said()[-600:]}")

    def ends(self, status, pattern=None, lines=1):
        """The job ends by itself with this status and this number of lines."""
        try:
            self.job.wait(timeout=(limit := self.patience(ENDS_WITHIN_S)))
        except subprocess.TimeoutExpired:
            raise Failure(f"still running after {limit:.0f} s: {self.left()}; said: {self.said()[-600:]}") from None
        self.reader.join()
        said = self.said()
        spoken = [line for line in said.splitlines() if line and not re.search(EXPECTED, line)]
        if self.job.returncode != status:
            raise Failure(f"status {self.job.returncode}, not {status}; said: {said[-600:]}")
        if pattern is not None and not re.search(pattern, said):
            raise Failure(f"no \"{pattern}\" in: {said[-600:]}")
        if lines is not None and len(spoken) != lines:
            raise Failure(f"{len(spoken)} lines, not {lines}: {said[-1200:]}")

    # ---- its parts -------------------------------------------------------------------------------

    def ranks(self, host):
        traffic = self.options.traffic.encode()
        return sorted(p for p in self.net.processes(host) if network.words_of(p)[:1] == [traffic])

    def agent(self, host):
        agent = [self.options.penstock.encode(), b"agent"]
        return [p for p in self.net.processes(host) if network.words_of(p)[:2] == agent]

    def session(self, host):
        """sshd's process for the connection; before the log-in there may be two."""
        return [p for p in self.net.processes(host) if network.words_of(p)[:1] and
                os.path.basename(network.words_of(p)[0]).startswith(b"sshd")]

    def ssh(self, host):
        """The launcher's ssh to that host; None if another host reaches it."""
        found = [(p, network.words_of(p)) for p in self.net.processes("root")]
        return [p for p, words in found if words[:1] == [b"ssh"] and words[-3:-2] == [host.encode()]]

    def launcher(self, _):
        return [self.job.pid]

    def victims(self, who, host):
        """Waits until there are some; in a job that starts, or among traffic."""
        if not self.early:
            self.await_traffic()
        end = time.monotonic() + self.patience(STARTS_WITHIN_S)
        while not (found := who(host)):
            if time.monotonic() > end or self.job.poll() is not None:
                raise Failure(f"no process to hit; said: {self.said()[-600:]}")
            time.sleep(0.005)
        time.sleep(self.delay)
        return who(host) or found

    def hit(self, pids, number):
        hit = 0
        for pid in pids:
            try:
                os.kill(pid, number)
                hit += 1
            except ProcessLookupError:
                pass
        return hit

    # ---- what heals ------------------------------------------------------------------------------

    def meetings(self):
        """How many there were since we asked before."""
        count = 0
        while not self.met.empty():
            self.met.get()
            count += 1
        return count

    def heal(self, hurt, mend, seconds, holds=True):
        """Hurts for so long; then the ranks have to meet again. holds: the traffic stands still meanwhile."""
        hurt()
        time.sleep(seconds / 2)
        self.meetings()
        time.sleep(seconds / 2)
        seen = self.meetings()
        mend()
        self.holding += holds
        self.held += holds and seen == 0
        for _ in range(MEETINGS):
            try:
                self.met.get(timeout=(limit := self.patience(MEETS_WITHIN_S)))
            except queue.Empty:
                raise Failure(f"the ranks did not meet within {limit:.0f} s; said: {self.said()[-600:]}") from None
        if self.job.poll() is not None:
            raise Failure(f"it ended; said: {self.said()[-600:]}")

    def hurt_all(self):
        self.start()
        self.await_traffic()
        for kind in self.kinds:
            self.host = f"h{self.rng.randrange(HOSTS)}"
            self.hurting = kind
            time.sleep(self.rng.uniform(0, 0.1))
            HURTING[kind](self)
        self.job.stdin.close()
        self.ends(0, lines=0)
        if not self.complete:
            raise Failure("it ended with 0, but is not complete")

    # ---- all of it -------------------------------------------------------------------------------

    def left(self):
        found = {name: self.net.processes(name) for name in ("root", *self.net.names)}
        return {name: [(p, network.words_of(p)) for p in pids] for name, pids in found.items() if pids}

    def leftovers(self):
        kept = {f.path for folder in (self.scratch, "/dev/shm") for f in os.scandir(folder)
                if folder == self.scratch or "enstock" in f.name}
        for daemon in self.net.daemons:
            with open(f"/proc/{daemon.pid}/net/unix", encoding="utf-8", errors="replace") as f:
                kept |= {line.split()[-1] for line in f if "@" in line and "enstock" in line}
            links = [os.readlink(f.path) for f in os.scandir(f"/proc/{daemon.pid}/fd")]
            kept |= {link for link in links if "memfd:" in link}
        return kept

    def clear(self):
        """After every episode: no process of it runs, and the hosts are as before."""
        for name in ("root", *self.net.names):
            self.hit(self.net.processes(name), signal.SIGKILL)
        if self.job is not None:
            self.job.wait()
            self.reader.join()
            self.job.stdin.close()
            self.job.stdout.close()
            self.err.close()

    def run(self, net):
        self.net = net
        problem = None
        with tempfile.TemporaryDirectory(prefix="pen-chaos-") as folder:
            self.scratch = os.path.join(folder, "work")
            os.mkdir(self.scratch)
            before = self.leftovers()
            try:
                if self.heals:
                    self.hurt_all()
                else:
                    ENDING[self.kinds[0]](self)
                limit = self.patience(GONE_WITHIN_S)
                end = time.monotonic() + limit
                while self.left() and time.monotonic() < end:
                    time.sleep(0.02)
                if self.left():
                    raise Failure(f"left after {limit:.0f} s: {self.left()}")
                if stayed := self.leftovers() - before:
                    raise Failure(f"left behind: {sorted(stayed)}")
            except Failure as failure:
                problem = f"{getattr(self, 'hurting', self.kinds[0])}: {failure}"
            finally:
                self.clear()
        return problem


# ---- endings -------------------------------------------------------------------------------------


def kill_rank(self, number=signal.SIGKILL, lines=1):
    self.start()
    self.hit([self.rng.choice(self.victims(self.ranks, self.host))], number)
    self.ends(128 + number, rf"rank \d \(host {self.host}, pid \d+\) killed by {signal.Signals(number).name}", lines)


def kill_part(part, also=()):
    """One of the launcher's helpers dies: its host is lost."""
    def act(self):
        self.start()
        if not also:
            victims = self.victims(getattr(self, part), self.host)
        else:  # not every host has one
            self.victims(self.launcher, None)
            victims = self.victims(lambda _: [p for h in self.net.names for p in getattr(self, part)(h)], None)
            victims = [self.rng.choice(victims)]
            words = network.words_of(victims[0])
            self.host = words[-3].decode() if words else r"h\d"
        self.hit(victims, signal.SIGKILL)
        self.ends(1, LOST.format(self.host))
    return act


def cut(self):
    """The kernel resets a connection of the launcher's ssh."""
    self.start()
    self.await_traffic()
    time.sleep(self.delay)
    reached = [h for h in self.net.names if self.ssh(h)]
    self.host = self.rng.choice(reached)
    at = self.net.address(int(self.host[1:]))
    network.call(*self.net.inside("root", "ss", "-K", "dst", at, "dport", "=", str(network.PORT)))
    self.ends(1, LOST.format(self.host))


def vanish(self):
    """A host is not there any more, and comes back when all is over."""
    self.variables["PENSTOCK_LAUNCH_BEAT"] = "1"
    self.start()
    self.await_traffic()
    time.sleep(self.delay)
    self.net.link(self.host, False)
    try:
        self.ends(1, LOST.format(self.host) + "not responding")
    finally:
        self.net.link(self.host, True)


def kill_launcher(self):
    self.start()
    self.victims(self.launcher, None)
    self.job.kill()
    self.ends(-signal.SIGKILL, lines=0)


def signalled(number, group):
    def act(self):
        self.start()
        self.await_traffic()
        time.sleep(self.delay)
        (os.killpg if group else os.kill)(self.job.pid, number)
        self.ends(-number, f"{signal.Signals(number).name} received")
    return act


def leaves(how, status, pattern=None, lines=1):
    def act(self):
        self.start("0.4", str(self.rng.randrange(RANKS)), how)
        self.ends(status, pattern, lines)
    return act


ENDING = {
    "kill-rank": kill_rank,
    "segv-rank": lambda self: kill_rank(self, signal.SIGSEGV, None),
    "kill-agent": kill_part("agent"),
    "kill-session": kill_part("session"),
    "kill-ssh": kill_part("ssh", also=True),
    "cut": cut,
    "vanish": vanish,
    "kill-launcher": kill_launcher,
    "interrupt": signalled(signal.SIGINT, True),
    "terminate": signalled(signal.SIGTERM, False),
    "null-pointer": leaves("null", 139, "SIGSEGV", None),
    "_exit-9": leaves("_exit:9", 9, r"rank \d \(host h"),
    "_exit-0": leaves("_exit:0", 1, r"rank \d \(host h"),
    "exit-7": leaves("exit:7", 7, r"rank \d \(host h"),
    "gasnet_exit-3": leaves("gasnet_exit:3", 3),
    "gasnet_exit-0": leaves("gasnet_exit:0", 0, lines=0),
}

# ---- what heals ----------------------------------------------------------------------------------


def stops(part, holds):
    def act(self):
        pids = [p for p in part(self) if p]
        self.heal(lambda: self.hit(pids, signal.SIGSTOP), lambda: self.hit(pids, signal.SIGCONT),
                  self.rng.uniform(0.2, 0.8), holds and bool(pids))
    return act


def link_down(self):
    self.heal(lambda: self.net.link(self.host, False), lambda: self.net.link(self.host, True), 1.0)


def narrow(self):
    """Datagrams and packets of ssh that were fine do not fit any more, and then do again."""
    self.heal(lambda: self.net.mtu(self.host, self.rng.randrange(600, 1400)), lambda: self.net.mtu(self.host, 1500),
              self.rng.uniform(0.2, 0.6), False)


def deaf(self):
    """Drops packets from one host to another; the opposite direction still works."""
    other = self.rng.choice([name for name in self.net.names if name != self.host])
    self.heal(lambda: self.net.misdirect(self.host, other), lambda: self.net.find_again(self.host, other),
              self.rng.uniform(0.3, 0.9))


def no_route(self):
    """The kernel refuses what one host sends to another."""
    other = self.rng.choice([name for name in self.net.names if name != self.host])
    self.heal(lambda: self.net.route(self.host, other, False), lambda: self.net.route(self.host, other, True),
              self.rng.uniform(0.3, 0.9))


LOSSES = {"DROP": "0.05", "DUPLICATE": "0.02", "REORDER": "0.05", "DELAY": "0.02", "CORRUPT": "0.001"}
HURTING = {
    "stop-rank": stops(lambda e: [e.rng.choice(e.ranks(e.host))], True),
    "stop-agent": stops(lambda e: e.agent(e.host), False),
    "stop-session": stops(lambda e: e.session(e.host), False),
    "stop-ssh": stops(lambda e: e.ssh(e.host), False),
    "stop-launcher": stops(lambda e: e.launcher(None), True),
    "stop-host": stops(lambda e: e.net.processes(e.host), True),
    "link-down": link_down,
    "narrow": narrow,
    "deaf": deaf,
    "no-route": no_route,
}


def plan(options):
    """Episodes from the seed on, until enough is done."""
    episodes, count = [], 0
    while count < options.count:
        episodes.append(Episode(options.seed + len(episodes), options))
        count += episodes[-1].count
    return episodes


class Tally:
    """The faults that all workers have injected."""

    def __init__(self):
        self.lock = threading.Lock()
        self.kinds, self.failed, self.held, self.holding = {}, 0, 0, 0

    def take(self, episode, problem, options):
        with self.lock:
            for kind in episode.kinds + ["loss"] * episode.lossy:
                self.kinds[kind] = self.kinds.get(kind, 0) + 1
            self.held += episode.held
            self.holding += episode.holding
            if problem is None:
                return
            self.failed += 1
            print(f"FAILED {episode.title()}\n    {problem}\n  repeat: {sys.argv[0]} {options.penstock} {options.traffic} "
                  f"--count 1 --seed {episode.seed}{' --kind ' + options.kind if options.kind else ''}", flush=True)


def work(episodes, options, tally):
    """Plays episodes on four hosts of its own until all are done."""
    with network.Network(HOSTS) as net:
        while True:
            try:
                episode = episodes.get_nowait()
            except queue.Empty:
                return
            tally.take(episode, episode.run(net), options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("penstock")
    parser.add_argument("traffic")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--kind", choices=sorted({**ENDING, **HURTING}))
    options = parser.parse_args()
    options.penstock, options.traffic = map(os.path.realpath, (options.penstock, options.traffic))
    planned = plan(options)
    episodes = queue.Queue()
    for episode in planned:
        episodes.put(episode)
    tally, begin = Tally(), time.monotonic()
    jobs = min(options.jobs, len(planned))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for worker in [pool.submit(work, episodes, options, tally) for _ in range(jobs)]:
                worker.result()
        except network.Missing as why:
            network.skip(why)
    count = sum(tally.kinds.values())
    print(f"{count} injections in {len(planned)} jobs, seed {options.seed}: {tally.failed} failed; traffic stood still in "
          f"{tally.held} of {tally.holding} that stop it; {time.monotonic() - begin:.0f} s;",
          ", ".join(f"{k} {n}" for k, n in sorted(tally.kinds.items())))
    if tally.holding >= 10 and tally.held < tally.holding / 2:
        print("FAILED: most of what should have stopped the traffic did not: the test does not do what it says")
        return 1
    return 1 if tally.failed or count < options.count else 0


if __name__ == "__main__":
    sys.exit(main())
