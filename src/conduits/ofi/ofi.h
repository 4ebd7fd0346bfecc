/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi.h: shared by the files of the ofi conduit, which moves frames by libfabric (the OpenFabrics
 * Interfaces).
 *
 *   ofi.c           settings, opening and closing a link, meeting the peers; the registry entry
 *   ofi_library.c   opens libfabric at run time
 *   ofi_endpoint.c  chooses a provider; makes and frees libfabric's objects
 *   ofi_frames.c    posts, polls, waits
 *   ofi_rma.c       puts and gets
 *
 * A frame is the data of one message, as link/netlib.h lays it out. Messages come into a few large
 * buffers (multi-receive buffers in libfabric's terms), which have room for all that the windows of
 * the peers let them send. So no provider has to store messages that nobody expects.
 *
 * Locks: the engine's poll lock guards the stash. `lock` guards the rest and every call of
 * libfabric; it is never held while a frame is delivered. */
#ifndef PEN_CONDUITS_OFI_OFI_H
#define PEN_CONDUITS_OFI_OFI_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "link/evidence.h"
#include "link/lanes.h"
#include "link/netlib.h"
#include "os/lock.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- libfabric ------------------------------------------------------------------------------- */

/* The functions that libfabric exports and the conduit calls, by name, type and version of their
 * interface. All others are inline, through tables of libfabric's objects. */
#define OFI_FUNCTIONS(X)                     \
    X(version, fi_version, "FABRIC_1.0")     \
    X(error_text, fi_strerror, "FABRIC_1.0") \
    X(open_fabric, fi_fabric, "FABRIC_1.1")  \
    X(dup_info, fi_dupinfo, "FABRIC_1.3")    \
    X(free_info, fi_freeinfo, "FABRIC_1.3")  \
    X(get_info, fi_getinfo, "FABRIC_1.3")

typedef struct ofi_library {
#define OFI_POINTER(name, function, version) __typeof__(function) *name;
    OFI_FUNCTIONS(OFI_POINTER)
#undef OFI_POINTER
} ofi_library;

#define OFI_VERSION FI_VERSION(1, 12) /* the interface that the conduit is written to */

/* Whether this file can be opened as a library. */
bool ofi_library_exists(const char *name);

/* Returns the best of the network cards that libfabric drives, among those of pen_evidence_look;
 * NULL if there is no such card. choice: its provider. */
const pen_evidence *ofi_card(uint32_t networks);

/* Opens libfabric and fills *out. It keeps the providers' libraries from changing the handlers of
 * signals, unless the user's own variables ask for that. The environment is the same afterwards.
 * Fails: the reason is logged. */
pen_status ofi_library_open(const pen_host *host, const char *name, ofi_library *out);

/* ---- the link -------------------------------------------------------------------------------- */

enum {
    OFI_FRAME_MAX = 15872, /* with word and head it fits the 16 KiB that providers send at once */
    OFI_GRAIN = 64,
    OFI_MESSAGE_MAX = 16 * 1024,
    OFI_BUFFERS = 4,       /* multi-receive buffers */
    OFI_ENTRIES = 16,      /* completions that are read at once */
    OFI_PROVIDER_MAX = 64, /* bytes of a provider's name, the end included */
    OFI_ADDRESS_MAX = 256, /* bytes of a provider's address */
    OFI_TOKENS = 256,      /* puts and gets under way */
    OFI_COPY_MAX = 256,    /* longest source of a put that is copied */
    OFI_KEY_LEN = 16,      /* bytes of an exported key */
    OFI_PAGE = 4096,
    OFI_RETRIES = 16, /* tries in one poll to begin what waits in the link */
};

typedef struct ofi_address { /* has the same length in all ranks */
    uint32_t len, frame_max;
    uint32_t rma; /* ofi_grade */
    char provider[OFI_PROVIDER_MAX];
    unsigned char bytes[OFI_ADDRESS_MAX];
} ofi_address;

/* Grades of what a provider grants, the best first. */
typedef enum ofi_grade {
    OFI_ORDERED,      /* puts and gets, and frames that stay behind puts */
    OFI_RMA,          /* puts and gets */
    OFI_FRAMES,       /* only messages */
    OFI_LOCAL_FRAMES, /* only messages, from and to memory that is registered */
    OFI_GRADES
} ofi_grade;

typedef struct ofi_config {
    const char *library, *provider, *domain;
    uint64_t window;
    bool rma, check;
} ofi_config;

typedef struct ofi_buffer {     /* a multi-receive buffer */
    struct fi_context2 context; /* first: completions name it */
    void *memory;
    struct fid_mr *mr; /* NULL: the provider needs none */
    bool is_posted;
} ofi_buffer;

typedef struct ofi_token {      /* a put or get under way */
    struct fi_context2 context; /* first: completions name it */
    struct ofi_token *next;     /* in the list of free ones */
    struct fi_rma_iov remote;   /* the peer's memory, and how long it is */
    void *local;                /* the memory here */
    pen_op *op;                 /* NULL: nobody waits */
    pen_peer peer;
    bool is_put, must_land;
    bool is_source_busy; /* the end of the op ends its source, too */
    unsigned char copy[OFI_COPY_MAX];
} ofi_token;

typedef struct ofi_link {
    pen_link base; /* first: the engine sees a pen_link */
    ofi_config config;
    ofi_library ofi;
    pen_lanes stash; /* frames whose lane was not asked for; guarded by the poll lock */
    pen_lock lock;   /* guards all below */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *sent, *arrived;
    struct fid_ep *ep;
    ofi_grade grade;
    int fd;      /* libfabric's descriptor, or an eventfd that is never readable */
    bool has_fd; /* it is libfabric's */
    size_t inject_len;
    pen_net net;
    fi_addr_t *address;                            /* by peer */
    bool knows_self;                               /* it has the own address already */
    pen_net_buffer *first_waiting, **last_waiting; /* frames for which libfabric had no room */
    size_t buffer_len;
    uint32_t unposted; /* buffers that have to be posted again */
    ofi_buffer buffers[OFI_BUFFERS];
    ofi_token *tokens, *free_tokens;          /* NULL: no puts and gets */
    uint32_t tokens_out;                      /* that libfabric has */
    ofi_token *first_delayed, **last_delayed; /* puts and gets for which libfabric had no room */
    uint32_t *delayed;                        /* their number, by peer */
    bool is_closing;                          /* ops are not touched any more */
    struct fid_mr *check;                     /* the region of the check, and its memory */
    void *check_memory;
} ofi_link;

static inline ofi_link *ofi_of(pen_link *link) { return (ofi_link *)(void *)link; }

/* Logs that a call has failed while the link was opened. Returns the status. */
pen_status ofi_cannot_open(const ofi_link *link, const char *call, int error);

/* Chooses a provider and makes the endpoint, with its buffers. Fails: the reason is logged. */
pen_status ofi_endpoint_open(ofi_link *link);
void ofi_endpoint_close(ofi_link *link);

pen_post ofi_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op);
/* ofi_post for a caller that holds the link's lock. */
pen_post ofi_post_locked(ofi_link *link, pen_peer to, pen_lane lane, const pen_frame *frame);
unsigned ofi_poll(pen_link *base, unsigned lanes, unsigned budget);

