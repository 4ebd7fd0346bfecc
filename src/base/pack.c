/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.c: numbers, texts and bytes in one buffer, and out of it again. */
#include "base/pack.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX 1000000u

void pen_pack_bytes(pen_pack *to, const void *bytes, size_t len)
{
    if (to->failed || len == 0)
        return;
    if (to->room - to->len < len) {
        size_t room = to->room == 0 ? 4096 : to->room;
        while (room - to->len < len)
            room *= 2;
        char *grown = malloc(room);
        if (grown == NULL) {
            to->failed = true;
            return;
        }
        if (to->len != 0)
            memcpy(grown, to->bytes, to->len);
        size_t kept = to->len;
        pen_pack_free(to); /* not realloc: it would leave a copy behind */
        *to = (pen_pack){ .bytes = grown, .len = kept, .room = room };
    }
    memcpy(to->bytes + to->len, bytes, len);
    to->len += len;
}

void pen_pack_u32(pen_pack *to, uint32_t number) { pen_pack_bytes(to, &number, sizeof(number)); }

void pen_pack_text(pen_pack *to, const char *text)
{
    const char *there = text != NULL ? text : "";
    pen_pack_bytes(to, there, strlen(there) + 1);
}

void pen_pack_texts(pen_pack *to, char *const *texts)
{
    uint32_t count = 0;
    while (texts[count] != NULL)
        count++;
    pen_pack_u32(to, count);
    for (uint32_t i = 0; i < count; i++)
        pen_pack_text(to, texts[i]);
}

void pen_pack_free(pen_pack *pack)
{
    if (pack->bytes != NULL)
        explicit_bzero(pack->bytes, pack->len);
    free(pack->bytes);
    *pack = (pen_pack){ .bytes = NULL };
}

void pen_unpack_bytes(pen_unpack *from, void *out, size_t len)
{
    if (from->failed || (size_t)(from->end - from->at) < len) {
        from->failed = true;
        memset(out, 0, len);
        return;
    }
    memcpy(out, from->at, len);
    from->at += len;
}

uint32_t pen_unpack_u32(pen_unpack *from)
{
    uint32_t number;
    pen_unpack_bytes(from, &number, sizeof(number));
    return number;
}

const char *pen_unpack_text(pen_unpack *from)
{
    const char *text = from->at;
    const char *end = from->failed ? NULL : memchr(text, '\0', (size_t)(from->end - text));
    if (end == NULL) {
        from->failed = true;
        return "";
    }
    from->at = end + 1;
    return text;
}

char **pen_unpack_texts(pen_unpack *from)
{
    uint32_t count = pen_unpack_u32(from);
    if (from->failed || count > TEXTS_MAX || count > (size_t)(from->end - from->at)) {
        from->failed = true;
        return NULL;
    }
    char **texts = calloc((size_t)count + 1, sizeof(*texts));
    for (uint32_t i = 0; texts != NULL && i < count; i++)
        texts[i] = (char *)(uintptr_t)pen_unpack_text(from);
    if (texts != NULL && !from->failed)
        return texts;
    free(texts);
    from->failed = true;
    return NULL;
}
