#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A build on a machine without PMIx's header speaks PMIx. The library is built with every pmix.h
hidden behind one that stops the compiler, and mpirun then starts a job of two ranks with it."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

SOURCE = os.environ["PENSTOCK_SOURCE_DIR"]
MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")


def run(command, **extra):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("PENSTOCK_", "GASNET_", "PMIX_", "OMPI_", "MAKE"))}
    env.update(extra)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, env=env, check=False, timeout=patience(500))
    return done.returncode, done.stdout


class NoHeader(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="penstock-no-header-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.build = os.path.join(self.folder, "build")

    def hide_header(self):
        """The flags that hide it: a header that cannot be included comes first, and CMake looks elsewhere."""
        with open(os.path.join(self.folder, "pmix.h"), "w", encoding="utf-8") as file:
            file.write('#error "this machine has no header of PMIx"\n')
        found = {os.path.dirname(path) for pattern in ("/usr/include/pmix.h", "/usr/lib/*/pmix2/include/pmix.h")
                 for path in glob.glob(pattern)}
        return [f"-DCMAKE_C_FLAGS=-I{self.folder}", f"-DCMAKE_IGNORE_PATH={';'.join(sorted(found))}"]

    def test_two_ranks_under_mpirun(self):
        status, said = run(["cmake", "-S", SOURCE, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                            "-DCMAKE_C_FLAGS_DEBUG=-O0", "-DPENSTOCK_TESTS=OFF", "-DPENSTOCK_BENCH=OFF",
                            *self.hide_header()])
        self.assertEqual(status, 0, said)
        status, said = run(["cmake", "--build", self.build, "--target", "hello", "-j", "2"])
        self.assertEqual(status, 0, said)
        status, said = run([MPIRUN, "--oversubscribe", "-n", "2", os.path.join(self.build, "examples", "hello")],
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_btl="self,vader", OMPI_MCA_pml="ob1", TMPDIR=self.folder)
        self.assertEqual(status, 0, said)
        for rank in range(2):
            self.assertIn(f"hello from rank {rank} of 2", said)


if __name__ == "__main__":
    if MPIRUN is None:
        print("skipped: there is no mpirun (Debian: openmpi-bin)")
        sys.exit(77)
    unittest.main()
