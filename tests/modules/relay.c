/* SPDX-License-Identifier: BSD-3-Clause */
/* relay.c: a conduit for tests of modules: it opens the link of the built-in conduit loop, which is
 * linked into the module. By macros the build makes modules of it that must be refused. */
#include "base/compiler.h"
#include "conduit/conduit.h"

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

extern const pen_conduit pen_conduit_loop;
extern const pen_conduit RELAY_SYMBOL;

static int relay_score(pen_peer peers, const char **why_not)
{
    return pen_conduit_loop.score(peers, why_not);
}

static size_t relay_shared_len(pen_peer peers, const void *config)
{
    (void)peers;
    (void)config;
    return RELAY_SHARED_LEN;
}

static pen_status relay_open(const pen_link_params *params, pen_link **out)
{
    return pen_conduit_loop.open(params, out);
}

PEN_EXPORT const pen_conduit RELAY_SYMBOL = {
    .abi = RELAY_ABI,
    .name = RELAY_NAME,
    .summary = "a module for tests",
    .score = relay_score,
    .shared_len = relay_shared_len,
    .open = relay_open,
};
