/* SPDX-License-Identifier: BSD-3-Clause */
/* arity.h: helpers of the GASNet-1 programs to send and to receive 0 to 16 arguments: for each
 * count
 * the parameters of a handler, their names, and values that tell their place. */
#ifndef PEN_TESTS_CONFORMANCE_ARITY_H
#define PEN_TESTS_CONFORMANCE_ARITY_H

enum { ARITY_MAX = 16, ARITIES = 17 };

#define ARITY_EACH(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

/* Parameters, names and values; each begins with its comma. */
#define ARITY_PARAMETERS_0
#define ARITY_NAMES_0
#define ARITY_VALUES_0(seed)
#define ARITY_PARAMETERS_1    ARITY_PARAMETERS_0, gasnet_handlerarg_t a1
#define ARITY_NAMES_1         ARITY_NAMES_0, a1
#define ARITY_VALUES_1(seed)  ARITY_VALUES_0(seed), arity_value(seed, 1)
#define ARITY_PARAMETERS_2    ARITY_PARAMETERS_1, gasnet_handlerarg_t a2
#define ARITY_NAMES_2         ARITY_NAMES_1, a2
#define ARITY_VALUES_2(seed)  ARITY_VALUES_1(seed), arity_value(seed, 2)
#define ARITY_PARAMETERS_3    ARITY_PARAMETERS_2, gasnet_handlerarg_t a3
#define ARITY_NAMES_3         ARITY_NAMES_2, a3
#define ARITY_VALUES_3(seed)  ARITY_VALUES_2(seed), arity_value(seed, 3)
#define ARITY_PARAMETERS_4    ARITY_PARAMETERS_3, gasnet_handlerarg_t a4
#define ARITY_NAMES_4         ARITY_NAMES_3, a4
#define ARITY_VALUES_4(seed)  ARITY_VALUES_3(seed), arity_value(seed, 4)
#define ARITY_PARAMETERS_5    ARITY_PARAMETERS_4, gasnet_handlerarg_t a5
#define ARITY_NAMES_5         ARITY_NAMES_4, a5
#define ARITY_VALUES_5(seed)  ARITY_VALUES_4(seed), arity_value(seed, 5)
#define ARITY_PARAMETERS_6    ARITY_PARAMETERS_5, gasnet_handlerarg_t a6
#define ARITY_NAMES_6         ARITY_NAMES_5, a6
#define ARITY_VALUES_6(seed)  ARITY_VALUES_5(seed), arity_value(seed, 6)
#define ARITY_PARAMETERS_7    ARITY_PARAMETERS_6, gasnet_handlerarg_t a7
#define ARITY_NAMES_7         ARITY_NAMES_6, a7
#define ARITY_VALUES_7(seed)  ARITY_VALUES_6(seed), arity_value(seed, 7)
#define ARITY_PARAMETERS_8    ARITY_PARAMETERS_7, gasnet_handlerarg_t a8
#define ARITY_NAMES_8         ARITY_NAMES_7, a8
#define ARITY_VALUES_8(seed)  ARITY_VALUES_7(seed), arity_value(seed, 8)
#define ARITY_PARAMETERS_9    ARITY_PARAMETERS_8, gasnet_handlerarg_t a9
#define ARITY_NAMES_9         ARITY_NAMES_8, a9
#define ARITY_VALUES_9(seed)  ARITY_VALUES_8(seed), arity_value(seed, 9)
#define ARITY_PARAMETERS_10   ARITY_PARAMETERS_9, gasnet_handlerarg_t a10
#define ARITY_NAMES_10        ARITY_NAMES_9, a10
#define ARITY_VALUES_10(seed) ARITY_VALUES_9(seed), arity_value(seed, 10)
#define ARITY_PARAMETERS_11   ARITY_PARAMETERS_10, gasnet_handlerarg_t a11
#define ARITY_NAMES_11        ARITY_NAMES_10, a11
#define ARITY_VALUES_11(seed) ARITY_VALUES_10(seed), arity_value(seed, 11)
#define ARITY_PARAMETERS_12   ARITY_PARAMETERS_11, gasnet_handlerarg_t a12
#define ARITY_NAMES_12        ARITY_NAMES_11, a12
#define ARITY_VALUES_12(seed) ARITY_VALUES_11(seed), arity_value(seed, 12)
#define ARITY_PARAMETERS_13   ARITY_PARAMETERS_12, gasnet_handlerarg_t a13
#define ARITY_NAMES_13        ARITY_NAMES_12, a13
#define ARITY_VALUES_13(seed) ARITY_VALUES_12(seed), arity_value(seed, 13)
#define ARITY_PARAMETERS_14   ARITY_PARAMETERS_13, gasnet_handlerarg_t a14
#define ARITY_NAMES_14        ARITY_NAMES_13, a14
#define ARITY_VALUES_14(seed) ARITY_VALUES_13(seed), arity_value(seed, 14)
#define ARITY_PARAMETERS_15   ARITY_PARAMETERS_14, gasnet_handlerarg_t a15
#define ARITY_NAMES_15        ARITY_NAMES_14, a15
#define ARITY_VALUES_15(seed) ARITY_VALUES_14(seed), arity_value(seed, 15)
#define ARITY_PARAMETERS_16   ARITY_PARAMETERS_15, gasnet_handlerarg_t a16
#define ARITY_NAMES_16        ARITY_NAMES_15, a16
#define ARITY_VALUES_16(seed) ARITY_VALUES_15(seed), arity_value(seed, 16)

/* All 32 bits matter, the sign too. */
CHECK_MAYBE_UNUSED static gasnet_handlerarg_t arity_value(unsigned seed, int place)
{
    static const gasnet_handlerarg_t extremes[] = { 0, -1, INT32_MIN, INT32_MAX };
    if (seed % 8 == 0)
        return extremes[(seed / 8 + (unsigned)place) % 4];
    return (gasnet_handlerarg_t)(seed * 2654435761u + (unsigned)place * 40503u * 65537u);
}

/* args[1] to args[count] are the sender's arguments. */
CHECK_MAYBE_UNUSED static void arity_check(const gasnet_handlerarg_t *args, int count,
                                           unsigned seed)
{
    for (int place = 1; place <= count; place++)
        CHECK_EQ(args[place], arity_value(seed, place),
                 "GASNet-1 Core, AM: arguments arrive bit for bit, in their places");
}

#endif
