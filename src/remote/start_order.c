/* SPDX-License-Identifier: BSD-3-Clause */
/* start_order.c: packs and unpacks greetings and start orders. */
#include "remote/start_order.h"

#include "base/pack.h"
#include "boot/boot.h"
#include "remote/hosts.h"

#include <stdlib.h>
#include <string.h>

void pen_hello_pack(const pen_hello *hello, pen_pack *out)
{
    pen_pack_text(out, hello->version);
    pen_pack_u32(out, hello->cores);
    pen_pack_text(out, hello->from);
    pen_pack_text(out, hello->at);
}

bool pen_hello_unpack(const char *body, size_t len, pen_hello *out)
{
    pen_unpack from = { body, body + len, false };
    out->version = pen_unpack_text(&from);
    out->cores = pen_unpack_u32(&from);
    out->from = pen_unpack_text(&from);
    out->at = pen_unpack_text(&from);
    return !from.failed && from.at == from.end && strlen(out->from) < PEN_ADDRESS_TEXT_MAX &&
           strlen(out->at) < PEN_ADDRESS_TEXT_MAX;
}

void pen_start_pack(const pen_start *start, pen_pack *out)
{
    pen_pack_u32(out, start->host_count);
    for (uint32_t i = 0; i < start->host_count; i++) {
        pen_pack_u32(out, start->firsts[i + 1] - start->firsts[i]);
        pen_pack_text(out, start->addresses[i]);
    }
    pen_pack_bytes(out, start->job_key, sizeof(start->job_key));
    pen_pack_u32(out, start->flags);
    pen_pack_text(out, start->folder);
    pen_pack_texts(out, start->argv);
    pen_pack_texts(out, start->handed);
    pen_pack_texts(out, start->console);
}

static bool hosts_unpack(pen_unpack *from, pen_start *out)
{
    out->host_count = pen_unpack_u32(from);
    if (from->failed || out->host_count == 0 || out->host_count > PEN_HOSTS_MAX)
        return false;
    out->firsts = calloc((size_t)out->host_count + 1, sizeof(*out->firsts));
    out->addresses = calloc(out->host_count, sizeof(*out->addresses));
    if (out->firsts == NULL || out->addresses == NULL)
        return false;
    for (uint32_t i = 0; i < out->host_count; i++) {
        uint32_t count = pen_unpack_u32(from);
        if (from->failed || count > PEN_BOOT_RANKS_MAX - out->firsts[i])
            return false;
        out->firsts[i + 1] = out->firsts[i] + count;
        out->addresses[i] = pen_unpack_text(from);
        if (strlen(out->addresses[i]) >= PEN_ADDRESS_TEXT_MAX)
            return false;
    }
    out->job_size = out->firsts[out->host_count];
    return out->job_size != 0;
}

bool pen_start_unpack(const char *body, size_t len, pen_start *out)
{
    pen_unpack from = { body, body + len, false };
    *out = (pen_start){ .host_count = 0 };
    bool sound = hosts_unpack(&from, out);
    if (sound) {
        out->job_key_off = (size_t)(from.at - body);
        pen_unpack_bytes(&from, out->job_key, sizeof(out->job_key));
        out->flags = pen_unpack_u32(&from);
        out->folder = pen_unpack_text(&from);
        out->argv = pen_unpack_texts(&from);
        out->handed = pen_unpack_texts(&from);
        out->console = pen_unpack_texts(&from);
        sound = !from.failed && from.at == from.end && out->argv[0] != NULL;
    }
    if (!sound)
        pen_start_free(out);
    return sound;
}

void pen_start_free(pen_start *start)
{
    free(start->firsts);
    free(start->addresses);
    free(start->argv);
    free(start->handed);
    free(start->console);
    explicit_bzero(start, sizeof(*start));
}
