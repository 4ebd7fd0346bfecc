/* SPDX-License-Identifier: BSD-3-Clause */
/* legacy_am.h: the active messages of GASNet-1: messages of am.h, sent between job ranks. A program
 * may mix both kinds: handlers and tokens are the same. */
#ifndef PENSTOCK_LEGACY_AM_H
#define PENSTOCK_LEGACY_AM_H

#include <penstock/am.h>
#include <penstock/legacy.h>
#include <penstock/poll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return the largest number of arguments, and the longest payloads, in bytes, that are legal with
 * any number of arguments: gex_AM_LUBRequestMedium, gex_AM_LUBRequestLong and gex_AM_LUBReplyLong
 * under their older names. Context: any, also before gasnet_init. They do not poll.
 * GASNet-1, chapter "Core API": active messages. */
PEN_API size_t gasnet_AMMaxArgs(void);
PEN_API size_t gasnet_AMMaxMedium(void);
PEN_API size_t gasnet_AMMaxLongRequest(void);
PEN_API size_t gasnet_AMMaxLongReply(void);

/* Tells which rank sent the message that this handler runs for.
 *   token   the token that the handler received
 *   source  receives the job rank
 * Returns GASNET_OK, GASNET_ERR_BAD_ARG. Context: a handler. Does not poll.
 * GASNet-1, chapter "Core API": active messages. */
PEN_API int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *source);

/* Requests:
 *   int gasnet_AMRequestShort<n>(gasnet_node_t dest, gasnet_handler_t handler,
 *                                gasnet_handlerarg_t a0, ...)
 *   int gasnet_AMRequestMedium<n>(gasnet_node_t dest, gasnet_handler_t handler, void *source,
 *                                 size_t len, gasnet_handlerarg_t a0, ...)
 *   int gasnet_AMRequestLong<n>(gasnet_node_t dest, gasnet_handler_t handler, void *source,
 *                               size_t len, void *dest_addr, gasnet_handlerarg_t a0, ...)
 *   int gasnet_AMRequestLongAsync<n>(as Long)
 * Replies, in the handler of a request, at most one:
 *   int gasnet_AMReplyShort<n>(gasnet_token_t token, gasnet_handler_t handler,
 *                              gasnet_handlerarg_t a0, ...)
 *   int gasnet_AMReplyMedium<n>(gasnet_token_t token, gasnet_handler_t handler, void *source,
 *                               size_t len, gasnet_handlerarg_t a0, ...)
 *   int gasnet_AMReplyLong<n>(gasnet_token_t token, gasnet_handler_t handler, void *source,
 *                             size_t len, void *dest_addr, gasnet_handlerarg_t a0, ...)
 *
 * n = 0..16 is the number of handler arguments; gex_AM_RequestShort and gex_AM_ReplyShort explain
 * the parameters. source may be changed when the call returns; only that of LongAsync must stay
 * unchanged until the handler of the reply begins. They return GASNET_OK; wrong arguments end the
 * job. Context of requests: no handler; they may wait for room at the peer, and poll meanwhile.
 * Context of replies: a handler of a request, no handler-safe lock held; they neither wait nor
 * poll.
 * GASNet-1, chapter "Core API": active messages. */

/* Forms without a number: arg_count says how many 32-bit arguments follow. Not in the
 * specification. */
PEN_API int gasnet_AMRequestShort(gasnet_node_t dest, gasnet_handler_t handler, int arg_count, ...);
PEN_API int gasnet_AMRequestMedium(gasnet_node_t dest, gasnet_handler_t handler, void *source,
                                   size_t len, int arg_count, ...);
PEN_API int gasnet_AMRequestLong(gasnet_node_t dest, gasnet_handler_t handler, void *source,
                                 size_t len, void *dest_addr, int arg_count, ...);
PEN_API int gasnet_AMRequestLongAsync(gasnet_node_t dest, gasnet_handler_t handler, void *source,
                                      size_t len, void *dest_addr, int arg_count, ...);
PEN_API int gasnet_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int arg_count, ...);
PEN_API int gasnet_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, void *source,
                                 size_t len, int arg_count, ...);
PEN_API int gasnet_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, void *source,
                               size_t len, void *dest_addr, int arg_count, ...);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/legacy_am.h>
#endif
