/* SPDX-License-Identifier: BSD-3-Clause */
/* velo2.h: VELO, small messages into another endpoint's mailbox: the interface of the user library
 * of an EXTOLL network card, second revision. The text is the project's own; names, arguments,
 * return codes and the layout of words are the vendor's. The library is independent of its users.
 * card.h describes the replacement of the driver. docs/conduits/extoll-device.md describes the
 * guarantees of the device and its possible faults.
 *
 * A port is an endpoint: an address (node, VPID) and one mailbox, a ring of slots that all ports
 * send to. A message is one packet of at most velo2_port_max_len bytes and takes one slot. Packets
 * from one port to another arrive once, in the order in which they were sent. If a mailbox is
 * full, velo2_send waits or returns VELO2_RET_TRY_AGAIN, as the card is set.
 *
 * Receiving has four steps with a call each: look at the packet at the read pointer (velo2_check),
 * copy it (velo2_recv_payload), step over it (velo2_recv_complete), and commit the read pointer to
 * the card (velo2_recv_commit). Only the commit frees slots; it should be rare. velo2_recv and
 * velo2_probe_recv do all four steps, and commit once every commit_period slots.
 *
 * Threads: the calls that send by one port must exclude each other, and so must the calls that
 * receive at it; one thread may send while another thread receives. Different ports are
 * independent. */
#ifndef PEN_SOFTNIC_EXTOLL_VELO2_H
#define PEN_SOFTNIC_EXTOLL_VELO2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum velo2_ret {
    VELO2_RET_SUCCESS = 0,
    VELO2_RET_INV_MSG,      /* too long, or the slot has contents that no card writes */
    VELO2_RET_ERROR,        /* the port or connection is not open */
    VELO2_RET_NO_MSG,       /* no packet has arrived */
    VELO2_RET_NO_MATCH,     /* the packet is of another message type */
    VELO2_RET_ERR_FDOPEN,   /* no card, or no free VPID */
    VELO2_RET_ERR_MMAP,     /* no memory */
    VELO2_RET_INVALID_MBOX, /* no port has that VPID open */
    VELO2_RET_INVALID_NODE, /* the network does not have the node */
    VELO2_RET_TRY_AGAIN,    /* the mailbox is full: nothing was sent */
    VELO2_RET_INV_MTT,      /* a message type above 3 */
} velo2_ret_t;

/* The most bytes of a message with slots of 64 and of 128 bytes. */
#define VELO2_MAX_MSG_SIZE_64 56
#define VELO2_MAX_MSG_SIZE    120

#define VELO2_VPIDS_MAX       256
#define VELO2_NODES_MAX       0xfffe

/* An address: node 0-15, VPID 16-25, bit 31 multicast (which this card does not have). */
#define VELO2_ADDRESS(node, vpid) ((uint32_t)(node) | (uint32_t)(vpid) << 16)
#define VELO2_ADDRESS_NODE(raw)   ((uint16_t)(raw))
#define VELO2_ADDRESS_VPID(raw)   ((uint16_t)((raw) >> 16 & 0x3ff))

/* The header word of a packet that is sent: address 0-31, message type 32-33, interrupt request 34,
 * tag 40-47, length 48-54. */
#define VELO2_HEADER(raw, mtt, tag, len) \
    ((uint64_t)(raw) | (uint64_t)(mtt) << 32 | (uint64_t)(tag) << 40 | (uint64_t)(len) << 48)

/* The status word of a packet that has arrived: source address 0-25, message type 32-33, end of
 * message 36, error 37, tag 40-47, length 48-54. Bits 38 and 55-63 are this card's own: the packet
 * arrives late; the ring's lap, which tells the packet from the last one in its slot. */
#define VELO2_STATUS_SOURCE(status) ((uint32_t)((status) & 0x3ffffff))
#define VELO2_STATUS_MTT(status)    ((uint8_t)((status) >> 32 & 3))
#define VELO2_STATUS_EOM            (UINT64_C(1) << 36)
#define VELO2_STATUS_ERROR          (UINT64_C(1) << 37)
#define VELO2_STATUS_LATE           (UINT64_C(1) << 38)
#define VELO2_STATUS_TAG(status)    ((uint8_t)((status) >> 40))
#define VELO2_STATUS_LEN(status)    ((uint32_t)((status) >> 48 & 0x7f))
#define VELO2_STATUS_LAP(status)    ((status) >> 55)

/* Receives any message type. */
#define VELO2_MTT_ANY 0xff

