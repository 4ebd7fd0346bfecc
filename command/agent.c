/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c: `penstock agent`: what `penstock run` starts on each host of a job. Nobody types it. */
#include "remote/agent.h"
#include "boot/boot.h"
#include "command/command.h"
#include "command/topology.h"
#include "conduit/conduit.h"
#include "diag/log.h"

size_t command_conduit_len(uint32_t ranks) { return pen_conduit_shared_max(ranks); }

static const char *cores_find(const cpu_set_t **sets, unsigned *count)
{
    static topology machine; /* large */
    topology_read(&machine);
    *sets = machine.sets;
    *count = machine.set_count;
    return machine.why_not;
}

int command_agent(char **arguments)
{
    pen_log log;
    pen_log_init(&log, "agent");
    if (arguments[0] != NULL) {
        pen_log_error(&log, "it takes no arguments: `penstock run --hosts` starts agents");
        return COMMAND_USAGE;
    }
    const pen_boot_needs boot = { .conduit_len = command_conduit_len };
    const pen_agent_needs needs = { &boot, cores_find };
    return pen_agent_run(&log, &needs);
}
