/* SPDX-License-Identifier: BSD-3-Clause */
/* run_options.c: takes the command lines of `penstock run` and `penstock sim` apart. */
#include "command/run_options.h"

#include "base/nearest.h"
#include "boot/boot.h"
#include "knob/knob.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct parser {
    char **at; /* the argument being looked at */
    unsigned command;
    run_options *out;
    void (*set)(void *ctx, char *entry);
    void *ctx;
    run_problem *problem;
} parser;

typedef bool (*option_take)(parser *p, const char *name, char *value);

/* The commands that have an option. */
enum { RUN = 1, SIM = 2, BOTH = RUN | SIM };

typedef struct option {
    unsigned commands;
    const char *name;
    option_take take; /* its value; NULL: it has none and sets a flag */
    size_t flag;      /* where in run_options */
} option;

static bool complain(parser *p, const char *what, const char *name, const char *value)
{
    (void)snprintf(p->problem->text, sizeof(p->problem->text), what, name, value);
    return false;
}

static bool take_ranks(parser *p, const char *name, char *value)
{
    int64_t ranks;
    if (!pen_knob_parse(PEN_KNOB_INT, value, &ranks) || ranks < 1 || ranks > PEN_BOOT_RANKS_MAX)
        return complain(p, "%s %s: give a number of ranks from 1 to 4096", name, value);
    p->out->ranks = (uint32_t)ranks;
    return true;
}
_Static_assert(PEN_BOOT_RANKS_MAX == 4096, "the message above names the limit");

static bool take_timeout(parser *p, const char *name, char *value)
{
    if (!pen_knob_parse(PEN_KNOB_SECONDS, value, &p->out->timeout_s) || p->out->timeout_s <= 0 ||
        p->out->timeout_s > 1e9)
        return complain(p, "%s %s: give a time such as 30, 500ms, 10m or 2h", name, value);
    return true;
}

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return len > 0;
}

static bool take_env(parser *p, const char *name, char *value)
{
    size_t name_len = strcspn(value, "=");
    if (!is_name(value, name_len))
        return complain(p, "%s %s: give NAME=VALUE, or the NAME of a variable to hand on", name,
                        value);
    p->set(p->ctx, value);
    return true;
}

static bool take_conduit(parser *p, const char *name, char *value)
{
    if (*value == '\0')
        return complain(p, "%s%s: give the name of a conduit; `penstock info` lists them", name,
                        value);
    p->out->conduit = value;
    return true;
}

static bool take_trace(parser *p, const char *name, char *value)
{
    if (*value == '\0')
        return complain(p, "%s%s: give the name of a file", name, value);
    p->out->trace = value;
    return true;
}

static bool take_hosts(parser *p, const char *name, char *value)
{
    (void)name;
    p->out->hosts = value;
    return true;
}

static bool take_hostfile(parser *p, const char *name, char *value)
{
    (void)name;
    p->out->hostfile = value;
    return true;
}

static bool take_machine(parser *p, const char *name, char *value)
{
    (void)name;
    p->out->machine = value;
    return true;
}

static bool take_topology(parser *p, const char *name, char *value)
{
    (void)name;
    p->out->topology = value;
    return true;
}

static bool take_placement(parser *p, const char *name, char *value)
{
    (void)name;
    p->out->placement = value;
    return true;
}

static bool take_per_node(parser *p, const char *name, char *value)
{
    int64_t ranks;
    if (!pen_knob_parse(PEN_KNOB_INT, value, &ranks) || ranks < 1 || ranks > PEN_BOOT_RANKS_MAX)
        return complain(p, "%s %s: give a number of ranks from 1 to 4096", name, value);
    p->out->per_node = (uint32_t)ranks;
    return true;
}

