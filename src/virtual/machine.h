/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.h: the costs of a simulated machine, read from a file, so that every experiment on it
 * takes the same numbers. A file has one line for each value, `name = number unit`, in any order. A
 * missing value and an unknown name are errors. # begins a comment. */
#ifndef PEN_VIRTUAL_MACHINE_H
#define PEN_VIRTUAL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, unit, least, most). src/virtual/machines/extoll-r1 says what each is. */
#define PEN_VIRTUAL_MACHINE_VALUES(X)    \
    X(packet_payload, "bytes", 8, 4096)  \
    X(packet_wire, "bytes", 8, 8192)     \
    X(send_packet, "ns", 0, 1000000)     \
    X(nic_send, "ns", 0, 1000000)        \
    X(nic_gap, "ns", 1, 1000000)         \
    X(link_packet, "ns", 1, 1000000)     \
    X(link_buffer, "packets", 2, 65535)  \
    X(router, "ns", 0, 1000000)          \
    X(nic_receive, "ns", 0, 1000000)     \
    X(poll_packet, "ns", 0, 1000000)     \
    X(poll_empty, "ns", 1, 1000000)      \
    X(nic_queue, "packets", 1, 1000000)  \
    X(read_memory, "ns", 0, 1000000)     \
    X(notify, "ns", 0, 1000000)          \
    X(copy_packet, "ns", 0, 1000000)     \
    X(send_message, "ns", 0, 1000000)    \
    X(receive_message, "ns", 0, 1000000) \
    X(credit_send, "ns", 0, 1000000)     \
    X(credit_receive, "ns", 0, 1000000)  \
    X(read_clock, "ns", 1, 1000000)      \
    X(mesh_dimensions, "axes", 1, 3)

typedef struct pen_virtual_machine {
#define FIELD(name, unit, least, most) uint32_t name;
    PEN_VIRTUAL_MACHINE_VALUES(FIELD)
#undef FIELD
} pen_virtual_machine;

/* Reads a machine's file. False: *out is as it was, and problem says in one line where, what and
 * how to mend it. */
bool pen_virtual_machine_read(const char *path, pen_virtual_machine *out, char *problem,
                              size_t problem_len);

/* Reads the text of a machine file. Messages use `name` as the name of the file. */
bool pen_virtual_machine_parse(const char *name, const char *text, size_t len,
                               pen_virtual_machine *out, char *problem, size_t problem_len);

/* Returns the hops along the axes between two nodes. nodes: their number, a power of two. */
uint32_t pen_virtual_machine_hops(const pen_virtual_machine *machine, uint32_t nodes,
                                  uint32_t from_i, uint32_t to_i);

#endif
