/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/am_negotiated.h>: one commit for each kind of message and number of
 * arguments. */
#ifndef PENSTOCK_INLINE_AM_NEGOTIATED_H
#define PENSTOCK_INLINE_AM_NEGOTIATED_H

#include <penstock/am_negotiated.h>
#include <penstock/inline/args.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEN_AM_COMMIT_REQUEST_MEDIUM(n)                                                           \
    GEX_INLINE void gex_AM_CommitRequestMedium##n(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler,  \
                                                  size_t len PEN_AM_PARAMS_##n)                   \
    {                                                                                             \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                       \
        (void)pen_api_commit(desc, PEN_COMMIT_REQUEST_MEDIUM, handler, len, 0, 0, n, words);      \
    }                                                                                             \
    GEX_INLINE int gex_AM_CommitRequestMedium##n##_v2(gex_AM_SrcDesc_t desc,                      \
                                                      gex_AM_Index_t handler, size_t len,         \
                                                      gex_Flags_t flags PEN_AM_PARAMS_##n)        \
    {                                                                                             \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                       \
        return pen_api_commit(desc, PEN_COMMIT_REQUEST_MEDIUM, handler, len, 0, flags, n, words); \
    }

#define PEN_AM_COMMIT_REQUEST_LONG(n)                                                              \
    GEX_INLINE void gex_AM_CommitRequestLong##n(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler,     \
                                                size_t len, void *dest PEN_AM_PARAMS_##n)          \
    {                                                                                              \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                        \
        (void)pen_api_commit(desc, PEN_COMMIT_REQUEST_LONG, handler, len, dest, 0, n, words);      \
    }                                                                                              \
    GEX_INLINE int gex_AM_CommitRequestLong##n##_v2(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler, \
                                                    size_t len, void *dest,                        \
                                                    gex_Flags_t flags PEN_AM_PARAMS_##n)           \
    {                                                                                              \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                        \
        return pen_api_commit(desc, PEN_COMMIT_REQUEST_LONG, handler, len, dest, flags, n, words); \
    }

#define PEN_AM_COMMIT_REPLY_MEDIUM(n)                                                              \
    GEX_INLINE void gex_AM_CommitReplyMedium##n(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler,     \
                                                size_t len PEN_AM_PARAMS_##n)                      \
    {                                                                                              \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                        \
        (void)pen_api_commit(desc, PEN_COMMIT_REPLY_MEDIUM, handler, len, 0, 0, n, words);         \
    }                                                                                              \
    GEX_INLINE int gex_AM_CommitReplyMedium##n##_v2(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler, \
                                                    size_t len,                                    \
                                                    gex_Flags_t flags PEN_AM_PARAMS_##n)           \
    {                                                                                              \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                        \
        return pen_api_commit(desc, PEN_COMMIT_REPLY_MEDIUM, handler, len, 0, flags, n, words);    \
    }

#define PEN_AM_COMMIT_REPLY_LONG(n)                                                              \
    GEX_INLINE void gex_AM_CommitReplyLong##n(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler,     \
                                              size_t len, void *dest PEN_AM_PARAMS_##n)          \
    {                                                                                            \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                      \
        (void)pen_api_commit(desc, PEN_COMMIT_REPLY_LONG, handler, len, dest, 0, n, words);      \
    }                                                                                            \
    GEX_INLINE int gex_AM_CommitReplyLong##n##_v2(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler, \
                                                  size_t len, void *dest,                        \
                                                  gex_Flags_t flags PEN_AM_PARAMS_##n)           \
    {                                                                                            \
        uint64_t words[] = PEN_AM_ARRAY(n);                                                      \
        return pen_api_commit(desc, PEN_COMMIT_REPLY_LONG, handler, len, dest, flags, n, words); \
    }

PEN_AM_ARITIES(PEN_AM_COMMIT_REQUEST_MEDIUM)
PEN_AM_ARITIES(PEN_AM_COMMIT_REQUEST_LONG)
PEN_AM_ARITIES(PEN_AM_COMMIT_REPLY_MEDIUM)
PEN_AM_ARITIES(PEN_AM_COMMIT_REPLY_LONG)

/* Forms that count their arguments. */
#define PEN_AM_JOIN_V2(name, count)  PEN_AM_JOIN_V2_(name, count)
#define PEN_AM_JOIN_V2_(name, count) name##count##_v2
#define gex_AM_CommitRequestMedium(...) \
    PEN_AM_JOIN(gex_AM_CommitRequestMedium, PEN_AM_COUNT_3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestMedium_v2(...) \
    PEN_AM_JOIN_V2(gex_AM_CommitRequestMedium, PEN_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestLong(...) \
    PEN_AM_JOIN(gex_AM_CommitRequestLong, PEN_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitRequestLong_v2(...) \
    PEN_AM_JOIN_V2(gex_AM_CommitRequestLong, PEN_AM_COUNT_5(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyMedium(...) \
    PEN_AM_JOIN(gex_AM_CommitReplyMedium, PEN_AM_COUNT_3(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyMedium_v2(...) \
    PEN_AM_JOIN_V2(gex_AM_CommitReplyMedium, PEN_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyLong(...) \
    PEN_AM_JOIN(gex_AM_CommitReplyLong, PEN_AM_COUNT_4(__VA_ARGS__))(__VA_ARGS__)
#define gex_AM_CommitReplyLong_v2(...) \
    PEN_AM_JOIN_V2(gex_AM_CommitReplyLong, PEN_AM_COUNT_5(__VA_ARGS__))(__VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
