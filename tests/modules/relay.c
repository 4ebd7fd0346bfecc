/* SPDX-License-Identifier: BSD-3-Clause */
/* relay.c: a conduit for tests of modules: it opens the link of the conduit udp, or of loop for one
 * rank. Both are linked into the module. By macros the build makes modules of it that must be
 * refused. */
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "conduits/udp/udp.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef RELAY_ABI
#    define RELAY_ABI PEN_CONDUIT_ABI
#endif
#ifndef RELAY_SYMBOL
#    define RELAY_SYMBOL pen_conduit_relay
#endif
#ifndef RELAY_NAME
#    define RELAY_NAME "relay"
#endif
#ifndef RELAY_SHARED_LEN
#    define RELAY_SHARED_LEN 0
#endif

extern const pen_conduit pen_conduit_loop, pen_conduit_udp;
extern const pen_conduit RELAY_SYMBOL;

/* The link of udp reads its settings from the beginning of this. */
typedef struct relay_config {
    udp_config udp;
    const char *fails; /* ranks, as in "0,4-7" */
} relay_config;

static const pen_knob relay_knobs[] = {
    { "PENSTOCK_RELAY_SEAL", PEN_KNOB_STRING, "auth", offsetof(relay_config, udp.security),
      "Protection of datagrams, as of PENSTOCK_UDP_SECURITY." },
    { "PENSTOCK_RELAY_LIBRARY", PEN_KNOB_STRING, "libsodium", offsetof(relay_config, udp.crypto),
      "For tests: the library that protects long datagrams." },
    { "PENSTOCK_RELAY_BUFFER", PEN_KNOB_BYTES, "1M", offsetof(relay_config, udp.receive_len),
      "For tests: bytes that the kernel keeps for a rank." },
    { "PENSTOCK_RELAY_FAILS", PEN_KNOB_STRING, "", offsetof(relay_config, fails),
      "For tests: ranks on which it does not open." },
    { 0 },
};

static const pen_conduit *below(pen_peer peers)
{
    return peers == 1 ? &pen_conduit_loop : &pen_conduit_udp;
}

static int relay_score(pen_peer peers, const char **why_not)
{
    return below(peers)->score(peers, why_not) * 2; /* better than udp */
}

static size_t relay_shared_len(pen_peer peers, const void *config)
{
    (void)peers;
    (void)config;
    return RELAY_SHARED_LEN;
}

static pen_status relay_open(const pen_link_params *params, pen_link **out)
{
    const relay_config *config = params->config;
    bool fails = false;
    if (config->fails != NULL && config->fails[0] != '\0')
        (void)pen_knob_parse_ranges(config->fails, params->self, &fails);
    if (fails) {
        params->host->log(params->host->ctx, PEN_LOG_ERROR,
                          "cannot open relay: its card is broken");
        return PEN_ERR_UNUSABLE;
    }
    return below(params->peers)->open(params, out);
}

PEN_EXPORT const pen_conduit RELAY_SYMBOL = {
    .abi = RELAY_ABI,
    .name = RELAY_NAME,
    .summary = "a module for tests",
    .knobs = relay_knobs,
    .config_len = sizeof(relay_config),
    .score = relay_score,
    .shared_len = relay_shared_len,
    .open = relay_open,
};
