#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sweep.py PENSTOCK START FAIL_SO: makes every allocation and system call of start-up fail in turn.

For the launcher, for a rank under it, for a lone process and for a self-fork: first counts the calls, then runs the job once
for each, with that one call failing in one process. The job must end with a status other than 0 within 5 s, with an
 `penstock[...] error:` line that names the call, and leave no process. Calls that start-up can do without may instead
end in a complete, correct run.
"""
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 2
ENDS_WITHIN_S = 5.0
ERROR = re.compile(r'^penstock\[[^\]]*\] error: .*$', re.M)


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

    def run(self, scratch, at, log=None):
        tag = f'{os.getpid()}-{self.name}-{at}'
        token = pathlib.Path(scratch, f'token-{self.name}-{at}')
        token.touch()
        environment = dict(os.environ, PEN_FAIL_ROLE=self.role, PEN_FAIL_AT=str(at), PEN_FAIL_TOKEN=str(token),
                           PEN_SWEEP_TAG=tag, LD_PRELOAD=FAIL_SO, **self.environment)
        if log:
            environment['PEN_FAIL_LOG'] = str(log)
        began = time.monotonic()
        job = subprocess.Popen(self.command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
        problems = []
        try:
            out, err = job.communicate(timeout=ENDS_WITHIN_S * 3)
        except subprocess.TimeoutExpired:
            problems.append('hangs')
            for pid in tagged(tag):
                os.kill(pid, signal.SIGKILL)
            out, err = job.communicate()
        if time.monotonic() - began > ENDS_WITHIN_S:
            problems.append(f'took {time.monotonic() - began:.1f} s')
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


def check(way, scratch, at):
    status, out, err, name, problems = way.run(scratch, at)
    lines = ERROR.findall(err)
    complete = status == 0 and out.count('started') == way.ranks
    if name is None:
        return None  # this run made fewer calls: nothing failed
    if status == 0 and not complete:
        problems.append('status 0 without a complete run')
    if status != 0:
        if not any(name in line for line in lines):
            problems.append(f'no error line that names {name}')
        if status < 0:
            problems.append(f'died of signal {-status}')
    if problems:
        return f'{way.name}: call {at} ({name}): status {status}: {"; ".join(problems)}\n      said: {err[-700:]!r}'
    return ''


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
    failures, ran = [], 0
    with tempfile.TemporaryDirectory(prefix='pen-sweep-') as scratch:
        for way in ways:
            log = pathlib.Path(scratch, way.name)
            status, out, err, _, problems = way.run(scratch, 0, log)
            if status != 0 or problems:
                print(f'{way.name}: start-up without any failure: status {status} {problems} {err}')
                return 1
            calls = max(log.read_text().splitlines(), key=len).split()
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                for verdict in pool.map(lambda i: check(way, scratch, i + 1), range(len(calls))):
                    ran += verdict is not None
                    if verdict:
                        failures.append(verdict)
            print(f'{way.name}: {len(calls)} calls: ' + ' '.join(f'{c}*{calls.count(c)}' for c in sorted(set(calls))))
    print(*failures, sep='\n')
    print(f'{ran} failures injected, {len(failures)} not handled as they should be')
    return 1 if failures or ran < 40 else 0


if __name__ == '__main__':
    sys.exit(main())