static const option options[] = {
    { BOTH, "-n", take_ranks, 0 },
    { BOTH, "-np", take_ranks, 0 },
    { RUN, "--hosts", take_hosts, 0 },
    { RUN, "--hostfile", take_hostfile, 0 },
    { RUN, "--local", NULL, offsetof(run_options, local) },
    { BOTH, "--timeout", take_timeout, 0 },
    { BOTH, "--tag", NULL, offsetof(run_options, tag) },
    { RUN, "--bind", NULL, offsetof(run_options, bind) },
    { BOTH, "--env", take_env, 0 },
    { RUN, "--conduit", take_conduit, 0 },
    { RUN, "--trace", take_trace, 0 },
    { SIM, "--machine", take_machine, 0 },
    { SIM, "--topology", take_topology, 0 },
    { SIM, "--per-node", take_per_node, 0 },
    { SIM, "--placement", take_placement, 0 },
    { SIM, "--json", NULL, offsetof(run_options, json) },
    { BOTH, "--checked", NULL, offsetof(run_options, checked) },
    { BOTH, "--stats", NULL, offsetof(run_options, stats) },
    { BOTH, "--verbose", NULL, offsetof(run_options, verbose) },
    { BOTH, "-v", NULL, offsetof(run_options, verbose) },
    { BOTH, "--help", NULL, offsetof(run_options, help) },
    { BOTH, "-h", NULL, offsetof(run_options, help) },
};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

/* "--name=value" and "-n4" are one argument; then *value is within it. */
static const option *option_find(unsigned command, char *argument, char **value)
{
    *value = NULL;
    size_t name_len = strcspn(argument, "=");
    for (size_t i = 0; i < OPTIONS; i++) {
        const option *o = &options[i];
        size_t len = strlen(o->name);
        if ((o->commands & command) == 0)
            continue;
        if (strcmp(argument, o->name) == 0)
            return o;
        if (len == name_len && argument[1] == '-' && strncmp(argument, o->name, len) == 0) {
            *value = argument + len + 1;
            return o;
        }
    }
    if (strncmp(argument, "-n", 2) == 0 && argument[2] >= '0' && argument[2] <= '9') {
        *value = argument + 2;
        return &options[0];
    }
    return NULL;
}

static bool unknown(parser *p)
{
    const char *words[OPTIONS + 1];
    size_t count = 0;
    for (size_t i = 0; i < OPTIONS; i++)
        if ((options[i].commands & p->command) != 0)
            words[count++] = options[i].name;
    words[count] = NULL;
    p->problem->unknown = *p->at;
    p->problem->nearest = pen_nearest(*p->at, words);
    return false;
}

static bool option_parse(parser *p)
{
    char *value;
    const option *found = option_find(p->command, *p->at, &value);
    if (found == NULL)
        return unknown(p);
    p->at++;
    if (found->take == NULL) {
        *(bool *)(void *)((char *)p->out + found->flag) = true;
        return value == NULL || complain(p, "%s takes no value%s", found->name, "");
    }
    if (value == NULL) {
        if (*p->at == NULL)
            return complain(p, "%s needs a value%s", found->name, "");
        value = *p->at++;
    }
    return found->take(p, found->name, value);
}

void run_option_print_names(FILE *out, bool is_sim)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if ((options[i].commands & (is_sim ? SIM : RUN)) != 0)
            fprintf(out, "%s\n", options[i].name);
}

bool run_option_takes_value(const char *word)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        if (strcmp(word, options[i].name) == 0)
            return options[i].take != NULL;
    }
    return false;
}

static bool parse(parser p)
{
    run_options *out = p.out;
    *out = (run_options){ .ranks = 0 };
    *p.problem = (run_problem){ .unknown = NULL };
    while (*p.at != NULL && (*p.at)[0] == '-' && (*p.at)[1] != '\0') {
        if (strcmp(*p.at, "--") == 0) {
            p.at++;
            break;
        }
        if (!option_parse(&p))
            return false;
        if (out->help)
            return true;
    }
    out->argv = p.at;
    if ((out->hosts != NULL) + (out->hostfile != NULL) + out->local > 1)
        return complain(&p, "one of --hosts, --hostfile and --local is enough%s%s", "", "");
    if (out->ranks == 0 && *out->argv != NULL)
        return complain(&p, "how many ranks? give -n N before %s%s", *out->argv, "");
    if (out->ranks == 0)
        return complain(&p, "how many ranks? give -n N%s%s", "", "");
    if (*out->argv == NULL)
        return complain(&p, "which program? give it after the options%s%s", "", "");
    return true;
}

bool run_options_parse(char **arguments, run_options *out, void (*set)(void *ctx, char *entry),
                       void *ctx, run_problem *problem)
{
    return parse((parser){ arguments, RUN, out, set, ctx, problem });
}

bool run_options_parse_sim(char **arguments, run_options *out, void (*set)(void *ctx, char *entry),
                           void *ctx, run_problem *problem)
{
    return parse((parser){ arguments, SIM, out, set, ctx, problem });
}
