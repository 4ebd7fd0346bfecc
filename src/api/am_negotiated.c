/* SPDX-License-Identifier: BSD-3-Clause */
/* am_negotiated.c: messages with negotiated payload. */
#include "api/api.h"

#include "am/am.h"
#include "conduit/conduit.h"
#include "job/checks.h"
#include "job/job.h"
#include "pen_config.h"

#include <gasnetex.h>

static const char *const prepare_names[] = {
    [PEN_COMMIT_REQUEST_MEDIUM] = "gex_AM_PrepareRequestMedium",
    [PEN_COMMIT_REQUEST_LONG] = "gex_AM_PrepareRequestLong",
    [PEN_COMMIT_REPLY_MEDIUM] = "gex_AM_PrepareReplyMedium",
    [PEN_COMMIT_REPLY_LONG] = "gex_AM_PrepareReplyLong",
};

static const char *const commit_names[] = {
    [PEN_COMMIT_REQUEST_MEDIUM] = "gex_AM_CommitRequestMedium",
    [PEN_COMMIT_REQUEST_LONG] = "gex_AM_CommitRequestLong",
    [PEN_COMMIT_REPLY_MEDIUM] = "gex_AM_CommitReplyMedium",
    [PEN_COMMIT_REPLY_LONG] = "gex_AM_CommitReplyLong",
};

static const char *const cancel_names[] = {
    [PEN_COMMIT_REQUEST_MEDIUM] = "gex_AM_CancelRequestMedium",
    [PEN_COMMIT_REQUEST_LONG] = "gex_AM_CancelRequestLong",
    [PEN_COMMIT_REPLY_MEDIUM] = "gex_AM_CancelReplyMedium",
    [PEN_COMMIT_REPLY_LONG] = "gex_AM_CancelReplyLong",
};

/* ---- preparing ------------------------------------------------------------------------------ */

static void check_local(unsigned kind, const void *buffer, const gex_Event_t *local)
{
    if (buffer == NULL && local != NULL)
        pen_api_misuse(prepare_names[kind], "a buffer of the library's has no event of its own: "
                                            "give NULL, or a buffer of yours");
    bool is_reply = kind >= PEN_COMMIT_REPLY_MEDIUM;
    if (buffer != NULL &&
        (local == NULL || local == GEX_EVENT_DEFER || (is_reply && local == GEX_EVENT_GROUP)))
        pen_api_bad_event(prepare_names[kind]);
}

static gex_AM_SrcDesc_t prepared(pen_source_desc *desc, gex_Event_t *local, unsigned arg_count)
{
    if (desc == NULL)
        return GEX_AM_SRCDESC_NO_OP;
    desc->local = local;
    desc->arg_count = arg_count;
    return desc;
}

static gex_AM_SrcDesc_t prepare_request(unsigned kind, gex_TM_t team, gex_Rank_t rank,
                                        const pen_am_terms *terms, gex_Event_t *local,
                                        unsigned arg_count)
{
    if (PEN_CHECKED)
        pen_api_check_message(prepare_names[kind], team, rank, terms->flags);
    pen_api_check_member(prepare_names[kind], team, rank);
    check_local(kind, terms->buffer, local);
    return prepared(pen_am_prepare_request(pen_api_thread(team->job), team, rank, terms), local,
                    arg_count);
}

static gex_AM_SrcDesc_t prepare_reply(unsigned kind, gex_Token_t token, const pen_am_terms *terms,
                                      gex_Event_t *local, unsigned arg_count)
{
    if (PEN_CHECKED)
        pen_api_check_reply(prepare_names[kind], token, terms->flags);
    check_local(kind, terms->buffer, local);
    return prepared(pen_am_prepare_reply(pen_api_thread(token->job), token, terms), local,
                    arg_count);
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t team, gex_Rank_t rank, const void *buffer,
                                             size_t least, size_t most, gex_Event_t *local,
                                             gex_Flags_t flags, unsigned int arg_count)
{
    pen_am_terms terms = { PEN_AM_MEDIUM, buffer, least, most, NULL, flags };
    return prepare_request(PEN_COMMIT_REQUEST_MEDIUM, team, rank, &terms, local, arg_count);
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t team, gex_Rank_t rank, const void *buffer,
                                           size_t least, size_t most, void *dest,
                                           gex_Event_t *local, gex_Flags_t flags,
                                           unsigned int arg_count)
{
    pen_am_terms terms = { PEN_AM_LONG, buffer, least, most, dest, flags };
    return prepare_request(PEN_COMMIT_REQUEST_LONG, team, rank, &terms, local, arg_count);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *buffer, size_t least,
                                           size_t most, gex_Event_t *local, gex_Flags_t flags,
                                           unsigned int arg_count)
{
    pen_am_terms terms = { PEN_AM_MEDIUM, buffer, least, most, NULL, flags };
    return prepare_reply(PEN_COMMIT_REPLY_MEDIUM, token, &terms, local, arg_count);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *buffer, size_t least,
                                         size_t most, void *dest, gex_Event_t *local,
                                         gex_Flags_t flags, unsigned int arg_count)
{
    pen_am_terms terms = { PEN_AM_LONG, buffer, least, most, dest, flags };
    return prepare_reply(PEN_COMMIT_REPLY_LONG, token, &terms, local, arg_count);
}

