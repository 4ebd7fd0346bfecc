/* SPDX-License-Identifier: BSD-3-Clause */
/* unknown.c: detects variables with a mistake in the name, which otherwise would have no effect
 * and cause no message. */
#include "base/nearest.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <string.h>

enum { NAME_LEN_MAX = 64, MISTAKES_MAX = 2, SHORT_LEN = 6 };

static const char *const prefixes[] = { "GASNET_", "PENSTOCK_" };

/* Variables of different GASNet implementations, of their launchers and of programs for them,
 * without the prefix. */
static const char *const of_others[] = {
    "AMRDMA_MAX_PEERS",
    "ATOMIC_TABLESZ",
    "BARRIER",
    "COLL_ENABLE_SEARCH",
    "COLL_SCRATCH_SIZE",
    "COLL_TUNING_FILE",
    "CSPAWN_CMD",
    "CSPAWN_ROUTE_OUTPUT",
    "CSPAWN_SERVERS",
    "DISABLE_ARGDECODE",
    "DISABLE_ENVDECODE",
    "ENV_CMD",
    "HOST_DETECT",
    "IBV_SPAWNER",
    "IB_SPAWNER",
    "LINEBUFFERSZ",
    "MALLOC_CLOBBER",
    "MALLOC_INIT",
    "MASTERIP",
    "MPIRUN_CMD",
    "MPI_FINALIZE",
    "MPI_SPAWNER",
    "MPI_THREAD",
    "NETWORKDEPTH",
    "NODEFILE",
    "NO_SCRATCH_WARN_THRESHOLD",
    "OFI_SPAWNER",
    "PHYSMEM_MAX",
    "PHYSMEM_NOPROBE",
    "PHYSMEM_PROBE",
    "PREFIX",
    "PSHM_BARRIER_HIER",
    "PSHM_NETWORK_DEPTH",
    "RCV_THREAD",
    "RCV_THREAD_IDLE",
    "RCV_THREAD_POLL_MODE",
    "RCV_THREAD_RATE",
    "RECVDEPTH",
    "REQUESTTIMEOUT_BACKOFF",
    "REQUESTTIMEOUT_INITIAL",
    "REQUESTTIMEOUT_MAX",
    "ROUTE_OUTPUT",
    "SENDDEPTH",
    "SMP_SPAWNER",
    "SND_THREAD",
    "SND_THREAD_IDLE",
    "SND_THREAD_POLL_MODE",
    "SND_THREAD_RATE",
    "SOCKETBUFFER_INITIAL",
    "SPAWNER",
    "SPAWN_VERBOSE",
    "SSH_KEEPDUP",
    "PHYSMEM_WARN",
    "DISABLE_MUNMAP",
    "USE_PSHM_SINGLETON",
    "PSHM_BARRIER_RADIX",
    "NODEMAP_EXACT",
    "HWLOC_QUERY",
    "THREAD_STACK_MIN",
    "THREAD_STACK_PAD",
    "MAX_MEDIUM",
    "SSH_NODEFILE",
    "SSH_SERVERS",
    "STATSMASK",
    "STATSNODES",
    "TMPDIR",
    "TRACENODES",
    "UCX_SPAWNER",
    "USE_ODP",
    "USE_SRQ",
    "USE_XRC",
    "VIS_AMPIPE",
    "VIS_GET_MAXCHUNK",
    "VIS_MAXCHUNK",
    "VIS_PUT_MAXCHUNK",
    "VIS_REMOTECONTIG",
    "WORKER_RANK",
};

/* Variables that this library's launchers set. */
static const char *const internal[] = { "CONTROL_FD", "ARENA_FD", "RANK", "SIZE", "PMIX_PID" };

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Returns the name behind its prefix, or NULL if it has no known prefix. */
static const char *rest_of(const char *name)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    return NULL;
}

/* Returns the row whose name is most similar, or NULL. A wrong prefix counts as one mistake.
 * *is_known: a row has exactly this name. */
static const char *resembled(const pen_knob *const *tables, const char *name, bool *is_known)
{
    const char *best = NULL, *rest = rest_of(name);
    unsigned least = strlen(rest) < SHORT_LEN ? MISTAKES_MAX : MISTAKES_MAX + 1;
    *is_known = false;
    for (; *tables != NULL; tables++) {
        for (const pen_knob *row = *tables; row->name != NULL; row++) {
            const char *rest_of_row = rest_of(row->name);
            if (rest_of_row == NULL)
                continue;
            bool has_prefix = strncmp(row->name, name, (size_t)(rest - name)) == 0;
            unsigned mistakes = pen_distance(rest, rest_of_row) + (has_prefix ? 0 : 1);
            *is_known = *is_known || mistakes == 0;
            if (mistakes < least) {
                least = mistakes;
                best = row->name;
            }
        }
    }
    return best;
}

void pen_knob_warn_unknown(pen_log *log, char *const *environment, const pen_knob *const *tables)
{
    for (; *environment != NULL; environment++) {
        char name[NAME_LEN_MAX];
        size_t len = strcspn(*environment, "=");
        if (len >= sizeof name)
            continue;
        memcpy(name, *environment, len);
        name[len] = '\0';
        const char *rest = rest_of(name);
        bool is_known;
        if (rest == NULL || is_among(of_others, sizeof of_others / sizeof of_others[0], rest) ||
            is_among(internal, sizeof internal / sizeof internal[0], rest))
            continue;
        const char *near = resembled(tables, name, &is_known);
        if (near != NULL && !is_known)
            pen_log_warn(log, "the variable %s has no effect; did you mean %s?", name, near);
    }
}
