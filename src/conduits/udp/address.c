/* SPDX-License-Identifier: BSD-3-Clause */
/* address.c: chooses the address of this host at which a rank receives, and the form in which
 * other ranks learn it. */
#include "conduits/udp/udp.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WISH_LEN_MAX = 64, MTU_LEAST = 576 };

typedef struct address_wish { /* an address, or a network in which any address will do */
    int family;
    uint8_t ip[16];
    unsigned bits; /* leading bits that count */
    bool exact;    /* no network was given; if needed, the netmask of the interface is used */
} address_wish;

static const uint8_t *ip_of(const struct sockaddr *address, size_t *len)
{
    const udp_sockaddr *from = (const udp_sockaddr *)(const void *)address;
    *len = address->sa_family == AF_INET ? 4 : 16;
    return address->sa_family == AF_INET ? (const uint8_t *)&from->v4.sin_addr
                                         : (const uint8_t *)&from->v6.sin6_addr;
}

static bool bits_match(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    if (memcmp(a, b, bits / 8) != 0)
        return false;
    uint8_t rest = (uint8_t)(0xff00u >> bits % 8);
    return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) & rest) == 0;
}

static bool wish_parse(const char *text, address_wish *out)
{
    char copy[WISH_LEN_MAX];
    if (strlen(text) >= sizeof copy)
        return false;
    (void)snprintf(copy, sizeof copy, "%s", text);
    char *slash = strchr(copy, '/');
    if (slash != NULL)
        *slash++ = '\0';
    *out = (address_wish){ .family = strchr(copy, ':') != NULL ? AF_INET6 : AF_INET,
                           .exact = slash == NULL };
    unsigned most = out->family == AF_INET ? 32 : 128;
    if (inet_pton(out->family, copy, out->ip) != 1)
        return false;
    out->bits = most;
    if (slash == NULL)
        return true;
    int64_t bits;
    if (!pen_knob_parse(PEN_KNOB_INT, slash, &bits) || bits < 0 || bits > most)
        return false;
    out->bits = (unsigned)bits;
    return true;
}

/* Number of leading bits set in a netmask. */
static unsigned mask_bits(const struct sockaddr *mask)
{
    size_t len;
    unsigned bits = 0;
    if (mask == NULL)
        return 0;
    const uint8_t *bytes = ip_of(mask, &len);
    while (bits < len * 8 && (bytes[bits / 8] & 0x80u >> bits % 8) != 0)
        bits++;
    return bits;
}

/* Returns 2 for the address itself, 1 for an address in its network, 0 if the entry is neither. */
static int wish_rank(const address_wish *wish, const struct ifaddrs *entry)
{
    size_t len;
    if (entry->ifa_addr == NULL || entry->ifa_addr->sa_family != wish->family ||
        (entry->ifa_flags & IFF_UP) == 0)
        return 0;
    const uint8_t *ip = ip_of(entry->ifa_addr, &len);
    if (memcmp(ip, wish->ip, len) == 0)
        return 2;
    unsigned bits = wish->exact ? mask_bits(entry->ifa_netmask) : wish->bits;
    /* All of 127/8 belongs to this host, and the first address covers that. */
    return bits != 0 && bits_match(ip, wish->ip, bits) ? 1 : 0;
}

static size_t mtu_of(const char *interface)
{
    struct ifreq request = { 0 };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return MTU_LEAST;
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    size_t mtu = ioctl(fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > MTU_LEAST
                     ? (size_t)request.ifr_mtu
                     : MTU_LEAST;
    (void)close(fd);
    return mtu;
}

static const struct ifaddrs *wish_find(const address_wish *wish, const struct ifaddrs *list)
{
    const struct ifaddrs *best = NULL;
    int best_rank = 0;
    for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
        int rank = wish_rank(wish, entry);
        if (rank > best_rank) {
            best = entry;
            best_rank = rank;
        }
    }
    return best;
}

pen_status udp_address_choose(const pen_host *host, const udp_config *config, udp_sockaddr *out,
                              size_t *mtu_out)
{
    const char *name = config->address != NULL ? "PENSTOCK_UDP_ADDRESS" : "GASNET_WORKERIP";
    const char *text = config->address != NULL ? config->address : config->worker_ip;
    if (text == NULL) {
        name = "PENSTOCK_UDP_ADDRESS";
        text = "127.0.0.1"; /* reachable from this host only */
    }
    address_wish wish;
    if (!wish_parse(text, &wish)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot use %s=%s: it is neither an address nor a network; give one, for example "
                  "192.168.1.7, fd00::7 or 192.168.1.0/24",
                  name, text);
        return PEN_ERR_ARGUMENT;
    }
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list) != 0) {
        host->log(host->ctx, PEN_LOG_ERROR, "cannot look for %s=%s: getifaddrs: %s; try again",
                  name, text, strerror(errno));
        return PEN_ERR_SYSTEM;
    }
    const struct ifaddrs *found = wish_find(&wish, list);
    if (found != NULL) {
        memset(out, 0, sizeof *out);
        memcpy(out, found->ifa_addr, wish.family == AF_INET ? sizeof out->v4 : sizeof out->v6);
        *mtu_out = mtu_of(found->ifa_name);
    } else {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot use %s=%s: no interface of this host that is up has it, or an address "
                  "in its network; `ip address` lists them",
                  name, text);
    }
    freeifaddrs(list);
    return found != NULL ? PEN_OK : PEN_ERR_ARGUMENT;
}

void udp_address_pack(const udp_sockaddr *from, udp_address *out)
{
    if (from->any.sa_family == AF_INET) {
        out->family = 4;
        out->port = from->v4.sin_port;
        memcpy(out->ip, &from->v4.sin_addr, sizeof from->v4.sin_addr);
    } else {
        out->family = 6;
        out->port = from->v6.sin6_port;
        out->scope = from->v6.sin6_scope_id;
        memcpy(out->ip, &from->v6.sin6_addr, sizeof from->v6.sin6_addr);
    }
}

bool udp_address_unpack(const udp_address *from, udp_sockaddr *out)
{
    memset(out, 0, sizeof *out);
    if (from->port == 0 || (from->family != 4 && from->family != 6))
        return false;
    if (from->family == 4) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = from->port;
        memcpy(&out->v4.sin_addr, from->ip, sizeof out->v4.sin_addr);
    } else {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = from->port;
        out->v6.sin6_scope_id = from->scope;
        memcpy(&out->v6.sin6_addr, from->ip, sizeof out->v6.sin6_addr);
    }
    return true;
}
