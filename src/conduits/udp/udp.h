/* SPDX-License-Identifier: BSD-3-Clause */
/* udp.h: what the files of the udp conduit share.
 *
 * All that comes for a rank comes through one socket, which is polled by receiving from it; who
 * sent it is decided by the seal, never by an address. Peers that are sent to often have a
 * connected socket of their own, for sending only: that spares the kernel the look at the route.
 *
 * Frames go out in bundles. Outside of poll a bundle is sent as soon as it has its frame, unless
 * that may wait for company (pen_link.may_gather): then when it is full, or the next poll begins.
 * What handlers post while we poll is kept until that poll ends, so that the answers to what came
 * together leave together. Long bodies that need no MAC go alone, from where they are.
 *
 * Locks: what receives is under the engine's poll lock. What sends is under send_lock, since poll
 * sends as well; it is never held while a frame is delivered. */
#ifndef PEN_CONDUITS_UDP_UDP_H
#define PEN_CONDUITS_UDP_UDP_H

#include "conduit/conduit.h"
#include "conduits/udp/datagram.h"
#include "link/lanes.h"
#include "os/lock.h"
#include "seal/seal.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    UDP_BATCH = 16,          /* messages that one system call receives; a power of two */
    UDP_BATCH_LONG = 2,      /* the same while they are long: what is copied on is in the cache */
    UDP_RECEIVES_MAX = 4,    /* such calls in one poll */
    UDP_BUFFER_LEN = 65536,  /* of one message; several datagrams where the kernel joins them */
    UDP_BUNDLES = 8,         /* peers for which frames are kept until the poll ends */
    UDP_BUNDLE_LEN = 8192,   /* of a datagram that is kept for more to come */
    UDP_BULK_LEN = 16384,    /* bodies from this length on travel alone */
    UDP_TRAIN_MAX = 64,      /* datagrams that the kernel cuts from one message */
    UDP_HOT_MAX = 256,       /* connected sockets */
    UDP_HOT_AFTER = 32,      /* datagrams to a peer before it is given one */
    UDP_KEPT_SPARE = 1 << 20 /* bytes of frames kept for a later poll, beside what was granted */
};

typedef struct udp_config {
    const char *address, *worker_ip, *security;
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
    uint16_t hot;  /* its connected socket, 1 up; 0: none */
    uint16_t sent; /* datagrams sent to it through the shared socket, up to UDP_HOT_AFTER */
} udp_peer;

_Static_assert(sizeof(udp_peer) <= 64, "an idle peer is small");

typedef struct udp_hot {
    int fd;
    bool used; /* since somebody last looked for a place */
    pen_peer peer;
} udp_hot;

/* Datagrams for one peer: sealed ones of one length, and behind them the one that is being made. */
typedef struct udp_bundle {
    uint8_t *bytes;     /* UDP_BUFFER_LEN of them */
    size_t train_len;   /* of the sealed ones */
    size_t segment_len; /* of each of them */
    size_t open_len;    /* header and frames of the one being made; 0: there is none */
    pen_peer to;
    unsigned segments; /* sealed ones */
} udp_bundle;

typedef struct udp_receiver { /* guarded by the poll lock */
    uint8_t *buffers;         /* UDP_BATCH of UDP_BUFFER_LEN, and one to align a datagram in */
    struct mmsghdr *messages;
    unsigned message_count, message_i; /* received last, and the one we are at */
    unsigned batch;                    /* messages that the next call asks for */
    size_t message_off;                /* where its next datagram begins */
    bool drained;                      /* the last call found less than it could have taken */
    uint8_t *datagram;                 /* whose frames are being delivered; NULL: none */
    size_t frame_off, frame_end;
    pen_peer from;
    pen_lanes kept; /* frames whose lane was not asked for */
    pen_counters *counters;
} udp_receiver;

typedef struct udp_link {
    pen_link base; /* first: the engine sees a pen_link */
    udp_config config;
    udp_expect us;
    pen_seal *seal; /* NULL until connected */
    pen_seal_mode mode;
    uint8_t salt[PEN_SEAL_SALT_LEN];
    const uint8_t *job_key;
    bool has_aes, joins, cuts; /* the processor; the kernel on receiving, and on sending */
    int fd;                    /* the shared socket */
    udp_sockaddr address;      /* where it is */
    size_t datagram_max, bundle_max;
    udp_receiver receiver;
    _Atomic uintptr_t poller; /* the thread that polls now; 0: none */
    _Atomic bool unsent;      /* bundles that the kernel had no room for */
    pen_counters own_counters;
    pen_lock send_lock; /* guards all below */
    udp_peer *peers;
    udp_hot *hot;
    unsigned hot_count, hot_next;
    udp_bundle bundles[UDP_BUNDLES];
    uint8_t *bundle_bytes;
    unsigned bundles_used;
    uint64_t send_failed;
    bool is_dead; /* the socket is none any more, and that was said */
} udp_link;

static inline udp_link *udp_of(pen_link *link) { return (udp_link *)(void *)link; }

/* A forked child of the rank: its seal is empty, and the sockets are the parent's. It neither sends
 * nor takes anything off them. */
static inline bool udp_is_orphan(const udp_link *link) { return !pen_seal_is_whole(link->seal); }

/* What a rank tells the others. */
typedef struct udp_address {
    uint32_t magic;
    uint16_t family, port; /* 4 or 6; in the network's order */
    uint8_t ip[16];
    uint32_t scope; /* of a link-local address */
    uint8_t mode, has_aes, zero[2];
    uint8_t salt[PEN_SEAL_SALT_LEN];
} udp_address;

/* address.c. Where to receive: the address of this host that the settings name, and the largest
 * packet its interface sends. Says itself why not. */
pen_status udp_address_choose(const pen_host *host, const udp_config *config, udp_sockaddr *out,
                              size_t *mtu_out);
void udp_address_pack(const udp_sockaddr *from, udp_address *out);
bool udp_address_unpack(const udp_address *from, udp_sockaddr *out);

/* socket.c */
pen_status udp_socket_open(udp_link *link, const udp_sockaddr *at);
void udp_socket_find_abilities(udp_link *link); /* once datagram_max is known */
void udp_socket_close(udp_link *link);
/* Sends len bytes, as datagrams of segment_len each if there are several. False: not now. What the
 * kernel will not send at all is lost, and counted. */
bool udp_socket_send(udp_link *link, pen_peer to, const void *bytes, size_t len,
                     size_t segment_len);

/* Ends the job if the error is of a socket that is none any more; any other is loss. */
void udp_socket_look(udp_link *link, const char *call, int error);

/* The same of one datagram in several parts. */
bool udp_socket_send_parts(udp_link *link, pen_peer to, struct iovec *parts, size_t part_count);

/* send.c */
pen_post udp_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op);
void udp_flush(udp_link *link); /* all bundles; takes send_lock */

/* receive.c */
pen_status udp_receiver_open(udp_link *link);
void udp_receiver_close(udp_link *link);
unsigned udp_poll(pen_link *base, unsigned lanes, unsigned budget);
extern const pen_wait_ops udp_wait;
extern const pen_due_ops udp_due;

#endif
