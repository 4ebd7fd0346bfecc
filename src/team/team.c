/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c: makes teams, by color and key or from lists, and ends them. */
#include "team/team.h"

#include "base/compiler.h"
#include "base/status.h"
#include "boot/wait_state.h"
#include "coll/coll.h"
#include "job/endpoint.h"
#include "job/express.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/publish.h"
#include "job/team.h"
#include "job/thread.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "rma/event.h"
#include "team/team_internal.h"

#include <errno.h>
#include <penstock/types.h>
#include <stdlib.h>
#include <string.h>

static const char create_call[] = "gex_TM_Create";

/* ---- what making a team takes --------------------------------------------------------------- */

static PEN_COLD _Noreturn void no_memory(pen_job *job, const char *call, uint32_t count)
{
    pen_job_fatal(job, "%s: no memory for the data of %u members: calloc: %s; make fewer teams",
                  call, count, strerror(errno));
}

static void *table(pen_job *job, const char *call, uint32_t count, size_t len)
{
    void *memory = calloc(count != 0 ? count : 1, len);
    if (memory == NULL)
        no_memory(job, call, count);
    return memory;
}

/* Every call takes a number, even if it becomes part of no id, so that calls on different teams may
 * overlap. */
static uint32_t number_next(pen_job *job)
{
    pen_lock_take(&job->threads_lock);
    uint32_t number = ++job->teams_made;
    if (number == 0) /* rank 0's number 0 is the primordial team */
        number = ++job->teams_made;
    pen_lock_drop(&job->threads_lock);
    return number;
}

static void gather(pen_thread *thread, pen_team *parent, void *all, const void *mine, size_t len)
{
    pen_event_wait(thread->job, pen_coll_gather_nb(thread, parent, PEN_COLL_ALL, all, mine, len),
                   PEN_CALL_TEAM);
}

static void set_jobranks(pen_team *team, const char *call, const gex_EP_Location_t *members)
{
    uint32_t count = team->view.size;
    if (pen_team_rule(members, count, &team->first, &team->stride))
        return;
    uint32_t *jobranks = table(team->job, call, count, sizeof *jobranks);
    uint32_t *order = table(team->job, call, count, sizeof *order);
    for (uint32_t rank = 0; rank < count; rank++)
        jobranks[rank] = members[rank].gex_rank;
    pen_team_sort(members, count, order);
    team->jobranks = jobranks;
    team->by_jobrank = order;
}

static void set_indexes(pen_team *team, const char *call, const gex_EP_Location_t *members)
{
    uint32_t count = team->view.size, alike = 1;
    while (alike < count && members[alike].gex_ep_index == members[0].gex_ep_index)
        alike++;
    team->pair_index = members[0].gex_ep_index;
    if (alike == count)
        return;
    uint16_t *indexes = table(team->job, call, count, sizeof *indexes);
    for (uint32_t rank = 0; rank < count; rank++)
        indexes[rank] = members[rank].gex_ep_index;
    team->ep_indexes = indexes;
}

static void team_free(pen_team *team)
{
    free((void *)(uintptr_t)team->jobranks);
    free((void *)(uintptr_t)team->by_jobrank);
    free((void *)(uintptr_t)team->ep_indexes);
    free(team->rows);
    free(team);
}

/* Makes the team one of the job's, with the published segments. Returns false if memory is short;
 * the reason has been printed. */
static bool team_join(pen_team *team)
{
    pen_job *job = team->job;
    pen_lock_take(&job->threads_lock);
    team->next = job->teams;
    job->teams = team;
    pen_status status = pen_job_show_team(team);
    pen_lock_drop(&job->threads_lock);
    return status == PEN_OK;
}

static void team_leave(pen_team *team)
{
    pen_job *job = team->job;
    pen_lock_take(&job->threads_lock);
    pen_team **place = &job->teams;
    while (*place != team)
        place = &(*place)->next;
    *place = team->next;
    pen_lock_drop(&job->threads_lock);
}

/* The members of a new team, by rank in it. */
typedef struct team_members {
    const gex_EP_Location_t *members;
    const pen_coll_offer *scratch; /* scratch memory that they offer */
    uint32_t count;
} team_members;

