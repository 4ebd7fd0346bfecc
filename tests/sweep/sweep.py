#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sweep.py PENSTOCK START FAIL_SO: makes every allocation and system call of start-up fail in turn.

For the launcher, for a rank under it, for a lone process and for a self-fork: first counts the calls, then runs the job
twice for each: with that one call failing in one process, and with that call and all later ones of its name failing there.
The job must end with a status other than 0 within 5 s, with one `penstock[...] error:` line that names the call and no
second one of the same process, and leave no process. Only what is listed in TOLERATED may instead end in a complete,
correct run.
"""
import collections
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from patience import patience  # noqa: E402  (the folder is named above)

RANKS = 2
ENDS_WITHIN_S = 5.0
FAILURES_MIN = 400
ERROR = re.compile(r'^penstock\[([^\]]*)\] error: (.*)$', re.M)
ABORTED = 'caught SIGABRT'  # a checked build abort()s after the line, for the sake of the stack

LAUNCHING = ('launcher', 'self-fork')
RANK = ('rank', 'alone', 'self-fork')
ALL = ('launcher', 'rank', 'alone', 'self-fork')
ARENA = ('launcher', 'alone', 'self-fork')

# Calls that start-up can succeed without: call, failures for which that holds, reason why the run is complete and
# correct nevertheless.
TOLERATED = (
    ('memfd_create ftruncate mmap fcntl(F_ADD_SEALS)', ARENA, 'made again with a smaller arena, if only once'),
    ('madvise', ALL, 'keeps the arena out of core files, nothing else'),
    ('getrlimit', ARENA, 'asked to say in words what ftruncate would say by a signal; the launcher needs another one'),
    ('fopen', ALL, 'of /proc and cgroup files: taken for a machine without cgroups, children are searched otherwise'),
    ('opendir', LAUNCHING, 'of /proc/self/fd and task: a generous guess, and another way to find children'),
    ('sched_getaffinity', ALL, 'all cores that are online are counted instead'),
    ('gethostname', ALL, 'messages then say "unknown"'),
    ('fcntl(F_GETFD)', LAUNCHING, 'asks whether standard streams are there; they are'),
    ('fcntl(F_GETFL) fstat open', LAUNCHING, 'a description of our own for the output: it is written in small pieces instead'),
    ('isatty', ALL, 'taken for no terminal'),
    ('malloc', LAUNCHING, 'events are taken one by one, in the order they were noted'),
    ('malloc sigaltstack sigaction', RANK, 'a crash is not reported, of which a warning warns'),
    ('pthread_setspecific', RANK, "a thread's place is not given back when it ends"),
    ('realloc', LAUNCHING, 'an unfinished line is passed on in pieces'),
    ('send', ALL, 'sent again'),
    ('epoll_ctl(EPOLL_CTL_DEL)', LAUNCHING, 'closing the descriptor takes it out as well'),
    ('syscall(futex) recv read poll ppoll epoll_wait waitpid getrandom', ALL, 'interrupted: looked or asked again'),
    ('syscall(membarrier)', RANK, 'every sender fences instead'),
    ('syscall(close_range)', ('self-fork',), 'descriptors are closed one by one'),
    ('syscall(clone)', ARENA, 'bytes for another core are copied as for the own one, without a measurement'),
    ('syscall(pidfd_open)', LAUNCHING, 'deaths are not waited for to put cause before effect'),
    ('setrlimit sigaction pthread_sigmask', LAUNCHING, 'put back as they were by a launcher that is about to end'),
)


def tolerated(way, name):
    return any(name in calls.split() and way in ways for calls, ways, _ in TOLERATED)


def tagged(tag):
    found = []
    needle = f'PEN_SWEEP_TAG={tag}'.encode()
    for entry in pathlib.Path('/proc').iterdir():
        if entry.name.isdigit():
            try:
                if needle in (entry / 'environ').read_bytes().split(b'\0') and \
                        (entry / 'stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z':
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


class Way:
    """One way to start a job, and the program in it whose calls fail."""

    def __init__(self, name, role, command, environment, ranks):
        self.name, self.role, self.command, self.environment, self.ranks = name, role, command, environment, ranks

    def run(self, scratch, at, lasts=False, log=None):
        tag = f'{os.getpid()}-{self.name}-{at}-{lasts}'
        token = pathlib.Path(scratch, f'token-{tag}')
        token.touch()
        environment = dict(os.environ, PEN_FAIL_ROLE=self.role, PEN_FAIL_AT=str(at), PEN_FAIL_TOKEN=str(token),
                           PEN_SWEEP_TAG=tag, LD_PRELOAD=FAIL_SO, **self.environment)
        if lasts:
            environment['PEN_FAIL_LASTS'] = '1'
        if log:
            environment['PEN_FAIL_LOG'] = str(log)
        began = time.monotonic()
        job = subprocess.Popen(self.command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
        problems = []
        try:
            out, err = job.communicate(timeout=patience(ENDS_WITHIN_S * 3))
        except subprocess.TimeoutExpired:
            problems.append('hangs')
            for pid in tagged(tag):
                os.kill(pid, signal.SIGKILL)
            out, err = job.communicate()
        if (seconds := time.monotonic() - began) > patience(ENDS_WITHIN_S):
            problems.append(f'took {seconds:.1f} s')
        left = tagged(tag)
        if left:
            time.sleep(0.5)
            left = tagged(tag)
        if left:
            problems.append(f'processes left: {left}')
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        failed = pathlib.Path(f'{token}.name')
        name = failed.read_text() if failed.exists() else None
        return job.returncode, out.decode(errors='replace'), err.decode(errors='replace'), name, problems


def check_words(err, name):
    """One line that names the call, as `call: reason` or `call of 8 bytes: reason`, and no process that says two."""
    lines = [(who, text) for who, text in ERROR.findall(err) if not text.startswith(ABORTED)]
    call = re.compile(rf'\b{re.escape(name.split("(")[0])}( of \d+ bytes)?: ')
    naming = sum(1 for _, text in lines if call.search(text))
    if naming != 1:
        yield f'{naming} error lines name {name}'
    for who, count in collections.Counter(who for who, _ in lines).items():
        if count > 1:
            yield f'{count} error lines of {who}'


def check(way, scratch, at, lasts):
    status, out, err, name, problems = way.run(scratch, at, lasts)
    if name is None:
        return None  # this run made fewer calls: nothing failed
    complete = status == 0 and out.count('started') == way.ranks
    if status == 0 and not complete:
        problems.append('status 0 without a complete run')
    if complete and not tolerated(way.name, name):
        problems.append('a complete run, though nothing says that it can do without')
    # A checked library aborts after it has printed the reason, so that a debugger shows where.
    if status < 0 and not (status == -signal.SIGABRT and ABORTED in err):
        problems.append(f'died of signal {-status}')
    if status != 0:
        problems.extend(check_words(err, name))
    if problems:
        more = ' and later ones' if lasts else ''
        return f'{way.name}: call {at} ({name}{more}): status {status}: {"; ".join(problems)}\n      said: {err[-700:]!r}'
    return ''


def sweep(way, scratch):
    """Verdicts of all failures of this way: '' for one that was handled as it should be."""
    log = pathlib.Path(scratch, way.name)
    status, _, err, _, problems = way.run(scratch, 0, log=log)
    if status != 0 or problems:
        return [f'{way.name}: start-up without any failure: status {status} {problems} {err}']
    calls = max(log.read_text().splitlines(), key=len).split()
    print(f'{way.name}: {len(calls)} calls: ' + ' '.join(f'{c}*{calls.count(c)}' for c in sorted(set(calls))), flush=True)
    injections = [(at + 1, lasts) for at in range(len(calls)) for lasts in (False, True)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = pool.map(lambda injection: check(way, scratch, *injection), injections)
        return [verdict for verdict in verdicts if verdict is not None]


def main():
    global FAIL_SO
    penstock, start, FAIL_SO = map(os.path.abspath, sys.argv[1:4])
    role = os.path.basename(start)
    ways = (
        Way('launcher', 'penstock', [penstock, 'run', '-n', str(RANKS), start], {}, RANKS),
        Way('rank', role, [penstock, 'run', '-n', str(RANKS), start], {}, RANKS),
        Way('alone', role, [start], {}, 1),
        Way('self-fork', role, [start], {'GASNET_PSHM_NODES': str(RANKS)}, RANKS),
    )
    with tempfile.TemporaryDirectory(prefix='pen-sweep-') as scratch:
        verdicts = [verdict for way in ways for verdict in sweep(way, scratch)]
    failures = [verdict for verdict in verdicts if verdict]
    print(*failures, sep='\n')
    print(f'{len(verdicts)} failures injected, {len(failures)} not handled as they should be')
    return 1 if failures or len(verdicts) < FAILURES_MIN else 0


if __name__ == '__main__':
    sys.exit(main())
