/* SPDX-License-Identifier: BSD-3-Clause */
/* early.c: see early.h. Orphans stand in one list for each sender and team, because the bound is
 * per sender and team. A hash table finds the list. */
#include "coll/early.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS_FIRST = 16 }; /* lists of senders: a power of two, at least one per sender */

typedef struct early_sender { /* in one team */
    struct early_sender *next;
    pen_peer from; /* job rank */
    int32_t key[PEN_COLL_ORPHAN_KEY_LEN / sizeof(int32_t)];
    uint32_t count;
    pen_coll_kept *last;
} early_sender;

struct pen_coll_orphans {
    uint32_t count; /* messages */
    uint32_t sender_count, bucket_count;
    early_sender **buckets;
    uint32_t from_counts[]; /* messages by job rank */
};

static PEN_COLD _Noreturn void no_memory(pen_job *job, pen_peer from, const char *call)
{
    pen_job_fatal(job,
                  "cannot keep rank %u's message for a collective that is not begun here yet: "
                  "%s: %s; begin fewer ahead of others",
                  from, call, strerror(errno));
}

/* ---- lists ----------------------------------------------------------------------------------- */

pen_coll_kept *pen_coll_keep(pen_job *job, const pen_coll_message *message)
{
    pen_coll_kept *kept = malloc(sizeof *kept + message->body_len);
    if (kept == NULL)
        no_memory(job, message->from, "malloc");
    *kept = (pen_coll_kept){ .from = message->from,
                             .index = message->index,
                             .body_len = message->body_len };
    memcpy(kept->args, message->args, message->arg_count * sizeof *message->args);
    if (message->body_len != 0)
        memcpy(kept->body, message->body, message->body_len);
    return kept;
}

void pen_coll_kept_append(pen_coll_kept **last, pen_coll_kept *kept)
{
    kept->next = *last != NULL ? (*last)->next : kept;
    if (*last != NULL)
        (*last)->next = kept;
    *last = kept;
}

pen_coll_kept *pen_coll_kept_all(pen_coll_kept **last)
{
    if (*last == NULL)
        return NULL;
    pen_coll_kept *first = (*last)->next;
    (*last)->next = NULL;
    *last = NULL;
    return first;
}

void pen_coll_kept_drop(pen_coll_kept **last)
{
    pen_coll_kept *next;
    for (pen_coll_kept *kept = pen_coll_kept_all(last); kept != NULL; kept = next) {
        next = kept->next;
        free(kept);
    }
}

/* ---- senders --------------------------------------------------------------------------------- */

static uint32_t hash_of(pen_peer from, const int32_t *key)
{
    uint64_t hash = from;
    for (unsigned i = 0; i < PEN_COLL_ORPHAN_KEY_LEN / sizeof *key; i++)
        hash = (hash ^ (uint32_t)key[i]) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
    return (uint32_t)(hash >> 32);
}

static early_sender **bucket_of(const struct pen_coll_orphans *orphans, pen_peer from,
                                const int32_t *key)
{
    return &orphans->buckets[hash_of(from, key) & (orphans->bucket_count - 1)];
}

/* If there is no memory for more lists, the existing ones grow longer. */
static void buckets_double(struct pen_coll_orphans *orphans)
{
    early_sender **old = orphans->buckets;
    uint32_t old_count = orphans->bucket_count;
    early_sender **buckets = calloc((size_t)old_count * 2, sizeof(early_sender *));
    if (buckets == NULL)
        return;
    orphans->buckets = buckets;
    orphans->bucket_count = old_count * 2;
    for (uint32_t i = 0; i < old_count; i++) {
        while (old[i] != NULL) {
            early_sender *sender = old[i], **to = bucket_of(orphans, sender->from, sender->key);
            old[i] = sender->next;
            sender->next = *to;
            *to = sender;
        }
    }
    free(old);
}

static early_sender *sender_find(const struct pen_coll_orphans *orphans,
                                 const pen_coll_message *message)
{
    early_sender *sender = *bucket_of(orphans, message->from, message->args);
    while (sender != NULL && (sender->from != message->from ||
                              memcmp(sender->key, message->args, sizeof sender->key) != 0))
        sender = sender->next;
    return sender;
}

