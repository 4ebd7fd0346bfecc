/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/legacy_am.h>: one function for each kind of message and number of arguments.
 */
#ifndef PENSTOCK_INLINE_LEGACY_AM_H
#define PENSTOCK_INLINE_LEGACY_AM_H

#include <penstock/inline/args.h>
#include <penstock/legacy_am.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEN_AM_LEGACY_REQUESTS(n)                                                             \
    GEX_INLINE int gasnet_AMRequestShort##n(gasnet_node_t dest,                               \
                                            gasnet_handler_t handler PEN_AM_PARAMS_##n){      \
        PEN_AM_REQUEST_SHORT(n, pen_world, dest, handler, 0)                                  \
    } GEX_INLINE int gasnet_AMRequestMedium##n(gasnet_node_t dest, gasnet_handler_t handler,  \
                                               void *source, size_t len PEN_AM_PARAMS_##n)    \
    {                                                                                         \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                   \
        return pen_api_request_medium(pen_world, dest, handler, source, len, 0, n, words);    \
    }                                                                                         \
    GEX_INLINE int gasnet_AMRequestLong##n(gasnet_node_t dest, gasnet_handler_t handler,      \
                                           void *source, size_t len,                          \
                                           void *dest_addr PEN_AM_PARAMS_##n)                 \
    {                                                                                         \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                   \
        return pen_api_request_long(pen_world, dest, handler, source, len, dest_addr, 0, n,   \
                                    words);                                                   \
    }                                                                                         \
    GEX_INLINE int gasnet_AMRequestLongAsync##n(gasnet_node_t dest, gasnet_handler_t handler, \
                                                void *source, size_t len,                     \
                                                void *dest_addr PEN_AM_PARAMS_##n)            \
    {                                                                                         \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                   \
        return pen_api_request_long_async(dest, handler, source, len, dest_addr, n, words);   \
    }

#define PEN_AM_LEGACY_REPLIES(n)                                                             \
    GEX_INLINE int gasnet_AMReplyShort##n(gasnet_token_t token,                              \
                                          gasnet_handler_t handler PEN_AM_PARAMS_##n){       \
        PEN_AM_REPLY_SHORT(n, token, handler, 0)                                             \
    } GEX_INLINE int gasnet_AMReplyMedium##n(gasnet_token_t token, gasnet_handler_t handler, \
                                             void *source, size_t len PEN_AM_PARAMS_##n)     \
    {                                                                                        \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                  \
        return pen_api_reply_medium(token, handler, source, len, 0, n, words);               \
    }                                                                                        \
    GEX_INLINE int gasnet_AMReplyLong##n(gasnet_token_t token, gasnet_handler_t handler,     \
                                         void *source, size_t len,                           \
                                         void *dest_addr PEN_AM_PARAMS_##n)                  \
    {                                                                                        \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                  \
        return pen_api_reply_long(token, handler, source, len, dest_addr, 0, n, words);      \
    }

PEN_AM_ARITIES(PEN_AM_LEGACY_REQUESTS)
PEN_AM_ARITIES(PEN_AM_LEGACY_REPLIES)

#ifdef __cplusplus
}
#endif
#endif
