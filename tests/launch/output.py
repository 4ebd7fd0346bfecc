#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Output and input of ranks: byte-exact, no torn lines, terminals, slow, full and closed readers."""

import os
import pty
import re
import select
import subprocess
import time

import support
from support import LaunchTest, fork, launch_command, patience, run, start

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def lines_of(rank, count):
    return [f"rank {rank} line {i} {LETTERS[:i % 61]}" for i in range(count)]


def by_rank(text, ranks):
    parts = {rank: [] for rank in range(ranks)}
    for line in text.splitlines():
        parts[int(line.split()[1])].append(line)
    return parts


def read_all(fd):
    """Text on a terminal's other side until the job has closed it."""
    text = b""
    end = time.monotonic() + patience(60)
    while time.monotonic() < end:
        try:
            piece = os.read(fd, 65536) if select.select([fd], [], [], 0.2)[0] else None
        except OSError:
            break
        if piece == b"":
            break
        text += piece or b""
    return text.decode().replace("\r\n", "\n")


class Output(LaunchTest):
    def test_three_times_30000_lines_arrive_byte_exact(self):
        for launch in (run, fork):
            job = launch(3, "join", "barrier", "lines=30000")
            self.assertEqual(job.status, 0, job.err)
            parts = by_rank(job.out, 3)
            for rank in range(3):
                self.assertEqual(parts[rank], lines_of(rank, 30000))

    def test_lines_printed_before_a_rank_is_killed_arrive(self):
        job = run(3, "join", "lines=30000", "barrier", "1:kill=9", "hang")
        self.assertEqual(job.status, 137)
        parts = by_rank(job.out, 3)
        for rank in range(3):
            self.assertEqual(parts[rank], lines_of(rank, 30000))

    def test_stdout_and_stderr_of_one_file_do_not_tear_each_other(self):
        out, into = os.pipe()
        job = start(launch_command(3, "join", "barrier", "lines=5000", "errlines=5000"), stdout=into, stderr=into)
        os.close(into)
        with os.fdopen(out) as f:
            text = f.read()
        self.assertEqual(job.wait(), 0)
        self.assertEqual(len(text.splitlines()), 30000)
        for line in text.splitlines():
            self.assertRegex(line, rf"^rank \d line \d+ ({LETTERS[:60]}|\w*)$")

    def test_streams_stay_apart(self):
        job = run(2, "join", "lines=10", "errlines=20")
        self.assertEqual((job.out.count("\n"), job.err.count("\n")), (20, 40))

    def test_tag_names_the_rank_on_each_line(self):
        job = run(3, "join", "lines=100", "text=end", options=["--tag"])
        self.assertEqual(len(job.out.splitlines()), 303)
        for line in job.out.splitlines():
            self.assertRegex(line, r"^\[(\d)\] (rank \1 line|end$)")

    def test_partial_last_line_is_kept(self):
        self.assertEqual(run(1, "join", "text=unfinished").out, "unfinished")
        self.assertEqual(sorted(run(3, "join", "text=unfinished").out.split("\n")), ["unfinished"] * 3)

    def test_output_that_is_no_text_passes_unchanged(self):
        data = bytes(range(256)) * 4000
        job = subprocess.run(
            [support.PENSTOCK, "run", "-n", "1", "cat"], input=data, stdout=subprocess.PIPE, check=False
        )
        self.assertEqual((job.returncode, job.stdout == data), (0, True))

    def test_very_long_lines_are_whole(self):
        code = "import sys; sys.stdout.write('x' * 3000000 + '\\n')"
        job = support.Job([support.PENSTOCK, "run", "-n", "3", "python3", "-c", code])
        self.assertEqual(job.out, ("x" * 3000000 + "\n") * 3)

    def test_output_goes_to_a_file(self):
        path = f"/tmp/penstock-launch-{os.getpid()}"
        try:
            with open(path, "w+", encoding="ascii") as f:
                f.write("before\n")
                f.flush()
                self.assertEqual(start(launch_command(3, "join", "lines=1000"), stdout=f).wait(), 0)
            with open(path, encoding="ascii") as f:
                lines = f.read().splitlines()
            self.assertEqual((lines[0], len(lines)), ("before", 3001))
        finally:
            os.unlink(path)

    def test_closed_reader_ends_the_job_like_sigpipe(self):
        out, into = os.pipe()
        os.close(out)
        job = start(launch_command(2, "join", "lines=10", "hang"), stdout=into)
        os.close(into)
        _, err = job.communicate(timeout=patience(30))
        self.assertEqual(job.returncode, -13)
        self.assertRegex(err.decode(), r"^penstock\[run\] error: cannot write standard output: write: Broken pipe")

    def test_reader_that_leaves_early_ends_the_job(self):
        job = support.Job(
            ["bash", "-c", "set -o pipefail; " + " ".join(launch_command(3, "join", "lines=200000")) + " | head -1"]
        )
        self.assertEqual((job.status, job.out.count("\n")), (141, 1))

    def test_full_disk_is_an_error(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            job = start(launch_command(2, "join", "lines=10"), stdout=full)
            _, err = job.communicate(timeout=patience(30))
        self.assertEqual(job.returncode, 1)
        self.assertIn(b"cannot write standard output: write: No space left on device", err)

    def test_stdout_that_was_never_open(self):
        command = " ".join(launch_command(2, "join", "lines=3"))
        job = support.Job(["bash", "-c", f"{command} >&-"])
        self.expect(job, 1, "cannot write standard output: write: Bad file descriptor")
        command = " ".join(launch_command(2, "join", "barrier"))
        self.expect(support.Job(["bash", "-c", f"{command} <&- >&- 2>&-"]), 0)

    def test_slow_reader_slows_the_job_but_loses_nothing(self):
        job = start(launch_command(3, "join", "lines=60000"))
        time.sleep(2.5)  # longer than the exit time-out, with every buffer full
        self.assertIsNone(job.poll())
        out, err = job.communicate(timeout=patience(60))
        self.assertEqual((job.returncode, err, out.count(b"\n")), (0, b"", 180000))

    def test_reader_that_never_reads_does_not_keep_the_time_limit_from_ending_the_job(self):
        job = start(launch_command(2, "join", "lines=200000", options=["--timeout", "1"]))
        self.assertEqual(job.wait(timeout=patience(30)), 124)
        job.communicate()


class Input(LaunchTest):
    def test_stdin_goes_to_rank_0_and_ends_for_all(self):
        for launch in (run, fork):
            job = launch(3, "join", "stdin", stdin=b"one\ntwo\n")
            self.assertEqual((job.status, job.out), (0, "rank 0 read one\nrank 0 read two\n"))

    def test_job_in_the_background_of_a_terminal_does_not_hang(self):
        master, slave = pty.openpty()
        command = " ".join(launch_command(2, "join", "barrier", "hello", options=["--timeout", "20"]))
        shell = start(["bash", "-ic", f"{command} & wait $!; echo status $?"], stdin=slave, stdout=slave,
                      stderr=slave, start_new_session=True)  # fmt: skip
        os.close(slave)
        text = read_all(master)
        shell.wait(timeout=patience(20))
        os.close(master)
        self.assertEqual(text.count("hello from"), 2, text)
        self.assertIn("status 0", text)


class Terminal(LaunchTest):
    def test_single_rank_keeps_its_terminal(self):
        text = self.on_terminal([support.PENSTOCK, "run", "-n", "1", "tty", "-s"])[0]
        self.assertEqual(text, "")
        code = "import os; print([os.isatty(fd) for fd in (0, 1, 2)])"
        text, status = self.on_terminal([support.PENSTOCK, "run", "-n", "1", "python3", "-c", code])
        self.assertEqual((text, status), ("[True, True, True]\n", 0))

    def test_prompt_without_a_newline_is_shown_and_answered(self):
        master, slave = pty.openpty()
        code = "import os; os.environ['PENSTOCK_RANK'] == '0' and print('hello ' + input('name? '))"
        job = start([support.PENSTOCK, "run", "-n", "2", "python3", "-c", code], stdin=slave, stdout=slave,
                    stderr=slave, start_new_session=True)  # fmt: skip
        os.close(slave)
        text = b""
        while b"name? " not in text:
            self.assertTrue(select.select([master], [], [], patience(30))[0], text)
            text += os.read(master, 4096)
        os.write(master, b"Ada\n")
        text += read_all(master).encode()
        self.assertEqual(job.wait(timeout=patience(20)), 0, text)
        self.assertIn(b"hello Ada", text)
        os.close(master)

    def test_lines_of_a_terminal_job_come_as_they_are_printed(self):
        master, slave = pty.openpty()
        job = start(launch_command(2, "join", "hello", "barrier", "hang"), stdin=slave, stdout=slave,
                    stderr=slave, start_new_session=True)  # fmt: skip
        os.close(slave)
        text = b""
        while text.count(b"hello from") < 2:
            self.assertTrue(select.select([master], [], [], patience(30))[0], text)
            text += os.read(master, 4096)
        job.terminate()
        job.wait(timeout=patience(20))
        os.close(master)

    def on_terminal(self, command):
        master, slave = pty.openpty()
        job = start(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        text = read_all(master)
        status = job.wait(timeout=patience(20))
        os.close(master)
        return re.sub(r"\^D\x08\x08", "", text), status


class Environment(LaunchTest):
    def test_console_variables_arrive_byte_exact(self):
        value = " a \"quoted\" 'text' \\ $HOME\ttab\nnewline \u00e9 "
        job = run(2, "join", "env=ODD", env=support.environment(ODD=value))
        self.assertEqual(job.out, f"ODD={value}\n" * 2)

    def test_env_option_sets_and_replaces(self):
        job = run(1, "join", "env=A", "env=B", options=["--env", "A=1", "--env", "B=x=y", "--env=A=2"],
                  env=support.environment(A="0"))  # fmt: skip
        self.assertEqual(job.out, "A=2\nB=x=y\n")

    def test_a_value_the_process_set_itself_wins(self):
        job = run(1, "setenv=A=mine", "join", "env=A", env=support.environment(A="console"))
        self.assertEqual(job.out, "A=mine\n")

    def test_the_ranks_own_variables_are_gone_after_joining(self):
        job = run(2, "join", "env=PENSTOCK_RANK", "env=PENSTOCK_CONTROL_FD", "env=PENSTOCK_ARENA_FD")
        self.assertEqual(job.out.count("(unset)"), 6, job.out)

    def test_ranks_inherit_no_descriptor_of_the_launcher(self):
        for launch in (run, fork):
            self.assertEqual(launch(4, "join", "fds").out, "")


if __name__ == "__main__":
    support.main()
