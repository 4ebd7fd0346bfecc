/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_port.h: the state of an RMA port: its queue's read pointer, its regions, and the commands
 * that are not yet carried out. */
#ifndef PEN_SOFTNIC_EXTOLL_RMA_PORT_H
#define PEN_SOFTNIC_EXTOLL_RMA_PORT_H

#include "base/compiler.h"
#include "os/lock.h"
#include "softnic/extoll/fabric.h"

#include <stdbool.h>
#include <stdint.h>

/* An NLA: offset 0-39, row of the address table 40-51 (never 0), VPID 52-59. */
enum { RMA_NLA_ROW = 40, RMA_NLA_VPID = 52 };
#define RMA_OFFSET_MAX ((UINT64_C(1) << RMA_NLA_ROW) - 1)

/* Word 1 of a notification that arrives late. The bit is this card's own. */
#define RMA_NOTI_LATE (UINT64_C(1) << 31)

typedef struct rma_command {
    RMA2_Command command;
    uint32_t endpoint_i; /* the target */
    uint16_t node, vpid;
    uint8_t spec, modifier;
    uint8_t error;    /* unit that found an error; 0: no error so far */
    uint8_t notified; /* units that have written this fragment's notification */
    bool resolved, copied;
    uint32_t size, done; /* bytes; 1 if there is no data */
    RMA2_NLA local, remote;
    uint64_t value;      /* immediate data; word 0 of notifications without an address */
    unsigned char *ours; /* the local memory */
    uint64_t theirs;     /* the remote address */
    uint64_t due[3];     /* for requester, responder, completer */
    uint8_t class8, lock_unit;
    uint32_t lock_number;
    int32_t lock_cmp, lock_add;
} rma_command;

struct rma2_port_state {
    pen_card *card;
    fabric_rma *shared;
    fabric_row *rows; /* the rows that other processes read, and ... */
    fabric_row *own;  /* ... the private copy that is trusted; same rows */
    fabric_entry *queue;
    uint64_t *due;
    rma_counters *counters;
    uint32_t endpoint_i;
    uint16_t node, vpid;
    uint32_t noti_mask, noti_count;

    /* Fields of the thread that handles notifications. */
    PEN_CACHE_ALIGNED uint64_t read;
    uint64_t committed;
    uint32_t period;
    bool has_current;
    RMA2_Notification current;
    RMA2_Notification *aside; /* kept for rma2_noti_match */
    uint32_t aside_count;

    PEN_CACHE_ALIGNED pen_lock lock; /* guards the fields below */
    _Atomic uint32_t waiting;        /* commands; may be read without the lock */
    uint32_t first;
    uint64_t random, wire_free;
    rma_command *commands; /* a ring of RMA2_COMMANDS */

    pthread_mutex_t region_lock; /* guards the fields below */
    RMA2_Region *regions;
    uint32_t next_row;
    uint64_t region_random;
};

static inline bool rma_is_get(const rma_command *c)
{
    return c->command == RMA2_BT_GET || c->command == RMA2_QW_GET;
}

static inline bool rma_has_memory(const rma_command *c)
{
    return c->command != RMA2_NOTI_PUT && c->command != RMA2_LOCK;
}

/* Whether the command's target answers its origin. */
static inline bool rma_answers(const rma_command *c)
{
    return rma_is_get(c) || c->command == RMA2_LOCK;
}

/* Continues waiting commands, in order. */
void rma_go_on(RMA2_Port port);

static inline void rma_go_on_if_any_waits(RMA2_Port port)
{
    /* relaxed: a hint; the lock orders the rest */
    if (pen_unlikely(atomic_load_explicit(&port->waiting, memory_order_relaxed) > 0))
        rma_go_on(port);
}

/* Carries a command out, or lets it wait. TRY_AGAIN: no room for another waiting command. */
RMA2_ERROR_CODE rma_submit(RMA2_Port port, rma_command *command);

/* Carries out one step of a command. Returns false if the command has to wait. */
bool rma_carry_out(RMA2_Port port, rma_command *command);

/* Computes when the command's notifications are due. Keeps the processor busy as long as posting
 * takes. */
void rma_time(RMA2_Port port, rma_command *command);

/* Resolves [nla, nla + size) in a table of the VPID. Returns false if the NLA is bad. */
bool rma_resolve(const RMA2_Port port, const fabric_row *rows, uint16_t vpid, RMA2_NLA nla,
                 uint32_t size, uint64_t *address);

void rma_drop_regions(RMA2_Port port);

/* ---- virtual time (virtual.c) ---- */

/* Charges the processor for posting a command. */
void rma_virtual_post(RMA2_Port port);

/* Sends a notification for `len` bytes of the command, and the bytes themselves on their way to
 * the completer. Returns false if the card has no room. */
bool rma_virtual_notify(RMA2_Port port, const rma_command *command, uint8_t unit, uint32_t len,
                        uint64_t word0, uint64_t word1);

/* If the completer of the command is not notified, sends the bytes without a notification. */
bool rma_virtual_notify_none(RMA2_Port port, rma_command *command, uint32_t len);

#endif
