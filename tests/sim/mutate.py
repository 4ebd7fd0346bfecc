#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutate.py SRC OUT | --list: copies of src/reliable and of src/link/lanes.c, which keeps its
frames, with faults, each behind sim_is("<name>"), so that one program has all of them.
OUT/mutants.h has their names. If the line of a mutant is gone, this fails.
"""

import os
import re
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
FILES = sorted(
    "reliable/" + name
    for name in os.listdir(os.path.join(FOLDER, "../../src/reliable"))
    if name.endswith((".c", ".h")) and not name.startswith("reliable.")
) + ["link/lanes.c"]


def unless(name):
    """Leaves out the whole match."""
    return r'if (!sim_is("' + name + r'")) { \g<0> }'


# name, file, old text, new text; "-": the old text is left out
MUTANTS = [
    ("sum_without_body", "wire.c", r"return sum_bytes\(sum, \(const uint8_t \*\)body, body_len\);",
     r"""return sim_is("sum_without_body") ? sum
        : sum_bytes(sum, (const uint8_t *)body, body_len);"""),
    ("numbers_do_not_wrap", "wire.h", r"return \(int32_t\)\(a - b\) > 0;",
     r"""return sim_is("numbers_do_not_wrap") ? a > b : (int32_t)(a - b) > 0;"""),
    ("arrived_is_new", "reliable_window.c", r"return has\(window, sequence\) \?",
     r"""return !sim_is("arrived_is_new") && has(window, sequence) ?"""),
    ("bits_stay", "reliable_window.c", r"window->bits\[bit / 64\] &= [^;]*;", "-"),
    ("base_stays", "reliable_window.c", r"window->base != window->high && has\(window, window->base\)",
     r"""!sim_is("base_stays") && \g<0>"""),
    ("range_too_early", "reliable_window.c", r"\.first = \(uint16_t\)first\b",
     r""".first = (uint16_t)(first - sim_is("range_too_early"))"""),
    ("range_too_long", "reliable_window.c", r"\.count = \(uint16_t\)\(end - first\)",
     r""".count = (uint16_t)(end - first + sim_is("range_too_long"))"""),
    ("base_acknowledged", "reliable_send.c", r"!pen_rel_after\(ack->base, record->sequence\)",
     r"""!pen_rel_after(ack->base + sim_is("base_acknowledged"), record->sequence)"""),
    ("behind_range_acknowledged", "reliable_send.c",
     r"ahead >= (\(uint32_t\)ack->ranges\[\*i\]\.first \+ ack->ranges\[\*i\]\.count)",
     r"""ahead >= \1 + sim_is("behind_range_acknowledged")"""),
    ("limit_too_high", "reliable_send.c", r"peer->lanes\[lane\]\.consumed \+ core->quota\[lane\];",
     r"""peer->lanes[lane].consumed + core->quota[lane] * (1 + sim_is("limit_too_high"));"""),
    ("credit_not_looked_at", "reliable_send.c", r"return !pen_rel_after\(side->sent \+ charge, side->limit\);",
     r"""return sim_is("credit_not_looked_at") || !pen_rel_after(side->sent + charge, side->limit);"""),
    ("credit_not_spent", "reliable_send.c", r"peer->lanes\[lane\]\.sent \+= record->charge;", "-"),
    ("limits_may_fall", "reliable_send.c", r"if \(more == 0 \|\| more > REL_CREDIT_SERIAL_MAX\)",
     r"""if (!sim_is("limits_may_fall") && (more == 0 || more > REL_CREDIT_SERIAL_MAX))"""),
    ("new_number_when_sent_again", "reliable_send.c",
     r"    pen_post result = transmit\(core, peer, record, now_ns, flags\);",
     r"""    if (sim_is("new_number_when_sent_again"))
        record->sequence = peer->next_sequence++;
