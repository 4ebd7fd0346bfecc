/* SPDX-License-Identifier: BSD-3-Clause */
/* libcrypto.c: the two ciphers by OpenSSL's libcrypto 3, which is opened at run time.
 *
 * The few calls are declared here after OpenSSL's manual (EVP_EncryptInit(3), EVP_CIPHER_fetch(3)),
 * so a build needs no header of it. The context of the library is our own: settings, providers and
 * errors of a client that uses OpenSSL are neither read nor changed. */
#include "seal/aead.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libcrypto.so.3"

/* EVP_CTRL_AEAD_GET_TAG and EVP_CTRL_AEAD_SET_TAG of EVP_CIPHER_CTX_ctrl */
enum { GET_TAG = 0x10, SET_TAG = 0x11 };

/* The calls return this number when they succeed. */
enum { DONE = 1 };

typedef struct evp_cipher evp_cipher;
typedef struct evp_context evp_context;
typedef struct openssl_context openssl_context;

typedef struct calls {
    openssl_context *(*library_new)(void);
    void (*library_free)(openssl_context *library);
    evp_cipher *(*fetch)(openssl_context *library, const char *name, const char *properties);
    void (*cipher_free)(evp_cipher *cipher);
    evp_context *(*context_new)(void);
    void (*context_free)(evp_context *context);
    int (*reset)(evp_context *context); /* wipes the key, too */
    int (*init)(evp_context *context, const evp_cipher *cipher, void *engine, const uint8_t *key,
                const uint8_t *nonce, int encrypt);
    int (*update)(evp_context *context, uint8_t *out, int *out_len, const uint8_t *in, int in_len);
    int (*final)(evp_context *context, uint8_t *out, int *out_len);
    int (*ctrl)(evp_context *context, int what, int len, void *value);
} calls;

static const char *const call_names[] = {
    "OSSL_LIB_CTX_new",   "OSSL_LIB_CTX_free",   "EVP_CIPHER_fetch",     "EVP_CIPHER_free",
    "EVP_CIPHER_CTX_new", "EVP_CIPHER_CTX_free", "EVP_CIPHER_CTX_reset", "EVP_CipherInit_ex",
    "EVP_CipherUpdate",   "EVP_CipherFinal_ex",  "EVP_CIPHER_CTX_ctrl",
};
enum { CALLS = sizeof call_names / sizeof call_names[0] };

_Static_assert(sizeof(calls) == CALLS * sizeof(void *), "one name for each call");

struct pen_libcrypto {
    calls call;
    openssl_context *library;
    evp_cipher *ciphers[PEN_SEAL_CIPHERS];
    evp_context *context; /* without a key between two messages */
};

static bool calls_find(calls *out)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool complete = handle != NULL;
    for (unsigned i = 0; complete && i < CALLS; i++) {
        void *found = dlsym(handle, call_names[i]);
        memcpy((char *)out + i * sizeof found, &found, sizeof found);
        complete = found != NULL;
    }
    if (handle != NULL)
        (void)dlclose(handle); /* RTLD_NODELETE: it stays where it is */
    return complete;
}

pen_libcrypto *pen_libcrypto_open(void)
{
    pen_libcrypto *library = calloc(1, sizeof *library);
    if (library == NULL)
        return NULL;
    calls *call = &library->call;
    if (calls_find(call) && (library->library = call->library_new()) != NULL &&
        (library->ciphers[PEN_SEAL_AES256_GCM] =
             call->fetch(library->library, "AES-256-GCM", NULL)) != NULL &&
        (library->ciphers[PEN_SEAL_CHACHA20_POLY1305] =
             call->fetch(library->library, "ChaCha20-Poly1305", NULL)) != NULL &&
        (library->context = call->context_new()) != NULL)
        return library;
    pen_libcrypto_close(library);
    return NULL;
}

void pen_libcrypto_close(pen_libcrypto *library)
{
    if (library == NULL)
        return;
    const calls *call = &library->call;
    if (library->context != NULL)
        call->context_free(library->context);
    for (unsigned i = 0; i < PEN_SEAL_CIPHERS; i++)
        if (library->ciphers[i] != NULL)
            call->cipher_free(library->ciphers[i]);
    if (library->library != NULL)
        call->library_free(library->library);
    free(library);
}

/* Hands both parts of the message to libcrypto. */
static bool parts_pass(pen_libcrypto *library, const pen_aead *m, int encrypt)
{
    const calls *call = &library->call;
    int len;
    return m->open_len <= INT_MAX && m->hidden_len <= INT_MAX &&
           call->init(library->context, library->ciphers[m->cipher], NULL, m->key, m->nonce,
                      encrypt) == DONE &&
           call->update(library->context, NULL, &len, m->open, (int)m->open_len) == DONE &&
           (m->hidden_len == 0 ||
            call->update(library->context, m->hidden, &len, m->hidden, (int)m->hidden_len) == DONE);
}

bool pen_libcrypto_protect(pen_libcrypto *library, const pen_aead *m)
{
    const calls *call = &library->call;
    uint8_t rest[PEN_SEAL_TAG_LEN]; /* neither cipher leaves any bytes for the last call */
    int len;
    bool done = parts_pass(library, m, 1) && call->final(library->context, rest, &len) == DONE &&
                call->ctrl(library->context, GET_TAG, PEN_SEAL_TAG_LEN, m->tag) == DONE;
    return call->reset(library->context) == DONE && done;
}

bool pen_libcrypto_unprotect(pen_libcrypto *library, const pen_aead *m)
{
    const calls *call = &library->call;
    uint8_t rest[PEN_SEAL_TAG_LEN];
    int len;
    bool genuine = parts_pass(library, m, 0) &&
                   call->ctrl(library->context, SET_TAG, PEN_SEAL_TAG_LEN, m->tag) == DONE &&
                   call->final(library->context, rest, &len) == DONE;
    return call->reset(library->context) == DONE && genuine;
}
