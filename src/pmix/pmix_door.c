/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_door.c: implements pmix_door.h with one message each way: ticket and rank, then the
 * arena. */
#include "pmix/pmix_door.h"

#include "os/os.h"
#include "pmix/pmix_hello.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_BEGIN "penstock-"
#define SHY_NS     (UINT64_C(1) * 1000000000) /* time for a client to send its ticket */
#define AGAIN_MS   5                          /* time between tries at a full backlog */

typedef struct knock {
    uint32_t rank;
    uint8_t ticket[PEN_PMIX_TICKET_LEN];
} knock;

static socklen_t address_of(const uint8_t *door, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    char *name = out->sun_path + 1; /* a first byte of 0 makes the name abstract */
    size_t len = sizeof(NAME_BEGIN) - 1;
    memcpy(name, NAME_BEGIN, sizeof(NAME_BEGIN));
    for (size_t i = 0; i < PEN_PMIX_DOOR_LEN; i++) {
        name[len++] = "0123456789abcdef"[door[i] >> 4];
        name[len++] = "0123456789abcdef"[door[i] & 15];
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static int wait_ms(uint64_t until_ns)
{
    uint64_t now_ns = pen_now_ns();
    if (now_ns >= until_ns)
        return 0;
    uint64_t ms = (until_ns - now_ns) / 1000000 + 1;
    return ms < 3600000 ? (int)ms : 3600000;
}

/* Waits until fd is readable. Returns false with errno ETIMEDOUT if it is not readable in time. */
static bool await(int fd, uint64_t until_ns)
{
    struct pollfd wanted = { .fd = fd, .events = POLLIN };
    int ready;
    do {
        ready = poll(&wanted, 1, wait_ms(until_ns));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0;
}

static bool is_of_our_user(int fd)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid();
}

/* Closes fd, keeps errno and returns -1. */
static int failed(int fd)
{
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

int pen_pmix_door_open(const uint8_t *door, uint32_t guests)
{
    struct sockaddr_un address;
    socklen_t len = address_of(door, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, len) == 0 &&
        listen(fd, (int)guests) == 0)
        return fd;
    return failed(fd);
}

/* ---- the first rank -------------------------------------------------------------------------- */

/* Compares in constant time, so that timing tells nothing about a ticket. */
static bool same(const uint8_t *a, const uint8_t *b, size_t len)
{
    volatile uint8_t differs = 0;
    for (size_t i = 0; i < len; i++)
        differs = (uint8_t)(differs | (a[i] ^ b[i]));
    return differs == 0;
}

static bool give(int fd, const pen_pmix_gift *gift)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    uint64_t head_len = gift->head_len;
    struct iovec part = { &head_len, sizeof(head_len) };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &gift->arena_fd, sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(head_len);
}

/* Checks the client's user, ticket and rank. Returns false if it is not a rank of this block. */
static bool admit(int fd, const uint8_t *ticket, uint32_t first, uint32_t count, uint32_t *rank)
{
    knock said;
    if (!is_of_our_user(fd) || !await(fd, pen_now_ns() + SHY_NS) ||
        recv(fd, &said, sizeof(said), MSG_DONTWAIT | MSG_TRUNC) != (ssize_t)sizeof(said))
        return false;
    bool is_ours = same(said.ticket, ticket, sizeof(said.ticket)) && said.rank > first &&
                   said.rank - first < count;
    explicit_bzero(&said.ticket, sizeof(said.ticket));
    *rank = said.rank;
    return is_ours;
}

int pen_pmix_door_serve(int listener, const uint8_t *ticket, uint32_t first, uint32_t count,
                        const pen_pmix_gift *gift, uint64_t until_ns, uint32_t *rank)
{
    while (await(listener, until_ns)) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            return -1;
        if (fd < 0)
            continue;
        if (admit(fd, ticket, first, count, rank) && give(fd, gift))
            return fd;
        close(fd);
    }
    return -1;
}

/* ---- a rank that fetches the arena ----------------------------------------------------------- */

static bool take(int fd, pen_pmix_gift *gift)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = { &gift->head_len, sizeof(gift->head_len) };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *rights = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (rights == NULL || rights->cmsg_type != SCM_RIGHTS ||
        rights->cmsg_len != CMSG_LEN(sizeof(int))) {
        errno = got == 0 ? ECONNRESET : got > 0 ? EPROTO : errno;
        return false;
    }
    memcpy(&gift->arena_fd, CMSG_DATA(rights), sizeof(int));
    return true;
}

/* Connects to the door, which was opened before its name was published. Tries again while the
 * backlog is full. */
static bool reach(int fd, const uint8_t *door, uint64_t until_ns)
{
    struct sockaddr_un address;
    socklen_t len = address_of(door, &address);
    while (connect(fd, (const struct sockaddr *)&address, len) != 0) {
        if ((errno != EAGAIN && errno != EINTR) || pen_now_ns() >= until_ns)
            return false;
        (void)poll(NULL, 0, AGAIN_MS);
    }
    if (is_of_our_user(fd))
        return true;
    errno = EACCES;
    return false;
}

int pen_pmix_door_enter(const uint8_t *door, const uint8_t *ticket, uint32_t rank,
                        uint64_t until_ns, pen_pmix_gift *gift)
{
    knock say = { .rank = rank };
    memcpy(say.ticket, ticket, sizeof(say.ticket));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool in = fd >= 0 && reach(fd, door, until_ns) &&
              send(fd, &say, sizeof(say), MSG_NOSIGNAL) == (ssize_t)sizeof(say) &&
              await(fd, until_ns) && take(fd, gift);
    explicit_bzero(&say, sizeof(say));
    return in ? fd : failed(fd);
}