\g<0>"""),
    ("transmission_used_twice", "reliable_send.c", r"= peer->next_transmission\+\+;",
     r"""= sim_is("transmission_used_twice") ? peer->next_transmission
                                                      : peer->next_transmission++;"""),
    ("lost_is_forgotten", "reliable_send.c",
     r"rel_chain_append\(&peer->lost, &record->by_transmission\);", "-"),
    ("flight_stays", "reliable_send.c", r"(record->lost = true;\s+)(peer->flight -= record->charge;)",
     r"""\1if (!sim_is("flight_stays")) \2"""),
    ("no_probe", "reliable_send.c", r"return peer->probe_base_ns \+ pen_rel_pace_probe_ns\(&peer->pace\);",
     r"""return sim_is("no_probe") ? UINT64_MAX : sim_is("probe_gives_up") && peer->pace.backoff > 7
        ? UINT64_MAX : peer->probe_base_ns + pen_rel_pace_probe_ns(&peer->pace);"""),
    ("probe_gives_up", "reliable_send.c", r'sim_is\("probe_gives_up"\)', r"\g<0>"),
    ("question_without_number", "reliable_send.c",
     r"        head\.transmission = peer->next_transmission \+ REORDER_MAX - 1;",
     r"""        head.transmission = sim_is("question_without_number")
            ? 0 : peer->next_transmission + REORDER_MAX - 1;"""),
    ("body_given_back_at_once", "reliable_send.c", r"record->op != NULL \? PEN_POST_PENDING",
     r"""record->op != NULL && !sim_is("body_given_back_at_once") ? PEN_POST_PENDING"""),
    ("freed_while_read", "records.c",
     r"return atomic_load_explicit\(&record->reading\.incomplete, memory_order_acquire\) != 0;",
     r"""return !sim_is("freed_while_read") &&
        atomic_load_explicit(&record->reading.incomplete, memory_order_acquire) != 0;"""),
    ("copies_not_bounded", "records.c",
     r"core->record_bytes \+ size > memory_part\(core, lane\)",
     r"""!sim_is("copies_not_bounded") && \g<0>"""),
    ("copies_not_counted_off", "records.c", r"    core->record_bytes -= record->size;", "-"),
    ("frames_not_counted", "reliable_receive.c", r"    side->accepted \+= out->charge;", "-"),
    ("frames_not_consumed", "reliable_receive.c", r"    side->consumed \+= delivery->charge;", "-"),
    ("lanes_ignored", "reliable_receive.c", r"bool is_wanted = (\(lanes & [^;]*);",
     r"""bool is_wanted = sim_is("lanes_ignored") || \1;"""),
    ("kept_is_lost", "../link/lanes.c", r"    \*lanes->last_next\[lane\] = kept;", "-"),
    ("kept_not_counted_off", "../link/lanes.c", r"    lanes->len -= [^;]*;", "-"),
    ("no_room_but_acknowledged", "reliable_receive.c", r"        core->counts\.unkept\+\+;",
     r"""        if (sim_is("no_room_but_acknowledged"))
            pen_rel_window_add(&peer->window, in->head.sequence);
\g<0>"""),
    ("notes_answer_notes", "reliable_receive.c", r"if \(in\.head\.kind == PEN_REL_FRAME \|\|",
     r"""\g<0> sim_is("notes_answer_notes") ||"""),
    ("never_acknowledged", "protocol.c", r"    peer->ack_count\+\+;", "-"),
    ("body_too_early", "reliable_receive.c",
     r"uint32_t body_off = \(uint32_t\)pen_align_up\(head_len, REL_ALIGN\);",
     r"""uint32_t body_off =
        sim_is("body_too_early") ? head_len : (uint32_t)pen_align_up(head_len, REL_ALIGN);"""),
    ("deadline_forgotten", "protocol.c", r"        core->deadline_ns = deadline_ns;", "-"),
    ("due_forgotten", "protocol.c", r"        peer->due_ns = by_ns;", "-"),
    ("left_with_frames_out", "protocol.c",
     r"if \(next_ns == UINT64_MAX && peer->ack_count == 0\)",
     r"""if ((next_ns == UINT64_MAX || sim_is("left_with_frames_out")) && peer->ack_count == 0)"""),
    ("quota_below_a_frame", "protocol.c", r"= quota > least \?",
     r"""= quota > least || sim_is("quota_below_a_frame") ?"""),
]


def mutate(text, mutants):
    for name, _, there, instead in mutants:
        if instead == "-":
            instead = unless(name)
        text, count = re.subn(there, instead, text, count=1)
        if count != 1:
            sys.exit(f"mutate.py: the line of {name} is gone")
    return text


def main():
    if sys.argv[1] == "--list":
        print(";".join(FILES), end="")
        return
    source, out = sys.argv[1], sys.argv[2]
    for folder in ("reliable", "link"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    for name in FILES:
        with open(os.path.join(source, name), encoding="utf-8") as file:
            text = file.read()
        text = mutate(text, [row for row in MUTANTS if os.path.normpath("reliable/" + row[1]) == name])
        text = text.replace("#include", '#include <stdbool.h>\nbool sim_is(const char *name);\n#include', 1)
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(out, "mutants.h"), "w", encoding="utf-8") as file:
        file.write("#include <stddef.h>\nstatic const char *const sim_mutants[] = {\n")
        file.writelines(f'    "{row[0]}",\n' for row in MUTANTS)
        file.write("    NULL,\n};\n")


if __name__ == "__main__":
    main()
