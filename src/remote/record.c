/* SPDX-License-Identifier: BSD-3-Clause */
/* record.c: finds records in bytes. */
#include "remote/record.h"

#include <string.h>

_Static_assert(sizeof(pen_record) == 24, "six words");

uint32_t pen_record_check(const pen_record *record)
{
    return 0x50454e41u ^ record->body_len ^ (uint32_t)record->kind << 8 ^ record->host * 3 ^
           record->rank * 5 ^ (uint32_t)record->code * 7;
}

size_t pen_record_take(const char *bytes, size_t len, pen_record *out, const char **body)
{
    if (len < sizeof(*out))
        return 0;
    memcpy(out, bytes, sizeof(*out));
    if (out->body_len > PEN_RECORD_BODY_MAX || out->reserved != 0 ||
        out->check != pen_record_check(out))
        return SIZE_MAX;
    if (len - sizeof(*out) < out->body_len)
        return 0;
    *body = bytes + sizeof(*out);
    return sizeof(*out) + out->body_len;
}

size_t pen_record_begin(const char *bytes, size_t len)
{
    const char *magic = memmem(bytes, len, PEN_RECORD_MAGIC, PEN_RECORD_MAGIC_LEN);
    if (magic != NULL)
        return (size_t)(magic - bytes) + PEN_RECORD_MAGIC_LEN;
    return len > PEN_RECORD_NOISE_MAX ? SIZE_MAX : 0;
}
