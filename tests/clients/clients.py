#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs as users of GASNet write them, built from an installed tree and run over both conduits.

  clients.py --install       installs the build into the folder that the programs share
  clients.py --list          prints the names of all programs
  clients.py NAME            builds and runs one program

The tree is <build>/tests/clients/tree; CLIENTS_TREE names another one. A program is correct if the
job's status is the expected one and its output consists of the expected lines and of nothing else."""

import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("PENSTOCK_BUILD_DIR", "build/release"))
TREE = os.path.abspath(os.environ.get("CLIENTS_TREE", os.path.join(BUILD, "tests/clients/tree")))
SECONDS = 600  # for one compilation or one job, in fair seconds
SKIPPED = 77


class Wrong(Exception):
    """A program does not build, or does not do its work."""


class Missing(Exception):
    """A tool is not on this machine."""


def run(command, expect=0, cwd=None, **env):
    """Returns what a command prints, standard error included. Its status has to be the expected one."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith(("PENSTOCK_", "GASNET_", "PKG_CONFIG", "LD_", "MAKE", "DESTDIR"))}
    clean.update(env)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, env=clean, cwd=cwd, check=False,
                              timeout=(limit := patience(SECONDS)))
    except subprocess.TimeoutExpired as late:
        raise Wrong(f"{command} did not end in {limit:.0f} s\n{late.stdout}") from late
    if done.returncode != expect:
        raise Wrong(f"status {done.returncode}, not {expect}, of {command}\n{done.stdout}")
    return done.stdout


def in_tree(name):
    return os.path.join(TREE, name)


def needs(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            raise Missing(f"{tool} is not installed (scripts/deps test installs it)")


# ---- ways to find the library --------------------------------------------------------------------
# Each returns the compiler, what it needs to compile, and what it needs to link.

def by_fragment(net, mode, words):
    """include <net>-conduit/<net>-<mode>.mak in a makefile."""
    cc, cppflags, cflags = words
    variables = [cc, cppflags, cflags, "LDFLAGS", "LIBS"]
    fragment = in_tree(f"include/{net}-conduit/{net}-{mode}.mak")
    show = "; ".join(f"echo '$(GASNET_{name})'" for name in variables)
    said = run(["make", "-s", "-f", fragment, f"--eval=show: ; @{show}", "show"])
    compiler, *flags = [line.split() for line in said.splitlines()]
    return compiler, flags[0] + flags[1], flags[2] + flags[3]


def pkg_config(*arguments):
    return run(["pkg-config", *arguments], PKG_CONFIG_PATH=in_tree("lib/pkgconfig")).split()


def by_pkg_config(net, mode, words):
    """pkg-config gasnet-<net>-<mode>."""
    name = f"gasnet-{net}-{mode}"
    compiler = pkg_config(f"--variable=GASNET_{words[0]}", name)
    return compiler, pkg_config("--cflags", name), pkg_config("--libs", name)


def by_names(net, mode, words):
    """The names of files and macros, put together by the client itself."""
    return ({"CC": ["cc"], "CXX": ["c++"]}[words[0]],
            ["-O2", f"-DGASNET_{mode.upper()}=1", "-I" + in_tree("include"),
             "-I" + in_tree(f"include/{net}-conduit")],
            ["-L" + in_tree("lib"), "-Wl,-rpath," + in_tree("lib"), f"-lgasnet-{net}-{mode}"])


WORDS = {".c": ("CC", "CPPFLAGS", "CFLAGS"), ".cpp": ("CXX", "CXXCPPFLAGS", "CXXFLAGS")}


@dataclasses.dataclass(frozen=True)
class Client:
    """One program. `flags` and `libs` are the client's own. If `compilers` are given, they replace the library's. The
    programs of strict clients also run over a network card in software, and with the checked library."""
    source: str
    way: callable = by_fragment
    mode: str = "seq"
    flags: tuple = ()
    libs: tuple = ()
    ranks: tuple = (2, 4)
    arguments: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    compilers: tuple = (None,)
    strict: bool = False

    def build(self, folder, net, other_compiler=None):
        words = WORDS[os.path.splitext(self.source)[1]]
        compiler, compiling, linking = self.way(net, self.mode, words)
        if other_compiler:
            needs(other_compiler)
            compiler = [other_compiler]
        program = os.path.join(folder, f"{self.source.split('.')[0]}.{net}")
        run([*compiler, *compiling, *self.flags, "-o", program, os.path.join(HERE, self.source),
             *linking, *self.libs])
        return program

    def __call__(self, folder):
        for net in ("smp", "udp", "extoll") if self.strict else ("smp", "udp"):
            for compiler in self.compilers if net == "smp" else self.compilers[:1]:
                program = self.build(folder, net, compiler)
                for ranks in self.ranks:
                    expect_good(net, ranks, [program, *self.arguments], self.env)
            if self.strict:
                said = run([in_tree("bin/penstock"), "run", "-n", "3", "--checked", "--conduit", net, program,
                            *self.arguments], **self.env)
                expect_lines(said, good_lines(3), f"{program} with the checked library over {net}")


# ---- jobs ------------------------------------------------------------------------------------------

def launch(net, ranks, command, expect=0, env=None):
    """Starts a job by one of the ways that clients know; which one depends on the number of ranks."""
    env = dict(env or {})
    if net == "smp" and ranks == 4:
        env["GASNET_PSHM_NODES"] = "4"
    else:
        launcher = {("smp", 2): "gasnetrun_smp -n", ("udp", 2): "amudprun -np"}.get(
            (net, ranks), f"gasnetrun_{net} -n").split()
        command = [in_tree("bin/" + launcher[0]), *launcher[1:], str(ranks), *command]
    return run(command, expect, **env)


def expect_lines(said, lines, command):
    if sorted(said.splitlines()) != sorted(lines):
        raise Wrong(f"{command} prints\n{said}\ninstead of\n" + "\n".join(lines))


def good_lines(ranks):
    return [f"rank {rank} of {ranks}: good" for rank in range(ranks)]


def expect_good(net, ranks, command, env=None):
    expect_lines(launch(net, ranks, command, env=env), good_lines(ranks), f"{net} {ranks} {command}")


def fortran_coarray(folder):
    """A Fortran runtime: of GASNET_LIBS it keeps the -L and -l words, GASNET_LDFLAGS it passes whole."""
    needs("gfortran")
    for net in ("smp", "udp"):
        def value(name, net=net):
            return pkg_config(f"--variable=GASNET_{name}", f"gasnet-{net}-seq")
        libs = [word for word in value("LIBS") if word.startswith(("-L", "-l"))]
        program = os.path.join(folder, f"fortran.{net}")
        run(["gfortran", "-std=f2018", "-Wall", "-Werror", "-J", folder, "-o", program,
             os.path.join(HERE, "fortran_coarray.f90"), *value("LDFLAGS"), *libs])
        for ranks in (2, 4):
            expect_good(net, ranks, [program])


def tools_only(folder):
    """gasnet_tools.h alone, by both of its libraries' names."""
    for way in ("pkg-config", "fragment"):
        program = os.path.join(folder, "tools_only." + way)
        if way == "pkg-config":
            flags = pkg_config("--cflags", "--libs", "gasnet_tools-par")
        else:
            flags = run(["make", "-s", "-f", in_tree("include/gasnet_tools-par.mak"),
                         "--eval=show: ; @echo $(GASNETTOOLS_CPPFLAGS) $(GASNETTOOLS_CFLAGS) "
                         "$(GASNETTOOLS_LDFLAGS) $(GASNETTOOLS_LIBS)", "show"]).split()
        run(["cc", *WARN, "-o", program, os.path.join(HERE, "tools_only.c"), *flags, "-pthread"])
        expect_lines(run([program]), ["32 bytes", "good"], program)


