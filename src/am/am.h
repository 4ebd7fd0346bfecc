/* SPDX-License-Identifier: BSD-3-Clause */
/* am.h: active messages: the head on the wire, the handler table, requests, replies and what
 * happens when a frame arrives.
 *
 * A frame's head is one 64-bit word, then the arguments two to a word, then (Long only) the
 * destination: docs/design/wire.md. Callers hand in the words with word 0 free for us, so that a
 * Short is encoded where the conduit reads it.
 *
 * Messages of the engine itself (put and get by messages, barriers over a network) are the fourth
 * category: their handler is a function of a fixed internal table, and they may be sent before any
 * client handler is registered. */
#ifndef PEN_AM_AM_H
#define PEN_AM_AM_H

#include "job/job.h"

#include <penstock/abi.h>

enum {
    PEN_AM_ARGS_MAX = 16,
    PEN_AM_WORDS_MAX = 1 + PEN_AM_ARGS_MAX / 2, /* head word and arguments */
    PEN_AM_HANDLERS = 256,
    PEN_AM_HANDLER_FIRST = 128, /* GEX_AM_INDEX_BASE: the first a client may use */
    PEN_AM_LONG_MAX = 1 << 30,  /* of a Long whose target memory every peer of the job may map */
    PEN_AM_LONG_LEAST = 65536,  /* bytes that every Long carries */
    PEN_AM_MEDIUM_LONG =
        65536, /* bytes that every Medium carries; in parts where frames carry less */
    PEN_AM_MEDIUM_LEAST =
        512, /* bytes of a Medium in one frame: a link whose frames carry less is refused */
};

/* What a client promises of a handler: bits of pen_am_entry.flags, as GEX_FLAG_AM_... No bit of a
 * group: anything goes. */
enum {
    PEN_AM_PROMISE_SHORT = 1u << 0,
    PEN_AM_PROMISE_MEDIUM = 1u << 1,
    PEN_AM_PROMISE_LONG = 1u << 2,
    PEN_AM_PROMISE_REQUEST = 1u << 3,
    PEN_AM_PROMISE_REPLY = 1u << 4,
};
#define PEN_AM_ARGS_UNKNOWN UINT32_MAX /* pen_am_entry.arg_count: any number of arguments */

typedef enum pen_am_category {
    PEN_AM_SHORT,
    PEN_AM_MEDIUM,
    PEN_AM_LONG,
    PEN_AM_INTERNAL
} pen_am_category;

/* What a registered handler is; layout of gex_AM_Entry_t, which api/ fills it from. */
typedef struct pen_am_entry {
    uint8_t index;
    void (*function)(void);
    uint32_t flags; /* GEX_FLAG_AM_...: what the client promised, checked on dispatch in checked
                       builds */
    unsigned arg_count;
    const void *cdata;
    const char *name;
} pen_am_entry;

/* gex_Token_t and gasnet_token_t point here: on the stack of the dispatcher, dead when the handler
 * returns. */
struct pen_token {
    pen_job *job;
    pen_peer from;
    uint32_t handler; /* index of its entry */
    bool is_request, is_long;
    bool replied; /* no reply may be sent (any more) */
    bool spare;   /* false; so that the four are one word */
};
typedef struct pen_token pen_token;

/* Handlers of the engine's own messages. args: arg_count 32-bit words as sent, not trusted. */
typedef void (*pen_am_internal_fn)(pen_token *token, const int32_t *args, unsigned arg_count,
                                   void *body, uint32_t body_len);
typedef enum pen_am_internal {
    PEN_AM_INT_PUT,
    PEN_AM_INT_PUT_DONE,
    PEN_AM_INT_GET,
    PEN_AM_INT_GET_DATA,
    PEN_AM_INT_MEMSET,
    PEN_AM_INT_BARRIER,
    PEN_AM_INT_QUERY_SEGMENT,
    PEN_AM_INT_SEGMENT,
    PEN_AM_INT_LONG_PIECE,
    PEN_AM_INT_LONG_ACK,
    PEN_AM_INT_COLL_DATA,
    PEN_AM_INT_COLL_READY,
    PEN_AM_INT_COLL_ASK,
    PEN_AM_INT_COLL_CREDIT,
    PEN_AM_INT_ATOMIC,
    PEN_AM_INT_ATOMIC_DONE,
    PEN_AM_INT_TELL,
    PEN_AM_INT_PART,
    PEN_AM_INT_COUNT
} pen_am_internal;

/* An argument of 64 bits takes two, low half first. */
static inline uint64_t pen_am_arg_u64(const int32_t *args)
{
    return (uint64_t)(uint32_t)args[0] | (uint64_t)(uint32_t)args[1] << 32;
}

