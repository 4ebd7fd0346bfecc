/* SPDX-License-Identifier: BSD-3-Clause */
/* abi.h: the data that inline code of the public headers reads, and the exported functions that
 * this code calls. The layout is fixed for this SONAME. Clients call nothing here directly. */
#ifndef PENSTOCK_ABI_H
#define PENSTOCK_ABI_H

#include <penstock/types.h>

#define PEN_ABI 1 /* headers and library must agree; checked when the client initialises */

/* Marks a call whose body is in a header. One file of the library defines it differently, so that
 * the library also exports these calls for languages that cannot include C headers. */
#ifndef GEX_INLINE
#    define GEX_INLINE static __inline__
#endif
/* Marks a call whose body is in the library. The call stays visible when the client hides its own
 * symbols. */
#define PEN_API                 __attribute__((visibility("default")))

#define PEN_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define PEN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- data ----------------------------------------------------------------------------------- */

/* The segment of a peer on the same host, as this process maps it. */
typedef struct pen_mapped {
    uintptr_t base;  /* where the segment begins, as the peer addresses it */
    size_t len;      /* bytes; 0: the peer has no segment */
    intptr_t delta;  /* add it to the peer's address to get the local one */
    uintptr_t spare; /* keeps a row at a power of two */
} pen_mapped;

/* The part of a gex_TM_t that inline code may read: the first member of struct pen_team. */
typedef struct pen_team_view {
    uint32_t rank, size;                 /* the caller's rank, the team's size; size 0: a TM pair */
    uint32_t mapped_first, mapped_count; /* ranks reachable by load and store, if contiguous */
    const pen_mapped *mapped;            /* indexed by rank - mapped_first */
    uint64_t reserved[2];                /* zero */
} pen_team_view;

/* The part of a gex_AD_t that inline code may read: the first member of struct pen_atomic_domain.
 */
typedef struct pen_atomic_view {
    gex_TM_t team;
    uint64_t reserved[3]; /* zero */
} pen_atomic_view;

/* A remote atomic operation that the library performs. Values are passed as bits; 32-bit values are
 * in the low half. */
typedef struct pen_atomic_call {
    void *result; /* receives the old value when op fetches it */
    void *target; /* an address of the target rank */
    gex_Rank_t rank;
    gex_DT_t type;
    gex_OP_t op;
    gex_Flags_t flags;
    uint64_t operands[2];
} pen_atomic_call;

/* One object file of the client, recorded in the linker section pen_units. The size is 32 bytes
 * because compilers align objects of this size to at most 32, so the linker leaves no gaps. */
typedef struct pen_unit {
    uint32_t abi, mode, segment, size; /* size: sizeof(pen_unit) */
    const char *file;
    uint32_t name;     /* PEN_NAME_...: the conduit it was built for */
    uint32_t reserved; /* zero */
} pen_unit;

enum { PEN_MODE_SEQ = 1, PEN_MODE_PARSYNC = 2, PEN_MODE_PAR = 3 };
enum { /* names of conduits */
       PEN_NAME_ANY = 0,
       PEN_NAME_SMP = 1,
       PEN_NAME_UDP = 2,
       PEN_NAME_MPI = 3,
       PEN_NAME_OFI = 4,
       PEN_NAME_UCX = 5,
       PEN_NAME_IBV = 6,
       PEN_NAME_PORTALS4 = 7,
       PEN_NAME_EXTOLL = 8
};
enum { PEN_SEGMENT_FAST = 1, PEN_SEGMENT_LARGE = 2, PEN_SEGMENT_EVERYTHING = 3 };

/* How the calling object file was compiled. units: the records of all object files, if the linker
 * provides the list. */
typedef struct pen_build {
    uint32_t abi, mode, segment, size; /* size: sizeof(pen_build) */
    const char *file;
    const pen_unit *units, *units_end; /* NULL: unknown */
} pen_build;

/* A handler-safe lock: one size in all modes. */
typedef struct pen_hsl {
    uint32_t word;         /* 0 free, 1 held, 2 held and a thread may sleep on it */
    uint32_t reserved;     /* zero */
    void *owner;           /* in libraries with checks, the holder */
    struct pen_hsl *below; /* in libraries with checks, the lock taken before it */
} pen_hsl;

/* How long GASNET_BLOCKUNTIL has been waiting. Only the library reads and writes it. */
typedef struct pen_block {
    uint64_t state[8];
} pen_block;

/* A value that a get will bring: GASNet-1's gasnet_valget_handle_t. */
typedef struct pen_valget {
    gex_RMA_Value_t value; /* when op is NULL */
    struct pen_valget_op *op;
} pen_valget;

