# SPDX-License-Identifier: BSD-3-Clause
"""How each peer is compiled and started: at its defaults, and as it is best on one host. What is best
differs with the operation, so there are several."""

import collections
import os
import shutil
import subprocess

Setting = collections.namedtuple("Setting", "library name flavour command environment after")
Compiled = collections.namedtuple("Compiled", "program failure")

SHARED_MEMORY = "posix,cma,self"

# library, setting, kind, arguments, environment
TOOLS = (
    ("UCX", "default", "ucx", [], {}),
    ("UCX", "posix", "ucx", [], {"UCX_TLS": "posix,self"}),
    ("UCX", "posix,cma", "ucx", [], {"UCX_TLS": SHARED_MEMORY}),
    ("libfabric", "shm", "fabric", ["-p", "shm"], {}),
    ("libfabric", "shm, tagged", "fabric", ["-p", "shm", "-m", "tagged"], {}),
)

# A setting has a name, options of mpiexec, variables, and options of the program (of bench/peers).
OPEN_MPI = (
    ("default", [], {}, []),
    ("ob1, vader", ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"], {}, []),
    ("ucx", ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices",
             "any"], {"UCX_TLS": SHARED_MEMORY}, []),
)
MPICH = (
    ("default", [], {}, []),
    ("shared window", [], {}, ["--shared-window"]),
    ("ucx", [], {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": SHARED_MEMORY}, []),
)
# Waiting ranks keep their cores otherwise, and a job of more ranks than cores runs from time slice to
# time slice. Open MPI sees by itself that it has to yield.
MPICH_CROWDED = (("yield", [], {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}, []),)


# Where ranks share no memory: over TCP, which is what other libraries have for a plain network.
TOOLS_TCP = (
    ("libfabric", "tcp", "fabric", ["-p", "tcp"], {}),
    ("libfabric", "tcp, tagged", "fabric", ["-p", "tcp", "-m", "tagged"], {}),
)
# Networks over which Penstock is measured: how its job starts, and what is measured beside it. Ranks share no memory.
TOOLS_OVER = {
    "udp": TOOLS_TCP,
    "ofi": TOOLS_TCP[:1],
    "ucx": (("UCX", "tcp", "ucx", [], {"UCX_TLS": "tcp,self"}),),
    "ucx-posix": (("UCX", "posix,cma", "ucx", [], {"UCX_TLS": SHARED_MEMORY}),),
}
OURS_OVER = {
    "udp": ["--conduit", "udp", "--env", "PENSTOCK_UDP_SECURITY=none"],
    "ofi": ["--conduit", "ofi", "--env", "PENSTOCK_OFI_PROVIDER=tcp"],
    "ucx": ["--conduit", "ucx", "--env", "PENSTOCK_UCX_TLS=tcp,self", "--env", "PENSTOCK_UCX_RMA=yes"],
    "ucx-posix": ["--conduit", "ucx", "--env", f"PENSTOCK_UCX_TLS={SHARED_MEMORY}", "--env", "PENSTOCK_UCX_RMA=yes"],
}
OPEN_MPI_TCP = (
    ("ob1, tcp", ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include",
                  "lo", "--mca", "osc", "pt2pt"], {}, []),
    ("ucx, tcp", ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices",
                  "any", "--mca", "osc", "ucx"], {"UCX_TLS": "tcp,self"}, []),
)
# Debian's MPICH has UCX below it and no libfabric.
MPICH_TCP = (
    ("ucx, tcp", [], {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}, []),
)


def open_mpi_command(ranks, processors, bind):
    command = ["mpiexec.openmpi", "-n", str(ranks), "--bind-to", "core" if bind else "none"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    if ranks > processors:
        command.append("--oversubscribe")
    return command


def mpi(ranks, processors, bind=False, network=False):
    """The settings of both MPIs for a job of `ranks` ranks. bind: each rank on a core of its own, for programs that do
    not bind themselves. network: ranks share no memory, so TCP."""
    mpich = MPICH + MPICH_CROWDED if ranks > processors else MPICH
    mpich = MPICH_TCP if network else mpich
    found = [Setting("Open MPI", name, "openmpi", [*open_mpi_command(ranks, processors, bind), *given],
                     environment, after)
             for name, given, environment, after in (OPEN_MPI_TCP if network else OPEN_MPI)]
    bound = ["-bind-to", "core"] if bind else []
    return found + [Setting("MPICH", name, "mpich",
                            ["mpiexec.mpich", "-n", str(ranks), *bound, *given], environment, after)
                    for name, given, environment, after in mpich]


def compile_mpi(flavour, source, others, build):
    """Makes BUILD/bench/mpi/NAME.FLAVOUR of a program in MPI, unless it is there and new."""
    compiler = f"mpicc.{flavour}"
    if shutil.which(compiler) is None:
        return Compiled(None, f"{compiler} is not installed: scripts/deps peers")
    folder = os.path.join(build, "bench", "mpi")
    os.makedirs(folder, exist_ok=True)
    name = os.path.splitext(os.path.basename(source))[0]
    program = os.path.join(folder, f"{name}.{flavour}")
    sources = [source, *others]
    inputs = sources + [os.path.join(os.path.dirname(path), entry) for path in sources
                        for entry in os.listdir(os.path.dirname(path)) if entry.endswith(".h")]
    if os.path.exists(program) and os.path.getmtime(program) > max(map(os.path.getmtime, inputs)):
        return Compiled(program, None)
    job = subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-o", program, *sources,
                          "-lm"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if job.returncode != 0:
        said = " ".join(job.stdout.split())
        return Compiled(None, f"{compiler} cannot compile {source}: {said[:300]}")
    return Compiled(program, None)
