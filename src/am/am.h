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

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/express.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "os/lock.h"

#include <penstock/abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_AM_ARGS_MAX = 16,
    PEN_AM_WORDS_MAX = 1 + PEN_AM_ARGS_MAX / 2, /* head word and arguments */
    PEN_AM_HANDLERS = 256,
    PEN_AM_HANDLER_FIRST = 128, /* GEX_AM_INDEX_BASE: the first a client may use */
    PEN_AM_LONG_MAX = 1 << 30,  /* bytes of a Long whose target memory every peer maps */
    PEN_AM_LONG_LEAST = 65536,  /* bytes that every Long carries */
    PEN_AM_MEDIUM_LONG =
        65536, /* bytes that every Medium carries; in parts where frames carry less */
    PEN_AM_MEDIUM_LEAST =
        512, /* bytes of a Medium in one frame: a link whose frames carry less is refused */
};

/* Properties that a client promises of a handler: bits of pen_am_entry.flags, as GEX_FLAG_AM_...
 * If no bit of a group is set, all its values are allowed. */
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

/* A registered handler. The layout follows gex_AM_Entry_t, from which api/ fills it. */
typedef struct pen_am_entry {
    uint8_t index;
    void (*function)(void);
    uint32_t flags; /* GEX_FLAG_AM_...: the client's promises; checked builds check them on
                     * dispatch */
    unsigned arg_count;
    const void *cdata;
    const char *name;
} pen_am_entry;

/* gex_Token_t and gasnet_token_t point here. It lies on the dispatcher's stack and is valid
 * until the handler returns. */
struct pen_token {
    pen_job *job;
    pen_peer from;
    uint32_t handler; /* index of its entry */
    bool is_request, is_long;
    bool replied; /* a reply was sent, or may not be sent */
    bool spare;   /* always false; makes these four one word */
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

/* A 64-bit argument takes two words, the low half first. */
static inline uint64_t pen_am_arg_u64(const int32_t *args)
{
    return (uint64_t)(uint32_t)args[0] | (uint64_t)(uint32_t)args[1] << 32;
}

static inline void pen_am_arg_put_u64(int32_t *args, uint64_t value)
{
    args[0] = (int32_t)(uint32_t)value;
    args[1] = (int32_t)(uint32_t)(value >> 32);
}

/* Counts a message that no module here accepts, and drops it. */
static inline void pen_am_drop(pen_job *job) { pen_job_count(job, &job->counters.frame_dropped); }

struct pen_am_flight;                     /* am/flight.c */
typedef struct pen_am_parts pen_am_parts; /* am/parts.c */
enum { PEN_AM_FLIGHT_BUCKETS = 32 };

typedef struct pen_am {
    /* NULL: not registered. Written last under the lock, with release; read without the lock,
     * with acquire. entries holds each function, too; here they stand closer together. */
    void (*functions[PEN_AM_HANDLERS])(void);
    pen_am_entry entries[PEN_AM_HANDLERS];
    pen_am_internal_fn internal[PEN_AM_INT_COUNT];
    pen_lock lock;          /* guards registration, and Longs in flight */
    size_t medium_max;      /* bytes of one frame's body, and so of the engine's own
                             * messages */
    size_t medium_long_max; /* bytes of a client's Medium: see parts.c */
    size_t long_request_max, long_reply_max;
    pen_am_parts *parts; /* incomplete Mediums that arrive in parts; guarded by lock */
    uint32_t parts_sent; /* Mediums sent in parts; guarded by lock */
    struct pen_am_flight *flights[PEN_AM_FLIGHT_BUCKETS]; /* by id; guarded by lock */
    uint64_t flight_id;                                   /* the youngest; guarded by lock */
    uint32_t flight_count;                                /* guarded by lock */
} pen_am;

static inline const pen_am_entry *pen_am_token_entry(const pen_token *token)
{
    return &token->job->am->entries[token->handler];
}

pen_status pen_am_open(pen_job *job);
void pen_am_close(pen_job *job);

/* Registers handlers. If a row has index 0, it gets the highest free index, from 255 down, in
 * table order after the rows with an index; the index is written back to those rows only.
 * Returns PEN_ERR_ARGUMENT, after printing a line to log, if an index is below 128 or used
 * twice, or if a function is missing; then no handler is registered. Returns PEN_ERR_RESOURCE if
 * no index is free. */
pen_status pen_am_register(pen_job *job, pen_log *log, pen_am_entry *entries, size_t count);
void pen_am_register_internal(pen_job *job, pen_am_internal index, pen_am_internal_fn function);

/* The link's deliver: decodes, checks and runs one frame. ctx: the pen_job. */
void pen_am_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len);

/* Runs one frame that consists of a head only, on any lane. */
void pen_am_deliver_request(void *ctx, pen_peer from, const void *head, uint32_t head_len);
void pen_am_deliver_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len);

