/* SPDX-License-Identifier: BSD-3-Clause */
/* raw_udp.h: the kernel's UDP between two ranks of this host, without the library: connected
 * sockets, receivers that spin. Side 0 begins, side 1 answers; both are called with the same number
 * of rounds. A window that the receiver renews keeps the kernel from dropping anything, so nothing
 * is ever sent twice. */
#ifndef BENCH_RAW_UDP_H
#define BENCH_RAW_UDP_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    RAW_UDP_LEN = 64,
    RAW_UDP_BATCH = 32,          /* datagrams that one call receives */
    RAW_UDP_WINDOW = 512,        /* short ones on their way */
    RAW_UDP_PIECE = 65000,       /* of a stream */
    RAW_UDP_PIECES_WINDOW = 16,  /* long ones on their way */
    RAW_UDP_BUFFER_LEN = 4 << 20 /* buffer in the kernel, of the library's size */
};

typedef struct raw_udp {
    int fd;
    unsigned side;
    /* Called at intervals while nothing comes: the last message of the library may have been lost,
     * and the peer waits for it before it begins. */
    void (*idle)(void);
} raw_udp;

static inline void raw_udp_spin(const raw_udp *pair, uint64_t *spins)
{
    if (++*spins % 4096 == 0)
        pair->idle();
}

static inline void raw_udp_fail(const char *what)
{
    fprintf(stderr, "perf: the yardstick over UDP: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Answers our port, in the network's order. */
static inline uint16_t raw_udp_open(raw_udp *pair, unsigned side)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t at_len = sizeof at;
    const int room = RAW_UDP_BUFFER_LEN;
    pair->side = side;
    pair->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (pair->fd < 0 || bind(pair->fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(pair->fd, (struct sockaddr *)&at, &at_len) != 0)
        raw_udp_fail("opening a socket");
    if (setsockopt(pair->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
        (void)setsockopt(pair->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (setsockopt(pair->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0)
        (void)setsockopt(pair->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    return at.sin_port;
}

static inline void raw_udp_connect(const raw_udp *pair, uint16_t port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = port,
                                    .sin_addr = { htonl(INADDR_LOOPBACK) } };
    if (connect(pair->fd, (const struct sockaddr *)&to, sizeof to) != 0)
        raw_udp_fail("connecting");
}

static inline void raw_udp_send(const raw_udp *pair, const void *bytes, size_t len)
{
    while (send(pair->fd, bytes, len, 0) < 0)
        if (errno != EAGAIN && errno != ENOBUFS)
            raw_udp_fail("sending");
}

static inline void raw_udp_receive(const raw_udp *pair, void *bytes, size_t len)
{
    uint64_t spins = 0;
    while (recv(pair->fd, bytes, len, MSG_DONTWAIT) < 0) {
        if (errno != EAGAIN)
            raw_udp_fail("receiving");
        raw_udp_spin(pair, &spins);
    }
}

static inline void raw_udp_echo(const raw_udp *pair, uint64_t rounds)
{
    unsigned char message[RAW_UDP_LEN] = { 0 };
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        if (pair->side == 0)
            raw_udp_send(pair, message, sizeof message);
        raw_udp_receive(pair, message, sizeof message);
        if (pair->side == 1)
            raw_udp_send(pair, message, sizeof message);
    }
}

/* Sends what each round is by send(); a message from the other side renews half a window. */
#define RAW_UDP_FLOOD(pair, rounds, window, send_one)                              \
    do {                                                                           \
        uint64_t room = (window), renewal, spins = 0;                              \
        for (uint64_t round_i = 0; round_i < (rounds); round_i++, room--) {        \
            while (room == 0 || (room <= (window) / 2 && round_i % 8 == 0)) {      \
                if (recv((pair)->fd, &renewal, sizeof renewal, MSG_DONTWAIT) >= 0) \
                    room += (window) / 2;                                          \
                else if (room != 0)                                                \
                    break;                                                         \
                else                                                               \
                    raw_udp_spin((pair), &spins);                                  \
            }                                                                      \
            send_one;                                                              \
        }                                                                          \
        do                                                                         \
            raw_udp_receive((pair), &renewal, sizeof renewal);                     \
        while (renewal != (rounds));                                               \
    } while (0)

static inline void raw_udp_renew(const raw_udp *pair, uint64_t got, uint64_t more, uint64_t rounds,
                                 uint64_t every)
{
    const uint64_t now = got + more;
    if (now / every != got / every || now == rounds)
        raw_udp_send(pair, &now, sizeof now);
}

static inline void raw_udp_flood_receive(const raw_udp *pair, uint64_t rounds)
{
    static unsigned char bytes[RAW_UDP_BATCH][RAW_UDP_LEN];
    struct mmsghdr messages[RAW_UDP_BATCH];
    struct iovec parts[RAW_UDP_BATCH];
    memset(messages, 0, sizeof messages);
    for (unsigned i = 0; i < RAW_UDP_BATCH; i++) {
        parts[i] = (struct iovec){ bytes[i], RAW_UDP_LEN };
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    for (uint64_t got = 0, spins = 0; got < rounds;) {
        const int more = recvmmsg(pair->fd, messages, RAW_UDP_BATCH, MSG_DONTWAIT, NULL);
        if (more <= 0) {
            raw_udp_spin(pair, &spins);
            continue;
        }
        raw_udp_renew(pair, got, (uint64_t)more, rounds, RAW_UDP_WINDOW / 2);
        got += (uint64_t)more;
    }
}

static inline void raw_udp_flood(const raw_udp *pair, uint64_t rounds)
{
    const unsigned char message[RAW_UDP_LEN] = { 0 };
    if (pair->side == 0)
        RAW_UDP_FLOOD(pair, rounds, RAW_UDP_WINDOW, raw_udp_send(pair, message, sizeof message));
    else
        raw_udp_flood_receive(pair, rounds);
}

/* Rounds of len bytes, as pieces one after another, received into place. */
static inline void raw_udp_stream(const raw_udp *pair, uint64_t rounds, size_t len,
                                  unsigned char *bulk)
{
    const uint64_t each = (len + RAW_UDP_PIECE - 1) / RAW_UDP_PIECE, pieces = rounds * each;
    const size_t piece = (len + each - 1) / each;
    if (pair->side == 0) {
        RAW_UDP_FLOOD(pair, pieces, RAW_UDP_PIECES_WINDOW,
                      raw_udp_send(pair, bulk + round_i % each * piece, piece));
        return;
    }
    for (uint64_t got = 0; got < pieces; got++) {
        raw_udp_receive(pair, bulk + got % each * piece, piece);
        raw_udp_renew(pair, got, 1, pieces, RAW_UDP_PIECES_WINDOW / 2);
    }
}

#endif
