/* SPDX-License-Identifier: BSD-3-Clause */
/* steward_blocks.c: lets the blocks of a job talk to each other, by PMIx or, under PMI-1, over
 * connections of their own (oob.h), which only the first steward of each block has. */
#include "pmix/steward.h"

#include "boot/boot.h"
#include "pmix/oob.h"
#include "seal/seal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *pen_steward_blocks_open(pen_steward *s, const pen_pmix_hello *hellos, int listener)
{
    const pen_pmix_hello *centre = &hellos[0];
    uint8_t *salts = malloc((size_t)s->block_count * PEN_SEAL_SALT_LEN);
    uint32_t ranks_most = 0;
    if (salts == NULL)
        return "out of memory";
    for (uint32_t block = 0; block < s->block_count; block++) {
        const pen_pmix_hello *first = &hellos[s->firsts[block]];
        memcpy(salts + (size_t)block * PEN_SEAL_SALT_LEN, first->salt, PEN_SEAL_SALT_LEN);
        ranks_most = first->count > ranks_most ? first->count : ranks_most;
    }
    const pen_oob_params params = { .job_key = centre->job_key,
                                    .salts = salts,
                                    .block_i = s->block_i,
                                    .block_count = s->block_count,
                                    .firsts = s->firsts,
                                    .listener = listener,
                                    .host = centre->host,
                                    .addresses = centre->addresses,
                                    .port = (uint16_t)centre->port,
                                    .body_max = sizeof(uint32_t) + /* the meeting's code */
                                                (size_t)ranks_most * PEN_BOOT_BLOB_MAX,
                                    .news = s->news[1],
                                    .until_ns = s->until_ns };
    const char *error = pen_oob_open(&params, &s->oob);
    free(salts);
    return error;
}

const char *pen_steward_blocks_meet(pen_steward *s, uint32_t tag, const char *key, const void *body,
                                    size_t len)
{
    if (s->pmix == NULL)
        return pen_oob_meet(s->oob, tag, body, len);
    const char *error = key != NULL ? pen_pmix_put_bytes(s->pmix, key, body, len) : NULL;
    return error != NULL ? error : pen_pmix_fence(s->pmix, s->firsts, s->block_count, tag);
}

const char *pen_steward_blocks_body(pen_steward *s, uint32_t block, const char *key, char **out,
                                    size_t *len_out)
{
    if (s->pmix != NULL)
        return pen_pmix_get_bytes(s->pmix, s->firsts[block], key, out, len_out);
    const char *bytes = pen_oob_body(s->oob, block, len_out);
    *out = bytes != NULL ? malloc(*len_out + 1) : NULL;
    if (*out == NULL)
        return "out of memory";
    memcpy(*out, bytes, *len_out);
    return NULL;
}

bool pen_steward_blocks_tells(const pen_steward *s, pen_steward_from from)
{
    if (s->block_count == 1)
        return false;
    if (s->pmix != NULL)
        return from == PEN_STEWARD_FROM_HERE;
    return s->oob != NULL && from != PEN_STEWARD_FROM_BLOCKS;
}

const char *pen_steward_blocks_tell(pen_steward *s)
{
    if (s->pmix != NULL)
        return pen_pmix_notify(s->pmix, s->code);
    const pen_pmix_news news = { .kind = PEN_PMIX_NOTIFIED };
    pen_oob_tell(s->oob, s->code);
    return write(s->news[1], &news, sizeof news) < 0 ? "write" : NULL;
}
