/* SPDX-License-Identifier: BSD-3-Clause */
/* api_am.c: active messages: calls behind the inline forms of the headers, limits, tokens,
 * registration. */
#include "am/am.h"

#include "api/api.h"
#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/express.h"
#include "job/job.h"
#include "os/lock.h"
#include "pen_config.h"

#include <errno.h>
#include <gasnet.h>
#include <gasnetex.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(gex_AM_Entry_t, gex_index) == offsetof(pen_am_entry, index) &&
                   offsetof(gex_AM_Entry_t, gex_fnptr) == offsetof(pen_am_entry, function) &&
                   offsetof(gex_AM_Entry_t, gex_flags) == offsetof(pen_am_entry, flags) &&
                   offsetof(gex_AM_Entry_t, gex_nargs) == offsetof(pen_am_entry, arg_count) &&
                   offsetof(gex_AM_Entry_t, gex_cdata) == offsetof(pen_am_entry, cdata) &&
                   offsetof(gex_AM_Entry_t, gex_name) == offsetof(pen_am_entry, name) &&
                   sizeof(gex_AM_Entry_t) == sizeof(pen_am_entry),
               "a registered handler is shown to clients as it is");

/* ---- sending -------------------------------------------------------------------------------- */

int pen_api_request_short(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags,
                          unsigned arg_count, uint64_t *words)
{
    if (PEN_CHECKED)
        pen_api_check_message("AMRequestShort", team, rank, flags);
    return pen_am_request_short(team, rank, handler, flags, arg_count, words);
}

/* Shorts in registers. If the link's express entry has room, the message goes there. Otherwise, and
 * to report a wrong argument, it takes the slow path. The slow path has functions that take the
 * same registers, so that the fast path prepares nothing for them: first those for threads that
 * share the link, with a constant number of words, then those for all cases.
 *
 * Clients with threads call the functions named ..._par_...; they take the express entry while the
 * client has only one thread. */
static inline const pen_express_ops *ops_of(const pen_job *job, bool is_par)
{
    return is_par ? &job->shared_express.ops : &job->express.ops;
}

/* count: number of words, a constant, here and below. The test for a shared entry comes first and
 * alone, so that a link without one jumps on with nothing on the stack. */
static inline __attribute__((always_inline)) int request_slow(gex_Rank_t rank, uint64_t head,
                                                              uint64_t a, uint64_t b, uint64_t c,
                                                              gex_TM_t team, unsigned count)
{
    const pen_express_row *row = &team->shared_express;
    if (rank >= row->count)
        return pen_am_request_words(rank, head, a, b, c, team);
    if (pen_likely(pen_am_express_locked(team->job, pen_express_at(row, rank), count,
                                         (uint32_t)head, a, b, c)))
        return 0;
    return pen_am_request_words(rank, head, a, b, c, team);
}

static __attribute__((noinline)) int request_slow_w0(gex_Rank_t rank, uint64_t head, gex_TM_t team)
{
    return request_slow(rank, head, 0, 0, 0, team, 1);
}

static __attribute__((noinline)) int request_slow_w1(gex_Rank_t rank, uint64_t head, uint64_t a,
                                                     gex_TM_t team)
{
    return request_slow(rank, head, a, 0, 0, team, 2);
}

static __attribute__((noinline)) int request_slow_w2(gex_Rank_t rank, uint64_t head, uint64_t a,
                                                     uint64_t b, gex_TM_t team)
{
    return request_slow(rank, head, a, b, 0, team, 3);
}

static __attribute__((noinline)) int request_slow_w3(gex_Rank_t rank, uint64_t head, uint64_t a,
                                                     uint64_t b, uint64_t c, gex_TM_t team)
{
    return request_slow(rank, head, a, b, c, team, 4);
}

