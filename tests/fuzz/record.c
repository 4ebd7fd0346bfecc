/* SPDX-License-Identifier: BSD-3-Clause */
/* record.c: the stream between launcher and agents: its beginning, its records, and the bodies of
 * start orders. The input is any bytes; if the first byte is odd, records with a correct check
 * sum. */
#include "remote/record.h"
#include "remote/start_order.h"

#include "fuzz.h"
#include "remote/hosts.h"

#include <stdlib.h>
#include <string.h>

/* Checks that an understood body is packed into the same bytes. */
static void compare(pen_pack *again, const char *body, size_t len)
{
    if (again->failed || again->len != len || (len != 0 && memcmp(again->bytes, body, len) != 0))
        abort();
    pen_pack_free(again);
}

static void read_orders(const char *body, size_t len)
{
    pen_pack again = { 0 };
    pen_hello hello;
    if (pen_hello_unpack(body, len, &hello)) {
        pen_hello_pack(&hello, &again);
        compare(&again, body, len);
    }
    pen_start start;
    if (!pen_start_unpack(body, len, &start))
        return;
    if (start.host_count > PEN_HOSTS_MAX || start.firsts[start.host_count] != start.job_size)
        abort();
    again = (pen_pack){ 0 };
    pen_start_pack(&start, &again);
    compare(&again, body, len);
    pen_start_free(&start);
}

static void read_body(const char *body, size_t len)
{
    pen_unpack in = { .at = body, .end = body + len };
    uint32_t sum = pen_unpack_u32(&in);
    sum += (uint32_t)strlen(pen_unpack_text(&in));
    char **texts = pen_unpack_texts(&in);
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        sum += (uint32_t)strlen(texts[i]);
    free(texts);
    volatile uint32_t sink = sum; /* forces the reads */
    (void)sink;
}

static void read_stream(const char *bytes, size_t len)
{
    pen_record record;
    const char *body = NULL;
    for (size_t used; len != 0; bytes += used, len -= used) {
        used = pen_record_take(bytes, len, &record, &body);
        if (used == 0 || used == SIZE_MAX)
            return;
        if (used > len || body < bytes || body + record.body_len != bytes + used)
            abort();
        char *exact = malloc(record.body_len + 1);
        memcpy(exact, body, record.body_len);
        read_body(exact, record.body_len);
        read_orders(exact, record.body_len);
        free(exact);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    char *stream = malloc(len - 1 + sizeof(pen_record));
    if (stream == NULL)
        return 0;
    size_t stream_len = len - 1, begin = 0;
    memcpy(stream, bytes + 1, len - 1);
    if (bytes[0] % 2 != 0) {
        uint32_t missing = bytes[0] == UINT8_MAX; /* the rest has not arrived yet */
        pen_record head = { .body_len = (uint32_t)(len - 1) + missing, .kind = bytes[0] / 2 };
        head.check = pen_record_check(&head);
        memcpy(stream, &head, sizeof head);
        memcpy(stream + sizeof head, bytes + 1, len - 1);
        stream_len += sizeof head;
    } else {
        begin = pen_record_begin(stream, stream_len);
        if (begin != SIZE_MAX && begin > stream_len)
            abort();
        begin = 0;
    }
    char *exact = malloc(stream_len - begin + (stream_len == begin));
    memcpy(exact, stream + begin, stream_len - begin);
    read_stream(exact, stream_len - begin);
    free(exact);
    free(stream);
    return 0;
}
