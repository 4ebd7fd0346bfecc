/* SPDX-License-Identifier: BSD-3-Clause */
/* bootstrap.c: the job of a process that calls PtlInit. Rank, number of processes and the job's
 * name come from PENSTOCK_PORTALS_RANK, _SIZE and _JOB; else from `penstock run`; else from a PMIx
 * launcher such as mpirun. A process that has none of them is a job of its own.
 *
 * The fabric of a job is a file in /dev/shm, which the first process makes. Each member holds a
 * shared lock on it, so a file that nobody locks was left by a job that died, and is emptied. The
 * last process to come removes the name. */
#include "softnic/portals/bootstrap.h"
#include "base/status.h"
#include "diag/log.h"
#include "softnic/portals/inner.h"
#include "softnic/portals/settings.h"
#include "softnic/portals/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The memory of a card. */
typedef struct booted {
    void *memory;
    size_t len;
    int fd; /* -1: anonymous memory */
} booted;

enum { NAME_LEN = 96, ATTEMPTS = 1000 };

static uint64_t hash_of(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Writes the name of the job's file. The length is part of it, so that wrong settings cannot make
 * two processes use one file in different ways. */
static void name_file(const p4_identity *identity, size_t len, char *out, size_t out_len)
{
    uint64_t hash = hash_of(UINT64_C(0xcbf29ce484222325), identity->job);
    (void)snprintf(out, out_len, "/penstock-portals-%u-%016llx-%u-%zx", (unsigned)geteuid(),
                   (unsigned long long)hash, identity->size, len);
}

/* Opens the file and locks it. Returns -1 if another process removed or emptied it meanwhile. */
static int open_once(const char *name, size_t len)
{
    struct stat found;
    int fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return -1;
    /* Nobody uses the file: make it empty. Otherwise wait until its maker has done so. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)len) != 0))
        goto failed;
    if (flock(fd, LOCK_SH) != 0 || fstat(fd, &found) != 0 || found.st_nlink == 0 ||
        found.st_uid != geteuid() || (size_t)found.st_size != len) {
        errno = EAGAIN;
        goto failed;
    }
    return fd;
failed:
    (void)close(fd);
    return -1;
}

static int open_file(const char *name, size_t len)
{
    int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < ATTEMPTS; attempt++) {
        fd = open_once(name, len);
        if (fd < 0 && errno != EAGAIN)
            break;
        if (fd < 0)
            (void)usleep(1000);
    }
    return fd;
}

/* Maps the fabric. Removes its name when all processes have it. */
static bool map_fabric(const p4_identity *identity, size_t len, booted *out)
{
    char name[NAME_LEN];
    *out = (booted){ .len = len, .fd = -1 };
    if (identity->size > 1) {
        name_file(identity, len, name, sizeof(name));
        out->fd = open_file(name, len);
        if (out->fd < 0)
            return false;
    }
    int flags = identity->size > 1 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    out->memory = mmap(NULL, len, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, out->fd, 0);
    if (out->memory == MAP_FAILED) {
        if (out->fd >= 0)
            (void)close(out->fd);
        return false;
    }
    p4_head *head = out->memory;
    /* relaxed: the count carries no data */
    if (identity->size > 1 &&
        atomic_fetch_add_explicit(&head->joined, 1, memory_order_relaxed) == identity->size - 1)
        (void)shm_unlink(name);
    return true;
}

static void unmap_fabric(booted *from)
{
    (void)munmap(from->memory, from->len);
    if (from->fd >= 0)
        (void)close(from->fd);
}

pen_portals *p4_bootstrap(void)
{
    pen_log log;
    pen_log_init(&log, "portals");
    p4_identity identity;
    pen_portals_config config;
    if (!p4_settings_read(&log, &identity, &config))
        return NULL;
    booted boot;
    if (!map_fabric(&identity, pen_portals_len(&config), &boot)) {
        pen_log_error(&log,
                      "cannot map the card's %zu bytes of shared memory: %m; is /dev/shm full?",
                      pen_portals_len(&config));
        return NULL;
    }
    pen_portals *card;
    pen_status status = pen_portals_open(boot.memory, boot.len, &config, identity.rank, &card);
    if (status == PEN_OK) {
        card->memory_len = boot.len;
        card->file = boot.fd;
        return card;
    }
    pen_log_error(&log, "cannot open the card: %s; %s", pen_status_text(status),
                  pen_status_remedy(status));
    unmap_fabric(&boot);
    return NULL;
}

void p4_bootstrap_end(pen_portals *card)
{
    booted boot = { card->memory, card->memory_len, card->file };
    pen_portals_close(card);
    unmap_fabric(&boot);
}