static inline __attribute__((always_inline)) int request(gex_Rank_t rank, uint64_t head, uint64_t a,
                                                         uint64_t b, uint64_t c, gex_TM_t team,
                                                         unsigned count, bool is_par)
{
    if (PEN_CHECKED) {
        pen_api_check_message("AMRequestShort", team, rank, (gex_Flags_t)(head >> 32));
        pen_am_check_handler(team->job, (uint8_t)head);
    }
    gex_Rank_t kept =
        rank; /* next to the address of its entry, which takes the argument's register */
    __asm__("" : "+r"(kept));
    if (!is_par || pen_likely(pen_is_only_thread())) {
        const pen_express_row *row = is_par ? &team->shared_express : &team->express;
        pen_express *entry = pen_am_express_request(team, row, kept, pen_express_at(row, rank));
        if (pen_likely(entry != NULL))
            return pen_am_express_post(ops_of(team->job, is_par), entry, count, (uint32_t)head, a,
                                       b, c);
    }
    if (count == 1)
        return request_slow_w0(kept, head, team);
    if (count == 2)
        return request_slow_w1(kept, head, a, team);
    if (count == 3)
        return request_slow_w2(kept, head, a, b, team);
    return request_slow_w3(kept, head, a, b, c, team);
}

int pen_api_request_short_w0(gex_Rank_t rank, uint64_t head, gex_TM_t team)
{
    return request(rank, head, 0, 0, 0, team, 1, false);
}

int pen_api_request_short_w1(gex_Rank_t rank, uint64_t head, uint64_t a, gex_TM_t team)
{
    return request(rank, head, a, 0, 0, team, 2, false);
}

int pen_api_request_short_w2(gex_Rank_t rank, uint64_t head, uint64_t a, uint64_t b, gex_TM_t team)
{
    return request(rank, head, a, b, 0, team, 3, false);
}

int pen_api_request_short_w3(gex_Rank_t rank, uint64_t head, uint64_t a, uint64_t b, uint64_t c,
                             gex_TM_t team)
{
    return request(rank, head, a, b, c, team, 4, false);
}

int pen_api_request_short_par_w0(gex_Rank_t rank, uint64_t head, gex_TM_t team)
{
    return request(rank, head, 0, 0, 0, team, 1, true);
}

int pen_api_request_short_par_w1(gex_Rank_t rank, uint64_t head, uint64_t a, gex_TM_t team)
{
    return request(rank, head, a, 0, 0, team, 2, true);
}

int pen_api_request_short_par_w2(gex_Rank_t rank, uint64_t head, uint64_t a, uint64_t b,
                                 gex_TM_t team)
{
    return request(rank, head, a, b, 0, team, 3, true);
}

int pen_api_request_short_par_w3(gex_Rank_t rank, uint64_t head, uint64_t a, uint64_t b, uint64_t c,
                                 gex_TM_t team)
{
    return request(rank, head, a, b, c, team, 4, true);
}

/* Builds the first word of the frame. */
static inline uint64_t reply_head(uint64_t head) { return (uint32_t)head | PEN_AM_REPLY_BITS; }

static inline __attribute__((always_inline)) int
reply_slow(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b, uint64_t c, unsigned count)
{
    pen_job *job = token->job;
    const pen_express_row *row = &job->shared_express_replies;
    if (row->step == 0)
        return pen_am_reply_words(token, head, a, b, c);
    if (pen_likely(!token->replied && (uint8_t)head >= PEN_AM_HANDLER_FIRST) &&
        pen_likely(pen_am_express_locked(job, pen_express_at(row, token->from), count,
                                         reply_head(head), a, b, c))) {
        token->replied = true;
        return 0;
    }
    return pen_am_reply_words(token, head, a, b, c);
}

static __attribute__((noinline)) int reply_slow_w0(gex_Token_t token, uint64_t head)
{
    return reply_slow(token, head, 0, 0, 0, 1);
}

static __attribute__((noinline)) int reply_slow_w1(gex_Token_t token, uint64_t head, uint64_t a)
{
    return reply_slow(token, head, a, 0, 0, 2);
}

