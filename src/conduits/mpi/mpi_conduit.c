/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_conduit.c: settings, score and registry entry of the mpi conduit. docs/conduits/mpi.md
 * describes it. */
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "conduits/mpi/mpi_link.h"
#include "knob/knob.h"

#include <stddef.h>

static const pen_knob knobs[] = {
    { "PENSTOCK_MPI_LIBRARY", PEN_KNOB_STRING, NULL, offsetof(mpi_config, library),
      "File of the MPI library. Unset: libmpi.so.40 for mpi-ompi; libmpich.so.12, else "
      "libmpi.so.12, for mpi-mpich; libmpi_abi.so.1 for mpi-abi." },
    { "PENSTOCK_MPI_WINDOW", PEN_KNOB_BYTES, "256K", offsetof(mpi_config, window),
      "Bytes that each peer may send to a rank that does not poll (64K to 64M)." },
    { 0 },
};

/* A library is loaded only in a process that its launcher has started, so that no process loads
 * two. */
static int mpi_score(pen_peer peers, const char **why)
{
    (void)peers;
    if (!mpi_is_launched()) {
        *why = "MPI needs its own launcher, which has not started this process; start the "
               "program with the mpirun of Open MPI or MPICH (try `mpirun -n 1 penstock info "
               "conduits`)";
        return 0;
    }
    if (MPI_CONDUIT_IS_ABI && mpi_library_other() != NULL) {
        *why = "this process uses an MPI with an ABI of its own";
        return 0;
    }
    if (!mpi_library_exists(pen_knob_from_process(NULL, knobs[0].name))) {
        *why = MPI_CONDUIT_IS_ABI
                   ? "no MPI with the standard ABI is installed (libmpi_abi.so.1; MPICH 5), or "
                     "PENSTOCK_MPI_LIBRARY names another file"
               : MPI_CONDUIT_IS_OPEN_MPI
                   ? "Open MPI's library is not installed (libmpi.so.40; package libopenmpi3), "
                     "or PENSTOCK_MPI_LIBRARY names another file"
                   : "MPICH's library is not installed (libmpich.so.12 or libmpi.so.12; package "
                     "libmpich12), or PENSTOCK_MPI_LIBRARY names another file";
        return 0;
    }
    *why = "it is for networks that only MPI knows";
    return PEN_SCORE_NAMED;
}

static size_t mpi_shared_len(pen_peer peers, const void *config)
{
    (void)peers, (void)config;
    return 0;
}

#define MPI_CONDUIT_ENTRY(symbol)                                  \
    extern const pen_conduit symbol;                               \
    PEN_EXPORT const pen_conduit symbol = {                        \
        .abi = PEN_CONDUIT_ABI,                                    \
        .name = mpi_conduit_name,                                  \
        .summary = "MPI's messages, under the mpirun of that MPI", \
        .knobs = knobs,                                            \
        .config_len = sizeof(mpi_config),                          \
        .score = mpi_score,                                        \
        .shared_len = mpi_shared_len,                              \
        .open = mpi_open,                                          \
    };
#if MPI_CONDUIT_IS_OPEN_MPI
MPI_CONDUIT_ENTRY(pen_conduit_mpi_ompi)
#elif MPI_CONDUIT_IS_ABI
MPI_CONDUIT_ENTRY(pen_conduit_mpi_abi)
#else
MPI_CONDUIT_ENTRY(pen_conduit_mpi_mpich)
#endif
