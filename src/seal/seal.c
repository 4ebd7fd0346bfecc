/* SPDX-License-Identifier: BSD-3-Clause */
/* seal.c: deriving keys, sealing and opening messages with AES-256-GCM or ChaCha20-Poly1305.
 *
 * An AES key has to be expanded before it is used, to half a kilobyte. The keys of senders we have
 * just heard of are kept expanded, a few of them at fixed places, so that a job of a thousand ranks
 * needs no more memory for it than a small one. */
#include "seal/seal.h"

#include "base/compiler.h"
#include "seal/window.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>

enum {
    EXPANDED_KEYS =
        16,         /* senders whose expanded key is cached; sender i at place i % EXPANDED_KEYS */
    NONCE_LEN = 12, /* receiver, counter */
    SCRUB_LEN =
        4096, /* bytes of the stack that are wiped, deeper than any call of libsodium goes */
};
#define NOBODY UINT32_MAX

_Static_assert(crypto_aead_aes256gcm_KEYBYTES == PEN_SEAL_KEY_LEN &&
                   crypto_aead_chacha20poly1305_ietf_KEYBYTES == PEN_SEAL_KEY_LEN,
               "one length of keys");
_Static_assert(crypto_aead_aes256gcm_NPUBBYTES == NONCE_LEN &&
                   crypto_aead_chacha20poly1305_ietf_NPUBBYTES == NONCE_LEN,
               "one length of nonces");
_Static_assert(crypto_aead_aes256gcm_ABYTES == PEN_SEAL_TAG_LEN &&
                   crypto_aead_chacha20poly1305_ietf_ABYTES == PEN_SEAL_TAG_LEN,
               "one length of tags");

typedef struct seal_expanded {
    crypto_aead_aes256gcm_state state; /* first: it wants alignment */
    uint32_t of;
} seal_expanded;

typedef struct seal_peer {
    uint8_t key[PEN_SEAL_KEY_LEN]; /* with which this peer sends */
    uint64_t sent;                 /* messages to it, so far */
    pen_seal_window window;        /* counters of messages from this peer */
} seal_peer;

_Static_assert(sizeof(seal_peer) <= 512, "an idle peer is small");

struct pen_seal {
    seal_expanded own;                 /* used by the sending thread only */
    seal_expanded from[EXPANDED_KEYS]; /* used by the receiving thread only */
    size_t len;                        /* bytes of this memory */
    pen_seal_mode mode;
    pen_seal_cipher cipher;
    uint32_t self, peer_count;
    seal_peer peers[]; /* `sent` belongs to the sending thread, `window` to the receiving thread */
};

bool pen_seal_mode_parse(const char *text, pen_seal_mode *out)
{
#define MODE_PARSE(name, word)       \
    if (strcmp(text, (word)) == 0) { \
        *out = PEN_SEAL_##name;      \
        return true;                 \
    }
    PEN_SEAL_MODE_LIST(MODE_PARSE)
#undef MODE_PARSE
    return false;
}

const char *pen_seal_mode_name(pen_seal_mode mode)
{
    switch (mode) {
#define MODE_NAME(name, word) \
    case PEN_SEAL_##name:     \
        return word;
        PEN_SEAL_MODE_LIST(MODE_NAME)
#undef MODE_NAME
    case PEN_SEAL_EMPTY:
        break;
    }
    return "unknown";
}

bool pen_seal_start(bool *has_aes)
{
    if (sodium_init() < 0) /* may be called again and again, from any thread */
        return false;
    *has_aes = crypto_aead_aes256gcm_is_available() != 0;
    return true;
}

void pen_seal_wipe(void *secret, size_t len) { sodium_memzero(secret, len); }

/* The ciphers and the hash leave keys, and what they make of them, on the stack below us. */
static void scrub(void) { sodium_stackzero(SCRUB_LEN); }

/* ---- keys ------------------------------------------------------------------------------------ */

