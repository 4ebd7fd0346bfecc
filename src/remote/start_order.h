/* SPDX-License-Identifier: BSD-3-Clause */
/* start_order.h: the bodies of the records that begin a job on several hosts: what an agent tells
 * of its host, and what all agents are told to run. Pure. */
#ifndef PEN_REMOTE_START_ORDER_H
#define PEN_REMOTE_START_ORDER_H

#include "base/pack.h"
#include "boot/host_page.h"
#include "remote/hosts.h"

enum { PEN_ADDRESS_TEXT_MAX = 64 };

/* HELLO */
typedef struct pen_hello {
    const char *version; /* of Penstock there */
    uint32_t cores;      /* a job may use there: its slots, if none were given */
    const char *from;    /* the address that ssh came from; "" not known */
    const char *at;      /* and the one it came to */
} pen_hello;

void pen_hello_pack(const pen_hello *hello, pen_pack *out);
bool pen_hello_unpack(const char *body, size_t len, pen_hello *out);

enum { PEN_START_BIND = 1, PEN_START_TERMINAL = 2 };

/* START. Host i has the ranks from firsts[i] to firsts[i + 1]. */
typedef struct pen_start {
    uint32_t host_count, job_size;
    uint32_t *firsts;       /* host_count + 1 of them */
    const char **addresses; /* for the network, by host; "": as variables say */
    uint8_t job_key[PEN_HOST_KEY_LEN];
    size_t
        job_key_off; /* where it lies in the record's body, which whoever keeps that has to wipe */
    uint32_t flags;
    const char *folder; /* to start in */
    char **argv;        /* NULL-terminated, as are: */
    char **handed;      /* variables for the ranks' own environment */
    char **console;     /* all variables where the job was started, for gasnet_getenv */
} pen_start;

void pen_start_pack(const pen_start *start, pen_pack *out);

/* Points into the body, which has to stay; the caller frees. */
bool pen_start_unpack(const char *body, size_t len, pen_start *out);
void pen_start_free(pen_start *start);

#endif
