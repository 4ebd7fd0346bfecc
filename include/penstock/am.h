/* SPDX-License-Identifier: BSD-3-Clause */
/* am.h: active messages: run a handler at a peer, with up to 16 arguments of 32 bits.
 *   Short   arguments only
 *   Medium  and a payload, which the handler gets in a buffer of the library's: aligned for any
 *           type, writable, valid until the handler returns
 *   Long    and a payload, which is in the peer's bound segment, at the address the sender chose,
 *           before the handler runs
 * Handlers: void handler(gex_Token_t token, [void *payload, size_t len,] gex_AM_Arg_t, ...). They
 * run while some thread polls; no order among messages is promised. A handler of a request may
 * reply once, and make the calls whose context is "any"; a handler of a reply only the latter.
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

/* The largest number of arguments, 16. Context: any. Does not poll.
 * GASNet-EX, chapter "Active messages". */
PEN_API unsigned int gex_AM_MaxArgs(void);

/* The longest payload, in bytes, of a message of this kind with so many arguments.
 *   team, rank   the peer; GEX_RANK_INVALID: the smallest answer over the team
 *   local        the event argument the message will be sent with; NULL for a library buffer
 *   flags        the flags the message will be sent with; GEX_FLAG_AM_PREPARE_LEAST_...: the limit
 *                for the least payload of a negotiated message
 *   arg_count    0..16
 * At least 65,536; the same for both ends of a pair of ranks and as long as the job lasts; never
 * smaller for fewer arguments. Context: any. They do not poll.
 * GASNet-EX, chapter "Active messages". */
PEN_API size_t gex_AM_MaxRequestMedium(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                                       gex_Flags_t flags, unsigned int arg_count);
PEN_API size_t gex_AM_MaxReplyMedium(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                                     gex_Flags_t flags, unsigned int arg_count);
PEN_API size_t gex_AM_MaxRequestLong(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                                     gex_Flags_t flags, unsigned int arg_count);
PEN_API size_t gex_AM_MaxReplyLong(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                                   gex_Flags_t flags, unsigned int arg_count);

/* A length that is legal for every message of the kind, in bytes, at least 65,536. In a job: the
 * least answer of the calls above. Before the job starts: a length that every job carries, over any
 * conduit with any settings; a process that has asked then gets this answer in its job, too.
 * Context: any, also before gex_Client_Init. They do not poll. GASNet-EX, chapter "Active
 * messages". */
PEN_API size_t gex_AM_LUBRequestMedium(void);
PEN_API size_t gex_AM_LUBReplyMedium(void);
PEN_API size_t gex_AM_LUBRequestLong(void);
PEN_API size_t gex_AM_LUBReplyLong(void);

/* ---- in a handler --------------------------------------------------------------------------- */

/* Tells about the message a handler runs for.
 *   token  what the handler was given
 *   info   receives the answers
 *   mask   GEX_TI_... bits: what is wanted
 * Returns the bits that were answered, here all that were asked for. gex_srcrank is a job rank.
 * Context: a handler. Does not poll.
 * GASNet-EX, chapter "Active messages": tokens. */
PEN_API gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask);

/* The longest payload, in bytes, of a reply to this request; arguments as for
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
 *   team, rank   the peer; the caller itself is one
 *   handler      a handler registered there
 *   source, len  the payload: bytes in local memory; source is not looked at when len is 0
 *   dest         Long: where it goes, an address of the peer's in its bound segment; passed through
 *                as it is when len is 0
 *   local        says when source may be changed: GEX_EVENT_NOW: when the call returns;
 *                GEX_EVENT_GROUP: with the thread's implicit operations (GEX_EC_AM), or with the
 *                event of its open access region; or the address of an event. With the latter two
 *                a long payload may be on its way when the call returns
 *   flags        0 or GEX_FLAG_IMMEDIATE: do not wait for room; GEX_FLAG_LC_COPY_YES: rather copy
 *                up to 1 MiB than keep source; GEX_FLAG_LC_COPY_NO: do not
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
 * ...Long count the arguments. At most one for each request.
 *   token  what the handler was given
 *   local  GEX_EVENT_NOW or the address of an event
 * The other arguments, and the result, are those of requests. The payload may be the one the
 * request brought. Context: a handler of a request, no handler-safe lock held. Neither waits nor
 * polls. GASNet-EX, chapter "Active messages". */

#ifdef __cplusplus
}
#endif
#include <penstock/inline/am.h>
#endif