static __attribute__((noinline)) int reply_slow_w2(gex_Token_t token, uint64_t head, uint64_t a,
                                                   uint64_t b)
{
    return reply_slow(token, head, a, b, 0, 3);
}

static __attribute__((noinline)) int reply_slow_w3(gex_Token_t token, uint64_t head, uint64_t a,
                                                   uint64_t b, uint64_t c)
{
    return reply_slow(token, head, a, b, c, 4);
}

static inline __attribute__((always_inline)) int reply(gex_Token_t token, uint64_t head, uint64_t a,
                                                       uint64_t b, uint64_t c, unsigned count,
                                                       bool is_par)
{
    if (PEN_CHECKED)
        pen_api_check_reply("AMReplyShort", token, (gex_Flags_t)(head >> 32));
    if (!is_par || pen_likely(pen_is_only_thread())) {
        const pen_job *job = token->job;
        pen_express *entry = pen_am_express_reply(
            token, is_par ? &job->shared_express_replies : &job->express_replies, head);
        if (pen_likely(entry != NULL))
            return pen_am_express_post(ops_of(job, is_par), entry, count, reply_head(head), a, b,
                                       c);
    }
    if (count == 1)
        return reply_slow_w0(token, head);
    if (count == 2)
        return reply_slow_w1(token, head, a);
    if (count == 3)
        return reply_slow_w2(token, head, a, b);
    return reply_slow_w3(token, head, a, b, c);
}

int pen_api_reply_short_w0(gex_Token_t token, uint64_t head)
{
    return reply(token, head, 0, 0, 0, 1, false);
}

int pen_api_reply_short_w1(gex_Token_t token, uint64_t head, uint64_t a)
{
    return reply(token, head, a, 0, 0, 2, false);
}

int pen_api_reply_short_w2(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b)
{
    return reply(token, head, a, b, 0, 3, false);
}

int pen_api_reply_short_w3(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b, uint64_t c)
{
    return reply(token, head, a, b, c, 4, false);
}

int pen_api_reply_short_par_w0(gex_Token_t token, uint64_t head)
{
    return reply(token, head, 0, 0, 0, 1, true);
}

int pen_api_reply_short_par_w1(gex_Token_t token, uint64_t head, uint64_t a)
{
    return reply(token, head, a, 0, 0, 2, true);
}

int pen_api_reply_short_par_w2(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b)
{
    return reply(token, head, a, b, 0, 3, true);
}

int pen_api_reply_short_par_w3(gex_Token_t token, uint64_t head, uint64_t a, uint64_t b, uint64_t c)
{
    return reply(token, head, a, b, c, 4, true);
}

int pen_api_request_medium(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
                           const void *source, size_t len, gex_Flags_t flags, unsigned arg_count,
                           uint64_t *words)
{
    if (PEN_CHECKED) {
        pen_api_check_message("AMRequestMedium", team, rank, flags);
        pen_api_check_payload("AMRequestMedium", source, len);
    }
    return pen_am_request_medium(team, rank, handler, source, len, flags, arg_count, words);
}

int pen_api_request_long(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler, const void *source,
                         size_t len, void *dest, gex_Flags_t flags, unsigned arg_count,
                         uint64_t *words)
{
    if (PEN_CHECKED) {
        pen_api_check_message("AMRequestLong", team, rank, flags);
        pen_api_check_payload("AMRequestLong", source, len);
    }
    pen_api_check_member("gex_AM_RequestLong", team, rank);
    return pen_am_request_long(team, rank, handler, source, len, dest, flags, arg_count, words);
}

int pen_api_reply_short(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags,
                        unsigned arg_count, uint64_t *words)
{
    if (PEN_CHECKED)
        pen_api_check_reply("AMReplyShort", token, flags);
    return pen_am_reply_short(token, handler, flags, arg_count, words);
}

