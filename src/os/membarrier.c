/* SPDX-License-Identifier: BSD-3-Clause */
/* membarrier.c: a fence on every core that runs a registered process. Only the caller pays for
 * it. */
#include "os/os.h"

#include "pen_config.h"

#include <sys/syscall.h>
#include <unistd.h>

#if PEN_HAVE_MEMBARRIER
#    include <linux/membarrier.h>

static bool membarrier_call(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

bool pen_membarrier_register(void)
{
    return membarrier_call(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

bool pen_membarrier(void) { return membarrier_call(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }
#else
bool pen_membarrier_register(void) { return false; }
bool pen_membarrier(void) { return false; }
#endif
