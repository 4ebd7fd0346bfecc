/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_device.c: the card in software under the link. It is the only file of the conduit that
 * knows more of the device than portals4.h says. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "diag/log.h"
#include "link/host.h"
#include "softnic/portals/card.h"

enum { RING_LEN = 16384 };

static pen_portals_config config_for(pen_peer peers)
{
    pen_portals_config config;
    pen_portals_config_default(&config);
    config.processes = peers;
    config.ring_len = RING_LEN;
    return config;
}

size_t portals_device_len(pen_peer peers)
{
    pen_portals_config config = config_for(peers);
    return pen_portals_len(&config);
}

pen_status portals_device_open(const pen_host *host, const portals_device_config *settings,
                               pen_peer self, pen_peer peers, portals_device **out)
{
    pen_portals_config config = config_for(peers);
    const char *why = pen_portals_costs_apply(settings, &config);
    if (why != NULL) {
        host->log(host->ctx, PEN_LOG_ERROR, "cannot open the portals conduit: %s", why);
        return PEN_ERR_ARGUMENT;
    }
    size_t len;
    void *memory =
        pen_host_find_shared(host, pen_portals_len(&config), "the software Portals card", &len);
    if (memory == NULL)
        return PEN_ERR_UNUSABLE;
    pen_status status = pen_portals_open(memory, len, &config, self, out);
    if (status != PEN_OK)
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot use the software Portals card: %s; start all ranks with one build",
                  pen_status_text(status));
    return status;
}

void portals_device_close(portals_device *device) { pen_portals_close(device); }

uint64_t portals_device_moved(portals_device *device)
{
    pen_portals_counts counts;
    pen_portals_count(device, &counts);
    return counts.packets_sent + counts.packets_received;
}

void portals_device_use(portals_device *device) { pen_portals_use(device); }