int pen_api_reply_medium(gex_Token_t token, gex_AM_Index_t handler, const void *source, size_t len,
                         gex_Flags_t flags, unsigned arg_count, uint64_t *words)
{
    if (PEN_CHECKED) {
        pen_api_check_reply("AMReplyMedium", token, flags);
        pen_api_check_payload("AMReplyMedium", source, len);
    }
    return pen_am_reply_medium(token, handler, source, len, flags, arg_count, words);
}

int pen_api_reply_long(gex_Token_t token, gex_AM_Index_t handler, const void *source, size_t len,
                       void *dest, gex_Flags_t flags, unsigned arg_count, uint64_t *words)
{
    if (PEN_CHECKED) {
        pen_api_check_reply("AMReplyLong", token, flags);
        pen_api_check_payload("AMReplyLong", source, len);
    }
    return pen_am_reply_long(token, handler, source, len, dest, flags, arg_count, words);
}

void pen_api_bad_event(const char *call)
{
    pen_api_misuse(call,
                   "an event argument of this value is not legal here: GEX_EVENT_DEFER is for "
                   "puts, GEX_EVENT_GROUP for requests and implicit puts");
}

/* ---- limits --------------------------------------------------------------------------------- */

unsigned int gex_AM_MaxArgs(void) { return PEN_AM_ARGS_MAX; }
size_t gasnet_AMMaxArgs(void) { return PEN_AM_ARGS_MAX; }

/* Returns a limit, which is the same for all peers, flags, events and buffers. */
static size_t limit(const pen_job *job, size_t (*of_kind)(const pen_job *, unsigned),
                    const gex_Event_t *local, gex_Flags_t flags, unsigned arg_count)
{
    (void)local;
    (void)flags;
    return of_kind(job, arg_count);
}

size_t gex_AM_MaxRequestMedium(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                               gex_Flags_t flags, unsigned int arg_count)
{
    (void)rank;
    return limit(team->job, pen_am_max_medium, local, flags, arg_count);
}

size_t gex_AM_MaxReplyMedium(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                             gex_Flags_t flags, unsigned int arg_count)
{
    (void)rank;
    return limit(team->job, pen_am_max_medium, local, flags, arg_count);
}

size_t gex_AM_MaxRequestLong(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                             gex_Flags_t flags, unsigned int arg_count)
{
    (void)rank;
    return limit(team->job, pen_am_max_long_request, local, flags, arg_count);
}

size_t gex_AM_MaxReplyLong(gex_TM_t team, gex_Rank_t rank, const gex_Event_t *local,
                           gex_Flags_t flags, unsigned int arg_count)
{
    (void)rank;
    return limit(team->job, pen_am_max_long_reply, local, flags, arg_count);
}

size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *local, gex_Flags_t flags,
                                unsigned int arg_count)
{
    return limit(token->job, pen_am_max_medium, local, flags, arg_count);
}

size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *local, gex_Flags_t flags,
                              unsigned int arg_count)
{
    return limit(token->job, pen_am_max_long_reply, local, flags, arg_count);
}

/* Without a job, returns the length that every job carries. If a program has asked before the
 * start, it gets the same value in its job, because it may have allocated that much. */
static size_t bound(size_t least, size_t (*of_kind)(const pen_job *, unsigned))
{
    /* relaxed, both accesses: the answer does not depend on other threads */
    if (pen_api_root.job == NULL)
        atomic_store_explicit(&pen_api_root.asked_early, true, memory_order_relaxed);
    return atomic_load_explicit(&pen_api_root.asked_early, memory_order_relaxed)
               ? least
               : of_kind(pen_api_root.job, PEN_AM_ARGS_MAX);
}

size_t gex_AM_LUBRequestMedium(void) { return bound(PEN_AM_MEDIUM_LONG, pen_am_max_medium); }
size_t gex_AM_LUBReplyMedium(void) { return bound(PEN_AM_MEDIUM_LONG, pen_am_max_medium); }
size_t gex_AM_LUBRequestLong(void) { return bound(PEN_AM_LONG_LEAST, pen_am_max_long_request); }
size_t gex_AM_LUBReplyLong(void) { return bound(PEN_AM_LONG_LEAST, pen_am_max_long_reply); }

