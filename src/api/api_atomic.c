/* SPDX-License-Identifier: BSD-3-Clause */
/* api_atomic.c: remote atomics: domains, and the operations that the inline bodies of the headers
 * pass on. */
#include "atomic/atomic.h"

#include "api/api.h"
#include "base/compiler.h"
#include "job/checks.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "pen_config.h"
#include "rma/watch.h"

#include <gasnet_ratomic.h>

enum {
    FAVOR_FLAGS = GEX_FLAG_AD_FAVOR_MY_RANK | GEX_FLAG_AD_FAVOR_MY_NBRHD | GEX_FLAG_AD_FAVOR_REMOTE
};
#define OP_FLAGS                                                                      \
    (GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ | GEX_FLAG_AD_MY_RANK | GEX_FLAG_AD_MY_NBRHD | \
     GEX_FLAG_RANK_IS_JOBRANK)

/* ---- domains -------------------------------------------------------------------------------- */

void gex_AD_Create(gex_AD_t *domain, gex_TM_t team, gex_DT_t type, gex_OP_t ops, gex_Flags_t flags)
{
    static const char call[] = "gex_AD_Create";
    (void)pen_api_job(call);
    pen_api_check_context(call);
    if (domain == NULL)
        pen_api_misuse(call, "there is no place for the domain: its pointer is NULL");
    if (team == NULL || team->is_pair)
        pen_api_misuse(call, "the team is %s, which has no domains",
                       team == NULL ? "GEX_TM_INVALID" : "the result of gex_TM_Pair");
    pen_api_check_own_capability(call, team->endpoint, GEX_EP_CAPABILITY_AD);
    if (!pen_atomic_type_is_valid(type))
        pen_api_misuse(call, "type 0x%x: one of GEX_DT_I32, U32, I64, U64, FLT and DBL is needed",
                       type);
    if ((ops & ~pen_atomic_ops_of(type)) != 0)
        pen_api_misuse(call, "operations 0x%x: 0x%x do not exist for type 0x%x%s", ops,
                       ops & ~pen_atomic_ops_of(type), type,
                       (type & (GEX_DT_FLT | GEX_DT_DBL)) != 0 ? "; bits of floats are not combined"
                                                               : "");
    if ((flags & ~(gex_Flags_t)FAVOR_FLAGS) != 0)
        pen_api_misuse(call, "flags 0x%x: this call does not accept 0x%x", flags,
                       flags & ~(gex_Flags_t)FAVOR_FLAGS);
    pen_atomic_domain *made = pen_atomic_create(team, type, ops, flags);
    if (made == NULL)
        pen_api_misuse(call, "this rank has no domain, and the members that have it continue; "
                             "destroy domains that are no longer used");
    *domain = made;
}

void gex_AD_Destroy(gex_AD_t domain)
{
    static const char call[] = "gex_AD_Destroy";
    (void)pen_api_job(call);
    pen_api_check_context(call);
    if (domain == NULL)
        pen_api_misuse(call, "the domain is GEX_AD_INVALID");
    pen_atomic_destroy(domain);
}

gex_Flags_t gex_AD_QueryFlags(gex_AD_t domain) { return domain->flags; }
gex_TM_t gex_AD_QueryTM(gex_AD_t domain) { return domain->view.team; }
gex_DT_t gex_AD_QueryDT(gex_AD_t domain) { return domain->type; }
gex_OP_t gex_AD_QueryOps(gex_AD_t domain) { return domain->ops; }
void gex_AD_SetCData(gex_AD_t domain, const void *data) { domain->cdata = data; }
void *gex_AD_QueryCData(gex_AD_t domain) { return (void *)(uintptr_t)domain->cdata; }

/* ---- checks --------------------------------------------------------------------------------- */

static const char *call_name(gex_DT_t type, bool implicit)
{
    static const char *const names[][2] = {
        { "gex_AD_OpNB_I32", "gex_AD_OpNBI_I32" }, { "gex_AD_OpNB_U32", "gex_AD_OpNBI_U32" },
        { "gex_AD_OpNB_I64", "gex_AD_OpNBI_I64" }, { "gex_AD_OpNB_U64", "gex_AD_OpNBI_U64" },
        { "gex_AD_OpNB_FLT", "gex_AD_OpNBI_FLT" }, { "gex_AD_OpNB_DBL", "gex_AD_OpNBI_DBL" },
    };
    return names[__builtin_ctz(type)][implicit];
}

