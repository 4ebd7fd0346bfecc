/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence.h: finds the network cards of this machine in files of the kernel. That costs
 * microseconds and opens no device, so a conduit may do it in its score. A card that is found here
 * may still not open.
 *
 * Conduits over a library of networks use it: without a card of a kind that they name, the library
 * has software transports only, and such a conduit is used only if the user names it. */
#ifndef PEN_LINK_EVIDENCE_H
#define PEN_LINK_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

typedef enum pen_network {
    PEN_NETWORK_SLINGSHOT,
    PEN_NETWORK_EFA,
    PEN_NETWORK_OMNIPATH,
    PEN_NETWORK_MELLANOX, /* InfiniBand or RoCE; a port is active */
    PEN_NETWORK_VERBS,    /* another card with verbs in hardware; a port is active */
    PEN_NETWORKS,
} pen_network;

/* A row of a conduit's table of networks. */
typedef struct pen_evidence {
    pen_network network;
    int score;          /* the conduit's, if this is its best network here */
    const char *choice; /* a provider or transports, as its library names them */
} pen_evidence;

/* Returns the networks that this machine has, as bits 1 << pen_network. */
uint32_t pen_evidence_look(void);

/* Returns the first row whose network is among `networks`, or NULL. The caller's table begins with
 * the highest score. */
const pen_evidence *pen_evidence_first(const pen_evidence *rows, size_t count, uint32_t networks);

/* Returns which card has been found and where, in words that follow "because". */
const char *pen_evidence_words(pen_network network);

#endif
