/* SPDX-License-Identifier: BSD-3-Clause */
/* am.h: active messages: run a handler at a peer, with up to 16 arguments of 32 bits.
 *   Short   arguments only
 *   Medium  arguments and a payload, which the handler receives in a buffer of the library: aligned
 *           for any type, writable, valid until the handler returns
 *   Long    arguments and a payload, which is in the peer's bound segment, at the address the
 *           sender chose, before the handler runs
 * Handlers: void handler(gex_Token_t token, [void *payload, size_t len,] gex_AM_Arg_t, ...). They
 * run while a thread polls. Messages are not ordered. A handler of a request may reply once, and
 * may make calls whose context is "any". A handler of a reply may only make calls whose context is
 * "any".
 *
 * Each family of calls has a form for every number of arguments 0..16, and one without a number
 * that counts them. */
#ifndef PENSTOCK_AM_H
#define PENSTOCK_AM_H

#include <penstock/error.h>
#include <penstock/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- limits --------------------------------------------------------------------------------- */

/* Returns the largest number of arguments, 16. Context: any. Does not poll.
 * GASNet-EX, chapter "Active messages". */
PEN_API unsigned int gex_AM_MaxArgs(void);

/* Return the longest payload, in bytes, of a message of this kind with arg_count arguments.
 *   team, rank   the peer; GEX_RANK_INVALID: the smallest limit over the team
 *   local        the event argument the message will be sent with; NULL for a library buffer
 *   flags        the flags the message will be sent with; GEX_FLAG_AM_PREPARE_LEAST_...: the limit
 *                for the least payload of a negotiated message
 *   arg_count    0..16
 * The limit is at least 65,536. It is the same at both ends of a pair of ranks, stays the same
 * during the job, and is never smaller for fewer arguments. Context: any. They do not poll.
 * GASNet-EX, chapter "Active messages". */
PEN_API size_t gex_AM_MaxRequestMedium(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                                       gex_Flags_t flags, unsigned int arg_count);
PEN_API size_t gex_AM_MaxReplyMedium(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                                     gex_Flags_t flags, unsigned int arg_count);
PEN_API size_t gex_AM_MaxRequestLong(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                                     gex_Flags_t flags, unsigned int arg_count);
PEN_API size_t gex_AM_MaxReplyLong(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                                   gex_Flags_t flags, unsigned int arg_count);

/* Return a length that is legal for every message of the kind, in bytes, at least 65,536. In a job
 * it is the least limit of the calls above. Before the job starts it is a length that every job
 * carries, over any conduit with any settings; if a process has asked before the start, it gets the
 * same value in its job, too. Context: any, also before gex_Client_Init. They do not poll.
 * GASNet-EX, chapter "Active messages". */
PEN_API size_t gex_AM_LUBRequestMedium(void);
PEN_API size_t gex_AM_LUBReplyMedium(void);
PEN_API size_t gex_AM_LUBRequestLong(void);
PEN_API size_t gex_AM_LUBReplyLong(void);

/* ---- in a handler --------------------------------------------------------------------------- */

/* Tells about the message that a handler runs for.
 *   token  the token that the handler received
 *   info   receives the answers
 *   mask   GEX_TI_... bits: the answers to give
 * Returns the bits that were answered; this library answers all. gex_srcrank is a job rank.
 * Context: a handler. Does not poll.
 * GASNet-EX, chapter "Active messages": tokens. */
PEN_API gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask);

/* Return the longest payload, in bytes, of a reply to this request. Further arguments are those of
 * gex_AM_MaxReplyMedium. Context: a handler of a request. They do not poll. GASNet-EX, chapter
 * "Active messages": tokens. */
PEN_API size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *local,
                                        gex_Flags_t flags, unsigned int arg_count);
PEN_API size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *local,
                                      gex_Flags_t flags, unsigned int arg_count);

/* ---- requests ------------------------------------------------------------------------------- */

/*
 *   int gex_AM_RequestShort<n>(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
 *                              gex_Flags_t flags, gex_AM_Arg_t a0, ...)
 *   int gex_AM_RequestMedium<n>(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
 *                               const void *source, size_t len, gex_Event_t *local,
 *                               gex_Flags_t flags, gex_AM_Arg_t a0, ...)
 *   int gex_AM_RequestLong<n>(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
 *                             const void *source, size_t len, void *dest, gex_Event_t *local,
 *                             gex_Flags_t flags, gex_AM_Arg_t a0, ...)
 *
 * Sends a request; gex_AM_RequestShort, ...Medium and ...Long count the arguments.
 *   team, rank   the peer; may be the caller
 *   handler      a handler registered there
 *   source, len  the payload: bytes in local memory; source is ignored if len is 0
 *   dest         Long: where the payload goes, an address in the peer's bound segment; passed on
 *                unchanged if len is 0
 *   local        says when source may be changed: GEX_EVENT_NOW: when the call returns;
 *                GEX_EVENT_GROUP: with the thread's implicit operations (GEX_EC_AM), or with the
 *                event of its open access region; or the address of an event. With a group or an
 *                event, a long payload may still be in transit when the call returns
 *   flags        0 or GEX_FLAG_IMMEDIATE: do not wait for room; GEX_FLAG_LC_COPY_YES: copy payloads
 *                up to 1 MiB, so that source is free sooner; GEX_FLAG_LC_COPY_NO: do not copy for
 *                that purpose
 * Returns 0; non-zero only with GEX_FLAG_IMMEDIATE when there was no room, and then nothing
 * happened. Short messages, and messages without payload, may be sent before any segment exists.
 * Wrong arguments end the job.
 * Context: no handler. May wait for room at the peer, and polls meanwhile.
 * GASNet-EX, chapter "Active messages". */

/* ---- replies -------------------------------------------------------------------------------- */

/*
 *   int gex_AM_ReplyShort<n>(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags,
 *                            gex_AM_Arg_t a0, ...)
 *   int gex_AM_ReplyMedium<n>(gex_Token_t token, gex_AM_Index_t handler, const void *source,
 *                             size_t len, gex_Event_t *local, gex_Flags_t flags,
 *                             gex_AM_Arg_t a0, ...)
 *   int gex_AM_ReplyLong<n>(gex_Token_t token, gex_AM_Index_t handler, const void *source,
 *                           size_t len, void *dest, gex_Event_t *local, gex_Flags_t flags,
 *                           gex_AM_Arg_t a0, ...)
 *
 * Sends a reply to the rank whose request this handler serves; gex_AM_ReplyShort, ...Medium and
 * ...Long count the arguments. A handler may send at most one reply.
 *   token  the token that the handler received
 *   local  GEX_EVENT_NOW or the address of an event
 * Further arguments and the result are those of requests. The payload may be the payload of the
 * request. Context: a handler of a request, no handler-safe lock held. Neither waits nor polls.
 * GASNet-EX, chapter "Active messages". */

#ifdef __cplusplus
}
#endif
#include <penstock/inline/am.h>
#endif