/* Sends requests. words: PEN_AM_WORDS(arg_count) words. Arguments are packed from words[1] on,
 * two to a word, low half first; the callee writes words[0]. Return 0. With PEN_AM_IMMEDIATE
 * they return non-zero if there is no room, and have no effect then. Without it they poll until
 * there is room. Not to be called from a handler. */
#define PEN_AM_WORDS(arg_count) (1 + ((arg_count) + 1) / 2)
#define PEN_AM_IMMEDIATE        1u         /* GEX_FLAG_IMMEDIATE */
#define PEN_AM_COPY             (1u << 16) /* GEX_FLAG_LC_COPY_YES */
#define PEN_AM_COPY_NOT         (1u << 17) /* GEX_FLAG_LC_COPY_NO: same as no flag */
#define PEN_AM_ASYNC            (1u << 31) /* the source must not change until a reply comes */

int pen_am_request_short(pen_team *team, uint32_t rank, uint8_t handler, uint32_t flags,
                         unsigned arg_count, uint64_t *words);
/* On return the payload has been copied. Uses the link's express entry if the entry takes it.
 * handler is below 256; its type saves an instruction on each call. */
int pen_am_request_medium(pen_team *team, uint32_t rank, uint32_t handler, const void *source,
                          size_t len, uint32_t flags, unsigned arg_count, uint64_t *words);
/* On return the payload has been copied or moved. dest: an address of the target. */
int pen_am_request_long(pen_team *team, uint32_t rank, uint8_t handler, const void *source,
                        size_t len, void *dest, uint32_t flags, unsigned arg_count,
                        uint64_t *words);

/* Ends the job, because the message names a handler index that clients may not use. */
PEN_COLD _Noreturn void pen_am_bad_handler(pen_job *job, uint8_t handler);
static inline void pen_am_check_handler(pen_job *job, uint8_t handler)
{
    if (pen_unlikely(handler < PEN_AM_HANDLER_FIRST))
        pen_am_bad_handler(job, handler);
}

/* Shorts of few arguments. entry: at the rank's place in the row, or the row's first if the rank
 * has no place.
 * Returns the link's entry, which has room, is already counted, and has to be used. Returns NULL if
 * the caller has to take the slow path, which also reports misuse. The receiver detects handler
 * indices that clients may not use; checked builds detect them here.
 *
 * If threads share the link, this is valid while pen_is_only_thread(), without a test of the
 * post lock. No other thread holds that lock or takes it before the entry is used, because only
 * this thread could start one. This thread does not hold it, because it is held around single
 * calls on the link, and links send no client messages. */
static inline pen_express *pen_am_express_request(const pen_team *team, const pen_express_row *row,
                                                  uint32_t rank, pen_express *entry)
{
    if (pen_unlikely(rank >= row->count) || pen_unlikely(entry->room == 0))
        return NULL;
    team->job->counters.am_sent_shm++;
    return entry;
}

/* The lower half of a Short's head is the frame's first word; a reply adds this. */
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

/* Posts a frame of `count` words. count is a constant, at most four. */
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

/* Slow path for a Short that was sent in registers; does what pen_am_request_short and
 * pen_am_reply_short do. Words of a to c that the head does not count are ignored. */
int pen_am_request_words(uint32_t rank, uint64_t head, uint64_t a, uint64_t b, uint64_t c,
                         const pen_team *team);
int pen_am_reply_words(pen_token *token, uint64_t head, uint64_t a, uint64_t b, uint64_t c);

/* Express path if several threads share the link: posts under the port's lock, and counts.
 * entry: of the shared table. Returns false, without any effect, if there is no room or if a
 * different thread holds the lock; the slow path then takes the lock. It makes no call before it
 * knows, so the slow path is a jump. */
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

/* Sends a request whose payload may be read after the call. op, if not NULL, counts it as busy
 * until the source may change (both counts are raised by one). If op is NULL, the source may
 * change on return, unless flags contain PEN_AM_ASYNC. If the call returns non-zero, op is
 * unchanged. */
typedef struct pen_am_payload {
    const void *source;
    size_t len;
    void *dest; /* Long */
    pen_op *op;
} pen_am_payload;

int pen_am_request_payload(pen_team *team, uint32_t rank, pen_am_category category, uint8_t handler,
                           const pen_am_payload *payload, uint32_t flags, unsigned arg_count,
                           uint64_t *words);

/* Sends the reply of a request handler, at most one. Replies never block: a reply that finds no
 * room is queued. With PEN_AM_IMMEDIATE they return non-zero instead of queueing. */
int pen_am_reply_short(pen_token *token, uint8_t handler, uint32_t flags, unsigned arg_count,
                       uint64_t *words);
int pen_am_reply_medium(pen_token *token, uint8_t handler, const void *source, size_t len,
                        uint32_t flags, unsigned arg_count, uint64_t *words);
