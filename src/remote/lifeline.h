/* SPDX-License-Identifier: BSD-3-Clause */
/* lifeline.h: whether the host at the other end of a TCP connection is still there, asked of our
 * kernel. The connection is sshd's, not ours. It tells a host that has vanished from a process that
 * is stopped: that one's kernel acknowledges what arrives, and answers when asked for room.
 * Whoever asks has to send something through it now and then. */
#ifndef PEN_REMOTE_LIFELINE_H
#define PEN_REMOTE_LIFELINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_lifeline {
    bool known; /* else nothing is ever said of it */
    uint8_t family;
    uint16_t own_port, their_port; /* in the network's byte order, as are: */
    uint32_t own_ip[4], their_ip[4];
} pen_lifeline;

/* connection: as SSH_CONNECTION has it, "their-address port own-address port"; NULL, or something
 * else: not known. */
pen_lifeline pen_lifeline_of(const char *connection);

/* How long the other host has acknowledged nothing though our kernel has asked several times; 0: it
 * answers, is not asked, or this cannot be told. */
uint64_t pen_lifeline_silent_ns(const pen_lifeline *line);

#endif
