/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.c: gives a target every file of a folder, whole and cut at every length, and with each
 * byte changed in a few ways, so that every compiler tries the corpus.
 *
 *     fuzz.<target> <folder> [whole]
 *
 * whole: only whole files, for targets that take long. */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LEN_MAX = 1 << 16 };

static void try_around(uint8_t *bytes, size_t len)
{
    static const uint8_t changes[] = { 0x01, 0x80, 0xff, 0x08 };
    (void)LLVMFuzzerTestOneInput(bytes, len);
    for (size_t i = 0; i < len; i++) {
        (void)LLVMFuzzerTestOneInput(bytes, i);
        for (size_t k = 0; k < sizeof changes; k++) {
            bytes[i] ^= changes[k];
            (void)LLVMFuzzerTestOneInput(bytes, len);
            bytes[i] ^= changes[k];
        }
    }
}

static int try_file(const char *folder, const char *name, bool is_whole)
{
    static uint8_t bytes[FILE_LEN_MAX];
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    size_t len = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    if (is_whole)
        (void)LLVMFuzzerTestOneInput(bytes, len);
    else
        try_around(bytes, len);
    return 1;
}

int main(int argc, char **argv)
{
    int count = 0;
    DIR *folder = argc == 2 || argc == 3 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "usage: %s FOLDER [whole]\n", argv[0]);
        return 2;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int tried = entry->d_name[0] == '.' ? 0 : try_file(argv[1], entry->d_name, argc == 3);
        if (tried < 0)
            return 1;
        count += tried;
    }
    (void)closedir(folder);
    printf("%d files\n", count);
    return count == 0; /* an empty corpus tests nothing */
}
