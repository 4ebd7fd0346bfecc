/* SPDX-License-Identifier: BSD-3-Clause */
/* netlib.h: shared by conduits that send frames through a library of networks (libfabric, UCX):
 * the bytes of a frame, memory for frames on their way out, and peers that are lost. Such a link
 * copies every frame, and the library moves the copy.
 *
 * All functions but pen_net_check_limits and pen_net_hand need the lock of the link, which guards a
 * pen_net. */
#ifndef PEN_LINK_NETLIB_H
#define PEN_LINK_NETLIB_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_NET_ALIGN = 16,
    PEN_NET_OVERHEAD = 64,   /* counted for each frame: the word, padding, bookkeeping */
    PEN_NET_SHORT_LEN = 512, /* memory of a short frame on its way */
    PEN_NET_CONTEXT_WORDS = 8,
};

/* A frame on the wire: this word, the engine's head and the body, each padded with zeros to a
 * multiple of PEN_NET_ALIGN. Lengths are those before padding. */
typedef struct pen_net_word {
    uint32_t from;
    uint8_t lane;
    uint8_t head_words; /* of 8 bytes */
    uint16_t zero;
    uint32_t body_len;
    uint32_t token; /* derived from the job's key: messages of strangers lack it */
} pen_net_word;
_Static_assert(sizeof(pen_net_word) == PEN_NET_ALIGN, "the head behind the word is aligned");

typedef struct pen_net_buffer {  /* a frame on its way out */
    struct pen_net_buffer *next; /* in a list of free ones */
    struct pen_net_buffer *made; /* in the list of all */
    void *link;                  /* for callbacks of the library */
    void *known;                 /* handle of the registered memory; the link sets it */
    pen_peer to;
    bool is_long;
    uint64_t context[PEN_NET_CONTEXT_WORDS]; /* memory that the library may use meanwhile */
    _Alignas(PEN_NET_ALIGN) unsigned char bytes[];
} pen_net_buffer;

typedef struct pen_net_peer {
    bool is_lost, is_told; /* told: the engine knows */
} pen_net_peer;

typedef struct pen_net {
    const pen_host *host;
    void *link; /* that of the buffers */
    pen_peer self, peers;
    uint32_t token, frame_max; /* frame_max: longest body */
    uint32_t pending;          /* buffers that the library has; the link counts them */
    pen_net_buffer *free_short, *free_long, *made;
    pen_net_peer *peer;
    uint32_t lost;                  /* peers of which the engine does not know */
    uint64_t tell_ns;               /* time to tell of them */
    bool is_memory_out;             /* a frame was lost for want of memory */
    uint64_t bad_source, bad_frame; /* since pen_net_tell has counted them */
} pen_net;

#define PEN_NET_GRACE_NS UINT64_C(2000000000)

enum { PEN_NET_WINDOW_LEAST = 64 * 1024, PEN_NET_WINDOW_MOST = 64 * 1024 * 1024 };

/* Checks the window, which `variable` sets, and that the process may open the descriptors that the
 * library needs, `each` for a peer and some by itself; raises the soft limit if need be. conduit:
 * its name, for messages. Fails: the reason is logged. */
pen_status pen_net_check_limits(const pen_link_params *params, const char *conduit,
                                const char *variable, int64_t window, unsigned each);

/* Fills *out. Returns false if there is no memory. */
bool pen_net_open(pen_net *out, const pen_link_params *params, void *link, uint32_t token,
                  uint32_t frame_max);

/* Frees all memory, that of frames under way included. A pen_net that is all zero may be closed. */
void pen_net_close(pen_net *net);

/* ---- sending --------------------------------------------------------------------------------- */

/* Bytes of a frame on the wire. */
size_t pen_net_len(uint32_t head_len, uint32_t body_len);

/* Copies a frame into a buffer, and writes its length. Returns NULL if there is no memory. */
pen_net_buffer *pen_net_pack(pen_net *net, pen_peer to, pen_lane lane, const pen_frame *frame,
                             size_t *len);

/* Bytes that a buffer has room for. */
size_t pen_net_room(const pen_net *net, const pen_net_buffer *buffer);

/* Takes back a buffer that the library no longer reads. */
void pen_net_give(pen_net *net, pen_net_buffer *buffer);

/* ---- arriving -------------------------------------------------------------------------------- */

/* Reads the word of a message. Returns false if the message is no frame of this job, and counts
 * it. Nothing of *out is trusted before. */
bool pen_net_unpack(pen_net *net, const void *data, size_t len, pen_net_word *out);

/* Views a message that was unpacked as a frame. */
pen_frame pen_net_frame(const pen_net_word *word, const void *data);

/* Delivers a message that was unpacked, from inside the poll of its link, without the lock. data
 * is aligned to PEN_NET_ALIGN. */
void pen_net_hand(const pen_host *host, const pen_net_word *word, void *data);

/* ---- peers that are lost --------------------------------------------------------------------- */

static inline bool pen_net_is_lost(const pen_net *net, pen_peer peer)
{
    return net->peer[peer].is_lost;
}

/* Takes note that a peer is lost. The engine is told after PEN_NET_GRACE_NS: as a rule the peer's
 * process has ended, and the launcher, which knows why, ends the job before. */
void pen_net_lose(pen_net *net, pen_peer peer);

/* Loses a peer because there was no memory for a frame of it. The engine is told at once. */
void pen_net_lose_frame(pen_net *net, pen_peer peer);

/* Whether pen_net_tell has something to do. */
static inline bool pen_net_has_news(const pen_net *net)
{
    return (net->bad_source | net->bad_frame) != 0 || net->lost != 0;
}

/* Counts messages that were no frames, and reports one lost peer to the engine. Called in poll; it
 * drops the lock while it reports. */
void pen_net_tell(pen_net *net, pen_lock *lock);

#endif
