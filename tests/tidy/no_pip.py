#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where pip cannot reach its index, everything else goes on: scripts/deps does not stop, and a gate whose tool is
missing says that it was not run. It is skipped then, and fails only where CI=true. The scripts are copied, so
that the virtual environment is another one."""

import os
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ["PENSTOCK_SOURCE_DIR"]
PIP_TOOLS = ("clang-format", "clang-tidy", "lizard", "codespell")
NOWHERE = "http://127.0.0.1:9"  # a port of this host that nobody listens at
GOOD = "/* SPDX-License-Identifier: BSD-3-Clause */\n/* a.c: nothing. */\nint pen_a;\n"
SKIPPED = 77


class NoPip(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="penstock-no-pip-")
        shutil.copytree(os.path.join(SOURCE, "scripts"), os.path.join(cls.root, "scripts"))
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(os.path.join(SOURCE, name), cls.root)
        for name, text in (("src/a.c", GOOD), ("build/dev/compile_commands.json", "[]\n")):
            path = os.path.join(cls.root, name)
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        cls.make_bin()
        cls.deps = cls.run_script("deps", "test")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    @classmethod
    def make_bin(cls):
        """The system's programs without those that pip installs; apt-get installs nothing, as this is about pip."""
        cls.bin = os.path.join(cls.root, "build", "bin")
        os.makedirs(cls.bin)
        for folder in ("/usr/bin", "/bin"):
            for name in os.listdir(folder):
                if name not in (*PIP_TOOLS, "apt-get", "id") and not os.path.lexists(os.path.join(cls.bin, name)):
                    os.symlink(os.path.join(folder, name), os.path.join(cls.bin, name))
        for name, text in (("apt-get", "exit 0"), ("id", "echo 0")):
            with open(os.path.join(cls.bin, name), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(os.path.join(cls.bin, name), 0o755)

    @classmethod
    def run_script(cls, name, *arguments, **more):
        env = {key: value for key, value in os.environ.items() if key not in ("CI",) and not key.startswith("PIP_")}
        env.update(PATH=cls.bin, PIP_INDEX_URL=NOWHERE + "/simple", PIP_RETRIES="0", PIP_CONFIG_FILE=os.devnull,
                   npm_config_registry=NOWHERE, npm_config_fetch_retries="0", **more)
        done = subprocess.run([os.path.join(cls.root, "scripts", name), *arguments], env=env, cwd=cls.root, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def test_deps_says_so_and_goes_on(self):
        status, said = self.deps
        self.assertEqual(status, 0, said)
        self.assertRegex(said, "pip could not install .*clang-format.* so the gates that need them are not run")

    def expect_not_run(self, tools, *command):
        for ci, expected in ((None, SKIPPED), ("false", SKIPPED), ("true", 1)):
            status, said = self.run_script(*command, **({} if ci is None else {"CI": ci}))
            self.assertEqual((status, said), (expected, f"not run: {tools} missing; scripts/deps test installs what the"
                                                        " gates need\n"), command)

    def test_gates_are_not_run(self):
        build = os.path.join(self.root, "build", "dev")
        for more in ([], ["--self-test"]):
            self.expect_not_run("clang-format", "check_format", *more)
            self.expect_not_run("clang-tidy", "check_tidy", *(more or ["--build", build]))
        self.expect_not_run("lizard and codespell", "check_style")

    def test_findings_of_a_gate_count_without_its_tools(self):
        path = os.path.join(self.root, "src", "b.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write("int no_licence;\n")
        self.addCleanup(os.remove, path)
        status, said = self.run_script("check_style")
        self.assertEqual(status, 1)
        self.assertIn("src/b.c:1: the first line", said)

    def test_gates_without_such_tools_are_run(self):
        self.assertEqual(self.run_script("check_words", "--self-test")[0], 0)


if __name__ == "__main__":
    unittest.main()
