#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""vary.py [--mutants] SRC OUT | --list: copies of the sources that the explorer compiles.

In every copy rings, inboxes and bodies are made small, so that a handful of frames goes round them.
With --mutants faults are put in as well, each behind explore_is("<name>"), so that one program has
them all. A size or a mutant whose line is gone is an error of the test that uses it: its name is
written to OUT/missing.h, and the explorer refuses to run it.
"""

import os
import re
import sys

SHM = "conduits/shm/"
FOLDER = os.path.dirname(os.path.abspath(__file__))
FILES = sorted(
    SHM + name
    for name in os.listdir(os.path.join(FOLDER, "../../src", SHM))
    if name.endswith((".c", ".h"))
) + [
    "progress/progress.h",
    "progress/progress.c",
    "progress/backlog.c",
    "progress/wait.c",
    "link/link_host.c",
    "os/lock.c",
    "os/futex.c",
    "coll/coll_lines.c",
    "coll/shared.h",
    "coll/coll_shared.c",
    "coll/shared_move.c",
    "coll/shared_plan.c",
    "coll/shared_reduce.c",
    "coll/shared_turn.c",
    "reach/reach.c",
    "rma/rma_event.c",
]

# file, old text, new text
SIZES = [
    (SHM + "layout.h", r"SHM_RING_SLOTS = 64\b", "SHM_RING_SLOTS = 8"),
    (SHM + "layout.h", r"SHM_INBOX_SLOTS_MIN = 256\b", "SHM_INBOX_SLOTS_MIN = 4"),
    (SHM + "layout.h", r"SHM_CHANNELS_MAX = 32\b", "SHM_CHANNELS_MAX = 4"),
    (SHM + "layout.h", r"SHM_BODY_MAX = 65536\b", "SHM_BODY_MAX = 256"),
    (SHM + "layout.h", r"SHM_CHUNKS_MAX = 8\b", "SHM_CHUNKS_MAX = 2"),
    (SHM + "layout.c", r"SHM_RING_LEN_FEW = 524288\b", "SHM_RING_LEN_FEW = 512"),
    (SHM + "layout.h", r"SHM_RING_NEAR_BITS = 15\b", "SHM_RING_NEAR_BITS = 8"),
    (SHM + "layout.c", r"SHM_RING_LEN_MANY = 8192\b", "SHM_RING_LEN_MANY = 256"),
    (SHM + "shm_send.c", r"INBOX_SENDS_MAX = 16\b", "INBOX_SENDS_MAX = 1"),
    (SHM + "shm_send.c", r"- 4 \* link->peers\b", "- explore_inbox_slack()"),
    (SHM + "layout.c", r"slots < 8 \* ranks\b", "slots < 2 * ranks"),
    ("coll/coll_lines.c", r"TREE_RADIX = 8\b", "TREE_RADIX = 2"),
    ("coll/shared.h", r"SHARED_SLOTS = 63\b", "SHARED_SLOTS = 3"),
    ("coll/shared.h", r"BODY_OFF = 4096\b", "BODY_OFF = 256"),
    ("coll/shared.h", r"BODY_LEN = PEN_HOST_SHARE_LEN - PEN_SHARED_BODY_OFF", "BODY_LEN = 256"),
    ("coll/shared.h", r"BLOCK_LEN = 32 << 10\b", "BLOCK_LEN = 256"),
    ("coll/shared.h", r"BLOCK_LEN = 128 << 10\b", "BLOCK_LEN = 256"),
    ("coll/coll_shared.c", r"TELL_EVERY = 8\b", "TELL_EVERY = 2"),
    ("coll/coll_shared.c", r"TELL_LEN_MAX = 4096\b", "TELL_LEN_MAX = 32"),
    ("coll/coll_shared.c", r"\+ 2 \* PEN_SHARED_PIECE_MAX\b", ""),  # no long ones follow small ones
    ("coll/shared.h", r"PIECE_MAX = 32 << 10\b", "PIECE_MAX = 256"),
    ("coll/shared_plan.c", r"\bSECTION = 16 << 10\b", "SECTION = 128"),
    ("coll/shared_plan.c", r"CROWD_SECTION = PEN_SHARED_PIECE_MAX\b", "CROWD_SECTION = 64"),
    ("coll/shared_plan.c", r"\{ 2, SIZE_MAX, SIZE_MAX, 32 << 10\b", "{ 2, 128, 128, 32 << 10"),
    ("coll/shared_plan.c", r"\{ 2, SIZE_MAX, SIZE_MAX, SIZE_MAX\b", "{ 2, 128, 32, SIZE_MAX"),
    ("rma/rma_event.c", r"SLAB_EVENTS = 255\b", "SLAB_EVENTS = 1"),
    ("os/lock.c", r"SPINS_MAX = 100\b", "SPINS_MAX = 1"),
    ("os/lock.c", r"YIELDS_MAX = 16\b", "YIELDS_MAX = 1"),
]

ALL = [("coll/coll_lines.c", r"size <= PEN_MEET_ALL_SEE_ALL_MAX\b", "size <= explore_flat_max()", 2)]

# name, file, old text, new text
MUTANTS = [
    (
        "word_before_head",
        SHM + "shm_send.c",
        r"(    shm_copy_head\(slot, frame->head, head_len\);)",
        r"""    if (explore_is("word_before_head"))
        atomic_store_explicit(&slot->word, shm_word(next, head_len), memory_order_release);
