/* SPDX-License-Identifier: BSD-3-Clause */
/* count.c: counters for each peer, readable while the job runs. They count data credits; the
 * credits of the CONTROL lane never change. */
#include "conduits/extoll/extoll.h"

#include "conduit/conduit.h"
#include "credit/credit.h"
#include "diag/counters.h"
#include "os/lock.h"

/* Does not wait for the lock: a signal handler may call it while its thread holds the lock. */
static bool count_peer(pen_link *base, pen_peer peer, pen_peer_counters *out)
{
    extoll_link *link = extoll_of(base);
    pen_credit_sender_counters sent;
    pen_credit_receiver_counters received;
    if (peer == base->self || peer >= link->peers || !pen_lock_try(&link->lock))
        return false;
    uint32_t i = extoll_source_i(link, peer);
    pen_credit_sender_count(link->data_sender, i, &sent);
    pen_credit_receiver_count(link->data_receiver, i, &received);
    pen_lock_drop(&link->lock);
    *out = (pen_peer_counters){ .packets_sent = sent.packets,
                                .quota = sent.quota,
                                .hand = sent.hand,
                                .stalls = sent.stalls,
                                .recalls_answered = sent.recalls,
                                .packets_received = received.packets,
                                .quota_given = received.quota,
                                .mailbox = received.mailbox,
                                .control_sent = received.grants + received.recalls,
                                .rides = received.rides,
                                .recalls = received.recalls };
    return true;
}

const pen_count_ops extoll_count = { .peer = count_peer };
