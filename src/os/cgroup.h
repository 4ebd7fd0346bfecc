/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup.h: the limits that control groups, versions 1 and 2, set for this process. A group
 * limits all processes below it, so every group from this process's up to the root is read, and
 * the lowest limit counts. root: the mount point of the hierarchies. NULL means /sys/fs/cgroup,
 * and this process's group is read from /proc/self/cgroup. For a different root, <root>/self has
 * that file's form; if it is missing, the root groups are read. */
#ifndef PEN_OS_CGROUP_H
#define PEN_OS_CGROUP_H

#include <stdint.h>

double pen_cgroup_cores(const char *root);          /* cpu quota in cores; 0: no limit */
uint64_t pen_cgroup_memory_limit(const char *root); /* bytes; UINT64_MAX: no limit */

/* Bytes that may still be used below the limit. Page cache that can be dropped counts as free.
 * UINT64_MAX: no limit. */
uint64_t pen_cgroup_memory_left(const char *root);

#endif