# Statuses of jobs of exit_codes.c by its argument; of some, a line that one rank prints.
EXIT_CODES = {"1": (1,), "2": (2,), "3": (3,), "4": (4,), "5": (5,), "6": (6,), "7": (7, "cleaned up"),
              "8": (0, "rank 0 communicated in atexit"), "9": (134,), "10": (10,)}


def exit_codes(folder):
    """A status of the job for each way to end."""
    client = Client("exit_codes.c", by_fragment, "par", WARN, ("-pthread",))
    for net in ("smp", "udp"):
        program = client.build(folder, net)
        for way, (status, *lines) in EXIT_CODES.items():
            said = launch(net, 2 if int(way) % 2 else 4, [program, way], expect=status)
            if not set(lines) <= set(said.splitlines()):
                raise Wrong(f"way {way} over {net} does not print {lines}:\n{said}")
        launch(net, 2, [program], expect=90)


def worker_thread(folder):
    """A job that starts in a thread: ranks cannot be forked from there, which is said in words."""
    client = Client("worker_thread.c", by_pkg_config, "par", WARN, ("-pthread",))
    for net in ("smp", "udp"):
        program = client.build(folder, net)
        for ranks in (2, 4):
            said = run([in_tree(f"bin/gasnetrun_{net}"), "-n", str(ranks), program])
            expect_lines(said, good_lines(ranks), program)
    said = run([program], expect=1, GASNET_PSHM_NODES="2")
    if "thread other than the main one" not in said or said.count("\n") != 1:
        raise Wrong(f"ranks forked from a thread:\n{said}")


