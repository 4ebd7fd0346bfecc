/* SPDX-License-Identifier: BSD-3-Clause */
/* ucx.h: shared by the files of the ucx conduit: the functions of UCX, and the link. A frame is the
 * data of one UCX message, as link/netlib.h lays it out. */
#ifndef PEN_CONDUITS_UCX_UCX_H
#define PEN_CONDUITS_UCX_UCX_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "link/netlib.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucp/api/ucp.h>

/* ---- UCX ------------------------------------------------------------------------------------- */

/* The functions of libucp and libucs that the conduit calls, by name and type. The library is
 * opened at run time, so that programs run where it is not installed. */
#define UCX_FUNCTIONS(X)                                  \
    X(get_version, ucp_get_version)                       \
    X(config_read, ucp_config_read)                       \
    X(config_modify, ucp_config_modify)                   \
    X(config_release, ucp_config_release)                 \
    X(init_version, ucp_init_version)                     \
    X(cleanup, ucp_cleanup)                               \
    X(worker_create, ucp_worker_create)                   \
    X(worker_destroy, ucp_worker_destroy)                 \
    X(worker_get_address, ucp_worker_get_address)         \
    X(worker_release_address, ucp_worker_release_address) \
    X(worker_get_efd, ucp_worker_get_efd)                 \
    X(worker_arm, ucp_worker_arm)                         \
    X(worker_progress, ucp_worker_progress)               \
    X(worker_flush, ucp_worker_flush_nbx)                 \
    X(set_am_handler, ucp_worker_set_am_recv_handler)     \
    X(ep_create, ucp_ep_create)                           \
    X(am_send, ucp_am_send_nbx)                           \
    X(am_data_release, ucp_am_data_release)               \
    X(request_free, ucp_request_free)                     \
    X(mem_map, ucp_mem_map)                               \
    X(mem_unmap, ucp_mem_unmap)                           \
    X(rkey_pack, ucp_rkey_pack)                           \
    X(rkey_release, ucp_rkey_buffer_release)              \
    X(rkey_unpack, ucp_ep_rkey_unpack)                    \
    X(rkey_destroy, ucp_rkey_destroy)                     \
    X(put, ucp_put_nbx)                                   \
    X(get, ucp_get_nbx)                                   \
    X(ep_flush, ucp_ep_flush_nbx)                         \
    X(status_string, ucs_status_string)

typedef struct ucx_library {
#define UCX_POINTER(name, function) __typeof__(function) *name;
    UCX_FUNCTIONS(UCX_POINTER)
#undef UCX_POINTER
} ucx_library;

/* Whether this file can be opened as a library. */
bool ucx_library_exists(const char *name);

/* Opens UCX and fills *out. It keeps UCX from changing the handlers of signals and the functions
 * of memory, unless the user's own UCX_... variables ask for that. The environment is the same
 * afterwards. Fails: the reason is logged. */
pen_status ucx_library_open(const pen_host *host, const char *name, ucx_library *out);

/* ---- frames ---------------------------------------------------------------------------------- */

enum {
    UCX_AM_ID = 7,
    UCX_FRAME_MAX = 16384,
    UCX_GRAIN = 64,
    UCX_ADDRESS_MAX = PEN_ADDR_LEN_MAX - 12,
    UCX_KEY_MAX = 112, /* bytes of a key that UCX packs */
    UCX_TOKENS = 256,  /* puts and gets under way */
    UCX_MOVE_MAX = 1 << 30,
};

typedef struct ucx_address { /* has the same length in all ranks */
    uint32_t len, frame_max, has_rma;
    unsigned char bytes[UCX_ADDRESS_MAX];
} ucx_address;
_Static_assert(sizeof(ucx_address) == PEN_ADDR_LEN_MAX, "a link publishes this many bytes");

typedef struct ucx_arrival { /* a frame that has come and is not yet delivered */
    struct ucx_arrival *next;
    void *data; /* UCX's, or the copy below */
    bool is_copy;
    pen_net_word word;
} ucx_arrival;

typedef struct ucx_list {
    ucx_arrival *first, **last_next;
} ucx_list;

typedef struct ucx_key { /* an exported key of a segment */
    uint64_t base;       /* its address there */
    uint32_t len, zero;
    unsigned char bytes[UCX_KEY_MAX];
} ucx_key;

typedef struct ucx_token { /* a put or get under way */
    struct ucx_token *next;
    struct ucx_link *link; /* for callbacks of UCX */
    pen_op *op;
    pen_peer peer;
    bool is_source_busy, is_flushed, has_failed;
} ucx_token;

typedef struct ucx_puts { /* puts to a peer that may not have landed */
    ucx_token *posted;    /* since the last flush began */
    ucx_token *flushed;   /* covered by the flush that is under way */
} ucx_puts;

typedef struct ucx_config {
    const char *library, *transports, *rma;
    int64_t window;
} ucx_config;

typedef struct ucx_link {
    pen_link base; /* first: the engine sees a pen_link */
    ucx_config config;
    ucx_library ucx;
    pen_lock lock; /* guards all below, and every call of UCX */
    ucp_context_h context;
    ucp_worker_h worker;
    int fd;        /* UCX's descriptor, or an eventfd that is never readable */
    bool has_fd;   /* it is UCX's */
    bool has_card; /* UCX uses a card for InfiniBand or RoCE */
    pen_net net;
    ucp_ep_h *ep; /* by peer */
    ucx_arrival *free_arrivals;
    ucx_list arrived[PEN_LANES];
    ucx_token *tokens, *free_tokens; /* NULL: no puts and gets */
    ucx_token *ended;                /* tokens whose ops the next poll ends */
    ucx_puts *puts;                  /* by peer */
    uint32_t tokens_out, unflushed;  /* unflushed: peers with puts that no flush covers */
    bool is_closing;                 /* ops are not touched any more */
} ucx_link;

static inline ucx_link *ucx_of(pen_link *link) { return (ucx_link *)(void *)link; }

pen_post ucx_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op);
unsigned ucx_poll(pen_link *base, unsigned lanes, unsigned budget);

/* Is given to UCX; it keeps the frame for the next poll. */
ucs_status_t ucx_on_arrival(void *owner, const void *header, size_t header_len, void *data,
                            size_t len, const ucp_am_recv_param_t *param);

/* Does UCX have memory of this process that it still reads or writes? */
static inline bool ucx_has_requests(const ucx_link *link)
{
    return (link->net.pending | link->tokens_out) != 0;
}

/* Waits up to a second until UCX has handed all frames to the network. Returns false if it still
 * has some; then the worker may not be touched any more. */
bool ucx_drain(ucx_link *link);

/* Frees what has arrived; the worker is still there. */
void ucx_arrivals_close(ucx_link *link);

/* Does this status mean that UCX has no room now? */
static inline bool ucx_is_want_of_room(ucs_status_t status)
{
    return status == UCS_ERR_NO_MEMORY || status == UCS_ERR_NO_RESOURCE;
}

/* ---- ucx_rma.c: puts and gets --------------------------------------------------------------- */

/* Makes the tokens. Returns false if there is no memory; the link is closed next. */
bool ucx_rma_open(ucx_link *link);
void ucx_rma_close(ucx_link *link);

/* Begins a flush for each peer with new puts, unless one is under way. */
void ucx_flush_puts(ucx_link *link);

/* Ends the ops of puts and gets that are over; it drops the lock meanwhile. Returns their number.
 */
unsigned ucx_end_ops(ucx_link *link);

extern const pen_rma_ops ucx_rma;
extern const pen_wait_ops ucx_wait;
extern const pen_due_ops ucx_due;

#endif
