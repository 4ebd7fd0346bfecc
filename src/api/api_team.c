/* SPDX-License-Identifier: BSD-3-Clause */
/* api_team.c: makes and ends teams, answers questions about them, and translates ranks. */
#include "team/team.h"

#include "api/api.h"
#include "base/compiler.h"
#include "job/checks.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "mem/mem.h"
#include "pen_config.h"

#include <errno.h>
#include <gasnetex.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PEN_TEAM_RANK_NONE == GEX_RANK_INVALID, "no rank is the same number for clients");

/* ---- scratch memory, of which we use none --------------------------------------------------- */

/* The scratch size that clients are told: a size of 0 might look like a failed allocation. */
enum { SCRATCH_LEN = PEN_CACHE_LINE };

#define SIZE_FLAGS (GEX_FLAG_TM_SCRATCH_SIZE_MIN | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED)
#define KIND_FLAGS                                                                            \
    (GEX_FLAG_TM_GLOBAL_SCRATCH | GEX_FLAG_TM_LOCAL_SCRATCH | GEX_FLAG_TM_SYMMETRIC_SCRATCH | \
     GEX_FLAG_TM_NO_SCRATCH)

static bool many(gex_Flags_t flags) { return (flags & (flags - 1)) != 0; }

/* Records the scratch memory that the client lends a team, for gex_TM_Destroy. */
static void lend(const char *call, pen_team *team, void *scratch, size_t len, gex_Flags_t flags)
{
    const pen_segment *segment = team->endpoint->segment;
    team->flags = flags;
    if ((flags & GEX_FLAG_TM_NO_SCRATCH) || len == 0)
        return;
    uintptr_t base = segment != NULL ? (uintptr_t)segment->base : 0;
    uintptr_t offset = (uintptr_t)scratch - base;
    if (flags & GEX_FLAG_SCRATCH_SEG_OFFSET)
        offset = (uintptr_t)scratch;
    bool bound = team->job->segment_mode != PEN_SEGMENT_EVERYTHING;
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && bound &&
        (segment == NULL || offset > segment->len || len > segment->len - offset))
        pen_api_misuse(call, "%zu bytes of scratch at %p are not in the endpoint's segment", len,
                       scratch);
    team->scratch = (gex_Memvec_t){ (void *)(base + offset), len };
}

/* ---- making teams --------------------------------------------------------------------------- */

static pen_thread *enter(const char *call, const pen_team *team)
{
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    if (team == NULL || team->is_pair)
        pen_api_misuse(call, "the team is %s",
                       team == NULL ? "GEX_TM_INVALID"
                                    : "the result of gex_TM_Pair, which is "
                                      "no team");
    return pen_api_thread(job);
}

static void check_flags(const char *call, gex_Flags_t flags, gex_Flags_t known)
{
    if ((flags & ~known) != 0)
        pen_api_misuse(call, "flags 0x%x: this call does not accept 0x%x", flags, flags & ~known);
    if (many(flags & SIZE_FLAGS))
        pen_api_misuse(call, "flags 0x%x: ask for one size, the smallest or the recommended one",
                       flags);
}

#define SPLIT_FLAGS (SIZE_FLAGS | GEX_FLAG_TM_NO_SCRATCH | GEX_FLAG_SCRATCH_SEG_OFFSET)

size_t gex_TM_Split(gex_TM_t *team, gex_TM_t parent, int color, int key, void *scratch,
                    size_t scratch_size, gex_Flags_t flags)
{
    static const char call[] = "gex_TM_Split";
    pen_thread *thread = enter(call, parent);
    check_flags(call, flags, SPLIT_FLAGS);
    bool joins = team != NULL;
    if (flags & SIZE_FLAGS)
        return joins ? SCRATCH_LEN : 0;
    if (joins && color < 0)
        pen_api_misuse(call, "color %d: must not be negative", color);
    pen_team *made = pen_team_split(thread, parent, joins, color, key, call);
    if (joins) {
        lend(call, made, scratch, scratch_size, flags);
        *team = made;
    }
    return 0;
}

size_t gex_TM_Dup(gex_TM_t *team, gex_TM_t old, void *scratch, size_t scratch_size,
                  gex_Flags_t flags)
{
    static const char call[] = "gex_TM_Dup";
    pen_thread *thread = enter(call, old);
    check_flags(call, flags, SPLIT_FLAGS);
    if (flags & SIZE_FLAGS)
        return SCRATCH_LEN;
    if (team == NULL)
        pen_api_misuse(call, "there is nowhere to write the team; every member gets one");
    pen_team *made = pen_team_split(thread, old, true, 0, 0, call);
    lend(call, made, scratch, scratch_size, flags);
    *team = made;
    return 0;
}

/* Returns the list as job ranks, NULL if it is empty; the caller frees it. */
static gex_EP_Location_t *by_jobrank(const char *call, const pen_team *parent,
                                     const gex_EP_Location_t *members, size_t count,
                                     gex_Flags_t flags)
{
    if (count == 0)
        return NULL;
    gex_EP_Location_t *list = calloc(count, sizeof *list);
    if (list == NULL)
        pen_api_misuse(call, "a list of %zu members: calloc: %s; make a smaller team", count,
                       strerror(errno));
    for (size_t i = 0; i < count; i++) {
        list[i] = members[i];
        if (flags & GEX_FLAG_RANK_IS_JOBRANK)
            continue;
        if (members[i].gex_rank >= parent->view.size)
            pen_api_misuse(call, "member %zu is rank %u, and the parent team has %u", i,
                           members[i].gex_rank, parent->view.size);
        list[i].gex_rank = pen_team_jobrank(parent, members[i].gex_rank);
    }
    return list;
}

