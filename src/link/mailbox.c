/* SPDX-License-Identifier: BSD-3-Clause */
/* mailbox.c: the two sets of credits of a mailbox, and the tags and words that carry them. */
#include "link/mailbox.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "credit/constants.h"
#include "credit/credit.h"
#include "diag/counters.h"
#include "link/host.h"

/* Credits of the CONTROL lane: one control slot; a fraction of the data quota, down to the
 * least. Its packets are always drained and never answered under way. */
enum {
    CONTROL_SLOTS = 1,
    CONTROL_QUOTA_MIN = PEN_CREDIT_QUOTA_MIN(CONTROL_SLOTS),
    CONTROL_SHARE = 8,
    ALONE_SLOTS = 2, /* slots of a single rank */
};

/* ---- opening --------------------------------------------------------------------------------- */

const char *pen_mailbox_plan_make(const pen_credit_settings *settings, pen_peer peers,
                                  pen_mailbox_plan *out)
{
    /* The settings are checked for a single rank, too. */
    const uint32_t sources = peers > 1 ? peers - 1 : 1;
    pen_mailbox_plan plan = { .slots = ALONE_SLOTS };
    const char *wrong = pen_credit_params_make(settings, sources, false, &plan.data);
    if (wrong != NULL)
        return wrong;
    uint32_t share = plan.data.quota / CONTROL_SHARE;
    plan.control =
        (pen_credit_params){ .policy = PEN_CREDIT_STATIC,
                             .peers = sources,
                             .quota = share > CONTROL_QUOTA_MIN ? share : CONTROL_QUOTA_MIN,
                             .control = CONTROL_SLOTS,
                             .step = 1,
                             .hysteresis = 1,
                             .epoch = 1,
                             .one_way = true };
    if (peers > 1) {
        plan.data_slots = plan.data.peers * plan.data.quota;
        plan.control_slots = plan.control.peers * plan.control.quota;
        plan.slots = pen_credit_mailbox_slots(&plan.data) + pen_credit_mailbox_slots(&plan.control);
    }
    *out = plan;
    return NULL;
}

bool pen_mailbox_open(pen_mailbox *box, const pen_host *host, const pen_mailbox_plan *plan,
                      pen_peer self)
{
    const pen_credit_params *data = &plan->data, *control = &plan->control;
    *box = (pen_mailbox){
        .data_receiver = pen_host_alloc_zeroed(host, pen_credit_receiver_size(data)),
        .control_receiver = pen_host_alloc_zeroed(host, pen_credit_receiver_size(control)),
        .data_sender = pen_host_alloc_zeroed(host, pen_credit_sender_size(data)),
        .control_sender = pen_host_alloc_zeroed(host, pen_credit_sender_size(control)),
        .patience = pen_host_alloc_zeroed(host, data->peers * sizeof *box->patience),
        .self = self,
    };
    if (box->data_receiver == NULL || box->control_receiver == NULL || box->data_sender == NULL ||
        box->control_sender == NULL || box->patience == NULL)
        return false;
    (void)pen_credit_receiver_open(box->data_receiver, data);
    (void)pen_credit_receiver_open(box->control_receiver, control);
    (void)pen_credit_sender_open(box->data_sender, data);
    (void)pen_credit_sender_open(box->control_sender, control);
    return true;
}

void pen_mailbox_close(pen_mailbox *box, const pen_host *host)
{
    pen_host_release(host, box->data_receiver);
    pen_host_release(host, box->control_receiver);
    pen_host_release(host, box->data_sender);
    pen_host_release(host, box->control_sender);
    pen_host_release(host, box->patience);
    *box = (pen_mailbox){ 0 };
}

/* ---- tags and words -------------------------------------------------------------------------- */

uint8_t pen_mailbox_tag(pen_lane lane, pen_credit_tag credit, bool ride)
{
    return (uint8_t)((unsigned)lane | (credit.urgent ? PEN_MAILBOX_URGENT : 0u) |
                     (unsigned)credit.need << PEN_MAILBOX_NEED_SHIFT |
                     (ride ? PEN_MAILBOX_RIDE : 0u));
}

