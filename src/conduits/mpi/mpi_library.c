/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_library.c: opens an MPI at run time, starts it, and ends it with the process. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/mpi/mpi_link.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "pen_config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS = 65, FILES_MAX = 4 };

/* Files of the MPI that this module was built for, and of those that it is not. A process may hold
 * one MPI only. Then the variables by which launchers tell an MPI who it is. */
#if MPI_CONDUIT_IS_OPEN_MPI
const char mpi_conduit_name[] = "mpi-ompi";
const char mpi_conduit_library[] = "Open MPI";
static const char *const files[FILES_MAX] = { "libmpi.so.40", NULL };
static const char *const other_files[FILES_MAX] = { "libmpich.so.12", "libmpi.so.12",
                                                    "libmpi_abi.so.1", NULL };
static const char *const marks[] = { "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", NULL };
#elif MPI_CONDUIT_IS_ABI
const char mpi_conduit_name[] = "mpi-abi";
const char mpi_conduit_library[] = "an MPI with the standard ABI";
static const char *const files[FILES_MAX] = { "libmpi_abi.so.1", NULL };
static const char *const other_files[FILES_MAX] = { "libmpi.so.40", "libmpich.so.12",
                                                    "libmpi.so.12", NULL };
static const char *const marks[] = { "PMI_FD", "PMI_RANK", NULL };
#else
const char mpi_conduit_name[] = "mpi-mpich";
const char mpi_conduit_library[] = "MPICH";
static const char *const files[FILES_MAX] = { "libmpich.so.12", "libmpi.so.12", NULL };
static const char *const other_files[FILES_MAX] = { "libmpi.so.40", NULL };
static const char *const marks[] = { "PMI_FD", "PMI_RANK", NULL };
#endif

bool mpi_is_launched(void)
{
    for (const char *const *mark = marks; *mark != NULL; mark++)
        if (pen_knob_from_process(NULL, *mark) != NULL)
            return true;
    return false;
}

/* ---- a guest of the process ------------------------------------------------------------------ */

/* An MPI installs handlers of signals, some when its libraries are loaded and some when it starts.
 * Its threads would take signals that are meant for the program. So all signals are blocked
 * meanwhile, and the handlers are put back. */
typedef struct mpi_guest {
    struct sigaction handlers[SIGNALS];
    bool is_known[SIGNALS];
    sigset_t mask;
} mpi_guest;

static void guest_begin(mpi_guest *guest)
{
    sigset_t all;
    for (int i = 1; i < SIGNALS; i++)
        guest->is_known[i] = sigaction(i, NULL, &guest->handlers[i]) == 0;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &guest->mask);
}

