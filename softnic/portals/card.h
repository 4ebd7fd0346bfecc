/* SPDX-License-Identifier: BSD-3-Clause */
/* card.h: the software Portals 4 card, as its creator sees it: settings, opening, closing, counts.
 * Programs need only portals4.h: PtlInit finds the job in the environment and opens the card.
 * Conduits and tests open cards here, on memory of their own; one process may then have several.
 *
 * Memory: a fabric is one piece of shared memory, zeroed at first. It has a row for each process,
 * and for each ordered pair of processes two rings of packets: requests, and responses. Everything
 * else (portal table, lists, queues, counters) is private memory of the process that owns it.
 *
 * Who advances what: a call copies its message into the ring to the target, or queues it privately
 * if the ring is full. The target's calls, or its helper thread, take packets out of its rings,
 * match them, copy data and send responses. Responses are always taken out, and requests wait while
 * too many responses are queued, so that two full rings never block each other.
 *
 * Locks: each card has one lock. All calls and the helper thread take it, and nobody sleeps with
 * it.
 *
 * Trust: the card trusts nothing that a peer writes. It knows the sender by the ring, copies each
 * packet's header once, and bounds every length and index before use. A peer's data can change
 * only memory that this process has bound or appended for that operation. A ring with positions or
 * packets that no card writes is closed, and operations with that peer end as undeliverable. The
 * uid in a packet is the exception: a fabric belongs to one user, so the kernel has checked it. */
#ifndef PEN_SOFTNIC_PORTALS_CARD_H
#define PEN_SOFTNIC_PORTALS_CARD_H

#include "base/status.h"
#include "knob/knob.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Delays that model hardware. All zero: as fast as the machine. */
typedef struct pen_portals_model {
    uint32_t latency_ns;   /* delay of every packet, from the call to the target */
    uint32_t step_ns;      /* added if the payload does not fit in the packet with the header */
    uint32_t bytes_per_us; /* bandwidth of a process's link; 0: not limited */
    uint32_t register_ns;  /* time to bind a descriptor or append an entry ... */
    uint32_t register_ns_a_page; /* ... and time for each page of its memory */
} pen_portals_model;

/* Payload that the packet with the header carries without a further step. */
enum { PEN_PORTALS_HEADER_PAYLOAD = 16 };

/* Faults for tests. one_in: 0 never, 1 always, n in one of n attempts by chance. */
typedef struct pen_portals_faults {
    uint64_t seed;
    uint32_t full_one_in;    /* the queue of a flow-controlled portal reports full */
    uint32_t drop_one_in;    /* a message to a portal without flow control is dropped */
    uint32_t disable_one_in; /* a flow-controlled portal becomes disabled */
    uint32_t fail_one_in;    /* the network does not deliver a message */
    uint32_t late_one_in;    /* a response is late ... */
    uint32_t late_ns;        /* ... by this time, and delays all behind it */
} pen_portals_faults;

/* Settings of a fabric. All users must have equal `processes` and `ring_len`. */
typedef struct pen_portals_config {
    uint32_t processes; /* 1-1024 */
    uint32_t ring_len;  /* bytes of each ring: a power of two, 4 KiB to 1 MiB */
    bool helper;        /* a thread makes progress when no call does */
    pen_portals_model model;
    pen_portals_faults faults;
} pen_portals_config;

enum { PEN_PORTALS_PROCESSES_MAX = 1024, PEN_PORTALS_NID = 1 };

/* The variables for delays and faults, as they are read. A table of variables has these rows for a
 * struct `config` with a pen_portals_costs `member`. */
typedef struct pen_portals_costs {
    double latency_s, step_s, register_s, page_s, late_s;
    uint64_t bandwidth;
    int64_t seed, full, drop, disable, fail, late;
} pen_portals_costs;

#define PEN_PORTALS_COST_KNOB(config, member, field, NAME, TYPE, FALLBACK, SUMMARY) \
    { "PENSTOCK_PORTALS_" NAME, TYPE, FALLBACK, offsetof(config, member.field), SUMMARY },
