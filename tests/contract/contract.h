/* SPDX-License-Identifier: BSD-3-Clause */
/* contract.h: a job whose links all live in this process, with a record of every posted frame.
 *
 * The first head word of each frame names its sender and its number. The sender's ledger has the
 * receiver, the lane and the lengths. The ledger is written before the frame is posted and read on
 * arrival, in the threaded tests by another thread. The conduit must make the entry visible to the
 * reader; ThreadSanitizer complains if it does not. */
#ifndef PEN_TESTS_CONTRACT_H
#define PEN_TESTS_CONTRACT_H

#include "conduit/conduit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Reports the broken promise and its place, and ends the program, since links in an unknown state
 * cannot be closed. */
#define CHECK(cond)                                     \
    do {                                                \
        if (!(cond))                                    \
            contract_failed(#cond, __FILE__, __LINE__); \
    } while (0)
_Noreturn void contract_failed(const char *what, const char *file, int line);

/* ---- what is tested ------------------------------------------------------------------------- */

struct setup {
    const pen_conduit *conduit;
    const char *name; /* name of the variant; "" for the defaults */
    pen_peer ranks;
    const char *environment[8];   /* "NAME=value" for the conduit's knobs; ends with NULL */
    void (*adjust)(void *config); /* NULL, or changes settings that no variable has */
    bool view;                    /* one thread polls, and the ranks' views are lent */
};

/* ---- a job ---------------------------------------------------------------------------------- */

typedef struct ledger_entry {
    pen_peer to;
    uint32_t body_len;
    uint16_t lane, head_len;
    uint32_t arrived;
} ledger_entry;

struct job;

struct pending { /* a frame that the device still reads */
    struct pending *next;
    pen_op op;
    void *body;
};

struct queued { /* a reply that found no room: the engine's backlog */
    struct queued *next;
    pen_peer to;
    uint32_t head_len, body_len;
};

struct rank {
    struct job *job;
    pen_link *link;
    pen_host host, lent; /* lent: the conduit's, and changed by the window around its link */
    pen_poll_view view;
    pen_peer self;
    pthread_mutex_t post_lock, poll_lock;
    ledger_entry *ledger; /* by serial; guarded by post_lock until the frame is sent */
    uint32_t serial_count, serial_max;
    struct pending *pending; /* guarded by post_lock */
    /* Arrivals; guarded by poll_lock. */
    uint64_t delivered[PEN_LANES], delivered_total;
    unsigned lanes_asked; /* lanes of the running poll; a delivery for another lane is a fault */
    struct queued *backlog_first, *backlog_last;
    uint32_t lost_count;
    void (*on_deliver)(struct rank *rank, pen_peer from, pen_lane lane, uint32_t body_len);
    _Atomic uint32_t sleeping, wakes;
    _Atomic size_t charged[PEN_LANES]; /* charges of frames on their way to a rank, if the link
                                          reports its capacity */
};

struct job {
    const struct setup *setup;
    struct rank *ranks;
    pen_peer size;
    char *map, *slice;
    size_t map_len, slice_len;
    uint64_t config[PEN_CONDUIT_CONFIG_MAX / 8];
    bool host_words; /* host->sleeping is lent */
};

void job_open(struct job *job, const struct setup *setup);
void job_close(struct job *job);

/* Makes room for `count` frames in the ledger. To be called before other threads use it. */
void job_expect(struct rank *rank, uint32_t count);

/* Posts a frame whose contents follow from its number. Head and body lie in memory of exactly
 * their size and are overwritten once the link releases them. */
pen_post job_post(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                  uint32_t body_len);

/* Posts like contract_post, and polls all ranks until there is room. */
void job_post_sure(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                   uint32_t body_len);

/* Posts with the body written in place: reserve, a short delay, commit. Returns false if there is
 * no room. */
bool job_post_in_place(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                       uint32_t body_len);

/* Takes a number for a frame that the caller writes itself, and makes its contents. */
uint32_t job_number(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                    uint32_t body_len);
void job_fill_head(const struct rank *rank, uint32_t serial, void *head);
void job_fill_body(const struct rank *rank, uint32_t serial, void *body);

unsigned job_poll(struct rank *rank, unsigned lanes, unsigned budget);
void job_poll_all(struct job *job);

/* Replies, from deliver or elsewhere. If there is no room, the reply is queued, as the engine
 * does. */
void job_reply(struct rank *rank, pen_peer to, uint32_t head_len, uint32_t body_len);
unsigned job_flush(struct rank *rank); /* posts queued replies; returns how many are left */

/* Polls until all posted frames have arrived, then some more, to find frames that arrive twice. */
void job_settle(struct job *job);

uint64_t job_posted(const struct job *job);
uint64_t job_delivered(const struct job *job);
uint32_t job_random(uint64_t *state, uint32_t below);

/* ---- memory of a rank (bodies.c) ------------------------------------------------------------- */

enum { REGION_LEN = 100000 };

struct region {
    char *memory;
    pen_region *handle;
    pen_rkey key; /* as rank 0 knows it */
};

/* Registers the region. Returns false if the device has no room for it, which is allowed. */
bool region_open(struct job *job, pen_peer of, struct region *region);
void region_close(struct job *job, pen_peer of, struct region *region);

/* ---- tests ---------------------------------------------------------------------------------- */

typedef struct contract_test {
    const char *name;
    void (*run)(struct job *job);
    pen_peer ranks_max; /* 0: any */
    bool leaves_frames; /* the links are closed with frames in them */
} contract_test;

/* paired.c: a conduit whose links are pairs. Its score is 0 if the build has no extoll. */
pen_conduit paired_conduit(void);

/* liars.c: finds every conduit that lies, and passes its honest twins. Returns the exit status. */
int liars_run(const char *word);

extern const contract_test frame_tests[], lane_tests[], traffic_tests[], body_tests[], word_tests[],
    thread_tests[];

#endif
