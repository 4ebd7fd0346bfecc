/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.h: numbers that the user gives to an example, and what limits them. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A whole number from min to max, or -1. */
static inline long number_of(const char *text, long min, long max)
{
    char *end = NULL;
    const long number = text == NULL ? -1 : strtol(text, &end, 10);
    return text != NULL && end != text && *end == '\0' && number >= min && number <= max ? number
                                                                                         : -1;
}

/* Bytes of memory that nobody uses now, or that the system would give up at once. */
static inline uint64_t memory_free_len(void)
{
    uint64_t free_len = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long free_kib;
    char line[128];
    FILE *meminfo = fopen("/proc/meminfo", "re");
    while (meminfo != NULL && fgets(line, sizeof(line), meminfo) != NULL)
        if (sscanf(line, "MemAvailable: %lu kB", &free_kib) == 1)
            free_len = (uint64_t)free_kib * 1024;
    if (meminfo != NULL)
        fclose(meminfo);
    return free_len;
}

#endif
