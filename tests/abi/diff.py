#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""diff.py LIBRARY: programs that were compiled before go on working: abidiff finds no difference between
the library and baseline.abi.gz but new symbols.

    diff.py LIBRARY --update    a change that is meant, or additions to watch from now on
    diff.py --self-test         small libraries with changes that must, and must not, be found

Skipped where there is no abidiff."""

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BASELINE = os.path.join(HERE, "baseline.abi.gz")
PUBLIC_ONLY = ["--suppressions", os.path.join(HERE, "internal.abignore")]


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return done.returncode, done.stdout


def describe(library, include, out):
    """Writes what clients of the library depend on, as XML."""
    status, said = run(
        "abidw", *PUBLIC_ONLY, "--exported-interfaces-only", "--headers-dir", include,
        "--no-comp-dir-path", "--no-corpus-path", "--no-show-locs", "--no-parameter-names",
        "--out-file", out, library)
    if status:
        raise SystemExit(f"abidw: status {status}\n{said}")


def differences(old, new):
    """Differences that abidiff finds, except new symbols; "" if there are none."""
    status, said = run("abidiff", "--no-added-syms", "--no-show-locs", old, new)
    return said or f"abidiff: status {status}" if status else ""


def compare(library, include, baseline):
    with tempfile.TemporaryDirectory() as folder:
        old, new = (os.path.join(folder, name) for name in ("old.abi", "new.abi"))
        with gzip.open(baseline, "rb") as packed, open(old, "wb") as file:
            shutil.copyfileobj(packed, file)
        describe(library, include, new)
        return differences(old, new)


def update(library, include):
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "new.abi")
        describe(library, include, plain)
        with open(plain, "rb") as file, open(BASELINE, "wb") as packed:
            with gzip.GzipFile("", "wb", 9, packed, mtime=0) as out:
                shutil.copyfileobj(file, out)
    print(f"{BASELINE}: {os.path.getsize(BASELINE)} bytes")


# ---- small libraries ------------------------------------------------------------------------------

PUBLIC = """#ifndef A
#define A
typedef struct pen_row { long base; int length; } pen_row;
typedef struct pen_hidden *gex_a_t;
enum gex_kind { GEX_ONE = 1, GEX_TWO = 2 };
extern pen_row pen_rows[4];
int gex_get(gex_a_t a, const pen_row *row, enum gex_kind kind);
int gex_put(gex_a_t a, int len);
#endif
"""
CODE = """#include "a.h"
struct pen_hidden { int x; };
pen_row pen_rows[4];
int gex_get(gex_a_t a, const pen_row *row, enum gex_kind kind) { return a->x + row->length + kind; }
int gex_put(gex_a_t a, int len) { return a->x + len; }
"""
BREAKS = {
    "a call is gone": ("gex_put", "gex_set"),
    "another type of argument": ("int len", "long len"),
    "another type of result": ("int gex_put", "long gex_put"),
    "a field more": ("int length;", "int length; long more;"),
    "fields in another order": ("long base; int length;", "int length; long base;"),
    "another value": ("GEX_TWO = 2", "GEX_TWO = 3"),
    "a longer array": ("pen_rows[4]", "pen_rows[8]"),
}
ACCEPTED = {
    "nothing": ("", ""),
    "a field of a hidden type": ("{ int x; }", "{ long before; int x; }"),
    "a call more": ("int gex_put(gex_a_t a, int len) {",
                    "int gex_more(void); int gex_more(void) { return 1; }\n"
                    "int gex_put(gex_a_t a, int len) {"),
}


def small_library(folder, name, change):
    top = os.path.join(folder, name)
    for place, text in (("include/a.h", PUBLIC), ("src/a.c", CODE)):
        path = os.path.join(top, place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(*change) if change[0] else text)
    library, include = os.path.join(top, "liba.so"), os.path.join(top, "include")
    subprocess.run(["cc", "-g", "-fPIC", "-shared", "-I", include, "-o", library,
                    os.path.join(top, "src/a.c")], check=True)
    described = os.path.join(top, "a.abi")
    describe(library, include, described)
    return described


def self_test():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        old = small_library(folder, "old", ("", ""))
        for cases, found in ((BREAKS, True), (ACCEPTED, False)):
            for number, (name, change) in enumerate(cases.items()):
                new = small_library(folder, f"{found}{number}", change)
                said = differences(old, new)
                if bool(said) != found:
                    wrong += 1
                    print(f"self-test: {name} was {'found' if said else 'not found'}\n{said}")
    print(f"self-test: {len(BREAKS)} breaks, {len(ACCEPTED)} changes that are none, "
          f"{wrong} judged wrongly")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if not shutil.which("abidiff"):
        print("skipped: there is no abidiff (scripts/deps test installs it)")
        return 77
    if args.self_test:
        return self_test()
    if not args.library:
        parser.error("which library?")
    include = os.path.join(ROOT, "include")
    if args.update:
        return update(args.library, include)
    said = compare(args.library, include, BASELINE)
    if said:
        print(said, "Programs compiled before would not work with this library. If that is meant:",
              f"    tests/abi/diff.py {args.library} --update", sep="\n")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
