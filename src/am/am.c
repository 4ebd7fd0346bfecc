/* SPDX-License-Identifier: BSD-3-Clause */
/* am.c: the handler table and the limits. */
#include "am/am.h"

#include "am/am_internal.h"
#include "base/compiler.h"
#include "base/status.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/job.h"
#include "os/lock.h"

#include <stdlib.h>

/* Peers of one host map each other's segments, or copy in pieces what they cannot map. Over a
 * network, a very long Long would be one message that cannot be stopped. */
static size_t am_long_max(const pen_job *job)
{
    for (uint32_t rank = 0; rank < job->size; rank++)
        if (!job->routes[rank].same_host)
            return job->frame_max > PEN_AM_LONG_LEAST ? job->frame_max : PEN_AM_LONG_LEAST;
    return PEN_AM_LONG_MAX;
}

pen_status pen_am_open(pen_job *job)
{
    if (job->frame_max < PEN_AM_MEDIUM_LEAST) {
        pen_log_error(&job->log,
                      "cannot use this conduit: its frames carry %u bytes and active messages need "
                      "%d; choose another with PENSTOCK_CONDUIT",
                      job->frame_max, PEN_AM_MEDIUM_LEAST);
        return PEN_ERR_UNUSABLE;
    }
    pen_am *am = pen_job_calloc(job, 1, sizeof *am, "the table of handlers");
    if (am == NULL)
        return PEN_ERR_MEMORY;
    pen_lock_init(&am->lock, job->concurrency);
    am->medium_max = job->frame_max;
    am->medium_long_max = job->frame_max > PEN_AM_MEDIUM_LONG ? job->frame_max : PEN_AM_MEDIUM_LONG;
    am->long_request_max = am_long_max(job);
    am->long_reply_max = am->long_request_max;
    for (unsigned index = 0; index < PEN_AM_HANDLERS; index++)
        am->entries[index].index = (uint8_t)index;
    job->am = am;
    pen_am_flights_open(job);
    pen_am_register_tell(job);
    pen_am_parts_open(job);
    return PEN_OK;
}

void pen_am_close(pen_job *job)
{
    if (job->am == NULL)
        return;
    pen_am_negotiated_close(job);
    pen_am_flights_close(job->am);
    pen_am_parts_close(job->am);
    free(job->am);
    job->am = NULL;
}

/* ---- registration ---------------------------------------------------------------------------- */

typedef struct am_choice { /* the index that each row of a table gets */
    bool taken[PEN_AM_HANDLERS];
    uint8_t index[PEN_AM_HANDLERS - PEN_AM_HANDLER_FIRST];
} am_choice;

static pen_status am_choose_fixed(pen_log *log, const pen_am_entry *entries, size_t count,
                                  am_choice *choice)
{
    for (size_t row = 0; row < count; row++) {
        unsigned index = entries[row].index;
        const char *why = NULL;
        if (entries[row].function == NULL)
            why = "it has no function";
        else if (index != 0 && index < PEN_AM_HANDLER_FIRST)
            why = "the library keeps indices below 128; use 128 to 255, or 0 to be given one";
        else if (entries[row].arg_count > PEN_AM_ARGS_MAX &&
                 entries[row].arg_count != PEN_AM_ARGS_UNKNOWN)
            why = "it has more than 16 arguments; a message has at most that many";
        else if (choice->taken[index])
            why = "the index is taken; use another, or 0 to be given one";
        if (why != NULL) {
            pen_log_error(log, "cannot register handler %u (row %zu of the table): %s", index, row,
                          why);
            return PEN_ERR_ARGUMENT;
        }
        choice->index[row] = (uint8_t)index;
        choice->taken[index] = index != 0;
    }
    return PEN_OK;
}

static pen_status am_choose_free(pen_log *log, size_t count, am_choice *choice)
{
    unsigned next = PEN_AM_HANDLERS - 1;
    for (size_t row = 0; row < count; row++) {
        if (choice->index[row] != 0)
            continue;
        while (next >= PEN_AM_HANDLER_FIRST && choice->taken[next])
            next--;
        if (next < PEN_AM_HANDLER_FIRST) {
            pen_log_error(
                log,
                "cannot register row %zu of the table: no handler index is free; there are "
                "128, from 128 to 255",
                row);
            return PEN_ERR_RESOURCE;
        }
        choice->index[row] = (uint8_t)next;
        choice->taken[next] = true;
    }
    return PEN_OK;
}

static void am_enter(pen_am *am, pen_am_entry *entry, uint8_t index)
{
    pen_am_entry *slot = &am->entries[index];
    slot->flags = entry->flags;
    slot->arg_count = entry->arg_count;
    slot->cdata = entry->cdata;
    slot->name = entry->name;
    slot->function = entry->function;
    /* release: pairs with the acquire in pen_am_function; the entry is visible with it */
    __atomic_store_n(&am->functions[index], entry->function, __ATOMIC_RELEASE);
    if (entry->index == 0)
        entry->index = index;
}

pen_status pen_am_register(pen_job *job, pen_log *log, pen_am_entry *entries, size_t count)
{
    pen_am *am = job->am;
    am_choice choice = { .taken = { false } };
    if (count > sizeof choice.index) {
        pen_log_error(log, "cannot register %zu handlers: there are 128 indices, from 128 to 255",
                      count);
        return PEN_ERR_RESOURCE;
    }
    pen_lock_take(&am->lock);
    for (unsigned index = PEN_AM_HANDLER_FIRST; index < PEN_AM_HANDLERS; index++)
        choice.taken[index] = am->entries[index].function != NULL;
    pen_status status = am_choose_fixed(log, entries, count, &choice);
    if (status == PEN_OK)
        status = am_choose_free(log, count, &choice);
    for (size_t row = 0; status == PEN_OK && row < count; row++)
        am_enter(am, &entries[row], choice.index[row]);
    pen_lock_drop(&am->lock);
    return status;
}

void pen_am_register_internal(pen_job *job, pen_am_internal index, pen_am_internal_fn function)
{
    PEN_INVARIANT(index < PEN_AM_INT_COUNT);
    job->am->internal[index] = function;
}

/* ---- limits ---------------------------------------------------------------------------------- */

size_t pen_am_max_medium(const pen_job *job, unsigned arg_count)
{
    (void)arg_count; /* arguments travel in the head, not in the body */
    return job->am->medium_long_max;
}

size_t pen_am_max_long_request(const pen_job *job, unsigned arg_count)
{
    (void)arg_count;
    return job->am->long_request_max;
}

size_t pen_am_max_long_reply(const pen_job *job, unsigned arg_count)
{
    (void)arg_count;
    return job->am->long_reply_max;
}