static early_sender *sender_new(pen_job *job, struct pen_coll_orphans *orphans,
                                const pen_coll_message *message)
{
    if (orphans->sender_count++ == orphans->bucket_count)
        buckets_double(orphans);
    early_sender *sender = calloc(1, sizeof *sender);
    if (sender == NULL)
        no_memory(job, message->from, "calloc");
    sender->from = message->from;
    memcpy(sender->key, message->args, sizeof sender->key);
    early_sender **at = bucket_of(orphans, message->from, message->args);
    sender->next = *at;
    *at = sender;
    return sender;
}

/* ---- orphans --------------------------------------------------------------------------------- */

static struct pen_coll_orphans *orphans_of(pen_job *job, pen_peer from)
{
    struct pen_coll_orphans *orphans = job->coll->orphans;
    if (orphans != NULL)
        return orphans;
    orphans = calloc(1, sizeof *orphans + job->size * sizeof *orphans->from_counts);
    early_sender **buckets = calloc(BUCKETS_FIRST, sizeof(early_sender *));
    if (orphans == NULL || buckets == NULL)
        no_memory(job, from, "calloc");
    orphans->buckets = buckets;
    orphans->bucket_count = BUCKETS_FIRST;
    job->coll->orphans = orphans;
    return orphans;
}

bool pen_coll_orphan_keep(pen_job *job, const pen_coll_message *message)
{
    struct pen_coll_orphans *orphans = orphans_of(job, message->from);
    early_sender *sender = sender_find(orphans, message);
    if ((sender != NULL && sender->count >= PEN_COLL_ORPHANS_MAX) ||
        orphans->from_counts[message->from] >= PEN_COLL_ORPHANS_PEER_MAX)
        return false;
    if (sender == NULL)
        sender = sender_new(job, orphans, message);
    pen_coll_kept_append(&sender->last, pen_coll_keep(job, message));
    sender->count++;
    orphans->from_counts[message->from]++;
    orphans->count++;
    return true;
}

/* Appends the sender's messages to a list, then frees the sender's entry. */
static void sender_take(struct pen_coll_orphans *orphans, early_sender *sender,
                        pen_coll_kept ***end)
{
    orphans->from_counts[sender->from] -= sender->count;
    orphans->count -= sender->count;
    orphans->sender_count--;
    pen_coll_kept *last = sender->last;
    PEN_INVARIANT(last != NULL); /* an entry exists only if it has a message */
    **end = pen_coll_kept_all(&sender->last);
    *end = &last->next;
    free(sender);
}

pen_coll_kept *pen_coll_orphans_take(pen_coll *jobs, const int32_t *team_args)
{
    struct pen_coll_orphans *orphans = jobs->orphans;
    pen_coll_kept *all = NULL, **end = &all;
    for (uint32_t i = 0; pen_coll_orphans_count(jobs) != 0 && i < orphans->bucket_count; i++) {
        early_sender **at = &orphans->buckets[i];
        while (*at != NULL) {
            early_sender *sender = *at;
            if (memcmp(sender->key, team_args, PEN_COLL_ORPHAN_TEAM_LEN) != 0) {
                at = &sender->next;
                continue;
            }
            *at = sender->next;
            sender_take(orphans, sender, &end);
        }
    }
    return all;
}

uint32_t pen_coll_orphans_count(const pen_coll *jobs)
{
    return jobs->orphans == NULL ? 0 : jobs->orphans->count;
}

void pen_coll_orphans_free(pen_coll *jobs)
{
    struct pen_coll_orphans *orphans = jobs->orphans;
    if (orphans == NULL)
        return;
    for (uint32_t i = 0; i < orphans->bucket_count; i++) {
        while (orphans->buckets[i] != NULL) {
            early_sender *sender = orphans->buckets[i];
            orphans->buckets[i] = sender->next;
            pen_coll_kept_drop(&sender->last);
            free(sender);
        }
    }
    free(orphans->buckets);
    free(orphans);
    jobs->orphans = NULL;
}