def cmake_finder(folder):
    """A project with a CMake module of its own that finds the fragments of make and takes them apart."""
    for net in ("smp", "udp"):
        source, build = os.path.join(folder, net), os.path.join(folder, net, "build")
        shutil.copytree(os.path.join(HERE, "cmake_finder.project"), source)
        shutil.copy(os.path.join(HERE, "cmake_finder.c"), source)
        run(["cmake", "-S", source, "-B", build, f"-DGASNet_ROOT_DIR={TREE}", f"-DGASNet_CONDUIT={net}",
             f"-DCMAKE_MODULE_PATH={source}"])
        run(["cmake", "--build", build])
        for ranks in (2, 4):
            expect_good(net, ranks, [os.path.join(build, "finder"), net.upper()])


def ctypes_client(_):
    """Python is no program of a conduit's name, so it runs over each of them."""
    for net in ("smp", "udp"):
        for ranks in (2, 4):
            said = run([in_tree("bin/penstock"), "run", "-n", str(ranks), "--conduit", net, sys.executable,
                        os.path.join(HERE, "ctypes_client.py"), in_tree("lib/libpenstock.so")])
            expect_lines(said, good_lines(ranks), f"ctypes_client.py over {net}")


def cxx11_regions(folder):
    """Regions of a C++ program in the trace of its job."""
    for net in ("smp", "udp"):
        program = Client("cxx11_regions.cpp", flags=("-std=c++11", *WARN)).build(folder, net)
        expect_good(net, 2, [program])
        trace = os.path.join(folder, f"trace.{net}")
        said = run([in_tree("bin/penstock"), "run", "-n", "2", "--conduit", net, f"--trace={trace}", program, "traced"])
        expect_lines(said, good_lines(2), program)
        rows = [line.split(",") for line in run([in_tree("bin/penstock"), "trace", "--csv", trace]).splitlines()]
        for kind, name, count in (("begin", "outer", 6), ("end", "inner", 6), ("value", "sum", 6), ("mark", "before", 0)):
            if sum(row[1] == kind and name in row[4] for row in rows) != count:
                raise Wrong(f"not {count} events {kind} {name} in the trace of {program}")


def dlopen_plugin(folder):
    """A host program without GASNet, and a plugin that has all of it."""
    host = os.path.join(folder, "host")
    run(["cc", *WARN, "-o", host, os.path.join(HERE, "dlopen_plugin/host.c"), "-ldl"])
    for net in ("smp", "udp"):
        _, compiling, linking = by_pkg_config(net, "seq", WORDS[".c"])
        plugin = os.path.join(folder, f"plugin.{net}.so")
        run(["cc", "-shared", "-fPIC", "-fvisibility=default", *compiling, *WARN, "-o", plugin,
             os.path.join(HERE, "dlopen_plugin/plugin.c"), *linking])
        for ranks in (2, 4):
            said = run([in_tree(f"bin/gasnetrun_{net}"), "-n", str(ranks), host, plugin])
            expect_lines(said, good_lines(ranks), plugin)


def clang_flags(folder):
    """Variables of pkg-config, of which the compiler is replaced: at -O0, and at -O3 with -flto by gcc."""
    for compiler, *options in (("clang", "-O0"), ("gcc", "-O3", "-flto")):
        needs(compiler)
        define = f"--define-variable=GASNET_CC={compiler}"
        manual = "--define-variable=MANUAL_CFLAGS=" + " ".join(options)
        for net in ("smp", "udp"):
            def value(name, net=net):
                return pkg_config(define, manual, f"--variable=GASNET_{name}", f"gasnet-{net}-seq")
            program = os.path.join(folder, f"clang_flags.{compiler}.{net}")
            said = run([*value("CC"), *value("CPPFLAGS"), *value("CFLAGS"), "-Wall", "-Wextra", "-o",
                        program, os.path.join(HERE, "clang_flags.c"), *value("LDFLAGS"), *value("LIBS")])
            expect_lines(said, [], f"{compiler} {options}")
            for ranks in (2, 4):
                expect_good(net, ranks, [program])


def shmem_selfstart(folder):
    """A program that starts its ranks itself: over udp by a number before its arguments."""
    client = Client("shmem_selfstart.c", by_pkg_config, "seq", WARN)
    for net in ("smp", "udp"):
        program = client.build(folder, net)
        for ranks in (2, 4):
            number = [str(ranks)] if net == "udp" else []
            said = run([program, *number, "first", "se cond"], GASNET_PSHM_NODES="" if number else str(ranks),
                       SHMEM_SYMMETRIC_HEAP_SIZE="3M")
            expect_lines(said, good_lines(ranks), f"{program} {number}")


