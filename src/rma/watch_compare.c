/* SPDX-License-Identifier: BSD-3-Clause */
/* watch_compare.c: checked builds: memory that a new operation and an outstanding one both use.
 * Addresses are compared within one rank's memory. What a put to this rank itself writes is
 * compared with local buffers, too. */
#include "base/compiler.h"
#include "job/checks.h"
#include "job/fatal.h"
#include "rma/rma_internal.h"
#include "rma/watch_internal.h"

#include <inttypes.h>

uint64_t pen_watch_content_of(const void *source, size_t len)
{
    const unsigned char *bytes = source;
    uint64_t hash = UINT64_C(14695981039346656037) ^ len; /* FNV-1a */
    for (size_t i = 0; i < len; i++) {
        if (i == WATCH_CONTENT_LEN_MAX && len - i > WATCH_CONTENT_LEN_MAX)
            i = len - WATCH_CONTENT_LEN_MAX;
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

/* ---- the uses of a call ---------------------------------------------------------------------- */

static bool writes(const pen_watch_call *call, bool is_remote)
{
    return call->kind == PEN_WATCH_ATOMIC || (call->kind == PEN_WATCH_PUT) == is_remote;
}

static bool uses(const pen_watch_call *call, bool is_remote)
{
    return call->kind != PEN_WATCH_OTHER && call->len != 0 && (is_remote || call->local != NULL);
}

static bool is_compared(const pen_watch_call *call)
{
    return (call->thread->job->checks_off & PEN_CHECK_OVERLAP) == 0;
}

static watch_use use_of(const pen_watch_call *call, bool is_remote)
{
    uintptr_t first = (uintptr_t)(is_remote ? call->remote : call->local);
    return (watch_use){
        .range = { .first = first,
                   .last = first + call->len - 1,
                   .writes = writes(call, is_remote) },
        .space = is_remote ? call->jobrank : call->thread->job->rank,
        .is_remote = is_remote,
    };
}

static const char *role(const pen_watch_call *call, bool is_remote)
{
    if (call->kind == PEN_WATCH_ATOMIC)
        return is_remote ? "target" : "result";
    return writes(call, is_remote) ? "destination" : "source";
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Returns whether memory is the same after the two operations in any order. */
static bool does_the_same(const pen_watch_call *a, const pen_watch_call *b)
{
    if (a->kind != b->kind || a->jobrank != b->jobrank || a->remote != b->remote ||
        a->len != b->len)
        return false;
    if (a->kind == PEN_WATCH_ATOMIC)
        return a->content == b->content; /* one domain's */
    return a->kind == PEN_WATCH_PUT ? a->content == b->content : a->local == b->local;
}

static PEN_COLD _Noreturn void refuse_overlap(const pen_watch_call *call, const watch_use *use,
                                              const watch_use *other)
{
    const pen_watch_call *before = &other->owner->call;
    pen_job_fatal(call->thread->job,
                  "%s: the %s, %zu bytes at %p of rank %" PRIu32
                  ", overlaps the %s of an outstanding %s, %zu bytes at %p; synchronise that first",
                  call->name, role(call, use->is_remote), call->len, (void *)use->range.first,
                  use->space, role(before, other->is_remote), before->name, before->len,
                  (void *)other->range.first);
}

static PEN_COLD _Noreturn void refuse_self_overlap(const pen_watch_call *call)
{
    if (call->kind == PEN_WATCH_ATOMIC)
        pen_job_fatal(call->thread->job,
                      "%s: the result is written into the target, %zu bytes at %p", call->name,
                      call->len, call->remote);
    pen_job_fatal(
        call->thread->job,
        "%s: source and destination, %zu bytes at %p and at %p of this rank, overlap; use "
        "memmove",
        call->name, call->len, writes(call, true) ? call->local : call->remote,
        writes(call, true) ? call->remote : call->local);
}

static pen_watched *compare_use(const pen_watch_call *call, const watch_use *use)
{
    const pen_ranges *space = &call->thread->job->rma->watch->spaces[use->space];
    pen_range *found =
        pen_ranges_find(space, use->range.first, use->range.last, !use->range.writes);
    if (found == NULL)
        return NULL;
    const watch_use *other = (const watch_use *)(void *)found;
    /* Two atomics fetch different values into one location. */
    bool is_result = call->kind == PEN_WATCH_ATOMIC && !use->is_remote;
    if (is_result || !does_the_same(call, &other->owner->call))
        refuse_overlap(call, use, other);
    return other->owner;
}

void pen_watch_compare(const pen_watch_call *call, pen_watched **repeats_out)
{
    *repeats_out = NULL;
    if (!uses(call, true) || !is_compared(call))
        return;
    const watch_use remote = use_of(call, true);
    if (uses(call, false)) {
        const watch_use local = use_of(call, false);
        if (remote.space == local.space && remote.range.first <= local.range.last &&
            local.range.first <= remote.range.last)
            refuse_self_overlap(call);
        *repeats_out = compare_use(call, &local);
    }
    pen_watched *other = compare_use(call, &remote);
    if (other != NULL)
        *repeats_out = other;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static void use_begin(pen_watched *watched, bool is_remote)
{
    watch_use *use = is_remote ? &watched->remote : &watched->local;
    *use = use_of(&watched->call, is_remote);
    use->owner = watched;
    use->is_in = true;
    pen_ranges_add(&watched->call.thread->job->rma->watch->spaces[use->space], &use->range);
}

void pen_watch_use(pen_watched *watched)
{
    const pen_watch_call *call = &watched->call;
    if (!is_compared(call))
        return;
    if (uses(call, true))
        use_begin(watched, true);
    /* A source that was free when the call returned needs no check. */
    if (uses(call, false) && (call->kind != PEN_WATCH_PUT || call->when != PEN_LOCAL_NOW))
        use_begin(watched, false);
}

void pen_watch_unuse(pen_watched *watched, watch_use *use)
{
    if (use->is_in)
        pen_ranges_remove(&watched->call.thread->job->rma->watch->spaces[use->space], &use->range);
    use->is_in = false;
}
