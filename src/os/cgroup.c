/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup.c: walks from this process's control group up to the root and reads the limits. If a
 * file is missing or malformed, it sets no limit, because containers often show only a part of
 * the hierarchy. */
#include "os/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_LEN_MAX = 4096 };

typedef struct group {
    const char *folder;
    bool is_v2;
} group;

typedef void (*visit_fn)(const group *at, void *out);

/* Reads the first line of folder/name. Returns false if there is no line. */
static bool read_line(const char *folder, const char *name, char line[LINE_LEN_MAX])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return false;
    bool found = fgets(line, LINE_LEN_MAX, in) != NULL;
    fclose(in);
    return found;
}

/* A non-negative number at the start of text; false for "max", -1 and anything else. */
static bool number_of(const char *text, uint64_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || (*end != '\0' && *end != '\n' && *end != ' '))
        return false;
    *out = value;
    return true;
}

static bool read_number(const char *folder, const char *name, uint64_t *out)
{
    char line[LINE_LEN_MAX];
    return read_line(folder, name, line) && number_of(line, out);
}

/* The number after `key ` in folder/memory.stat, or 0. */
static uint64_t read_memory_stat(const char *folder, const char *key)
{
    char path[PATH_MAX], line[LINE_LEN_MAX];
    if (snprintf(path, sizeof path, "%s/memory.stat", folder) >= (int)sizeof path)
        return 0;
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return 0;
    uint64_t value = 0;
    size_t key_len = strlen(key);
    while (fgets(line, sizeof line, in) != NULL) {
        if (strncmp(line, key, key_len) == 0 && line[key_len] == ' ' &&
            number_of(line + key_len + 1, &value))
            break;
    }
    fclose(in);
    return value;
}

/* ---- what is asked of each group ----------------------------------------------------------- */

static void visit_cores(const group *at, void *out)
{
    double *cores = out;
    uint64_t quota = 0, period = 0;
    if (at->is_v2) { /* "max 100000" or "150000 100000" */
        char line[LINE_LEN_MAX];
        if (!read_line(at->folder, "cpu.max", line) || !number_of(line, &quota))
            return;
        const char *second = strchr(line, ' ');
        if (second == NULL || !number_of(second + 1, &period))
            return;
    } else if (!read_number(at->folder, "cpu.cfs_quota_us", &quota) ||
               !read_number(at->folder, "cpu.cfs_period_us", &period)) {
        return;
    }
    if (quota == 0 || period == 0)
        return;
    double here = (double)quota / (double)period;
    if (*cores == 0 || here < *cores)
        *cores = here;
}

static bool memory_limit_of(const group *at, uint64_t *out)
{
    return read_number(at->folder, at->is_v2 ? "memory.max" : "memory.limit_in_bytes", out);
}

static void visit_memory_limit(const group *at, void *out)
{
    uint64_t *least = out, limit;
    if (memory_limit_of(at, &limit) && limit < *least)
        *least = limit;
}

static void visit_memory_left(const group *at, void *out)
{
    uint64_t *least = out, limit, used;
    if (!memory_limit_of(at, &limit) ||
        !read_number(at->folder, at->is_v2 ? "memory.current" : "memory.usage_in_bytes", &used))
        return;
    uint64_t cache =
        read_memory_stat(at->folder, at->is_v2 ? "inactive_file" : "total_inactive_file");
    used -= cache < used ? cache : used;
    uint64_t left = used < limit ? limit - used : 0;
    if (left < *least)
        *least = left;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Visits base/path, its parents, and base itself. */
static void walk_up(const char *base, const char *path, bool is_v2, visit_fn visit, void *out)
{
    char folder[PATH_MAX];
    int len = snprintf(folder, sizeof folder, "%s%s", base, path);
    size_t base_len = strlen(base);
    /* "/../x": our group lies outside this namespace's view */
    if (len >= (int)sizeof folder || strstr(path, "/..") != NULL)
        (void)snprintf(folder, sizeof folder, "%s", base);
    for (;;) {
        visit(&(group){ folder, is_v2 }, out);
        char *last = strrchr(folder, '/');
        if (last == NULL || (size_t)(last - folder) < base_len)
            break;
        *last = '\0';
    }
}

/* Is `controller` one of the comma-separated names? */
static bool names_have(const char *names, const char *controller)
{
    size_t len = strlen(controller);
    for (const char *at = names; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, controller, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* One line of /proc/self/cgroup, "number:controllers:path"; version 2 has no controllers. */
static void walk_line(const char *root, char *line, const char *controller, visit_fn visit,
                      void *out)
{
    line[strcspn(line, "\n")] = '\0';
    char *names = strchr(line, ':');
    char *path = names != NULL ? strchr(names + 1, ':') : NULL;
    if (path == NULL)
        return;
    *names++ = '\0';
    *path++ = '\0';
    if (strcmp(path, "/") == 0)
        path = "";
    char base[PATH_MAX];
    if (*names == '\0') {
        walk_up(root, path, true, visit, out);
        if (snprintf(base, sizeof base, "%s/unified", root) < (int)sizeof base)
            walk_up(base, path, true, visit, out); /* a system with both versions */
    } else if (names_have(names, controller)) {
        if (snprintf(base, sizeof base, "%s/%s", root, controller) < (int)sizeof base)
            walk_up(base, path, false, visit, out); /* "cpu" is a link to "cpu,cpuacct" */
    }
}

static void walk(const char *root, const char *controller, visit_fn visit, void *out)
{
    char membership[PATH_MAX];
    const char *from = "/proc/self/cgroup";
    if (root == NULL) {
        root = "/sys/fs/cgroup";
    } else {
        if (snprintf(membership, sizeof membership, "%s/self", root) >= (int)sizeof membership)
            return;
        from = membership;
    }
    char line[LINE_LEN_MAX];
    FILE *in = fopen(from, "re");
    if (in != NULL) {
        while (fgets(line, sizeof line, in) != NULL)
            walk_line(root, line, controller, visit, out);
        fclose(in);
        return;
    }
    (void)snprintf(line, sizeof line, "0::/");
    walk_line(root, line, controller, visit, out);
    (void)snprintf(line, sizeof line, "1:%s:/", controller);
    walk_line(root, line, controller, visit, out);
}

double pen_cgroup_cores(const char *root)
{
    double cores = 0;
    walk(root, "cpu", visit_cores, &cores);
    return cores;
}

uint64_t pen_cgroup_memory_limit(const char *root)
{
    uint64_t least = UINT64_MAX;
    walk(root, "memory", visit_memory_limit, &least);
    return least;
}

uint64_t pen_cgroup_memory_left(const char *root)
{
    uint64_t least = UINT64_MAX;
    walk(root, "memory", visit_memory_left, &least);
    return least;
}
