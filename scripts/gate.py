# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that the gates share: files, complaints, and self-tests that break a copy on purpose."""

import argparse
import collections
import concurrent.futures
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIPPED = 77  # what CTest takes for a skipped test


def lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def sources(folder, endings=(".c", ".h")):
    """Every file with such an ending below a folder; none when it is not there."""
    found = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        found += [os.path.join(place, name) for name in sorted(files) if name.endswith(endings)]
    return found


def folders(folder):
    """The folders in a folder; none when it is not there."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [path for path in (os.path.join(folder, name) for name in names) if os.path.isdir(path)]


def project_files(root):
    """Every file of the project: tracked ones, and new ones that git does not ignore."""
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0 and listing.stdout:
        names = sorted(set(listing.stdout.split("\0")) - {""})
    else:
        names = []
        for place, folders, files in os.walk(root):
            folders[:] = sorted(set(folders) - {".git", "build", "__pycache__"})
            names += [os.path.relpath(os.path.join(place, name), root) for name in sorted(files)]
    return [name for name in names if os.path.isfile(os.path.join(root, name))]


class Complaints:
    """Prints findings as file:line: text, and counts them."""

    def __init__(self, root):
        self.root = root
        self.count = 0

    def __call__(self, path, line, text):
        self.count += 1
        if os.path.isabs(path):
            path = os.path.relpath(path, self.root)
        print(f"{path}:{line}: {text}" if line else f"{path}: {text}")


def write_tree(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def self_test(check, good, breaks):
    """The good tree passes; with any of the breaks laid over it, it must not."""
    wrong = 0
    for name, files in [("the good tree", {})] + sorted(breaks.items()):
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, {**good, **files})
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                count = check(root)
        if bool(count) != bool(files):
            wrong += 1
            print(f"self-test: {name}: {count} findings\n{said.getvalue()}")
    if missing_tools:
        return not_run()
    print(f"self-test: {len(breaks)} breaks, {wrong} judged wrongly")
    return 1 if wrong else 0


def run(command, **more):
    """A program's exit status and what it printed."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        errors="replace",
        **more,
    )
    return done.returncode, done.stdout


missing_tools = []  # that were asked for, so that part of a gate was not run


def find_tool(name):
    """The path of a tool that scripts/deps installs; the one of the build folder comes first. None: it is missing."""
    own = os.path.join(ROOT, "build", "venv", "bin", name)
    found = own if os.access(own, os.X_OK) else shutil.which(name)
    if not found and name not in missing_tools:
        missing_tools.append(name)
    return found


def tool(name):
    """The path of a tool without which the gate is not run."""
    found = find_tool(name)
    if not found:
        raise SystemExit(not_run())
    return found


def not_run():
    """Says which tools are missing. The status: skipped, but a failure where CI=true promises that all gates run."""
    print(f"not run: {' and '.join(missing_tools)} missing; scripts/deps test installs what the gates need")
    return 1 if os.environ.get("CI") == "true" else SKIPPED


def status_of(count):
    """The status of a gate with this number of findings. They count, whether or not a tool was missing."""
    if count:
        return 1
    return not_run() if missing_tools else 0


def script(name):
    """A script of this folder as a module, for others that need its functions."""
    path = os.path.join(ROOT, "scripts", name)
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def in_parallel(function, items):
    """function(item) for all, a few at a time; results in order. For work done by subprocesses."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        return list(pool.map(function, items))


def compile_text(folder, name, text, *flags):
    """Compiles a piece of C, for self-tests; returns the object's path."""
    source, result = (os.path.join(folder, name + ending) for ending in (".c", ".o"))
    write_tree(folder, {name + ".c": text})
    subprocess.run(["cc", "-w", *flags, "-c", "-o", result, source], check=True)
    return result


Unit = collections.namedtuple("Unit", "module source path")


def compile_commands(build):
    """The compile database of a build folder."""
    path = os.path.join(build, "compile_commands.json")
    if not os.path.isfile(path):
        raise SystemExit(f"{path} is missing: configure that build first")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def library_objects(root, build):
    """The objects of the library, with the module each belongs to."""
    units = []
    for entry in compile_commands(build):
        source = os.path.relpath(entry["file"], root)
        words = shlex.split(entry["command"])
        path = os.path.join(entry["directory"], words[words.index("-o") + 1])
        if source.startswith(("src/", "softnic/")):
            units.append(Unit(os.path.dirname(source).removeprefix("src/"), source, path))
    missing = [unit.source for unit in units if not os.path.isfile(unit.path)]
    if missing:
        raise SystemExit(f"not built yet: {' '.join(missing[:5])}")
    return units


def main(doc, check, good, breaks):
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--self-test", action="store_true", help="check the check")
    parser.add_argument("--root", default=ROOT)
    args = parser.parse_args()
    if args.self_test:
        return self_test(check, good, breaks)
    count = check(os.path.abspath(args.root))
    if count:
        print(f"{os.path.basename(sys.argv[0])}: {count} findings")
    return status_of(count)
