#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles client code that uses the public headers, and accepts no warning.

    compile.py use      use.c as C99..C17 and C++11..C++17, in every thread and segment mode
    compile.py order    all pairs of headers, each in both orders
    compile.py tools    the tools alone, from C89 and C++98 with GNU extensions on, in their modes
    compile.py libc     a client of each header uses the C library without an include of its own
    compile.py refuse   wrong modes do not compile, and a test that says so would notice
"""
import concurrent.futures
import itertools
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.normpath(os.path.join(HERE, "..", "..", "include"))
MODES = ["GASNET_SEQ", "GASNET_PARSYNC", "GASNET_PAR"]
SEGMENTS = ["GASNET_SEGMENT_FAST", "GASNET_SEGMENT_LARGE", "GASNET_SEGMENT_EVERYTHING"]
C = [("cc", "c", standard) for standard in ("c99", "c11", "c17")]
CXX = [("c++", "c++", standard) for standard in ("c++11", "c++14", "c++17", "c++20")]
OLD = [("cc", "c", "gnu89"), ("c++", "c++", "gnu++98")]
TOOLS = ["GASNETT_THREAD_SAFE", "GASNETT_THREAD_SINGLE", "GASNETT_LITE_MODE"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def compile_text(compiler, language, standard, flags, source, text=None):
    command = [compiler, "-x", language, f"-std={standard}", *STRICT, "-I", INCLUDE, *flags,
               "-c", "-o", os.devnull, source]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0, " ".join(command), done.stderr


def run_all(jobs, run=compile_text):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: run(*job), jobs))
    failed = [(command, said) for good, command, said in results if not good]
    for command, said in failed[:3]:
        print(command, said, sep="\n")
    print(f"{len(jobs)} compilations, {len(failed)} failed")
    return not failed


def use():
    source = os.path.join(HERE, "use.c")
    jobs = []
    for who, mode in itertools.product(C + CXX, MODES):
        jobs += [(*who, [f"-D{mode}", level], source) for level in ("-O0", "-O2")]
    jobs += [(*C[0], [f"-D{MODES[0]}", f"-D{segment}=1"], source) for segment in SEGMENTS]
    jobs += [(*C[0], [f"-D{MODES[0]}=1", f"-DGASNET_CONDUIT_{name}=1"], source)
             for name in ("SMP", "UDP", "MPI", "OFI", "UCX", "IBV", "PORTALS4", "EXTOLL")]
    return run_all(jobs)


def order():
    headers = sorted(name for name in os.listdir(INCLUDE) if name.endswith(".h"))
    headers += sorted(f"penstock/{name}" for name in os.listdir(os.path.join(INCLUDE, "penstock"))
                      if name.endswith(".h"))
    jobs = []
    for first, second in itertools.permutations(headers, 2):
        text = f"#include <{first}>\n#include <{second}>\nextern int not_empty;\n"
        jobs.append((*C[0], ["-DGASNET_SEQ", "-fsyntax-only"], "-", text))
    return run_all(jobs)


def tools():
    source = os.path.join(HERE, "..", "tools", "alone.c")
    folder = os.path.join(INCLUDE, "penstock", "tools")
    chapters = sorted(f"penstock/tools/{name}" for name in os.listdir(folder) if name != "job.h")
    chapters.append("gasnet_portable_platform.h")
    jobs = []
    for who, mode in itertools.product(OLD + C + CXX, TOOLS):
        flags = [f"-D{mode}", "-Wno-long-long"]
        jobs += [(*who, [*flags, level], source) for level in ("-O0", "-O2")]
        jobs += [(*who, flags, "-", f"#include <{name}>\nextern int not_empty;\n")
                 for name in chapters]
    return run_all(jobs)


def compile_and_run(compiler, language, standard, flags):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        command = [compiler, "-x", language, f"-std={standard}", *STRICT, "-Wno-long-long", "-I",
                   INCLUDE, *flags, "-o", program, os.path.join(HERE, "libc.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            done = subprocess.run([program], capture_output=True, text=True, check=False)
        return done.returncode == 0, " ".join(command), done.stderr


def libc():
    """Nothing is linked with the library: the headers alone have to do."""
    full = [(name, mode) for name in ("gasnet.h", "gasnetex.h", "gasnet_tools.h") for mode in MODES]
    jobs = [(*who, "gasnet_tools.h", ["-DGASNETT_LITE_MODE"]) for who in OLD + C + CXX]
    for who in C + CXX + [("cc", "c", "gnu99"), ("cc", "c", "gnu17")]:
        jobs += [(*who, name, [f"-D{mode}"]) for name, mode in full]
    features = ["_GNU_SOURCE", "_DEFAULT_SOURCE", "_POSIX_C_SOURCE=200809L", "_XOPEN_SOURCE=700"]
    jobs += [("cc", "c", "c11", "gasnet.h", ["-DGASNET_SEQ", f"-D{feature}"])
             for feature in features]
    jobs += [("cc", "c", "c11", "gasnet.h", ["-DGASNET_SEQ", "-include", header])
             for header in ("stdio.h", "stdlib.h", "inttypes.h", "sys/param.h")]
    jobs = [(*job[:3], [f"-DCLIENT_HEADER=<{job[3]}>", *job[4]]) for job in jobs]
    return run_all(jobs, compile_and_run)


def refuse():
    text = "#include <gasnetex.h>\n"
    wrong = [[], ["-DGASNET_SEQ", "-DGASNET_PAR"],
             ["-DGASNET_SEQ", "-DGASNET_SEGMENT_FAST", "-DGASNET_SEGMENT_LARGE"]]
    good = True
    both = [f"-D{mode}" for mode in TOOLS[:2]]
    if compile_text(*C[0], both, "-", "#include <gasnet_tools.h>\nextern int x;\n")[0]:
        print("compiles, but must not: the tools in two modes")
        good = False
    for flags in wrong:
        compiles, command, _ = compile_text(*C[0], flags, "-", text)
        if compiles:
            print("compiles, but must not:", command)
            good = False
    fwd, command, said = compile_text(*C[0], [], "-", "#include <gasnet_fwd.h>\nextern int x;\n")
    if not fwd:
        print(command, said, sep="\n")
    return good and fwd


if __name__ == "__main__":
    checks = {"use": use, "order": order, "refuse": refuse, "tools": tools, "libc": libc}
    sys.exit(0 if checks[sys.argv[1]]() else 1)