/* Keyed BLAKE2b of everything that makes two keys different. */
static void derive(const pen_seal_params *params, uint32_t sender, const uint8_t *salt,
                   uint8_t key[PEN_SEAL_KEY_LEN])
{
    crypto_generichash_state state;
    uint8_t numbers[6] = { (uint8_t)params->mode, (uint8_t)params->cipher };
    memcpy(numbers + 2, &sender, sizeof sender);
    (void)crypto_generichash_init(&state, params->job_key, PEN_SEAL_KEY_LEN, PEN_SEAL_KEY_LEN);
    (void)crypto_generichash_update(&state, numbers, sizeof numbers);
    (void)crypto_generichash_update(&state, salt, PEN_SEAL_SALT_LEN);
    (void)crypto_generichash_update(&state, (const uint8_t *)params->purpose,
                                    strlen(params->purpose));
    (void)crypto_generichash_final(&state, key, PEN_SEAL_KEY_LEN);
    pen_seal_wipe(&state, sizeof state);
}

uint32_t pen_seal_epoch(const uint8_t *job_key)
{
    static const uint8_t purpose[] = "penstock epoch";
    uint8_t hash[crypto_generichash_BYTES_MIN];
    uint32_t epoch;
    (void)crypto_generichash(hash, sizeof hash, purpose, sizeof purpose, job_key, PEN_SEAL_KEY_LEN);
    memcpy(&epoch, hash, sizeof epoch);
    scrub();
    return epoch;
}

/* Makes memory for secrets, which no core file holds and no forked child sees. */
static pen_seal *secret_map(size_t len)
{
    void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (madvise(memory, len, MADV_DONTDUMP) != 0) {
        int error = errno;
        (void)munmap(memory, len);
        errno = error;
        return NULL;
    }
    (void)madvise(memory, len, MADV_WIPEONFORK); /* not every kernel can, and few children look */
    return memory;
}

pen_status pen_seal_open(const pen_seal_params *params, const void *salts, size_t salt_step,
                         pen_seal **out)
{
    size_t len = sizeof(pen_seal) + (size_t)params->peers * sizeof(seal_peer);
    bool has_aes = false;
    if (params->mode == PEN_SEAL_EMPTY || params->self >= params->peers ||
        !pen_seal_start(&has_aes) || (params->cipher == PEN_SEAL_AES256_GCM && !has_aes))
        return PEN_ERR_ARGUMENT;
    pen_seal *seal = secret_map(len);
    if (seal == NULL)
        return PEN_ERR_MEMORY;
    seal->len = len;
    seal->mode = params->mode;
    seal->cipher = params->cipher;
    seal->self = params->self;
    seal->peer_count = params->peers;
    for (uint32_t peer = 0; peer < params->peers; peer++)
        derive(params, peer, (const uint8_t *)salts + peer * salt_step, seal->peers[peer].key);
    for (unsigned i = 0; i < EXPANDED_KEYS; i++)
        seal->from[i].of = NOBODY;
    if (params->cipher == PEN_SEAL_AES256_GCM)
        (void)crypto_aead_aes256gcm_beforenm(&seal->own.state, seal->peers[params->self].key);
    scrub();
    *out = seal;
    return PEN_OK;
}

void pen_seal_close(pen_seal *seal)
{
    if (seal == NULL)
        return;
    size_t len = seal->len;
    pen_seal_wipe(seal, len);
    (void)munmap(seal, len);
}

bool pen_seal_is_whole(const pen_seal *seal) { return seal->mode != PEN_SEAL_EMPTY; }

static const crypto_aead_aes256gcm_state *expanded_of(pen_seal *seal, uint32_t from)
{
    seal_expanded *place = &seal->from[from % EXPANDED_KEYS];
    if (place->of != from) {
        (void)crypto_aead_aes256gcm_beforenm(&place->state, seal->peers[from].key);
        place->of = from;
    }
    return &place->state;
}

