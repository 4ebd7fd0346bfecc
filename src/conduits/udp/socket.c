/* SPDX-License-Identifier: BSD-3-Clause */
/* socket.c: the shared socket, the connected sockets of busy peers, and sending. */
#include "conduits/udp/udp.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

enum { SEND_BUFFER_LEN = 1 << 20, SEND_ATTEMPTS = 3 };

static pen_status complain(const udp_link *link, const char *what, const char *remedy)
{
    const pen_host *host = link->base.host;
    host->log(host->ctx, PEN_LOG_ERROR, "cannot open the udp conduit: %s: %s; %s", what,
              strerror(errno), remedy);
    return PEN_ERR_SYSTEM;
}

/* Sets a buffer's length. A privileged process gets it all; for other processes
 * net.core.rmem_max is the limit. */
static void set_buffer(int fd, int forced, int plain, uint64_t len)
{
    int value = len > INT32_MAX / 2 ? INT32_MAX / 2 : (int)len;
    if (setsockopt(fd, SOL_SOCKET, forced, &value, sizeof value) != 0)
        (void)setsockopt(fd, SOL_SOCKET, plain, &value, sizeof value);
}

static size_t receive_len_of(int fd)
{
    int value = 0;
    socklen_t len = sizeof value;
    return getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &len) == 0 && value > 0 ? (size_t)value
                                                                                 : 0;
}

void udp_socket_find_abilities(udp_link *link)
{
    int one = 1, none = 0;
    /* If no route cuts large messages, one large datagram does the same for less. */
    bool is_short = link->config.segment && link->datagram_max < UDP_BUFFER_LEN / 2;
    link->joins = is_short && setsockopt(link->fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one) == 0;
    link->cuts =
        is_short && setsockopt(link->fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof none) == 0;
}

pen_status udp_socket_open(udp_link *link, const udp_sockaddr *at)
{
    udp_sockaddr address = *at;
    uint16_t port =
        link->config.port != 0 ? (uint16_t)(link->config.port + link->base.self) : (uint16_t)0;
    if (address.any.sa_family == AF_INET)
        address.v4.sin_port = htons(port);
    else
        address.v6.sin6_port = htons(port);
    link->fd =
        socket(address.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
    if (link->fd < 0)
        return complain(link, "socket", "raise the limit of open files (ulimit -n)");
    if (bind(link->fd, &address.any, udp_sockaddr_len(&address)) != 0)
        return complain(link, "bind", "set PENSTOCK_UDP_PORT to other ports, or unset it");
    socklen_t len = sizeof link->address;
    if (getsockname(link->fd, &link->address.any, &len) != 0)
        return complain(link, "getsockname", "try again");
    uint64_t wanted =
        link->config.receive_len != 0 ? link->config.receive_len : link->config.receive_len_gasnet;
    set_buffer(link->fd, SO_RCVBUFFORCE, SO_RCVBUF, wanted);
    set_buffer(link->fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER_LEN);
    /* The kernel charges the memory that a datagram occupies, up to twice its length beside the
     * overhead. It allows twice the requested length, and reports that figure. */
    link->base.caps.inbox_len = receive_len_of(link->fd) / 8 * 3; /* the rest is for CONTROL */
    return PEN_OK;
}

void udp_socket_close(udp_link *link)
{
    for (unsigned i = 0; link->hot != NULL && i < link->hot_count; i++)
        (void)close(link->hot[i].fd);
    if (link->fd >= 0)
        (void)close(link->fd);
    link->hot_count = 0;
    link->fd = -1;
}

/* ---- connected sockets ----------------------------------------------------------------------- */

static int hot_connect(const udp_sockaddr *from, const udp_sockaddr *to)
{
    udp_sockaddr local = *from;
    int least = 1; /* these sockets only send */
    int fd = socket(to->any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
    if (fd < 0)
        return -1;
    if (local.any.sa_family == AF_INET)
        local.v4.sin_port = 0;
    else
        local.v6.sin6_port = 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
    set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER_LEN);
    if (bind(fd, &local.any, udp_sockaddr_len(&local)) == 0 &&
        connect(fd, &to->any, udp_sockaddr_len(to)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Finds a place for a connected socket: a new one, or one of a peer to which nothing was sent
 * for a round. */
static udp_hot *hot_place(udp_link *link)
{
    if (link->hot_count < (unsigned)link->config.hot)
        return &link->hot[link->hot_count];
    for (unsigned looked = 0; looked < link->hot_count; looked++) {
        udp_hot *hot = &link->hot[link->hot_next++ % link->hot_count];
        if (!hot->used)
            return hot;
        hot->used = false;
    }
    return NULL;
}

/* Gives the peer a connected socket. On failure the peer is still reached through the shared
 * one. */
static void hot_promote(udp_link *link, pen_peer to)
{
    udp_hot *hot = hot_place(link);
    link->peers[to].sent = 0;
    if (hot == NULL)
        return;
    int fd = hot_connect(&link->address, &link->peers[to].address);
    if (fd < 0)
        return;
    unsigned i = (unsigned)(hot - link->hot);
    if (i == link->hot_count) {
        link->hot_count++;
    } else {
        (void)close(hot->fd);
        link->peers[hot->peer].hot = 0;
    }
    *hot = (udp_hot){ .fd = fd, .used = true, .peer = to };
    link->peers[to].hot = (uint16_t)(i + 1);
}

/* ---- sending --------------------------------------------------------------------------------- */

typedef struct udp_way { /* the socket, and the destination if it is not connected */
    int fd;
    const udp_sockaddr *to; /* NULL if the socket is connected */
} udp_way;

static udp_way way_to(udp_link *link, pen_peer to)
{
    udp_peer *peer = &link->peers[to];
    if (peer->hot == 0 && link->config.hot != 0 && ++peer->sent >= UDP_HOT_AFTER)
        hot_promote(link, to);
    if (peer->hot == 0)
        return (udp_way){ link->fd, &peer->address };
    udp_hot *hot = &link->hot[peer->hot - 1];
    hot->used = true;
    return (udp_way){ hot->fd, NULL };
}

static ssize_t send_one(const udp_way *way, const void *bytes, size_t len)
{
    return way->to == NULL
               ? send(way->fd, bytes, len, 0)
               : sendto(way->fd, bytes, len, 0, &way->to->any, udp_sockaddr_len(way->to));
}

static ssize_t send_parts(const udp_way *way, struct iovec *parts, size_t part_count)
{
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = part_count };
    if (way->to != NULL) {
        message.msg_name = (void *)(uintptr_t)&way->to->any; /* the kernel only reads it */
        message.msg_namelen = udp_sockaddr_len(way->to);
    }
    return sendmsg(way->fd, &message, 0);
}

static ssize_t send_train(const udp_way *way, void *bytes, size_t len, size_t segment_len)
{
    uint16_t segment = (uint16_t)segment_len;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof segment)] = { 0 };
    struct iovec part = { bytes, len };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    if (way->to != NULL) {
        message.msg_name = (void *)(uintptr_t)&way->to->any; /* the kernel only reads it */
        message.msg_namelen = udp_sockaddr_len(way->to);
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof segment);
    memcpy(CMSG_DATA(header), &segment, sizeof segment);
    return sendmsg(way->fd, &message, 0);
}

/* Returns whether the error means that the descriptor is no longer a socket. All further errors
 * come from the network or from tables of this host, and a stranger who sends the right packet
 * can cause them. */
static bool is_dead(int error)
{
    return error == EBADF || error == ENOTSOCK || error == EDESTADDRREQ || error == EFAULT;
}

void udp_socket_look(udp_link *link, const char *call, int error)
{
    const pen_host *host = link->base.host;
    if (!is_dead(error) || link->is_dead)
        return;
    link->is_dead = true;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot go on over udp: %s: %s; the program has closed a descriptor that it did not "
              "open: it must not close the library's descriptors",
              call, strerror(error));
    host->peer_lost(host->ctx, PEN_PEER_ANY, PEN_ERR_SYSTEM);
}