static inline void pen_am_arg_put_u64(int32_t *args, uint64_t value)
{
    args[0] = (int32_t)(uint32_t)value;
    args[1] = (int32_t)(uint32_t)(value >> 32);
}

/* What becomes of one that fits nothing here: it is counted. */
static inline void pen_am_drop(pen_job *job) { pen_job_count(job, &job->counters.frame_dropped); }

/* Runs a Short whose head word is `head`, or has the general way look into what is wrong with it.
 */
typedef void (*pen_am_run_head)(pen_job *job, pen_peer from, const uint64_t *words,
                                uint32_t head_len, uint64_t head);

struct pen_am_flight;                     /* am/flight.c */
typedef struct pen_am_parts pen_am_parts; /* am/parts.c */
enum { PEN_AM_FLIGHT_BUCKETS = 32 };

typedef struct pen_am {
    /* NULL: not registered. Written last under the lock, with release; read without it, with
     * acquire. Its entry has it once more; here they stand closer together. */
    void (*functions[PEN_AM_HANDLERS])(void);
    pen_am_entry entries[PEN_AM_HANDLERS];
    pen_am_internal_fn internal[PEN_AM_INT_COUNT];
    pen_am_run_head run[2][256]; /* by lane and argument count; never changes */
    pen_lock lock;               /* guards registration, and Longs in flight */
    size_t medium_max;           /* of one frame, and so of our own messages */
    size_t medium_long_max;      /* of a client's Medium: see parts.c */
    size_t long_request_max, long_reply_max;
    pen_am_parts *parts; /* Mediums of which parts have arrived; guarded by lock */
    uint32_t parts_sent; /* Mediums that were sent in parts; likewise */
    struct pen_am_flight *flights[PEN_AM_FLIGHT_BUCKETS]; /* by id; guarded by lock */
    uint64_t flight_id;                                   /* of the youngest; likewise */
    uint32_t flight_count;                                /* likewise */
    _Atomic bool cma_refused; /* relaxed: a hint that spares us a failing system call */
} pen_am;

static inline const pen_am_entry *pen_am_token_entry(const pen_token *token)
{
    return &token->job->am->entries[token->handler];
}

pen_status pen_am_open(pen_job *job);
void pen_am_close(pen_job *job);

/* Index 0: the highest free one, from 255 down, in table order after the fixed ones; written back.
 * PEN_ERR_ARGUMENT (nothing registered, one line says which) for an index below 128 or taken twice
 * or no function; PEN_ERR_RESOURCE when none is left. Only indices that were 0 are written.
 * log: where that line goes. */
pen_status pen_am_register(pen_job *job, pen_log *log, pen_am_entry *entries, size_t count);
void pen_am_register_internal(pen_job *job, pen_am_internal index, pen_am_internal_fn function);

/* The link's deliver: decodes, checks and runs one frame. ctx: the pen_job. */
void pen_am_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len);

/* The same for frames that are nothing but a head, of either lane. */
void pen_am_deliver_request(void *ctx, pen_peer from, const void *head, uint32_t head_len);
void pen_am_deliver_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len);

/* Requests. words: PEN_AM_WORDS(arg_count) words, arguments packed from words[1] on, two to a word,
 * low half first; words[0] is ours. Answer 0, or non-zero when PEN_AM_IMMEDIATE was given and there
 * was no room (then nothing happened). Without it they poll until there is room: never from a
 * handler. */
#define PEN_AM_WORDS(arg_count) (1 + ((arg_count) + 1) / 2)
#define PEN_AM_IMMEDIATE        1u         /* GEX_FLAG_IMMEDIATE */
#define PEN_AM_COPY             (1u << 16) /* GEX_FLAG_LC_COPY_YES */
#define PEN_AM_COPY_NOT         (1u << 17) /* GEX_FLAG_LC_COPY_NO: as if nothing was said */
#define PEN_AM_ASYNC            (1u << 31) /* the source stays as it is until a reply comes */

int pen_am_request_short(pen_team *team, uint32_t rank, uint8_t handler, uint32_t flags,
                         unsigned arg_count, uint64_t *words);
/* The payload has been copied on return. By the link's express entry, where that takes it. */
int pen_am_request_medium(pen_team *team, uint32_t rank, uint8_t handler, const void *source,
                          size_t len, uint32_t flags, unsigned arg_count, uint64_t *words);
/* The payload has been copied, or moved, on return. dest: an address of the target. */
int pen_am_request_long(pen_team *team, uint32_t rank, uint8_t handler, const void *source,
                        size_t len, void *dest, uint32_t flags, unsigned arg_count,
                        uint64_t *words);

