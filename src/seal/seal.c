/* SPDX-License-Identifier: BSD-3-Clause */
/* seal.c: derives keys, protects and opens messages with AES-256-GCM or ChaCha20-Poly1305.
 *
 * An AES key has to be expanded before it is used, to half a kilobyte. The keys of senders we have
 * just heard of are kept expanded, a few of them at fixed places, so that a job of a thousand ranks
 * needs no more memory for it than a small one. */
#include "seal/seal.h"

#include "base/compiler.h"
#include "base/status.h"
#include "seal/aead.h"
#include "seal/choice.h"
#include "seal/window.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    EXPANDED_KEYS =
        16, /* senders whose expanded key is cached; sender i at place i % EXPANDED_KEYS */
    SCRUB_LEN =
        4096, /* bytes of the stack that are wiped, deeper than any call of libsodium goes */
    SCRUB_BULK_LEN = 16384, /* deeper than any call of libcrypto goes */
};
#define NOBODY UINT32_MAX
#define OTHER_CIPHER \
    (UINT64_C(1) << 63) /* in a counter: ChaCha20-Poly1305, although AES is the job's */
#define COUNTER_MAX (OTHER_CIPHER - 1)

typedef struct seal_expanded {
    crypto_aead_aes256gcm_state state; /* first: it wants alignment */
    uint32_t of;
} seal_expanded;

/* Long messages of one direction. It is opened at the first of them. */
typedef struct seal_bulk {
    bool is_open;
    pen_libcrypto *library; /* NULL: this machine has none, or it is not wanted */
    pen_choice choice;
    uint64_t by_libcrypto; /* messages, so far */
} seal_bulk;

typedef struct seal_peer {
    uint8_t keys[PEN_SEAL_CIPHERS][PEN_SEAL_KEY_LEN]; /* with which this peer sends */
    uint64_t sent;                                    /* messages to it, so far */
    pen_seal_window window;                           /* counters of messages from this peer */
} seal_peer;

_Static_assert(sizeof(seal_peer) <= 512, "an idle peer is small");

/* Memory of its own: see secret_map(). */
typedef struct seal_secret {
    seal_expanded own;                 /* used by the sending thread only */
    seal_expanded from[EXPANDED_KEYS]; /* used by the receiving thread only */
    pen_seal_mode mode;
    pen_seal_cipher cipher;
    uint32_t self;
    seal_peer peers[]; /* `sent` belongs to the sending thread, `window` to the receiving thread */
} seal_secret;

