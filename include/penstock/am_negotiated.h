/* SPDX-License-Identifier: BSD-3-Clause */
/* am_negotiated.h: Mediums and Longs whose payload is written into a buffer that was agreed on
 * before: prepare, write the payload, commit. A buffer of the library avoids a copy: a Medium to a
 * rank that shares memory with the caller is written where its handler reads it.
 *
 * Between Prepare and Commit or Cancel the thread does not communicate and does not poll: it may
 * only make calls whose context is "any". The descriptor belongs to that thread. In GASNET_PAR
 * several threads may have one descriptor each. In GASNET_PARSYNC no other thread makes calls in
 * the meantime. */
#ifndef PENSTOCK_AM_NEGOTIATED_H
#define PENSTOCK_AM_NEGOTIATED_H

#include <penstock/am.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Prepares a request.
 *   team, rank   the peer; the caller itself is one
 *   buffer       where the payload will be made, or NULL: the library provides the buffer
 *   least, most  bytes: the buffer that is granted has at least `least` and at most `most`; 0 is
 *                legal. least: at most what gex_AM_MaxRequestMedium (Long) answers for
 *                GEX_FLAG_AM_PREPARE_LEAST_CLIENT, or, for a buffer of the library,
 *                GEX_FLAG_AM_PREPARE_LEAST_ALLOC
 *   dest         Long: where the payload goes, as for gex_AM_RequestLong, or NULL: given at commit.
 *                Nothing is written there before the commit
 *   local        as for gex_AM_RequestMedium, counted from the commit, which writes the event; NULL
 *                for a buffer of the library
 *   flags        0 or GEX_FLAG_IMMEDIATE: do not wait for room
 *   arg_count    0..16: how many arguments the commit will have
 * Returns the descriptor; GEX_AM_SRCDESC_NO_OP only with GEX_FLAG_IMMEDIATE when there was no room.
 * Wrong arguments end the job. Context: no handler. May wait for room at the peer, and polls
 * meanwhile. GASNet-EX, chapter "Active messages": negotiated payload. */
PEN_API gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t team, gex_Rank_t rank,
                                                     const void *buffer, size_t least, size_t most,
                                                     gex_Event_t *local, gex_Flags_t flags,
                                                     unsigned int arg_count);
PEN_API gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t team, gex_Rank_t rank,
                                                   const void *buffer, size_t least, size_t most,
                                                   void *dest, gex_Event_t *local,
                                                   gex_Flags_t flags, unsigned int arg_count);

/* Prepares the reply to a request. The handler can then send no other reply.
 *   token  the token that the handler received
 *   local  GEX_EVENT_NOW or the address of an event; NULL for a buffer of the library
 * For the other arguments and the result see the calls for requests. Context: a handler of a
 * request, no handler-safe lock held; commit before the handler returns. Neither waits nor polls.
 * GASNet-EX, chapter "Active messages": negotiated payload. */
PEN_API gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *buffer,
                                                   size_t least, size_t most, gex_Event_t *local,
                                                   gex_Flags_t flags, unsigned int arg_count);
PEN_API gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *buffer,
                                                 size_t least, size_t most, void *dest,
                                                 gex_Event_t *local, gex_Flags_t flags,
                                                 unsigned int arg_count);

/* Return the buffer of a descriptor, and how many of its bytes may be used. The buffer is the
 * client's, or the library's, which is aligned for any type. Context: any, between Prepare and
 * Commit. They do not poll.
 * GASNet-EX, chapter "Active messages": negotiated payload. */
PEN_API void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t desc);
PEN_API size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t desc);

/* Abandons a prepared message: nothing is sent, no event is written, and the handler may send
 * another reply.
 *   flags  0
 * Returns 0. Context: the thread that prepared. They do not poll. GASNet-EX, chapter "Active
 * messages": negotiated payload; GASNET_SUPPORTS_AM_CANCEL. */
PEN_API int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t desc, gex_Flags_t flags);
PEN_API int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t desc, gex_Flags_t flags);
PEN_API int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t desc, gex_Flags_t flags);
PEN_API int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t desc, gex_Flags_t flags);

/*
 *   void gex_AM_CommitRequestMedium<n>(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler, size_t len,
 *                                      gex_AM_Arg_t a0, ...)
 *   void gex_AM_CommitRequestLong<n>(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler, size_t len,
 *                                    void *dest, gex_AM_Arg_t a0, ...)
 *   void gex_AM_CommitReplyMedium<n>(...), gex_AM_CommitReplyLong<n>(...)
 *   int gex_AM_CommitRequestMedium<n>_v2(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler,
 *                                        size_t len, gex_Flags_t flags, gex_AM_Arg_t a0, ...)
 *   int gex_AM_CommitRequestLong<n>_v2(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler, size_t len,
 *                                      void *dest, gex_Flags_t flags, gex_AM_Arg_t a0, ...)
 *   int gex_AM_CommitReplyMedium<n>_v2(...), gex_AM_CommitReplyLong<n>_v2(...)
 *
 * Sends the prepared message and ends the descriptor. The forms without a number count the
 * arguments; those for replies have the parameters of those for requests.
 *   handler  a handler registered at the peer
 *   len      bytes of the buffer to send: 0..gex_AM_SrcDescSize
 *   dest     Long: where the payload goes; if Prepare was given an address, the same
 *   flags    0 or GEX_FLAG_IMMEDIATE: do not wait for room
 * The forms with _v2 return 0; non-zero only with GEX_FLAG_IMMEDIATE when there was no room: then
 * nothing happened, and the descriptor stays valid. A buffer that a link reserved (see
 * GASNET_NATIVE_NP_ALLOC_...) always has room. Context: the thread that prepared. A request may
 * wait for room at the peer, and polls meanwhile, unless its buffer was reserved; a reply does
 * neither. GASNet-EX, chapter "Active messages": negotiated payload; GASNET_SUPPORTS_AM_COMMIT_V2.
 */

#ifdef __cplusplus
}
#endif
#include <penstock/inline/am_negotiated.h>
#endif
