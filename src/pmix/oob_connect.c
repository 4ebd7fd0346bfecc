/* SPDX-License-Identifier: BSD-3-Clause */
/* oob_connect.c: makes the connections of a job: see oob.h.
 *
 * It is not known which of the centre's addresses leads to it from another host: an address may
 * belong to a network that both hosts have for themselves. So a block tries all addresses at the
 * same time, and takes the connection on which the centre proves itself. */
#include "pmix/oob_internal.h"

#include "base/status.h"
#include "os/os.h"
#include "seal/seal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define SHY_NS    (5 * SECOND_NS) /* time for a connection to prove itself */
#define NAME_NS   (2 * SECOND_NS) /* after which the name of the host is tried, too */

enum {
    TRIES_MAX = 24,
    STRANGERS_LEAST = 32,
    STRANGERS_EACH = 8, /* for each block, which may try several addresses */
    TICK_MS = 100,
    AGAIN_MS = 500, /* after all addresses have failed */
};

bool pen_oob_await(int fd, short events, uint64_t until_ns)
{
    struct pollfd wanted = { .fd = fd, .events = events };
    for (;;) {
        const uint64_t now_ns = pen_now_ns();
        if (now_ns >= until_ns)
            return false;
        const uint64_t ms = (until_ns - now_ns) / 1000000 + 1;
        const int ready = poll(&wanted, 1, ms < 60000 ? (int)ms : 60000);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static void make_prompt(int fd)
{
    const int on = 1; /* on failure messages are late, but arrive */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* ---- the centre's addresses ------------------------------------------------------------------ */

static bool is_listed(const struct ifaddrs *entry, bool loopback)
{
    if (entry->ifa_addr == NULL || (entry->ifa_flags & IFF_UP) == 0 ||
        ((entry->ifa_flags & IFF_LOOPBACK) != 0) != loopback)
        return false;
    if (entry->ifa_addr->sa_family == AF_INET)
        return true;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)entry->ifa_addr;
    return entry->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

/* Lists the addresses of other interfaces first, then those of loopback. The latter connect a job
 * whose hosts are several names of one machine. */
static void addresses_list(const struct ifaddrs *list, char *out, size_t room)
{
    size_t len = 0;
    out[0] = '\0';
    for (int loopback = 0; loopback <= 1; loopback++)
        for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
            char text[NI_MAXHOST];
            if (!is_listed(entry, loopback != 0))
                continue;
            const socklen_t size = entry->ifa_addr->sa_family == AF_INET
                                       ? sizeof(struct sockaddr_in)
                                       : sizeof(struct sockaddr_in6);
            if (getnameinfo(entry->ifa_addr, size, text, sizeof text, NULL, 0, NI_NUMERICHOST) != 0)
                continue;
            if (len + strlen(text) + 2 > room)
                return;
            len += (size_t)snprintf(out + len, room - len, "%s%s", len > 0 ? "," : "", text);
        }
}

/* Binds to any port of every address, and listens. */
static bool listens(int fd, int family, uint16_t *port)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY) };
    const int off = 0;
    struct sockaddr *any = family == AF_INET6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    socklen_t len = family == AF_INET6 ? sizeof six : sizeof four;
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, any, len) != 0 || listen(fd, SOMAXCONN) != 0 || getsockname(fd, any, &len) != 0)
        return false;
    *port = ntohs(family == AF_INET6 ? six.sin6_port : four.sin_port);
    return true;
}

int pen_oob_listen(uint16_t *port, char addresses[PEN_OOB_ADDRESSES_LEN])
{
    static const int families[] = { AF_INET6,
                                    AF_INET }; /* the first one serves both, if it is there */
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list) != 0)
        return -1;
    addresses_list(list, addresses, PEN_OOB_ADDRESSES_LEN);
    freeifaddrs(list);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        const int fd = socket(families[i], SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && listens(fd, families[i], port))
            return fd;
        const int error = errno;
        if (fd >= 0)
            (void)close(fd);
        errno = error;
    }
    return -1;
}

/* ---- the centre ------------------------------------------------------------------------------ */

/* Connections that have not taken their place among the lines. */
typedef struct strangers {
    oob_line *lines;
    struct pollfd *watched; /* one more than lines, for the listener */
    uint32_t count, next;
} strangers;

/* Reads the next message of a connection. Returns true if a block has taken it into use. */
static bool admit(pen_oob *oob, oob_line *line)
{
    oob_head head;
    const oob_read result = pen_oob_read(oob, line, 0, &head);
    if (result == OOB_NOTHING && pen_now_ns() < line->until_ns)
        return false;
    if (result == OOB_MESSAGE && head.kind == OOB_HELLO && !line->proven) {
        line->proven = true;
        line->block = head.from;
        if (pen_oob_send(oob, line, line->block, OOB_WELCOME, 0, NULL, 0))
            return false;
    } else if (result == OOB_MESSAGE && head.kind == OOB_USE && line->proven &&
               oob->lines[line->block - 1].fd < 0) {
        line->joined = true;
        oob->lines[line->block - 1] = *line;
        *line = (oob_line){ .fd = -1 };
        return true;
    }
    pen_oob_line_close(line);
    return false;
}

