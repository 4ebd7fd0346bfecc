/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c: words on the control socket, of any length and content, and the exit rule that they
 * drive. For any words of ranks in any order there is a status, and it is never 0 if a rank died.
 */
#include "boot/control.h"
#include "launch/exit_rule.h"

#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { RANKS = 3, WORD_LEN_MAX = 200 };

static int ends[2] = { -1, -1 };

/* One word, as it arrives. */
static pen_control_result hear(const uint8_t *bytes, size_t len, pen_control *out)
{
    if (ends[0] < 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        abort();
    memset(out, 0xcd, sizeof *out);
    if (len == 0 || send(ends[0], bytes, len, MSG_DONTWAIT) != (ssize_t)len)
        return PEN_CONTROL_NONE;
    pen_control_result result = pen_control_receive(ends[1], out);
    if (result != (len == sizeof *out ? PEN_CONTROL_SOME : PEN_CONTROL_BAD))
        abort();
    if (result == PEN_CONTROL_SOME && memchr(out->text, '\0', sizeof out->text) == NULL)
        abort();
    return result;
}

/* Handles a word as a supervisor does. Returns false if the word has no effect. */
static bool event_of(const pen_control *word, uint32_t rank, pen_exit_event *out)
{
    static const struct {
        pen_control_kind word;
        pen_exit_kind event;
    } rows[] = {
        { PEN_CONTROL_JOINED, PEN_EXIT_JOINED },   { PEN_CONTROL_EXIT, PEN_EXIT_CALLED },
        { PEN_CONTROL_LEAVE, PEN_EXIT_LEFT },      { PEN_CONTROL_RESIGNED, PEN_EXIT_RESIGNED },
        { PEN_CONTROL_NOTED, PEN_EXIT_DIED },      { PEN_CONTROL_END, PEN_EXIT_ENDED },
        { PEN_CONTROL_BLOCKED, PEN_EXIT_BLOCKED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (word->kind == (uint32_t)rows[i].word) {
            *out = (pen_exit_event){ rows[i].event, rank, word->code };
            return true;
        }
    return false;
}

static void note(pen_exit_rule *rule, pen_exit_event event, uint64_t now_ns, bool *somebody_died)
{
    bool is_end = event.kind == PEN_EXIT_DIED || event.kind == PEN_EXIT_ENDED;
    if (rule->ranks[event.rank].gone || pen_exit_rule_over(rule))
        return; /* a rank sends nothing after its end */
    if (event.kind == PEN_EXIT_DIED) {
        event.code = 1 + (int)((unsigned)event.code % 64);
        *somebody_died = *somebody_died || !rule->ranks[event.rank].told;
    }
    if (event.kind == PEN_EXIT_ENDED)
        event.code = (int)((unsigned)event.code % 256);
    (void)pen_exit_rule_events(rule, &event, 1, now_ns);
    if (is_end && !rule->ranks[event.rank].gone)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    pen_exit_rank ranks[RANKS];
    pen_exit_rule rule;
    bool somebody_died = false;
    uint64_t now_ns = 1;
    pen_exit_rule_init(&rule, ranks, RANKS, 1000, 2000);
    for (const uint8_t *at = bytes, *end = bytes + len; end - at >= 2;) {
        uint32_t rank = at[0] % RANKS;
        size_t word_len = at[1] < WORD_LEN_MAX ? at[1] : sizeof(pen_control),
               left = (size_t)(end - at) - 2;
        uint8_t word_bytes[WORD_LEN_MAX] = { 0 };
        memcpy(word_bytes, at + 2, word_len < left ? word_len : left);
        at += 2 + (word_len < left ? word_len : left);
        pen_control word;
        pen_exit_event event;
        now_ns += rank * 300;
        if (hear(word_bytes, word_len, &word) == PEN_CONTROL_SOME && event_of(&word, rank, &event))
            note(&rule, event, now_ns, &somebody_died);
        (void)pen_exit_rule_tick(&rule, now_ns, word_len % 2 != 0);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        note(&rule, (pen_exit_event){ PEN_EXIT_ENDED, rank, 0 }, now_ns, &somebody_died);
    if (!pen_exit_rule_over(&rule) || (somebody_died && pen_exit_rule_status(&rule) == 0))
        abort();
    return 0;
}
