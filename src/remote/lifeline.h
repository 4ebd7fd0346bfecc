/* SPDX-License-Identifier: BSD-3-Clause */
/* lifeline.h: asks the kernel whether the host at the far end of a TCP connection is still there.
 * The connection belongs to sshd. If the host has vanished, nothing is acknowledged. If only a
 * process there is stopped, its kernel still acknowledges data and answers probes. The caller has
 * to send something through the connection from time to time. */
#ifndef PEN_REMOTE_LIFELINE_H
#define PEN_REMOTE_LIFELINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_lifeline {
    bool known; /* if false, the connection counts as alive */
    uint8_t family;
    uint16_t own_port, their_port; /* in the network's byte order, as are: */
    uint32_t own_ip[4], their_ip[4];
} pen_lifeline;

/* Finds the connection. connection: the value of SSH_CONNECTION, "their-address port own-address
 * port". If it is NULL or has another form, the result is not known. */
pen_lifeline pen_lifeline_of(const char *connection);

/* Time for which the far host has acknowledged nothing, although the kernel has asked several
 * times. 0 if it answers, if it is not asked, or if this cannot be found out. */
uint64_t pen_lifeline_silent_ns(const pen_lifeline *line);

#endif
