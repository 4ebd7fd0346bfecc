/* SPDX-License-Identifier: BSD-3-Clause */
/* seal.h: keys, MACs and nonces of messages that leave the host; the one user of libsodium and of
 * libcrypto.
 *
 * All ranks of a launch share a random 256-bit key. From it each sender's own key is derived, with
 * a salt that its link drew when it was opened and sent to its peers. So no two links use the
 * same key, and a job that is joined again uses new keys. The nonce is the receiver's number and a
 * counter of what this sender has sent to that receiver; the seal counts, so it never repeats, and
 * refuses to send when the counter is exhausted. A message for one receiver is refused by all
 * other receivers, because the nonce differs.
 *
 * A long message may use ChaCha20-Poly1305 although the job's cipher is AES, where the sender has
 * measured that it is faster (choice.h). The highest bit of the counter says so. Each sender has
 * one key for each cipher, so a message whose bit was changed is refused like any changed message.
 *
 * A sealed message is a header that anyone may read, which ends with the counter, a payload, and a
 * tag of PEN_SEAL_TAG_LEN bytes behind it. The tag covers header and payload.
 *
 * Keys lie in memory of their own that no core dump has, that a forked child finds empty, and that
 * is wiped when the seal is closed. An empty seal refuses everything: it
 * seals no message and takes every received one for forged. So a forked child can neither send nor
 * receive.
 *
 * Calls that send exclude each other, as do calls that receive; the two kinds may run beside each
 * other. */
#ifndef PEN_SEAL_SEAL_H
#define PEN_SEAL_SEAL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_SEAL_KEY_LEN = 32,  /* bytes of the key of a launch, and of derived keys */
    PEN_SEAL_SALT_LEN = 16, /* bytes of the salt that a link draws when it is opened */
    PEN_SEAL_TAG_LEN = 16,
    PEN_SEAL_COUNTER_LEN = 8, /* at the end of the header, little-endian */
};

/* Protection of messages. NONE: the tag is zero and is not checked; for networks without strangers.
 * Zero cannot be chosen: it is the mode of an empty seal. */
#define PEN_SEAL_MODE_LIST(X) X(NONE, "none") X(AUTH, "auth") X(ENCRYPT, "encrypt")
typedef enum pen_seal_mode {
    PEN_SEAL_EMPTY = 0,
#define PEN_SEAL_MODE_ENUM(name, text) PEN_SEAL_##name,
    PEN_SEAL_MODE_LIST(PEN_SEAL_MODE_ENUM)
#undef PEN_SEAL_MODE_ENUM
} pen_seal_mode;

/* With what. AES where every processor of the job has instructions for it, since it is faster. */
typedef enum pen_seal_cipher {
    PEN_SEAL_CHACHA20_POLY1305,
    PEN_SEAL_AES256_GCM,
    PEN_SEAL_CIPHERS
} pen_seal_cipher;

/* The library that computes the ciphers of long messages: the faster one by measurement, or the
 * named one. Short messages always use libsodium. */
#define PEN_SEAL_LIBRARY_LIST(X) X(AUTO, "auto") X(LIBSODIUM, "libsodium") X(LIBCRYPTO, "libcrypto")
typedef enum pen_seal_library {
#define PEN_SEAL_LIBRARY_ENUM(name, text) PEN_SEAL_LIBRARY_##name,
    PEN_SEAL_LIBRARY_LIST(PEN_SEAL_LIBRARY_ENUM)
#undef PEN_SEAL_LIBRARY_ENUM
} pen_seal_library;

typedef enum pen_seal_verdict {
    PEN_SEAL_GENUINE,
    PEN_SEAL_FORGED,   /* the tag is not the sender's */
    PEN_SEAL_REPLAYED, /* genuine, and here before (or too old to know) */
} pen_seal_verdict;

typedef struct pen_seal pen_seal;

typedef struct pen_seal_params {
    const uint8_t *job_key; /* PEN_SEAL_KEY_LEN bytes, not kept */
    const char *purpose; /* name of the user, so that two users of one key derive different keys */
    pen_seal_mode mode;
    pen_seal_cipher cipher;
    pen_seal_library library;
    uint64_t (*now_ns)(void *ctx); /* the clock by which libraries are measured */
    void *clock_ctx;
    uint32_t self, peers;
} pen_seal_params;

bool pen_seal_library_parse(const char *text, pen_seal_library *out);
bool pen_seal_mode_parse(const char *text, pen_seal_mode *out);
const char *pen_seal_mode_name(pen_seal_mode mode);

/* Whether the cryptography starts at all, and whether this processor has AES. False: libsodium does
 * not start. */
bool pen_seal_start(bool *has_aes);

/* Returns a number that only ranks of the same launch share. It tells apart messages of different
 * jobs quickly, and proves nothing. */
uint32_t pen_seal_epoch(const uint8_t *job_key);

/* salts: PEN_SEAL_SALT_LEN bytes of each peer, salt_step bytes apart. Logs nothing. Errors:
 * PEN_ERR_MEMORY (errno tells), PEN_ERR_ARGUMENT, and PEN_ERR_UNUSABLE if libcrypto was named and
 * is not on this machine. */
pen_status pen_seal_open(const pen_seal_params *params, const void *salts, size_t salt_step,
                         pen_seal **out);
void pen_seal_close(pen_seal *seal); /* wipes; NULL is fine */
/* False: this process is a forked child of the one that opened the seal, and the kernel has emptied
 * it. Nothing may be taken off the parent's sockets. */
bool pen_seal_is_whole(const pen_seal *seal);

/* Writes the counter at the end of the header and the tag behind the payload. False: the counter
 * is used up, or the seal is empty, and nothing may be sent. */
bool pen_seal_protect(pen_seal *seal, uint32_t to, void *message, size_t header_len,
                      size_t payload_len);

/* Checks the tag, in constant time, then the counter; in ENCRYPT the payload is readable after
 * GENUINE only. from < peers, for the caller has to know. */
pen_seal_verdict pen_seal_unprotect(pen_seal *seal, uint32_t from, void *message, size_t header_len,
                                    size_t payload_len);

/* How many messages libcrypto has protected or opened. For tests and statistics; the sending and
 * the receiving thread are not waited for. */
uint64_t pen_seal_by_libcrypto(const pen_seal *seal);

/* Overwrites, and is not optimised away. */
void pen_seal_wipe(void *secret, size_t len);

#endif
