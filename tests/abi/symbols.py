#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""symbols.py LIBRARY [--update]: the shared library exports what symbols.txt lists.

A name that is gone breaks programs that were linked before; a new one is added to the list, in the
same change, by --update. Weak symbols are those a client may define itself."""
import os
import subprocess
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "symbols.txt")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", "-P", library], check=True,
                          capture_output=True, text=True).stdout
    rows = (line.split()[:2] for line in text.splitlines())
    return sorted(f"{name.split('@')[0]}{' weak' if kind in 'wWvV' else ''}"
                  for name, kind in rows if kind != "A")


def main():
    found = exported(sys.argv[1])
    if "--update" in sys.argv:
        with open(LIST, "w", encoding="utf-8") as file:
            file.write("\n".join(found) + "\n")
        return 0
    with open(LIST, encoding="utf-8") as file:
        listed = file.read().splitlines()
    gone, new = sorted(set(listed) - set(found)), sorted(set(found) - set(listed))
    for name in gone:
        print(f"no longer exported: {name}")
    for name in new:
        print(f"exported, but not in symbols.txt: {name}")
    print(f"{len(found)} symbols")
    return 1 if gone or new else 0


if __name__ == "__main__":
    sys.exit(main())
