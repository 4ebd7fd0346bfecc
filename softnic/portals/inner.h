/* SPDX-License-Identifier: BSD-3-Clause */
/* inner.h: the private objects of a card, and the functions that its files share. All fields are
 * guarded by the card's lock, unless stated otherwise. Functions are called with it held. */
#ifndef PEN_SOFTNIC_PORTALS_INNER_H
#define PEN_SOFTNIC_PORTALS_INNER_H

#include "softnic/portals/portals4.h"
#include "softnic/portals/wire.h"

#include <pthread.h>

/* ---- lists ---- */

/* A ring of links with a head. An empty head points to itself. */
typedef struct p4_link {
    struct p4_link *next, *prev;
} p4_link;

static inline void p4_list_init(p4_link *head) { head->next = head->prev = head; }
static inline bool p4_list_is_empty(const p4_link *head) { return head->next == head; }

static inline void p4_list_insert(p4_link *before, p4_link *link)
{
    link->next = before;
    link->prev = before->prev;
    before->prev->next = link;
    before->prev = link;
}

static inline void p4_list_remove(p4_link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    p4_list_init(link);
}

/* ---- handles ---- */

typedef enum p4_object { P4_NI, P4_EQ, P4_CT, P4_MD, P4_LE, P4_ME, P4_OBJECTS } p4_object;

typedef struct p4_slot {
    void *object; /* NULL: not live */
    uint32_t next;
    uint16_t generation;
    bool is_ghost; /* the entry was consumed while it was appended */
} p4_slot;

typedef struct p4_table {
    p4_slot *slots;
    uint32_t len, used;               /* slots allocated; slots that were ever used */
    uint32_t first, last, free_count; /* free slots, oldest first */
} p4_table;

/* ---- objects ---- */

typedef struct p4_space { /* memory, in one piece or in several */
    unsigned char *start;
    ptl_size_t len;
    const ptl_iovec_t *pieces; /* NULL: one piece */
    ptl_size_t piece_count;
} p4_space;

typedef struct p4_ct {
    struct p4_ni *ni;
    ptl_ct_event_t value;
    p4_link triggered; /* operations that wait, by threshold */
} p4_ct;

typedef struct p4_eq {
    struct p4_ni *ni;
    ptl_event_t *events;
    ptl_size_t len;   /* events that the array holds */
    ptl_size_t count; /* room that the program asked for */
    ptl_size_t first, used;
    ptl_size_t notices;  /* PT_DISABLED events in the queue, which use reserved room */
    ptl_size_t promised; /* events of messages under way, for portals with flow control */
    uint32_t portals;    /* portals with flow control that use this queue */
    bool is_dropped;     /* an event was overwritten since the last one was read */
} p4_eq;

typedef struct p4_md {
    struct p4_ni *ni;
    ptl_md_t md;
    p4_space space;
    uint64_t pending; /* operations that need it */
} p4_md;

typedef struct p4_pt {
    struct p4_ni *ni;
    ptl_pt_index_t index;
    unsigned options;
    ptl_handle_eq_t eq;
    bool is_allocated, is_enabled;
    bool is_notice_due; /* PT_DISABLED follows the last message under way */
    uint64_t busy;      /* messages under way */
    p4_link lists[2];   /* entries */
    uint32_t list_lens[2];
    p4_link headers; /* unexpected headers by arrival */
} p4_pt;

typedef struct p4_entry {
    p4_link link;
    p4_pt *pt;
    ptl_me_t me; /* a list entry has no match fields */
    p4_space space;
    ptl_size_t local_offset;
    void *user_ptr;
    ptl_handle_any_t handle;
    ptl_list_t list;
    bool is_linked, is_auto_unlinked, is_unlink_told;
    uint64_t busy;    /* messages under way */
    uint64_t headers; /* unexpected headers that refer to it */
} p4_entry;

/* The claim of an append or a search on a header whose data is still arriving. */
typedef struct p4_claim {
    bool is_made, then_unlinked, is_silent;
    void *user_ptr;
    unsigned options;
    ptl_handle_ct_t ct;
} p4_claim;

typedef struct p4_header { /* an unexpected header */
    p4_link link;
    p4_entry *entry;
    ptl_event_t event;
    bool is_complete;
    ptl_ni_fail_t fail;
    p4_claim claim;
} p4_header;

typedef struct p4_message { /* a message under way at its target */
    p4_pt *pt;              /* NULL: refused; its data is thrown away */
    p4_entry *entry;
    p4_header *header; /* NULL: it leaves none */
    ptl_event_t event;
    p4_packet packet;  /* its first */
    ptl_size_t offset; /* in the entry */
    ptl_size_t moved;  /* bytes of the message that passed */
    uint32_t promised;
    uint32_t from;
    ptl_ni_fail_t fail;
} p4_message;

