/* SPDX-License-Identifier: BSD-3-Clause */
/* portals.h: the parts that the files of the portals conduit share.
 *
 * A link has one network interface with matching, five portals, and five event queues. Each lane
 * has a portal and an event queue for the frames that arrive. The fourth portal has the memory
 * that peers put to and get from, and causes no events. The fifth has the same memory for the
 * payload of Longs, whose events join it with their headers (portals_behind.c). The last event
 * queue tells that frames have left, and that puts and gets have ended.
 *
 * Sending: a frame is copied into the buffer of a token. The token comes back with the event
 * that the buffer is free. A lane without tokens answers AGAIN.
 *
 * Receiving: a lane has blocks, which are match entries that manage their memory locally. A
 * block that is full is unlinked by the card, and is appended once more when all its frames were
 * delivered. Nothing is dropped, because the link declares an inbox, so that the window around it
 * bounds the bytes under way, and the blocks and the event queues hold that many.
 *
 * With the policy `disable` there is no inbox and no window. The lanes' portals have flow control:
 * the card disables a portal that has no room, and refuses frames until this link has delivered
 * what is there. A frame then keeps its token until it is acknowledged, and is sent again if it was
 * refused.
 *
 * Locks: `lock` guards tokens, the number of keys, and the list of segments. No call of the
 * interface and no call of the host is made while it is held. The interface has a lock of its own.
 * The rest belongs to the caller of poll. */
#ifndef PEN_CONDUITS_PORTALS_PORTALS_H
#define PEN_CONDUITS_PORTALS_PORTALS_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/portals/portals_device.h"
#include "diag/counters.h"
#include "firehose/firehose.h"
#include "link/lanes.h"
#include "os/lock.h"
#include "softnic/portals/portals4.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PORTALS_RANKS_MAX = 64,
    PORTALS_ALIGN = 16, /* frames, heads and bodies begin at a multiple of this */
    PORTALS_FRAME_MAX = 4096,
    PORTALS_HEAD_ROOM = (PEN_FRAME_HEAD_COUNTED_MAX + PORTALS_ALIGN - 1) & -PORTALS_ALIGN,
    PORTALS_LONGEST = PORTALS_HEAD_ROOM + PORTALS_FRAME_MAX, /* bytes of the longest frame */
    PORTALS_OVERHEAD = 32, /* the window adds this for the padding of a head and a body */
    PORTALS_GRAIN = 64,
    PORTALS_BLOCK_LEN = 65536,
    PORTALS_TOKENS_MAX = 4096,
    PORTALS_OPS = 256,         /* puts and gets under way */
    PORTALS_BOUNCE_LEN = 4096, /* longest put or get that is copied */
    PORTALS_WORDS = 2,         /* for an operation on a word of a peer */
    PORTALS_MEMORY =
        PEN_LANES, /* index of the portal of memory, and of the tokens of puts and gets */
    PORTALS_KINDS = PEN_LANES + 1,
    PORTALS_DATA = PEN_LANES + 1, /* index of the portal for the payload of Longs */
    PORTALS_COUNT,
    PORTALS_QUEUES = PEN_LANES + 2, /* queues of lanes, of payloads, and of what has ended */
    PORTALS_DATA_MAX = 64,          /* payloads for a peer that it has not handled */
};
_Static_assert(PORTALS_LONGEST % PORTALS_ALIGN == 0, "frames in a block stay aligned");

/* Local memory of puts and gets, if it lies in no registered segment: the card knows all memory,
 * or memory is registered and stays so, or it is registered for one operation, or it is copied. */
typedef enum portals_local_way {
    PORTALS_LOCAL_ALL,
    PORTALS_LOCAL_FIREHOSE,
    PORTALS_LOCAL_TEMPORARY,
    PORTALS_LOCAL_BOUNCE
} portals_local_way;

typedef enum portals_policy {
    PORTALS_STATIC,
    PORTALS_LOAN,
    PORTALS_DISABLE, /* no credits: a portal without room refuses frames, which are sent again */
    PORTALS_POLICIES
} portals_policy;

typedef struct portals_config {
    uint64_t window;
    int64_t tokens;
    const char *credits;
    const char *local;
    pen_firehose_config firehose;
    portals_device_config device;
} portals_config;

typedef struct pen_portals portals_device; /* the card in software */

