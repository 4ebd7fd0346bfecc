/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/am.h>: one function for each kind of message and number of arguments. They
 * pack the arguments into words, as the wire carries them, and call the library. The path has no
 * variable argument lists and no thread-local state. */
#ifndef PENSTOCK_INLINE_AM_H
#define PENSTOCK_INLINE_AM_H

#include <penstock/am.h>
#include <penstock/inline/args.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports local completion of a reply. The library has copied or queued the payload before it
 * returns, so an event is done at once. After an immediate call that did nothing, the event stays
 * unchanged. For a constant argument the check costs nothing. */
static __inline__ int pen_am_replied(int status, gex_Event_t *local, const char *call)
{
    if ((uintptr_t)local > 3u) {
        if (status == 0)
            *local = GEX_EVENT_INVALID;
    } else if (local != GEX_EVENT_NOW) {
        pen_api_bad_event(call);
    }
    return status;
}

#define PEN_AM_REQUESTS(n)                                                                        \
    GEX_INLINE int gex_AM_RequestShort##n(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler, \
                                          gex_Flags_t flags PEN_AM_PARAMS_##n){                   \
        PEN_AM_REQUEST_SHORT(n, team, rank, handler, flags)                                       \
    } GEX_INLINE int gex_AM_RequestMedium##n(gex_TM_t team, gex_Rank_t rank,                      \
                                             gex_AM_Index_t handler, const void *source,          \
                                             size_t len, gex_Event_t *local,                      \
                                             gex_Flags_t flags PEN_AM_PARAMS_##n)                 \
    {                                                                                             \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                       \
        pen_am_source when = { source, len, 0, local, "gex_AM_RequestMedium" #n, 0 };             \
        if (PEN_LIKELY(local == GEX_EVENT_NOW))                                                   \
            return pen_api_request_medium(team, rank, handler, source, len, flags, n, words);     \
        return pen_api_request_local(team, rank, handler, &when, flags, n, words);                \
    }                                                                                             \
    GEX_INLINE int gex_AM_RequestLong##n(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,  \
                                         const void *source, size_t len, void *dest,              \
                                         gex_Event_t *local, gex_Flags_t flags PEN_AM_PARAMS_##n) \
    {                                                                                             \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                       \
        pen_am_source when = { source, len, dest, local, "gex_AM_RequestLong" #n, 1 };            \
        if (PEN_LIKELY(local == GEX_EVENT_NOW))                                                   \
            return pen_api_request_long(team, rank, handler, source, len, dest, flags, n, words); \
        return pen_api_request_local(team, rank, handler, &when, flags, n, words);                \
    }

#define PEN_AM_REPLIES(n)                                                                       \
    GEX_INLINE int gex_AM_ReplyShort##n(gex_Token_t token, gex_AM_Index_t handler,              \
                                        gex_Flags_t flags PEN_AM_PARAMS_##n){                   \
        PEN_AM_REPLY_SHORT(n, token, handler, flags)                                            \
    } GEX_INLINE int gex_AM_ReplyMedium##n(gex_Token_t token, gex_AM_Index_t handler,           \
                                           const void *source, size_t len, gex_Event_t *local,  \
                                           gex_Flags_t flags PEN_AM_PARAMS_##n)                 \
    {                                                                                           \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                     \
        int status = pen_api_reply_medium(token, handler, source, len, flags, n, words);        \
        return pen_am_replied(status, local, "gex_AM_ReplyMedium" #n);                          \
    }                                                                                           \
    GEX_INLINE int gex_AM_ReplyLong##n(gex_Token_t token, gex_AM_Index_t handler,               \
                                       const void *source, size_t len, void *dest,              \
                                       gex_Event_t *local, gex_Flags_t flags PEN_AM_PARAMS_##n) \
    {                                                                                           \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                     \
        int status = pen_api_reply_long(token, handler, source, len, dest, flags, n, words);    \
        return pen_am_replied(status, local, "gex_AM_ReplyLong" #n);                            \
    }

PEN_AM_ARITIES(PEN_AM_REQUESTS)
PEN_AM_ARITIES(PEN_AM_REPLIES)

/* Forms that count their arguments. */
#define gex_AM_RequestShort(...) \
    PEN_AM_JOIN(gex_AM_RequestShort, PEN_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_RequestMedium(...) \
    PEN_AM_JOIN(gex_AM_RequestMedium, PEN_AM_COUNT_7(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_RequestLong(...) \
    PEN_AM_JOIN(gex_AM_RequestLong, PEN_AM_COUNT_8(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyShort(...) \
    PEN_AM_JOIN(gex_AM_ReplyShort, PEN_AM_COUNT_3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyMedium(...) \
    PEN_AM_JOIN(gex_AM_ReplyMedium, PEN_AM_COUNT_6(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_ReplyLong(...) \
    PEN_AM_JOIN(gex_AM_ReplyLong, PEN_AM_COUNT_7(__VA_ARGS__))(__VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
