/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: `penstock`: finds the subcommand. */
#include "command/command.h"

#include "base/nearest.h"
#include "diag/log.h"
#include "pen_config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int version(void)
{
    printf("penstock %s\n", PEN_VERSION_STRING);
    return command_written("command");
}

/* A program, a number of ranks, or an option of it: `penstock run` was meant. */
static bool is_for_run(const char *typed)
{
    static const char *const options[] = { "-n", "-np", "--conduit", "--hosts", "--timeout", NULL };
    bool is_number = typed[0] != '\0' && strspn(typed, "0123456789") == strlen(typed);
    for (const char *const *option = options; *option != NULL; option++)
        if (strcmp(typed, *option) == 0)
            return true;
    return is_number || strchr(typed, '/') != NULL;
}

static int unknown_command(const char *typed)
{
    if (is_for_run(typed)) {
        pen_log log;
        pen_log_init(&log, "command");
        pen_log_error(&log,
                      "unknown command \"%s\"; to start a job, give `penstock run -n N [options] "
                      "program`",
                      typed);
        return COMMAND_USAGE;
    }
    const char *words[16];
    size_t count = 0;
    for (const command *row = command_table; row->name != NULL && count < 15; row++)
        words[count++] = row->name;
    words[count] = NULL;
    return command_unknown("penstock", typed[0] == '-' ? "option" : "command", typed,
                           pen_nearest(typed, words));
}

int main(int argc, char **argv)
{
    (void)argc;
    if (argc < 2 || argv[1] == NULL) {
        command_print_help(stderr, NULL);
        return COMMAND_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return version();
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        word = "help";
    const command *found = command_find(word);
    return found != NULL ? found->run(argv + 2) : unknown_command(word);
}
