/* SPDX-License-Identifier: BSD-3-Clause */
/* conduit_shared.c: how much of the host arena to set aside. At that time the ranks have not yet
 * chosen a conduit. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <stdint.h>

size_t pen_conduit_shared_len(const pen_conduit *conduit, pen_peer peers)
{
    if (conduit->abi != PEN_CONDUIT_ABI || conduit->shared_len == NULL)
        return 0;
    uint64_t config[PEN_CONDUIT_CONFIG_MAX / sizeof(uint64_t)] = { 0 };
    pen_log nobody = { .fd = -1,
                       .rank = -1 }; /* the ranks read the variables as well, and report errors */
    if (conduit->knobs != NULL &&
        pen_knob_read(&nobody, conduit->knobs, config, NULL, NULL) != PEN_OK)
        return 0;
    return conduit->shared_len(peers, config);
}

size_t pen_conduit_shared_max(pen_peer peers)
{
    size_t most = 0;
    for (const pen_conduit *const *entry = pen_builtin_conduits; *entry != NULL; entry++) {
        size_t len = pen_conduit_shared_len(*entry, peers);
        if (len > most)
            most = len;
    }
    return most;
}
