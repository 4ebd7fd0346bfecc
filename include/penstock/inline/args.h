/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of active messages, for each number of them: as parameters of a function, and
 * packed two to a 64-bit word, low half first, after a word that the library fills in. */
#ifndef PENSTOCK_INLINE_ARGS_H
#define PENSTOCK_INLINE_ARGS_H

#include <penstock/abi.h>

#define PEN_AM_HALF(a)    (uint32_t)(a)
#define PEN_AM_PAIR(a, b) (uint64_t)(uint32_t)(a) | (uint64_t)(uint32_t)(b) << 32

/* Expands X(n) for every number of arguments. */
#define PEN_AM_ARITIES(X) \
    X(0)                  \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

#define PEN_AM_PARAMS_0
#define PEN_AM_PARAMS_1  PEN_AM_PARAMS_0, gex_AM_Arg_t a0
#define PEN_AM_PARAMS_2  PEN_AM_PARAMS_1, gex_AM_Arg_t a1
#define PEN_AM_PARAMS_3  PEN_AM_PARAMS_2, gex_AM_Arg_t a2
#define PEN_AM_PARAMS_4  PEN_AM_PARAMS_3, gex_AM_Arg_t a3
#define PEN_AM_PARAMS_5  PEN_AM_PARAMS_4, gex_AM_Arg_t a4
#define PEN_AM_PARAMS_6  PEN_AM_PARAMS_5, gex_AM_Arg_t a5
#define PEN_AM_PARAMS_7  PEN_AM_PARAMS_6, gex_AM_Arg_t a6
#define PEN_AM_PARAMS_8  PEN_AM_PARAMS_7, gex_AM_Arg_t a7
#define PEN_AM_PARAMS_9  PEN_AM_PARAMS_8, gex_AM_Arg_t a8
#define PEN_AM_PARAMS_10 PEN_AM_PARAMS_9, gex_AM_Arg_t a9
#define PEN_AM_PARAMS_11 PEN_AM_PARAMS_10, gex_AM_Arg_t a10
#define PEN_AM_PARAMS_12 PEN_AM_PARAMS_11, gex_AM_Arg_t a11
#define PEN_AM_PARAMS_13 PEN_AM_PARAMS_12, gex_AM_Arg_t a12
#define PEN_AM_PARAMS_14 PEN_AM_PARAMS_13, gex_AM_Arg_t a13
#define PEN_AM_PARAMS_15 PEN_AM_PARAMS_14, gex_AM_Arg_t a14
#define PEN_AM_PARAMS_16 PEN_AM_PARAMS_15, gex_AM_Arg_t a15

#define PEN_AM_LIST_0
#define PEN_AM_LIST_1  PEN_AM_LIST_0, PEN_AM_HALF(a0)
#define PEN_AM_LIST_2  PEN_AM_LIST_0, PEN_AM_PAIR(a0, a1)
#define PEN_AM_LIST_3  PEN_AM_LIST_2, PEN_AM_HALF(a2)
#define PEN_AM_LIST_4  PEN_AM_LIST_2, PEN_AM_PAIR(a2, a3)
#define PEN_AM_LIST_5  PEN_AM_LIST_4, PEN_AM_HALF(a4)
#define PEN_AM_LIST_6  PEN_AM_LIST_4, PEN_AM_PAIR(a4, a5)
#define PEN_AM_LIST_7  PEN_AM_LIST_6, PEN_AM_HALF(a6)
#define PEN_AM_LIST_8  PEN_AM_LIST_6, PEN_AM_PAIR(a6, a7)
#define PEN_AM_LIST_9  PEN_AM_LIST_8, PEN_AM_HALF(a8)
#define PEN_AM_LIST_10 PEN_AM_LIST_8, PEN_AM_PAIR(a8, a9)
#define PEN_AM_LIST_11 PEN_AM_LIST_10, PEN_AM_HALF(a10)
#define PEN_AM_LIST_12 PEN_AM_LIST_10, PEN_AM_PAIR(a10, a11)
#define PEN_AM_LIST_13 PEN_AM_LIST_12, PEN_AM_HALF(a12)
#define PEN_AM_LIST_14 PEN_AM_LIST_12, PEN_AM_PAIR(a12, a13)
#define PEN_AM_LIST_15 PEN_AM_LIST_14, PEN_AM_HALF(a14)
#define PEN_AM_LIST_16 PEN_AM_LIST_14, PEN_AM_PAIR(a14, a15)

/* The packed arguments after a first word for the library. */
#define PEN_AM_ARRAY(n) { 0 PEN_AM_LIST_##n }