/* Data that inline code reads before it polls. While the lower halves of these words add up to sum,
 * modulo 2^16, nothing has arrived, no work is left, and a poll would find nothing. If the library
 * cannot promise that, it publishes a sum that never matches. */
enum { PEN_POLL_WORDS = 5 };
typedef struct pen_poll_view {
    const uint32_t *words[PEN_POLL_WORDS];
    uint16_t sum;
    uint16_t reserved; /* zero */
    int32_t patience;  /* idle polls that inline code may skip before it must poll */
    int32_t stores;    /* SEQ, PARSYNC: see pen_stores */
    uint32_t unused;   /* zero */
    uint64_t spare[2]; /* zero */
} pen_poll_view;

/* The job's poll view. The thread that polls writes it, while other threads may read it. */
extern PEN_API pen_poll_view pen_poll;
/* Puts, gets and atomics that inline code may still do by itself. At 0 it calls the library, which
 * polls. PAR counts for each thread; in SEQ and PARSYNC pen_poll.stores is used. */
extern PEN_API __thread int32_t pen_stores __attribute__((tls_model("initial-exec")));
/* The primordial team. Before the job starts it is an empty team, so inline code needs no test. */
extern PEN_API gex_TM_t pen_world;
/* 1: locks must go through the library, which checks and traces them. */
extern PEN_API unsigned char pen_hsl_traced;

/* ---- functions: what the inline bodies call ------------------------------------------------- */

PEN_API int pen_api_init(const pen_build *build, int *argc, char ***argv);
PEN_API int pen_api_client_init(const pen_build *build, gex_Client_t *client, gex_EP_t *endpoint,
                                gex_TM_t *team, const char *name, int *argc, char ***argv,
                                gex_Flags_t flags);

/* Active messages. words has 1 + (arg_count + 1) / 2 elements. The library fills words[0]; the
 * arguments follow, two in a word, low half first. */
PEN_API int pen_api_request_short(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
                                  gex_Flags_t flags, unsigned arg_count, uint64_t *words);
/* Shorts of up to 6 arguments travel in registers: head is PEN_AM_HEAD; each further word holds two
 * arguments, low half first. */
PEN_API int pen_api_request_short_w0(gex_Rank_t rank, uint64_t head, gex_TM_t team);
PEN_API int pen_api_request_short_w1(gex_Rank_t rank, uint64_t head, uint64_t a, gex_TM_t team);
PEN_API int pen_api_request_short_w2(gex_Rank_t rank, uint64_t head, uint64_t a, uint64_t b,
                                     gex_TM_t team);
PEN_API int pen_api_request_short_w3(gex_Rank_t rank, uint64_t head, uint64_t a, uint64_t b,
                                     uint64_t c, gex_TM_t team);
PEN_API int pen_api_reply_short_w0(gex_Token_t token, uint64_t head);
PEN_API int pen_api_reply_short_w1(gex_Token_t token, uint64_t head, uint64_t a);
PEN_API int pen_api_reply_short_w2(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b);
PEN_API int pen_api_reply_short_w3(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b,
                                   uint64_t c);
/* Shorts in registers, for clients with threads. */
PEN_API int pen_api_request_short_par_w0(gex_Rank_t rank, uint64_t head, gex_TM_t team);
PEN_API int pen_api_request_short_par_w1(gex_Rank_t rank, uint64_t head, uint64_t a, gex_TM_t team);
PEN_API int pen_api_request_short_par_w2(gex_Rank_t rank, uint64_t head, uint64_t a, uint64_t b,
                                         gex_TM_t team);
PEN_API int pen_api_request_short_par_w3(gex_Rank_t rank, uint64_t head, uint64_t a, uint64_t b,
                                         uint64_t c, gex_TM_t team);
PEN_API int pen_api_reply_short_par_w0(gex_Token_t token, uint64_t head);
PEN_API int pen_api_reply_short_par_w1(gex_Token_t token, uint64_t head, uint64_t a);
PEN_API int pen_api_reply_short_par_w2(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b);
PEN_API int pen_api_reply_short_par_w3(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b,
                                       uint64_t c);
PEN_API int pen_api_request_medium(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
                                   const void *source, size_t len, gex_Flags_t flags,
                                   unsigned arg_count, uint64_t *words);
PEN_API int pen_api_request_long(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
                                 const void *source, size_t len, void *dest, gex_Flags_t flags,
                                 unsigned arg_count, uint64_t *words);
PEN_API int pen_api_reply_short(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags,
                                unsigned arg_count, uint64_t *words);
PEN_API int pen_api_reply_medium(gex_Token_t token, gex_AM_Index_t handler, const void *source,
                                 size_t len, gex_Flags_t flags, unsigned arg_count,
                                 uint64_t *words);
PEN_API int pen_api_reply_long(gex_Token_t token, gex_AM_Index_t handler, const void *source,
                               size_t len, void *dest, gex_Flags_t flags, unsigned arg_count,
                               uint64_t *words);
