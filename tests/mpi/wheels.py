#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program over newer libraries than those of the system: packages of Python's index, each in an environment of its own,
because together they overwrite each other.

    wheels.py PENSTOCK PROGRAM NAME...      NAME: mpich, mpich-abi, impi or ucx; PROGRAM: examples/randomaccess

A package that cannot be fetched is skipped (status 77).
"""
import glob
import os
import subprocess
import sys
import tempfile

LIMIT_S = 120
SKIPPED = 77
# the package, the conduit, whether its mpiexec starts the ranks
ROWS = {
    "mpich": ("mpich==5.*", "mpi-mpich", True),
    "mpich-abi": ("mpich==5.*", "mpi-abi", True),
    "impi": ("impi-rt", "mpi-mpich", True),
    "ucx": ("libucx-cu12", "ucx", False),
}


def fetch(package, folder):
    """Makes an environment with this package. Returns its folders of libraries, or None."""
    python = os.path.join(folder, "bin", "python")
    commands = ([sys.executable, "-m", "venv", folder], [python, "-m", "pip", "install", "--quiet", package])
    for command in commands:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            print(f"skipped: cannot fetch {package}: {done.stdout.strip()[-200:]}")
            return None
    return [os.path.join(folder, "lib"), *glob.glob(os.path.join(folder, "lib", "python*", "site-packages", "libucx", "lib"))]


def commands_of(name, penstock, program, folder, libraries):
    """Commands and their variables."""
    _, conduit, by_mpiexec = ROWS[name]
    work = [program, "am", "-m", "10"]
    if by_mpiexec:
        mpiexec = os.path.join(folder, "bin", "mpiexec")
        return [([mpiexec, "-n", str(ranks), *work], {"PENSTOCK_CONDUIT": conduit}) for ranks in (2, 3)]
    library = os.path.join(libraries[-1], "libucp.so.0")
    return [([penstock, "run", "-n", "2", "--conduit", conduit, *work[:1], way, *work[2:]],
             {"PENSTOCK_UCX_LIBRARY": library, "PENSTOCK_UCX_TLS": transports, "PENSTOCK_UCX_RMA": "yes"})
            for transports in ("tcp,self", "posix,cma,self") for way in ("am", "putget")]


def play(name, penstock, program):
    with tempfile.TemporaryDirectory(prefix="penstock-wheel-") as folder:
        libraries = fetch(ROWS[name][0], folder)
        if libraries is None:
            return SKIPPED
        for command, variables in commands_of(name, penstock, program, folder, libraries):
            environment = {**os.environ, **variables, "LD_LIBRARY_PATH": ":".join(libraries)}
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=LIMIT_S, check=False)
            verified = done.returncode == 0 and "verified" in done.stdout
            print(f"{name}: {'verified' if verified else 'FAILED'}: {' '.join(command)} {variables}")
            if not verified:
                print(done.stdout[-2000:])
                return 1
    return 0


def main():
    penstock, program, *names = sys.argv[1:]
    results = [play(name, penstock, program) for name in names]
    return next((result for result in results if result not in (0, SKIPPED)), max(results))


if __name__ == "__main__":
    sys.exit(main())