/* Gives libfabric the buffers that it does not have. A buffer for which there is no room now is
 * given in a later poll. Returns an error of libfabric, or 0. */
int ofi_buffers_post(ofi_link *link);

/* Lets libfabric know memory of frames, if the provider demands that. Returns libfabric's error, or
 * 0. */
int ofi_register_memory(ofi_link *link, void *memory, size_t len, struct fid_mr **out);

/* Waits, for a short time, until libfabric has sent what was posted. */
void ofi_drain(ofi_link *link);

/* ---- ofi_rma.c: puts and gets ---------------------------------------------------------------- */

/* Makes the tokens. Returns false if there is no memory. */
bool ofi_tokens_open(ofi_link *link);

/* Puts to the own rank and looks at the memory, because providers have claimed to be better than
 * they are. Returns NULL, or what is wrong. The endpoint is open, and knows its own address. */
const char *ofi_rma_check(ofi_link *link);

/* Returns the token of a completion; NULL if the context is that of a frame. */
ofi_token *ofi_token_of(const ofi_link *link, void *context);

/* Takes back the token of a put or get that is over. Its peer is lost if it has failed. Returns
 * the op that the caller ends once it has dropped the lock, or NULL. */
pen_op *ofi_token_end(ofi_link *link, ofi_token *token, bool has_failed);

/* Begins some of the puts and gets that wait in the link. */
void ofi_delayed_start(ofi_link *link);

extern const pen_rma_ops ofi_rma;
extern const pen_behind_ops ofi_behind;
extern const pen_wait_ops ofi_wait;
extern const pen_due_ops ofi_due;

#endif
