#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A conduit has one name, and it is the same wherever a client meets it: in compat/conduits, in the
README, in the names of the installed files, in `penstock info`, and in `penstock run --conduit`."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("PENSTOCK_BUILD_DIR", "build/release"))
# Conduits that no client is built for: one for tests, and one over a card in software, whose name finders prefer to others.
ONLY_OURS = {"loop", "portals"}

# Finders of this kind look for the name that they want among those that are installed, without
# anchors in either direction.
FINDER = """
foreach(name IN ITEMS {names})
    foreach(wanted IN ITEMS shmem gemini aries portals)
        if(wanted MATCHES "${{name}}" OR name MATCHES "${{wanted}}")
            message(FATAL_ERROR "${{name}} is taken for ${{wanted}}")
        endif()
    endforeach()
endforeach()
"""


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def setUpModule():
    global TREE
    TREE = tempfile.mkdtemp(prefix="penstock-names-")
    status, said = run(["cmake", "--install", BUILD, "--prefix", TREE])
    if status != 0:
        raise AssertionError(said)


def tearDownModule():
    shutil.rmtree(TREE)


def rows_in_table():
    with open(os.path.join(SOURCE, "compat/conduits"), encoding="utf-8") as file:
        return [line.split() for line in file if re.match("[a-z]", line)]


def aliases():
    """Further names of a conduit that has its own, for example ibv of ucx."""
    names = {row[0] for row in rows_in_table()}
    return {row[0] for row in rows_in_table() if row[0] != row[1] and row[1] in names}


def names_installed(pattern, *folder):
    found = (re.fullmatch(pattern, name) for name in os.listdir(os.path.join(TREE, *folder)))
    return {match[1] for match in found if match}


class Names(unittest.TestCase):
    def setUp(self):
        self.names = names_installed("(.+)-conduit", "include")
        self.command = os.path.join(TREE, "bin/penstock")

    def test_every_kind_of_file_has_the_same_names(self):
        self.assertIn("smp", self.names)
        for folder, pattern in (("bin", "gasnetrun_(.+)"), ("lib/pkgconfig", r"gasnet-(.+)-par\.pc"),
                                ("lib", r"libgasnet-(.+)-seq\.so"),
                                ("lib", r"libgasnet-(.+)-parsync\.a")):
            self.assertEqual(names_installed(pattern, folder), self.names, folder)

    def test_info_has_the_same_names(self):
        status, said = run([self.command, "info", "--json"])
        self.assertEqual(status, 0)
        conduits = {row["name"].split("-")[0] for row in json.loads(said)["conduits"]}  # mpi-ompi is one of mpi
        self.assertEqual(conduits - ONLY_OURS, self.names - aliases())
        self.assertLessEqual(self.names, {row[0] for row in rows_in_table()})
        status, text = run([self.command, "info"])
        self.assertNotRegex(text, r"(?i)(?<![a-z/])shm")

    def test_readme_has_the_same_names(self):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
            table = re.search(r"(?s)## Networks\n(.*?)\n## ", file.read())[1]
        self.assertEqual(set(re.findall(r"(?m)^\| `(\w+)` \|", table)) - ONLY_OURS, self.names - aliases())

    def test_an_alias_is_its_conduit(self):
        self.assertEqual(aliases() & self.names, {"ibv"} if "ucx" in self.names else set())
        for name in aliases() & self.names:
            status, said = run([self.command, "run", "-n", "2", "--conduit", name, "--env", "PENSTOCK_UCX_TLS=tcp,self",
                                os.path.join(BUILD, "examples/randomaccess"), "am", "-m", "10"])  # fmt: skip
            self.assertEqual(status, 0, said)
            self.assertRegex(said, "conduit +ucx")

    def test_run_takes_each_of_them(self):
        for name in sorted(self.names - {"extoll", "mpi"}) + ["shm"]:
            self.assertEqual(run([self.command, "run", "-n", "1", "--conduit", name, "true"]),
                             (0, ""), name)
        status, said = run([self.command, "run", "-n", "1", "--conduit", "udpp", "true"])
        self.assertEqual(status, 2)
        self.assertIn('did you mean "udp"?', said)

    def test_marker_macro_and_launcher_say_the_same_name(self):
        for name in self.names:
            with open(os.path.join(TREE, f"include/{name}-conduit/gasnet_core.h"),
                      encoding="utf-8") as file:
                self.assertIn(f"define GASNET_CONDUIT_{name.upper()} 1", file.read())
            status, said = run([os.path.join(TREE, f"bin/gasnetrun_{name}"), "-t", "-n", "2", "x"])
            self.assertEqual(status, 0)
            self.assertIn("mpirun -n 2 env PENSTOCK_CONDUIT=mpi x" if name == "mpi" else f" --conduit {name} ", said)

    def test_no_finder_takes_one_for_another(self):
        with tempfile.NamedTemporaryFile("w", suffix=".cmake") as finder:
            finder.write(FINDER.format(names=" ".join(sorted(self.names))))
            finder.flush()
            self.assertEqual(run(["cmake", "-P", finder.name]), (0, ""))

    def test_no_installed_name_has_shm_in_it(self):
        for folder, folders, files in os.walk(TREE):
            for name in folders + files:
                self.assertNotIn("shm", name, folder)


if __name__ == "__main__":
    unittest.main()
