/* SPDX-License-Identifier: BSD-3-Clause */
/* params.c: checks the settings, computes the number of slots, and has the lists of peers. */
#include "credit/credit_internal.h"

#include <string.h>

/* Keeps wrapping counters comparable. */
#define SLOTS_MAX (UINT32_C(1) << 30)

static const pen_credit_rules *const policies[PEN_CREDIT_POLICIES] = {
    [PEN_CREDIT_STATIC] = &pen_credit_static,
    [PEN_CREDIT_ACTIVITY] = &pen_credit_activity,
    [PEN_CREDIT_LOAN] = &pen_credit_loan,
};

const pen_credit_rules *pen_credit_rules_of(pen_credit_policy policy) { return policies[policy]; }

const char *pen_credit_policy_name(pen_credit_policy policy)
{
    return (unsigned)policy < PEN_CREDIT_POLICIES ? policies[policy]->name : "unknown";
}

static bool can_start(const pen_credit_params *params)
{
    bool is_all = policies[params->policy]->shares_all;
    uint32_t least = is_all ? params->quota : pen_credit_least(params);
    return PEN_CREDIT_CAN_START(params->start, least, params->quota);
}

static const char *check_pace(const pen_credit_params *params)
{
    if (params->period > SLOTS_MAX)
        return "the period must be at most 2^30";
    if (params->step == 0 || params->epoch == 0)
        return "the step and the epoch must be at least 1";
    if (!(params->hysteresis >= 1)) /* also false if it is no number */
        return "the hysteresis must be at least 1";
    return NULL;
}

static const char *check_quota(const pen_credit_params *params)
{
    uint32_t least = PEN_CREDIT_QUOTA_MIN(params->control);
    if (params->quota < least)
        return "the quota must be at least one more than the control slots";
    if (params->least > params->quota || (params->least != 0 && params->least < least))
        return "the least quota must be one more than the control slots to the quota";
    if (params->start > 0 && !can_start(params))
        return "the start must be 0, or the least quota (control slots and one) to the quota; with "
               "the static policy it is the quota";
    return NULL;
}

const char *pen_credit_params_check(const pen_credit_params *params)
{
    uint32_t n = params->control;
    uint32_t least = params->one_way ? 1 : PEN_CREDIT_CONTROL_MIN;
    if ((unsigned)params->policy >= PEN_CREDIT_POLICIES)
        return "the policy must be static, activity or loan";
    if (n < least || n > PEN_CREDIT_CONTROL_MAX)
        return params->one_way ? "there must be 1 to 8 control slots"
                               : "there must be 2 to 8 control slots, since replies need credits";
    const char *wrong = check_quota(params);
    if (wrong != NULL)
        return wrong;
    if (params->peers == 0 || (uint64_t)params->peers * params->quota > SLOTS_MAX)
        return "peers times quota must be 1 to 2^30";
    return check_pace(params);
}

static bool find_policy(const char *name, pen_credit_policy *out)
{
    for (unsigned i = 0; name != NULL && i < PEN_CREDIT_POLICIES; i++) {
        if (strcmp(name, policies[i]->name) == 0) {
            *out = (pen_credit_policy)i;
            return true;
        }
    }
    return false;
}

/* Turns a number outside of 32 bits into 0, which most parameters refuse. */
static uint32_t narrow(int64_t value)
{
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* Turns a number outside of 32 bits into the largest one, for parameters in which 0 has a meaning.
 */
static uint32_t narrow_or_zero(int64_t value)
{
    return value >= 0 && value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

const char *pen_credit_params_make(const pen_credit_settings *settings, uint32_t peers,
                                   bool one_way, pen_credit_params *out)
{
    pen_credit_params made = {
        .policy = PEN_CREDIT_POLICIES,
        .peers = peers,
        .quota = narrow(settings->quota),
        .start = narrow_or_zero(settings->start),
        .control = narrow(settings->control),
        .step = narrow(settings->step),
        .hysteresis = settings->hysteresis,
        .period = narrow_or_zero(settings->period),
        .epoch = narrow(settings->epoch),
        .one_way = one_way,
    };
    (void)find_policy(settings->policy, &made.policy); /* not known; the check refuses it */
    const char *wrong = pen_credit_params_check(&made);
    if (wrong == NULL)
        *out = made;
    return wrong;
}

uint32_t pen_credit_slots(const pen_credit_params *params) { return params->peers * params->quota; }

uint32_t pen_credit_start(const pen_credit_params *params)
{
    if (params->start > 0)
        return params->start;
    return policies[params->policy]->shares_all ? params->quota : pen_credit_least(params);
}

uint64_t pen_credit_mailbox_slots(const pen_credit_params *params)
{
    uint32_t recall = policies[params->policy]->shares_all ? 0 : PEN_CREDIT_CONTROL_RECALL;
    return (uint64_t)params->peers * (params->quota + params->control + recall);
}

void pen_credit_list_open(pen_credit_list *list, pen_credit_link *links, uint32_t peers)
{
    *list = (pen_credit_list){ PEN_CREDIT_NONE, PEN_CREDIT_NONE, links };
    for (uint32_t i = 0; i < peers; i++)
        links[i] = (pen_credit_link){ PEN_CREDIT_NONE, false };
}

void pen_credit_list_push(pen_credit_list *list, uint32_t peer_i)
{
    if (list->links[peer_i].listed)
        return;
    list->links[peer_i] = (pen_credit_link){ PEN_CREDIT_NONE, true };
    if (list->first == PEN_CREDIT_NONE)
        list->first = peer_i;
    else
        list->links[list->last].next = peer_i;
    list->last = peer_i;
}

bool pen_credit_list_pop(pen_credit_list *list, uint32_t *peer_i)
{
    if (list->first == PEN_CREDIT_NONE)
        return false;
    *peer_i = list->first;
    list->first = list->links[*peer_i].next;
    list->links[*peer_i].listed = false;
    return true;
}