size_t gasnet_AMMaxMedium(void) { return gex_AM_LUBRequestMedium(); }
size_t gasnet_AMMaxLongRequest(void) { return gex_AM_LUBRequestLong(); }
size_t gasnet_AMMaxLongReply(void) { return gex_AM_LUBReplyLong(); }

/* ---- tokens --------------------------------------------------------------------------------- */

gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask)
{
    if (PEN_CHECKED)
        pen_api_check_token("gex_Token_Info", token);
    info->gex_srcrank = token->from;
    info->gex_ep = &token->job->endpoint;
    info->gex_entry = (const gex_AM_Entry_t *)(const void *)pen_am_token_entry(token);
    info->gex_is_req = token->is_request;
    info->gex_is_long = token->is_long;
    return mask & GEX_TI_ALL;
}

int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *source)
{
    if (token == NULL || source == NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, "gasnet_AMGetMsgSource",
                              "neither token nor result may be NULL");
    if (PEN_CHECKED)
        pen_api_check_token("gasnet_AMGetMsgSource", token);
    *source = token->from;
    return GASNET_OK;
}

/* ---- registration --------------------------------------------------------------------------- */

/* Registers a copy of a table; chosen indices are written to the copy. am/ logs the reason for a
 * failure, unless the client asked for silence. */
static pen_status register_copy(pen_job *job, pen_am_entry *entries, size_t count)
{
    pen_log log = pen_api_log(job);
    return pen_am_register(job, &log, entries, count);
}

int gex_EP_RegisterHandlers(gex_EP_t endpoint, gex_AM_Entry_t *table, size_t count)
{
    static const char call[] = "gex_EP_RegisterHandlers";
    if (endpoint == NULL || (table == NULL && count != 0))
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "neither endpoint nor table may be NULL");
    if (count == 0)
        return GASNET_OK;
    pen_am_entry *entries = calloc(count, sizeof *entries);
    if (entries == NULL)
        return pen_api_refuse(GASNET_ERR_RESOURCE, call,
                              "%zu entries: calloc: %s; free some memory", count, strerror(errno));
    for (size_t i = 0; i < count; i++)
        entries[i] = (pen_am_entry){ .index = table[i].gex_index,
                                     .function = (void (*)(void))table[i].gex_fnptr,
                                     .flags = table[i].gex_flags,
                                     .arg_count = table[i].gex_nargs,
                                     .cdata = table[i].gex_cdata,
                                     .name = table[i].gex_name };
    pen_status status = register_copy(endpoint->job, entries, count);
    for (size_t i = 0; status == PEN_OK && i < count; i++)
        if (table[i].gex_index == 0)
            table[i].gex_index = entries[i].index;
    free(entries);
    return pen_api_code(status);
}

/* Converts the table of gasnet_attach, which names no arguments and no kinds of messages. */
int pen_api_register_legacy(pen_job *job, gasnet_handlerentry_t *table, int count)
{
    static const char call[] = "gasnet_attach";
    if (count < 0 || (table == NULL && count != 0))
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "%d handlers at %p are no table", count,
                              (void *)table);
    if (count == 0)
        return GASNET_OK;
    pen_am_entry *entries = calloc((size_t)count, sizeof *entries);
    if (entries == NULL)
        return pen_api_refuse(GASNET_ERR_RESOURCE, call,
                              "%d handlers: calloc: %s; free some memory", count, strerror(errno));
    for (int i = 0; i < count; i++)
        entries[i] = (pen_am_entry){ .index = table[i].index,
                                     .function = (void (*)(void))table[i].fnptr,
                                     .arg_count = PEN_AM_ARGS_UNKNOWN };
    pen_status status = register_copy(job, entries, (size_t)count);
    for (int i = 0; status == PEN_OK && i < count; i++)
        if (table[i].index == 0)
            table[i].index = entries[i].index;
    free(entries);
    return pen_api_code(status);
}