bool pen_mailbox_word_parse(uint64_t word, pen_credit_message *out, bool *of_control)
{
    const uint32_t low = (uint32_t)word;
    if ((low & 3u) > PEN_CREDIT_GIVE || (low >> 4 & 15u) != 0)
        return false;
    *of_control = (low >> 2 & 1u) != 0;
    *out = (pen_credit_message){ .kind = (pen_credit_kind)(low & 3u),
                                 .count = low >> 8,
                                 .raised = (int32_t)(uint32_t)(word >> 32),
                                 .epoch = (low >> 3 & 1u) != 0 };
    return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Holds a request back while less than half of the quota is left, as long as credits keep
 * coming: the rest is for replies. Without this rule, a rank that sends as many requests as it
 * can has no credit left for replies to its peer. It has to keep the peer's requests and
 * returns no credit for them, while its peer does the same. Correctness does not depend on
 * this rule: after a fixed number of tries one credit is enough, as the credit rules demand. */
static bool is_held_back(pen_mailbox *box, uint32_t source_i)
{
    if (box->patience[source_i] == 0 || !pen_credit_sender_is_low(box->data_sender, source_i))
        return false;
    box->patience[source_i]--;
    return true;
}

int pen_mailbox_take(pen_mailbox *box, uint32_t source_i, pen_lane lane, uint32_t left, bool begins)
{
    pen_credit_sender *sender = pen_mailbox_sender(box, lane);
    const pen_credit_class class = lane == PEN_LANE_REPLY ? PEN_CREDIT_REPLY : PEN_CREDIT_REQUEST;
    const uint32_t packets = (left + box->packet_len - 1) / box->packet_len;
    pen_credit_tag credit;
    if ((lane == PEN_LANE_REQUEST && begins && is_held_back(box, source_i)) ||
        !pen_credit_sender_take(sender, source_i, class, packets, &credit))
        return -1;
    return pen_mailbox_tag(lane, credit, false);
}

bool pen_mailbox_next(pen_mailbox *box, pen_peer *to, uint64_t *word)
{
    uint32_t source_i = 0;
    pen_credit_message message;
    const bool of_data = pen_credit_sender_next(box->data_sender, &source_i, &message) ||
                         pen_credit_receiver_next(box->data_receiver, &source_i, &message);
    if (!of_data && !pen_credit_receiver_next(box->control_receiver, &source_i, &message))
        return false;
    *to = pen_mailbox_peer(box, source_i);
    *word = pen_mailbox_word(&message, !of_data);
    return true;
}

/* ---- receiving ------------------------------------------------------------------------------- */

void pen_mailbox_free(pen_mailbox *box, uint32_t source_i, pen_lane lane)
{
    pen_credit_receiver *receiver = pen_mailbox_receiver(box, lane);
    pen_credit_receiver_freed(receiver, source_i);
    box->is_due |= pen_credit_receiver_has_next(receiver);
}

bool pen_mailbox_hear(pen_mailbox *box, uint32_t source_i, uint64_t word)
{
    pen_credit_message message;
    bool of_control;
    pen_status status;
    if (!pen_mailbox_word_parse(word, &message, &of_control))
        return false;
    if (of_control) {
        status = message.kind == PEN_CREDIT_GRANT
                     ? pen_credit_sender_hear(box->control_sender, source_i, &message)
                     : PEN_ERR_PROTOCOL;
    } else if (message.kind == PEN_CREDIT_GIVE) {
        status = pen_credit_receiver_hear(box->data_receiver, source_i, &message);
        box->is_due |= pen_credit_receiver_has_next(box->data_receiver);
    } else {
        box->patience[source_i] = PEN_MAILBOX_PATIENCE;
        status = pen_credit_sender_hear(box->data_sender, source_i, &message);
    }
    box->is_due |= pen_credit_sender_has_next(box->data_sender);
    return status == PEN_OK;
}

/* ---- statistics ------------------------------------------------------------------------------ */

void pen_credits_count(const pen_credit_sender *sender, const pen_credit_receiver *receiver,
                       uint32_t peer_i, pen_peer_counters *sum)
{
    pen_credit_sender_counters sent;
    pen_credit_receiver_counters received;
    pen_credit_sender_count(sender, peer_i, &sent);
    pen_credit_receiver_count(receiver, peer_i, &received);
    sum->packets_sent += sent.packets;
    sum->quota += sent.quota;
    sum->hand += sent.hand;
    sum->stalls += sent.stalls;
    sum->recalls_answered += sent.recalls;
    sum->packets_received += received.packets;
    sum->quota_given += received.quota;
    sum->mailbox += received.mailbox;
    sum->control_sent += received.grants + received.recalls;
    sum->rides += received.rides;
    sum->recalls += received.recalls;
}
