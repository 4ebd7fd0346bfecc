#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`penstock info`, `help` and `--version`."""

import json
import os
import pty
import re
import subprocess
import sys
import unittest

import support
from support import LaunchTest


def penstock(*words, **extra):
    return support.Job([support.PENSTOCK, *words], env=support.environment(**extra))


class Info(LaunchTest):
    def test_json_holds_everything(self):
        job = penstock("info", "--json", GASNET_MAX_SEGSIZE='a "b\\c')
        self.assertEqual(job.status, 0, job.err)
        told = json.loads(job.out)
        self.assertEqual(told["version"], penstock("--version").out.split()[1])
        self.assertLessEqual({"type", "compiler", "checked", "sanitizer"}, set(told["build"]))
        self.assertEqual(sum(row["chosen"] for row in told["conduits"]), 1)
        for row in told["conduits"]:
            self.assertEqual(row["score"] > 0, row["why_not"] is None)
        self.assertGreaterEqual(told["cores"]["online"], told["cores"]["allowed"])
        self.assertGreater(told["memory"]["physical"], 0)
        if told["topology"] is not None:
            self.assertGreaterEqual(told["topology"]["cores"], told["topology"]["packages"])
            self.assertGreaterEqual(told["topology"]["hardware_threads"], told["cores"]["allowed"])
        rows = {row["name"]: row for row in told["variables"]}
        # The members of a family, mpi-ompi and mpi-mpich, have the same variables with defaults of their own.
        owners = {(row["name"], row["module"].split("-")[0]) for row in told["variables"]}
        self.assertEqual(len(owners), len(rows), "a variable has two owners")
        self.assertEqual(len({(row["name"], row["module"]) for row in told["variables"]}), len(told["variables"]),
                         "a variable is listed twice")
        self.assertEqual((rows["GASNET_MAX_SEGSIZE"]["value"], rows["GASNET_MAX_SEGSIZE"]["origin"]),
                         ('a "b\\c', "environment"))  # fmt: skip
        self.assertEqual((rows["GASNET_EXITTIMEOUT_MAX"]["value"], rows["GASNET_EXITTIMEOUT_MAX"]["origin"]),
                         ("5", "default"))  # fmt: skip
        modules = {row["module"] for row in told["variables"]}
        self.assertLessEqual({"boot", "job", "progress", "coll", "api", "smp"}, modules)

    def test_a_value_that_jobs_refuse_is_marked(self):
        said = penstock("info", "variables", GASNET_MAX_THREADS="many", GASNET_QUIET="yes", PENSTOCK_WAIT_SPIN="").out
        self.assertRegex(said, r"\nGASNET_MAX_THREADS +many .*\n  jobs refuse this value, .*: give a whole number such as 16\n")
        self.assertEqual(said.count("jobs refuse"), 1)

    def test_words_that_a_command_does_not_take(self):
        for words, answer in ((["info", "a", "b"], 'unknown argument "b"'), (["jobs", "x"], 'unknown argument "x"'),
                              (["top", "1", "2"], 'unknown argument "2"'), (["why", "--jso"], 'unknown option "--jso"'),
                              (["run", "-n", "2", "--bogus", "x"], 'unknown option "--bogus"; `penstock')):
            job = penstock(*words)
            self.assertEqual(job.status, 2)
            self.assertIn(answer, job.err)

    def test_text_says_the_same(self):
        told = json.loads(penstock("info", "--json").out)
        text = penstock("info", "--all").out
        for row in told["variables"]:
            self.assertIn(f"\n{row['name']} ", text)
        for row in told["conduits"]:
            self.assertIn(row["why_not"] or f"score {row['score']}", text)

    def test_variables_that_serve_tests_are_hidden_unless_asked_for(self):
        told = json.loads(penstock("info", "--json").out)["variables"]
        hidden = [row["name"] for row in told if row["summary"].startswith("For tests: ")]
        self.assertGreater(len(hidden), 5)
        text = penstock("info").out
        for row in told:
            self.assertEqual(f"\n{row['name']} " in text, row["name"] not in hidden, row["name"])
        self.assertIn(f"\n{len(hidden)} variables that serve tests are not shown", text)

    def test_a_word_chooses_sections_and_variables(self):
        udp = penstock("info", "udp").out
        self.assertIn("variables of udp:", udp)
        self.assertIn("  udp ", udp)
        for other in "variables of coll", "\nthis host:", "\n  smp ":
            self.assertNotIn(other, udp)
        self.assertEqual(re.findall(r"(?m)^[A-Z]\w+", penstock("info", "segsize").out), ["GASNET_MAX_SEGSIZE"])
        self.assertRegex(penstock("info", "host").out, r"\A\nthis host:")
        wrong = penstock("info", "nowhere")
        self.assertEqual((wrong.status, wrong.out), (2, ""))
        self.assertIn('no section and no variable has "nowhere" in its name', wrong.err)

    def test_copies_are_measured_or_chosen_by_the_user(self):
        told = json.loads(penstock("info", "--json").out)["copies"]
        self.assertEqual((told["wish"], told["first"]), ("measured", 2048))
        for kind in "own", "other", "past":
            self.assertEqual(len(told[kind]), len(told["own"]))
        self.assertGreater(told["ns"], 0)
        fixed = json.loads(penstock("info", "--json", PENSTOCK_COPIES="libc").out)["copies"]
        self.assertEqual(set(fixed["own"] + fixed["other"]), {"libc"})
        self.assertFalse(any(fixed["past"]))
        self.assertRegex(penstock("info", "copies").out, r"\A\ncopies:\n  measured in \d+\.\d ms; this processor has libc")
        text = penstock("info", "copies", PENSTOCK_COPIES="libc").out
        self.assertRegex(text, r"\n +2 KiB +the C library's memcpy +the C library's memcpy\n\nvariables of boot:")
        self.assertIn("no such way", penstock("info", "copies", PENSTOCK_COPIES="fastest").out)
        job = penstock("run", "-n", "2", "true", PENSTOCK_COPIES="fastest")
        self.assertNotEqual(job.status, 0)
        self.assertIn("PENSTOCK_COPIES=fastest: this processor has no such way", job.err)

    def test_terminals_get_colour_and_nothing_else_does(self):
        self.assertNotIn("\033", penstock("info").out)
        said = {name: self.on_terminal(**env) for name, env in
                {"plain": {}, "refused": {"NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}}.items()}
        self.assertIn("\033[1mconduits", said["plain"])
        self.assertNotIn("\033", said["refused"])
        self.assertNotIn("\033", said["dumb"])

    @staticmethod
    def on_terminal(**env):
        """The output of `penstock info conduits` on a terminal."""
        ours, theirs = pty.openpty()
        job = subprocess.Popen([support.PENSTOCK, "info", "conduits"], stdout=theirs, stdin=subprocess.DEVNULL,
                               env={**support.environment(TERM="xterm"), **env})
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:
            pass  # how Linux tells that the last writer has closed a terminal
        job.wait()
        os.close(ours)
        return said.decode()

    def test_completions_offer_what_help_lists(self):
        for name in "run", "sim", "perf", "info":
            listed = set(re.findall(r"(?m)^  (--?[a-z-]*[a-z])", penstock("help", name).out)) - {"--"}
            self.assertLessEqual(listed, set(penstock("words", name).out.split()), name)
        commands = re.findall(r"(?m)^  (\w+)  +\w", penstock("help").out)
        self.assertEqual(set(penstock("words").out.split()), set(commands) - {"penstock"})
        conduits = [row["name"] for row in json.loads(penstock("info", "--json").out)["conduits"]]
        self.assertEqual(penstock("words", "run", "--conduit").out.split(), conduits)
        self.assertEqual(penstock("words", "run", "-n").out, "")

    def complete(self, *words):
        """The words that bash offers to complete the last word."""
        script = os.path.join(support.SOURCE, "command", "completion", "penstock.bash")
        say = (f'. {script}; COMP_WORDS=({support.PENSTOCK} "$@"); COMP_CWORD=$#; _penstock; '
               'printf "%s\\n" "${COMPREPLY[@]}"')
        job = support.Job(["bash", "-c", say, "bash", *words])
        self.assertEqual(job.err, "")
        return job.out.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("ru"), ["run"])
        self.assertEqual(self.complete("run", "--time"), ["--timeout"])
        self.assertEqual(self.complete("run", "--conduit", "ud"), ["udp"])
        self.assertEqual(self.complete("perf", "am", "--mode", ""), ["seq", "par"])
        self.assertEqual(self.complete("run", "-n", "2", "/etc/hostn"), ["/etc/hostname"])

    def test_affinity_is_seen(self):
        job = support.Job(["taskset", "-c", "0", support.PENSTOCK, "info", "--json"])
        self.assertEqual(json.loads(job.out)["cores"]["allowed"], 1, job.err)

    def test_ranks_are_bound_to_cores_of_their_own(self):
        say = "import os; print(os.environ['PENSTOCK_RANK'], *sorted(os.sched_getaffinity(0)))"
        job = penstock("run", "-n", "3", "--bind", sys.executable, "-c", say)
        self.assertEqual(job.status, 0, job.err)
        told = json.loads(penstock("info", "--json").out)
        cores = dict(line.split(" ", 1) for line in job.out.splitlines())
        self.assertEqual(len(cores), 3)
        count = min(len(os.sched_getaffinity(0)), (told["topology"] or {"cores": 4096})["cores"])
        self.assertEqual(len(set(cores.values())), min(count, 3), "each has one until there are no more")
        alone = support.Job(["taskset", "-c", "0", support.PENSTOCK, "run", "-n", "2", "--bind", sys.executable,
                             "-c", say])  # fmt: skip
        self.assertEqual(sorted(alone.out.split()), ["0", "0", "0", "1"], alone.err)

    def test_foreign_launcher_is_named(self):
        self.assertIn("PMIx", json.loads(penstock("info", "--json", PMIX_RANK="0", PMIX_NAMESPACE="n").out)["launcher"])

    def test_help(self):
        self.assertIn("--timeout", penstock("help", "run").out)
        self.assertEqual(penstock("help", "run").out, penstock("run", "--help").out)
        self.assertEqual(penstock("--help").out, penstock("help").out)
        self.assertEqual((penstock("help").status, penstock().status), (0, 2))

    def test_manual_names_every_option_and_status(self):
        with open(os.path.join(support.SOURCE, "docs", "man", "penstock.1"), encoding="utf-8") as f:
            manual = f.read()
        texts = [penstock("help", name).out for name in ("run", "sim", "perf", "info")]
        for option in re.findall(r"(?<![\w-])--?([a-z][a-z-]*)", "".join(texts)):
            self.assertRegex(manual, rf"Fl {option}\b")
        for status in ("124", "126", "127", "2", "1"):
            self.assertIn(f".It {status}\n", manual)

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            for words in (["info"], ["help"], ["--version"]):
                job = self.written_to(full, words)
                self.assertEqual(job.returncode, 1)
                self.assertRegex(job.stderr, r"^penstock\[\w+\] error: cannot write to the standard output: .*\n$")

    @unittest.skipIf(support.SANITIZED, "leaks are not looked for under strace")
    def test_output_of_which_only_the_beginning_is_lost_is_an_error_too(self):
        fails_once = ["-e", "trace=write", "-e", "inject=write:error=ENOSPC:when=1"]
        job = support.Job(["strace", "-o", os.devnull, *fails_once, support.PENSTOCK, "info", "--json"])
        self.assertEqual(job.status, 1, job.err)
        self.assertIn("cannot write to the standard output", job.err)
        self.assertTrue(job.out.endswith("}\n"), "what came later did arrive")

    @staticmethod
    def written_to(full, words):
        return subprocess.run([support.PENSTOCK, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)


if __name__ == "__main__":
    support.main()
