/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_address.c: resolves host names, and asks the kernel for the route to them. */
#include "pmix/pmix_address.h"

#include "diag/log.h"
#include "knob/knob.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANY_PORT "9" /* no packet is sent */

static bool is_given(const char *name)
{
    const char *value = pen_knob_from_process(NULL, name);
    return value != NULL && value[0] != '\0';
}

/* Gets this host's address on the route to `there`. Returns false if there is no route, or if it is
 * a loopback address. */
static bool source_of(const struct addrinfo *there, char *out, size_t out_len)
{
    struct sockaddr_storage here;
    socklen_t len = sizeof(here);
    int fd = socket(there->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool told = connect(fd, there->ai_addr, there->ai_addrlen) == 0 &&
                getsockname(fd, (struct sockaddr *)&here, &len) == 0 &&
                getnameinfo((const struct sockaddr *)&here, len, out, (socklen_t)out_len, NULL, 0,
                            NI_NUMERICHOST) == 0 &&
                strncmp(out, "127.", 4) != 0 && strcmp(out, "::1") != 0;
    close(fd);
    return told;
}

static bool source_towards(const char *host, char *out, size_t out_len)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM };
    struct addrinfo *list = NULL;
    if (getaddrinfo(host, ANY_PORT, &hints, &list) != 0)
        return false;
    bool told = false;
    for (int family = AF_INET; !told; family = AF_INET6) { /* all hosts prefer the same family */
        for (const struct addrinfo *at = list; at != NULL && !told; at = at->ai_next)
            told = at->ai_family == family && source_of(at, out, out_len);
        if (family == AF_INET6)
            break;
    }
    freeaddrinfo(list);
    return told;
}

bool pen_pmix_address(pen_log *log, const pen_pmix_hello *hellos, const uint32_t *firsts,
                      uint32_t block_count, uint32_t block_i, char *out, size_t out_len)
{
    const char *here = hellos[firsts[block_i]].host, *other = NULL;
    out[0] = '\0';
    if (is_given("PENSTOCK_UDP_ADDRESS") || is_given("GASNET_WORKERIP"))
        return true;
    for (uint32_t i = 0; i < block_count; i++) {
        if (strcmp(hellos[firsts[i]].host, here) == 0)
            continue;
        other = hellos[firsts[i]].host;
        if (source_towards(other, out, out_len))
            return true;
    }
    out[0] = '\0';
    if (other == NULL)
        return true;
    pen_log_error(log,
                  "cannot tell at which address host %s is reached: no name of another host (%s) "
                  "leads to one; name the hosts' network, such as "
                  "PENSTOCK_UDP_ADDRESS=192.168.1.0/24",
                  here, other);
    return false;
}
