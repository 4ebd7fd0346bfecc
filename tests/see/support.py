# SPDX-License-Identifier: BSD-3-Clause
"""Code that the tests of `penstock jobs`, `top` and `why` share. Jobs of other tests may run at the same time, so each
command names its job."""

import contextlib
import importlib.util
import os
import signal

_path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch", "support.py")
_spec = importlib.util.spec_from_file_location("launch_support", _path)
launch = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(launch)

PENSTOCK, BUILD, Job, patience = launch.PENSTOCK, launch.BUILD, launch.Job, launch.patience
LaunchTest, main = launch.LaunchTest, launch.main


def program(name):
    return os.path.join(BUILD, "tests", "see", f"see.{name}")


def penstock(*words, **more):
    return Job([PENSTOCK, *map(str, words)], **more)


@contextlib.contextmanager
def running(*words, lines=0, **more):
    """A job, once it has printed that many lines. It is ended by SIGTERM; then `said` is its standard error."""
    job = launch.start([PENSTOCK, "run", *map(str, words)], **more)
    try:
        for _ in range(lines):
            job.stdout.readline()
        yield job
    finally:
        if job.poll() is None:
            job.send_signal(signal.SIGCONT)
            job.send_signal(signal.SIGTERM)
        job.said = job.communicate(timeout=patience(30))[1].decode()