struct pen_seal {
    seal_secret *secret; /* first, since tests look there for keys */
    size_t secret_len;
    pen_seal_library library;
    uint64_t (*now_ns)(void *ctx);
    void *clock_ctx;
    seal_bulk sending, receiving; /* each used by the thread of its direction only */
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

bool pen_seal_library_parse(const char *text, pen_seal_library *out)
{
#define LIBRARY_PARSE(name, word)       \
    if (strcmp(text, (word)) == 0) {    \
        *out = PEN_SEAL_LIBRARY_##name; \
        return true;                    \
    }
    PEN_SEAL_LIBRARY_LIST(LIBRARY_PARSE)
#undef LIBRARY_PARSE
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
static void scrub_bulk(void) { sodium_stackzero(SCRUB_BULK_LEN); }

/* ---- keys ------------------------------------------------------------------------------------ */

/* Keyed BLAKE2b of everything that makes two keys different. */
static void derive(const pen_seal_params *params, uint32_t sender, const uint8_t *salt,
                   pen_seal_cipher cipher, uint8_t key[PEN_SEAL_KEY_LEN])
{
    crypto_generichash_state state;
    uint8_t numbers[6] = { (uint8_t)params->mode, (uint8_t)cipher };
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
static seal_secret *secret_map(size_t len)
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

static void keys_make(pen_seal *seal, const pen_seal_params *params, const void *salts,
                      size_t salt_step)
{
    for (uint32_t peer = 0; peer < params->peers; peer++)
        for (unsigned cipher = 0; cipher < PEN_SEAL_CIPHERS; cipher++)
            derive(params, peer, (const uint8_t *)salts + peer * salt_step, (pen_seal_cipher)cipher,
                   seal->secret->peers[peer].keys[cipher]);
    for (unsigned i = 0; i < EXPANDED_KEYS; i++)
        seal->secret->from[i].of = NOBODY;
    if (params->cipher == PEN_SEAL_AES256_GCM)
        (void)crypto_aead_aes256gcm_beforenm(
            &seal->secret->own.state, seal->secret->peers[params->self].keys[params->cipher]);
    scrub();
}

/* Opens libcrypto for one direction, and finds out for what it is used. */
static void bulk_open(pen_seal *seal, seal_bulk *bulk)
{
    pen_choice *choice = &bulk->choice;
    bulk->is_open = true;
    if (seal->library != PEN_SEAL_LIBRARY_LIBSODIUM)
        bulk->library = pen_libcrypto_open();
    pen_choice_make(choice, seal->library == PEN_SEAL_LIBRARY_AUTO ? bulk->library : NULL,
                    seal->secret->cipher, seal->now_ns, seal->clock_ctx);
    if (seal->library == PEN_SEAL_LIBRARY_LIBCRYPTO)
        memset(choice->by_libcrypto, bulk->library != NULL, sizeof choice->by_libcrypto);
}

pen_status pen_seal_open(const pen_seal_params *params, const void *salts, size_t salt_step,
                         pen_seal **out)
{
    bool has_aes = false;
    if (params->mode == PEN_SEAL_EMPTY || params->self >= params->peers ||
        !pen_seal_start(&has_aes) || (params->cipher == PEN_SEAL_AES256_GCM && !has_aes))
        return PEN_ERR_ARGUMENT;
    pen_seal *seal = calloc(1, sizeof *seal);
    if (seal == NULL)
        return PEN_ERR_MEMORY;
    seal->secret_len = sizeof(seal_secret) + (size_t)params->peers * sizeof(seal_peer);
    seal->secret = secret_map(seal->secret_len);
    if (seal->secret == NULL) {
        free(seal);
        return PEN_ERR_MEMORY;
    }
    seal->library = params->library;
    seal->now_ns = params->now_ns;
    seal->clock_ctx = params->clock_ctx;
    seal->secret->mode = params->mode;
    seal->secret->cipher = params->cipher;
    seal->secret->self = params->self;
    keys_make(seal, params, salts, salt_step);
    if (params->library == PEN_SEAL_LIBRARY_LIBCRYPTO && params->mode != PEN_SEAL_NONE)
        bulk_open(seal, &seal->sending);
    if (seal->sending.is_open && seal->sending.library == NULL) {
        pen_seal_close(seal);
        return PEN_ERR_UNUSABLE;
    }
    *out = seal;
    return PEN_OK;
}

void pen_seal_close(pen_seal *seal)
{
    if (seal == NULL)
        return;
    pen_libcrypto_close(seal->sending.library);
    pen_libcrypto_close(seal->receiving.library);
    pen_seal_wipe(seal->secret, seal->secret_len);
    (void)munmap(seal->secret, seal->secret_len);
    free(seal);
}

bool pen_seal_is_whole(const pen_seal *seal) { return seal->secret->mode != PEN_SEAL_EMPTY; }

static const crypto_aead_aes256gcm_state *expanded_of(pen_seal *seal, uint32_t from)
{
    seal_expanded *place = &seal->secret->from[from % EXPANDED_KEYS];
    if (place->of != from) {
        (void)crypto_aead_aes256gcm_beforenm(&place->state,
                                             seal->secret->peers[from].keys[PEN_SEAL_AES256_GCM]);
        place->of = from;
    }
    return &place->state;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* The readable header, the payload that may be encrypted, and the tag. The caller adds key and
 * nonce. */
static pen_aead parts_of(const pen_seal *seal, void *message, size_t header_len, size_t payload_len)
{
    uint8_t *bytes = message;
    size_t open_len =
        seal->secret->mode == PEN_SEAL_ENCRYPT ? header_len : header_len + payload_len;
    return (pen_aead){ .cipher = seal->secret->cipher,
                       .open = bytes,
                       .open_len = open_len,
                       .hidden = bytes + open_len,
                       .hidden_len = header_len + payload_len - open_len,
                       .tag = bytes + header_len + payload_len };
}

static void nonce_make(uint8_t nonce[PEN_AEAD_NONCE_LEN], uint32_t to, uint64_t counter)
{
    memcpy(nonce, &to, sizeof to);
    memcpy(nonce + sizeof to, &counter, sizeof counter);
}

static bool is_bulk(const pen_aead *part)
{
    return part->open_len + part->hidden_len >= PEN_CHOICE_LEAST;
}

/* Returns the class of a long message. Opens the direction at the first of them. */
static unsigned bulk_class(pen_seal *seal, seal_bulk *bulk, const pen_aead *part)
{
    if (pen_unlikely(!bulk->is_open))
        bulk_open(seal, bulk);
    return pen_choice_class(part->open_len + part->hidden_len);
}

static void short_protect(pen_seal *seal, pen_aead *part)
{
    part->key = seal->secret->peers[seal->secret->self].keys[part->cipher];
    part->expanded_key = &seal->secret->own.state;
    pen_sodium_protect(part);
    scrub();
}

/* Returns false if libcrypto refuses: then the message is lost, and libsodium does all later ones.
 */
static bool bulk_protect(pen_seal *seal, pen_aead *part, unsigned class_i)
{
    seal_bulk *bulk = &seal->sending;
    if (!bulk->choice.by_libcrypto[part->cipher][class_i]) {
        short_protect(seal, part);
        return true;
    }
    part->key = seal->secret->peers[seal->secret->self].keys[part->cipher];
    bool done = pen_libcrypto_protect(bulk->library, part);
    scrub_bulk();
    if (done)
        bulk->by_libcrypto++;
    else
        memset(bulk->choice.by_libcrypto, 0, sizeof bulk->choice.by_libcrypto);
    return done;
}

bool pen_seal_protect(pen_seal *seal, uint32_t to, void *message, size_t header_len,
                      size_t payload_len)
{
    seal_peer *peer = &seal->secret->peers[to];
    pen_aead part = parts_of(seal, message, header_len, payload_len);
    unsigned class_i = 0;
    if (pen_unlikely(peer->sent >= COUNTER_MAX || seal->secret->mode == PEN_SEAL_EMPTY))
        return false;
    uint64_t counter = ++peer->sent;
    bool is_long = seal->secret->mode != PEN_SEAL_NONE && is_bulk(&part);
    if (is_long) {
        class_i = bulk_class(seal, &seal->sending, &part);
        part.cipher = (pen_seal_cipher)seal->sending.choice.cipher[class_i];
        counter |= part.cipher != seal->secret->cipher ? OTHER_CIPHER : 0;
    }
    memcpy(part.open + header_len - PEN_SEAL_COUNTER_LEN, &counter, sizeof counter);
    nonce_make(part.nonce, to, counter);
    if (is_long)
        return bulk_protect(seal, &part, class_i);
    if (seal->secret->mode == PEN_SEAL_NONE)
        memset(part.tag, 0, PEN_SEAL_TAG_LEN);
    else
        short_protect(seal, &part);
    return true;
}

static bool short_unprotect(pen_seal *seal, uint32_t from, pen_aead *part)
{
    part->key = seal->secret->peers[from].keys[part->cipher];
    part->expanded_key = part->cipher == PEN_SEAL_AES256_GCM ? expanded_of(seal, from) : NULL;
    bool genuine = pen_sodium_unprotect(part);
    scrub();
    return genuine;
}

static bool bulk_unprotect(pen_seal *seal, uint32_t from, pen_aead *part)
{
    seal_bulk *bulk = &seal->receiving;
    unsigned class_i = bulk_class(seal, bulk, part);
    if (!bulk->choice.by_libcrypto[part->cipher][class_i])
        return short_unprotect(seal, from, part);
    part->key = seal->secret->peers[from].keys[part->cipher];
    bool genuine = pen_libcrypto_unprotect(bulk->library, part);
    bulk->by_libcrypto++;
    scrub_bulk();
    return genuine;
}

pen_seal_verdict pen_seal_unprotect(pen_seal *seal, uint32_t from, void *message, size_t header_len,
                                    size_t payload_len)
{
    seal_peer *peer = &seal->secret->peers[from];
    pen_aead part = parts_of(seal, message, header_len, payload_len);
    uint64_t counter;
    if (pen_unlikely(seal->secret->mode == PEN_SEAL_EMPTY))
        return PEN_SEAL_FORGED;
    if (seal->secret->mode ==
        PEN_SEAL_NONE) /* an unauthenticated message must not move the window */
        return PEN_SEAL_GENUINE;
    memcpy(&counter, part.open + header_len - PEN_SEAL_COUNTER_LEN, sizeof counter);
    nonce_make(part.nonce, seal->secret->self, counter);
    if ((counter & OTHER_CIPHER) != 0)
        part.cipher = PEN_SEAL_CHACHA20_POLY1305;
    if (!(is_bulk(&part) ? bulk_unprotect(seal, from, &part) : short_unprotect(seal, from, &part)))
        return PEN_SEAL_FORGED;
    return pen_seal_window_accept(&peer->window, counter & ~OTHER_CIPHER) ? PEN_SEAL_GENUINE
                                                                          : PEN_SEAL_REPLAYED;
}

uint64_t pen_seal_by_libcrypto(const pen_seal *seal)
{
    return seal->sending.by_libcrypto + seal->receiving.by_libcrypto;
}
