/* SPDX-License-Identifier: BSD-3-Clause */
/* card.h: the software EXTOLL card. It replaces driver, plugs and wires of a real card. A fabric
 * is one piece of shared memory, zeroed at first, that holds the mailboxes, notification queues
 * and address tables of all VPIDs of all nodes. A card is one process's view of the fabric; a
 * process may have several cards. velo2.h and rma2.h open ports on the card that the calling
 * thread uses.
 *
 * Time is real, unless the config has a view of virtual time: a packet arrives as soon as it is
 * written, or when a latency model or a fault lets it. The card does not trust the fabric: it
 * bounds every index and length before use. So other processes' writes can make it touch only the
 * fabric, regions that this process registered, and ranges passed to pen_card_map. Other processes'
 * memory is reached through the kernel (process_vm_readv), which checks the address. */
#ifndef PEN_SOFTNIC_EXTOLL_CARD_H
#define PEN_SOFTNIC_EXTOLL_CARD_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a full mailbox stops a sender: velo2_send waits, or returns VELO2_RET_TRY_AGAIN. */
typedef enum pen_card_full { PEN_CARD_STALL, PEN_CARD_TRY_AGAIN } pen_card_full;

/* Delays that model the hardware of the first revision, in nanoseconds. */
typedef struct pen_card_latency {
    bool on;
    uint32_t pio;       /* processor: writing a packet or a command */
    uint32_t transmit;  /* network card, sender's side */
    uint32_t serialise; /* a packet of 64 bytes on the wire */
    uint32_t hop;       /* router */
    uint32_t receive;   /* network card, receiver's side, up to memory */
    uint32_t poll;      /* processor: noticing the packet */
    uint32_t read;      /* RMA: reading the source */
    uint32_t notify;    /* RMA: writing a notification */
    uint32_t gap;       /* least time between two packets of a port */
} pen_card_latency;

/* Faults for tests. one_in: 0 never, 1 always, n in one of n attempts by chance. */
typedef struct pen_card_faults {
    uint64_t seed;
    uint32_t velo_delay_ns; /* a packet is late by up to this time, and delays all behind it */
    uint32_t late_one_in;   /* an RMA command waits for some later call before its next fragment */
    uint32_t full_one_in;   /* a mailbox or notification queue with room reports full */
    uint32_t register_one_in; /* registration fails ... */
    bool register_mlock;      /* ... with RMA2_MLOCK_LIMIT, else RMA2_NO_MEM */
} pen_card_faults;

/* The settings of a fabric. All its users must have equal ones, except faults and `full`. */
struct pen_virtual;
typedef struct pen_card_config {
    uint16_t node_first, node_count; /* nodes of this host; a VPID is one endpoint of a node */
    uint16_t vpids;                  /* VPIDs of each node: 1-256, for VELO and for RMA */
    uint32_t slot_len;               /* 64 or 128 */
    uint32_t mailbox_slots;          /* slots of each VPID: 2 or more, any number */
    uint32_t commit_period;          /* slots between commits by velo2_recv and velo2_probe_recv */
    uint32_t notifications;          /* entries of each VPID's queue: 2 or more, any number */
    uint32_t regions;                /* regions that a VPID can register: 1-4095 */
    uint32_t mtu;                    /* bytes of an RMA fragment, a multiple of 8 */
    pen_card_full full;
    pen_card_latency latency;
    pen_card_faults faults;
    /* NULL: time is real, and packets arrive through the fabric. Otherwise this rank's view of
     * virtual time: packets go through its simulated network, with its machine's costs instead of
     * `latency`, and node n of the fabric is rank n. A node then has one VPID. */
    struct pen_virtual *virtual;
} pen_card_config;

typedef struct pen_card pen_card;

/* Default: one node with one VPID, 32768 slots of 64 bytes as the driver has, no latency. */
void pen_card_config_default(pen_card_config *config);

/* The first revision of the card: 970 ns from velo2_send to velo2_check between two nodes. */
pen_card_latency pen_card_latency_machine(void);

/* Returns NULL if the settings can be used, else the reason, as one clause. */
const char *pen_card_config_check(const pen_card_config *config);

/* Returns the bytes of the fabric for all nodes, or 0 if the config does not pass. Pages that no
 * endpoint uses are never touched. */
size_t pen_card_len(const pen_card_config *config);

/* Plugs a card in. The memory must be aligned to 64 bytes. ERR_ARGUMENT: the config does not pass,
 * the memory is too small, or the fabric does not have the node. ERR_PROTOCOL: the fabric was made
 * with another config. */
pen_status pen_card_open(void *memory, size_t len, const pen_card_config *config, uint16_t node,
                         pen_card **out);

/* Unplugs the card. All its ports must be closed before. */
void pen_card_close(pen_card *card);

/* Sets the card for velo2_open and rma2_open of the calling thread. NULL removes it. */
void pen_card_use(pen_card *card);

/* Declares that this process sees the memory of RMA port (node, vpid) at `theirs` under its own
 * address `ours`. Puts and gets then copy there instead of through the kernel. To be called before
 * ports are open. ERR_MEMORY, ERR_ARGUMENT. */
pen_status pen_card_map(pen_card *card, uint16_t node, uint16_t vpid, uint64_t theirs, size_t len,
                        void *ours);

/* Counts of the work of the card's ports. */
typedef struct pen_card_counts {
    uint64_t packets_sent, packets_received, bytes_sent;
    uint64_t stalls;              /* packets that waited in velo2_send */
    uint64_t retries;             /* TRY_AGAIN that velo2_send returned */
    uint64_t commits;             /* read pointers committed to the card */
    uint64_t malformed;           /* slots with contents that no card writes */
    uint64_t commands, fragments; /* RMA */
    uint64_t notifications;       /* notifications that this card wrote, to any port */
    uint64_t errors;              /* notifications with an error */
    uint64_t queue_full;          /* commands delayed by a full notification queue */
    uint64_t copied_by_kernel, copied_directly; /* bytes */
} pen_card_counts;

void pen_card_count(const pen_card *card, pen_card_counts *out);

#endif
