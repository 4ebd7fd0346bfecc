/* SPDX-License-Identifier: BSD-3-Clause */
/* refuse_call.c: `refuse_call CALL ERROR program arguments` runs a program for which the kernel
 * answers a system call with an error, as filters of containers and emulators do. Of prctl only
 * PR_SET_PDEATHSIG is refused. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = { { "getrandom", SYS_getrandom }, { "madvise", SYS_madvise }, { "prctl", SYS_prctl } };

int main(int argc, char **argv)
{
    unsigned number = ~0u;
    for (size_t i = 0; argc > 3 && i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(calls[i].name, argv[1]) == 0)
            number = calls[i].number;
    if (number == ~0u)
        return 2;
    unsigned error = strcmp(argv[2], "EPERM") == 0    ? EPERM
                     : strcmp(argv[2], "EINVAL") == 0 ? EINVAL
                                                      : ENOSYS;
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof program / sizeof program[0], program };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0 ||
        prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &filter, 0L, 0L) != 0) {
        perror("no filters here");
        return 77;
    }
    execvp(argv[3], argv + 3);
    return 127;
}
