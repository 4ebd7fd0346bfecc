# SPDX-License-Identifier: BSD-3-Clause
"""Reading symbols of objects and libraries (nm) and the lists in version scripts."""

import collections
import fnmatch
import os
import re
import subprocess

Symbol = collections.namedtuple("Symbol", "name kind")


class ExportMap:
    """The `global:` side of a version script: exact names and patterns."""

    def __init__(self, names, patterns):
        self.names = names
        self.patterns = patterns

    def allows(self, name):
        return name in self.names or any(fnmatch.fnmatchcase(name, p) for p in self.patterns)


def read_map(path):
    """Parse a version script; later nodes add to earlier ones."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
    text = re.sub(r"#[^\n]*", " ", text)
    names, patterns = set(), set()
    for body in re.findall(r"\{(.*?)\}", text, flags=re.S):
        section = "global"
        for word in body.replace(":", ": ;").split(";"):
            word = word.strip()
            if word in ("global:", "local:"):
                section = word[:-1]
            elif word and section == "global":
                (patterns if re.search(r"[*?\[]", word) else names).add(word)
    return ExportMap(names, patterns)


def parse_nm(output):
    """Lines of `nm -P`: name, kind, value, size."""
    found = []
    for line in output.splitlines():
        words = line.split()
        if len(words) >= 2 and len(words[1]) == 1:
            found.append(Symbol(words[0].split("@")[0], words[1]))
    return found


def run_nm(path, flags, nm="nm"):
    if not os.path.isfile(path):
        raise SystemExit(f"{path} is missing: not built yet, or the build failed")
    return parse_nm(
        subprocess.run(
            [nm, "-P"] + flags + [path], check=True, capture_output=True, text=True
        ).stdout
    )


def defined_globals(path, nm="nm"):
    return run_nm(path, ["-g", "--defined-only"], nm)


def defined(path, nm="nm"):
    """Every symbol with a definition, local ones among them."""
    return run_nm(path, ["--defined-only"], nm)


def undefined(path, nm="nm"):
    return run_nm(path, ["-u"], nm)


def exported(path, nm="nm"):
    """Dynamic symbols a shared library defines; the version node's own name (kind A) is none."""
    return [s for s in run_nm(path, ["-D", "--defined-only"], nm) if s.kind != "A"]
