/* SPDX-License-Identifier: BSD-3-Clause */
/* choice.h: chooses cipher and library for a message of some length by measuring on
 * the processor that runs the program.
 *
 * Lengths are grouped into classes: class c has the lengths from 2^c to 2^(c+1) - 1. Messages below
 * PEN_CHOICE_LEAST use the job's cipher by libsodium. For each class above, the choice measures
 * every combination at the shortest length of the class. A combination replaces that of short
 * messages only if it takes at least a twentieth less time. */
#ifndef PEN_SEAL_CHOICE_H
#define PEN_SEAL_CHOICE_H

#include "seal/aead.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_CHOICE_FIRST = 10,  /* class of the shortest messages for which libcrypto is considered */
    PEN_CHOICE_CLASSES = 7, /* up to 64 KiB and above */
    PEN_CHOICE_LEAST = 1 << PEN_CHOICE_FIRST,
};

typedef uint64_t pen_choice_clock(void *ctx);

typedef struct pen_choice {
    uint8_t cipher[PEN_CHOICE_CLASSES];                      /* for messages that we send */
    bool by_libcrypto[PEN_SEAL_CIPHERS][PEN_CHOICE_CLASSES]; /* faster than libsodium */
} pen_choice;

/* Returns the index of the class of messages of `len` bytes, which is at least
 * PEN_CHOICE_LEAST. */
unsigned pen_choice_class(size_t len);

/* Measures. `own` is the job's cipher; ChaCha20-Poly1305 is considered in any case. A clock that
 * stands still, as in a simulation, chooses libsodium and the job's cipher. */
void pen_choice_make(pen_choice *out, pen_libcrypto *library, pen_seal_cipher own,
                     pen_choice_clock *now_ns, void *ctx);

#endif