typedef enum p4_action { P4_MOVE, P4_COUNT_INC, P4_COUNT_SET } p4_action;

typedef struct p4_op { /* an operation of the initiator */
    p4_link link;
    struct p4_ni *ni;
    p4_action action;
    p4_kind kind;
    ptl_ack_req_t ack;
    ptl_op_t operation;
    ptl_datatype_t datatype;
    bool is_begun, is_headed, is_sent; /* passed to the network; first packet sent; all sent */
    uint32_t to;                       /* process */
    uint32_t token;                    /* 0: no response is expected */
    ptl_pt_index_t pt_index;
    ptl_match_bits_t match_bits;
    ptl_size_t remote_offset, length;
    ptl_hdr_data_t hdr_data;
    void *user_ptr;
    p4_md *put_md, *get_md;
    ptl_size_t put_offset, get_offset;
    unsigned char operand[P4_OPERAND_LEN];
    unsigned char *copy; /* copied data, if the buffer may change; else NULL */
    ptl_size_t moved;    /* bytes of data sent */
    ptl_handle_ct_t ct;  /* of P4_COUNT_... */
    ptl_ct_event_t value;
    ptl_size_t threshold;
} p4_op;

typedef struct p4_response { /* a response that waits for room */
    p4_link link;
    p4_packet packet;
    p4_message message; /* with data to read: the message that it ends */
    bool reads_entry;
    ptl_size_t moved;
    unsigned char copy[]; /* the data, unless it is read from the entry */
} p4_response;

typedef struct p4_arrival { /* a response whose data is arriving */
    uint32_t token;         /* 0: no response */
    p4_packet packet;
    ptl_size_t moved;
} p4_arrival;

typedef struct p4_peer {
    p4_side out[P4_LANES], in[P4_LANES];
    p4_link requests; /* operations to send, in order */
    p4_link responses;
    uint32_t response_count;
    bool is_busy; /* stands in the card's list of peers with something to send */
    p4_link busy;
    bool is_lost;
    bool has_message;
    p4_message message;
    p4_arrival arrival;
    uint64_t owing; /* operations under way to this peer */
} p4_peer;

typedef struct p4_ni {
    pen_portals *card;
    unsigned options;
    uint32_t kind; /* 0-3, on the wire */
    ptl_handle_ni_t handle;
    uint32_t references, bundles;
    ptl_ni_limits_t limits;
    uint32_t counts[P4_OBJECTS]; /* live objects; entries of both kinds under P4_LE */
    uint32_t header_count, triggered_count;
    ptl_sr_value_t status[PTL_SR_LAST];
    p4_pt *pts;
    ptl_process_t *map;
    ptl_size_t map_len;
    ptl_rank_t *ranks; /* by process; PTL_RANK_ANY: not in the map */
} p4_ni;

struct pen_portals {
    pthread_mutex_t lock;
    pen_portals_config config;
    unsigned char *memory;
    size_t memory_len; /* these two are set if PtlInit opened the card */
    int file;          /* -1: anonymous memory */
    uint32_t own;      /* process that this card is, or wishes to be */
    bool is_claimed;
    uint32_t init_count;
    bool is_aborted, is_changed;
    uint32_t uid;
    p4_row *row;
    p4_table tables[P4_OBJECTS];
    p4_ni *nis[4];
    p4_peer *peers; /* by process; allocated when the place is claimed */
    p4_link busy;   /* peers with something to send */
    p4_link fired;  /* triggered operations to start */
    p4_op **tokens; /* operations that wait for a response, by token */
    uint32_t token_len, token_next, token_lap;
    uint64_t ready[P4_READY_WORDS]; /* peers whose rings are to be looked at */
    uint64_t calls;                 /* rounds of progress by calls */
    uint64_t next_look_ns;          /* when the peers are looked at for being alive */
    uint64_t link_free_ns, due_ns;  /* cost model: the link is free; the next packet is due */
    uint64_t random;
    uint64_t owing;
    pen_portals_counts counts;
    pthread_t helper;
    bool is_helped;
    _Atomic bool is_ending;
};

/* ---- use.c: the card of a call ---- */

pen_portals *p4_card_used(void);

/* Locks the card of the calling thread. Returns NULL if PtlInit was not called. */
pen_portals *p4_enter(void);

/* Starts what has been triggered, wakes threads for which something changed, and unlocks. */
void p4_leave(pen_portals *card);

/* ---- handle.c ---- */