/* Makes the team as its member with this rank sees it, ready for use. */
static pen_team *make(pen_endpoint *endpoint, const char *call, const team_members *all,
                      uint32_t rank, uint64_t id)
{
    pen_job *job = endpoint->job;
    const gex_EP_Location_t *members = all->members;
    uint32_t count = all->count;
    pen_team *team = table(job, call, 1, sizeof *team);
    team->job = job;
    team->endpoint = endpoint;
    team->id = id;
    team->view.rank = rank;
    team->view.size = count;
    set_jobranks(team, call, members);
    set_indexes(team, call, members);
    team->special =
        (team->jobranks != NULL ? PEN_TEAM_LISTED : 0) |
        (team->ep_indexes != NULL || (team->pair_index | endpoint->index) != 0 ? PEN_TEAM_ELSEWHERE
                                                                               : 0);
    pen_team_use_express(team);
    if (!team_join(team) || pen_coll_team_open(team) != PEN_OK ||
        pen_coll_team_share(team, all->scratch) != PEN_OK)
        pen_job_fatal(job,
                      "%s: this rank has no team, and the other %u members would wait for it; make "
                      "fewer teams",
                      call, count - 1);
    return team;
}

/* ---- by color and key ----------------------------------------------------------------------- */

/* Makes the team of the members with the caller's color, from the offers of the parent's members.
 */
static pen_team *make_of_color(pen_team *parent, const char *call, const team_offer *offers)
{
    pen_job *job = parent->job;
    team_place *places = table(job, call, parent->view.size, sizeof *places);
    const team_offer *mine = &offers[parent->view.rank];
    uint32_t count = pen_team_order(offers, parent->view.size, mine->color, places);
    gex_EP_Location_t *members = table(job, call, count, sizeof *members);
    pen_coll_offer *scratch = table(job, call, count, sizeof *scratch);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].rank == parent->view.rank)
            rank = i;
        members[i].gex_rank = pen_team_jobrank(parent, places[i].rank);
        members[i].gex_ep_index = pen_team_ep_index(parent, places[i].rank);
        scratch[i] = offers[places[i].rank].scratch;
    }
    const team_members all = { members, scratch, count };
    uint64_t id = pen_team_id(members[0].gex_rank, offers[places[0].rank].number);
    pen_team *team = make(parent->endpoint, call, &all, rank, id);
    free(scratch);
    free(members);
    free(places);
    return team;
}

pen_team *pen_team_split(pen_thread *thread, pen_team *parent, bool joins, int color, int key,
                         const char *call)
{
    pen_job *job = thread->job;
    team_offer mine = { .joins = joins, .number = number_next(job) };
    if (joins) {
        mine.color = color;
        mine.key = key;
        pen_coll_offer_make(job, &mine.scratch);
    }
    team_offer *offers = table(job, call, parent->view.size, sizeof *offers);
    gather(thread, parent, offers, &mine, sizeof mine);
    pen_team *team = joins ? make_of_color(parent, call, offers) : NULL;
    free(offers);
    return team;
}

/* ---- from lists ----------------------------------------------------------------------------- */

/* Checks what a rank can see without asking another. */
static void check_members(pen_job *job, const gex_EP_Location_t *members, uint32_t count)
{
    uint32_t first, stride, second;
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (members[i].gex_rank >= job->size || members[i].gex_ep_index >= PEN_ENDPOINTS_MAX)
            pen_job_fatal(job,
                          "%s: member %u is endpoint %u of rank %u of the job, which cannot be; "
                          "there are %u ranks",
                          create_call, i, members[i].gex_ep_index, members[i].gex_rank, job->size);
    if (pen_team_rule(members, count, &first, &stride) && stride != 0)
        return; /* no rank occurs twice */
    uint32_t *order = table(job, create_call, count, sizeof *order);
    pen_team_sort(members, count, order);
    if (pen_team_twice(members, count, order, &second))
        pen_job_fatal(job,
                      "%s: the list has endpoint %u of rank %u of the job twice, the second time "
                      "as member %u; name each member once",
                      create_call, members[second].gex_ep_index, members[second].gex_rank, second);
    free(order);
}

static pen_endpoint *own_endpoint(pen_job *job, uint16_t index)
{
    pen_lock_take(&job->threads_lock);
    pen_endpoint *endpoint = index < PEN_ENDPOINTS_MAX ? job->endpoints[index] : NULL;
    pen_lock_drop(&job->threads_lock);
    return endpoint;
}