/* Counts a datagram that could not be sent. Its sender repeats it, as after any loss. */
static void note_loss(udp_link *link, int error)
{
    link->send_failed++;
    udp_socket_look(link, "send", error);
}

static bool is_full(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM; }

/* Sends one datagram. Returns false only if there is no room now. If the network's answer to an
 * earlier datagram left an error at the socket, it is cleared and the send repeated. */
static bool send_datagram(udp_link *link, const udp_way *way, struct iovec *parts,
                          size_t part_count)
{
    for (unsigned attempt = 0; attempt < SEND_ATTEMPTS; attempt++) {
        if ((part_count == 1 ? send_one(way, parts->iov_base, parts->iov_len)
                             : send_parts(way, parts, part_count)) >= 0)
            return true;
        if (is_full(errno))
            return false;
    }
    note_loss(link, errno);
    return true;
}

bool udp_socket_send_parts(udp_link *link, pen_peer to, struct iovec *parts, size_t part_count)
{
    udp_way way = way_to(link, to);
    return send_datagram(link, &way, parts, part_count);
}

bool udp_socket_send(udp_link *link, pen_peer to, const void *bytes, size_t len, size_t segment_len)
{
    udp_way way = way_to(link, to);
    if (len > segment_len && link->cuts) {
        if (send_train(&way, (void *)(uintptr_t)bytes, len, segment_len) >= 0)
            return true;
        if (is_full(errno))
            return false;
        if (errno == EIO ||
            errno == EINVAL) /* the device makes no check sums, or the route became shorter */
            link->cuts = false;
    }
    for (size_t off = 0; off < len; off += segment_len) {
        size_t left = len - off;
        struct iovec part = { (uint8_t *)(uintptr_t)bytes + off, /* the kernel only reads it */
                              left < segment_len ? left : segment_len };
        if (send_datagram(link, &way, &part, 1))
            continue;
        if (off == 0)
            return false;
        note_loss(link, errno); /* half of them may have gone, and no datagram may go twice */
    }
    return true;
}
