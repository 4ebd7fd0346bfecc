/* SPDX-License-Identifier: BSD-3-Clause */
/* datagram.c: the decoder of the udp conduit, with bytes of strangers and of a rank that has the
 * key. The first byte of the input selects: 0 no seal at all, 1 the bytes as a sealed link
 * receives them, 2 the input is the frames, which are sealed as a rank would. Memory has exactly
 * the datagram's length. */
#include "conduits/udp/datagram.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { US = 0, PEER = 1, RANKS = 2, EPOCH = 0x31415926 };
enum { CLEAR, FOREIGN, SEALED, KINDS };

static const udp_expect us = { EPOCH, US, RANKS }, peer = { EPOCH, PEER, RANKS };

static pen_seal *seal_open(pen_peer self, pen_seal_mode mode)
{
    static const uint8_t key[PEN_SEAL_KEY_LEN], salts[RANKS][PEN_SEAL_SALT_LEN];
    pen_seal *seal = NULL;
    const pen_seal_params params = { .job_key = key,
                                     .purpose = "fuzz",
                                     .mode = mode,
                                     .library = PEN_SEAL_LIBRARY_LIBSODIUM,
                                     .self = self,
                                     .peers = RANKS };
    if (pen_seal_open(&params, salts, sizeof salts[0], &seal) != PEN_OK)
        abort();
    return seal;
}

/* Checks that every frame of a sound datagram lies in it, aligned as the engine requires. */
static void read_frames(uint8_t *bytes, size_t payload_len)
{
    size_t off = UDP_HEADER_LEN, end = UDP_HEADER_LEN + payload_len;
    while (off < end) {
        udp_frame frame;
        if (!udp_frame_read(bytes, end, &off, &frame))
            abort();
        uint8_t *head = frame.head, *body = frame.body;
        if (frame.lane >= PEN_LANES || frame.head_len > PEN_FRAME_HEAD_MAX ||
            frame.head_len % 8 != 0 || (head - bytes) % 8 != 0 ||
            head + frame.head_len > bytes + end)
            abort();
        memset(head, 1, frame.head_len);
        if (body == NULL)
            continue;
        if ((body - bytes) % UDP_ALIGN != 0 || frame.body_len == 0)
            abort();
        memset(body, 2, frame.body_len);
    }
    if (off != end)
        abort();
}

/* Returns the datagram that the input stands for, in memory of its own, or NULL if there is no
 * datagram. */
static uint8_t *datagram_of(unsigned kind, const uint8_t *input, size_t len, size_t whole)
{
    void *memory = NULL;
    if (posix_memalign(&memory, UDP_ALIGN, whole != 0 ? whole : 1) != 0)
        return NULL;
    uint8_t *bytes = memory;
    if (len != 0)
        memcpy(kind == SEALED ? bytes + UDP_HEADER_LEN : bytes, input, len);
    if (kind == SEALED) {
        pen_seal *theirs = seal_open(PEER, PEN_SEAL_ENCRYPT);
        udp_header_write(bytes, &peer, US);
        if (!pen_seal_protect(theirs, US, bytes, UDP_HEADER_LEN, len))
            abort();
        pen_seal_close(theirs);
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    if (len == 0)
        return 0;
    unsigned kind = input[0] % KINDS;
    size_t whole = kind == SEALED ? len - 1 + UDP_DATAGRAM_EXTRA : len - 1;
    uint8_t *bytes = datagram_of(kind, input + 1, len - 1, whole);
    if (bytes == NULL)
        return 0;
    pen_seal *ours = seal_open(US, kind == CLEAR ? PEN_SEAL_NONE : PEN_SEAL_ENCRYPT);
    pen_peer from = PEN_PEER_ANY;
    size_t payload_len = 0;
    udp_verdict verdict = udp_datagram_open(ours, &us, bytes, whole, &from, &payload_len);
    if (verdict == UDP_GENUINE && (kind == FOREIGN || from >= RANKS)) /* a tag cannot be guessed */
        abort();
    if (verdict == UDP_GENUINE)
        read_frames(bytes, payload_len);
    free(bytes);
    pen_seal_close(ours);
    return 0;
}
