/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_stream.h: the numbers of RandomAccess. The n-th is x^n, a polynomial over GF(2), one
 * bit a coefficient, modulo x^64 + x^2 + x + 1; HPCC calls the low three terms POLY, 7. */
#ifndef RANDOMACCESS_STREAM_H
#define RANDOMACCESS_STREAM_H

#include <stdint.h>

static inline uint64_t stream_next(uint64_t value)
{
    return (value << 1) ^ (value >> 63 ? 7u : 0u);
}

static uint64_t stream_multiply(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (int bit = 63; bit >= 0; bit--)
        product = stream_next(product) ^ (b >> bit & 1 ? a : 0);
    return product;
}

/* The n-th number of the stream, x^n, by squaring: where a rank takes it up. */
static uint64_t stream_at(uint64_t n)
{
    uint64_t power = 1;
    for (int bit = 63; bit >= 0; bit--) {
        power = stream_multiply(power, power);
        if (n >> bit & 1)
            power = stream_next(power);
    }
    return power;
}

#endif
