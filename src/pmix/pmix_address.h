/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_address.h: finds the address at which peers of a PMIx job reach this host. */
#ifndef PEN_PMIX_PMIX_ADDRESS_H
#define PEN_PMIX_PMIX_ADDRESS_H

#include "diag/log.h"
#include "pmix/pmix_hello.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the address from which a packet to another host would leave, as text. Writes "" if
 * variables give the address, or if all blocks are on one host. If the address cannot be found,
 * prints the reason and returns false. */
bool pen_pmix_address(pen_log *log, const pen_pmix_hello *hellos, const uint32_t *firsts,
                      uint32_t block_count, uint32_t block_i, char *out, size_t out_len);

#endif
