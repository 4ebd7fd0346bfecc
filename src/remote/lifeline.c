/* SPDX-License-Identifier: BSD-3-Clause */
/* lifeline.c: asks the kernel's socket diagnostics (what ss prints), which need no privilege. */
#include "remote/lifeline.h"

#include <arpa/inet.h>
#include <limits.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    ADDRESS_LEN = 64,
    ASKED_LEAST = 3, /* unanswered packets; a single one may be lost */
    TIMER_RESEND = 1,
    TIMER_PROBE = 4, /* probe of a closed window */
    ANSWER_LEN = 4096,
    WAIT_S = 1,
};

static uint16_t port_of(const char *text)
{
    unsigned long port = strtoul(text, NULL, 10);
    return port <= UINT16_MAX ? htons((uint16_t)port) : 0;
}

pen_lifeline pen_lifeline_of(const char *connection)
{
    pen_lifeline out = { .known = false };
    char their[ADDRESS_LEN], own[ADDRESS_LEN], their_port[8], own_port[8];
    if (connection == NULL ||
        sscanf(connection, "%63s %7s %63s %7s", their, their_port, own, own_port) != 4)
        return out;
    out.family = strchr(their, ':') != NULL ? AF_INET6 : AF_INET;
    out.their_port = port_of(their_port);
    out.own_port = port_of(own_port);
    out.known = inet_pton(out.family, their, out.their_ip) == 1 &&
                inet_pton(out.family, own, out.own_ip) == 1 && out.their_port != 0 &&
                out.own_port != 0;
    return out;
}

typedef struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
} question;

static bool ask(int fd, const pen_lifeline *line)
{
    question q = {
        .head = { .nlmsg_len = sizeof(q),
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST },
        .body = { .sdiag_family = line->family,
                  .sdiag_protocol = IPPROTO_TCP,
                  .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                  .idiag_states = UINT_MAX,
                  .id = { .idiag_sport = line->own_port,
                          .idiag_dport = line->their_port,
                          .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
    };
    memcpy(q.body.id.idiag_src, line->own_ip, sizeof(line->own_ip));
    memcpy(q.body.id.idiag_dst, line->their_ip, sizeof(line->their_ip));
    return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q);
}

/* Milliseconds since the last acknowledgement, if the kernel waits for one, else 0. */
static uint64_t silent_ms(const struct nlmsghdr *head)
{
    const struct inet_diag_msg *found = NLMSG_DATA(head);
    bool waits = found->idiag_timer == TIMER_RESEND || found->idiag_timer == TIMER_PROBE;
    if (!waits || found->idiag_retrans < ASKED_LEAST)
        return 0;
    size_t left = head->nlmsg_len - NLMSG_LENGTH(sizeof(*found));
    const struct rtattr *part = (const struct rtattr *)(const void *)(found + 1);
    for (; RTA_OK(part, left); part = RTA_NEXT(part, left)) {
        struct tcp_info info = { 0 };
        if (part->rta_type != INET_DIAG_INFO)
            continue;
        size_t len = RTA_PAYLOAD(part);
        memcpy(&info, RTA_DATA(part), len < sizeof(info) ? len : sizeof(info));
        return info.tcpi_last_ack_recv;
    }
    return 0;
}

uint64_t pen_lifeline_silent_ns(const pen_lifeline *line)
{
    _Alignas(struct nlmsghdr) char answer[ANSWER_LEN];
    const struct nlmsghdr *head = (const struct nlmsghdr *)(const void *)answer;
    if (!line->known)
        return 0;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return 0;
    const struct timeval patience = { .tv_sec = WAIT_S };
    ssize_t got = -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 && ask(fd, line))
        got = recv(fd, answer, sizeof(answer), 0);
    close(fd);
    bool sound = got > 0 && NLMSG_OK(head, (size_t)got) &&
                 head->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
                 head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg));
    return sound ? silent_ms(head) * 1000000 : 0;
}
