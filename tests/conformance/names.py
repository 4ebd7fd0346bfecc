#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""names.py SOURCE: every call that the public headers declare is named by the conformance program that
checks its meaning, in a comment `TESTS: name name ...`; and nothing is named that does not exist.

The numbered forms of messages, gex_AM_RequestShort0 and so on, stand in the headers as one macro and
in the comments as gex_AM_RequestShort[M]. --self-test forgets a name, and expects to be told.
"""

import glob
import os
import re
import sys

CALL = re.compile(r"\b(?:gex|gasnet)_[A-Za-z0-9_]+(?=\()")
WORD = re.compile(r"\b(?:gex|gasnet|GEX|GASNET|SIZEOF)_[A-Za-z0-9_]+(?:\[M\])?")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Not the specifications' calls: types of functions, and what a header's macros use.
NOT_CALLS = re.compile(r"_fn_t$")


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def declared(source):
    """The calls in the headers' own text, without comments; the tools have tests of their own."""
    calls = set()
    for path in glob.glob(os.path.join(source, "include", "penstock", "*.h")):
        calls.update(CALL.findall(COMMENT.sub("", read(path))))
    return {call for call in calls if not NOT_CALLS.search(call)}


def tested(source):
    """The names in the comments: from TESTS: to the end of the comment or an empty line."""
    names = set()
    for path in glob.glob(os.path.join(source, "tests", "conformance", "*.[ch]")):
        for comment in COMMENT.findall(read(path)):
            for part in comment.split("TESTS:")[1:]:
                names.update(WORD.findall(part))
    return names


def known(source):
    """Every word of the headers, those made by macros apart."""
    text = "".join(read(path) for path in
                   glob.glob(os.path.join(source, "include", "**", "*.h"), recursive=True))
    return set(re.findall(r"\w+", text))


def complaints(source, forgotten=""):
    names = tested(source) - {forgotten}
    plain = {name.removesuffix("[M]") for name in names}
    words = known(source)
    for call in sorted(declared(source) - plain):
        yield f"{call}: declared, but no conformance program names it after TESTS:"
    for name in sorted(names):
        if not re.search(r"(\[M\]|\d)$", name) and name not in words:
            yield f"{name}: named after TESTS:, but not in the headers"


def main():
    source = sys.argv[1]
    if "--self-test" in sys.argv[2:]:
        found = list(complaints(source, "gasnet_barrier_wait"))
        return 0 if any(line.startswith("gasnet_barrier_wait:") for line in found) else 1
    found = list(complaints(source))
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
