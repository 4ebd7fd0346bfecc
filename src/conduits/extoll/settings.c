/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.c: the conduit's variables, and the plan made from them for a job. */
#include "conduits/extoll/extoll.h"

#include "conduit/conduit.h"
#include "credit/credit.h"
#include "knob/knob.h"
#include "link/mailbox.h"
#include "softnic/extoll/card.h"

#include <string.h>

enum { NS_PER_S = 1000000000 };

#define CREDIT_KNOB(FIELD, NAME, TYPE, FALLBACK, SUMMARY)         \
    { "PENSTOCK_EXTOLL_CREDIT_" #NAME, PEN_KNOB_##TYPE, FALLBACK, \
      offsetof(extoll_config, credits.FIELD), SUMMARY },

const pen_knob extoll_knobs[] = {
    { "PENSTOCK_EXTOLL_MODE", PEN_KNOB_STRING, "coalesced", offsetof(extoll_config, mode),
      "Division of active messages into packets: coalesced (as few as possible), or sectioned "
      "(header, "
      "arguments and payload each begin a packet, one packet for each poll)." },
    PEN_CREDIT_SETTINGS(CREDIT_KNOB){
        "PENSTOCK_EXTOLL_SLOT", PEN_KNOB_INT, "64", offsetof(extoll_config, slot_len),
        "Bytes of a mailbox slot, 64 or 128; the card uses 8 of them." },
    { "PENSTOCK_EXTOLL_MAILBOX", PEN_KNOB_INT, "0", offsetof(extoll_config, mailbox),
      "Slots of a rank's mailbox; 0: the least number that the credits need." },
    { "PENSTOCK_EXTOLL_NOTIFICATIONS", PEN_KNOB_INT, "1024", offsetof(extoll_config, notifications),
      "Notifications that a rank's queue holds." },
    { "PENSTOCK_EXTOLL_LATENCY", PEN_KNOB_STRING, "off", offsetof(extoll_config, latency),
      "Speed of the software card: off (as fast as possible), or machine (as the hardware's first "
      "revision, 970 ns for a packet)." },
    { "PENSTOCK_EXTOLL_FAULT_SEED", PEN_KNOB_INT, "1", offsetof(extoll_config, fault_seed),
      "Fault injection: seed of the random faults below." },
    { "PENSTOCK_EXTOLL_FAULT_DELAY", PEN_KNOB_SECONDS, "0", offsetof(extoll_config, fault_delay_s),
      "Fault injection: longest extra delay of a packet." },
    { "PENSTOCK_EXTOLL_FAULT_LATE", PEN_KNOB_INT, "0", offsetof(extoll_config, fault_late),
      "Fault injection: delay one of every N puts and gets." },
    { "PENSTOCK_EXTOLL_FAULT_FULL", PEN_KNOB_INT, "0", offsetof(extoll_config, fault_full),
      "Fault injection: report a full mailbox or queue once every N attempts." },
    { "PENSTOCK_EXTOLL_FAULT_REGISTER", PEN_KNOB_INT, "0", offsetof(extoll_config, fault_register),
      "Fault injection: let registration of memory fail once every N attempts." },
    { "PENSTOCK_EXTOLL_FAULT_MLOCK", PEN_KNOB_BOOL, "no", offsetof(extoll_config, fault_mlock),
      "Fault injection: let failed registrations blame the limit of locked memory." },
    { 0 },
};

static bool is_count(int64_t value) { return value >= 0 && value <= INT32_MAX; }

static bool has_counts(const extoll_config *config)
{
    return is_count(config->slot_len) && is_count(config->notifications) &&
           is_count(config->fault_late) && is_count(config->fault_full) &&
           is_count(config->fault_register) && config->fault_delay_s >= 0 &&
           config->fault_delay_s <= 1;
}

static const char *plan_card(const extoll_config *config, pen_peer peers, uint64_t slots,
                             pen_card_config *card)
{
    bool machine = strcmp(config->latency, "machine") == 0;
    if (!machine && strcmp(config->latency, "off") != 0)
        return "PENSTOCK_EXTOLL_LATENCY must be off or machine";
    if (!has_counts(config))
        return "PENSTOCK_EXTOLL_SLOT, _NOTIFICATIONS and _FAULT_... must not be negative, and a "
               "delay must be at most a second";
    pen_card_config_default(card);
    card->node_count = (uint16_t)peers;
    card->vpids = 1;
    card->slot_len = (uint32_t)config->slot_len;
    card->mailbox_slots = (uint32_t)slots;
    card->notifications = (uint32_t)config->notifications;
    card->regions = EXTOLL_REGIONS_MAX + 2;
    card->full = PEN_CARD_TRY_AGAIN;
    if (machine)
        card->latency = pen_card_latency_machine();
    card->faults = (pen_card_faults){ .seed = (uint64_t)config->fault_seed,
                                      .velo_delay_ns = (uint32_t)(config->fault_delay_s * NS_PER_S),
                                      .late_one_in = (uint32_t)config->fault_late,
                                      .full_one_in = (uint32_t)config->fault_full,
                                      .register_one_in = (uint32_t)config->fault_register,
                                      .register_mlock = config->fault_mlock };
    return pen_card_config_check(card);
}

const char *extoll_plan_make(const extoll_config *config, pen_peer peers, extoll_plan *out)
{
    extoll_plan plan = { .coalesced = strcmp(config->mode, "coalesced") == 0 };
    if (!plan.coalesced && strcmp(config->mode, "sectioned") != 0)
        return "PENSTOCK_EXTOLL_MODE must be coalesced or sectioned";
    if (peers == 0 || peers > EXTOLL_RANKS_MAX)
        return "it serves 1 to 16384 ranks";
    const char *wrong = pen_mailbox_plan_make(&config->credits, peers, &plan.credits);
    if (wrong != NULL)
        return wrong;
    uint64_t slots = plan.credits.slots;
    if (config->mailbox != 0 && (config->mailbox < 0 || (uint64_t)config->mailbox < slots))
        return "PENSTOCK_EXTOLL_MAILBOX is less than the credits need; set it to 0";
    if (config->mailbox != 0)
        slots = (uint64_t)config->mailbox;
    if (slots > INT32_MAX)
        return "the mailbox would be too large; lower PENSTOCK_EXTOLL_CREDIT_QUOTA";
    wrong = plan_card(config, peers, slots, &plan.card);
    if (wrong == NULL)
        *out = plan;
    return wrong;
}