\1""",
    ),
    (
        "look_before_word",
        SHM + "shm_send.c",
        r"(    shm_copy_head\(slot, frame->head, head_len\);)",
        r"""    if (explore_is("look_before_word"))
        (void)announce(link, to, tx);
\1""",
    ),
    (
        "not_announced",
        SHM + "shm_send.c",
        r"    return announce\(link, to, tx\);(\n\}\n\npen_post shm_post_fenced)",
        r"""    return explore_is("not_announced") || explore_is("look_before_word")
               ? PEN_POST_DONE
               : announce(link, to, tx);\1""",
    ),
    (
        "sender_without_fence",
        SHM + "shm_send.c",
        r"if \(link->fenced\)(\s+shm_fence\(\);\s+\(void\)announce)",
        r"""if (link->fenced && !explore_is("sender_without_fence"))\1""",
    ),
    (
        "lap_off_by_one",
        SHM + "shm_send.c",
        r"(tx->express\.room = slots_done \+ SHM_RING_SLOTS)",
        r"""\1 + explore_is("lap_off_by_one")""",
    ),
    (
        "ticket_without_room",
        SHM + "shm_send.c",
        r"return (tail - done <= link->layout\.inbox_slots)",
        r"""return explore_is("ticket_without_room") || \1""",
    ),
    (
        "body_not_counted",
        SHM + "shm_send.c",
        r"tx->ring_next \+= record;",
        r"""tx->ring_next += explore_is("body_not_counted") ? 0 : record;""",
    ),
    (
        "sequence_without_lap",
        SHM + "shm_receive.c",
        r"return \(uint16_t\)\*word_out == rx->sequence;",
        r"""uint16_t bits = explore_is("sequence_without_lap") ? SHM_RING_SLOTS - 1 : UINT16_MAX;
    return (*word_out & bits) == (rx->sequence & bits) && *word_out != 0;""",
    ),
    (
        "credit_before_read",
        SHM + "shm_receive.c",
        r"(        if \(pen_likely\(words - 1 < SHM_SLOT_WORDS\) && has_short_way\) \{)",
        r"""        if (explore_is("credit_before_read")) {
            rx->next++;
            give_back(link, rx, channel, lane);
            rx->next--;
        }
\1""",
    ),
    (
        "chunk_given_before_read",
        SHM + "shm_receive.c",
        r"(    host->deliver\(host->ctx, channel->from, lane, frame\.head, frame\.head_len)",
        r"""    if (explore_is("chunk_given_before_read") && frame.kind == SHM_BODY_IN_CHUNK)
        shm_chunk_give(link->page, lane, frame.chunk);
\1""",
    ),
    (
        "park_without_second_look",
        SHM + "shm_receive.c",
        r"!link->config\.unfenced && has_frame\(idle\[i\]\)",
        r"""\g<0> && !explore_is("park_without_second_look")""",
    ),
    (
        "parked_unsaid",
        SHM + "shm_receive.c",
        r"\.awake, 0,",
        r""".awake, explore_is("parked_unsaid"),""",
    ),
    (
        "phase_parity_dropped",
        "coll/coll_lines.c",
        r"LINE_ARRIVAL \+ 2 \* \(phase & 1\)",
        r"""LINE_ARRIVAL + (explore_is("phase_parity_dropped") ? 0 : 2 * (phase & 1))""",
    ),
    (
        "phase_not_compared",
        "coll/coll_lines.c",
        r"if \(!pen_word_is_of\(word, meet->phase\)\)\s+return;",
        r"""if (explore_is("phase_not_compared") ? word == 0 : !pen_word_is_of(word, meet->phase))
            return;""",
    ),
    (
        "arrival_not_consistent",
        "coll/coll_lines.c",
        r"    flat_look\(meet, memory_order_seq_cst\);",
        r"""    flat_look(meet, explore_is("arrival_not_consistent") ? memory_order_acquire
                                                            : memory_order_seq_cst);""",
    ),
    (
        "node_not_emptied",
        "coll/coll_lines.c",
        r"(            atomic_store_explicit\(node, 0, memory_order_relaxed\);)",
        r"""            if (!explore_is("node_not_emptied"))
    \1""",
    ),
    (
        "sleep_without_second_look",
        "progress/progress.h",
        r"if \(pen_progress_poll\(progress\) != 0\)",
        r"""if (!(explore_is("sleep_without_second_look") && waiter->armed) &&
        pen_progress_poll(progress) != 0)""",
    ),
    (
        "express_overruns",
        SHM + "shm_express.c",
        r"tx->express\.room--;",
        r"""tx->express.room -= !explore_is("express_overruns");""",
    ),
    (
        "express_body_overruns",
        SHM + "shm_express.c",
        r"tx->express\.body_room -= record;",
        r"""tx->express.body_room -= explore_is("express_body_overruns") ? 0 : record;""",
    ),
    (
        "express_unheard",
        SHM + "shm_express.c",
        r"pen_unlikely\(look != 0\)",
        r"""\g<0> && !explore_is("express_unheard")""",
    ),
    (
        "express_unparked",
        SHM + "shm_express.c",
        r"if \(may_park && ",
        r"""\g<0>!explore_is("express_unparked") && """,
    ),
    (
        "express_looks_early",
        SHM + "shm_express.c",
        r"(?s)(    atomic_store_explicit\(&slot->word, .{1,80}memory_order_release\);\n)"
        r"    return (express_announce\(tx, may_park\);)",
        r"""    if (explore_is("express_looks_early"))
        (void)\2