/* Ends the job over a handler that no client may have. */
PEN_COLD _Noreturn void pen_am_bad_handler(pen_job *job, uint8_t handler);
static inline void pen_am_check_handler(pen_job *job, uint8_t handler)
{
    if (pen_unlikely(handler < PEN_AM_HANDLER_FIRST))
        pen_am_bad_handler(job, handler);
}

/* Shorts of few arguments. entry: at rank's place of the row, or where there is none.
 * Answers the link's entry for it, which has room and has to be used, counted already; NULL: the
 * other way has to be taken, which also says what is wrong, if anything is. A handler that no
 * client may have is the receiver's to find, where it is looked up; checked builds look here.
 *
 * Where threads share the link this is right while pen_is_only_thread(), without a look at the post
 * lock: nobody else has it or will before the entry has been used, since only this thread could
 * begin another one; and this thread does not have it, which is held round single calls on the
 * link, and links send no messages of the client's. */
static inline pen_express *pen_am_express_request(const pen_team *team, const pen_express_row *row,
                                                  uint32_t rank, pen_express *entry)
{
    if (pen_unlikely(rank >= row->count) || pen_unlikely(entry->room == 0))
        return NULL;
    team->job->counters.am_sent_shm++;
    return entry;
}

/* The lower half of such a head is the frame's first word; of a reply, with this. */
#define PEN_AM_REPLY_BITS ((uint64_t)PEN_LANE_REPLY << 18)

static inline pen_express *pen_am_express_reply(pen_token *token, const pen_express_row *row,
                                                uint64_t head)
{
    pen_express *entry = pen_express_at(row, token->from);
    if (pen_unlikely(token->replied) || pen_unlikely((uint8_t)head < PEN_AM_HANDLER_FIRST) ||
        pen_unlikely(entry->room == 0))
        return NULL;
    token->replied = true;
    token->job->counters.am_sent_shm++;
    return entry;
}

/* Posts a frame of count words, a constant, at most four. */
static inline __attribute__((always_inline)) int
pen_am_express_post(const pen_express_ops *ops, pen_express *entry, unsigned count, uint64_t a,
                    uint64_t b, uint64_t c, uint64_t d)
{
    if (count == 1)
        return ops->one(entry, a);
    if (count == 2)
        return ops->two(entry, a, b);
    if (count == 3)
        return ops->three(entry, a, b, c);
    return ops->four(entry, a, b, c, d);
}

/* Such a Short by the other way: as pen_am_request_short and pen_am_reply_short. What is not in use
 * of a to c is anything. */
int pen_am_request_words(uint32_t rank, uint64_t head, uint64_t a, uint64_t b, uint64_t c,
                         const pen_team *team);
int pen_am_reply_words(pen_token *token, uint64_t head, uint64_t a, uint64_t b, uint64_t c);

/* Beside other threads: the same under the lock; counted. entry: of the shared table. False: there
 * is no room, or another thread has the lock, and nothing has happened; the other way takes that
 * lock, too. Nothing is called before that is known, so that the other way is a jump. */
static inline __attribute__((always_inline)) bool
pen_am_express_locked(pen_job *job, pen_express *entry, unsigned count, uint64_t a, uint64_t b,
                      uint64_t c, uint64_t d)
{
    pen_lock *lock = &job->progress.ports[0].post_lock;
    if (pen_unlikely(!pen_lock_try_shared(lock)))
        return false;
    if (pen_unlikely(entry->room == 0)) {
        pen_lock_drop_for_now(lock);
        return false;
    }
    job->counters.am_sent_shm++;
    (void)pen_am_express_post(&job->shared_express.ops, entry, count, a, b, c, d);
    pen_lock_drop_shared(lock);
    return true;
}

/* A request whose payload may still be read after the call: op counts it as busy (both counts are
 * raised by one) until the source may change; NULL: that is so on return, unless flags say
 * PEN_AM_ASYNC. An answer other than 0 leaves op as it was. */
typedef struct pen_am_payload {
    const void *source;
    size_t len;
    void *dest; /* Long */
    pen_op *op;
} pen_am_payload;

int pen_am_request_payload(pen_team *team, uint32_t rank, pen_am_category category, uint8_t handler,
                           const pen_am_payload *payload, uint32_t flags, unsigned arg_count,
                           uint64_t *words);

/* Replies: in a request handler, at most one; they never block: what finds no room is queued. With
 * PEN_AM_IMMEDIATE they answer non-zero instead of queueing. */
int pen_am_reply_short(pen_token *token, uint8_t handler, uint32_t flags, unsigned arg_count,
                       uint64_t *words);
int pen_am_reply_medium(pen_token *token, uint8_t handler, const void *source, size_t len,
                        uint32_t flags, unsigned arg_count, uint64_t *words);
int pen_am_reply_long(pen_token *token, uint8_t handler, const void *source, size_t len, void *dest,
                      uint32_t flags, unsigned arg_count, uint64_t *words);

