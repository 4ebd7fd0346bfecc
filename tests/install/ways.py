#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The installed tree as strangers take it: through links, under a path with a blank, with other compilers and
variables, and with only some of the link flags."""

import os
import re
import shutil
import unittest

import install
from install import Installed, run

CLANG = unittest.skipUnless(shutil.which("clang") and shutil.which("clang++"), "clang is not installed")


def setUpModule():
    install.setUpModule()


def tearDownModule():
    install.tearDownModule()


class Links(Installed):
    """Every file finds its prefix through every link that leads to it."""

    def setUp(self):
        super().setUp()
        self.link = self.at("link")
        os.symlink(install.TREE, self.link)

    def prefix_by(self, fragment, target="print"):
        with open(self.at("Makefile"), "w", encoding="utf-8") as makefile:
            makefile.write(install.FRAGMENT_MAKEFILE.format(fragment=fragment, word="GASNET"))
        return run(["make", "-s", target], cwd=self.folder).split("|")[0]

    def test_fragment_by_a_link_to_the_prefix(self):
        self.assertEqual(self.prefix_by(f"{self.link}/include/smp-conduit/smp-par.mak"), install.TREE)

    def test_fragment_by_a_link_to_its_folder(self):
        os.symlink(self.in_tree("include/smp-conduit"), self.at("folder"))
        self.assertEqual(self.prefix_by(self.at("folder/smp-par.mak")), install.TREE)

    def test_fragment_by_a_link_to_itself(self):
        os.symlink(self.in_tree("include/smp-conduit/smp-par.mak"), self.at("smp-par.mak"))
        for fragment in (self.at("smp-par.mak"), "smp-par.mak"):
            self.assertEqual(self.prefix_by(fragment), install.TREE)
        self.prefix_by("smp-par.mak", "client")
        self.expect_good(self.at("client"))

    def test_tools_by_a_link(self):
        os.symlink(self.in_tree("include/gasnet_tools-seq.mak"), self.at("tools.mak"))
        with open(self.at("Makefile"), "w", encoding="utf-8") as makefile:
            makefile.write(f"include {self.at('tools.mak')}\nprint: ; @echo '$(GASNETTOOLS_PREFIX)'\n")
        self.assertEqual(run(["make", "-s"], cwd=self.folder).strip(), install.TREE)

    def test_pkg_config_by_links(self):
        os.symlink(self.in_tree("lib/pkgconfig"), self.at("folder"))
        for folder in (self.link + "/lib/pkgconfig", self.at("folder")):
            env = {"PKG_CONFIG_PATH": folder}
            prefix = run(["pkg-config", "--variable=GASNET_PREFIX", "gasnet-smp-par"], env=env).strip()
            self.assertEqual(os.path.realpath(prefix), install.TREE, folder)
            flags = run(["pkg-config", "--cflags", "--libs", "gasnet-smp-par"], env=env).split()
            self.expect_good(self.build("client.c", *flags))

    def test_cmake_and_launchers_by_a_link(self):
        with open(self.at("CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(install.PROJECT)
        run(["cmake", "-S", self.folder, "-B", self.at("build"), f"-DCMAKE_PREFIX_PATH={self.link}"])
        run(["cmake", "--build", self.at("build"), "-j2"])
        for launcher in ("penstock run", "gasnetrun_smp", "amudprun"):
            words = launcher.split()
            said = run([f"{self.link}/bin/{words[0]}", *words[1:], "-n", "2", self.at("build/static.c")])
            self.assertIn(install.RANKS_GOOD[1], said)


class Blanks(Installed):
    """A path with a blank works, or is refused in words."""

    def setUp(self):
        super().setUp()
        self.place = self.at("a place")
        shutil.copytree(install.TREE, self.place, symlinks=True)

    def test_cmake(self):
        with open(self.at("CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(install.PROJECT)
        run(["cmake", "-S", self.folder, "-B", self.at("build"), f"-DCMAKE_PREFIX_PATH={self.place}"])
        run(["cmake", "--build", self.at("build"), "-j2"])
        for launcher in (["penstock", "run"], ["gasnetrun_smp"], ["amudprun"]):
            said = run([os.path.join(self.place, "bin", launcher[0]), *launcher[1:], "-n", "2", self.at("build/penstock.c")])
            self.assertIn(f"library {self.place}/lib/libpenstock.so.", said)

    def test_fragment_says_so(self):
        fragment = self.place.replace(" ", "\\ ") + "/include/smp-conduit/smp-par.mak"
        with open(self.at("Makefile"), "w", encoding="utf-8") as makefile:
            makefile.write(f"include {fragment}\nprint: ; @echo $(GASNET_PREFIX)\n")
        said = run(["make", "-s", "print"], cwd=self.folder, expect=2)
        self.assertIn("smp-par.mak cannot tell where it lies: its path must be free of blanks", said)

    def test_build_tree(self):
        run([os.path.join(self.place, "share/penstock/gasnet-build/config.status"), "-:client.c"], cwd=self.folder)
        run(["make", "-C", os.path.join(self.place, "share/penstock/gasnet-build"), "install",
             f"prefix={self.at('another place')}"])
        self.assertTrue(os.path.samefile(self.at("another place/include/gasnetex.h"),
                                         os.path.join(self.place, "include/gasnetex.h")))


class Flags(Installed):
    def value(self, name, *settings, package="gasnet-smp-par"):
        given = [f"--define-variable={setting}" for setting in settings]
        return " ".join(self.pkg_config(*given, f"--variable={name}", package))

    def test_run_path_is_in_both_of_the_link_variables(self):
        """A client that keeps only the -L and -l words of GASNET_LIBS passes GASNET_LDFLAGS whole."""
        libs = self.value("GASNET_LIBS").split()
        kept = [word for word in libs if word.startswith(("-L", "-l"))]
        flags = [*self.value("GASNET_CPPFLAGS").split(), *self.value("GASNET_CFLAGS").split()]
        self.expect_good(self.build("client.c", *flags, *self.value("GASNET_LDFLAGS").split(), *kept))
        self.expect_good(self.build("client.c", *flags, *libs, name="other"))

    def test_run_path_of_the_tools_is_in_both_too(self):
        for name in ("LDFLAGS", "LIBS"):
            said = self.value(f"GASNETTOOLS_{name}", package="gasnet_tools-par")
            self.assertRegex(said, r"-Wl,-rpath,\S+/lib\b")

    def test_variables_can_be_overridden_and_derived_ones_follow(self):
        self.assertEqual(self.value("GASNET_CC", "GASNET_CC=mine"), "mine")
        self.assertEqual(self.value("GASNET_LD", "GASNET_CC=mine"), "mine")
        self.assertEqual(self.value("GASNET_LD", "GASNET_LD=other"), "other")
        self.assertIn("-DME=1", self.value("GASNET_CPPFLAGS", "MANUAL_DEFINES=-DME=1").split())
        for word in ("CFLAGS", "CXXFLAGS", "LDFLAGS", "LIBS"):
            self.assertEqual(self.value(f"GASNET_{word}", f"MANUAL_{word}=-mine").split()[-1], "-mine")
            self.assertEqual(self.value(f"GASNET_{word}", f"GASNET_{word}=-other"), "-other")
        self.assertEqual(self.value("GASNET_CFLAGS", "GASNET_OPT_CFLAGS=-O0").split()[0], "-O0")
        self.assertEqual(self.value("GASNET_CFLAGS", "GASNET_MISC_CFLAGS=-m64"), "-O2 -m64")
        cflags = self.pkg_config("--define-variable=GASNET_CFLAGS=-O1", "--define-variable=MANUAL_DEFINES=-DME",
                                 "--cflags", "gasnet-smp-par")
        self.assertTrue({"-O1", "-DME"} <= set(cflags) and "-O2" not in cflags, cflags)
        libs = self.pkg_config("--define-variable=GASNET_LDFLAGS=-s", "--define-variable=MANUAL_LIBS=-lmine",
                               "--libs", "gasnet-smp-par")
        self.assertTrue({"-s", "-lmine"} <= set(libs), libs)

    def test_tools_can_be_overridden_too(self):
        self.assertEqual(self.value("GASNETTOOLS_LD", "GASNETTOOLS_CC=mine", package="gasnet_tools-seq"), "mine")

    @CLANG
    def test_as_configured_with_clang(self):
        settings = ("GASNET_CC=clang", "GASNET_CXX=clang++", "GASNET_OPT_CFLAGS=-O1", "MANUAL_CFLAGS=-Werror")
        for mode in ("seq", "par"):
            package = f"gasnet-smp-{mode}"
            words = {name: self.value(f"GASNET_{name}", *settings, package=package).split()
                     for name in ("CC", "CPPFLAGS", "CFLAGS", "LD", "LDFLAGS", "LIBS")}
            run([*words["CC"], *words["CPPFLAGS"], *words["CFLAGS"], "-c", "-o", self.at("client.o"), self.at("client.c")])
            run([*words["LD"], *words["LDFLAGS"], "-o", self.at("client"), self.at("client.o"), *words["LIBS"]])
            self.expect_good(self.at("client"))

    @CLANG
    def test_fragment_with_clang(self):
        for target in ("client", "clientxx"):
            self.with_fragment("include/smp-conduit/smp-seq.mak", target, "GASNET_CC=clang", "GASNET_CXX=clang++")
            self.expect_good(self.at(target))

    def test_static_flags_name_no_folder(self):
        for package in ("penstock", "gasnet-smp-par", "gasnet_tools-par"):
            words = self.pkg_config("--static", "--libs", package)
            for word in words:
                if word.startswith("-L") or word.startswith("/"):
                    self.assertEqual(os.path.realpath(word.removeprefix("-L")), self.in_tree("lib"), words)
        with open(self.in_tree("lib/pkgconfig/penstock.pc"), encoding="utf-8") as file:
            private = next(line for line in file if line.startswith("Libs.private:"))
        self.assertNotIn("/", private)


class Configuration(Installed):
    def test_versions_of_the_specification_are_those_of_the_headers(self):
        with open(self.in_tree("include/gasnet_config.h"), encoding="utf-8") as file:
            text = file.read()
        values = [re.search(rf"(?m)^#define EX_SPEC_VERSION_{part}\s+(\d+)$", text)[1] for part in ("MAJOR", "MINOR")]
        with open(self.at("client.c"), "w", encoding="utf-8") as file:
            file.write("#include <gasnetex.h>\n"
                       f"typedef int major[GEX_SPEC_VERSION_MAJOR == {values[0]} ? 1 : -1];\n"
                       f"typedef int minor[GEX_SPEC_VERSION_MINOR == {values[1]} ? 1 : -1];\n"
                       "int main(void) { return (int)(sizeof(major) - sizeof(minor)); }\n")
        self.build("client.c", *self.pkg_config("--cflags", "--libs", "gasnet-smp-seq"))


if __name__ == "__main__":
    install.main()