void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t desc) { return desc->address; }
size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t desc) { return desc->size; }

/* ---- committing, cancelling ----------------------------------------------------------------- */

/* Checks that the descriptor belongs to the calling thread, is live, and suits the call. */
static void check_desc(const char *call, const pen_source_desc *desc, unsigned kind)
{
    pen_job *job = pen_api_job(call);
    if (desc == NULL)
        pen_api_misuse(call, "there is no descriptor: GEX_AM_SRCDESC_NO_OP is what an immediate "
                             "Prepare answers when there is no room");
    if (desc != pen_api_thread(job)->prepared || !desc->live)
        pen_api_misuse(call, "the descriptor is not one that this thread has prepared and has "
                             "neither committed nor cancelled");
    unsigned prepared_kind = (desc->lane == PEN_LANE_REPLY ? PEN_COMMIT_REPLY_MEDIUM : 0) +
                             (desc->category == PEN_AM_LONG ? 1 : 0);
    if (prepared_kind != kind)
        pen_api_misuse(call, "the descriptor is of %s", prepare_names[prepared_kind]);
}

int pen_api_commit(gex_AM_SrcDesc_t desc, unsigned kind, gex_AM_Index_t handler, size_t len,
                   void *dest, gex_Flags_t flags, unsigned arg_count, uint64_t *words)
{
    const char *call = commit_names[kind];
    check_desc(call, desc, kind);
    if (pen_api_checks(PEN_CHECK_PREPARE) && arg_count != desc->arg_count)
        pen_api_misuse(call, "%u arguments, and %u were announced", arg_count, desc->arg_count);
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && (flags & ~(gex_Flags_t)GEX_FLAG_IMMEDIATE) != 0)
        pen_api_misuse(call, "flags 0x%x: only GEX_FLAG_IMMEDIATE may be given", flags);
    gex_Flags_t hints = desc->flags & (GEX_FLAG_LC_COPY_YES | GEX_FLAG_LC_COPY_NO);
    pen_am_commit_terms terms = { handler, len, dest, NULL, flags | hints, arg_count };
    if (desc->place != PEN_AM_PLACE_CLIENT)
        return pen_am_commit(desc, &terms, words);
    gex_Event_t *local = (gex_Event_t *)desc->local;
    if (desc->lane == PEN_LANE_REPLY) /* the source is free on return */
        return pen_am_replied(pen_am_commit(desc, &terms, words), local, call);
    pen_api_local when = pen_api_local_begin(call, local, desc->job, desc->jobrank, len);
    terms.op = when.op;
    return pen_api_local_end(&when, pen_am_commit(desc, &terms, words));
}

static int cancel(unsigned kind, pen_source_desc *desc)
{
    check_desc(cancel_names[kind], desc, kind);
    pen_am_cancel(desc);
    return GASNET_OK;
}

int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t desc, gex_Flags_t flags)
{
    (void)flags;
    return cancel(PEN_COMMIT_REQUEST_MEDIUM, desc);
}

int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t desc, gex_Flags_t flags)
{
    (void)flags;
    return cancel(PEN_COMMIT_REQUEST_LONG, desc);
}

int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t desc, gex_Flags_t flags)
{
    (void)flags;
    return cancel(PEN_COMMIT_REPLY_MEDIUM, desc);
}

int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t desc, gex_Flags_t flags)
{
    (void)flags;
    return cancel(PEN_COMMIT_REPLY_LONG, desc);
}
