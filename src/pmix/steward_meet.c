/* SPDX-License-Identifier: BSD-3-Clause */
/* steward_meet.c: start-up barriers and exchanges between blocks. The first steward of each block
 * publishes its ranks' blobs. After a fence it writes the blobs of other blocks into the arena. */
#include "pmix/steward.h"

#include "base/pack.h"
#include "boot/boot.h"
#include "diag/log.h"
#include "os/os.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct key {
    char text[32];
} key;

static key key_of(uint32_t meeting)
{
    key out;
    (void)snprintf(out.text, sizeof(out.text), "penstock.meet.%u", meeting);
    return out;
}

/* A rank's row in the exchange area that the code names; see all_here in boot.c. */
static char *row_of(const pen_steward *s, int code, uint32_t rank)
{
    size_t area_len = (size_t)s->size * PEN_BOOT_BLOB_MAX;
    return (char *)s->page + s->page->exchange_off + (size_t)(code & 1) * area_len +
           (size_t)rank * PEN_BOOT_BLOB_MAX;
}

static size_t len_of(int code) { return code < 0 ? SIZE_MAX : (size_t)(code >> 1); }

static void fail(pen_steward *s, uint32_t block, const char *why)
{
    pen_log_error(&s->log, "cannot meet the ranks from %u on: %s", s->firsts[block], why);
    pen_steward_decide(s, EXIT_FAILURE, PEN_STEWARD_FROM_HERE, NULL);
}

void pen_steward_meet(pen_steward *s, int code)
{
    size_t len = len_of(code);
    if (s->over || s->meet_code >= 0 || len > PEN_BOOT_BLOB_MAX)
        return;
    s->meet_code = code;
    pen_pack body = { .bytes = NULL };
    pen_pack_u32(&body, (uint32_t)code);
    for (uint32_t i = 0; i < s->count; i++)
        pen_pack_bytes(&body, row_of(s, code, s->first + i), len);
    const char *error =
        body.failed ? "out of memory"
                    : pen_steward_blocks_meet(s, PEN_STEWARD_FENCE_MEET, key_of(s->meetings).text,
                                              body.bytes, body.len);
    pen_pack_free(&body);
    if (error != NULL)
        fail(s, s->block_i, error);
}

/* Writes the blobs of another block into this block's arena. Returns NULL or an error text. */
static const char *take(pen_steward *s, uint32_t block)
{
    const uint32_t first = s->firsts[block], count = s->firsts[block + 1] - first;
    const size_t len = len_of(s->meet_code);
    char *bytes = NULL;
    size_t bytes_len = 0;
    const char *error =
        pen_steward_blocks_body(s, block, key_of(s->meetings).text, &bytes, &bytes_len);
    if (error != NULL)
        return error;
    pen_unpack from = { bytes, bytes + bytes_len, false };
    uint32_t code = pen_unpack_u32(&from);
    bool sound = code == (uint32_t)s->meet_code && bytes_len == sizeof(code) + len * count;
    for (uint32_t i = 0; sound && i < count; i++)
        pen_unpack_bytes(&from, row_of(s, s->meet_code, first + i), len);
    free(bytes);
    return sound ? NULL
                 : "they are not at the same place of their start; start one program with one "
                   "environment";
}

void pen_steward_met(pen_steward *s, int error)
{
    if (s->over || s->meet_code < 0)
        return;
    const char *why = error != 0 ? "the launcher's fence failed" : NULL;
    for (uint32_t block = 0; why == NULL && block < s->block_count; block++) {
        why = block != s->block_i ? take(s, block) : NULL;
        if (why != NULL) {
            fail(s, block, why);
            return;
        }
    }
    if (why != NULL) {
        fail(s, s->block_i, why);
        return;
    }
    s->meet_code = -1;
    s->meetings++;
    /* release: pairs with the acquire in pen_boot_arrived */
    atomic_fetch_add_explicit(&s->page->boot_generation, 1, memory_order_acq_rel);
    pen_futex_wake(&s->page->boot_generation, INT_MAX);
}
