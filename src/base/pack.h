/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.h: packs numbers, texts and bytes into one buffer that grows, and reads them back without
 * ever leaving it. Numbers travel as the machine has them, so both sides are of one build. */
#ifndef PEN_BASE_PACK_H
#define PEN_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_pack {
    char *bytes;
    size_t len, room;
    bool failed; /* there was no memory */
} pen_pack;

void pen_pack_bytes(pen_pack *to, const void *bytes, size_t len);
void pen_pack_u32(pen_pack *to, uint32_t number);
void pen_pack_text(pen_pack *to, const char *text);    /* terminated; "" for NULL */
void pen_pack_texts(pen_pack *to, char *const *texts); /* NULL-terminated */
void pen_pack_free(pen_pack *pack);                    /* wipes: there may be a key in it */

typedef struct pen_unpack {
    const char *at, *end;
    bool failed; /* it was too short, or a text not terminated; all that follows is zero */
} pen_unpack;

void pen_unpack_bytes(pen_unpack *from, void *out, size_t len);
uint32_t pen_unpack_u32(pen_unpack *from);
const char *pen_unpack_text(pen_unpack *from); /* within the body; never NULL */

/* NULL-terminated; the caller frees the array, not the texts. NULL: no memory, or failed. */
char **pen_unpack_texts(pen_unpack *from);

#endif