static void guest_end(const mpi_guest *guest)
{
    for (int i = 1; i < SIGNALS; i++)
        if (guest->is_known[i])
            (void)sigaction(i, &guest->handlers[i], NULL);
    (void)pthread_sigmask(SIG_SETMASK, &guest->mask, NULL);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Opens the library that the user has named, or the first that is there. NULL: see dlerror. */
static void *open_library(const char *name)
{
    const bool is_named = name != NULL && name[0] != '\0';
    mpi_guest guest;
    guest_begin(&guest);
    void *handle = is_named ? dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    for (unsigned i = 0; !is_named && i < FILES_MAX && files[i] != NULL && handle == NULL; i++)
        handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    guest_end(&guest);
    return handle;
}

bool mpi_library_exists(const char *name)
{
    void *handle = open_library(name);
    if (handle != NULL)
        (void)dlclose(handle); /* it stays loaded */
    return handle != NULL;
}

const char *mpi_library_other(void)
{
    for (unsigned i = 0; i < FILES_MAX && other_files[i] != NULL; i++) {
        void *handle = dlopen(other_files[i], RTLD_NOW | RTLD_NOLOAD);
        if (handle == NULL)
            continue;
        (void)dlclose(handle);
        return other_files[i];
    }
    return NULL;
}

/* Fills *out. Returns the name of a function or object that the library lacks, or NULL. A program
 * that is linked with Open MPI may have copies of its objects, which the library then uses, too. So
 * objects are looked for in the program first. */
static const char *find_functions(void *handle, mpi_library *out)
{
    void *found;
#define MPI_CONDUIT_FIND_FUNCTION(name, function)   \
    if ((found = dlsym(handle, #function)) == NULL) \
        return #function;                           \
    memcpy(&out->name, &found, sizeof found);
    MPI_CONDUIT_FUNCTIONS(MPI_CONDUIT_FIND_FUNCTION)
#undef MPI_CONDUIT_FIND_FUNCTION
#if MPI_CONDUIT_IS_OPEN_MPI
#    define MPI_CONDUIT_FIND_OBJECT(name, object)            \
        if ((found = dlsym(RTLD_DEFAULT, object)) == NULL && \
            (found = dlsym(handle, object)) == NULL)         \
            return object;                                   \
        memcpy(&out->name, &found, sizeof found);
    MPI_CONDUIT_FIND_OBJECT(world, "ompi_mpi_comm_world")
    MPI_CONDUIT_FIND_OBJECT(self, "ompi_mpi_comm_self")
    MPI_CONDUIT_FIND_OBJECT(byte, "ompi_mpi_byte")
    MPI_CONDUIT_FIND_OBJECT(errors_return, "ompi_mpi_errors_return")
    MPI_CONDUIT_FIND_OBJECT(no_request, "ompi_request_null")
#    undef MPI_CONDUIT_FIND_OBJECT
#else
    out->world = MPI_COMM_WORLD;
    out->self = MPI_COMM_SELF;
    out->byte = MPI_BYTE;
    out->errors_return = MPI_ERRORS_RETURN;
    out->no_request = MPI_REQUEST_NULL;
#endif
    return NULL;
}

pen_status mpi_library_open(const pen_host *host, const char *name, mpi_library *out)
{
    const char *other = mpi_library_other();
    if (other != NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the conduit %s: this process uses another MPI (%s); start it with "
                  "that MPI's mpirun, or choose another conduit with PENSTOCK_CONDUIT",
                  mpi_conduit_name, other);
        return PEN_ERR_UNUSABLE;
    }
    void *handle = open_library(name);
    if (handle == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the conduit %s: dlopen: %s; install %s, name its file with "
                  "PENSTOCK_MPI_LIBRARY, or choose another conduit with PENSTOCK_CONDUIT",
                  mpi_conduit_name, dlerror(), mpi_conduit_library);
        return PEN_ERR_UNUSABLE;
    }
    const char *missing = find_functions(handle, out);
    (void)dlclose(handle); /* it stays loaded */
    if (missing == NULL)
        return PEN_OK;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot open the conduit %s: the library has no %s, so it is not %s; name another "
              "file with PENSTOCK_MPI_LIBRARY, or choose another conduit with PENSTOCK_CONDUIT",
              mpi_conduit_name, missing, mpi_conduit_library);
    return PEN_ERR_UNUSABLE;
}

/* ---- ending ---------------------------------------------------------------------------------- */

#if PEN_HAVE_ON_EXIT
typedef struct mpi_owned {
    mpi_library mpi;
    pid_t pid; /* the process that has started it; its children do not end it */
} mpi_owned;

/* Ends MPI when the process that started it ends with status 0. All ranks do so then, because a
 * launcher takes a process that has started MPI and not ended it for one that failed. */
static void end_with_process(int status, void *owner)
{
    const mpi_owned *owned = owner;
    int is_over = 0;
    if (status == 0 && owned->pid == getpid() && owned->mpi.finalized(&is_over) == MPI_SUCCESS &&
        is_over == 0)
        (void)owned->mpi.finalize();
}

static int end_later(const mpi_library *mpi)
{
    mpi_owned *owned = malloc(sizeof *owned); /* in use until the process ends */
    if (owned == NULL)
        return ENOMEM;
    *owned = (mpi_owned){ *mpi, getpid() };
    if (on_exit(end_with_process, owned) == 0)
        return 0;
    free(owned);
    return ENOMEM;
}
#else
static int end_later(const mpi_library *mpi)
{
    (void)mpi;
    return ENOSYS; /* without the status of the process, the end of MPI might wait without end */
}
#endif

/* ---- starting -------------------------------------------------------------------------------- */

static pen_status cannot_start(const pen_host *host, const char *why, const char *remedy)
{
    host->log(host->ctx, PEN_LOG_ERROR, "cannot open the conduit %s: %s; %s", mpi_conduit_name, why,
              remedy);
    return PEN_ERR_UNUSABLE;
}

static int init_as_guest(const mpi_library *mpi, int *level)
{
    mpi_guest guest;
    guest_begin(&guest);
    const int error = mpi->init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, level);
    guest_end(&guest);
    return error;
}

/* Starts MPI, which then ends with the process. */
static pen_status start_as_guest(const pen_host *host, const mpi_library *mpi, bool needs_threads)
{
    int level = MPI_THREAD_SINGLE;
    const int error = end_later(mpi);
    if (error == ENOSYS)
        return cannot_start(host, "this C library has no on_exit", "start MPI in the program");
    if (error != 0)
        return cannot_start(host, "on_exit has no memory", "free some memory");
    if (init_as_guest(mpi, &level) != MPI_SUCCESS)
        return cannot_start(host, "MPI_Init_thread has failed", "see MPI's own message");
    if (needs_threads && level < MPI_THREAD_SERIALIZED)
        return cannot_start(host, "this MPI was built for one thread only",
                            "use a build with MPI_THREAD_SERIALIZED, or a program built for SEQ");
    return PEN_OK;
}

pen_status mpi_library_start(const pen_host *host, const mpi_library *mpi, bool needs_threads)
{
    int is_started = 0, is_over = 0, level = MPI_THREAD_SINGLE;
    if (mpi->finalized(&is_over) != MPI_SUCCESS || is_over != 0)
        return cannot_start(host, "MPI has ended in this process, and cannot start again",
                            "call MPI_Finalize after the last call of Penstock");
    if (mpi->initialized(&is_started) != MPI_SUCCESS || is_started == 0)
        return start_as_guest(host, mpi, needs_threads);
    if (mpi->query_thread(&level) == MPI_SUCCESS &&
        (!needs_threads || level >= MPI_THREAD_SERIALIZED))
        return PEN_OK;
    return cannot_start(host, "the program has started MPI for one thread only",
                        "start it with MPI_Init_thread and MPI_THREAD_SERIALIZED");
}
