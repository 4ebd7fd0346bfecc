#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""chaos.py PENSTOCK TRAFFIC [--count N] [--seed S] [--jobs J]: ends jobs in every way we know, amid traffic.

Each injection checks the exit status against the rule, the message that names rank and cause, how long it took until
everything was gone, and that nothing stayed behind: no process that carries the job's tag in its environment, nothing new
in /dev/shm, in the temporary folder, among abstract sockets or System V objects. A failure prints the seed and the command
that repeats it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from patience import patience  # noqa: E402  (the folder is named above)

GONE_WITHIN_S = 1.0
ENDS_WITHIN_S = 20.0
SECONDS = 0.6  # of traffic in a run that ends by itself
LASTING = 60  # ... in one that we end: long enough that it cannot be over before


def tagged(tag):
    """Processes, zombies apart, whose environment holds the job's tag."""
    found = []
    needle = f'PENSTOCK_CHAOS_TAG={tag}'.encode()
    for entry in pathlib.Path('/proc').iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if needle in (entry / 'environ').read_bytes().split(b'\0') and \
                    (entry / 'stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z':
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def ranks_of(tag, launcher):
    return sorted(pid for pid in tagged(tag) if pid != launcher)


def leftovers(scratch):
    """Everything that a job could leave on this machine."""
    kept = {f'/dev/shm/{n}' for n in os.listdir('/dev/shm')} if os.path.isdir('/dev/shm') else set()
    kept |= {str(p) for p in pathlib.Path(scratch).rglob('*')}
    for line in open('/proc/net/unix', encoding='utf-8', errors='replace'):
        name = line.split()[-1]
        if name.startswith('@') and 'penstock' in name.lower():
            kept.add(name)
    for kind in ('shm', 'sem', 'msg'):
        path = pathlib.Path(f'/proc/sysvipc/{kind}')
        if path.exists():
            kept |= {f'{kind}:{line.split()[1]}' for line in path.read_text().splitlines()[1:]}
    return kept


class Injection:
    """One job and what happens to it. status: what the caller of the launcher must see (negative: signal)."""

    def __init__(self, seed, options):
        self.rng = random.Random(seed)
        self.seed = seed
        self.options = options
        self.size = self.rng.choice((1, 2, 3, 4, 8))
        self.self_fork = self.rng.random() < 0.4 and self.size > 1
        self.kind = options.kind or self.rng.choice(sorted(KINDS))
        self.victim = self.rng.randrange(self.size)
        self.delay = self.rng.uniform(0.0, SECONDS * 0.6)
        self.tag = f'{os.getpid()}-{seed}'
        self.problems = []

    def start(self, leave=(), seconds=SECONDS):
        command = [self.options.traffic, str(seconds), *leave]
        environment = dict(os.environ, PENSTOCK_CHAOS_TAG=self.tag, TMPDIR=self.scratch)
        if self.options.conduit:
            environment['PENSTOCK_CONDUIT'] = self.options.conduit
        if self.self_fork:
            environment['GASNET_PSHM_NODES'] = str(self.size)
        else:
            command = [self.options.penstock, 'run', '-n', str(self.size), *command]
        self.began = time.monotonic()
        self.job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, start_new_session=True)
        self.running = self.job.stdout.readline()

    def expect(self, condition, what):
        if not condition:
            self.problems.append(what)

    def finish(self, statuses, words=(), since=None):
        """Waits for the end and checks status, words in the messages, and the time since the fault."""
        try:
            out, err = self.job.communicate(timeout=(limit := patience(ENDS_WITHIN_S)))
        except subprocess.TimeoutExpired:
            self.problems.append(f'still running after {limit:.0f} s')
            for pid in tagged(self.tag):
                os.kill(pid, signal.SIGKILL)
            out, err = self.job.communicate()
        text = err.decode(errors='replace')
        self.expect(self.job.returncode in statuses, f'status {self.job.returncode}, not {statuses}; said: {text[-600:]}')
        for word in words:
            self.expect(word in text, f'no "{word}" in: {text[-600:]}')
        limit = patience(GONE_WITHIN_S)
        deadline = (since or time.monotonic()) + limit
        while (left := tagged(self.tag)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.expect(not left, f'processes left {limit:.1f} s after the fault: {left}')
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return out

    def run(self):
        with tempfile.TemporaryDirectory(prefix='pen-chaos-') as self.scratch:
            before = leftovers(self.scratch)
            KINDS[self.kind](self)
            stayed = leftovers(self.scratch) - before
            self.expect(not {s for s in stayed if self.scratch in s or 'enstock' in s}, f'left behind: {sorted(stayed)}')
        return self

    def victims(self):
        """Pids of the ranks by rank order of their start; waits until all are there."""
        time.sleep(self.delay)
        return ranks_of(self.tag, self.job.pid)


def statuses_of(self, number):
    """The launcher's own end by a signal it was told to pass on: as the shell sees it."""
    return (-number, 128 + number)


def kill_rank(self, number=signal.SIGKILL):
    self.start(seconds=LASTING)
    ranks = self.victims()
    since = time.monotonic()
    os.kill(self.rng.choice(ranks), number)
    return self.finish((128 + number,), ('rank', signal.Signals(number).name), since)


def segv_rank(self):
    kill_rank(self, signal.SIGSEGV)


def kill_launcher(self):
    self.start(seconds=LASTING)
    self.victims()
    since = time.monotonic()
    self.job.send_signal(signal.SIGKILL)
    self.finish((-signal.SIGKILL,), (), since)


def stop_and_continue(self):
    self.start(seconds=4 * SECONDS)  # not over before we look
    pid = self.rng.choice(self.victims())
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(pid, signal.SIGCONT)
    out = self.finish((0,))
    self.expect(b'complete' in out, 'the job did not complete after SIGCONT')


def interrupt(self, number=signal.SIGINT):
    self.start(seconds=LASTING)
    self.victims()
    since = time.monotonic()
    os.killpg(self.job.pid, number)  # the whole session, as a terminal does
    self.finish(statuses_of(self, number), (), since + 1)


def terminate_launcher(self):
    self.start(seconds=LASTING)
    self.victims()
    since = time.monotonic()
    self.job.send_signal(signal.SIGTERM)
    self.finish(statuses_of(self, signal.SIGTERM), (), since + 1)


def leaves(how, status, *words):
    def act(self):
        self.start((str(self.victim), how))
        self.finish((status,), words)
    return act


def undisturbed(self):
    self.start()
    out = self.finish((0,))
    self.expect(b'complete' in out, 'the job did not complete')


KINDS = {
    'kill-rank': kill_rank,
    'segv-rank': segv_rank,
    'kill-launcher': kill_launcher,
    'stop-continue': stop_and_continue,
    'interrupt': interrupt,
    'terminate': terminate_launcher,
    'null-pointer': leaves('null', 139, 'SIGSEGV'),
    'abort': leaves('raise:6', 134, 'SIGABRT'),
    '_exit-9': leaves('_exit:9', 9, 'rank'),
    '_exit-0': leaves('_exit:0', 1, 'rank'),
    'exit-7': leaves('exit:7', 7),
    'gasnet_exit-3': leaves('gasnet_exit:3', 3),
    'gasnet_exit-0': leaves('gasnet_exit:0', 0),
    'undisturbed': undisturbed,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('penstock')
    parser.add_argument('traffic')
    parser.add_argument('--count', type=int, default=210)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--conduit', help='instead of the one that jobs choose')
    parser.add_argument('--kind', choices=sorted(KINDS))
    options = parser.parse_args()
    options.penstock, options.traffic = map(os.path.abspath, (options.penstock, options.traffic))
    kinds, failed, slowest = {}, 0, 0.0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in pool.map(lambda i: Injection(options.seed + i, options).run(), range(options.count)):
            kinds[done.kind] = kinds.get(done.kind, 0) + 1
            slowest = max(slowest, time.monotonic() - done.began)
            if done.problems:
                failed += 1
                print(f'FAILED {done.kind}, {done.size} ranks, victim {done.victim}, after {done.delay:.3f} s'
                      f'{", self-fork" if done.self_fork else ""}:', *done.problems, sep='\n    ')
                print(f'  repeat: {sys.argv[0]} {options.penstock} {options.traffic} --count 1 --seed {done.seed}'
                      f'{" --conduit " + options.conduit if options.conduit else ""}'
                      f'{" --kind " + options.kind if options.kind else ""}', flush=True)
    print(f'{options.count} injections, seed {options.seed}: {failed} failed;',
          ', '.join(f'{k} {n}' for k, n in sorted(kinds.items())))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
