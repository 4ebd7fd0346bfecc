#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client that asks for the tree in which GASNet was built (--with-gasnet=DIR) takes the installed one.

It makes the tree's targets, fills its own templates with config.status, includes the .mak files of the
conduits, installs GASNet to a prefix of its own and uses what is there, all from a moved installation."""

import os
import re
import shutil
import unittest

import install
from install import Installed, run

CONDUITS = ("smp", "udp")
TEMPLATE = """#!@PERL@
conduits: @CONDUITS@
suffix: [@EXESUFFIX@]
families: @CC_FAMILY@ @CXX_FAMILY@
subfamilies: @CC_SUBFAMILY@ @CXX_SUBFAMILY@
compilers: @CC@ @CXX@
version: @GASNET_RELEASE_VERSION@ in @prefix@
not ours: me@example.org @UNKNOWN@ $PATH
"""
FAMILY = """#include <gasnet_portable_platform.h>
family PLATFORM_COMPILER_FAMILYNAME
"""


def setUpModule():
    install.setUpModule()


def tearDownModule():
    install.tearDownModule()


def make(*arguments, **more):
    return run(["make", *arguments], **more)


class BuildTree(Installed):
    def setUp(self):
        super().setUp()
        self.tree = self.in_tree("share/penstock/gasnet-build")

    def fill(self, *arguments, template=TEMPLATE, **env):
        """The values, by name, that config.status puts into a template."""
        with open(self.at("template"), "w", encoding="utf-8") as file:
            file.write(template)
        run([os.path.join(self.tree, "config.status"), *arguments], cwd=self.folder, env=env)
        with open(self.at("filled"), encoding="utf-8") as file:
            return file.read()

    def family_of(self, compiler, language):
        said = run([compiler, "-E", "-x", language, "-I" + self.in_tree("include"), self.at("family")])
        return re.search(r"(?m)^family (\w+)$", said)[1]

    def test_targets_of_the_tree_and_of_its_conduits(self):
        for target in ("all", "clean"):
            self.assertEqual(make("-C", self.tree, "--no-print-directory", target), "")
        for conduit in CONDUITS:
            folder = os.path.join(self.tree, f"{conduit}-conduit")
            for target in ("all", "seq", "par", "parsync", "clean"):
                self.assertEqual(make("-C", folder, "--no-print-directory", target), "")
        make("-C", self.tree, "nonsense", expect=2)

    def test_configuration_is_that_of_the_installed_headers(self):
        with open(os.path.join(self.tree, "gasnet_config.h"), "rb") as file, \
                open(self.in_tree("include/gasnet_config.h"), "rb") as installed:
            self.assertEqual(file.read(), installed.read())

    def test_config_status_fills_every_variable(self):
        with open(self.at("family"), "w", encoding="utf-8") as file:
            file.write(FAMILY)
        filled = self.fill(CONFIG_FILES="filled:template")
        cc = self.pkg_config("--variable=GASNET_CC", "gasnet-smp-seq")[0]
        cxx = self.pkg_config("--variable=GASNET_CXX", "gasnet-smp-seq")[0]
        lines = filled.splitlines()
        self.assertEqual(lines[0], f"#!{shutil.which('perl') or 'perl'}")
        named = lines[1].split()[1:]
        for conduit in named:
            self.assertTrue(os.path.exists(os.path.join(self.tree, f"{conduit}-conduit", f"{conduit}-par.mak")))
        self.assertTrue(set(CONDUITS) <= set(named), named)
        self.assertEqual(sorted(named), sorted(
            name.removesuffix("-conduit") for name in os.listdir(self.tree) if name.endswith("-conduit")))
        self.assertEqual(lines[2:], [
            "suffix: []", f"families: {self.family_of(cc, 'c')} {self.family_of(cxx, 'c++')}",
            "subfamilies: none none", f"compilers: {cc} {cxx}", f"version: 2025.8.0 in {install.TREE}",
            "not ours: me@example.org @UNKNOWN@ $PATH"])

    def test_config_status_knows_each_way_of_naming_files(self):
        filled = self.fill(CONFIG_FILES="filled:template")
        for arguments in (["filled:template"], ["--file=filled:template"], ["--file", "filled:template"]):
            os.remove(self.at("filled"))
            self.assertEqual(self.fill(*arguments), filled)
        os.rename(self.at("template"), self.at("also.in"))
        os.chmod(self.at("also.in"), 0o755)
        run([os.path.join(self.tree, "config.status"), "filled:also.in", "also"], cwd=self.folder)
        with open(self.at("also"), encoding="utf-8") as file:
            self.assertEqual(file.read(), filled)
        self.assertTrue(os.access(self.at("also"), os.X_OK))
        self.assertEqual(run([os.path.join(self.tree, "config.status"), "-:also.in"], cwd=self.folder), filled)
        said = run([os.path.join(self.tree, "config.status"), "x:absent"], cwd=self.folder, expect=2)
        self.assertIn("cannot read the template absent", said)

    @unittest.skipUnless(shutil.which("clang") and shutil.which("clang++"), "clang is not installed")
    def test_config_status_names_the_family_of_another_compiler(self):
        filled = self.fill("filled:template", GASNET_CC="clang", GASNET_CXX="clang++")
        self.assertIn("families: CLANG CLANG\n", filled)
        self.assertIn("compilers: clang clang++\n", filled)

    def test_fragments_of_the_tree_build_programs(self):
        for conduit in CONDUITS:
            for mode in ("seq", "par", "parsync"):
                name = f"share/penstock/gasnet-build/{conduit}-conduit/{conduit}-{mode}.mak"
                said = self.with_fragment(name, "print")
                self.assertEqual(said.split("|")[0], install.TREE)
        launchers = {"smp": ("bin/gasnetrun_smp", "contrib/gasnetrun_smp"),
                     "udp": ("bin/amudprun", "other/amudp/amudprun")}
        for conduit in CONDUITS:
            self.with_fragment(f"share/penstock/gasnet-build/{conduit}-conduit/{conduit}-par.mak", "client")
            for launcher in launchers[conduit]:
                self.expect_good(self.at("client"), ("../share/penstock/gasnet-build/" + launcher, "-n", "2"))
            os.remove(self.at("client"))

    def linked(self, *settings):
        """The prefix to which the tree installs GASNet."""
        prefix = self.at("gasnet")
        make("-C", self.tree, "install", f"prefix={prefix}", *settings)
        return prefix

    def test_install_links_the_installed_tree(self):
        prefix = self.linked()
        def names(top):
            found = install.files_below(top)
            return [name for name in found if not os.path.isdir(os.path.join(top, name))]
        self.assertEqual(names(prefix), names(install.TREE))
        for name in names(prefix):
            self.assertTrue(os.path.samefile(os.path.join(prefix, name), self.in_tree(name)), name)
        with open(self.at("Makefile"), "w", encoding="utf-8") as file:
            file.write(install.FRAGMENT_MAKEFILE.format(
                fragment=f"{prefix}/include/smp-conduit/smp-seq.mak", word="GASNET"))
        make("-s", "client", cwd=self.folder)
        self.expect_good(self.at("client"))
        flags = run(["pkg-config", "--cflags", "--libs", "gasnet-smp-par"],
                    env={"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}).split()
        self.expect_good(self.build("client.c", *flags, name="other"),
                         (os.path.relpath(f"{prefix}/bin/gasnetrun_smp", self.in_tree("bin")), "-n", "2"))
        self.linked()  # again

    def test_install_goes_under_destdir(self):
        self.linked(f"DESTDIR={self.at('staged')}")
        self.assertFalse(os.path.exists(self.at("gasnet")))
        self.assertTrue(os.path.exists(self.at("staged") + self.at("gasnet/include/gasnetex.h")))

    def test_install_into_itself_changes_nothing(self):
        os.symlink(install.TREE, self.at("link"))
        for prefix in (install.TREE, self.at("link")):
            make("-C", self.tree, "install", f"prefix={prefix}")
            self.assertFalse(os.path.islink(self.in_tree("include/gasnetex.h")))

    def test_install_wants_an_absolute_prefix(self):
        for settings, text in (([], "where to?"), (["prefix=here"], "prefix=here: give an absolute folder")):
            said = make("-C", self.tree, "install", *settings, expect=2)
            self.assertIn("penstock[gasnet-build] error: " + text, said)


if __name__ == "__main__":
    install.main()
