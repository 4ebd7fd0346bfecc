/* SPDX-License-Identifier: BSD-3-Clause */
/* card.h: the software EXTOLL card: what driver, plugs and wires are to a real one. A fabric is one
 * piece of shared memory, zeroed at first, in which the mailboxes, notification queues and address
 * tables of all VPIDs of all nodes lie. A card is one process's view of it; there may be many in
 * one process. velo2.h and rma2.h open ports on the card that the calling thread uses.
 *
 * Real time: a packet is there as soon as it is written, unless a latency model or a fault delays
 * it. Nothing of the fabric is believed: an index or length read from it is bounded before its use,
 * so that whatever another process writes there, memory outside of the fabric, of regions that this
 * process has registered and of ranges told by pen_card_map is not touched. Other processes' memory
 * is reached through the kernel (process_vm_readv), which checks the address. */
#ifndef PEN_SOFTNIC_EXTOLL_CARD_H
#define PEN_SOFTNIC_EXTOLL_CARD_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a full mailbox does to a sender: it waits in velo2_send, or is told VELO2_RET_TRY_AGAIN. */
typedef enum pen_card_full { PEN_CARD_STALL, PEN_CARD_TRY_AGAIN } pen_card_full;

/* Waiting for what the first revision's hardware would take; all in nanoseconds. */
typedef struct pen_card_latency {
    bool on;
    uint32_t pio;       /* the processor's: writing a packet or a command */
    uint32_t transmit;  /* network card, sender's side */
    uint32_t serialise; /* a packet of 64 bytes on the wire */
    uint32_t hop;       /* router */
    uint32_t receive;   /* network card, receiver's side, up to memory */
    uint32_t poll;      /* the processor's: seeing it */
    uint32_t read;      /* RMA: reading the source */
    uint32_t notify;    /* RMA: writing a notification */
    uint32_t gap;       /* between two packets of a port at least */
} pen_card_latency;

/* Faults for tests. Each `one_in`: 0 never, 1 always, n once in n times by chance. */
typedef struct pen_card_faults {
    uint64_t seed;
    uint32_t velo_delay_ns; /* a packet comes up to so much later (all behind it wait) */
    uint32_t late_one_in;   /* an RMA command waits for some later call before its next fragment */
    uint32_t full_one_in;   /* a mailbox or notification queue with room says that it is full */
    uint32_t register_one_in; /* registration fails ... */
    bool register_mlock;      /* ... with RMA2_MLOCK_LIMIT, else RMA2_NO_MEM */
} pen_card_faults;

/* All users of a fabric have the same, faults and `full` apart. */
typedef struct pen_card_config {
    uint16_t node_first, node_count; /* nodes of this host; a VPID is one endpoint of a node */
    uint16_t vpids;                  /* of each node: 1-256, for VELO and for RMA */
    uint32_t slot_len;               /* 64 or 128 */
    uint32_t mailbox_slots;          /* of each VPID: 2 or more, any number */
    uint32_t commit_period;          /* slots; velo2_recv and velo2_probe_recv commit so seldom */
    uint32_t notifications;          /* of each VPID's queue: 2 or more, any number */
    uint32_t regions;                /* that a VPID can register: 1-4095 */
    uint32_t mtu;                    /* bytes of an RMA fragment, a multiple of 8 */
    pen_card_full full;
    pen_card_latency latency;
    pen_card_faults faults;
} pen_card_config;

typedef struct pen_card pen_card;

/* One node with one VPID, slots of 64 bytes, 32768 of them as the driver has, no latency. */
void pen_card_config_default(pen_card_config *config);

/* The first revision of the card: 970 ns from velo2_send to velo2_check between two nodes. */
pen_card_latency pen_card_latency_machine(void);

/* NULL: these can be used; else what is wrong, one clause. */
const char *pen_card_config_check(const pen_card_config *config);

/* Bytes of the fabric, for all nodes; pages that no endpoint uses are never touched. 0: the config
 * does not pass. */
size_t pen_card_len(const pen_card_config *config);

/* Plugs in. The memory is aligned to 64 bytes. ERR_ARGUMENT: the config does not pass, the memory
 * is too small, or the node is not one of it; ERR_PROTOCOL: the fabric was made with another
 * config. */
pen_status pen_card_open(void *memory, size_t len, const pen_card_config *config, uint16_t node,
                         pen_card **out);

/* Ports must be closed before. */
void pen_card_close(pen_card *card);

/* velo2_open and rma2_open of the calling thread use this card from now on. NULL: none. */
void pen_card_use(pen_card *card);

/* Memory that the RMA port (node, vpid) sees at `theirs` is seen by this process at `ours`: puts
 * and gets copy there, instead of through the kernel. Before ports are open. ERR_MEMORY,
 * ERR_ARGUMENT. */
pen_status pen_card_map(pen_card *card, uint16_t node, uint16_t vpid, uint64_t theirs, size_t len,
                        void *ours);

/* What the card's ports have done. */
typedef struct pen_card_counts {
    uint64_t packets_sent, packets_received, bytes_sent;
    uint64_t stalls;              /* packets that waited in velo2_send */
    uint64_t retries;             /* TRY_AGAIN that velo2_send answered */
    uint64_t commits;             /* read pointers told to the card */
    uint64_t malformed;           /* slots that held what no card writes */
    uint64_t commands, fragments; /* RMA */
    uint64_t notifications;       /* written by this card, to whatever port */
    uint64_t errors;              /* of them with an error */
    uint64_t queue_full;          /* a command could not go on: a notification queue was full */
    uint64_t copied_by_kernel, copied_directly; /* bytes */
} pen_card_counts;

void pen_card_count(const pen_card *card, pen_card_counts *out);

#endif
