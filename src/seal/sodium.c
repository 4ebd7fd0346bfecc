/* SPDX-License-Identifier: BSD-3-Clause */
/* sodium.c: the two ciphers by libsodium. */
#include "seal/aead.h"

#include <sodium.h>

_Static_assert(crypto_aead_aes256gcm_KEYBYTES == PEN_SEAL_KEY_LEN &&
                   crypto_aead_chacha20poly1305_ietf_KEYBYTES == PEN_SEAL_KEY_LEN,
               "one length of keys");
_Static_assert(crypto_aead_aes256gcm_NPUBBYTES == PEN_AEAD_NONCE_LEN &&
                   crypto_aead_chacha20poly1305_ietf_NPUBBYTES == PEN_AEAD_NONCE_LEN,
               "one length of nonces");
_Static_assert(crypto_aead_aes256gcm_ABYTES == PEN_SEAL_TAG_LEN &&
                   crypto_aead_chacha20poly1305_ietf_ABYTES == PEN_SEAL_TAG_LEN,
               "one length of tags");

void pen_sodium_protect(const pen_aead *m)
{
    if (m->cipher == PEN_SEAL_AES256_GCM)
        (void)crypto_aead_aes256gcm_encrypt_detached_afternm(m->hidden, m->tag, NULL, m->hidden,
                                                             m->hidden_len, m->open, m->open_len,
                                                             NULL, m->nonce, m->expanded_key);
    else
        (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
            m->hidden, m->tag, NULL, m->hidden, m->hidden_len, m->open, m->open_len, NULL, m->nonce,
            m->key);
}

bool pen_sodium_unprotect(const pen_aead *m)
{
    if (m->cipher == PEN_SEAL_AES256_GCM)
        return crypto_aead_aes256gcm_decrypt_detached_afternm(
                   m->hidden, NULL, m->hidden, m->hidden_len, m->tag, m->open, m->open_len,
                   m->nonce, m->expanded_key) == 0;
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(m->hidden, NULL, m->hidden,
                                                              m->hidden_len, m->tag, m->open,
                                                              m->open_len, m->nonce, m->key) == 0;
}