/* Accepts a connection. If there is no place, it takes that of the oldest one. */
static void accept_one(int listener, strangers *all)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    make_prompt(fd);
    oob_line *place = &all->lines[all->next++ % all->count];
    pen_oob_line_close(place);
    *place = (oob_line){ .fd = fd, .until_ns = pen_now_ns() + SHY_NS };
}

/* Returns how many blocks have come. */
static uint32_t strangers_serve(pen_oob *oob, strangers *all, int listener)
{
    uint32_t came = 0;
    all->watched[all->count] = (struct pollfd){ .fd = listener, .events = POLLIN };
    for (uint32_t i = 0; i < all->count; i++)
        all->watched[i] = (struct pollfd){ .fd = all->lines[i].fd, .events = POLLIN };
    if (poll(all->watched, all->count + 1, TICK_MS) < 0)
        return 0;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->lines[i].fd >= 0 && admit(oob, &all->lines[i]))
            came++;
    if ((all->watched[all->count].revents & POLLIN) != 0)
        accept_one(listener, all);
    return came;
}

static const char *centre_open(pen_oob *oob, const pen_oob_params *params)
{
    uint32_t missing = oob->line_count;
    strangers all = { .count = STRANGERS_LEAST + STRANGERS_EACH * oob->line_count };
    all.lines = calloc(all.count, sizeof *all.lines);
    all.watched = calloc(all.count + 1u, sizeof *all.watched);
    const bool got = all.lines != NULL && all.watched != NULL;
    for (uint32_t i = 0; got && i < all.count; i++)
        all.lines[i] = (oob_line){ .fd = -1 };
    while (got && missing > 0 && pen_now_ns() < params->until_ns)
        missing -= strangers_serve(oob, &all, params->listener);
    for (uint32_t i = 0; got && i < all.count; i++)
        pen_oob_line_close(&all.lines[i]);
    free(all.lines);
    free(all.watched);
    if (!got)
        return "out of memory";
    return missing == 0 ? NULL : "not all hosts have connected to that of rank 0 in time (TCP)";
}

/* ---- the other blocks ------------------------------------------------------------------------ */

typedef struct tries {
    oob_line lines[TRIES_MAX];
    bool said[TRIES_MAX]; /* the hello is sent */
    uint32_t count;
} tries;

/* Begins to connect to each address of a name or a numeric text. */
static void try_name(tries *all, const char *name, uint16_t port)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    char port_text[8];
    (void)snprintf(port_text, sizeof port_text, "%u", port);
    if (getaddrinfo(name, port_text, &hints, &list) != 0)
        return;
    for (const struct addrinfo *at = list; at != NULL && all->count < TRIES_MAX; at = at->ai_next) {
        const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0 && errno != EINPROGRESS) {
            (void)close(fd);
            continue;
        }
        make_prompt(fd);
        all->said[all->count] = false;
        all->lines[all->count++] = (oob_line){ .fd = fd };
    }
    freeaddrinfo(list);
}

static void try_addresses(tries *all, const pen_oob_params *params)
{
    char addresses[PEN_OOB_ADDRESSES_LEN];
    (void)snprintf(addresses, sizeof addresses, "%s", params->addresses);
    char *rest = addresses;
    for (const char *one; (one = strsep(&rest, ",")) != NULL;)
        if (one[0] != '\0')
            try_name(all, one, params->port);
}

static void tries_end(tries *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        pen_oob_line_close(&all->lines[i]);
}

/* Goes on with a connection that is ready. Returns true if the centre has proven itself on it. */
static bool try_serve(pen_oob *oob, oob_line *line, bool *said)
{
    int error = 0;
    socklen_t len = sizeof error;
    oob_head head;
    if (getsockopt(line->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        pen_oob_line_close(line);
        return false;
    }
    if (!*said) {
        *said = true;
        if (!pen_oob_send(oob, line, 0, OOB_HELLO, 0, NULL, 0))
            pen_oob_line_close(line);
        return false;
    }
    const oob_read result = pen_oob_read(oob, line, 0, &head);
    if (result == OOB_NOTHING)
        return false;
    if (result == OOB_MESSAGE && head.from == 0 && head.kind == OOB_WELCOME &&
        pen_oob_send(oob, line, 0, OOB_USE, 0, NULL, 0))
        return true;
    pen_oob_line_close(line);
    return false;
}

/* Returns the connection on which the centre has proven itself; NULL: none has, so far. */
static oob_line *tries_serve(pen_oob *oob, tries *all)
{
    struct pollfd watched[TRIES_MAX];
    for (uint32_t i = 0; i < all->count; i++)
        watched[i] =
            (struct pollfd){ .fd = all->lines[i].fd, .events = all->said[i] ? POLLIN : POLLOUT };
    if (poll(watched, all->count, TICK_MS) <= 0)
        return NULL;
    for (uint32_t i = 0; i < all->count; i++)
        if (watched[i].revents != 0 && try_serve(oob, &all->lines[i], &all->said[i]))
            return &all->lines[i];
    return NULL;
}

static bool some_open(const tries *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->lines[i].fd >= 0)
            return true;
    return false;
}