/* ---- messages -------------------------------------------------------------------------------- */

typedef struct seal_parts { /* the readable header, the payload that may be encrypted, and the tag
                             */
    uint8_t *open, *hidden, *tag;
    size_t open_len, hidden_len;
} seal_parts;

static seal_parts parts_of(const pen_seal *seal, void *message, size_t header_len,
                           size_t payload_len)
{
    uint8_t *bytes = message;
    size_t open_len = seal->mode == PEN_SEAL_ENCRYPT ? header_len : header_len + payload_len;
    return (seal_parts){ .open = bytes,
                         .open_len = open_len,
                         .hidden = bytes + open_len,
                         .hidden_len = header_len + payload_len - open_len,
                         .tag = bytes + header_len + payload_len };
}

static void nonce_make(uint8_t nonce[NONCE_LEN], uint32_t to, uint64_t counter)
{
    memcpy(nonce, &to, sizeof to);
    memcpy(nonce + sizeof to, &counter, sizeof counter);
}

bool pen_seal_protect(pen_seal *seal, uint32_t to, void *message, size_t header_len,
                      size_t payload_len)
{
    seal_peer *peer = &seal->peers[to];
    seal_parts part = parts_of(seal, message, header_len, payload_len);
    uint8_t nonce[NONCE_LEN];
    if (pen_unlikely(peer->sent >= UINT64_MAX - 1 || seal->mode == PEN_SEAL_EMPTY))
        return false;
    uint64_t counter = ++peer->sent;
    memcpy(part.open + header_len - PEN_SEAL_COUNTER_LEN, &counter, sizeof counter);
    nonce_make(nonce, to, counter);
    if (seal->mode == PEN_SEAL_NONE)
        memset(part.tag, 0, PEN_SEAL_TAG_LEN);
    else if (seal->cipher == PEN_SEAL_AES256_GCM)
        (void)crypto_aead_aes256gcm_encrypt_detached_afternm(
            part.hidden, part.tag, NULL, part.hidden, part.hidden_len, part.open, part.open_len,
            NULL, nonce, &seal->own.state);
    else
        (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
            part.hidden, part.tag, NULL, part.hidden, part.hidden_len, part.open, part.open_len,
            NULL, nonce, seal->peers[seal->self].key);
    scrub();
    return true;
}

pen_seal_verdict pen_seal_unprotect(pen_seal *seal, uint32_t from, void *message, size_t header_len,
                                    size_t payload_len)
{
    seal_peer *peer = &seal->peers[from];
    seal_parts part = parts_of(seal, message, header_len, payload_len);
    uint8_t nonce[NONCE_LEN];
    uint64_t counter;
    int wrong;
    if (pen_unlikely(seal->mode == PEN_SEAL_EMPTY))
        return PEN_SEAL_FORGED;
    if (seal->mode == PEN_SEAL_NONE) /* an unauthenticated message must not move the window */
        return PEN_SEAL_GENUINE;
    memcpy(&counter, part.open + header_len - PEN_SEAL_COUNTER_LEN, sizeof counter);
    nonce_make(nonce, seal->self, counter);
    if (seal->cipher == PEN_SEAL_AES256_GCM)
        wrong = crypto_aead_aes256gcm_decrypt_detached_afternm(
            part.hidden, NULL, part.hidden, part.hidden_len, part.tag, part.open, part.open_len,
            nonce, expanded_of(seal, from));
    else
        wrong = crypto_aead_chacha20poly1305_ietf_decrypt_detached(
            part.hidden, NULL, part.hidden, part.hidden_len, part.tag, part.open, part.open_len,
            nonce, peer->key);
    scrub();
    if (wrong != 0)
        return PEN_SEAL_FORGED;
    return pen_seal_window_accept(&peer->window, counter) ? PEN_SEAL_GENUINE : PEN_SEAL_REPLAYED;
}
