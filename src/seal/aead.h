/* SPDX-License-Identifier: BSD-3-Clause */
/* aead.h: one message for one of the two ciphers, and the two libraries that compute them.
 *
 * Both libraries implement the same standards (AES-256-GCM of NIST SP 800-38D, ChaCha20-Poly1305 of
 * RFC 8439), so a message that one library has protected is opened by the other. libsodium is
 * linked; it has the lowest cost for a short message. libcrypto (OpenSSL 3) is opened at run time
 * where it is installed; it has the lowest cost for each byte. choice.h says which is used when. */
#ifndef PEN_SEAL_AEAD_H
#define PEN_SEAL_AEAD_H

#include "seal/seal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_AEAD_NONCE_LEN = 12 };

typedef struct pen_aead {
    pen_seal_cipher cipher;
    const uint8_t *key;       /* PEN_SEAL_KEY_LEN bytes */
    const void *expanded_key; /* for AES by libsodium: a crypto_aead_aes256gcm_state */
    uint8_t nonce[PEN_AEAD_NONCE_LEN];
    uint8_t *open,
        *hidden; /* bytes that are only authenticated; bytes that are encrypted in place */
    size_t open_len, hidden_len;
    uint8_t *tag; /* PEN_SEAL_TAG_LEN bytes */
} pen_aead;

void pen_sodium_protect(const pen_aead *message);
bool pen_sodium_unprotect(const pen_aead *message); /* false: the tag is not the sender's */

/* The calls of libcrypto, with a context of their own. One thread uses it at a time. */
typedef struct pen_libcrypto pen_libcrypto;

/* Returns NULL if there is no libcrypto 3 on this machine, or no memory. The library stays loaded
 * when the context is closed, because it registers functions that run at exit. */
pen_libcrypto *pen_libcrypto_open(void);
void pen_libcrypto_close(pen_libcrypto *library); /* NULL is fine */

/* They give the key to libcrypto for the length of the call. It is wiped from libcrypto's memory
 * before they return: that memory is in core files, and a forked child inherits it.
 * False: libcrypto refuses, for example because it has no memory; the tag is then not written, and
 * `hidden` may have changed. */
bool pen_libcrypto_protect(pen_libcrypto *library, const pen_aead *message);
/* False: the tag is not the sender's, or libcrypto refuses. */
bool pen_libcrypto_unprotect(pen_libcrypto *library, const pen_aead *message);

#endif
