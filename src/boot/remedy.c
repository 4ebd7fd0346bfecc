/* SPDX-License-Identifier: BSD-3-Clause */
/* remedy.c: one list of remedies by errno, for launcher and ranks. */
#include "boot/remedy.h"

#include <errno.h>

const char *pen_boot_remedy(int error)
{
    switch (error) {
    case EAGAIN:
        return "raise the limit of processes (`ulimit -u`, or pids.max of the cgroup)";
    case EMFILE:
        return "raise the limit of open files (`ulimit -n`)";
    case ENFILE:
        return "the whole system has too many open files (fs.file-max)";
    case ENOSYS:
    case EINVAL:
    case EPERM:
        return "the kernel or an emulator does not offer that call, or a filter (seccomp) around "
               "this process refuses it";
    case ENOENT:
        return "this host lacks that file; in a container or chroot, mount /dev and /proc";
    case EACCES:
        return "this user may not use it; see its permissions";
    default:
        return "use fewer ranks";
    }
}
