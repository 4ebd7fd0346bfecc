/* SPDX-License-Identifier: BSD-3-Clause */
/* steward.c: the steward's loop. It reads messages of its rank, messages of other stewards, and
 * news of PMIx. */
#include "pmix/steward.h"

#include "base/compiler.h"
#include "boot/control.h"
#include "boot/host_page.h"
#include "os/os.h"
#include "pmix/oob.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES_MAX = 8, POLL_FIXED = 2 };
#define PMI_END_NS UINT64_C(2000000000) /* time for the launcher to acknowledge the end */

static int wait_ms(uint64_t until_ns)
{
    if (until_ns == 0)
        return -1;
    uint64_t now_ns = pen_now_ns();
    if (now_ns >= until_ns)
        return 0;
    uint64_t ms = (until_ns - now_ns) / 1000000 + 1;
    return ms < 3600000 ? (int)ms : 3600000;
}

static bool news_read(const pen_steward *s, pen_pmix_news *out)
{
    return read(s->news[0], out, sizeof(*out)) == (ssize_t)sizeof(*out);
}

bool pen_steward_await(pen_steward *s, uint32_t kind, uint64_t until_ns, pen_pmix_news *out)
{
    struct pollfd told = { .fd = s->news[0], .events = POLLIN };
    while (pen_now_ns() < until_ns) {
        if (poll(&told, 1, wait_ms(until_ns)) <= 0 || !news_read(s, out))
            continue;
        if (out->kind == kind)
            return true;
        if (out->kind == PEN_PMIX_SERVER_LOST)
            return false;
    }
    return false;
}

/* ---- sending --------------------------------------------------------------------------------- */

void pen_steward_line_say(pen_steward_line *line, pen_control_kind kind, int code)
{
    if (line->fd >= 0) /* a closed line is noticed by reading */
        (void)pen_control_send(line->fd, kind, code, NULL, false);
}

void pen_steward_lines_say(pen_steward *s, pen_control_kind kind, int code,
                           const pen_steward_line *but)
{
    for (uint32_t i = 0; i < s->line_count; i++)
        if (&s->lines[i] != but)
            pen_steward_line_say(&s->lines[i], kind, code);
}

