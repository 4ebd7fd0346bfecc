/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.h: where this machine's cores are, as hwloc tells it: for people, and for binding ranks.
 * hwloc is opened when it is asked for, not before: it takes longer to load than a job to start. */
#ifndef PEN_COMMAND_TOPOLOGY_H
#define PEN_COMMAND_TOPOLOGY_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum { TOPOLOGY_CORES_MAX = 1024 };

typedef struct topology {
    const char *why_not; /* NULL: what follows is known */
    unsigned packages, numa_nodes, cores, threads;
    uint64_t cache_len;    /* bytes of one last-level cache; 0 if not known */
    unsigned cache_shared; /* hardware threads that share one */
    /* A set for each core that this process may use: the hardware threads of that core that it may
     * use. Cores that are close to one another stand together. Without hwloc every hardware thread
     * counts as a core, by its number. */
    unsigned set_count;
    cpu_set_t sets[TOPOLOGY_CORES_MAX];
} topology;

void topology_read(topology *out);

#endif
