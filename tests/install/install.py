#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The installed tree is all that a client needs, wherever it lies.

The build is installed twice: under DESTDIR, and then moved; and to a prefix of its own. Both must be
the same, byte by byte. Clients are then built and run from the moved tree."""

import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("PENSTOCK_BUILD_DIR", "build/release"))
SOURCE = os.path.dirname(os.path.dirname(HERE))
MODULES = os.environ.get("PENSTOCK_BUILD_MODULES", "").split()  # conduits that were built as modules
RANKS_GOOD = ("rank 0 of 2 on SMP: good", "rank 1 of 2 on SMP: good")
UDP_RANKS_GOOD = tuple(line.replace("SMP", "UDP") for line in RANKS_GOOD)

FRAGMENT_MAKEFILE = """include {fragment}
client: client.c ; $({word}_CC) $({word}_CPPFLAGS) $({word}_CFLAGS) -o $@ $< \\
    $({word}_LDFLAGS) $({word}_LIBS)
clientxx: client.cc ; $({word}_CXX) $({word}_CXXCPPFLAGS) $({word}_CXXFLAGS) -o $@ $< \\
    $({word}_LDFLAGS) $({word}_LIBS)
print: ; @echo '$(GASNET_PREFIX)|$(GASNET_CC)|$(GASNET_LIBS)'
"""

PROJECT = """cmake_minimum_required(VERSION 3.20)
project(client LANGUAGES C CXX)
find_package(Penstock 0.1 REQUIRED)
foreach(kind IN ITEMS penstock static)
    foreach(ending IN ITEMS c cc)
        add_executable(${kind}.${ending} client.${ending})
        target_compile_definitions(${kind}.${ending} PRIVATE GASNET_PAR=1)
        target_link_libraries(${kind}.${ending} PRIVATE penstock::${kind})
    endforeach()
endforeach()
if(NOT EXISTS "${PENSTOCK_COMMAND}")
    message(FATAL_ERROR "PENSTOCK_COMMAND: ${PENSTOCK_COMMAND}")
endif()
"""


def run(command, expect=0, **more):
    """Runs a command, whose status must be the expected one. Returns its output."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("PENSTOCK_", "GASNET_", "PKG_CONFIG", "LD_", "MAKE", "DESTDIR"))}
    env.update(more.pop("env", {}))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, env=env, check=False, **more)
    if done.returncode != expect:
        raise AssertionError(f"status {done.returncode} of {command}\n{done.stdout}")
    return done.stdout


def files_below(top):
    return sorted(os.path.relpath(os.path.join(folder, name), top)
                  for folder, folders, names in os.walk(top) for name in names + folders)


def setUpModule():
    global TOP, TREE, PLAIN
    TOP = tempfile.mkdtemp(prefix="penstock-install-")
    TREE, PLAIN = os.path.join(TOP, "moved"), os.path.join(TOP, "plain")
    staged = os.path.join(TOP, "staged")
    run(["cmake", "--install", BUILD, "--prefix", "/opt/penstock"], env={"DESTDIR": staged})
    os.rename(os.path.join(staged, "opt/penstock"), TREE)
    run(["cmake", "--install", BUILD, "--prefix", PLAIN])


