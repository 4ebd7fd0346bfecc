/* SPDX-License-Identifier: BSD-3-Clause */
/* udp.h: declarations that the files of the udp conduit share.
 *
 * A rank receives through one socket, and receiving from it is the poll. The seal proves who
 * sent a datagram; the address never does. Peers that are sent to often have a connected socket
 * of their own, for sending only: that spares the kernel the look-up of the route.
 *
 * Frames go out in bundles. Outside of poll a bundle is sent as soon as it has its frame. If the
 * frame may wait for more frames (pen_link.may_gather), the bundle is sent when it is full or
 * when the next poll begins. Frames that handlers post during a poll are kept until that poll
 * ends, so that the answers to messages that came together leave together. Long bodies that need
 * no MAC go alone, from their place, unless they may wait and a second one fits beside them: a
 * datagram less saves more than the copy costs.
 *
 * Locks: receiving is under the engine's poll lock. Sending is under send_lock, because poll
 * sends as well; send_lock is never held while a frame is delivered. */
#ifndef PEN_CONDUITS_UDP_UDP_H
#define PEN_CONDUITS_UDP_UDP_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/udp/datagram.h"
#include "diag/counters.h"
#include "link/lanes.h"
#include "os/lock.h"
#include "seal/seal.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    UDP_BATCH = 16, /* messages that one system call receives; a power of two */
    UDP_BATCH_LONG =
        2, /* messages per call while they are long: then a copied message is still in the cache */
    UDP_RECEIVES_MAX = 4,    /* receiving calls in one poll */
    UDP_BUFFER_LEN = 65536,  /* length of a message; several datagrams if the kernel joins them */
    UDP_BUNDLES = 8,         /* peers for which frames are kept until the poll ends */
    UDP_BULK_LEN = 16384,    /* bodies from this length on need not be copied into a bundle */
    UDP_TRAIN_MAX = 64,      /* datagrams that the kernel cuts from one message */
    UDP_HOT_MAX = 256,       /* connected sockets */
    UDP_HOT_AFTER = 32,      /* datagrams to a peer before it gets a connected socket */
    UDP_KEPT_SPARE = 1 << 20 /* bytes of frames kept for a later poll, beside the granted room */
};

typedef struct udp_config {
    const char *address, *worker_ip, *security, *crypto;
    uint64_t receive_len, receive_len_gasnet, datagram_len;
    int64_t port, hot;
    bool bundle, segment;
} udp_config;

typedef union udp_sockaddr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} udp_sockaddr;

static inline socklen_t udp_sockaddr_len(const udp_sockaddr *address)
{
    return address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;
}

typedef struct udp_peer {
    udp_sockaddr address;
    uint16_t hot;  /* number of its connected socket, from 1; 0 if it has no socket */
    uint16_t sent; /* datagrams sent to it through the shared socket, up to UDP_HOT_AFTER */
} udp_peer;

_Static_assert(sizeof(udp_peer) <= 64, "an idle peer is small");

typedef struct udp_hot {
    int fd;
    bool used; /* a datagram was sent since the last search for a place */
    pen_peer peer;
} udp_hot;

/* Datagrams for one peer: sealed ones of one length, and behind them the open one. */
typedef struct udp_bundle {
    uint8_t *bytes;     /* UDP_BUFFER_LEN bytes */
    size_t train_len;   /* length of all sealed datagrams */
    size_t segment_len; /* length of each sealed datagram */
    size_t open_len;    /* header and frames of the open datagram; 0 if no datagram is open */
    pen_peer to;
    unsigned segments; /* number of sealed datagrams */
} udp_bundle;

typedef struct udp_receiver { /* guarded by the poll lock */
    uint8_t *buffers; /* UDP_BATCH buffers of UDP_BUFFER_LEN, and one to align a datagram in */
    struct mmsghdr *messages;
    unsigned message_count,
        message_i;      /* messages received last, and the index of the current one */
    unsigned batch;     /* messages that the next call asks for */
    size_t message_off; /* where its next datagram begins */
    bool drained;       /* the last call returned less than it could */
    uint8_t *datagram;  /* datagram whose frames are being delivered, or NULL */
    size_t frame_off, frame_end;
    pen_peer from;
    pen_lanes kept; /* frames for whose lane the poll was not called */
    pen_counters *counters;
} udp_receiver;

