/* SPDX-License-Identifier: BSD-3-Clause */
/* paired.c: a conduit for the tests that is a pair: frames go over a network that never says
 * "full", in its window, and puts and gets over extoll. */
#include "contract.h"

#include "conduit/conduit.h"
#include "link/pair.h"
#include "link/window.h"
#include "support/bounded.h"

#include <string.h>

enum { RANKS_MAX = 64 };

/* Hosts lent to the inner links of the only job that is open. */
static struct {
    pen_host frames, window, memory;
} hosts[RANKS_MAX];

static const pen_conduit *memory_conduit(void) { return pen_conduit_find("extoll"); }

static int paired_score(pen_peer peers, const char **why_not)
{
    if (memory_conduit() == NULL || peers > RANKS_MAX) {
        *why_not = "extoll is not built, or there are too many ranks";
        return 0;
    }
    return memory_conduit()->score(peers, why_not);
}

static size_t paired_shared_len(pen_peer peers, const void *config)
{
    return memory_conduit()->shared_len(peers, config);
}

static pen_status paired_open(const pen_link_params *params, pen_link **out)
{
    pen_link *frames = NULL, *memory = NULL;
    pen_link_params inner = *params;
    pen_host *host = &hosts[params->self].window;
    *host = *params->host;
    host->poll_view = NULL; /* a view shows one link */
    hosts[params->self].frames = hosts[params->self].memory = *host;
    inner.host = &hosts[params->self].frames;
    inner.config = &bounded_defaults;
    CHECK(pen_conduit_bounded.open(&inner, &frames) == PEN_OK);
    CHECK(pen_window_open(frames, &hosts[params->self].frames, host, params->peers,
                          params->concurrency, &frames) == PEN_OK);
    inner.host = &hosts[params->self].memory;
    inner.config = params->config;
    CHECK(memory_conduit()->open(&inner, &memory) == PEN_OK);
    return pen_pair_open(frames, memory, params->host, params->peers, params->concurrency, out);
}

pen_conduit paired_conduit(void)
{
    const pen_conduit *memory = memory_conduit();
    return (pen_conduit){
        .abi = PEN_CONDUIT_ABI,
        .name = "pair",
        .summary = "for tests: bounded+extoll",
        .knobs = memory != NULL ? memory->knobs : NULL,
        .config_len = memory != NULL ? memory->config_len : 0,
        .score = paired_score,
        .shared_len = paired_shared_len,
        .open = paired_open,
    };
}