static void check_own(pen_job *job, const gex_EP_Location_t *members, uint32_t count,
                      size_t out_count)
{
    size_t own = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].gex_rank != job->rank)
            continue;
        own++;
        if (own_endpoint(job, members[i].gex_ep_index) == NULL)
            pen_job_fatal(job, "%s: member %u is endpoint %u of this process, which does not exist",
                          create_call, i, members[i].gex_ep_index);
    }
    if (own != out_count)
        pen_job_fatal(job,
                      "%s: room for %zu new teams, but the list names %zu endpoints of this "
                      "process; give room for each of them",
                      create_call, out_count, own);
}

/* Checks that all listed members gave the same list. Returns the id of their team; scratch: their
 * offers, by rank in it. */
static uint64_t check_claims(pen_team *parent, const team_members *all, const team_claim *claims,
                             const team_claim *mine, pen_coll_offer *scratch)
{
    enum { OF_PARENT = 1, AGREES = 2 };
    pen_job *job = parent->job;
    const gex_EP_Location_t *members = all->members;
    uint64_t id = 0;
    unsigned char *known = table(job, create_call, job->size, 1);
    pen_coll_offer *offered = table(job, create_call, job->size, sizeof *offered);
    for (uint32_t rank = parent->view.size; rank-- > 0;) {
        uint32_t jobrank = pen_team_jobrank(parent, rank);
        known[jobrank] |= OF_PARENT;
        if (claims[rank].digest != mine->digest || claims[rank].count != mine->count)
            continue;
        known[jobrank] |= AGREES;
        offered[jobrank] = claims[rank].scratch;
        if (jobrank == members[0].gex_rank)
            id = pen_team_id(jobrank, claims[rank].number);
    }
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t jobrank = members[i].gex_rank;
        scratch[i] = offered[jobrank];
        if (!(known[jobrank] & AGREES))
            pen_job_fatal(job, "%s: member %u, rank %u of the job, %s", create_call, i, jobrank,
                          known[jobrank] & OF_PARENT
                              ? "gave another list; all members have to give the same"
                              : "is not in the parent team; use one that it is in");
    }
    free(offered);
    free(known);
    return id;
}

void pen_team_create(pen_thread *thread, pen_team *parent, const gex_EP_Location_t *members,
                     size_t count, pen_team **out, size_t out_count)
{
    pen_job *job = thread->job;
    team_claim mine = { .number = number_next(job) };
    uint32_t listed = out_count != 0 ? (uint32_t)count : 0;
    if (count > (size_t)job->size * PEN_ENDPOINTS_MAX)
        pen_job_fatal(job, "%s: a list of %zu members; there are not as many endpoints",
                      create_call, count);
    check_members(job, members, (uint32_t)count);
    check_own(job, members, (uint32_t)count, out_count);
    if (listed != 0) {
        mine.digest = pen_team_digest(members, listed);
        mine.count = listed;
        if (out_count == 1)
            pen_coll_offer_make(job, &mine.scratch);
    }
    team_claim *claims = table(job, create_call, parent->view.size, sizeof *claims);
    gather(thread, parent, claims, &mine, sizeof mine);
    pen_coll_offer *scratch = table(job, create_call, listed, sizeof *scratch);
    const team_members all = { members, scratch, listed };
    uint64_t id = listed != 0 ? check_claims(parent, &all, claims, &mine, scratch) : 0;
    free(claims);
    for (uint32_t i = 0; i < listed; i++)
        if (members[i].gex_rank == job->rank)
            *out++ = make(own_endpoint(job, members[i].gex_ep_index), create_call, &all, i, id);
    free(scratch);
}

/* ---- the end -------------------------------------------------------------------------------- */

void pen_team_destroy(pen_thread *thread, pen_team *team, bool quiesced)
{
    PEN_INVARIANT(team != &team->job->world && !team->is_pair);
    if (!quiesced)
        pen_event_wait(team->job, pen_coll_barrier_nb(thread, team), PEN_CALL_TEAM);
    team_leave(team);
    pen_coll_team_quiesced(team);
    pen_coll_team_close(team);
    team_free(team);
}

void pen_team_close_all(pen_job *job)
{
    pen_team *team = job->teams;
    job->teams = NULL;
    while (team != NULL) {
        pen_team *next = team->next;
        pen_coll_team_close(team);
        team_free(team);
        team = next;
    }
}
