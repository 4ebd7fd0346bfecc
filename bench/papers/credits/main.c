/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: papers_credits MACHINE NAME=VALUE...: one experiment with credits among simulated ranks.
 *
 *   ranks     a power of two                       policy  free, static, activity or loan
 *   slots     of a mailbox for each peer, data and control, as the paper counts
 *   pattern   an operation, see pattern.c          group   ranks of an all-to-all; or a list of
 *   packets   of a message                                 them, 512,256: one phase for each
 *   settle    operations that are not measured     ops     measured; of each phase
 *   step, hysteresis, seed
 *
 * It prints one line of JSON with what was measured; of more than one phase it prints one for each
 * operation, with what rank 0 had for others before it. */
#include "bench/papers/credits/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTROL = 2, PHASES_MAX = 16, RANKS_MAX = 4096 };

typedef struct options {
    uint32_t ranks, slots, packets, settle, ops, step, seed;
    double hysteresis;
    const char *policy;
    pattern pattern;
    uint32_t groups[PHASES_MAX], phases;
} options;

static int refuse(const char *what, const char *why)
{
    fprintf(stderr,
            "papers_credits: %s: %s; the head of bench/papers/credits/main.c says what can "
            "be given\n",
            what, why);
    return 2;
}

static bool read_number(const char *text, uint32_t *out)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 10);
    *out = (uint32_t)value;
    return end != text && *end == 0 && value <= UINT32_MAX;
}

static bool read_groups(const char *text, options *o)
{
    o->phases = 0;
    while (o->phases < PHASES_MAX) {
        char *end = NULL;
        o->groups[o->phases++] = (uint32_t)strtoul(text, &end, 10);
        if (end == text)
            return false;
        if (*end == 0)
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

static bool read_option(const char *name, const char *value, options *o)
{
    const struct {
        const char *name;
        uint32_t *to;
    } numbers[] = {
        { "ranks", &o->ranks },   { "slots", &o->slots }, { "packets", &o->packets },
        { "settle", &o->settle }, { "ops", &o->ops },     { "step", &o->step },
        { "seed", &o->seed },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) == 0)
            return read_number(value, numbers[i].to);
    }
    if (strcmp(name, "policy") == 0) {
        o->policy = value;
        return true;
    }
    if (strcmp(name, "hysteresis") == 0) {
        char *end = NULL;
        o->hysteresis = strtod(value, &end);
        return end != value && *end == 0;
    }
    if (strcmp(name, "pattern") == 0)
        return pattern_find(value, &o->pattern);
    return strcmp(name, "group") == 0 && read_groups(value, o);
}

static const char *check(const options *o)
{
    if (o->ranks < 2 || o->ranks > RANKS_MAX || (o->ranks & (o->ranks - 1)) != 0)
        return "ranks must be a power of two up to 4096";
    if (o->slots <= CONTROL || o->slots > 1000)
        return "slots must be 3 to 1000";
    if (o->packets == 0 || o->packets > 4096 || o->ops == 0)
        return "packets must be 1 to 4096, ops at least 1";
    for (uint32_t i = 0; i < o->phases; i++) {
        if (o->groups[i] < 2 || o->ranks % o->groups[i] != 0)
            return "a group must be at least 2 and divide the ranks";
    }
    return NULL;
}

static const char *make_params(const options *o, model_params *out)
{
    pen_credit_settings settings = {
        .policy = out->is_free ? "static" : o->policy,
        .quota = (int64_t)o->slots - CONTROL,
        .control = CONTROL,
        .step = o->step,
        .hysteresis = o->hysteresis,
        .period = PEN_CREDIT_PERIOD_DEFAULT,
        .epoch = PEN_CREDIT_EPOCH_DEFAULT,
    };
    out->ranks = o->ranks;
    out->message_packets = o->packets;
    out->seed = o->seed;
    return pen_credit_params_make(&settings, o->ranks - 1, true, &out->credit);
}

