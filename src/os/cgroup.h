/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup.h: what the control groups above this process leave it, versions 1 and 2. A group limits
 * all below it, so every group from ours up to the root is asked and the tightest answer counts.
 *
 * root: where the hierarchies are mounted; NULL: /sys/fs/cgroup, with /proc/self/cgroup saying
 * which group is ours. Another root brings its own <root>/self (in the form of /proc/self/cgroup);
 * without one the root groups are asked. */
#ifndef PEN_OS_CGROUP_H
#define PEN_OS_CGROUP_H

#include <stdint.h>

double pen_cgroup_cores(const char *root);          /* cpu quota in cores; 0: no limit */
uint64_t pen_cgroup_memory_limit(const char *root); /* bytes; UINT64_MAX: no limit */

/* What may still be used below the limit; the page cache that can be dropped counts as free.
 * UINT64_MAX: no limit. */
uint64_t pen_cgroup_memory_left(const char *root);

#endif
