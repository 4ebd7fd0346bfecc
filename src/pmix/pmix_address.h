/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_address.h: at which of its addresses a host is reached by the others of a PMIx job. */
#ifndef PEN_PMIX_PMIX_ADDRESS_H
#define PEN_PMIX_PMIX_ADDRESS_H

#include "diag/log.h"
#include "pmix/pmix_hello.h"

/* The address from which a packet to another host would leave, as text; "": variables say it, or
 * all blocks are on one host. False: it cannot be told, which has been said. */
bool pen_pmix_address(pen_log *log, const pen_pmix_hello *hellos, const uint32_t *firsts,
                      uint32_t block_count, uint32_t block_i, char *out, size_t out_len);

#endif