static const char *measure(model *m, const options *o)
{
    model_counters before, after;
    const char *wrong = model_play(m, o->pattern, o->groups[0], 1, true);
    if (wrong == NULL && o->settle > 0)
        wrong = model_play(m, o->pattern, o->groups[0], o->settle, false);
    model_count(m, &before);
    if (wrong == NULL)
        wrong = model_play(m, o->pattern, o->groups[0], o->ops, false);
    if (wrong != NULL)
        return wrong;
    model_count(m, &after);
    uint64_t messages = after.messages - before.messages;
    printf("{\"policy\": \"%s\", \"ranks\": %" PRIu32 ", \"pattern\": \"%s\", \"group\": %" PRIu32
           ", \"slots\": %" PRIu32 ", \"op_ns\": %.1f, \"messages\": %" PRIu64
           ", \"waited\": %.6f, \"wait_ns\": %.1f, \"controls\": %.4f}\n",
           o->policy, o->ranks, pattern_name(o->pattern), o->groups[0], o->slots,
           (double)(after.now_ns - before.now_ns) / o->ops, messages,
           (double)(after.waited - before.waited) / (double)messages,
           (double)(after.wait_ns - before.wait_ns) / (double)messages,
           (double)(after.controls - before.controls) / (double)messages);
    return NULL;
}

/* Mean and deviation of what rank 0 has for ranks first to last - 1, and the mean of the quotas. */
static void print_part(const model *m, uint32_t first, uint32_t last)
{
    double sum = 0, squares = 0, quotas = 0, count = last - first;
    for (uint32_t peer = first; peer < last; peer++) {
        uint32_t hand = 0, quota = 0;
        model_look(m, peer, &hand, &quota);
        sum += hand;
        squares += (double)hand * hand;
        quotas += quota;
    }
    double mean = sum / count, variance = squares / count - mean * mean;
    printf("[%.2f, %.2f, %.2f]", mean, variance > 0 ? sqrt(variance) : 0, quotas / count);
}

static const char *follow(model *m, const options *o)
{
    uint32_t quarter = o->ranks / 4;
    const char *wrong = NULL;
    for (uint32_t phase = 0; wrong == NULL && phase < o->phases; phase++) {
        for (uint32_t op = 0; wrong == NULL && op < o->ops; op++) {
            printf("{\"phase\": %" PRIu32 ", \"group\": %" PRIu32 ", \"op\": %" PRIu32
                   ", \"parts\": [",
                   phase, o->groups[phase], op);
            print_part(m, 1, quarter);
            printf(", ");
            print_part(m, quarter, 2 * quarter);
            printf(", ");
            print_part(m, 2 * quarter, o->ranks);
            printf("]}\n");
            (void)fflush(stdout);
            wrong = model_play(m, o->pattern, o->groups[phase], 1, false);
        }
    }
    return wrong;
}

static bool read_options(int argc, char **argv, options *o)
{
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value != NULL)
            *value++ = 0;
        if (value == NULL || !read_option(argv[i], value, o)) {
            (void)refuse(argv[i], "not NAME=VALUE, or unknown, or of no such value");
            return false;
        }
    }
    if (o->phases == 0)
        o->groups[o->phases++] = o->ranks;
    return true;
}

static int play(const options *o, const model_params *params)
{
    model *m = model_open(params);
    const char *wrong = m == NULL ? "out of memory" : o->phases > 1 ? follow(m, o) : measure(m, o);
    if (m != NULL)
        model_close(m);
    if (wrong != NULL)
        fprintf(stderr, "papers_credits: %s\n", wrong);
    return wrong != NULL;
}

int main(int argc, char **argv)
{
    options o = { .ranks = 64,
                  .slots = 58,
                  .packets = 38,
                  .settle = 2,
                  .ops = 2,
                  .step = 4,
                  .seed = 1,
                  .hysteresis = 1.5,
                  .policy = "static",
                  .phases = 0 };
    model_params params = { 0 };
    char problem[256] = "none is named";
    if (argc < 2 || !pen_virtual_machine_read(argv[1], &params.machine, problem, sizeof problem))
        return refuse("machine", problem);
    if (!read_options(argc, argv, &o))
        return 2;
    params.is_free = strcmp(o.policy, "free") == 0;
    const char *wrong = check(&o);
    if (wrong == NULL)
        wrong = make_params(&o, &params);
    if (wrong == NULL && params.is_free && o.phases > 1)
        wrong = "without flow control there is nothing to follow";
    return wrong != NULL ? refuse("options", wrong) : play(&o, &params);
}
