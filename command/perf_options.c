/* SPDX-License-Identifier: BSD-3-Clause */
/* perf_options.c: takes the command line of `penstock perf` apart. */
#include "command/perf_options.h"

#include "base/nearest.h"
#include "knob/knob.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LEN_MAX = 16 << 20, PAIR_RANKS = 2 };

/* Operations that can be measured, each with the least number of ranks. */
static const struct operation {
    const char *name;
    unsigned ranks_min;
} operations[] = {
    { "am", PAIR_RANKS },  { "put", PAIR_RANKS }, { "get", PAIR_RANKS },
    { "vis", PAIR_RANKS }, { "barrier", 1 },      { "coll", 1 },
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

typedef struct parser {
    char **at;
    perf_options *out;
    run_problem *problem;
    const struct operation *operation;
    int64_t ranks; /* 0: not a number, of which `penstock run` will complain */
} parser;

static bool complain(parser *p, const char *what, const char *value)
{
    (void)snprintf(p->problem->text, sizeof(p->problem->text), what, value);
    return false;
}

static bool for_program(parser *p, char *word)
{
    if (p->out->program_count == PERF_WORDS_MAX)
        return complain(p, "too many options%s", "");
    p->out->for_program[p->out->program_count++] = word;
    return true;
}

static bool for_run(parser *p, char *word)
{
    if (p->out->run_count == PERF_WORDS_MAX)
        return complain(p, "too many options%s", "");
    p->out->for_run[p->out->run_count++] = word;
    return true;
}

static bool take_len_max(parser *p, char *name, char *value)
{
    uint64_t len;
    if (!pen_knob_parse(PEN_KNOB_BYTES, value, &len) || len < 8 || len > LEN_MAX)
        return complain(p, "--max %s: give a length from 8 bytes to 16 MiB, such as 64K", value);
    (void)snprintf(p->out->len_max, sizeof(p->out->len_max), "%" PRIu64, len);
    return for_program(p, name) && for_program(p, p->out->len_max);
}

static bool take_mode(parser *p, char *value)
{
    p->out->par = strcmp(value, "par") == 0;
    return p->out->par || strcmp(value, "seq") == 0 ||
           complain(p, "--mode %s: give seq or par", value);
}

/* Options that `penstock run` checks. */
static bool take_for_run(parser *p, char *name, char *value)
{
    if (strcmp(name, "-n") == 0 && !pen_knob_parse(PEN_KNOB_INT, value, &p->ranks))
        p->ranks = 0;
    return for_run(p, name) && for_run(p, value);
}

static bool take_operation(parser *p, char *word, bool *unknown)
{
    if (p->operation != NULL)
        return complain(p, "one operation at a time, and \"%s\" is a second", word);
    const char *words[OPERATIONS + 1] = { NULL };
    for (size_t i = 0; i < OPERATIONS; i++) {
        words[i] = operations[i].name;
        if (strcmp(word, operations[i].name) == 0)
            p->operation = &operations[i];
    }
    p->out->for_program[0] = word;
    if (p->operation != NULL)
        return true;
    *unknown = true;
    p->problem->unknown = word;
    p->problem->nearest = pen_nearest(word, words);
    return false;
}

static const char *const known[] = { "-n",        "--json",  "--quick",    "--max",
                                     "--mode",    "--hosts", "--hostfile", "--conduit",
                                     "--timeout", "--help",  NULL };

void perf_option_print_words(FILE *out)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        fprintf(out, "%s\n", operations[i].name);
    for (const char *const *word = known; *word != NULL; word++)
        fprintf(out, "%s\n", *word);
}

static bool take_option(parser *p, char *name)
{
    if (strcmp(name, "--json") == 0 || strcmp(name, "--quick") == 0)
        return for_program(p, name);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return p->out->help = true;
    bool found = false;
    for (const char *const *word = known; *word != NULL; word++)
        found |= strcmp(name, *word) == 0;
    if (!found) {
        p->problem->unknown = name;
        p->problem->nearest = pen_nearest(name, known);
        return false;
    }
    if (*p->at == NULL)
        return complain(p, "%s needs a value", name);
    char *value = *p->at++;
    if (strcmp(name, "--max") == 0)
        return take_len_max(p, name, value);
    if (strcmp(name, "--mode") == 0)
        return take_mode(p, value);
    return take_for_run(p, name, value);
}

bool perf_options_parse(char **arguments, perf_options *out, run_problem *problem,
                        bool *unknown_operation)
{
    *out = (perf_options){ .program_count = 1 }; /* the first is the operation */
    *problem = (run_problem){ .unknown = NULL };
    *unknown_operation = false;
    parser p = { .at = arguments, .out = out, .problem = problem, .ranks = -1 };
    while (*p.at != NULL && !out->help) {
        char *word = *p.at++;
        if (!(word[0] == '-' ? take_option(&p, word) : take_operation(&p, word, unknown_operation)))
            return false;
    }
    if (out->help)
        return true;
    if (p.operation == NULL)
        return complain(&p, "which operation? give am, put, get, vis, barrier or coll%s", "");
    if (p.ranks < 0)
        return complain(&p, "how many ranks? give -n N%s", "");
    if (p.ranks > 0 && p.ranks < p.operation->ranks_min)
        return complain(&p, "%s is between two ranks: give -n 2", p.operation->name);
    return true;
}
