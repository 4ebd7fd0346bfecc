/* SPDX-License-Identifier: BSD-3-Clause */
/* oob.c: messages between the centre and the other blocks: see oob.h. oob_connect.c makes the
 * connections.
 *
 * A message is a head that anyone may read, a body, and the tag of the seal. */
#include "pmix/oob_internal.h"

#include "base/pack.h"
#include "os/os.h"
#include "pmix/pmix_client.h"
#include "seal/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define SEND_NS   (10 * SECOND_NS) /* time for a peer to take a message */

enum { READS_MAX = 64 }; /* pieces of a connection that one call takes */

static void news(const pen_oob *oob, uint32_t kind, uint32_t tag, int code)
{
    const pen_pmix_news out = { .kind = kind, .tag = tag, .code = code };
    (void)!write(oob->news, &out, sizeof out); /* the pipe has room for all news of a job */
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool send_all(int fd, const char *bytes, size_t len)
{
    const uint64_t until_ns = pen_now_ns() + SEND_NS;
    while (len > 0) {
        const ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        } else if ((errno != EAGAIN && errno != EINTR) || !pen_oob_await(fd, POLLOUT, until_ns)) {
            return false;
        }
    }
    return true;
}

bool pen_oob_send(pen_oob *oob, const oob_line *line, uint32_t to, oob_kind kind, uint32_t number,
                  const void *body, size_t len)
{
    const size_t whole = sizeof(oob_head) + len + PEN_SEAL_TAG_LEN;
    char *message = malloc(whole);
    if (message == NULL || line->fd < 0) {
        free(message);
        return false;
    }
    const oob_head head = {
        .from = oob->block_i, .kind = kind, .number = number, .len = (uint32_t)len
    };
    memcpy(message, &head, sizeof head);
    if (len > 0)
        memcpy(message + sizeof head, body, len);
    const bool sent = pen_seal_protect(oob->seal, to, message, sizeof head, len) &&
                      send_all(line->fd, message, whole);
    free(message);
    return sent;
}

/* To all lines but one; NULL: to all. A line that cannot be written is noticed when it is read. */
static void send_lines(pen_oob *oob, const oob_line *but, oob_kind kind, uint32_t number,
                       const void *body, size_t len)
{
    for (uint32_t i = 0; i < oob->line_count; i++)
        if (&oob->lines[i] != but)
            (void)pen_oob_send(oob, &oob->lines[i], oob->lines[i].block, kind, number, body, len);
}

/* ---- meetings -------------------------------------------------------------------------------- */

/* The bodies of a meeting lie behind each other, each after its length. Returns false if they are
 * not one for each block. */
static bool bodies_find(pen_oob *oob)
{
    pen_unpack from = { oob->bodies, oob->bodies + oob->bodies_len, false };
    for (uint32_t i = 0; i < oob->block_count; i++) {
        const uint32_t len = pen_unpack_u32(&from);
        if (from.failed || len > (size_t)(from.end - from.at))
            return false;
        oob->at[i] = (oob_body){ from.at, len };
        from.at += len;
    }
    return from.at == from.end;
}

static void bodies_drop(pen_oob *oob)
{
    if (oob->bodies != NULL)
        pen_seal_wipe(oob->bodies, oob->bodies_len);
    free(oob->bodies);
    oob->bodies = NULL;
    oob->bodies_len = 0;
    memset(oob->at, 0, oob->block_count * sizeof *oob->at);
}

/* The centre: all blocks have come to the meeting. */
static void all_came(pen_oob *oob, oob_meeting *meeting, uint32_t tag)
{
    pen_pack all = { .bytes = NULL };
    for (uint32_t i = 0; i < oob->block_count; i++) {
        pen_pack_u32(&all, (uint32_t)meeting->came[i].len);
        pen_pack_bytes(&all, meeting->came[i].bytes, meeting->came[i].len);
        free((void *)(uintptr_t)meeting->came[i].bytes);
        meeting->came[i] = (oob_body){ NULL, 0 };
        meeting->here[i] = false;
    }
    meeting->count = 0;
    if (all.failed) {
        news(oob, PEN_PMIX_FENCED, tag, -1);
        return;
    }
    send_lines(oob, NULL, OOB_ALL, tag, all.bytes, all.len);
    bodies_drop(oob);
    oob->bodies = all.bytes; /* pen_pack_free would free them */
    oob->bodies_len = all.len;
    news(oob, PEN_PMIX_FENCED, tag, bodies_find(oob) ? 0 : -1);
}

/* The centre: a block has come to a meeting. Returns false if it was there already, or if there is
 * no memory. */
static bool come(pen_oob *oob, uint32_t block, uint32_t tag, const char *body, size_t len)
{
    if (tag >= PEN_OOB_TAGS || oob->meetings[tag].here[block])
        return false;
    oob_meeting *meeting = &oob->meetings[tag];
    char *copy = malloc(len + 1);
    if (copy == NULL)
        return false;
    if (len > 0)
        memcpy(copy, body, len);
    meeting->came[block] = (oob_body){ copy, len };
    meeting->here[block] = true;
    if (++meeting->count == oob->block_count)
        all_came(oob, meeting, tag);
    return true;
}

const char *pen_oob_meet(pen_oob *oob, uint32_t tag, const void *body, size_t len)
{
    if (oob->block_i == 0)
        return come(oob, 0, tag, body, len) ? NULL : "out of memory";
    (void)pen_oob_send(oob, &oob->lines[0], 0, OOB_COME, tag, body, len);
    return NULL;
}