/* The location of a mailbox. */
typedef struct velo2_mailbox {
    struct velo_box *box; /* NULL: nowhere */
    unsigned char *slots;
    uint64_t *due; /* arrival times of the packets that are late */
} velo2_mailbox_t;

/* Fields are private to the library. */
typedef struct velo2_port {
    struct pen_card *card; /* NULL: not open */
    velo2_mailbox_t mailbox;
    struct velo_counters *counters;
    uint32_t raw; /* own address */
    uint32_t slot_len, max_len, slot_count;
    uint32_t mask, shift; /* for slot numbers in a ring; for its laps */
    /* Fields of the receiving thread. */
    const unsigned char *word; /* the next status word to read */
    uint64_t lap;              /* the lap that it must have */
    uint64_t status;           /* status word of the packet that was found */
    uint64_t read, committed;
    uint32_t period; /* slots between lazy commits */
    /* Fields of the sending thread. */
    bool is_timed, may_stall;
    uint32_t full_one_in;
    uint64_t wire_free, random;
} velo2_port_t;

typedef struct velo2_connection {
    union {
        uint32_t raw;
    } dest;
    velo2_port_t *port; /* NULL: not connected */
    velo2_mailbox_t mailbox;
    void *state_map; /* unused: the card's state of packets under way */
} velo2_connection_t;

/* Returns the lap of a slot, 9 bits. A ring begins with lap 1, so that zeroed memory is not a
 * packet. */
static inline uint64_t velo2_lap(const velo2_port_t *port, uint64_t slot_i)
{
    return ((slot_i >> port->shift) + 1) & 0x1ff;
}

/* Called after the read pointer moved. */
static inline void velo2_look_at(velo2_port_t *port)
{
    size_t place = (uint32_t)port->read & port->mask;
    port->word = port->mailbox.slots + place * port->slot_len + port->max_len;
    port->lap = velo2_lap(port, port->read);
}

/* Copies by pairs of words: for short messages a call of memcpy takes as long as the copy. */
static inline void velo2_copy(void *to, const void *from, size_t len)
{
    unsigned char *out = (unsigned char *)to;
    const unsigned char *in = (const unsigned char *)from;
    uint64_t words[2];
    for (; len >= sizeof(words); len -= sizeof(words)) {
        memcpy(words, in, sizeof(words));
        memcpy(out, words, sizeof(words));
        out += sizeof(words);
        in += sizeof(words);
    }
    if (len >= sizeof(words[0])) {
        memcpy(words, in, sizeof(words[0]));
        memcpy(out, words, sizeof(words[0]));
        out += sizeof(words[0]);
        in += sizeof(words[0]);
        len -= sizeof(words[0]);
    }
    for (; len > 0; len--)
        *out++ = *in++;
}

/* Opens a free VPID of the card that the calling thread uses (pen_card_use). */
velo2_ret_t velo2_open(velo2_port_t *port);
velo2_ret_t velo2_close(velo2_port_t *port);
uint16_t velo2_get_nodeid(const velo2_port_t *port);
uint16_t velo2_get_vpid(const velo2_port_t *port);

/* Returns the most bytes of a message: 56 or 120. */
size_t velo2_port_max_len(const velo2_port_t *port);

/* Connects locally: no packet is sent, and the peer need not exist yet. The connection refers to
 * the port, which must not move. */
velo2_ret_t velo2_connect(velo2_port_t *port, velo2_connection_t *connection, uint16_t node,
                          uint16_t vpid);
velo2_ret_t velo2_disconnect(velo2_port_t *port, velo2_connection_t *connection);

/* Sends one message. The buffer is free when the call returns. INVALID_MBOX: no port is open
 * there. */
velo2_ret_t velo2_send(velo2_connection_t *connection, const void *buf, size_t len, uint8_t tag,
                       uint8_t mtt);

/* Sends one message of hdr_quadwords 8-byte words of hdr followed by the len bytes of buf. */
velo2_ret_t velo2_send_header(velo2_connection_t *connection, const uint64_t *hdr,
                              size_t hdr_quadwords, const void *buf, size_t len, uint8_t tag,
                              uint8_t mtt);

/* Returns whether a packet would find room now. Makes no system call and claims no slot. */
velo2_ret_t velo2_send_check(const velo2_connection_t *connection);

/* ---- receiving in steps ---- */

/* Looks at the packet at the read pointer: SUCCESS, NO_MSG, or INV_MSG, which the caller must step
 * over. Takes one load if no packet has arrived. Outputs may be NULL. */