def tearDownModule():
    shutil.rmtree(TOP)


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=TOP)
        for name in ("client.c", "timer.c"):
            text = os.path.join(HERE, name)
            for ending in ("", "c"):
                shutil.copy(text, os.path.join(self.folder, name + ending))

    def at(self, name):
        return os.path.join(self.folder, name)

    def in_tree(self, name):
        return os.path.join(TREE, name)

    def pkg_config(self, *arguments):
        said = run(["pkg-config", *arguments],
                   env={"PKG_CONFIG_PATH": self.in_tree("lib/pkgconfig")})
        return said.split()

    def build(self, source, *flags, name="client"):
        """Compiles and links with exactly these flags; the program."""
        compiler = "c++" if source.endswith("cc") else "cc"
        run([compiler, "-Wall", "-Wextra", "-Werror", "-o", self.at(name), self.at(source), *flags])
        return self.at(name)

    def expect_good(self, program, launcher=("penstock", "run", "-n", "2"), library=None, **more):
        said = run([self.in_tree("bin/" + launcher[0]), *launcher[1:], program], **more)
        for line in UDP_RANKS_GOOD if launcher[0].endswith("amudprun") else RANKS_GOOD:
            self.assertIn(line, said)
        self.assertIn(f"library {library or self.in_tree('lib/libpenstock.so.')}", said)

    def with_fragment(self, fragment, target, *settings, word="GASNET"):
        with open(self.at("Makefile"), "w", encoding="utf-8") as makefile:
            makefile.write(FRAGMENT_MAKEFILE.format(fragment=self.in_tree(fragment), word=word))
        return run(["make", "-s", target, *settings], cwd=self.folder)


