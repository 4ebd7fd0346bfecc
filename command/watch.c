/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.c: finds the arenas of this user's jobs in /proc, and reads the ranks' rows. */
#include "command/watch.h"

#include "boot/boot.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "os/os.h"
#include "os/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARENA_LINK "/memfd:penstock (deleted)"
enum { PATH_LEN = 64 };

/* ---- finding --------------------------------------------------------------------------------- */

/* Maps the page and the ranks' rows. Returns false if the file is no arena of this build. */
static bool map_head(int fd, watch_job *job)
{
    struct stat file;
    pen_host_page head;
    if (fstat(fd, &file) != 0 || file.st_uid != geteuid() ||
        pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return false;
    if (head.magic != PEN_HOST_PAGE_MAGIC || head.size == 0 || head.size > PEN_BOOT_RANKS_MAX)
        return false;
    job->len = sizeof(head) + head.size * sizeof(pen_host_rank);
    if ((uint64_t)file.st_size < job->len)
        return false;
    void *at = mmap(NULL, job->len, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return false;
    job->page = at;
    job->device = file.st_dev;
    job->inode = file.st_ino;
    job->id = (pid_t)job->page->maker;
    return true;
}

typedef struct finding {
    watch_job *jobs;
    size_t count, max;
} finding;

static watch_job *known(const finding *f, const struct stat *file)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->jobs[i].inode == file->st_ino && f->jobs[i].device == file->st_dev)
            return &f->jobs[i];
    return NULL;
}

/* Looks at one open file of a process. */
static void look_at_file(finding *f, pid_t pid, const char *path)
{
    char link[sizeof(ARENA_LINK)];
    struct stat file;
    ssize_t len = readlink(path, link, sizeof(link));
    if (len != (ssize_t)strlen(ARENA_LINK) || memcmp(link, ARENA_LINK, (size_t)len) != 0 ||
        stat(path, &file) != 0)
        return;
    watch_job *job = known(f, &file);
    if (job == NULL && f->count < f->max) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        job = &f->jobs[f->count];
        *job = (watch_job){ .lowest = pid };
        if (fd >= 0 && map_head(fd, job))
            f->count++;
        if (fd >= 0)
            close(fd);
    } else if (job != NULL && pid < job->lowest) {
        job->lowest = pid;
    }
}

static void look_at_process(finding *f, pid_t pid)
{
    char folder[PATH_LEN], path[PATH_LEN + sizeof(((struct dirent *)NULL)->d_name)];
    (void)snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
    DIR *files = opendir(folder);
    if (files == NULL)
        return;
    struct dirent *entry;
    while ((entry = readdir(files)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        look_at_file(f, pid, path);
    }
    closedir(files);
}

static int by_id(const void *a, const void *b)
{
    const watch_job *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

size_t watch_find(watch_job *out, size_t out_max)
{
    finding f = { .jobs = out, .max = out_max };
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return 0;
    struct dirent *entry;
    while ((entry = readdir(processes)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pen_process_is_own(pid))
            look_at_process(&f, pid);
    }
    closedir(processes);
    for (size_t i = 0; i < f.count; i++)
        if (!watch_is_there(&out[i])) /* it ended before the ranks, or has a pid of a container */
            out[i].id = out[i].lowest;
    qsort(out, f.count, sizeof(*out), by_id);
    return f.count;
}

void watch_close(watch_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)munmap(jobs[i].page, jobs[i].len);
}

bool watch_is_there(const watch_job *job)
{
    char state = pen_process_state(job->id);
    return pen_process_is_own(job->id) && state != '?' && state != 'Z' && state != 'X';
}

/* ---- choosing -------------------------------------------------------------------------------- */

static void complain(pen_log *log, const char *word, size_t count)
{
    if (word != NULL)
        pen_log_error(
            log, "there is no job %s of yours on this host; `penstock jobs` lists your jobs", word);
    else if (count == 0)
        pen_log_error(log, "no job of yours runs on this host; start one with `penstock run`");
    else
        pen_log_error(log,
                      "%zu jobs of yours run on this host; name one of those that `penstock jobs` "
                      "lists",
                      count);
}

bool watch_choose(pen_log *log, const char *word, watch_job *out)
{
    static watch_job jobs[WATCH_JOBS_MAX];
    size_t count = watch_find(jobs, WATCH_JOBS_MAX), chosen = count;
    char *end = NULL;
    long id = word != NULL ? strtol(word, &end, 10) : 0;
    for (size_t i = 0; i < count; i++)
        if (word == NULL ? count == 1 : *word != '\0' && *end == '\0' && jobs[i].id == id)
            chosen = i;
    if (chosen == count) {
        complain(log, word, count);
        watch_close(jobs, count);
        return false;
    }
    *out = jobs[chosen];
    jobs[chosen] = jobs[count - 1];
    watch_close(jobs, count - 1);
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* relaxed, here and below: each number is shown to people by itself */
static pid_t pid_of(const pen_host_rank *row)
{
    return (pid_t)atomic_load_explicit(&row->pid, memory_order_relaxed);
}

void watch_program(const watch_job *job, char *out, size_t out_len)
{
    out[0] = '\0';
    for (uint32_t i = 0; i < job->page->size && out[0] == '\0'; i++) {
        pid_t pid = pid_of(&job->page->ranks[i]);
        if (pid != 0 && pen_process_is_own(pid))
            pen_process_command(pid, out, out_len);
    }
    if (out[0] == '\0')
        pen_process_command(job->id, out, out_len);
    for (char *c = out; *c != '\0'; c++) /* a terminal takes no orders from arguments */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

watch_rank watch_rank_read(const watch_job *job, uint32_t local_rank)
{
    const pen_host_rank *row = &job->page->ranks[local_rank];
    const pen_host_shown *shown = &row->shown;
    watch_rank out = { .rank = job->page->first + local_rank,
                       .pid = pid_of(row),
                       .process = '?',
                       .now_ns = pen_now_ns() };
    out.phase = atomic_load_explicit(&row->phase, memory_order_relaxed);
    out.events = atomic_load_explicit(&row->progress, memory_order_relaxed);
    out.seen_ns = atomic_load_explicit(&shown->seen_ns, memory_order_relaxed);
    uint64_t *counters = (uint64_t *)(void *)&out.counters;
    for (size_t i = 0; i < PEN_COUNTER_COUNT; i++)
        counters[i] = atomic_load_explicit(&shown->counters[i], memory_order_relaxed);
    if (out.pid == 0 || !pen_process_is_own(out.pid))
        return out;
    out.process = pen_process_state(out.pid);
    (void)pen_process_use_read(out.pid, &out.use);
    out.waits = pen_wait_read(&row->wait, out.now_ns, &out.wait);
    return out;
}

static const char *waiting_text(pen_call call)
{
    return call == PEN_CALL_POLL ? "polling" : "waiting";
}

const char *watch_state_text(const watch_rank *rank)
{
    if (rank->pid == 0)
        return "starting";
    switch (rank->process) {
    case 'T':
    case 't':
        return "stopped";
    case 'Z':
    case 'X':
    case '?':
        return "ended";
    default:
        break;
    }
    if (rank->waits)
        return waiting_text(rank->wait.call);
    return rank->process == 'R' ? "computing" : "asleep";
}