\1    return explore_is("express_looks_early") ? 0 : \2""",
    ),
    (
        "view_sum_forgotten",
        SHM + "view.c",
        r"view->sum \+ change\)",
        r"""view->sum + (explore_is("view_sum_forgotten") ? 0 : change))""",
    ),
    (
        "view_without_bell",
        SHM + "view.c",
        r"lower_half\(&link->page->bell\)",
        r"""explore_is("view_without_bell") ? &nothing : \g<0>""",
    ),
    (
        "turn_before_words",
        "coll/shared_turn.c",
        r"    /\* relaxed: the turn word publishes them \*/",
        r"""    if (explore_is("turn_before_words"))
        atomic_store_explicit(&slot->turn, shared->base + shared->turn, memory_order_release);
\g<0>""",
    ),
    (
        "slots_one_more",
        "coll/shared_turn.c",
        r"shared->over >= PEN_SHARED_SLOTS\)",
        r"""shared->over >= PEN_SHARED_SLOTS + explore_is("slots_one_more"))""",
    ),
    (
        "body_overrun",
        "coll/shared_turn.c",
        r"(        shared->body_head \+ body_skip)",
        r"""explore_is("body_overrun") ||
\1""",
    ),
    (
        "told_too_seldom",
        "coll/coll_shared.c",
        r"(shared->turn % TELL_EVERY == 0)\)",
        r"""(\1 && !explore_is("told_too_seldom")))""",
    ),
    (
        "told_before_read",
        "coll/coll_shared.c",
        r"(            section_begin\(shared, op\);)",
        r"""{
\1
            if (explore_is("told_before_read") && op->act_i == 0)
                pen_shared_tell(shared, PEN_SHARED_PHASES);
        }""",
    ),
    (
        "read_not_awaited",
        "coll/shared_move.c",
        r"!op->direct \|\| pen_shared_all_reached",
        r"""explore_is("read_not_awaited") || \g<0>""",
    ),
    (
        "made_not_awaited",
        "coll/shared_reduce.c",
        r"!pen_shared_reached\(shared, rank, MADE\)",
        r"""(!explore_is("made_not_awaited") && \g<0>)""",
    ),
    (
        "post_unheard",
        "coll/shared_turn.c",
        r"(slot->turn, shared->base \+ shared->turn, memory_order_release\);\n)    (shared->wake = true;)",
        r"""\1    if (!explore_is("post_unheard"))
        \2""",
    ),
    (
        "tell_unheard",
        "coll/shared_turn.c",
        r"(memory_order_release\);\n)    (shared->wake = true;\n\}\n\nbool pen_shared_reached)",
        r"""\1    if (!explore_is("tell_unheard"))
        \2""",
    ),
]


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(FILES))
        return 0
    mutate = "--mutants" in sys.argv
    source, out = [word for word in sys.argv[1:] if not word.startswith("--")]
    texts = {}
    for name in FILES:
        with open(os.path.join(source, name), encoding="utf-8") as file:
            texts[name] = file.read()
    missing = []
    for name, pattern, text in SIZES:
        texts[name], count = re.subn(pattern, text, texts[name])
        if count != 1:
            missing.append(f"size {text.split()[0]}")
    for name, pattern, text, times in ALL:
        texts[name], count = re.subn(pattern, text, texts[name])
        if count != times:
            missing.append(f"size {text}")
    for mutant, name, pattern, text in MUTANTS if mutate else []:
        changed, count = re.subn(pattern, text, texts[name])
        if count != 0:
            texts[name] = changed
        else:
            missing.append(mutant)
    for name, text in texts.items():
        path = os.path.join(out, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        text = f'#line 1 "{os.path.join(source, name)}"\n' + text
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(out, "missing.h"), "w", encoding="utf-8") as file:
        file.write("/* Written by vary.py. */\n")
        rows = "".join(f'    "{word}",\n' for word in missing)
        file.write(f"static const char *const missing[] = {{\n{rows}    NULL,\n}};\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