static inline velo2_ret_t velo2_check(velo2_port_t *port, uint32_t *srcid, size_t *len,
                                      uint8_t *mtt, uint8_t *tag);

/* Returns whether no packet has arrived, with that one load. */
static inline bool velo2_is_empty(const velo2_port_t *port);

/* Copies len bytes, from offset on, of the packet that velo2_check has just found. INV_MSG: the
 * packet is shorter. */
static inline velo2_ret_t velo2_recv_payload(const velo2_port_t *port, void *buf, size_t offset,
                                             size_t len);

/* Returns the packet in the mailbox itself, which is valid until its slot is committed. Its
 * sender's process could still change it, so copy data before checking it. */
static inline const void *velo2_recv_peek(const velo2_port_t *port);

/* Steps over the packet. Returns the number of uncommitted slots. */
static inline uint32_t velo2_recv_complete(velo2_port_t *port);

/* Frees the slots of all packets that were stepped over. */
velo2_ret_t velo2_recv_commit(velo2_port_t *port);

/* ---- receiving at once ---- */

/* Waits for the next message. mtt: a message type, or VELO2_MTT_ANY. NO_MATCH: the next message is
 * of another type, and stays. A message longer than maxlen is cut; *mlen is its true length. */
velo2_ret_t velo2_recv(velo2_port_t *port, void *buf, size_t maxlen, size_t *mlen, uint32_t *srcid,
                       uint8_t *tag, uint8_t mtt);

/* Receives without waiting (NO_MSG), and accepts any type. */
velo2_ret_t velo2_probe_recv(velo2_port_t *port, void *buf, size_t maxlen, size_t *mlen,
                             uint32_t *srcid, uint8_t *tag, uint8_t *mtt);

/* Returns the name of a return code. */
const char *velo2_strerror(velo2_ret_t code);

/* ---- inline: receiving is a few loads from memory that the card writes ---- */

/* Slow path for the calls below: returns whether a late packet has arrived by now; notes a packet
 * that no card can have written. */
bool velo2_is_due(const velo2_port_t *port);
void velo2_malformed(velo2_port_t *port);

static inline uint64_t velo2_status(const velo2_port_t *port)
{
    /* acquire: pairs with the release of velo2_send, and covers the slot */
    return __atomic_load_n((const uint64_t *)(const void *)port->word, __ATOMIC_ACQUIRE);
}

static inline bool velo2_is_empty(const velo2_port_t *port)
{
    return VELO2_STATUS_LAP(velo2_status(port)) != port->lap;
}

static inline velo2_ret_t velo2_check(velo2_port_t *port, uint32_t *srcid, size_t *len,
                                      uint8_t *mtt, uint8_t *tag)
{
    uint64_t status = velo2_status(port);
    if (VELO2_STATUS_LAP(status) != port->lap)
        return VELO2_RET_NO_MSG;
    if ((status & VELO2_STATUS_LATE) != 0 && !velo2_is_due(port))
        return VELO2_RET_NO_MSG;
    if (VELO2_STATUS_LEN(status) > port->max_len ||
        (status & (VELO2_STATUS_EOM | VELO2_STATUS_ERROR)) != VELO2_STATUS_EOM) {
        velo2_malformed(port);
        return VELO2_RET_INV_MSG;
    }
    port->status = status;
    if (srcid != NULL)
        *srcid = VELO2_STATUS_SOURCE(status);
    if (len != NULL)
        *len = VELO2_STATUS_LEN(status);
    if (mtt != NULL)
        *mtt = VELO2_STATUS_MTT(status);
    if (tag != NULL)
        *tag = VELO2_STATUS_TAG(status);
    return VELO2_RET_SUCCESS;
}

static inline const void *velo2_recv_peek(const velo2_port_t *port)
{
    return port->word - ((VELO2_STATUS_LEN(port->status) + 7) & ~7U);
}

static inline velo2_ret_t velo2_recv_payload(const velo2_port_t *port, void *buf, size_t offset,
                                             size_t len)
{
    size_t whole_len = VELO2_STATUS_LEN(port->status);
    if (offset > whole_len || len > whole_len - offset)
        return VELO2_RET_INV_MSG;
    velo2_copy(buf, (const unsigned char *)velo2_recv_peek(port) + offset, len);
    return VELO2_RET_SUCCESS;
}

static inline uint32_t velo2_recv_complete(velo2_port_t *port)
{
    port->read++;
    port->status = 0;
    velo2_look_at(port);
    return (uint32_t)(port->read - port->committed);
}

#endif
