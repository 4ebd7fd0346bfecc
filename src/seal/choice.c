/* SPDX-License-Identifier: BSD-3-Clause */
/* choice.c: measures the ciphers of both libraries. It takes about a quarter of a millisecond. */
#include "seal/choice.h"

#include "seal/aead.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMES = 3,    /* each combination is measured as often, and its least time counts */
    GAIN_PER = 20 /* a change has to save this part of the time */
};

typedef struct bench {
    pen_libcrypto *library;
    pen_choice_clock *now_ns;
    void *ctx;
    crypto_aead_aes256gcm_state expanded;
    uint8_t key[PEN_SEAL_KEY_LEN];
    uint8_t tag[PEN_SEAL_TAG_LEN];
    uint8_t bytes[]; /* as long as the longest class */
} bench;

unsigned pen_choice_class(size_t len)
{
    unsigned class_i = 0;
    for (size_t rest = len >> (PEN_CHOICE_FIRST + 1); rest != 0 && class_i < PEN_CHOICE_CLASSES - 1;
         rest >>= 1)
        class_i++;
    return class_i;
}

/* Returns UINT64_MAX where libcrypto refuses. */
static uint64_t cost_ns(bench *b, pen_seal_cipher cipher, bool by_libcrypto, unsigned class_i)
{
    uint64_t least = UINT64_MAX;
    const pen_aead message = { .cipher = cipher,
                               .key = b->key,
                               .expanded_key = &b->expanded,
                               .open = b->bytes,
                               .open_len = (size_t)PEN_CHOICE_LEAST << class_i,
                               .hidden = b->bytes,
                               .tag = b->tag };
    for (unsigned i = 0; i < TIMES; i++) {
        uint64_t begin_ns = b->now_ns(b->ctx);
        if (!by_libcrypto)
            pen_sodium_protect(&message);
        else if (!pen_libcrypto_protect(b->library, &message))
            return UINT64_MAX;
        uint64_t took_ns = b->now_ns(b->ctx) - begin_ns;
        least = took_ns < least ? took_ns : least;
    }
    return least;
}

static bool is_gain(uint64_t ns, uint64_t than_ns) { return ns < than_ns - than_ns / GAIN_PER; }

/* Measures one cipher in one class. Returns the cost by the faster library. */
static uint64_t cipher_measure(bench *b, pen_choice *out, pen_seal_cipher cipher, unsigned class_i)
{
    uint64_t sodium_ns = cost_ns(b, cipher, false, class_i);
    uint64_t libcrypto_ns = cost_ns(b, cipher, true, class_i);
    out->by_libcrypto[cipher][class_i] = is_gain(libcrypto_ns, sodium_ns);
    return out->by_libcrypto[cipher][class_i] ? libcrypto_ns : sodium_ns;
}

void pen_choice_make(pen_choice *out, pen_libcrypto *library, pen_seal_cipher own,
                     pen_choice_clock *now_ns, void *ctx)
{
    const size_t bytes_len = (size_t)PEN_CHOICE_LEAST << (PEN_CHOICE_CLASSES - 1);
    memset(out, 0, sizeof *out);
    memset(out->cipher, (int)own, sizeof out->cipher);
    bench *b = aligned_alloc(_Alignof(crypto_aead_aes256gcm_state),
                             (sizeof *b + bytes_len + 63) / 64 * 64);
    if (b == NULL || library == NULL) {
        free(b);
        return;
    }
    memset(b, 0, sizeof *b + bytes_len);
    b->library = library;
    b->now_ns = now_ns;
    b->ctx = ctx;
    if (own == PEN_SEAL_AES256_GCM)
        (void)crypto_aead_aes256gcm_beforenm(&b->expanded, b->key);
    for (unsigned i = 0; i < PEN_CHOICE_CLASSES; i++) {
        uint64_t chacha_ns = cipher_measure(b, out, PEN_SEAL_CHACHA20_POLY1305, i);
        if (own == PEN_SEAL_AES256_GCM &&
            is_gain(chacha_ns, cipher_measure(b, out, PEN_SEAL_AES256_GCM, i)))
            out->cipher[i] = PEN_SEAL_CHACHA20_POLY1305;
    }
    free(b);
}