const char *pen_oob_body(const pen_oob *oob, uint32_t block, size_t *len)
{
    *len = oob->at[block].len;
    return oob->at[block].bytes;
}

/* ---- other words ----------------------------------------------------------------------------- */

void pen_oob_tell(pen_oob *oob, int code)
{
    send_lines(oob, NULL, OOB_TELL, (uint32_t)code, NULL, 0);
}

void pen_oob_set_joined(pen_oob *oob, bool joined)
{
    send_lines(oob, NULL, OOB_JOINED, joined, NULL, 0);
}

/* ---- receiving ------------------------------------------------------------------------------- */

void pen_oob_line_close(oob_line *line)
{
    if (line->fd >= 0)
        (void)close(line->fd);
    if (line->in != NULL)
        pen_seal_wipe(line->in, line->room);
    free(line->in);
    *line = (oob_line){ .fd = -1, .block = line->block };
}

/* Makes room for `need` bytes. */
static bool room_make(oob_line *line, size_t need)
{
    if (need <= line->room)
        return true;
    char *grown = malloc(need);
    if (grown == NULL)
        return false;
    if (line->in != NULL) {
        memcpy(grown, line->in, line->len);
        pen_seal_wipe(line->in, line->room);
        free(line->in);
    }
    line->in = grown;
    line->room = need;
    return true;
}

/* Length of the message that begins in the buffer, as far as its head has come. 0: invalid. */
static size_t need_of(const oob_line *line, size_t body_max)
{
    oob_head head;
    if (line->len < sizeof head)
        return sizeof head;
    memcpy(&head, line->in, sizeof head);
    return head.len <= body_max ? sizeof head + head.len + PEN_SEAL_TAG_LEN : 0;
}

/* Reads what is there of a message. OOB_MESSAGE: it is whole. */
static oob_read bytes_read(oob_line *line, size_t body_max)
{
    size_t need;
    while ((need = need_of(line, body_max)) > line->len) {
        if (!room_make(line, need))
            return OOB_GONE;
        const ssize_t got = recv(line->fd, line->in + line->len, need - line->len, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return OOB_NOTHING;
        if (got <= 0)
            return OOB_GONE;
        line->len += (size_t)got;
    }
    return need != 0 ? OOB_MESSAGE : OOB_GONE;
}

oob_read pen_oob_read(pen_oob *oob, oob_line *line, size_t body_max, oob_head *head)
{
    const oob_read result = bytes_read(line, body_max);
    if (result != OOB_MESSAGE)
        return result;
    line->len = 0;
    memcpy(head, line->in, sizeof *head);
    if (head->from >= oob->block_count || head->from == oob->block_i ||
        (line->proven && head->from != line->block))
        return OOB_GONE;
    return pen_seal_unprotect(oob->seal, head->from, line->in, sizeof *head, head->len) ==
                   PEN_SEAL_GENUINE
               ? OOB_MESSAGE
               : OOB_GONE;
}

/* Takes all bodies of a meeting, which the centre has sent. */
static bool all_take(pen_oob *oob, uint32_t tag, const char *body, size_t len)
{
    bodies_drop(oob);
    oob->bodies = malloc(len + 1);
    if (oob->bodies == NULL)
        return false;
    memcpy(oob->bodies, body, len);
    oob->bodies_len = len;
    news(oob, PEN_PMIX_FENCED, tag, bodies_find(oob) ? 0 : -1);
    return true;
}

/* Returns false if the message is not one that its sender may send. */
static bool take(pen_oob *oob, oob_line *line, const oob_head *head)
{
    const char *body = line->in + sizeof *head;
    switch (head->kind) {
    case OOB_COME:
        return oob->block_i == 0 && head->len <= oob->body_max &&
               come(oob, line->block, head->number, body, head->len);
    case OOB_ALL:
        return oob->block_i != 0 && all_take(oob, head->number, body, head->len);
    case OOB_TELL:
        if (oob->block_i == 0)
            send_lines(oob, line, OOB_TELL, head->number, NULL, 0);
        news(oob, PEN_PMIX_TOLD, 0, (int)head->number);
        return true;
    case OOB_JOINED:
        line->joined = head->number != 0;
        return true;
    default:
        return false;
    }
}

static void line_serve(pen_oob *oob, oob_line *line)
{
    oob_head head;
    for (int i = 0; i < READS_MAX && line->fd >= 0; i++) {
        const size_t most = oob->block_i == 0 ? oob->body_max : oob->all_max;
        const oob_read result = pen_oob_read(oob, line, most, &head);
        if (result == OOB_NOTHING)
            return;
        if (result == OOB_MESSAGE && take(oob, line, &head))
            continue;
        if (line->joined)
            news(oob, PEN_PMIX_PEER_LOST, 0, (int)oob->firsts[line->block]);
        pen_oob_line_close(line);
    }
}

uint32_t pen_oob_watch(const pen_oob *oob, struct pollfd *out)
{
    for (uint32_t i = 0; i < oob->line_count; i++)
        out[i] = (struct pollfd){ .fd = oob->lines[i].fd, .events = POLLIN };
    return oob->line_count;
}

void pen_oob_serve(pen_oob *oob)
{
    for (uint32_t i = 0; i < oob->line_count; i++)
        line_serve(oob, &oob->lines[i]);
}
