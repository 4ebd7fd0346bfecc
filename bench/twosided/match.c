/* SPDX-License-Identifier: BSD-3-Clause */
/* match.c: receives and messages find each other: the first of either that fits. */
#include "twosided/twosided_internal.h"

#include <sched.h>
#include <stdio.h>

static bool fits(const twosided_request *request, int peer, int tag)
{
    return (request->peer == TWOSIDED_ANY || request->peer == peer) &&
           (request->tag == TWOSIDED_ANY || request->tag == tag);
}

/* The receive gets this message. */
static void bind_to(twosided_request *request, int peer, const message_head *head)
{
    request->peer = peer;
    request->tag = head->tag;
    request->is_cut = head->len > request->len;
    request->started = true;
}

static void finish(twosided_request *request, const message_head *head)
{
    request->len = head->len;
    request->done = true;
}

static twosided_request *take_posted(twosided *t, int peer, int tag)
{
    for (twosided_request **at = &t->posted; *at != NULL; at = &(*at)->next) {
        twosided_request *found = *at;
        if (!fits(found, peer, tag))
            continue;
        *at = found->next;
        if (found->next == NULL)
            t->posted_end = at;
        return found;
    }
    return NULL;
}

/* ---- messages come --------------------------------------------------------------------------- */

static void keep(twosided *t, int peer, const message_head *head, const unsigned char *bytes,
                 size_t len)
{
    bool is_eager = head->kind == KIND_EAGER;
    early *kept = malloc(sizeof(*kept) + (is_eager ? head->len : 0));
    if (kept == NULL) {
        (void)fprintf(stderr, "twosided: out of memory for messages without a receive\n");
        abort();
    }
    *kept = (early){ .head = *head, .peer = peer, .moved = is_eager ? len : 0 };
    if (is_eager) {
        memcpy(kept->bytes, bytes, len);
        t->peers[peer].early_into = len < head->len ? kept : NULL;
    } else {
        memcpy(&kept->theirs, bytes, 8);
        memcpy(&kept->number, bytes + 8, 4);
    }
    *t->early_end = kept;
    t->early_end = &kept->next;
    t->counts.unexpected++;
}

static void start_receive(twosided *t, twosided_request *request, int peer,
                          const message_head *head, const unsigned char *bytes, size_t len)
{
    bind_to(request, peer, head);
    if (head->kind == KIND_ASK) {
        memcpy(&request->theirs, bytes, 8);
        memcpy(&request->number, bytes + 8, 4);
        request->moved = head->len; /* the length, until it is fetched */
        twosided_fetch(t, request);
        return;
    }
    memcpy(request->buf, bytes, least(len, request->len));
    request->moved = len;
    if (len == head->len)
        finish(request, head);
    else
        t->peers[peer].into = request;
}

void twosided_started(twosided *t, int peer, const unsigned char *packet, size_t len)
{
    message_head head;
    memcpy(&head, packet, sizeof(head));
    packet += sizeof(head);
    len -= sizeof(head);
    if (head.kind == KIND_FETCHED) {
        twosided_fetched(t, peer, head.len);
        return;
    }
    if ((head.kind == KIND_ASK && len < 12) || head.kind > KIND_ASK ||
        (head.kind == KIND_EAGER && (head.len > TWOSIDED_EAGER_LEN || len > head.len)) ||
        t->peers[peer].left > 0) {
        t->counts.protocol++;
        return;
    }
    if (head.kind == KIND_EAGER)
        t->peers[peer].left = head.len - len;
    twosided_request *request = take_posted(t, peer, head.tag);
    if (request != NULL)
        start_receive(t, request, peer, &head, packet, len);
    else
        keep(t, peer, &head, packet, len);
}

/* The rest of a message, for the receive or the kept message it began in. */
void twosided_continued(twosided *t, int peer, const unsigned char *bytes, size_t len)
{
    peer_state *p = &t->peers[peer];
    if (len > p->left) {
        t->counts.protocol++;
        return;
    }
    p->left -= len;
    if (p->into != NULL) {
        twosided_request *request = p->into;
        if (request->moved < request->len)
            memcpy((char *)request->buf + request->moved, bytes,
                   least(len, request->len - request->moved));
        request->moved += len;
        if (p->left == 0) {
            request->len = request->moved;
            request->done = true;
            p->into = NULL;
        }
        return;
    }
    early *kept = p->early_into;
    memcpy(kept->bytes + kept->moved, bytes, len);
    kept->moved += len;
    if (p->left > 0)
        return;
    p->early_into = NULL;
    if (kept->taker != NULL) {
        memcpy(kept->taker->buf, kept->bytes, least(kept->head.len, kept->taker->len));
        finish(kept->taker, &kept->head);
        free(kept);
    }
}

/* ---- receives come --------------------------------------------------------------------------- */

static early *take_early(twosided *t, const twosided_request *request)
{
    for (early **at = &t->early_first; *at != NULL; at = &(*at)->next) {
        early *found = *at;
        if (!fits(request, found->peer, found->head.tag))
            continue;
        *at = found->next;
        if (found->next == NULL)
            t->early_end = at;
        return found;
    }
    return NULL;
}

void twosided_irecv(twosided *t, int peer, int tag, void *buf, size_t len,
                    twosided_request *request)
{
    *request = (twosided_request){ .peer = peer, .tag = tag, .len = len, .buf = buf };
    early *found = take_early(t, request);
    if (found == NULL) {
        *t->posted_end = request;
        t->posted_end = &request->next;
        return;
    }
    bind_to(request, found->peer, &found->head);
    if (found->head.kind == KIND_ASK) {
        request->theirs = found->theirs;
        request->number = found->number;
        request->moved = found->head.len;
        twosided_fetch(t, request);
    } else if (found->moved < found->head.len) {
        found->taker = request; /* takes it when it is complete */
        return;
    } else {
        memcpy(buf, found->bytes, least(found->head.len, len));
        finish(request, &found->head);
    }
    free(found);
}

bool twosided_test(twosided *t, twosided_request *request)
{
    if (!request->done)
        twosided_progress(t);
    return request->done;
}

void twosided_wait(twosided *t, twosided_request *request)
{
    for (uint32_t spins = 0; !twosided_test(t, request); spins++)
        if (spins > 1000)
            (void)sched_yield();
}

size_t twosided_recv(twosided *t, int peer, int tag, void *buf, size_t len, twosided_request *out)
{
    twosided_request request;
    twosided_irecv(t, peer, tag, buf, len, &request);
    twosided_wait(t, &request);
    if (out != NULL)
        *out = request;
    return request.len;
}
