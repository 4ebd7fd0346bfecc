/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.c: reads /proc; a process that is gone by then answers like one that cannot be read. */
#include "os/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PF_EXITING_FLAG = 0x4, PF_SIGNALED_FLAG = 0x400 }; /* bits of the kernel's task flags */

static size_t read_file(const char *path, char *out, size_t out_len)
{
    out[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, out, out_len - 1);
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* state, parent and flags of /proc/<pid>/stat; the command in it may hold anything, but not the
 * last parenthesis. */
static bool read_stat(pid_t pid, char *state, int *parent, unsigned *flags)
{
    char path[48], text[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (read_file(path, text, sizeof(text)) == 0)
        return false;
    const char *after = strrchr(text, ')');
    return after != NULL &&
           sscanf(after + 1, " %c %d %*d %*d %*d %*d %u", state, parent, flags) == 3;
}

char pen_process_state(pid_t pid)
{
    char state;
    int parent;
    unsigned flags;
    return read_stat(pid, &state, &parent, &flags) ? state : '?';
}

bool pen_process_catches(pid_t pid, int signal)
{
    char path[48], text[4096];
    unsigned long long caught = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (read_file(path, text, sizeof(text)) == 0)
        return false;
    const char *row = strstr(text, "\nSigCgt:");
    return row != NULL && sscanf(row, "\nSigCgt: %llx", &caught) == 1 &&
           (caught >> (signal - 1) & 1) != 0;
}

bool pen_process_exiting(pid_t pid)
{
    char state;
    int parent;
    unsigned flags;
    return read_stat(pid, &state, &parent, &flags) &&
           (flags & (PF_EXITING_FLAG | PF_SIGNALED_FLAG)) != 0;
}

void pen_process_sleeps_in(pid_t pid, char *out, size_t out_len)
{
    char path[48];
    (void)snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
    if (read_file(path, out, out_len) == 0 || strcmp(out, "0") == 0)
        out[0] = '\0';
}

bool pen_process_is_own(pid_t pid)
{
    char path[48];
    struct stat about;
    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &about) == 0 && about.st_uid == geteuid();
}

void pen_process_command(pid_t pid, char *out, size_t out_len)
{
    char path[48];
    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    size_t len = read_file(path, out, out_len);
    while (len > 0 && out[len - 1] == '\0')
        len--;
    for (size_t i = 0; i < len; i++)
        if (out[i] == '\0')
            out[i] = ' ';
}

/* Reads a row of /proc/<pid>/status in KiB. */
static uint64_t status_len(const char *text, const char *name)
{
    const char *row = strstr(text, name);
    return row != NULL ? (uint64_t)strtoull(row + strlen(name), NULL, 10) << 10 : 0;
}

bool pen_process_use_read(pid_t pid, pen_process_use *out)
{
    char path[48], text[4096];
    unsigned long long user, system;
    long tick = sysconf(_SC_CLK_TCK);
    *out = (pen_process_use){ .core = -1 };
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (read_file(path, text, sizeof(text)) == 0 || tick <= 0)
        return false;
    const char *after = strrchr(text, ')');
    /* fields 14, 15 and 39; the first one after the command is 3 */
    if (after == NULL ||
        sscanf(after + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d "
               "%*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
               &user, &system, &out->core) != 3)
        return false;
    out->cpu_ns = (uint64_t)((double)(user + system) * 1e9 / (double)tick);
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (read_file(path, text, sizeof(text)) == 0)
        return false;
    out->resident = status_len(text, "\nVmRSS:");
    out->swapped = status_len(text, "\nVmSwap:");
    const char *cores = strstr(text, "\nCpus_allowed_list:");
    return cores == NULL || sscanf(cores, "\nCpus_allowed_list: %63s", out->cores) == 1;
}

typedef struct pid_list {
    pid_t *pids;
    size_t count, room;
} pid_list;

static bool list_add(pid_list *list, pid_t pid)
{
    if (list->count + 1 >= list->room) {
        size_t room = list->room == 0 ? 16 : 2 * list->room;
        pid_t *grown = realloc(list->pids, room * sizeof(*grown));
        if (grown == NULL)
            return false;
        list->pids = grown;
        list->room = room;
    }
    list->pids[list->count++] = pid;
    return true;
}

/* The kernel's own list of a thread's children, where it keeps one and there is room for it. */
static bool children_listed(pid_t parent, pid_t thread, pid_list *list)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)thread);
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return false;
    int pid;
    bool all = true;
    while (all && fscanf(in, "%d", &pid) == 1)
        all = list_add(list, pid);
    fclose(in);
    return all;
}

/* A folder of /proc as a process; 0: it is something else. */
static pid_t pid_of(const char *name) { return (pid_t)strtol(name, NULL, 10); }

/* NULL, or the call that failed. */
static const char *children_searched(pid_t parent, pid_list *list)
{
    DIR *folder = opendir("/proc");
    if (folder == NULL)
        return "opendir";
    const char *call = NULL;
    struct dirent *entry;
    while (call == NULL && (entry = readdir(folder)) != NULL) {
        char state;
        int its_parent;
        unsigned flags;
        pid_t pid = pid_of(entry->d_name);
        if (pid > 0 && read_stat(pid, &state, &its_parent, &flags) && its_parent == parent &&
            !list_add(list, pid))
            call = "realloc";
    }
    closedir(folder);
    return call;
}

pid_t *pen_children(pid_t parent, const char **call)
{
    pid_list list = { NULL, 0, 0 };
    char path[48];
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
    DIR *threads = opendir(path);
    bool listed = threads != NULL;
    struct dirent *entry;
    while (listed && (entry = readdir(threads)) != NULL) {
        pid_t thread = pid_of(entry->d_name);
        if (thread > 0)
            listed = children_listed(parent, thread, &list);
    }
    if (threads != NULL)
        closedir(threads);
    *call = NULL;
    if (!listed) {
        list.count = 0;
        *call = children_searched(parent, &list);
    }
    if (*call == NULL && !list_add(&list, 0))
        *call = "realloc";
    if (*call == NULL)
        return list.pids;
    free(list.pids); /* keeps errno */
    return NULL;
}

bool pen_is_privileged(void) { return getauxval(AT_SECURE) != 0; }
