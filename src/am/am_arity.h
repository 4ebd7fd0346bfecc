/* SPDX-License-Identifier: BSD-3-Clause */
/* am_arity.h: calling a handler with the number of arguments that its message has. */
#ifndef PEN_AM_AM_ARITY_H
#define PEN_AM_AM_ARITY_H

#include "am/am.h"

#include <stddef.h>
#include <stdint.h>

/* Arguments may lie at any alignment, as the conduit wrote them. */
typedef int32_t __attribute__((may_alias)) pen_am_arg;

/* Types and arguments of a call with n arguments, n = 0..16; generated from one list. */
#define AM_ARITY_LIST(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

/* clang-format off */
#define AM_TYPES_0
#define AM_TYPES_1 AM_TYPES_0, int32_t
#define AM_TYPES_2 AM_TYPES_1, int32_t
#define AM_TYPES_3 AM_TYPES_2, int32_t
#define AM_TYPES_4 AM_TYPES_3, int32_t
#define AM_TYPES_5 AM_TYPES_4, int32_t
#define AM_TYPES_6 AM_TYPES_5, int32_t
#define AM_TYPES_7 AM_TYPES_6, int32_t
#define AM_TYPES_8 AM_TYPES_7, int32_t
#define AM_TYPES_9 AM_TYPES_8, int32_t
#define AM_TYPES_10 AM_TYPES_9, int32_t
#define AM_TYPES_11 AM_TYPES_10, int32_t
#define AM_TYPES_12 AM_TYPES_11, int32_t
#define AM_TYPES_13 AM_TYPES_12, int32_t
#define AM_TYPES_14 AM_TYPES_13, int32_t
#define AM_TYPES_15 AM_TYPES_14, int32_t
#define AM_TYPES_16 AM_TYPES_15, int32_t
#define AM_VALUES_0
#define AM_VALUES_1 AM_VALUES_0, args[0]
#define AM_VALUES_2 AM_VALUES_1, args[1]
#define AM_VALUES_3 AM_VALUES_2, args[2]
#define AM_VALUES_4 AM_VALUES_3, args[3]
#define AM_VALUES_5 AM_VALUES_4, args[4]
#define AM_VALUES_6 AM_VALUES_5, args[5]
#define AM_VALUES_7 AM_VALUES_6, args[6]
#define AM_VALUES_8 AM_VALUES_7, args[7]
#define AM_VALUES_9 AM_VALUES_8, args[8]
#define AM_VALUES_10 AM_VALUES_9, args[9]
#define AM_VALUES_11 AM_VALUES_10, args[10]
#define AM_VALUES_12 AM_VALUES_11, args[11]
#define AM_VALUES_13 AM_VALUES_12, args[12]
#define AM_VALUES_14 AM_VALUES_13, args[13]
#define AM_VALUES_15 AM_VALUES_14, args[14]
#define AM_VALUES_16 AM_VALUES_15, args[15]

/* Rows of a table for the argument counts above the limit, up to what five bits hold. */
#define AM_ABOVE_LIST(name) \
    name, name, name, name, name, name, name, name, name, name, name, name, name, name, name

#define AM_CASE_SHORT(n)                                                                           \
    case n:                                                                                        \
        ((void (*)(pen_token * AM_TYPES_##n)) function)(token AM_VALUES_##n);                      \
        break;
#define AM_CASE_PAYLOAD(n)                                                                         \
    case n:                                                                                        \
        ((void (*)(pen_token *, void *, size_t AM_TYPES_##n)) function)(token, payload,            \
                                                                        len AM_VALUES_##n);        \
        break;
/* clang-format on */

static inline __attribute__((always_inline)) void pen_am_call_short(void (*function)(void),
                                                                    pen_token *token,
                                                                    unsigned arg_count,
                                                                    const pen_am_arg *args)
{
    switch (arg_count) {
        AM_ARITY_LIST(AM_CASE_SHORT)
    default:
        __builtin_unreachable(); /* checked by the caller */
    }
}

static inline __attribute__((always_inline)) void
pen_am_call_payload(void (*function)(void), pen_token *token, void *payload, size_t len,
                    unsigned arg_count, const pen_am_arg *args)
{
    switch (arg_count) {
        AM_ARITY_LIST(AM_CASE_PAYLOAD)
    default:
        __builtin_unreachable(); /* checked by the caller */
    }
}

#endif