/* The payload of a request whose event argument is not GEX_EVENT_NOW. */
typedef struct pen_am_source {
    const void *address;
    size_t len;
    void *dest; /* Long */
    gex_Event_t *local;
    const char *call;
    int is_long;
} pen_am_source;
PEN_API int pen_api_request_local(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
                                  const pen_am_source *source, gex_Flags_t flags,
                                  unsigned arg_count, uint64_t *words);
/* gasnet_AMRequestLongAsync: the client leaves the source unchanged until the reply. */
PEN_API int pen_api_request_long_async(gex_Rank_t rank, gex_AM_Index_t handler, const void *source,
                                       size_t len, void *dest, unsigned arg_count, uint64_t *words);
enum {
    PEN_COMMIT_REQUEST_MEDIUM,
    PEN_COMMIT_REQUEST_LONG,
    PEN_COMMIT_REPLY_MEDIUM,
    PEN_COMMIT_REPLY_LONG
};
PEN_API int pen_api_commit(gex_AM_SrcDesc_t desc, unsigned kind, gex_AM_Index_t handler, size_t len,
                           void *dest, gex_Flags_t flags, unsigned arg_count, uint64_t *words);
/* Reports an event argument that the call does not accept, and ends the job. */
PEN_API void pen_api_bad_event(const char *call);

/* Puts and gets of memory that is not mapped here. PEN_FLAG_GASNET1 tells a library with checks
 * that the client used the GASNet-1 name of the call. */
#define PEN_FLAG_GASNET1 (1u << 31)
PEN_API int pen_api_put(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source, size_t len,
                        gex_Flags_t flags);
PEN_API int pen_api_get(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source, size_t len,
                        gex_Flags_t flags);
/* Copies like memcpy. For this length and more, the library chooses the instructions that suit the
 * processor. */
#define PEN_COPY_CALL_MIN ((size_t)2048)
PEN_API void pen_api_copy(void *to, const void *from, size_t len);
PEN_API gex_Event_t pen_api_put_nb(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                                   size_t len, gex_Event_t *local, gex_Flags_t flags);
PEN_API gex_Event_t pen_api_get_nb(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source,
                                   size_t len, gex_Flags_t flags);
PEN_API int pen_api_put_nbi(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                            size_t len, gex_Event_t *local, gex_Flags_t flags);
PEN_API int pen_api_get_nbi(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source,
                            size_t len, gex_Flags_t flags);
PEN_API void pen_api_set(gex_TM_t team, gex_Rank_t rank, void *dest, int value, size_t len);
PEN_API gex_Event_t pen_api_set_nb(gex_TM_t team, gex_Rank_t rank, void *dest, int value,
                                   size_t len);
PEN_API void pen_api_set_nbi(gex_TM_t team, gex_Rank_t rank, void *dest, int value, size_t len);
PEN_API pen_valget pen_api_valget(gex_TM_t team, gex_Rank_t rank, const void *source, size_t len);
PEN_API gex_RMA_Value_t pen_api_valget_wait(pen_valget handle);

/* Remote atomics on memory that is not mapped here, and those whose inline code would be too large.
 */
PEN_API gex_Event_t pen_api_atomic_nb(gex_AD_t domain, const pen_atomic_call *call);
PEN_API int pen_api_atomic_nbi(gex_AD_t domain, const pen_atomic_call *call);

/* Synchronise events that are not GEX_EVENT_INVALID. */
PEN_API int pen_api_event_test(gex_Event_t event);
PEN_API void pen_api_event_wait(gex_Event_t event);
PEN_API gex_Event_t pen_api_event_leaf(gex_Event_t root, gex_EC_t category);

/* Locks. */
PEN_API void pen_api_hsl_wait(pen_hsl *lock);    /* waits for the holder, then takes the lock */
PEN_API void pen_api_hsl_wake(pen_hsl *lock);    /* wakes a thread that may sleep on the lock */
PEN_API void pen_api_hsl_lock(pen_hsl *lock);    /* takes the lock; checks and traces */
PEN_API void pen_api_hsl_unlock(pen_hsl *lock);  /* checks and traces */
PEN_API int pen_api_hsl_trylock(pen_hsl *lock);  /* checks and traces */
PEN_API void pen_api_hsl_destroy(pen_hsl *lock); /* checks and traces */

PEN_API int pen_api_poll(void);               /* gasnet_AMPoll, when something may have arrived */
PEN_API void pen_api_block(pen_block *block); /* one step of GASNET_BLOCKUNTIL */
PEN_API void *pen_api_thread_info(void);      /* identifies the calling thread among live threads */

#ifdef __cplusplus
}
#endif
#endif
