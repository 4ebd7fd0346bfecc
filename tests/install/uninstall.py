#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`make uninstall` removes what `make install` installed, and nothing else."""

import os
import shutil
import tempfile
import unittest

import install
from install import BUILD, SOURCE, files_below, run


class Uninstall(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="penstock-uninstall-")
        self.addCleanup(shutil.rmtree, self.top)
        self.prefix = os.path.join(self.top, "a", "prefix")

    def make(self, target, *settings, expect=0):
        # Installed files have been built already: -o keeps make from building them again.
        return run(["make", "-C", SOURCE, "--no-print-directory", "-o", "build", target, f"R={BUILD}", *settings],
                   expect=expect)

    def both(self, *settings):
        """Installs and uninstalls; how many files there were."""
        self.assertNotIn("Warning", self.make("install", *settings))
        count = len(files_below(self.top))
        self.make("uninstall", *settings)
        return count

    def put(self, name, text="mine\n"):
        path = os.path.join(self.prefix, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_leaves_nothing(self):
        self.assertGreater(self.both(f"PREFIX={self.prefix}"), 60)
        self.assertEqual(files_below(self.top), [])

    def test_leaves_nothing_under_destdir(self):
        self.assertGreater(self.both(f"DESTDIR={self.top}", "PREFIX=/opt/penstock"), 60)
        self.assertEqual(files_below(self.top), [])

    def test_leaves_nothing_with_a_blank_in_the_prefix(self):
        self.assertGreater(self.both(f"PREFIX={self.top}/with a blank"), 60)
        self.assertEqual(files_below(self.top), [])

    def test_leaves_nothing_after_two_installations(self):
        self.make("install", f"PREFIX={self.prefix}")
        self.both(f"PREFIX={self.prefix}")
        self.assertEqual(files_below(self.top), [])

    def test_leaves_what_was_there_before(self):
        for name in ("bin/other", "lib/pkgconfig/other.pc", "include/other/other.h"):
            self.put(name)
        for name in ("share/man/man3", "libexec", "share/doc"):
            os.makedirs(os.path.join(self.prefix, name))
        before = files_below(self.top)
        self.both(f"PREFIX={self.prefix}")
        self.assertEqual(files_below(self.top), before)

    def test_leaves_what_came_later(self):
        self.make("install", f"PREFIX={self.prefix}")
        self.put("include/penstock/mine.h")
        self.make("uninstall", f"PREFIX={self.prefix}")
        self.assertEqual(files_below(self.prefix), ["include", "include/penstock", "include/penstock/mine.h"])

    def test_removes_what_an_earlier_release_left(self):
        self.make("install", f"PREFIX={self.prefix}")
        self.put("lib/older/library.so")
        with open(os.path.join(self.prefix, "share/penstock/installed"), "a", encoding="utf-8") as file:
            file.write("lib/older/library.so\nlib/older/\n")
        self.both(f"PREFIX={self.prefix}")
        self.assertEqual(files_below(self.top), [])

    def test_works_on_a_tree_that_was_moved(self):
        self.make("install", f"PREFIX={self.prefix}")
        os.rename(self.prefix, os.path.join(self.top, "moved"))
        self.make("uninstall", f"PREFIX={self.top}/moved")
        self.assertEqual(files_below(self.top), ["a"])

    def test_says_where_nothing_is_installed(self):
        said = self.make("uninstall", f"PREFIX={self.prefix}", expect=2)
        self.assertIn(f"penstock: nothing is installed in {self.prefix}: there is no", said)


if __name__ == "__main__":
    install.main()
