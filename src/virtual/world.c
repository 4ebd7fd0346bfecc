/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c: making a world and mapping it. */
#include "virtual/world.h"

#include "base/compiler.h"
#include "base/status.h"
#include "os/os.h"
#include "virtual/net.h"
#include "virtual/virtual.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Packets of each rank that are under way or not yet taken. Memory is used as they are. */
enum { PACKETS_PER_RANK = 2048, PACKETS_MAX = 1 << 20, LINE = 64 };

static pen_virtual_net_params net_params_of(const pen_virtual_params *params)
{
    uint64_t packets = (uint64_t)params->ranks * PACKETS_PER_RANK;
    return (pen_virtual_net_params){ .machine = params->machine,
                                     .shape = params->shape,
                                     .ports = params->ranks,
                                     .nodes = params->nodes,
                                     .packets =
                                         packets < PACKETS_MAX ? (uint32_t)packets : PACKETS_MAX };
}

static void lay_out(const pen_virtual_params *params, pen_virtual_world *out)
{
    const pen_virtual_net_params net = net_params_of(params);
    out->ranks_off = pen_align_up(sizeof *out, LINE);
    out->heap_off = out->ranks_off + params->ranks * sizeof(pen_virtual_rank);
    out->net_off = pen_align_up(out->heap_off + params->ranks * sizeof(uint32_t), LINE);
    out->len = out->net_off + pen_virtual_net_len(&net);
}

static void open_view(void *memory, uint32_t rank, pen_virtual *out)
{
    pen_virtual_world *world = memory;
    char *base = memory;
    *out = (pen_virtual){ .world = world,
                          .len = world->len,
                          .ranks = (void *)(base + world->ranks_off),
                          .heap = (void *)(base + world->heap_off),
                          .rank = rank };
    pen_virtual_net_open(base + world->net_off, &out->net);
}

const char *pen_virtual_make(const pen_virtual_params *params, int *fd, pen_virtual *out)
{
    pen_virtual_world layout = { .magic = PEN_VIRTUAL_MAGIC,
                                 .ranks = params->ranks,
                                 .alive = params->ranks };
    lay_out(params, &layout);
    const char *call;
    *fd = pen_memfd("penstock-world", layout.len, &call);
    if (*fd < 0)
        return call;
    void *memory = MAP_FAILED;
    if (fcntl(*fd, F_SETFD, 0) == 0)
        memory = mmap(NULL, layout.len, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (memory == MAP_FAILED) {
        int error = errno;
        (void)close(*fd);
        errno = error;
        return "mmap";
    }
    pen_virtual_world *world = memory;
    *world = layout;
    const pen_virtual_net_params net = net_params_of(params);
    pen_virtual_net_init((char *)memory + world->net_off, &net);
    open_view(memory, 0, out);
    for (uint32_t rank = 1; rank < params->ranks; rank++)
        pen_virtual_heap_add(out, rank, 0);
    atomic_store_explicit(&out->ranks[0].turn, 1, memory_order_relaxed);
    return NULL;
}

pen_status pen_virtual_map(int fd, uint32_t rank, pen_virtual *out)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return PEN_ERR_SYSTEM;
    size_t len = (size_t)about.st_size;
    if (len < sizeof(pen_virtual_world))
        return PEN_ERR_ARGUMENT;
    void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return PEN_ERR_SYSTEM;
    const pen_virtual_world *world = memory;
    if (world->magic != PEN_VIRTUAL_MAGIC || world->len > len || rank >= world->ranks) {
        (void)munmap(memory, len);
        return PEN_ERR_ARGUMENT;
    }
    open_view(memory, rank, out);
    return PEN_OK;
}

void pen_virtual_unmap(pen_virtual *view)
{
    if (view->world != NULL)
        (void)munmap(view->world, view->len);
    view->world = NULL;
}

pen_virtual_figures pen_virtual_read(const pen_virtual *view)
{
    const pen_virtual_world *world = view->world;
    /* relaxed: the values are shown to people, each by itself */
    return (pen_virtual_figures){
        .end_ns = atomic_load_explicit(&world->end_ns, memory_order_relaxed),
        .hand_overs = atomic_load_explicit(&world->hand_overs, memory_order_relaxed),
        .looks = atomic_load_explicit(&world->looks, memory_order_relaxed),
        .turn = atomic_load_explicit(&world->turn, memory_order_relaxed),
        .left = atomic_load_explicit(&world->left, memory_order_relaxed),
    };
}