/* Tries all addresses until the centre proves itself or all have failed. The host's name is asked
 * for only if the addresses lead nowhere soon, because that may take long. */
static bool others_try(pen_oob *oob, const pen_oob_params *params)
{
    tries all = { .count = 0 };
    oob_line *found = NULL;
    bool named = false;
    const uint64_t name_ns = pen_now_ns() + NAME_NS;
    try_addresses(&all, params);
    while (found == NULL && pen_now_ns() < params->until_ns) {
        if (!named && (pen_now_ns() >= name_ns || !some_open(&all))) {
            named = true;
            try_name(&all, params->host, params->port);
        }
        if (!some_open(&all))
            break;
        found = tries_serve(oob, &all);
    }
    if (found != NULL) {
        oob->lines[0] = *found;
        oob->lines[0].proven = oob->lines[0].joined = true;
        *found = (oob_line){ .fd = -1 };
    }
    tries_end(&all);
    return found != NULL;
}

static const char *other_open(pen_oob *oob, const pen_oob_params *params)
{
    while (pen_now_ns() < params->until_ns) {
        if (others_try(oob, params))
            return NULL;
        (void)poll(NULL, 0, AGAIN_MS);
    }
    return "no address of rank 0's host leads to it by TCP; do the hosts' firewalls let their "
           "ranks connect to each other?";
}

/* ---- opening and closing --------------------------------------------------------------------- */

static uint64_t now_ns(void *ctx)
{
    (void)ctx;
    return pen_now_ns();
}

static bool memory_get(pen_oob *oob)
{
    oob->lines = calloc(oob->line_count, sizeof *oob->lines);
    oob->at = calloc(oob->block_count, sizeof *oob->at);
    bool got = oob->lines != NULL && oob->at != NULL;
    for (uint32_t i = 0; got && i < oob->line_count; i++)
        oob->lines[i] = (oob_line){ .fd = -1 };
    for (uint32_t i = 0; got && i < PEN_OOB_TAGS; i++) {
        oob->meetings[i].here = calloc(oob->block_count, sizeof(bool));
        oob->meetings[i].came = calloc(oob->block_count, sizeof(oob_body));
        got = oob->meetings[i].here != NULL && oob->meetings[i].came != NULL;
    }
    return got;
}

const char *pen_oob_open(const pen_oob_params *params, pen_oob **out)
{
    bool has_aes;
    *out = NULL;
    pen_oob *oob = calloc(1, sizeof *oob);
    if (oob == NULL)
        return "out of memory";
    oob->block_i = params->block_i;
    oob->block_count = params->block_count;
    oob->firsts = params->firsts;
    oob->line_count = params->block_i == 0 ? params->block_count - 1 : 1;
    oob->body_max = params->body_max;
    oob->all_max = (params->body_max + sizeof(uint32_t)) * params->block_count;
    oob->news = params->news;
    /* processors may differ, and these messages are few: no AES */
    const pen_seal_params seal = { .job_key = params->job_key,
                                   .purpose = "out-of-band",
                                   .mode = PEN_SEAL_ENCRYPT,
                                   .cipher = PEN_SEAL_CHACHA20_POLY1305,
                                   .library = PEN_SEAL_LIBRARY_LIBSODIUM,
                                   .now_ns = now_ns,
                                   .self = params->block_i,
                                   .peers = params->block_count };
    const char *error = NULL;
    if (!memory_get(oob))
        error = "out of memory";
    else if (!pen_seal_start(&has_aes) ||
             pen_seal_open(&seal, params->salts, PEN_SEAL_SALT_LEN, &oob->seal) != PEN_OK)
        error = "the cryptography does not start";
    else
        error = params->block_i == 0 ? centre_open(oob, params) : other_open(oob, params);
    if (error != NULL) {
        pen_oob_close(oob);
        return error;
    }
    *out = oob;
    return NULL;
}

void pen_oob_close(pen_oob *oob)
{
    if (oob == NULL)
        return;
    for (uint32_t i = 0; oob->lines != NULL && i < oob->line_count; i++)
        pen_oob_line_close(&oob->lines[i]);
    for (uint32_t tag = 0; tag < PEN_OOB_TAGS; tag++) {
        for (uint32_t i = 0; oob->meetings[tag].came != NULL && i < oob->block_count; i++)
            free((void *)(uintptr_t)oob->meetings[tag].came[i].bytes);
        free(oob->meetings[tag].came);
        free(oob->meetings[tag].here);
    }
    if (oob->bodies != NULL)
        pen_seal_wipe(oob->bodies, oob->bodies_len);
    free(oob->bodies);
    free(oob->at);
    free(oob->lines);
    pen_seal_close(oob->seal);
    free(oob);
}
