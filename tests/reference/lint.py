#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lint.py MAKE_MAN: mandoc has nothing to say about the manual pages, made or written, down to its
warnings; and does say something about one that is spoiled. Skipped where there is no mandoc."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

WRITTEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "man", "*.1")


def complaints(paths):
    said = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *paths], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False).stdout
    return said.splitlines()


def main():
    if not shutil.which("mandoc"):
        print("skipped: there is no mandoc (scripts/deps test installs it)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        pages = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                if not file.readline().startswith(".so "):
                    pages.append(os.path.join(folder, name))
        found = complaints(pages + glob.glob(WRITTEN))
        print(*found[:30], f"{len(pages)} pages, {len(found)} complaints", sep="\n")
        with open(pages[0], "a", encoding="utf-8") as file:
            file.write(".Bl\n.Sh NAME\n")
        return 1 if found or len(pages) < 100 or not complaints(pages[:1]) else 0


if __name__ == "__main__":
    sys.exit(main())