typedef struct portals_token { /* a frame, a put or a get under way */
    struct portals_token *next;
    char *buffer; /* room for a frame, or for a put or get that is copied; otherwise NULL */
    pen_op *op;   /* the client operation, if the token is for a put or a get */
    uint64_t lengths, retry_ns; /* header data of a frame; the time to send it again */
    uint32_t len;               /* bytes of a frame */
    uint8_t refusals;
    bool is_refused;
    pen_peer peer;
    uint8_t kind;   /* lane, or PORTALS_MEMORY */
    uint8_t events; /* events that the token waits for */
    bool is_source_done;
    bool is_local;                    /* the operation ends when its source is free */
    bool is_temporary;                /* md ends with the operation */
    ptl_handle_md_t md;               /* describes the local memory of a put or a get */
    ptl_size_t at;                    /* place of the memory in md */
    const pen_firehose_region *known; /* in use while the operation is under way, or NULL */
    void *copy_to; /* client's memory of a get that is copied, or of an old value; or NULL */
    const char *copy_from;
    size_t copy_len;
    uint64_t *words; /* two words for an operation on a word of a peer, or NULL */
} portals_token;

/* A segment, which peers and local operations use; or a region of the firehose, which has md only.
 */
struct pen_region {
    ptl_handle_md_t md;
    ptl_handle_me_t entry, data_entry; /* in the portals of memory and of data */
    uint64_t key;
    uintptr_t begin;
    size_t len;
    bool is_known; /* it has an md, and is in the list of segments */
    pen_region *next;
};

typedef struct portals_block {
    char *memory;
    size_t used; /* bytes of frames that were delivered since the block was appended */
    bool is_unlinked;
    uint8_t lane;
} portals_block;

typedef struct portals_peer {
    ptl_process_t process;
    ptl_pt_index_t portal[PORTALS_COUNT];
    const _Atomic uint32_t *sleeping;
    uint32_t pending;       /* tokens of this peer that are in use; guarded by the lock */
    bool is_lost, is_told;  /* told: the engine knows; guarded by the lock */
    uint32_t data_last;     /* number of the last payload that was put; guarded by the post lock */
    uint32_t data_consumed; /* it has handled payloads up to this number; guarded by the lock */
    uint32_t data_floor;    /* payloads of the peer up to this number have landed, ... */
    uint32_t data_told;     /* ... which the peer knows up to this one */
    uint64_t data_landed;   /* bit i: the payload with number data_floor + 1 + i has landed */
} portals_peer;

typedef struct portals_link {
    pen_link base; /* first: the engine sees a pen_link */
    portals_config config;
    portals_device *device;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t arrived[PEN_LANES], landed, ended;
    ptl_handle_md_t frames_md, memory_md; /* the buffers of tokens; all memory of the process */
    ptl_handle_md_t notes_md;             /* no memory, and no events */
    ptl_pt_index_t portal[PORTALS_COUNT];
    pen_peer peers;
    portals_peer *peer;
    bool has_interface, fenced, has_lost_events;
    bool owes_notes;         /* some peer has to know which payloads have landed */
    uint64_t moved;          /* packets of the card when a waiting thread asked last */
    pen_lanes held;          /* headers of Longs whose payload has not landed */
    _Atomic uint32_t always; /* 1 */
    portals_block *blocks;
    uint32_t blocks_lane; /* blocks of each lane */
    char *block_memory, *buffers;
    portals_token *tokens; /* first those of frames */
    portals_policy policy;
    portals_local_way way;
    pen_firehose *firehose; /* NULL: not in use */
    pen_counters *counters, own_counters;
    pen_lock lock; /* guards all below */
    portals_token *free_tokens[PORTALS_KINDS];
    portals_token *refused; /* frames to be sent again */
    uint32_t pending, lost, segment_count;
    uint64_t last_key;
    pen_region *segments; /* local operations use them */
} portals_link;

static inline portals_link *portals_of(pen_link *link) { return (portals_link *)(void *)link; }

/* Tokens of frames. */
static inline uint32_t portals_frames(const portals_link *link)
{
    return PEN_LANES * (uint32_t)link->config.tokens;
}

static inline uint32_t portals_padded(uint32_t len)
{
    return (len + PORTALS_ALIGN - 1) & ~(uint32_t)(PORTALS_ALIGN - 1);
}

/* ---- the card (portals_device.c) ------------------------------------------------------------- */

/* Shared memory of the card for a job of `peers` ranks. */
size_t portals_device_len(pen_peer peers);

/* Opens the rank's card in the shared memory. Fails: the reason is logged. */
pen_status portals_device_open(const pen_host *host, const portals_device_config *settings,
                               pen_peer self, pen_peer peers, portals_device **out);
void portals_device_close(portals_device *device);

/* Packets that the card has sent and received. */
uint64_t portals_device_moved(portals_device *device);

/* Calls of the interface by this thread go to this card; NULL: to the card of the process. */
void portals_device_use(portals_device *device);

