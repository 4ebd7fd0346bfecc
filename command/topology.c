/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.c: asks hwloc, if this build knows its types and this machine has the library. */
#include "command/topology.h"

#include "pen_config.h"

#include <stddef.h>

#if PEN_HAVE_HWLOC
#    include <dlfcn.h>
#    include <hwloc.h>
#    define HWLOC_LIBRARY "libhwloc.so.15" /* the name that all releases 2.x have */

/* The calls we make, by name: each is declared by hwloc.h and found when it is asked for. */
#    define HWLOC_CALLS(X)           \
        X(hwloc_topology_init)       \
        X(hwloc_topology_load)       \
        X(hwloc_topology_destroy)    \
        X(hwloc_get_type_depth)      \
        X(hwloc_get_nbobjs_by_depth) \
        X(hwloc_get_obj_by_depth)    \
        X(hwloc_bitmap_next)         \
        X(hwloc_bitmap_weight)       \
        X(hwloc_get_api_version)

typedef struct hwloc_calls {
#    define HWLOC_FIELD(name) __typeof__(&name) name;
    HWLOC_CALLS(HWLOC_FIELD)
#    undef HWLOC_FIELD
} hwloc_calls;

/* NULL, or why hwloc cannot be asked. The library stays open until we end. */
static const char *calls_find(hwloc_calls *out)
{
    void *library = dlopen(HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return "there is no " HWLOC_LIBRARY;
#    define HWLOC_FIND(name)                                  \
        *(void **)(void *)&out->name = dlsym(library, #name); \
        if (out->name == NULL)                                \
            return "libhwloc lacks " #name;
    HWLOC_CALLS(HWLOC_FIND)
#    undef HWLOC_FIND
    return out->hwloc_get_api_version() >> 16 == HWLOC_API_VERSION >> 16
               ? NULL
               : "libhwloc is of another version than the header this was built with";
}

static unsigned count_of(const hwloc_calls *calls, hwloc_topology_t from, hwloc_obj_type_t type)
{
    int depth = calls->hwloc_get_type_depth(from, type);
    bool is_one = depth != HWLOC_TYPE_DEPTH_UNKNOWN && depth != HWLOC_TYPE_DEPTH_MULTIPLE;
    int count = is_one ? calls->hwloc_get_nbobjs_by_depth(from, depth) : 0;
    return count > 0 ? (unsigned)count : 0;
}

static hwloc_obj_t object(const hwloc_calls *calls, hwloc_topology_t from, hwloc_obj_type_t type,
                          unsigned i)
{
    return calls->hwloc_get_obj_by_depth(from, calls->hwloc_get_type_depth(from, type), i);
}

static void read_cache(const hwloc_calls *calls, hwloc_topology_t from, topology *out)
{
    static const hwloc_obj_type_t types[] = { HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && out->cache_len == 0; i++) {
        if (count_of(calls, from, types[i]) == 0)
            continue;
        hwloc_obj_t cache = object(calls, from, types[i], 0);
        out->cache_len = cache->attr->cache.size;
        out->cache_shared = (unsigned)calls->hwloc_bitmap_weight(cache->cpuset);
    }
}

static void read_cores(const hwloc_calls *calls, hwloc_topology_t from, const cpu_set_t *allowed,
                       topology *out)
{
    for (unsigned i = 0; i < out->cores && out->set_count < TOPOLOGY_CORES_MAX; i++) {
        hwloc_obj_t core = object(calls, from, HWLOC_OBJ_CORE, i);
        cpu_set_t *set = &out->sets[out->set_count];
        CPU_ZERO(set);
        int cpu = -1;
        while ((cpu = calls->hwloc_bitmap_next(core->cpuset, cpu)) >= 0)
            if (CPU_ISSET((size_t)cpu, allowed))
                CPU_SET((size_t)cpu, set);
        out->set_count += CPU_COUNT(set) != 0;
    }
}

static const char *ask(const cpu_set_t *allowed, topology *out)
{
    hwloc_calls calls;
    hwloc_topology_t from;
    const char *why_not = calls_find(&calls);
    if (why_not != NULL)
        return why_not;
    if (calls.hwloc_topology_init(&from) != 0)
        return "hwloc_topology_init failed";
    if (calls.hwloc_topology_load(from) == 0) {
        out->packages = count_of(&calls, from, HWLOC_OBJ_PACKAGE);
        out->numa_nodes = count_of(&calls, from, HWLOC_OBJ_NUMANODE);
        out->cores = count_of(&calls, from, HWLOC_OBJ_CORE);
        out->threads = count_of(&calls, from, HWLOC_OBJ_PU);
        read_cache(&calls, from, out);
        read_cores(&calls, from, allowed, out);
    } else {
        why_not = "hwloc_topology_load failed";
    }
    calls.hwloc_topology_destroy(from);
    return why_not;
}
#else
static const char *ask(const cpu_set_t *allowed, topology *out)
{
    (void)allowed, (void)out;
    return "it was built without hwloc";
}
#endif

static void cores_by_number(const cpu_set_t *allowed, topology *out)
{
    for (size_t cpu = 0; cpu < CPU_SETSIZE && out->set_count < TOPOLOGY_CORES_MAX; cpu++) {
        if (!CPU_ISSET(cpu, allowed))
            continue;
        CPU_ZERO(&out->sets[out->set_count]);
        CPU_SET(cpu, &out->sets[out->set_count++]);
    }
}

void topology_read(topology *out)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    *out = (topology){ .set_count = 0 };
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        out->why_not = "this machine has more hardware threads than an affinity mask";
        return;
    }
    out->why_not = ask(&allowed, out);
    if (out->set_count == 0)
        cores_by_number(&allowed, out);
}