#define PEN_PORTALS_COST_KNOBS(config, member)                                                    \
    PEN_PORTALS_COST_KNOB(config, member, latency_s, "LATENCY", PEN_KNOB_SECONDS, "0",            \
                          "Cost model: latency of a packet.")                                     \
    PEN_PORTALS_COST_KNOB(                                                                        \
        config, member, step_s, "STEP", PEN_KNOB_SECONDS, "0",                                    \
        "Cost model: further latency if more than 16 bytes of payload follow the header.")        \
    PEN_PORTALS_COST_KNOB(config, member, bandwidth, "BANDWIDTH", PEN_KNOB_BYTES, "0",            \
                          "Cost model: bytes per second that a process sends; 0: no limit.")      \
    PEN_PORTALS_COST_KNOB(config, member, register_s, "REGISTER", PEN_KNOB_SECONDS, "0",          \
                          "Cost model: time to register memory (descriptors and entries) ...")    \
    PEN_PORTALS_COST_KNOB(config, member, page_s, "REGISTER_PAGE", PEN_KNOB_SECONDS, "0",         \
                          "Cost model: ... and for each of its pages.")                           \
    PEN_PORTALS_COST_KNOB(config, member, seed, "FAULT_SEED", PEN_KNOB_INT, "1",                  \
                          "For tests: seed of the random faults below.")                          \
    PEN_PORTALS_COST_KNOB(                                                                        \
        config, member, full, "FAULT_FULL", PEN_KNOB_INT, "0",                                    \
        "For tests: report a full event queue once every N messages with flow control.")          \
    PEN_PORTALS_COST_KNOB(config, member, drop, "FAULT_DROP", PEN_KNOB_INT, "0",                  \
                          "For tests: drop one of every N messages without flow control.")        \
    PEN_PORTALS_COST_KNOB(config, member, disable, "FAULT_DISABLE", PEN_KNOB_INT, "0",            \
                          "For tests: disable a portal with flow control once every N messages.") \
    PEN_PORTALS_COST_KNOB(config, member, fail, "FAULT_FAIL", PEN_KNOB_INT, "0",                  \
                          "For tests: let one of every N operations end as undeliverable.")       \
    PEN_PORTALS_COST_KNOB(config, member, late, "FAULT_LATE", PEN_KNOB_INT, "0",                  \
                          "For tests: delay one of every N acknowledgements and replies ...")     \
    PEN_PORTALS_COST_KNOB(config, member, late_s, "FAULT_LATE_TIME", PEN_KNOB_SECONDS, "1ms",     \
                          "For tests: ... by this time.")

typedef struct pen_portals pen_portals;

/* Default: one process, rings of 64 KiB, no helper, no delays, no faults. */
void pen_portals_config_default(pen_portals_config *config);

/* Sets delays and faults. Returns NULL, or the reason why they cannot be used, as one clause. */
const char *pen_portals_costs_apply(const pen_portals_costs *costs, pen_portals_config *config);

/* Returns NULL if the settings can be used, else the reason, as one clause. */
const char *pen_portals_config_check(const pen_portals_config *config);

/* Returns the bytes of a fabric, or 0 if the config does not pass. Untouched pages cost nothing. */
size_t pen_portals_len(const pen_portals_config *config);

/* Opens the card of process `process_i` of a fabric, whose memory is aligned to 64 bytes. Its pid
 * is process_i + 1. The process's place in the fabric is claimed by the first PtlNIInit.
 * ERR_ARGUMENT: the config does not pass, the memory is too small, or there is no such process.
 * ERR_PROTOCOL: the fabric was made with another config. ERR_MEMORY. */
pen_status pen_portals_open(void *memory, size_t len, const pen_portals_config *config,
                            uint32_t process_i, pen_portals **out);

/* Closes a card and everything in it. No thread may be inside a call on it. */
void pen_portals_close(pen_portals *card);

/* Makes the card the one of the calling thread's Ptl calls. NULL: the card of the process, which
 * PtlInit opens. */
void pen_portals_use(pen_portals *card);

/* Counts of a card's work. */
typedef struct pen_portals_counts {
    uint64_t packets_sent, packets_received, bytes_sent;
    uint64_t waited;      /* messages that waited for room in a ring */
    uint64_t matched;     /* messages accepted */
    uint64_t refused;     /* messages refused, for any reason */
    uint64_t overwritten; /* events lost in full queues */
    uint64_t disabled;    /* portals disabled by flow control */
    uint64_t lost_peers;  /* peers that ended or wrote nonsense while something was under way */
    uint64_t faults;      /* faults that were put in */
} pen_portals_counts;

void pen_portals_count(pen_portals *card, pen_portals_counts *out);

#endif