/* Transport of Shorts: up to a number of words in registers, else in an array. */
#define PEN_AM_WAY_0  W0
#define PEN_AM_WAY_1  W1
#define PEN_AM_WAY_2  W1
#define PEN_AM_WAY_3  W2
#define PEN_AM_WAY_4  W2
#define PEN_AM_WAY_5  W3
#define PEN_AM_WAY_6  W3
#define PEN_AM_WAY_7  ARRAY
#define PEN_AM_WAY_8  ARRAY
#define PEN_AM_WAY_9  ARRAY
#define PEN_AM_WAY_10 ARRAY
#define PEN_AM_WAY_11 ARRAY
#define PEN_AM_WAY_12 ARRAY
#define PEN_AM_WAY_13 ARRAY
#define PEN_AM_WAY_14 ARRAY
#define PEN_AM_WAY_15 ARRAY
#define PEN_AM_WAY_16 ARRAY
#define PEN_AM_HEAD(handler, count, flags)                        \
    ((uint64_t)(uint32_t)(flags) << 32 | (uint32_t)(count) << 8 | \
     (uint32_t)(gex_AM_Index_t)(handler))

/* Clients with threads call separate functions. */
#if defined(GASNET_PAR)
#    define PEN_AM_REQUEST_W(count) pen_api_request_short_par_w##count
#    define PEN_AM_REPLY_W(count)   pen_api_reply_short_par_w##count
#else
#    define PEN_AM_REQUEST_W(count) pen_api_request_short_w##count
#    define PEN_AM_REPLY_W(count)   pen_api_reply_short_w##count
#endif

/* Bodies of functions that send a Short to a rank, or in reply to a token. */
#define PEN_AM_REQUEST_SHORT(n, team, rank, handler, flags) \
    PEN_AM_JOIN(PEN_AM_REQUEST_SHORT_, PEN_AM_WAY_##n)(n, team, rank, handler, flags)
#define PEN_AM_REQUEST_SHORT_W0(n, team, rank, handler, flags) \
    return PEN_AM_REQUEST_W(0)(rank, PEN_AM_HEAD(handler, n, flags) PEN_AM_LIST_##n, team);
#define PEN_AM_REQUEST_SHORT_W1(n, team, rank, handler, flags) \
    return PEN_AM_REQUEST_W(1)(rank, PEN_AM_HEAD(handler, n, flags) PEN_AM_LIST_##n, team);
#define PEN_AM_REQUEST_SHORT_W2(n, team, rank, handler, flags) \
    return PEN_AM_REQUEST_W(2)(rank, PEN_AM_HEAD(handler, n, flags) PEN_AM_LIST_##n, team);
#define PEN_AM_REQUEST_SHORT_W3(n, team, rank, handler, flags) \
    return PEN_AM_REQUEST_W(3)(rank, PEN_AM_HEAD(handler, n, flags) PEN_AM_LIST_##n, team);
#define PEN_AM_REQUEST_SHORT_ARRAY(n, team, rank, handler, flags) \
    uint64_t words[] = PEN_AM_ARRAY(n);                           \
    return pen_api_request_short(team, rank, handler, flags, n, words);
#define PEN_AM_REPLY_SHORT(n, token, handler, flags) \
    PEN_AM_JOIN(PEN_AM_REPLY_SHORT_, PEN_AM_WAY_##n)(n, token, handler, flags)
#define PEN_AM_REPLY_SHORT_W0(n, token, handler, flags) \
    return PEN_AM_REPLY_W(0)(token, PEN_AM_HEAD(handler, n, flags) PEN_AM_LIST_##n);
#define PEN_AM_REPLY_SHORT_W1(n, token, handler, flags) \
    return PEN_AM_REPLY_W(1)(token, PEN_AM_HEAD(handler, n, flags) PEN_AM_LIST_##n);
#define PEN_AM_REPLY_SHORT_W2(n, token, handler, flags) \
    return PEN_AM_REPLY_W(2)(token, PEN_AM_HEAD(handler, n, flags) PEN_AM_LIST_##n);
#define PEN_AM_REPLY_SHORT_W3(n, token, handler, flags) \
    return PEN_AM_REPLY_W(3)(token, PEN_AM_HEAD(handler, n, flags) PEN_AM_LIST_##n);
#define PEN_AM_REPLY_SHORT_ARRAY(n, token, handler, flags) \
    uint64_t words[] = PEN_AM_ARRAY(n);                    \
    return pen_api_reply_short(token, handler, flags, n, words);

/* The number of arguments of a call beyond its first B: the 25th element of the call's arguments
 * followed by this list. */
#define PEN_AM_PICK(p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, \
                    p18, p19, p20, p21, p22, p23, p24, picked, ...)                             \
    picked
#define PEN_AM_COUNT_3(...)                                                                        \
    PEN_AM_PICK(__VA_ARGS__, x, x, x, x, x, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, \
                0, x)
#define PEN_AM_COUNT_4(...)                                                                        \
    PEN_AM_PICK(__VA_ARGS__, x, x, x, x, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, \
                x)
#define PEN_AM_COUNT_5(...) \
    PEN_AM_PICK(__VA_ARGS__, x, x, x, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, x)
#define PEN_AM_COUNT_6(...) \
    PEN_AM_PICK(__VA_ARGS__, x, x, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, x)
#define PEN_AM_COUNT_7(...) \
    PEN_AM_PICK(__VA_ARGS__, x, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, x)
#define PEN_AM_COUNT_8(...) \
    PEN_AM_PICK(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, x)
#define PEN_AM_JOIN(name, count)  PEN_AM_JOIN_(name, count)
#define PEN_AM_JOIN_(name, count) name##count

#endif