static void check_kind(const char *call, const gex_Addr_t *scratch, size_t scratch_size,
                       gex_Flags_t flags)
{
    gex_Flags_t kind = flags & KIND_FLAGS;
    if (kind == 0 || many(kind))
        pen_api_misuse(call,
                       "flags 0x%x: give exactly one of GEX_FLAG_TM_GLOBAL_SCRATCH, "
                       "GEX_FLAG_TM_LOCAL_SCRATCH, GEX_FLAG_TM_SYMMETRIC_SCRATCH and "
                       "GEX_FLAG_TM_NO_SCRATCH",
                       flags);
    if (kind != GEX_FLAG_TM_NO_SCRATCH && scratch == NULL && scratch_size != 0)
        pen_api_misuse(call, "%zu bytes of scratch, but no addresses", scratch_size);
}

/* Records the scratch memory of each new team, from a list of addresses. */
static void lend_all(const char *call, gex_TM_t *teams, size_t team_count,
                     const gex_Addr_t *scratch, size_t scratch_size, gex_Flags_t flags)
{
    for (size_t i = 0; i < team_count; i++) {
        void *mine = NULL;
        if (scratch_size == 0 || (flags & GEX_FLAG_TM_NO_SCRATCH))
            ; /* the list may have no addresses */
        else if (flags & GEX_FLAG_TM_GLOBAL_SCRATCH)
            mine = scratch[teams[i]->view.rank];
        else
            mine = scratch[flags & GEX_FLAG_TM_LOCAL_SCRATCH ? i : 0];
        lend(call, teams[i], mine, scratch_size, flags);
    }
}

#define CREATE_FLAGS \
    (SIZE_FLAGS | KIND_FLAGS | GEX_FLAG_SCRATCH_SEG_OFFSET | GEX_FLAG_RANK_IS_JOBRANK)

size_t gex_TM_Create(gex_TM_t *teams, size_t team_count, gex_TM_t parent,
                     gex_EP_Location_t *members, size_t member_count, gex_Addr_t *scratch,
                     size_t scratch_size, gex_Flags_t flags)
{
    static const char call[] = "gex_TM_Create";
    pen_thread *thread = enter(call, parent);
    check_flags(call, flags, CREATE_FLAGS);
    if (member_count == 0) /* the caller is in no new team, so its team_count is ignored */
        team_count = 0;
    if (many(flags & KIND_FLAGS) || (team_count != 0 && (flags & SIZE_FLAGS) == 0))
        check_kind(call, scratch, scratch_size, flags);
    if (flags & SIZE_FLAGS)
        return member_count != 0 ? SCRATCH_LEN : 0;
    if ((teams == NULL && team_count != 0) || (members == NULL && member_count != 0))
        pen_api_misuse(call, "%zu new teams at %p, %zu members at %p", team_count, (void *)teams,
                       member_count, (void *)members);
    gex_EP_Location_t *list = by_jobrank(call, parent, members, member_count, flags);
    pen_team_create(thread, parent, list, member_count, teams, team_count);
    free(list);
    lend_all(call, teams, team_count, scratch, scratch_size, flags);
    return 0;
}

int gex_TM_Destroy(gex_TM_t team, gex_Memvec_t *scratch, gex_Flags_t flags)
{
    static const char call[] = "gex_TM_Destroy";
    pen_thread *thread = enter(call, team);
    if ((flags & ~GEX_FLAG_GLOBALLY_QUIESCED) != 0)
        pen_api_misuse(call, "flags 0x%x: only GEX_FLAG_GLOBALLY_QUIESCED is taken", flags);
    if (team == &thread->job->world)
        pen_api_misuse(call, "the primordial team ends with the job");
    gex_Memvec_t lent = team->scratch;
    pen_team_destroy(thread, team, (flags & GEX_FLAG_GLOBALLY_QUIESCED) != 0);
    if (lent.gex_len == 0 || scratch == NULL)
        return 0;
    *scratch = lent;
    return 1;
}

/* ---- questions ------------------------------------------------------------------------------ */

static void no_pair(const char *call, gex_TM_t team)
{
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && team->is_pair)
        pen_api_misuse(call, "called with the result of gex_TM_Pair, which is no team");
}

gex_Client_t gex_TM_QueryClient(gex_TM_t team)
{
    no_pair("gex_TM_QueryClient", team);
    return team->endpoint->client;
}

gex_EP_t gex_TM_QueryEP(gex_TM_t team)
{
    no_pair("gex_TM_QueryEP", team);
    return team->endpoint;
}

gex_Flags_t gex_TM_QueryFlags(gex_TM_t team)
{
    no_pair("gex_TM_QueryFlags", team);
    return team->flags;
}

void gex_TM_SetCData(gex_TM_t team, const void *data)
{
    no_pair("gex_TM_SetCData", team);
    team->cdata = data;
}

void *gex_TM_QueryCData(gex_TM_t team)
{
    no_pair("gex_TM_QueryCData", team);
    return (void *)(uintptr_t)team->cdata;
}

/* ---- translation ---------------------------------------------------------------------------- */

gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t team, gex_Rank_t rank)
{
    if (rank >= (team->is_pair ? team->job->size : team->view.size))
        return GEX_RANK_INVALID;
    return pen_team_jobrank(team, rank);
}

gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t team, gex_Rank_t jobrank)
{
    return pen_team_rank_of(team, jobrank);
}

gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t team, gex_Rank_t rank, gex_Flags_t flags)
{
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && flags != 0)
        pen_api_misuse("gex_TM_TranslateRankToEP", "flags 0x%x: must be 0", flags);
    gex_Rank_t jobrank = gex_TM_TranslateRankToJobrank(team, rank);
    uint16_t index = jobrank == GEX_RANK_INVALID ? 0 : pen_team_ep_index(team, rank);
    return (gex_EP_Location_t){ jobrank, index };
}
