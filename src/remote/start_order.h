/* SPDX-License-Identifier: BSD-3-Clause */
/* start_order.h: the bodies of the records that begin a job on several hosts: an agent's greeting,
 * and the start order for all agents. Pure. */
#ifndef PEN_REMOTE_START_ORDER_H
#define PEN_REMOTE_START_ORDER_H

#include "base/pack.h"
#include "boot/host_page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_ADDRESS_TEXT_MAX = 64 };

/* Body of HELLO. */
typedef struct pen_hello {
    const char *version; /* Penstock's version on the host */
    uint32_t cores;      /* cores that a job may use there; its slots if no slots were given */
    const char *from;    /* address that ssh came from; "" */
    const char *at;      /* address that ssh came to */
} pen_hello;

void pen_hello_pack(const pen_hello *hello, pen_pack *out);
bool pen_hello_unpack(const char *body, size_t len, pen_hello *out);

enum { PEN_START_BIND = 1, PEN_START_TERMINAL = 2 };

/* Body of START. Host i has the ranks from firsts[i] to firsts[i + 1]. */
typedef struct pen_start {
    uint32_t host_count, job_size;
    uint32_t *firsts;       /* host_count + 1 ranks */
    const char **addresses; /* network address of each host; "": variables give it */
    uint8_t job_key[PEN_HOST_KEY_LEN];
    /* offset of the key in the record's body, where the owner of the body has to wipe it */
    size_t job_key_off;
    uint32_t flags;
    const char *folder; /* folder to start in */
    char **argv;        /* NULL-terminated, as the next two */
    char **handed;      /* variables for the ranks' own environment */
    char **console;     /* the console's variables, for gasnet_getenv */
} pen_start;

void pen_start_pack(const pen_start *start, pen_pack *out);

/* Unpacks START. *out points into the body, which has to stay valid. The caller frees *out. */
bool pen_start_unpack(const char *body, size_t len, pen_start *out);
void pen_start_free(pen_start *start);

#endif
