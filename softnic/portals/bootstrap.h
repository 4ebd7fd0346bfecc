/* SPDX-License-Identifier: BSD-3-Clause */
/* bootstrap.h: finds the job of a process that calls PtlInit, and opens its card. */
#ifndef PEN_SOFTNIC_PORTALS_BOOTSTRAP_H
#define PEN_SOFTNIC_PORTALS_BOOTSTRAP_H

struct pen_portals;

/* Opens the card of this process from its environment. Prints the reason if it cannot, and returns
 * NULL. Called by PtlInit under its lock. */
struct pen_portals *p4_bootstrap(void);

/* Closes the card and its memory. */
void p4_bootstrap_end(struct pen_portals *card);

#endif