void pen_steward_answer(pen_steward *s, pen_control_kind kind, int code)
{
    if (s->control >= 0)
        (void)pen_control_send(s->control, kind, code, NULL, false);
    pen_host_rank *row = &s->page->ranks[s->rank - s->first];
    pen_fence(); /* pairs with the sleeper's: it reads the message, or its flag is seen here */
    pen_futex_rouse(&row->sleeping, &row->wake);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void own_word(pen_steward *s, const pen_control *message)
{
    pen_control_kind kind = (pen_control_kind)message->kind;
    switch (kind) {
    case PEN_CONTROL_JOINED:
    case PEN_CONTROL_RESIGNED:
        s->joined = kind == PEN_CONTROL_JOINED;
        pen_steward_lines_say(s, kind, 0, NULL);
        if (s->oob != NULL)
            pen_oob_set_joined(s->oob, s->joined);
        if (!s->joined)
            pen_steward_answer(s, PEN_CONTROL_NOTED, 0);
        break;
    case PEN_CONTROL_EXIT:
    case PEN_CONTROL_LEAVE:
        pen_steward_word(s, kind, message->code);
        break;
    case PEN_CONTROL_BLOCKED:
        pen_steward_blocked(s, message);
        break;
    case PEN_CONTROL_NOTE:
        memcpy(s->note, message->text, sizeof(s->note));
        break;
    case PEN_CONTROL_MEET:
        if (pen_steward_is_first(s))
            pen_steward_meet(s, message->code);
        else
            pen_steward_line_say(&s->lines[0], kind, message->code);
        break;
    default:
        break;
    }
}

static void control_read(pen_steward *s)
{
    for (int i = 0; i < MESSAGES_MAX && s->control >= 0; i++) {
        pen_control message;
        pen_control_result result = pen_control_receive(s->control, &message);
        if (result == PEN_CONTROL_NONE)
            return;
        if (result == PEN_CONTROL_SOME)
            own_word(s, &message);
        if (result == PEN_CONTROL_GONE) {
            close(s->control);
            s->control = -1;
        }
    }
}

static void line_word(pen_steward *s, pen_steward_line *line, const pen_control *message)
{
    switch (message->kind) {
    case PEN_CONTROL_JOINED:
    case PEN_CONTROL_RESIGNED:
        line->joined = message->kind == PEN_CONTROL_JOINED;
        break;
    case PEN_CONTROL_LEAVE:
        line->left = true;
        pen_steward_left(s);
        break;
    case PEN_CONTROL_MEET:
        pen_steward_meet(s, message->code);
        break;
    case PEN_CONTROL_GO:
        pen_steward_go(s);
        break;
    case PEN_CONTROL_END:
        pen_steward_decide(s, message->code, PEN_STEWARD_FROM_LINE, line);
        break;
    default:
        break;
    }
}

static void line_read(pen_steward *s, pen_steward_line *line)
{
    for (int i = 0; i < MESSAGES_MAX && line->fd >= 0; i++) {
        pen_control message;
        pen_control_result result = pen_control_receive(line->fd, &message);
        if (result == PEN_CONTROL_NONE)
            return;
        if (result == PEN_CONTROL_SOME)
            line_word(s, line, &message);
        if (result == PEN_CONTROL_GONE) {
            close(line->fd);
            line->fd = -1; /* pen_steward_tick acts on it */
        }
    }
}

static void hook(pen_steward *s)
{
    if (!s->joined) /* a joined rank owes an announcement, so without it the end is disorderly */
        pen_steward_finish(s);
    if (s->pmix == NULL && s->code == 0 && (s->over || !s->joined))
        pen_pmi_finish(&s->pmi, pen_now_ns() + PMI_END_NS);
    atomic_store_explicit(&s->hook_done, 1, memory_order_release);
    pen_futex_wake(&s->hook_done, 1);
}

static void news_take(pen_steward *s)
{
    pen_pmix_news news;
    if (!news_read(s, &news))
        return;
    switch (news.kind) {
    case PEN_PMIX_FENCED:
        if (news.tag == PEN_STEWARD_FENCE_MEET)
            pen_steward_met(s, news.code);
        else if (news.tag == PEN_STEWARD_FENCE_LEAVE && news.code == 0)
            pen_steward_go(s);
        break; /* if the fence to leave has failed, its deadline remains */
    case PEN_PMIX_TOLD:
        pen_steward_decide(s, news.code, PEN_STEWARD_FROM_BLOCKS, NULL);
        break;
    case PEN_PMIX_DEAF:
        s->deaf = true;
        break;
    case PEN_PMIX_PEER_LOST:
        pen_steward_lost(s, (uint32_t)news.code);
        break;
    case PEN_PMIX_SERVER_LOST:
        pen_steward_server_lost(s);
        break;
    case PEN_STEWARD_HOOK:
        hook(s);
        break;
    default:
        break;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void pause_and_look(pen_steward *s, struct pollfd *watched)
{
    watched[0] = (struct pollfd){ .fd = s->news[0], .events = POLLIN };
    watched[1] = (struct pollfd){ .fd = s->control, .events = POLLIN }; /* poll skips -1 */
    for (uint32_t i = 0; i < s->line_count; i++)
        watched[POLL_FIXED + i] = (struct pollfd){ .fd = s->lines[i].fd, .events = POLLIN };
    uint32_t count = POLL_FIXED + s->line_count;
    if (s->oob != NULL)
        count += pen_oob_watch(s->oob, &watched[count]);
    if (poll(watched, count, wait_ms(pen_steward_deadline(s))) <= 0)
        return;
    if (watched[1].revents != 0)
        control_read(s);
    for (uint32_t i = 0; i < s->line_count; i++)
        if (watched[POLL_FIXED + i].revents != 0)
            line_read(s, &s->lines[i]);
    if (s->oob != NULL)
        pen_oob_serve(s->oob);
    if (watched[0].revents != 0)
        news_take(s);
}

_Noreturn void pen_steward_serve(pen_steward *s)
{
    struct pollfd *watched = calloc(POLL_FIXED + s->line_count + s->block_count, sizeof(*watched));
    PEN_INVARIANT(watched != NULL); /* needs a few bytes for each rank of the host */
    if (s->pmix != NULL && s->block_count > 1 && pen_steward_is_first(s))
        s->deaf = pen_pmix_listen(s->pmix) != NULL;
    for (;;) {
        pause_and_look(s, watched);
        pen_steward_tick(s, pen_now_ns());
    }
}