int pen_am_reply_long(pen_token *token, uint8_t handler, const void *source, size_t len, void *dest,
                      uint32_t flags, unsigned arg_count, uint64_t *words);

/* ---- negotiated payload (negotiated.c) ---------------------------------------------------------
 *
 * Prepare agrees on a length and a buffer; commit sends the contents. A thread prepares one message
 * at a time. Between the two calls it neither communicates nor polls. */

typedef enum pen_am_place {
    PEN_AM_PLACE_CLIENT, /* the client's buffer */
    PEN_AM_PLACE_FRAME,  /* the body of a frame that the link reserved */
    PEN_AM_PLACE_OWN     /* memory of the library */
} pen_am_place;

typedef struct pen_source_desc { /* gex_AM_SrcDesc_t */
    pen_job *job;
    void *address; /* where the client writes the payload, and its limit */
    size_t size;
    void *dest;       /* destination of a Long; NULL: given at commit */
    pen_token *token; /* of a reply */
    const pen_route *route;
    void *local; /* for api/: completion of the client's event */
    char *own;   /* the thread's own buffer, kept for its next message */
    size_t own_len;
    uint32_t jobrank, flags;
    unsigned arg_count; /* for api/: as announced at prepare */
    pen_lane lane;
    pen_am_category category;
    pen_am_place place;
    bool live; /* prepared, and neither committed nor cancelled */
} pen_source_desc;

typedef struct pen_am_terms {
    pen_am_category category;
    const void *buffer; /* the client's buffer; NULL: a library buffer */
    size_t least, most;
    void *dest;
    uint32_t flags;
} pen_am_terms;

typedef struct pen_am_commit_terms {
    uint8_t handler;
    size_t len; /* at most the descriptor's size */
    void *dest;
    pen_op *op; /* for a request from a client's buffer: see pen_am_payload */
    uint32_t flags;
    unsigned arg_count;
} pen_am_commit_terms;

/* Prepare a message. Return NULL only with PEN_AM_IMMEDIATE, if there is no room for a library
 * buffer. Without that flag, a request polls until there is room. A reply neither waits nor
 * polls. */
pen_source_desc *pen_am_prepare_request(pen_thread *thread, pen_team *team, uint32_t rank,
                                        const pen_am_terms *terms);
pen_source_desc *pen_am_prepare_reply(pen_thread *thread, pen_token *token,
                                      const pen_am_terms *terms);

/* Sends the message. Returns as pen_am_request_medium and the related calls do; if it returns
 * non-zero, the descriptor stays live. A reserved frame never waits and is never refused. */
int pen_am_commit(pen_source_desc *desc, const pen_am_commit_terms *terms, uint64_t *words);
void pen_am_cancel(pen_source_desc *desc);

/* ---- Longs in flight ---------------------------------------------------------------------------
 *
 * A long Long may be sent and not yet be over: see flight.c. */

/* The id of the youngest flight. */
uint64_t pen_am_flight_youngest(pen_job *job);
/* Is a request with this id or a lower one in flight? Polls complete it. */
bool pen_am_flies(pen_job *job, uint64_t youngest);

/* ---- the rest ---------------------------------------------------------------------------------*/

/* Is the source of a message to this rank free on return, for a payload of this length? Then no
 * op is needed. */
bool pen_am_copies(const pen_job *job, uint32_t jobrank, size_t len);

/* Sends the engine's own messages. The body has at most medium_max bytes and is copied before
 * return. Lanes REPLY and CONTROL never block (the message is queued if there is no room) and
 * are legal in a handler. Lane REQUEST returns non-zero if there is no room; the caller polls
 * and tries again. A message to a lost peer is dropped; the return value is 0. */
int pen_am_send_internal(pen_job *job, uint32_t jobrank, pen_lane lane, pen_am_internal index,
                         unsigned arg_count, const int32_t *args, const void *body,
                         uint32_t body_len);

/* Sends an engine request whose body may be read after the call. op counts the body as busy, in
 * both its counts, until the link has read it. */
int pen_am_send_internal_for(pen_job *job, uint32_t jobrank, pen_am_internal index,
                             unsigned arg_count, const int32_t *args, const void *body,
                             uint32_t body_len, pen_op *op);

/* Runs a client's handler on a rank as if a Medium reply without arguments had arrived there,
 * although the rank sent no request. It travels as a request, so it waits for room and polls
 * meanwhile. If the target is this rank, the handler runs at once. Not to be called from a
 * handler. payload: aligned for any type, and writable, because the handler may write to it. */
void pen_am_tell(pen_job *job, uint32_t jobrank, uint8_t handler, void *payload, uint32_t len);

/* Limits that hold for all peers and argument counts. They are symmetric, and the same before
 * and after attaching. */
size_t pen_am_max_medium(const pen_job *job, unsigned arg_count);
size_t pen_am_max_long_request(const pen_job *job, unsigned arg_count);
size_t pen_am_max_long_reply(const pen_job *job, unsigned arg_count);

#endif
