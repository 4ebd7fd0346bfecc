#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""crypto.py PENSTOCK PROGRAM: jobs over udp with each library of ciphers, and without libcrypto.

PROGRAM sends long messages and checks what arrives."""

import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

PENSTOCK, PROGRAM = sys.argv[1:3]
LIBRARY = "libcrypto.so.3"
try:
    ctypes.CDLL(LIBRARY)
    HAS_LIBCRYPTO = True
except OSError:
    HAS_LIBCRYPTO = False


def run(**settings):
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}, **settings}
    return subprocess.run([PENSTOCK, "run", "--conduit", "udp", "-n", "2", PROGRAM], capture_output=True, text=True,
                          env=env, check=False, timeout=patience(60))  # fmt: skip


class Crypto(unittest.TestCase):
    def test_each_library_carries_long_messages(self):
        for library in ("libsodium", "auto", "libcrypto")[: 3 if HAS_LIBCRYPTO else 2]:
            for security in ("auth", "encrypt"):
                with self.subTest(library=library, security=security):
                    job = run(PENSTOCK_UDP_CRYPTO=library, PENSTOCK_UDP_SECURITY=security)
                    self.assertEqual(job.returncode, 0, job.stderr)

    def test_without_libcrypto_only_its_name_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, LIBRARY), "w", encoding="ascii") as file:
                file.write("this is no library\n")  # the loader finds it first, and stops
            job = run(PENSTOCK_UDP_CRYPTO="libcrypto", LD_LIBRARY_PATH=folder)
            self.assertEqual(job.returncode, 1, job.stderr)
            self.assertIn("cannot use PENSTOCK_UDP_CRYPTO=libcrypto: libcrypto.so.3 does not open; install", job.stderr)
            for library in ("auto", "libsodium"):
                job = run(PENSTOCK_UDP_CRYPTO=library, LD_LIBRARY_PATH=folder)
                self.assertEqual(job.returncode, 0, job.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
