/* SPDX-License-Identifier: BSD-3-Clause */
/* am_varargs.c: the GASNet-1 messages with an argument that says how many arguments follow. */
#include "api/api.h"

#include "am/am.h"

#include <gasnet.h>
#include <stdarg.h>

/* Packs the arguments as the inline forms do. */
#define PACK(call, words, arg_count)          \
    va_list args;                             \
    va_start(args, arg_count);                \
    pack((call), (words), (arg_count), args); \
    va_end(args)

static void pack(const char *call, uint64_t *words, int arg_count, va_list args)
{
    if (arg_count < 0 || arg_count > PEN_AM_ARGS_MAX)
        pen_api_misuse(call, "%d arguments: a message carries 0 to %d", arg_count, PEN_AM_ARGS_MAX);
    for (int i = 0; i < arg_count; i++) {
        uint64_t value = (uint32_t)va_arg(args, gasnet_handlerarg_t);
        if (i % 2 == 0)
            words[1 + i / 2] = value;
        else
            words[1 + i / 2] |= value << 32;
    }
}

int gasnet_AMRequestShort(gasnet_node_t dest, gasnet_handler_t handler, int arg_count, ...)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    PACK("gasnet_AMRequestShort", words, arg_count);
    return pen_api_request_short(pen_world, dest, handler, 0, (unsigned)arg_count, words);
}

int gasnet_AMRequestMedium(gasnet_node_t dest, gasnet_handler_t handler, void *source, size_t len,
                           int arg_count, ...)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    PACK("gasnet_AMRequestMedium", words, arg_count);
    return pen_api_request_medium(pen_world, dest, handler, source, len, 0, (unsigned)arg_count,
                                  words);
}

int gasnet_AMRequestLong(gasnet_node_t dest, gasnet_handler_t handler, void *source, size_t len,
                         void *dest_addr, int arg_count, ...)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    PACK("gasnet_AMRequestLong", words, arg_count);
    return pen_api_request_long(pen_world, dest, handler, source, len, dest_addr, 0,
                                (unsigned)arg_count, words);
}

int gasnet_AMRequestLongAsync(gasnet_node_t dest, gasnet_handler_t handler, void *source,
                              size_t len, void *dest_addr, int arg_count, ...)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    PACK("gasnet_AMRequestLongAsync", words, arg_count);
    return pen_api_request_long_async(dest, handler, source, len, dest_addr, (unsigned)arg_count,
                                      words);
}

int gasnet_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int arg_count, ...)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    PACK("gasnet_AMReplyShort", words, arg_count);
    return pen_api_reply_short(token, handler, 0, (unsigned)arg_count, words);
}

int gasnet_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, void *source, size_t len,
                         int arg_count, ...)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    PACK("gasnet_AMReplyMedium", words, arg_count);
    return pen_api_reply_medium(token, handler, source, len, 0, (unsigned)arg_count, words);
}

int gasnet_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, void *source, size_t len,
                       void *dest_addr, int arg_count, ...)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    PACK("gasnet_AMReplyLong", words, arg_count);
    return pen_api_reply_long(token, handler, source, len, dest_addr, 0, (unsigned)arg_count,
                              words);
}