class Tree(Installed):
    def test_is_the_same_under_destdir_and_in_a_prefix(self):
        names = files_below(TREE)
        self.assertEqual(names, files_below(PLAIN))
        self.assertGreater(len(names), 60)
        for name in names:
            mine, other = self.in_tree(name), os.path.join(PLAIN, name)
            if os.path.islink(mine):
                self.assertEqual(os.readlink(mine), os.readlink(other), name)
                self.assertTrue(os.path.exists(mine), f"{name} leads nowhere")
                self.assertFalse(os.path.isabs(os.readlink(mine)), name)
            elif os.path.isfile(mine) and name != "share/penstock/installed":  # which folders are new differs
                self.assertTrue(filecmp.cmp(mine, other, shallow=False), f"{name} differs")

    def test_names_no_folder_of_the_build(self):
        """Neither texts nor programs and libraries, not even in what they hold for debuggers."""
        for name in files_below(TREE):
            path = self.in_tree(name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
                for folder in (BUILD, SOURCE, "/opt/penstock"):
                    self.assertFalse(folder.encode() in content, f"{name} names {folder}")

    def test_carries_the_licence(self):
        self.assertTrue(filecmp.cmp(self.in_tree("share/doc/penstock/LICENSE"), os.path.join(SOURCE, "LICENSE"),
                                    shallow=False))

    def test_lists_what_is_installed(self):
        with open(self.in_tree("share/penstock/installed"), encoding="utf-8") as file:
            listed = [line for line in file.read().splitlines() if not line.endswith("/")]
        self.assertEqual(sorted(listed), [name for name in files_below(TREE) if os.path.islink(self.in_tree(name))
                                          or not os.path.isdir(self.in_tree(name))])

    def test_shared_libraries_have_no_run_path(self):
        for name in ("lib/libpenstock.so", "lib/penstock/checked/libpenstock.so", "bin/penstock"):
            said = run(["readelf", "-d", self.in_tree(name)])
            self.assertNotRegex(said, "RPATH|RUNPATH", name)

    def test_modules_of_conduits_open_where_they_lie(self):
        installed = [name for name in files_below(TREE) if re.search(r"^lib/.*/libpenstock-[^/]*$", name)]
        self.assertEqual(installed, [f"lib/penstock/libpenstock-{name}.so" for name in sorted(MODULES)])
        for name in MODULES:
            said = run([self.in_tree("bin/penstock"), "info", name])
            self.assertRegex(said, rf"(?m)^  {name} +(if named |unusable .*mpirun)")
            self.assertNotRegex(run(["readelf", "-d", self.in_tree(f"lib/penstock/libpenstock-{name}.so")]),
                                "RPATH|RUNPATH")

    def test_benchmark_program_finds_the_library_beside_it(self):
        for mode in ("seq", "par"):
            said = run([self.in_tree("bin/penstock"), "perf", "put", "-n", "2", "--mode", mode,
                        "--quick", "--max", "64"])
            self.assertRegex(said, r"(?m)^ +64 +[0-9.]+ ")
            path = re.search(r"R(UN)?PATH.*\[(.*)\]", run(
                ["readelf", "-d", self.in_tree(f"libexec/penstock/perf-{mode}")]))
            self.assertEqual(path[2], "$ORIGIN/../../lib")

    def test_config_header_can_be_read_by_awk(self):
        for name, value in (("MAJOR", "2025"), ("MINOR", "8"), ("PATCH", "0")):
            said = run(["awk", f'/^#define GASNET_RELEASE_VERSION_{name} / && NF == 3 {{ print $3 }}',
                        self.in_tree("include/gasnet_config.h")])
            self.assertEqual(said.strip(), value)
        with open(self.in_tree("include/gasnet_config.h"), encoding="utf-8") as file:
            text = file.read()
        for name in ("RELEASE_VERSION", "BUILD_ID", "CONFIGURE_ARGS"):
            self.assertRegex(text, rf'(?m)^#define GASNETI_{name}\s+"[^"]+"$')

    def test_command_and_calls_have_pages(self):
        self.assertRegex(run([self.in_tree("bin/penstock"), "--version"]), r"^penstock \d")
        for page in ("man1/penstock.1", "man3/gex_RMA_PutNB.3", "man3/gex_AM_RequestLong16.3"):
            self.assertTrue(os.path.exists(self.in_tree("share/man/" + page)))


class PkgConfig(Installed):
    def test_penstock_shared(self):
        flags = self.pkg_config("--cflags", "--libs", "penstock")
        for source in ("client.c", "client.cc"):
            program = self.build(source, "-DGASNET_SEQ", *flags)
            self.expect_good(program)
            self.assertNotIn("unchecked", run([self.in_tree("bin/penstock"), "run", "--checked", "-n", "2", program]))

    def test_penstock_static(self):
        flags = self.pkg_config("--static", "--cflags", "--libs", "penstock")
        for source in ("client.c", "client.cc"):
            program = self.build(source, "-DGASNET_PAR", "-static", *flags)
            self.expect_good(program, library="itself")
            self.assertIn("runs unchecked", run([self.in_tree("bin/penstock"), "run", "--checked", "-n", "2", program]))

    def test_each_mode_under_the_names_of_gasnet(self):
        for mode in ("seq", "par", "parsync"):
            flags = self.pkg_config("--cflags", "--libs", f"gasnet-smp-{mode}")
            self.assertIn(f"-DGASNET_{mode.upper()}", flags)
            self.expect_good(self.build("client.c", *flags))

    def test_variables_that_clients_read(self):
        def value(name):
            return self.pkg_config(f"--variable={name}", "gasnet-smp-par")
        libs = value("GASNET_LIBS")
        self.assertTrue(libs[0].startswith("-L"))
        lib = libs[0][2:]
        self.assertEqual(os.path.realpath(lib), os.path.realpath(self.in_tree("lib")))
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(lib), "include/gasnetex.h")))
        (compiler,) = value("GASNET_CC")
        self.assertTrue(os.path.isabs(compiler) and os.access(compiler, os.X_OK))
        self.assertEqual(value("GASNET_LD"), [compiler])
        flags = [*value("GASNET_CFLAGS"), *value("GASNET_CPPFLAGS"), *value("GASNET_LDFLAGS"), *libs]
        self.expect_good(self.build("client.c", *flags))

    def test_tools_alone(self):
        for mode in ("seq", "par"):
            flags = self.pkg_config("--cflags", "--libs", f"gasnet_tools-{mode}")
            for source in ("timer.c", "timer.cc"):
                self.assertIn("good", run([self.build(source, *flags)]))


