/* SPDX-License-Identifier: BSD-3-Clause */
/* host.c: a program that is linked with no communication library. It loads a plugin, uses it,
 * closes it, goes on alone, and loads it a second time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *must(void *pointer, const char *what)
{
    if (pointer != NULL)
        return pointer;
    fprintf(stderr, "%s: %s\n", what, dlerror());
    exit(1);
}

int main(int argc, char **argv)
{
    int rank = -1, size = 0;
    for (int round = 0; argc == 2 && round < 2; round++) {
        void *plugin = must(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), argv[1]);
        int (*open)(int *, int *) =
            (int (*)(int *, int *))must(dlsym(plugin, "plugin_open"), "plugin_open");
        long (*sum)(long) = (long (*)(long))must(dlsym(plugin, "plugin_sum"), "plugin_sum");
        int (*leave)(void) = (int (*)(void))must(dlsym(plugin, "plugin_close"), "plugin_close");
        if (open(&rank, &size) != 0)
            return 2;
        for (long i = 0; i < 50; i++)
            if (sum(rank + i) != size * (size - 1) / 2 + size * i)
                return 3;
        if (leave() != 0)
            return 4;
        dlclose(plugin);
    }
    printf("rank %d of %d: good\n", rank, size);
    return 0;
}