/* Gives an object a handle. Returns PTL_INVALID_HANDLE if there is no memory or no number. */
ptl_handle_any_t p4_handle_make(pen_portals *card, p4_object kind, void *object);
void *p4_handle_find(const pen_portals *card, p4_object kind, ptl_handle_any_t handle);
void p4_handle_end(pen_portals *card, p4_object kind, ptl_handle_any_t handle, bool is_ghost);
/* Takes the mark of a consumed entry. Returns false if there is no mark. */
bool p4_handle_take_ghost(pen_portals *card, p4_object kind, ptl_handle_any_t handle);
/* Returns the handle of the object with this number. */
ptl_handle_any_t p4_handle_at(const pen_portals *card, p4_object kind, uint32_t number);
p4_ni *p4_find_ni(const pen_portals *card, ptl_handle_any_t handle);
/* Finds the interface of any live object, or returns NULL. */
p4_ni *p4_find_owner(const pen_portals *card, ptl_handle_any_t handle);
void p4_tables_free(pen_portals *card);

/* ---- ni.c, map.c ---- */

void p4_ni_close(p4_ni *ni);
/* Finds the process of an address. Returns false if there is no such process. */
bool p4_process_of(const p4_ni *ni, ptl_process_t id, uint32_t *process_i);
/* Returns the address of a process, as events and matching name it. */
ptl_process_t p4_id_of(const p4_ni *ni, uint32_t process_i);

/* ---- space.c ---- */

/* Describes memory. Returns false if there are too many pieces, or if their lengths overflow. */
bool p4_space_make(p4_space *space, void *start, ptl_size_t length, unsigned options,
                   int max_pieces);
void p4_space_read(const p4_space *space, ptl_size_t offset, void *to, size_t len);
void p4_space_write(const p4_space *space, ptl_size_t offset, const void *from, size_t len);
unsigned char *p4_space_at(const p4_space *space, ptl_size_t offset);
/* Returns the address if the bytes lie in one piece, else NULL. */
unsigned char *p4_space_whole(const p4_space *space, ptl_size_t offset, size_t len);
/* Keeps the processor busy as long as the model's registration of the memory lasts. */
void p4_space_register(pen_portals *card, ptl_size_t length);

/* ---- eq.c, ct.c, trigger.c ---- */

void p4_eq_post(pen_portals *card, ptl_handle_eq_t handle, const ptl_event_t *event);
/* Promises room for events. Returns false if there is not enough. */
bool p4_eq_promise(pen_portals *card, ptl_handle_eq_t handle, uint32_t events);
void p4_eq_keep_promise(pen_portals *card, ptl_handle_eq_t handle, uint32_t events);
/* Reserves room for a portal's PT_DISABLED, or gives it back (-1). */
bool p4_eq_reserve(pen_portals *card, ptl_handle_eq_t handle, int portals);
void p4_eq_end(pen_portals *card, ptl_handle_eq_t handle);

void p4_ct_add(pen_portals *card, ptl_handle_ct_t handle, ptl_size_t success, ptl_size_t failure);
void p4_ct_end(pen_portals *card, ptl_handle_ct_t handle);
/* Moves operations whose threshold was reached to the card's list. */
void p4_ct_fire(pen_portals *card, p4_ct *ct);
void p4_ct_cancel(pen_portals *card, p4_ct *ct);
/* Starts an operation when the counter reaches the threshold, or now. Owns op. */
int p4_trigger(pen_portals *card, ptl_handle_ct_t counter, ptl_size_t threshold, p4_op *op);
/* Starts all operations in the card's list. */
void p4_start_fired(pen_portals *card);

/* ---- wait.c ---- */

/* Asks whether the wait is over, and writes its result. */
typedef bool p4_test(pen_portals *card, void *ctx, int *result);

/* Makes progress until the test holds. Called with the lock, returns with it. Returns the test's
 * result, PTL_ABORTED, or `late` after the timeout. */
int p4_wait(pen_portals *card, ptl_time_t timeout, bool may_abort, p4_test *test, void *ctx,
            int late);
bool p4_helper_start(pen_portals *card);
void p4_helper_stop(pen_portals *card);
void p4_ring_bell(p4_row *row);

/* ---- progress.c ---- */

/* Sends what waits, and takes packets in, to a bound. Returns whether something moved. */
bool p4_progress(pen_portals *card);
bool p4_draw(pen_portals *card, uint32_t one_in);
void p4_peer_lose(pen_portals *card, uint32_t process_i);

/* ---- send.c ---- */

typedef enum p4_sent { P4_SENT, P4_FULL, P4_BROKEN } p4_sent;

