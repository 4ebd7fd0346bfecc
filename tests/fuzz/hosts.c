/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts.c: lists of hosts: from the command line, a file, or Slurm. The first byte selects the
 * source. Every accepted name must be one that ssh takes for a host. */
#include "remote/hosts.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void look_at(const pen_hosts *hosts)
{
    for (uint32_t i = 0; i < hosts->count; i++) {
        const pen_hosts_entry *entry = &hosts->entries[i];
        size_t len = strnlen(entry->name, sizeof entry->name);
        if (len == 0 || len == sizeof entry->name || entry->name[0] == '-' ||
            entry->slots > PEN_HOST_SLOTS_MAX ||
            strpbrk(entry->name, " \t\n\r'\"\\$`;|&<>(){}*?!#/") != NULL)
            abort();
    }
    if (hosts->count > PEN_HOSTS_MAX)
        abort();
}

static void place(const pen_hosts *hosts, uint32_t ranks)
{
    static uint32_t cores[PEN_HOSTS_MAX], counts[PEN_HOSTS_MAX];
    pen_hosts_problem problem = { "" };
    uint32_t sum = 0;
    for (uint32_t i = 0; i < hosts->count; i++)
        cores[i] = 1 + i % 7;
    if (hosts->count == 0 || !pen_hosts_place(hosts, cores, ranks, counts, &problem))
        return;
    for (uint32_t i = 0; i < hosts->count; i++)
        sum += counts[i];
    if (sum != ranks)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    pen_hosts hosts = { 0 };
    pen_hosts_problem problem = { "" };
    if (len < 2)
        return 0;
    char *text = malloc(len - 1);
    if (text == NULL)
        return 0;
    memcpy(text, bytes + 2, len - 2);
    text[len - 2] = '\0';
    bool is_good;
    if (bytes[0] % 3 == 0) {
        is_good = pen_hosts_from_list(text, "--hosts", &hosts, &problem);
    } else if (bytes[0] % 3 == 1) {
        char *exact = malloc(len - 2 + (len == 2)); /* a file ends without a zero */
        memcpy(exact, text, len - 2);
        is_good = pen_hosts_from_file(exact, len - 2, "hosts", &hosts, &problem);
        free(exact);
    } else {
        const char *tasks = strchr(text, '\n');
        size_t nodes_len = tasks != NULL ? (size_t)(tasks - text) : len - 2;
        char *nodes = strndup(text, nodes_len);
        is_good = pen_hosts_from_slurm(nodes, tasks != NULL ? tasks + 1 : NULL, &hosts, &problem);
        free(nodes);
    }
    if (strnlen(problem.text, sizeof problem.text) == sizeof problem.text ||
        is_good != (problem.text[0] == '\0'))
        abort();
    look_at(&hosts);
    if (is_good)
        place(&hosts, bytes[1] * 4u + 1);
    pen_hosts_free(&hosts);
    free(text);
    return 0;
}
