/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_link.h: shared by the files of the mpi conduit, which moves frames by MPI's point-to-point
 * messages. The same files make a module for each family of MPI libraries.
 *
 *   mpi_conduit.c  settings, score, the registry entry
 *   mpi_library.c  opens an MPI at run time, starts it and ends it
 *   mpi_link.c     opens and closes a link, meets the peers
 *   mpi_frames.c   posts, polls, waits
 *
 * Each lane has a communicator of its own. A frame is one message, as link/netlib.h lays it out.
 * It comes into a slot of the lane's ring: a buffer with a persistent receive from any source. The
 * ring of a lane that is not asked for is not tested. The window bounds how many frames MPI then
 * has to keep.
 *
 * Locks: `lock` guards a link and every call of MPI. It is never held while a frame is
 * delivered. */
#ifndef PEN_CONDUITS_MPI_MPI_LINK_H
#define PEN_CONDUITS_MPI_MPI_LINK_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "link/netlib.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef MPI_CONDUIT_IS_ABI
#    define MPI_CONDUIT_IS_ABI 0
#endif
#if MPI_CONDUIT_IS_ABI
#    include <mpi_abi.h>
#else
#    include <mpi.h>
#endif

/* ---- MPI ------------------------------------------------------------------------------------- */

#ifdef OPEN_MPI
#    define MPI_CONDUIT_IS_OPEN_MPI 1
#else
#    define MPI_CONDUIT_IS_OPEN_MPI 0
#endif

/* The functions of MPI that the conduit calls, by name and type. */
#define MPI_CONDUIT_FUNCTIONS(X)                    \
    X(initialized, MPI_Initialized)                 \
    X(finalized, MPI_Finalized)                     \
    X(init_thread, MPI_Init_thread)                 \
    X(query_thread, MPI_Query_thread)               \
    X(finalize, MPI_Finalize)                       \
    X(library_version, MPI_Get_library_version)     \
    X(error_string, MPI_Error_string)               \
    X(comm_rank, MPI_Comm_rank)                     \
    X(comm_size, MPI_Comm_size)                     \
    X(comm_dup, MPI_Comm_dup)                       \
    X(comm_free, MPI_Comm_free)                     \
    X(comm_set_errhandler, MPI_Comm_set_errhandler) \
    X(comm_create_keyval, MPI_Comm_create_keyval)   \
    X(comm_free_keyval, MPI_Comm_free_keyval)       \
    X(comm_set_attr, MPI_Comm_set_attr)             \
    X(comm_delete_attr, MPI_Comm_delete_attr)       \
    X(isend, MPI_Isend)                             \
    X(recv_init, MPI_Recv_init)                     \
    X(start, MPI_Start)                             \
    X(test, MPI_Test)                               \
    X(testany, MPI_Testany)                         \
    X(get_count, MPI_Get_count)                     \
    X(cancel, MPI_Cancel)                           \
    X(request_free, MPI_Request_free)               \
    X(allgather, MPI_Allgather)

/* An opened MPI. Its predefined objects are data of the library in Open MPI, and constants
 * elsewhere, so they are looked up like the functions. */
typedef struct mpi_library {
#define MPI_CONDUIT_POINTER(name, function) __typeof__(function) *name;
    MPI_CONDUIT_FUNCTIONS(MPI_CONDUIT_POINTER)
#undef MPI_CONDUIT_POINTER
    MPI_Comm world, self;
    MPI_Datatype byte;
    MPI_Errhandler errors_return;
    MPI_Request no_request;
} mpi_library;

extern const char mpi_conduit_name[];    /* "mpi-ompi", "mpi-mpich" or "mpi-abi" */
extern const char mpi_conduit_library[]; /* for people, for example "MPICH" */

/* Whether a launcher of this MPI has started the process. */
bool mpi_is_launched(void);

/* Returns the file of an MPI of another family that the process holds already; NULL: it holds none.
 */
const char *mpi_library_other(void);

/* Whether the library can be opened. name: a file; NULL: those that this module knows. */
bool mpi_library_exists(const char *name);

/* Opens the library and fills *out. It stays loaded. Fails: the reason is logged. */
pen_status mpi_library_open(const pen_host *host, const char *name, mpi_library *out);

/* Starts MPI, if the client has not done so. The handlers of signals are the same afterwards. MPI
 * that was started here ends when the process ends with status 0. needs_threads: several threads
 * make calls, one at a time. Fails: the reason is logged. */
pen_status mpi_library_start(const pen_host *host, const mpi_library *mpi, bool needs_threads);

/* ---- the link -------------------------------------------------------------------------------- */

enum {
    MPI_CONDUIT_FRAME_MAX = 8192,
    MPI_CONDUIT_GRAIN = 64,
    MPI_CONDUIT_RING_MOST = 256,
};

typedef struct mpi_address { /* ranks compare it before they connect */
    uint32_t frame_max, rank;
    char name[24];
} mpi_address;

typedef struct mpi_config {
    const char *library;
    int64_t window;
} mpi_config;

/* The slots of a lane. Those whose receive is active are listed in the order in which they were
 * started, which is the order in which MPI fills them. */
typedef struct mpi_ring {
    MPI_Comm comm;
    MPI_Request *requests; /* by slot */
    unsigned char *slots;
    uint16_t *next; /* by slot */
    uint16_t count, first, last;
} mpi_ring;

enum { MPI_CONDUIT_NO_SLOT = UINT16_MAX };

typedef struct mpi_link {
    pen_link base; /* first: the engine sees a pen_link */
    mpi_config config;
    mpi_library mpi;
    pen_lock lock; /* guards all below, and every call of MPI */
    pen_net net;
    pen_net_buffer *first_sent, **last_sent; /* frames that MPI has, the oldest first */
    mpi_ring rings[PEN_LANES];
    unsigned empty_polls;
    int keyval; /* names the attribute that tells when MPI ends */
    int fd;     /* an eventfd that is never readable */
    bool is_connected, is_closing;
    bool is_over;      /* MPI has ended, or the link closes: no call of MPI is made any more */
    bool is_missed;    /* a frame was posted after that, or MPI has failed to receive */
    bool is_told;      /* the engine knows that */
    bool holds_memory; /* MPI has memory of the link that it did not give back */
} mpi_link;

static inline mpi_link *mpi_of(pen_link *link) { return (mpi_link *)(void *)link; }

static inline unsigned char *mpi_slot(const mpi_ring *ring, unsigned slot)
{
    const size_t len = pen_net_len(PEN_FRAME_HEAD_COUNTED_MAX, MPI_CONDUIT_FRAME_MAX);
    return ring->slots + slot * len;
}

static inline MPI_Request *mpi_request_of(pen_net_buffer *buffer)
{
    return (MPI_Request *)(void *)buffer->context;
}
_Static_assert(sizeof(MPI_Request) <= sizeof(((pen_net_buffer *)0)->context),
               "a buffer has room for its request");

pen_status mpi_open(const pen_link_params *params, pen_link **out);

pen_post mpi_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op);
unsigned mpi_poll(pen_link *base, unsigned lanes, unsigned budget);

/* Starts the receive of a slot. Under the lock. Returns MPI's error. */
int mpi_slot_start(mpi_link *link, mpi_ring *ring, unsigned slot);

/* Takes back the buffers of frames that have left. Under the lock. */
void mpi_take_sent(mpi_link *link);

extern const pen_wait_ops mpi_wait;
extern const pen_due_ops mpi_due;

#endif