typedef struct udp_link {
    pen_link base; /* first: the engine sees a pen_link */
    udp_config config;
    udp_expect us;
    pen_seal *seal; /* NULL until connected */
    pen_seal_mode mode;
    pen_seal_library library;
    uint8_t salt[PEN_SEAL_SALT_LEN];
    const uint8_t *job_key;
    bool has_aes, joins,
        cuts; /* abilities of the processor; of the kernel on receiving, and on sending */
    int fd;   /* the shared socket */
    udp_sockaddr address; /* its own address */
    size_t datagram_max;
    udp_receiver receiver;
    _Atomic uintptr_t poller; /* the thread that polls now, or 0 */
    _Atomic bool unsent;      /* some bundles wait for room in the kernel */
    pen_counters own_counters;
    pen_lock send_lock; /* guards all that follows */
    udp_peer *peers;
    udp_hot *hot;
    unsigned hot_count, hot_next;
    udp_bundle bundles[UDP_BUNDLES];
    uint8_t *bundle_bytes;
    unsigned bundles_used;
    uint64_t send_failed;
    bool is_dead; /* the descriptor is no longer a socket, and this was reported */
} udp_link;

static inline udp_link *udp_of(pen_link *link) { return (udp_link *)(void *)link; }

/* Returns true in a forked child of the rank: its seal is empty, and the sockets belong to the
 * parent. The child neither sends nor receives on them. */
static inline bool udp_is_orphan(const udp_link *link) { return !pen_seal_is_whole(link->seal); }

/* The address that a rank publishes to the job. */
#define UDP_ADDRESS_MAGIC                                                  \
    0x32445550u /* "PUD2"; a rank that speaks otherwise has another number \
                 */
typedef struct udp_address {
    uint32_t magic;
    uint16_t family, port; /* 4 or 6; in network byte order */
    uint8_t ip[16];
    uint32_t scope; /* scope of a link-local address */
    uint8_t mode, has_aes, zero[2];
    uint8_t salt[PEN_SEAL_SALT_LEN];
} udp_address;

/* address.c. Chooses where to receive: the address of this host that the settings name, and the
 * largest packet that its interface sends. On failure it logs the reason. */
pen_status udp_address_choose(const pen_host *host, const udp_config *config, udp_sockaddr *out,
                              size_t *mtu_out);
void udp_address_pack(const udp_sockaddr *from, udp_address *out);
bool udp_address_unpack(const udp_address *from, udp_sockaddr *out);

/* socket.c */
pen_status udp_socket_open(udp_link *link, const udp_sockaddr *at);
void udp_socket_find_abilities(udp_link *link); /* call it once datagram_max is known */
void udp_socket_close(udp_link *link);
/* Sends len bytes, as datagrams of segment_len each if there are several. Returns false if the
 * kernel has no room now. If the kernel refuses the data, they are lost, and counted. */
bool udp_socket_send(udp_link *link, pen_peer to, const void *bytes, size_t len,
                     size_t segment_len);

/* Ends the job if the error means that the descriptor is no longer a socket; any other error
 * counts as loss. */
void udp_socket_look(udp_link *link, const char *call, int error);

/* Sends one datagram from several parts; returns as udp_socket_send() does. */
bool udp_socket_send_parts(udp_link *link, pen_peer to, struct iovec *parts, size_t part_count);

/* udp_send.c */
pen_post udp_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op);
void udp_flush(udp_link *link); /* sends all bundles; takes send_lock */

/* udp_receive.c */
pen_status udp_receiver_open(udp_link *link);
void udp_receiver_close(udp_link *link);
unsigned udp_poll(pen_link *base, unsigned lanes, unsigned budget);
extern const pen_wait_ops udp_wait;
extern const pen_due_ops udp_due;

#endif
