/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_totals.h: figures that the ranks of RandomAccess report to rank 0 at the end. */
#ifndef RANDOMACCESS_TOTALS_H
#define RANDOMACCESS_TOTALS_H

#include <penstock/stats.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

/* Lies in rank 0's segment, one for each rank. */
typedef struct totals {
    uint64_t errors, updates;
    uint64_t puts, gets; /* that the program asked for */
    uint64_t ams_shm, ams_net, puts_shm, puts_net, gets_shm, gets_net; /* that the library did */
} totals;

/* Takes one away from the other: what the library did in between. */
static void totals_count_routes(totals *self, const pen_stats *before, const pen_stats *after)
{
    self->ams_shm = after->am_sent_shm - before->am_sent_shm;
    self->ams_net = after->am_sent_net - before->am_sent_net;
    self->puts_shm = after->put_shm - before->put_shm;
    self->puts_net = after->put_net - before->put_net;
    self->gets_shm = after->get_shm - before->get_shm;
    self->gets_net = after->get_net - before->get_net;
}

static void totals_add(totals *sum, const totals *one)
{
    for (size_t field_i = 0; field_i < sizeof(totals) / sizeof(uint64_t); field_i++)
        ((uint64_t *)sum)[field_i] += ((const uint64_t *)one)[field_i];
}

/* How many words of the table are not what they should be. Updates by put and get may race. */
static void totals_print_check(const totals *sum, uint64_t words, uint64_t errors_max)
{
    printf("  check     %" PRIu64 " of %" PRIu64 " words differ ", sum->errors, words);
    if (errors_max == 0)
        printf("(no word may differ)\n");
    else
        printf("(races are allowed: at most %" PRIu64 ")\n", errors_max);
}

static void totals_print_route(const char *name, uint64_t all, uint64_t shm, uint64_t net)
{
    printf("  %-9s %14" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n", name, all - shm - net, shm, net);
}

/* How many messages, puts and gets went which way. */
static void totals_print_routes(const totals *sum)
{
    printf("  %-9s %14s %14s %14s\n", "route", "inline", "shared memory", "network");
    totals_print_route("AMs", sum->ams_shm + sum->ams_net, sum->ams_shm, sum->ams_net);
    totals_print_route("puts", sum->puts, sum->puts_shm, sum->puts_net);
    totals_print_route("gets", sum->gets, sum->gets_shm, sum->gets_net);
}

#endif