/* ---- negotiated payload (negotiated.c) ---------------------------------------------------------
 *
 * Prepare agrees on a length and a buffer, commit sends what is in it. A thread has one such
 * message at a time, and between the two it neither communicates nor polls. */

typedef enum pen_am_place {
    PEN_AM_PLACE_CLIENT, /* the client's buffer */
    PEN_AM_PLACE_FRAME,  /* the body of a frame that the link reserved */
    PEN_AM_PLACE_OWN     /* memory of ours */
} pen_am_place;

typedef struct pen_source_desc { /* gex_AM_SrcDesc_t */
    pen_job *job;
    void *address; /* where the payload is made, and how much of it there may be */
    size_t size;
    void *dest;       /* of a Long; NULL: the commit says */
    pen_token *token; /* of a reply */
    const pen_route *route;
    void *local; /* api/'s: what is to become of the client's event */
    char *own;   /* the thread's own buffer, kept for its next message */
    size_t own_len;
    uint32_t jobrank, flags;
    unsigned arg_count; /* api/'s: as announced */
    pen_lane lane;
    pen_am_category category;
    pen_am_place place;
    bool live; /* prepared, and neither committed nor cancelled */
} pen_source_desc;

typedef struct pen_am_terms {
    pen_am_category category;
    const void *buffer; /* the client's; NULL: ours */
    size_t least, most;
    void *dest;
    uint32_t flags;
} pen_am_terms;

typedef struct pen_am_commit_terms {
    uint8_t handler;
    size_t len; /* at most the descriptor's size */
    void *dest;
    pen_op *op; /* of a request with a client's buffer: see pen_am_payload */
    uint32_t flags;
    unsigned arg_count;
} pen_am_commit_terms;

/* NULL with PEN_AM_IMMEDIATE only, when there is no room for a buffer of ours. A request waits for
 * room, and polls meanwhile; a reply does neither. */
pen_source_desc *pen_am_prepare_request(pen_thread *thread, pen_team *team, uint32_t rank,
                                        const pen_am_terms *terms);
pen_source_desc *pen_am_prepare_reply(pen_thread *thread, pen_token *token,
                                      const pen_am_terms *terms);

/* Answers as the calls that give everything at once do; refused, the descriptor stays live. A
 * reserved buffer is never refused and never waits. */
int pen_am_commit(pen_source_desc *desc, const pen_am_commit_terms *terms, uint64_t *words);
void pen_am_cancel(pen_source_desc *desc);

/* ---- Longs in flight ---------------------------------------------------------------------------
 *
 * A long Long may be sent and not yet be over: see flight.c. */

/* The youngest begun so far. */
uint64_t pen_am_flight_youngest(pen_job *job);
/* Is a request underway that is no younger? Polls bring it to its end. */
bool pen_am_flies(pen_job *job, uint64_t youngest);

/* ---- the rest ---------------------------------------------------------------------------------*/

/* Whether a payload of so many bytes, of any message to this rank, has left its source on return,
 * so that nobody needs an op for it. */
bool pen_am_copies(const pen_job *job, uint32_t jobrank, size_t len);

/* The engine's own messages. Body at most medium_max, copied before return. `lane` REPLY or
 * CONTROL: never blocks (queued when there is no room), legal in a handler. REQUEST: answers
 * non-zero instead of waiting when there is no room; the caller polls and tries again. To a lost
 * peer: dropped, 0. */
int pen_am_send_internal(pen_job *job, uint32_t jobrank, pen_lane lane, pen_am_internal index,
                         unsigned arg_count, const int32_t *args, const void *body,
                         uint32_t body_len);

/* The same of a request whose body may be read after the call: op counts it as busy, in both its
 * counts, until it is not. */
int pen_am_send_internal_for(pen_job *job, uint32_t jobrank, pen_am_internal index,
                             unsigned arg_count, const int32_t *args, const void *body,
                             uint32_t body_len, pen_op *op);

/* Runs a client's handler at a rank as if a Medium reply without arguments had come there, although
 * nobody asked. It travels as a request, so waits for room, and polls meanwhile. To oneself: runs
 * the handler at once. Never in a handler. payload: aligned for any type, and writable, since the
 * handler may write it. */
void pen_am_tell(pen_job *job, uint32_t jobrank, uint8_t handler, void *payload, uint32_t len);

/* One answer for all peers and argument counts: symmetric, and the same before and after attaching.
 */
size_t pen_am_max_medium(const pen_job *job, unsigned arg_count);
size_t pen_am_max_long_request(const pen_job *job, unsigned arg_count);
size_t pen_am_max_long_reply(const pen_job *job, unsigned arg_count);

#endif