/* Sends a packet. The payload is `operand_len` bytes, then bytes of a space (or of `plain`). */
typedef struct p4_payload {
    const void *operand;
    uint32_t operand_len;
    const p4_space *space; /* NULL: plain */
    const void *plain;
    ptl_size_t offset;
    uint32_t len;
} p4_payload;

p4_sent p4_send(pen_portals *card, uint32_t to, uint32_t lane, p4_packet *packet,
                const p4_payload *payload);
/* Sends as much of a peer's queues as fits. Returns whether something was sent. */
bool p4_send_queues(pen_portals *card, uint32_t to);
/* Marks a peer as one with something to send. */
void p4_peer_is_busy(pen_portals *card, p4_peer *peer);

/* ---- op.c: the initiator's side ---- */

p4_op *p4_op_make(p4_ni *ni, p4_kind kind);
void p4_op_free(p4_op *op);
/* Passes an operation to the network. */
void p4_op_start(pen_portals *card, p4_op *op);
/* Sends as much as fits. Returns false if something is left. Else the operation may have ended. */
bool p4_op_send(pen_portals *card, p4_op *op, p4_sent *state);
/* Ends an operation that cannot be delivered. */
void p4_op_fail(pen_portals *card, p4_op *op);
/* Returns the operation with this token whose target is the peer, or NULL. */
p4_op *p4_op_find(pen_portals *card, uint32_t token, uint32_t peer_i);
/* Ends an operation with its response. */
void p4_op_answered(pen_portals *card, p4_op *op, const p4_packet *packet);
/* Writes data of a reply. */
void p4_op_fill(p4_op *op, ptl_size_t moved, const void *from, size_t len);
/* Removes all operations of an interface, without events. */
void p4_op_drop_all(p4_ni *ni);

/* ---- target.c, deliver.c ---- */

/* Takes the first packet of a request, whose payload stands in the ring of `from`. Returns false if
 * it is nonsense. */
bool p4_target_take(pen_portals *card, uint32_t from, const p4_packet *packet);
/* Takes further data of the peer's message. Returns false if that is nonsense. */
bool p4_target_data(pen_portals *card, uint32_t from, const p4_packet *packet);
/* Ends a peer's message whose rest will not come. */
void p4_target_cut(pen_portals *card, uint32_t from);
/* Posts a message's events and counts, and gives back what it held. */
void p4_message_end(pen_portals *card, p4_message *message);
/* Answers a message, if its initiator wants that. The data is in `plain`, or else in the entry. */
void p4_answer(pen_portals *card, p4_message *message, const void *plain);
void p4_response_free(pen_portals *card, p4_response *response);

/* ---- entry.c, header.c ---- */

/* Tells whether a message, as its event describes it, matches the entry. */
bool p4_entry_matches(const p4_entry *entry, const ptl_event_t *message);
void p4_entry_event(pen_portals *card, const p4_pt *pt, ptl_event_kind_t type, void *user_ptr);
/* Posts AUTO_UNLINK and AUTO_FREE if they are due, and frees an entry that nothing needs. */
void p4_entry_settle(pen_portals *card, p4_entry *entry);
/* Takes an entry out of its list. */
void p4_entry_unlink(pen_portals *card, p4_entry *entry, bool is_auto);
void p4_entry_drop(pen_portals *card, p4_entry *entry);
/* Posts a header's event and count to its claimer, and frees it. */
void p4_header_finish(pen_portals *card, p4_header *header);
void p4_header_free(pen_portals *card, p4_header *header);
/* Gives headers to a new entry. Returns true if that consumed the entry. */
bool p4_headers_claim(pen_portals *card, p4_entry *entry);
/* Searches for headers. The probe is an entry that is never linked. */
void p4_headers_search(pen_portals *card, const p4_entry *probe, bool deletes);

/* ---- pt.c ---- */

p4_pt *p4_find_pt(p4_ni *ni, ptl_pt_index_t index);
/* Disables a portal because of flow control. */
void p4_pt_refuse(pen_portals *card, p4_pt *pt);
/* Posts PT_DISABLED if it is due. */
void p4_pt_settle(pen_portals *card, p4_pt *pt);

/* ---- atomic.c ---- */

/* Returns the bytes of a type, or 0. */
uint32_t p4_type_len(ptl_datatype_t type);
/* Tells whether the kind of call has this operation for this type. */
bool p4_atomic_is_legal(p4_kind kind, ptl_op_t operation, ptl_datatype_t type);
/* Changes target by source, item by item, and writes the old items. */
void p4_atomic_apply(ptl_op_t operation, ptl_datatype_t type, unsigned char *target,
                     const unsigned char *source, const unsigned char *operand, unsigned char *old,
                     size_t len);

#endif