class Fragments(Installed):
    def test_each_mode_in_c_and_cxx(self):
        for mode in ("seq", "par", "parsync"):
            self.with_fragment(f"include/smp-conduit/smp-{mode}.mak", "client")
            self.expect_good(self.at("client"))
            os.remove(self.at("client"))
        self.with_fragment("include/smp-conduit/smp-par.mak", "clientxx")
        self.expect_good(self.at("clientxx"), launcher=("gasnetrun_smp", "-n", "2"))

    def test_static(self):
        for target in ("client", "clientxx"):
            self.with_fragment("include/smp-conduit/smp-seq.mak", target, "MANUAL_LDFLAGS=-static")
            self.expect_good(self.at(target), library="itself")

    def test_libraries_begin_with_their_folder(self):
        said = self.with_fragment("include/smp-conduit/smp-par.mak", "print")
        prefix, compiler, libs = said.strip().split("|")
        self.assertEqual(prefix, TREE)
        self.assertTrue(os.path.isabs(compiler))
        self.assertEqual(libs.split()[0], f"-L{TREE}/lib")

    def test_tools_alone(self):
        for mode in ("seq", "par"):
            shutil.copy(self.at("timer.c"), self.at("client.c"))
            self.with_fragment(f"include/gasnet_tools-{mode}.mak", "client", word="GASNETTOOLS")
            self.assertIn("good", run([self.at("client")]))
            os.remove(self.at("client"))