# ---- the programs ----------------------------------------------------------------------------------
# What a name stands for is called with an empty folder.

# Bytes that a shell, ssh or a decoder could change.
SURROUNDINGS = {"EMPTY": "", "QUOTES": "a 'b' \"c\" \\d\\ $e `f` {g} *", "LINES": "one\ntwo\n\tthree ",
                "BYTES": "\u00e9\udcff\x01\x7f=;#", "LONG": "0" * 50000, "NUMBER": "3", "HALF": "0.5", "YES": "yes"}

C89 = ("-std=gnu89", "-Wall", "-Wextra", "-Werror")
WARN = ("-Wall", "-Wextra", "-Werror")

CLIENTS = {
    "c89_collectives": Client("c89_collectives.c", flags=C89),
    "split_phase": Client("split_phase.c", way=by_pkg_config, flags=WARN),
    "upc_barriers": Client("upc_barriers.c", way=by_names, flags=WARN),
    "cxx17_arrays": Client("cxx17_arrays.cpp", by_pkg_config, flags=("-std=c++17", *WARN)),
    "cxx11_regions": cxx11_regions,
    "cxx11_raii": Client("cxx11_raii.cpp", flags=("-std=c++11", *WARN)),
    "task_runtime": Client("task_runtime.cpp", by_names, "par", ("-std=c++11", *WARN), ("-pthread",)),
    "openmp_par": Client("openmp_par.c", mode="par", flags=("-fopenmp", *WARN), libs=("-fopenmp",)),
    "pthread_images": Client("pthread_images.c", by_pkg_config, "par", WARN),
    "everything_segv": Client("everything_segv.c", by_names, flags=("-DGASNET_SEGMENT_EVERYTHING", *WARN)),
    "fork_helpers": Client("fork_helpers.c", flags=WARN),
    "fortran_coarray": fortran_coarray,
    "chapel_teams": Client("chapel_teams.c", by_names, "par", WARN, ("-pthread",)),
    "vis_halo": Client("vis_halo.c", by_pkg_config, flags=WARN),
    "parsync_pipeline": Client("parsync_pipeline.c", mode="parsync", flags=WARN),
    "am_categories": Client("am_categories.c", by_names, flags=WARN),
    "worker_thread": worker_thread,
    "static_bounds": Client("static_bounds.cpp", by_names, flags=("-std=c++11", *WARN)),
    "shmem_selfstart": shmem_selfstart,
    "clang_flags": clang_flags,
    "cmake_finder": cmake_finder,
    "ctypes_client": ctypes_client,
    "dlopen_plugin": dlopen_plugin,
    "tools_only": tools_only,
    "exit_codes": exit_codes,
    "negotiated_stream": Client("negotiated_stream.c", by_pkg_config, flags=("-std=c2x", "-Wpedantic", *WARN),
                                compilers=("gcc", "clang"), strict=True),
    "cxx20_endpoints": Client("cxx20_endpoints.cpp", by_pkg_config, flags=("-std=c++20", "-Wpedantic", *WARN),
                              compilers=("g++", "clang++"), ranks=(2, 3), strict=True),
    "c89_boxes": Client("c89_boxes.c", by_names, flags=C89, strict=True),
    "uneven_images": Client("uneven_images.c", mode="par", flags=WARN, libs=("-pthread",),
                            env={"GASNET_MAX_THREADS": "5"}, strict=True),
    "surroundings": Client("surroundings.c", by_pkg_config, flags=("-std=gnu2x", *WARN),
                           arguments=("an argument", ""), strict=True,
                           env={"SURROUNDINGS_" + name: value for name, value in SURROUNDINGS.items()}),
    "graph_bfs": Client("graph_bfs.c", flags=("-Wall",)),
}


# ---- main ------------------------------------------------------------------------------------------

def install():
    shutil.rmtree(TREE, ignore_errors=True)
    run(["cmake", "--install", BUILD, "--prefix", TREE])


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(CLIENTS))
    elif arguments == ["--install"]:
        install()
    elif len(arguments) == 1 and arguments[0] in CLIENTS:
        folder = tempfile.mkdtemp(prefix="penstock-client-")
        try:
            CLIENTS[arguments[0]](folder)
        except Missing as missing:
            print(f"skipped: {missing}")
            return SKIPPED
        except Wrong as wrong:
            print(f"{arguments[0]}: {wrong}\nagain: PENSTOCK_BUILD_DIR={BUILD} {__file__} {arguments[0]}")
            return 1
        finally:
            shutil.rmtree(folder)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