/* ---- tokens and frames (portals_send.c) -------------------------------------------------------
 */

/* Takes a token that waits for this number of events. Returns NULL if there is none, or if the
 * peer is lost, which *is_lost tells. */
portals_token *portals_token_take(portals_link *link, unsigned kind, pen_peer to, uint8_t events,
                                  bool *is_lost);
void portals_token_give(portals_link *link, portals_token *token);

/* Ends a call of the interface that has begun with a token: wakes the peer, or gives the token
 * back and finds the answer. */
pen_post portals_posted(portals_link *link, portals_token *token, int result);
void portals_mark_lost(portals_link *link, pen_peer peer);
void portals_wake(portals_link *link, pen_peer peer);

/* A frame was refused: it is sent again by portals_resend. */
void portals_refused(portals_link *link, portals_token *token);
/* Sends the refused frames whose time has come. */
void portals_resend(portals_link *link);
pen_post portals_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                      pen_op *op);

/* Header data of a frame: the sender's rank in the upper 24 bits, and the length of its head in the
 * next 8. The rest is the length of the body, or with this flag the number of a payload. */
#define PORTALS_BEHIND (UINT64_C(1) << 39)

/* Posts a frame. about_body: its length, or PORTALS_BEHIND and a number. */
pen_post portals_post_frame(portals_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                            uint64_t about_body);

/* ---- Longs (portals_behind.c) ----------------------------------------------------------------
 */

/* Returns a result of the interface. */
int portals_behind_open(portals_link *link);
/* Lets peers put payloads to a region; also returns a result of the interface. */
int portals_behind_add(portals_link *link, pen_region *region);

/* Finds the number of the next payload for the peer, which is data_last once it was put. Returns
 * false if the peer has not handled enough of those before. Lock: post. */
bool portals_data_next(portals_link *link, pen_peer to, uint32_t *number);

/* Handles an event of a payload that has landed, or of a note. */
void portals_hear_data(portals_link *link, const ptl_event_t *event);

/* Sends notes to the peers from which many payloads have landed. A note that finds no room is sent
 * by a later poll. */
void portals_send_notes(portals_link *link);

/* Returns whether the peer's payloads up to this number have landed. */
bool portals_may_deliver(portals_link *link, pen_peer from, uint32_t number);

/* Delivers frames that had to wait, at most `budget`; returns how many. */
unsigned portals_deliver_held(portals_link *link, unsigned lanes, unsigned budget);

extern const pen_behind_ops portals_behind;

/* ---- local memory (portals_local.c) ----------------------------------------------------------
 */

bool portals_local_parse(const char *text, portals_local_way *out);

/* Gets ready for the link's way, and bounds puts and gets by what it can serve. mds_max:
 * descriptors that the interface has. Returns a result of the interface. */
int portals_local_open(portals_link *link, pen_concurrency concurrency, uint32_t mds_max);
void portals_local_close(portals_link *link);

/* Lets local operations use a segment, and ends that. */
void portals_local_add(portals_link *link, pen_region *region);
void portals_local_remove(portals_link *link, pen_region *region);

/* Finds or makes the descriptor of the local memory of a put or a get: sets md and at of its token.
 * Returns a result of the interface; PTL_NO_SPACE: there is room when operations have ended. */
int portals_local_begin(portals_link *link, portals_token *token, void *local, size_t len,
                        bool is_put);
/* The data of a get has come. */
void portals_local_arrive(portals_token *token);
/* The token waits for no more events. Giving a token back does this. */
void portals_local_end(portals_link *link, portals_token *token);

/* ---- the rest -------------------------------------------------------------------------------- */

/* Fits the lanes' portals with their queues and blocks. Returns a result of the interface. */
int portals_receive_open(portals_link *link);

/* Handles an event of the lane's queue: delivers a frame, or makes room for more. */
void portals_receive(portals_link *link, pen_lane lane, const ptl_event_t *event);

/* Returns whether the event comes from the peer's process. */
bool portals_is_from(const portals_link *link, pen_peer peer, const ptl_event_t *event);

unsigned portals_poll(pen_link *base, unsigned lanes, unsigned budget);

/* Bytes that all peers together may have under way to this rank, notes of the window included. */
size_t portals_inbox(const portals_link *link);

/* Ends a call of the interface that has begun a put, a get or an operation on a word. */
pen_post portals_op_begun(portals_link *link, portals_token *token, pen_peer peer, int result);

extern const pen_rma_ops portals_rma;
extern const pen_amo_ops portals_amo;
extern const pen_due_ops portals_due;

#endif
