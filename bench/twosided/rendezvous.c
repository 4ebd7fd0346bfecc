/* SPDX-License-Identifier: BSD-3-Clause */
/* rendezvous.c: long messages. The sender registers its memory and asks; the receiver, when it has
 * the receive, gets the bytes and tells. Memory that cannot be registered, for a neighbour in the
 * same page is, goes by way of pages of the library's own. */
#include "twosided/twosided_internal.h"

#include <stdio.h>

/* Gets under way at once. Their notifications fit any queue that is to be used. */
enum { FETCHES_MAX = 4 };

static void *pages_for(size_t len)
{
    return aligned_alloc(RMA2_PAGE_LEN, pen_align_up(len, RMA2_PAGE_LEN));
}

/* Makes [buf, buf + len) reachable, or a copy of its bytes. */
static RMA2_NLA reach(twosided *t, twosided_request *request, size_t len, bool copies)
{
    RMA2_NLA nla = 0;
    RMA2_ERROR_CODE done = rma2_register_cached(t->rma, request->buf, len, &request->region);
    if (done != RMA2_SUCCESS) {
        request->bounce = pages_for(len);
        if (request->bounce == NULL ||
            rma2_register(t->rma, request->bounce, len, &request->region) != RMA2_SUCCESS) {
            (void)fprintf(stderr, "twosided: no memory can be registered: %s\n",
                          rma2_strerror(done));
            abort();
        }
        if (copies)
            memcpy(request->bounce, request->buf, len);
    }
    (void)rma2_get_nla(request->region, 0, &nla);
    return nla;
}

static void unreach(twosided *t, twosided_request *request)
{
    (void)rma2_unregister(t->rma, request->region);
    free(request->bounce);
    request->bounce = NULL;
}

void twosided_ask(twosided *t, twosided_request *request)
{
    request->theirs = reach(t, request, request->len, true); /* "theirs" as the peer sees it */
    request->number = ++t->numbers;
}

void twosided_fetched(twosided *t, int peer, uint32_t number)
{
    for (twosided_request **at = &t->asking; *at != NULL; at = &(*at)->next) {
        twosided_request *request = *at;
        if (request->peer != peer || request->number != number)
            continue;
        *at = request->next;
        unreach(t, request);
        request->done = true;
        return;
    }
    t->counts.protocol++;
}

/* Fetched, or there was nothing to fetch: the sender is told. `done` follows when it has been. */
static void tell(twosided *t, twosided_request *request)
{
    peer_state *p = &t->peers[request->peer];
    request->len = request->moved;
    request->next = p->answer;
    p->answer = request;
    t->queued++;
    t->counts.fetched++;
    twosided_push(t, request->peer);
}

/* Gets all of it, with one notification, since a port's commands stay in order. */
static void get(twosided *t, const twosided_request *request)
{
    size_t len = least(request->moved, request->len);
    for (size_t at = 0; at < len; at += RMA2_SIZE_MAX) {
        size_t part = least(len - at, RMA2_SIZE_MAX);
        RMA2_NLA here = 0;
        RMA2_ERROR_CODE posted;
        (void)rma2_get_nla(request->region, at, &here);
        while ((posted = rma2_post_get_bt_direct(
                    t->rma, &t->rma_to[request->peer], here, (uint32_t)part, request->theirs + at,
                    at + part == len ? RMA2_COMPLETER_NOTIFICATION : RMA2_NO_NOTIFICATION,
                    RMA2_CMD_DEFAULT)) == RMA2_TRY_AGAIN)
            (void)rma2_flush(t->rma);
        if (posted != RMA2_SUCCESS) {
            (void)fprintf(stderr, "twosided: rma2_post_get_bt: %s\n", rma2_strerror(posted));
            abort();
        }
    }
}

/* Gets that have been posted are the first ones of the list. */
static void get_more(twosided *t)
{
    twosided_request *request = t->fetching;
    for (uint32_t i = 0; request != NULL && i < FETCHES_MAX; i++, request = request->next) {
        if (i < t->fetches)
            continue;
        get(t, request);
        t->fetches++;
    }
}

void twosided_fetch(twosided *t, twosided_request *request)
{
    size_t wanted = least(request->moved, request->len);
    request->next = NULL;
    if (wanted == 0) {
        tell(t, request);
        return;
    }
    (void)reach(t, request, wanted, false);
    *t->fetching_end = request;
    t->fetching_end = &request->next;
    get_more(t);
}

void twosided_poll_rma(twosided *t)
{
    RMA2_Notification *noti;
    while (t->fetching != NULL && rma2_noti_probe(t->rma, &noti) == RMA2_SUCCESS) {
        if (rma2_noti_get_error(noti) != 0) {
            (void)fprintf(stderr, "twosided: a message's memory could not be read\n");
            abort();
        }
        (void)rma2_noti_free(t->rma, noti);
        twosided_request *request = t->fetching;
        t->fetching = request->next;
        if (t->fetching == NULL)
            t->fetching_end = &t->fetching;
        t->fetches--;
        if (request->bounce != NULL)
            memcpy(request->buf, request->bounce, least(request->moved, request->len));
        unreach(t, request);
        tell(t, request);
        get_more(t);
    }
}
