/* SPDX-License-Identifier: BSD-3-Clause */
/* fixture.h: a granting receiver and a spending sender, and what tests say to them. */
#ifndef UNIT_CREDIT_FIXTURE_H
#define UNIT_CREDIT_FIXTURE_H

#include "credit/credit.h"
#include "credit/credit_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { FIXTURE_MEMORY = 32768 };

/* A receiver and a sender with the same parameters, which need not be each other's. */
typedef struct fixture {
    pen_credit_params params;
    pen_credit_receiver *receiver;
    pen_credit_sender *sender;
    _Alignas(16) char in[FIXTURE_MEMORY], out[FIXTURE_MEMORY];
} fixture;

static inline void open_it(fixture *f, pen_credit_policy policy, uint32_t peers, uint32_t quota)
{
    f->params = (pen_credit_params){ policy,       peers,     quota,
                                     .control = 2, .step = 4, .hysteresis = 1.25,
                                     .period = 6,  .epoch = 8 };
    assert_true(pen_credit_receiver_size(&f->params) <= FIXTURE_MEMORY);
    assert_true(pen_credit_sender_size(&f->params) <= FIXTURE_MEMORY);
    f->receiver = pen_credit_receiver_open(f->in, &f->params);
    f->sender = pen_credit_sender_open(f->out, &f->params);
}

static const pen_credit_tag plain = { false, 0 }, urgent = { true, 0 };

static inline void arrive(fixture *f, uint32_t peer, uint32_t count)
{
    while (count-- > 0)
        assert_int_equal(pen_credit_receiver_arrived(f->receiver, peer, plain), PEN_OK);
}

static inline void free_slots(fixture *f, uint32_t peer, uint32_t count)
{
    while (count-- > 0)
        pen_credit_receiver_freed(f->receiver, peer);
    pen_credit_receiver_audit(f->receiver);
}

static inline void expect_next(fixture *f, uint32_t peer, pen_credit_kind kind, uint32_t count)
{
    uint32_t whose = 99;
    pen_credit_message message;
    assert_true(pen_credit_receiver_next(f->receiver, &whose, &message));
    assert_int_equal(whose, peer);
    assert_int_equal(message.kind, kind);
    assert_int_equal(message.count, count);
}

static inline void expect_nothing(fixture *f)
{
    uint32_t whose = 0;
    pen_credit_message message;
    assert_false(pen_credit_receiver_next(f->receiver, &whose, &message));
}

static inline pen_credit_receiver_counters in_of(const fixture *f, uint32_t peer)
{
    pen_credit_receiver_counters counters;
    pen_credit_receiver_count(f->receiver, peer, &counters);
    return counters;
}

static inline pen_credit_sender_counters out_of(const fixture *f, uint32_t peer)
{
    pen_credit_sender_counters counters;
    pen_credit_sender_count(f->sender, peer, &counters);
    return counters;
}

/* A quota that was moved and granted: all of it is out. */
static inline void raise_quota(fixture *f, uint32_t peer, uint32_t count)
{
    pen_credit_quota_add(f->receiver, peer, count);
    pen_credit_refill(f->receiver, peer);
    expect_next(f, peer, PEN_CREDIT_GRANT, count);
    arrive(f, peer, 1); /* shows that the grants before were consumed */
}

static inline void lower_quota(fixture *f, uint32_t peer, uint32_t count)
{
    pen_credit_quota_add(f->receiver, peer, -(int64_t)count);
    pen_credit_settle(f->receiver, peer);
}

#endif
