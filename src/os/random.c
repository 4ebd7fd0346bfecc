/* SPDX-License-Identifier: BSD-3-Clause */
/* random.c: unpredictable bytes from the kernel. */
#include "base/compiler.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

/* Makes one request. Returns the number of bytes, or -1. */
static ssize_t random_some(void *out, size_t len)
{
    ssize_t got = getrandom(out, len, 0);
    if (got >= 0 || errno == EINTR)
        return got;
    /* The kernel is too old for the call, or a filter around this process refuses it. */
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    got = read(fd, out, len);
    close(fd);
    return got;
}

void pen_random(void *out, size_t len)
{
    uint8_t *at = out;
    while (len > 0) {
        ssize_t got = random_some(at, len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* a predictable key would be worse than no key */
            pen_cannot_go_on("no random bytes, and so no keys: neither getrandom nor /dev/urandom "
                             "gives any; allow getrandom in the filter (seccomp) around this "
                             "process, or mount /dev");
        at += got;
        len -= (size_t)got;
    }
}