static void check_operation(const char *name, const pen_atomic_domain *domain,
                            const pen_atomic_call *call)
{
    if (call->type != domain->type)
        pen_api_misuse(name, "the domain is of another type, 0x%x", domain->type);
    if (call->op == 0 || (call->op & (call->op - 1)) != 0)
        pen_api_misuse(name, "operation 0x%x: a call makes one, so give one bit", call->op);
    if ((call->op & domain->ops) == 0)
        pen_api_misuse(name, "operation 0x%x: the domain was made for the operations 0x%x only",
                       call->op, domain->ops);
    if (pen_atomic_fetches(call->op) && call->result == NULL)
        pen_api_misuse(name, "operation 0x%x fetches, and its result has no place: it is NULL",
                       call->op);
}

/* Checks that the flags tell the truth about the target. */
static void check_promises(const char *name, const pen_team *team, const pen_atomic_call *call)
{
    const uint32_t jobrank = pen_team_jobrank(team, call->rank);
    const pen_job *job = team->job;
    if ((call->flags & GEX_FLAG_AD_MY_RANK) != 0 && jobrank != job->rank)
        pen_api_misuse(name, "GEX_FLAG_AD_MY_RANK, but rank %u is not the caller", call->rank);
    if ((call->flags & GEX_FLAG_AD_MY_NBRHD) != 0 && jobrank != job->rank &&
        !job->routes[jobrank].same_host)
        pen_api_misuse(name, "GEX_FLAG_AD_MY_NBRHD, but rank %u does not share the caller's memory",
                       call->rank);
}

/* ---- operations ----------------------------------------------------------------------------- */

/* Begins both kinds of calls: checks, and replaces the rank by a rank of the team. */
static pen_thread *enter(pen_atomic_domain *domain, pen_atomic_call *call, bool implicit)
{
    const char *name = call_name(call->type, implicit);
    pen_job *job = pen_api_job(name);
    if (pen_unlikely(domain == NULL))
        pen_api_misuse(name, "the domain is GEX_AD_INVALID");
    const pen_team *team = domain->view.team;
    if (pen_unlikely((call->flags & GEX_FLAG_RANK_IS_JOBRANK) != 0)) {
        const gex_Rank_t rank = gex_TM_TranslateJobrankToRank(domain->view.team, call->rank);
        if (rank == GEX_RANK_INVALID)
            pen_api_misuse(name, "job rank %u is no member of the domain's team", call->rank);
        call->rank = rank;
    }
    pen_api_check_member(name, team, call->rank);
    check_operation(name, domain, call);
    if (PEN_CHECKED) {
        pen_api_check_peer(name, team, call->rank, call->flags & ~OP_FLAGS);
        if (pen_api_checks(PEN_CHECK_ARGUMENT))
            check_promises(name, team, call);
    }
    pen_api_go_on(job);
    return pen_api_thread(job);
}

/* Checked builds: until the operation is synchronised, only operations of this domain may use its
 * target. */
static pen_watch_call watch(pen_thread *thread, const pen_atomic_domain *domain,
                            const pen_atomic_call *call, bool implicit)
{
    pen_watch_call what = { .name = call_name(call->type, implicit),
                            .thread = thread,
                            .kind = PEN_WATCH_ATOMIC,
                            .jobrank = pen_team_jobrank(domain->view.team, call->rank),
                            .remote = call->target,
                            .local = pen_atomic_fetches(call->op) ? call->result : NULL,
                            .len = pen_atomic_len(call->type),
                            .content = (uintptr_t)domain };
    pen_watch_begin(&what);
    return what;
}

gex_Event_t pen_api_atomic_nb(gex_AD_t domain, const pen_atomic_call *given)
{
    pen_atomic_call call = *given;
    pen_thread *thread = enter(domain, &call, false);
    if (!PEN_CHECKED)
        return pen_atomic_nb(thread, domain, &call);
    const pen_watch_call what = watch(thread, domain, &call, false);
    return pen_watch_event(&what, pen_atomic_nb(thread, domain, &call), NULL);
}

int pen_api_atomic_nbi(gex_AD_t domain, const pen_atomic_call *given)
{
    pen_atomic_call call = *given;
    pen_thread *thread = enter(domain, &call, true);
    if (!PEN_CHECKED)
        return pen_atomic_nbi(thread, domain, &call);
    const pen_watch_call what = watch(thread, domain, &call, true);
    int refused = pen_atomic_nbi(thread, domain, &call);
    if (!refused)
        pen_watch_implicit(&what, pen_atomic_category(call.op));
    return refused;
}
