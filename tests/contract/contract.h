/* SPDX-License-Identifier: BSD-3-Clause */
/* contract.h: a job whose links all live in this process, and that remembers every frame it posted.
 *
 * Each frame says in its first head word who posted it and under which number; its sender's ledger
 * says to whom, in which lane and how long. The ledger is written before the frame is posted and
 * read when it arrives, by another thread in the threaded tests: that the reader sees it is the
 * conduit's doing, and ThreadSanitizer complains where it is not. */
#ifndef PEN_TESTS_CONTRACT_H
#define PEN_TESTS_CONTRACT_H

#include "conduit/conduit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Says what broke and where, and ends the program: links in an unknown state are not worth closing.
 */
#define CHECK(cond)                                     \
    do {                                                \
        if (!(cond))                                    \
            contract_failed(#cond, __FILE__, __LINE__); \
    } while (0)
_Noreturn void contract_failed(const char *what, const char *file, int line);

/* ---- what is tested ------------------------------------------------------------------------- */

struct setup {
    const pen_conduit *conduit;
    const char *name; /* of the variant; "" for the defaults */
    pen_peer ranks;
    const char *environment[8];   /* "NAME=value" for the conduit's knobs; ends with NULL */
    void (*adjust)(void *config); /* NULL, or changes what no variable says */
    bool view;                    /* polls are made by one thread, and their view is lent */
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
    pen_host host;
    pen_poll_view view;
    pen_peer self;
    pthread_mutex_t post_lock, poll_lock;
    ledger_entry
        *ledger; /* of frames it posted; by serial; guarded by post_lock until they are sent */
    uint32_t serial_count, serial_max;
    struct pending *pending; /* guarded by post_lock */
    /* What arrived; guarded by poll_lock. */
    uint64_t delivered[PEN_LANES], delivered_total;
    uint32_t *next_serial; /* [from][lane]: least serial that may come, when order is promised */
    unsigned lanes_asked;  /* by the poll that runs; deliveries elsewhere are a fault */
    struct queued *backlog_first, *backlog_last;
    uint32_t lost_count;
    void (*on_deliver)(struct rank *rank, pen_peer from, pen_lane lane, uint32_t body_len);
    _Atomic uint32_t sleeping, wakes;
    _Atomic size_t charged[PEN_LANES]; /* frames on their way to it, where it says what it holds */
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

/* Room for so many frames in the ledger, before other threads look at it. */
void job_expect(struct rank *rank, uint32_t count);

/* Posts a frame whose contents follow from its number. Head and body are memory of exactly their
 * size and are overwritten as soon as that is allowed. */
pen_post job_post(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                  uint32_t body_len);

/* The same, polling everybody until there is room. */
void job_post_sure(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                   uint32_t body_len);

/* The same, the body written in place: reserve, a little time, commit. False: no room. */
bool job_post_in_place(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                       uint32_t body_len);

/* A number for a frame that the caller writes itself, and its contents. */
uint32_t job_number(struct rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                    uint32_t body_len);
void job_fill_head(const struct rank *rank, uint32_t serial, void *head);
void job_fill_body(const struct rank *rank, uint32_t serial, void *body);

unsigned job_poll(struct rank *rank, unsigned lanes, unsigned budget);
void job_poll_all(struct job *job);

/* Replies, from deliver or elsewhere; queued when there is no room, as the engine does. */
void job_reply(struct rank *rank, pen_peer to, uint32_t head_len, uint32_t body_len);
unsigned job_flush(struct rank *rank); /* posts what is queued; answers what is left */

/* Polls until everything posted has arrived, then some more, to see what comes twice. */
void job_settle(struct job *job);

uint64_t job_posted(const struct job *job);
uint64_t job_delivered(const struct job *job);
uint32_t job_random(uint64_t *state, uint32_t below);

/* ---- tests ---------------------------------------------------------------------------------- */

typedef struct contract_test {
    const char *name;
    void (*run)(struct job *job);
    pen_peer ranks_max; /* 0: any */
    bool leaves_frames; /* the links are closed with frames in them */
} contract_test;

/* liars.c: every conduit that lies is found, and the honest ones beside them pass. Answers the exit
 * status. */
int liars_run(const char *word);

extern const contract_test frame_tests[], lane_tests[], traffic_tests[], body_tests[],
    thread_tests[];

#endif