class CMakePackage(Installed):
    def test_both_libraries_in_c_and_cxx(self):
        with open(self.at("CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT)
        run(["cmake", "-S", self.folder, "-B", self.at("build"), f"-DCMAKE_PREFIX_PATH={TREE}"])
        run(["cmake", "--build", self.at("build"), "-j2"])
        for ending in ("c", "cc"):
            self.expect_good(self.at(f"build/penstock.{ending}"))
            self.expect_good(self.at(f"build/static.{ending}"), library="itself")


class Names(Installed):
    """Clients that put the names together themselves."""

    def flags(self, conduit="smp", mode="par"):
        return [f"-DGASNET_{mode.upper()}", "-I" + self.in_tree("include"),
                "-I" + self.in_tree(f"include/{conduit}-conduit"), "-L" + self.in_tree("lib"),
                "-Wl,-rpath," + self.in_tree("lib"), f"-lgasnet-{conduit}-{mode}"]

    def test_link_names(self):
        for mode in ("seq", "par", "parsync"):
            self.expect_good(self.build("client.c", *self.flags(mode=mode)))

    def test_executables_say_how_they_were_built(self):
        with open(self.in_tree("lib/pkgconfig/penstock.pc"), encoding="utf-8") as file:
            needs = next(line for line in file if line.startswith("Libs.private:")).split()[1:]
        for extra in ((), ("-static", *needs)):
            with open(self.build("client.c", *self.flags(mode="parsync"), *extra), "rb") as file:
                content = file.read()
            for text in (b"$GASNetConduitName: SMP $", b"$GASNetThreadModel: GASNET_PARSYNC $",
                         b"$GASNetSegment: GASNET_SEGMENT_FAST $", b"$GASNetAPIVersion: 1 $",
                         b"$GASNetEXAPIVersion: 0.19 $"):
                self.assertIn(text, content)
            self.assertEqual(content.count(b"$GASNetThreadModel: "), 1)

    def test_conduit_is_named_by_folder_or_macro_but_not_differently(self):
        no_folder = [flag for flag in self.flags() if not flag.endswith("-conduit")]
        program = self.build("client.c", "-DGASNET_CONDUIT_UDP", *no_folder)
        said = run([self.in_tree("bin/penstock"), "run", "-n", "2", program])
        self.assertIn("rank 1 of 2 on UDP: good", said)
        self.build("client.c", "-DGASNET_CONDUIT_SMP", *self.flags())
        with self.assertRaisesRegex(AssertionError, "more than one GASNET_CONDUIT_"):
            self.build("client.c", "-DGASNET_CONDUIT_UDP", *self.flags())


class Launchers(Installed):
    def setUp(self):
        super().setUp()
        self.program = self.build("client.c", *Names.flags(self, mode="seq"))
        self.udp_program = self.build("client.c", *Names.flags(self, "udp", "seq"), name="udp_client")

    def refused(self, text, *command):
        said = run([self.in_tree("bin/" + command[0]), *command[1:]], expect=2)
        self.assertRegex(said, rf"^penstock\[{command[0]}\] error: {re.escape(text)}")
        self.assertEqual(said.count("\n"), 1, said)

    def test_start_jobs(self):
        for launcher in (("gasnetrun_smp", "-n", "2"), ("gasnetrun_smp", "-n2", "-N", "1", "-c", "0",
                         "-E", "HOME,PATH", "-spawner=fork", "-k", "-v", "--"),
                         ("amudprun", "-np", "2"), ("amudprun", "-N", "2", "-spawn", "L", "--")):
            self.expect_good(self.udp_program if launcher[0] == "amudprun" else self.program, launcher)
        os.symlink(self.in_tree("bin/gasnetrun_smp"), self.at("linked"))
        said = run([self.at("linked"), "-n", "2", self.program, "one argument"])
        self.assertIn("good, 2 arguments", said)

    def test_start_jobs_over_modules(self):
        for name in sorted({module.split("-")[0] for module in MODULES} - {"mpi"}):
            program = self.build("client.c", *Names.flags(self, name, "seq"), name=name + "_client")
            said = run([self.in_tree("bin/gasnetrun_" + name), "-n", "2", program])
            self.assertIn(f"rank 1 of 2 on {name.upper()}: good", said)
            said = run([self.in_tree("bin/penstock"), "run", "-n", "2", "--checked", "--conduit", name, program])
            self.assertIn(f"rank 1 of 2 on {name.upper()}: good", said)

    @unittest.skipUnless("mpi-ompi" in MODULES and shutil.which("mpirun.openmpi"), "needs Open MPI")
    def test_start_jobs_over_mpi(self):
        program = self.build("client.c", *Names.flags(self, "mpi", "seq"), name="mpi_client")
        said = run([self.in_tree("bin/gasnetrun_mpi"), "-n", "2", program],
                   env={"MPIRUN_CMD": "mpirun.openmpi --oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})  # fmt: skip
        self.assertIn("rank 1 of 2 on MPI: good", said)

    def test_hand_on_the_status_of_the_job(self):
        for launcher in (("gasnetrun_smp", "-n", "2"), ("amudprun", "-np", "2")):
            run([self.in_tree("bin/" + launcher[0]), *launcher[1:], "sh", "-c", "exit 41"], expect=41)

    def test_print_without_running(self):
        said = run([self.in_tree("bin/gasnetrun_smp"), "-t", "-n", "3", "-E", "A,B", "x", "y"])
        self.assertEqual(said, f"{TREE}/bin/penstock run -n 3 --conduit smp --env A --env B -- x y\n")

    def test_refuse_what_makes_no_sense(self):
        self.refused("how many ranks?", "gasnetrun_smp", self.program)
        self.refused("-n many: give", "gasnetrun_smp", "-n", "many", self.program)
        self.refused("which program?", "gasnetrun_smp", "-n", "2")
        self.refused("-N 2: conduit smp", "gasnetrun_smp", "-n", "2", "-N", "2", self.program)
        self.refused("-spawner=ssh:", "gasnetrun_smp", "-n", "2", "-spawner=ssh", self.program)
        self.refused("unknown option -q", "gasnetrun_smp", "-q", self.program)
        self.refused("-E needs a value", "gasnetrun_smp", "-n", "2", "-E")
        self.refused("how many ranks?", "amudprun", self.program)
        self.refused("-np 0: give", "amudprun", "-np", "0", self.program)
        self.refused("-spawn S: on which hosts?", "amudprun", "-np", "2", "-spawn", "S", self.program)
        self.refused("-spawn C: use L", "amudprun", "-np", "2", "-spawn", "C", self.program)
        self.refused("unknown option -q", "amudprun", "-q", self.program)

    def test_checked_library_is_found(self):
        self.expect_good(self.program, ("penstock", "run", "-n", "2", "--checked"),
                         library=self.in_tree("lib/penstock/checked/libpenstock.so."))


def main():
    if not os.path.exists(os.path.join(BUILD, "checked", "lib")):
        sys.exit(f"{BUILD} is no release build with the checked library: make build")
    unittest.main()


if __name__ == "__main__":
    main()
