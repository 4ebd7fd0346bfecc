/* SPDX-License-Identifier: BSD-3-Clause */
/* twosided.h: a small two-sided library over the EXTOLL card: what MPI would be there, to be
 * compared with. Messages up to TWOSIDED_EAGER_LEN go by VELO at once (eager), longer ones are
 * fetched by RMA when their receive is found (rendezvous). Messages match by source and tag, in the
 * order in which they were sent; what comes before its receive is kept (unexpected). Credits of
 * src/credit, under any of its policies, keep a mailbox from overflowing.
 *
 * One thread. Requests are the caller's memory until they are done. Every call makes progress. */
#ifndef PEN_BENCH_TWOSIDED_TWOSIDED_H
#define PEN_BENCH_TWOSIDED_TWOSIDED_H

#include "credit/credit.h"

#include "softnic/extoll/rma2.h"
#include "softnic/extoll/velo2.h"

#include <rma2.h>
#include <velo2.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TWOSIDED_EAGER_LEN = 2048, TWOSIDED_ANY = -1, TWOSIDED_TAG_MAX = 0x7fff };

typedef struct twosided twosided;

typedef struct twosided_request {
    bool done, is_cut; /* is_cut: the message was longer than the buffer */
    int peer;          /* wanted; then of the message */
    int tag;
    size_t len; /* length of the buffer; after completion, length of the message */
    /* The library's. */
    void *buf;
    size_t moved;
    uint64_t theirs; /* NLA */
    uint32_t number;
    bool started;
    unsigned char *bounce;
    RMA2_Region *region;
    struct twosided_request *next;
} twosided_request;

/* How many slots a rank's mailbox has to have. */
uint64_t twosided_mailbox_slots(const pen_credit_params *params);

/* Ports and connections (to every rank, by number) stay the caller's. params: for ranks - 1 peers,
 * one_way. NULL: no memory. */
twosided *twosided_open(velo2_port_t *velo, velo2_connection_t *to, RMA2_Port rma,
                        RMA2_Handle *rma_to, int rank, int rank_count,
                        const pen_credit_params *params);

/* Once everything was received, here and by all others. */
void twosided_close(twosided *t);

void twosided_isend(twosided *t, int peer, int tag, const void *buf, size_t len,
                    twosided_request *request);

/* peer and tag may be TWOSIDED_ANY. */
void twosided_irecv(twosided *t, int peer, int tag, void *buf, size_t len,
                    twosided_request *request);
bool twosided_test(twosided *t, twosided_request *request);
void twosided_wait(twosided *t, twosided_request *request);

void twosided_send(twosided *t, int peer, int tag, const void *buf, size_t len);

/* Answers the message's length; out may be NULL. */
size_t twosided_recv(twosided *t, int peer, int tag, void *buf, size_t len, twosided_request *out);

typedef struct twosided_counts {
    uint64_t packets, stalls, control; /* sent; waits for credit; packets for credits */
    uint64_t unexpected, fetched;      /* messages */
    uint64_t overflows;                /* packets that found a mailbox full: credits forbid it */
    uint64_t protocol;                 /* packets that no rank of this job sends */
} twosided_counts;

void twosided_count(const twosided *t, twosided_counts *out);

#endif
