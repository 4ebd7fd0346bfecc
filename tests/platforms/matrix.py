#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Results of rows of scripts/matrix: skipped if a compiler is missing, failed if CI needs the row, failed if the
compiler fails or if the client does not say what it is to say. The compilers of these tests are scripts, and the
sources a folder with the least that the script reads."""

import os
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ["PENSTOCK_SOURCE_DIR"]
SKIPPED = 77
GOOD = "rank 0 of 1: good"


class Matrix(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="penstock-matrix-")
        self.addCleanup(shutil.rmtree, self.root)
        os.mkdir(os.path.join(self.root, "scripts"))
        shutil.copy(os.path.join(SOURCE, "scripts", "matrix"), os.path.join(self.root, "scripts"))
        self.bin = os.path.join(self.root, "bin")
        os.mkdir(self.bin)
        for name in ("bash", "mkdir", "tail", "nproc", "dirname", "chmod", "cat"):
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        for name in ("cmake", "ctest"):
            self.program(name, "exit 0")

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{shutil.which('bash')}\n{text}\n")
        os.chmod(path, 0o755)

    def compiler(self, name, said=GOOD):
        """A compiler whose programs print `said`."""
        self.program(name, 'while [ "$1" != -o ]; do shift; done\n'
                           f'mkdir -p "${{2%/*}}" && printf "#!{shutil.which("bash")}\\necho {said}\\n" >"$2" && chmod +x "$2"')

    def matrix(self, *arguments, **more):
        env = {"PATH": self.bin, "JOBS": "1", **more}
        done = subprocess.run([os.path.join(self.root, "scripts", "matrix"), *arguments], env=env, cwd=self.root,
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        return done.returncode, done.stdout

    def test_missing_compiler_is_skipped(self):
        for ci in ({}, {"CI": "false"}):
            status, said = self.matrix("--short", "clang-O0", **ci)
            self.assertEqual((status, said), (SKIPPED, "clang-O0  skipped: clang is not there (scripts/deps matrix)\n"))

    def test_missing_compiler_of_a_row_of_ci_fails(self):
        for row, compiler in (("clang-O0", "clang"), ("gcc-lto", "gcc")):
            status, said = self.matrix("--short", row, CI="true")
            self.assertEqual(status, 1, said)
            self.assertIn(f"failed: {compiler} is not there", said)

    def test_missing_compiler_of_another_row_is_skipped_in_ci(self):
        for row in ("musl", "aarch64"):
            status, said = self.matrix(row, CI="true")
            self.assertEqual(status, SKIPPED, said)

    def test_row_that_passes(self):
        self.compiler("clang")
        status, said = self.matrix("clang-O0")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, "clang-O0 +ok ")

    def test_one_skipped_row_does_not_hide_one_that_passes(self):
        self.compiler("clang")
        status, said = self.matrix("clang-O0", "gcc-lto")
        self.assertEqual(status, 0, said)
        self.assertIn("gcc-lto   skipped", said)

    def expect_failed(self):
        status, said = self.matrix("clang-O0")
        self.assertEqual(status, 1, said)
        self.assertRegex(said, "clang-O0 +failed ")

    def test_client_that_says_something_else_fails(self):
        self.compiler("clang", "rank 0 of 1: bad")
        self.expect_failed()

    def test_client_that_does_not_compile_fails(self):
        self.program("clang", "exit 1")
        self.expect_failed()

    def test_library_that_does_not_build_fails(self):
        self.compiler("clang")
        self.program("cmake", '[ "$1" != --build ]')
        self.expect_failed()

    def test_failed_test_fails_the_row(self):
        self.compiler("clang")
        self.program("ctest", "exit 8")
        self.expect_failed()

    def test_unknown_row_is_refused(self):
        status, said = self.matrix("vax")
        self.assertEqual(status, 2)
        self.assertIn("usage: scripts/matrix", said)


if __name__ == "__main__":
    unittest.main()
