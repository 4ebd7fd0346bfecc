#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutants.py SOURCE GENERATED HELPERS [-v]: faults put into the portals conduit, one at a time, which
its tests over a played interface must notice. All faults are compiled into the same programs, each
behind mutant == <its number>. HELPERS: the archive that the tests link. A fault whose place in the
source is gone is an error, and so is a conduit without a fault that fails.
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import planted  # noqa: E402  (the folder is named above)
from patience import patience  # noqa: E402

PROGRAMS = ("events", "local", "longs", "refused", "words")
CONDUIT = ("amo", "behind", "local", "poll", "receive", "rma", "send")
FIREHOSE = ("firehose", "limits", "pages")

# As tests/support/planted.py says; the file is the middle of portals_<file>.c.
MUTANTS = [
    # Flow control of the card (disable).
    ("refused_is_done", "poll", "token->is_refused = true;", ";"),
    ("refused_loses_peer", "poll", "event->ni_fail_type == PTL_NI_PT_DISABLED", "false"),
    ("does_not_wait_for_ack", "send", "link->policy == PORTALS_DISABLE ? 2 : 1", "1"),
    ("asks_for_no_ack", "send", "link->policy == PORTALS_DISABLE ? PTL_ACK_REQ : PTL_NO_ACK_REQ",
     "PTL_NO_ACK_REQ"),
    ("always_asks_for_ack", "send", "link->policy == PORTALS_DISABLE ? PTL_ACK_REQ : PTL_NO_ACK_REQ",
     "PTL_ACK_REQ"),
    ("resends_at_once", "send", "token->retry_ns > now", "false"),
    ("never_resends", "send", "token->retry_ns > now", "true"),
    ("pauses_stay_short", "send", "token->refusals++;", ";"),
    ("pauses_grow_without_limit", "send", "token->refusals < PAUSE_DOUBLINGS", "token->refusals < 60"),
    ("refusals_are_remembered", "send", "token->refusals = 0;", ";"),
    ("resend_stays_refused", "send", "token->is_refused = false;", ";"),
    ("resend_waits_for_one_event", "send", "token->events = frame_events(link);", "token->events = 1;"),
    ("resend_wakes_nobody", "send", "portals_wake(link, to);", ";", 0),
    ("frame_wakes_nobody", "send", "portals_wake(link, to);", ";", 1),
    ("resend_without_room_is_gone", "send", "keep_refused(link, token);", ";", 1),
    ("resends_one", "send", "token = next;", "token = NULL;"),
    ("refusals_are_not_counted", "send", "link->counters->frame_resent++;", ";"),
    ("stays_disabled", "receive", "enable(link, lane);", ";"),
    # Longs.
    ("header_waits_for_nothing", "behind", "number - link->peer[from].data_floor - 1 >= PORTALS_DATA_MAX",
     "true"),
    ("payloads_count_in_any_order", "behind", "peer->data_landed |= UINT64_C(1) << bit;",
     "peer->data_landed = (peer->data_landed << 1) | 1;"),
    ("floor_moves_once", "behind", "(peer->data_landed & 1) != 0", "false"),
    ("payload_lands_twice", "behind", "(peer->data_landed >> bit & 1) != 0", "false"),
    ("payload_from_anybody", "behind", "!portals_is_from(link, from, event)", "false"),
    ("part_of_a_payload", "behind", "event->mlength != event->rlength", "false"),
    ("failed_payload", "behind", "event->ni_fail_type != PTL_NI_OK", "false"),
    ("payloads_without_limit", "behind", "peer->data_last - peer->data_consumed < PORTALS_DATA_MAX", "true"),
    ("one_payload_too_many", "behind", "peer->data_last - peer->data_consumed < PORTALS_DATA_MAX",
     "peer->data_last - peer->data_consumed <= PORTALS_DATA_MAX"),
    ("note_of_nonsense", "behind", "step <= PORTALS_DATA_MAX || -step <= PORTALS_DATA_MAX", "true"),
    ("late_note_takes_back", "behind", "step <= PORTALS_DATA_MAX", "true", 0),
    ("no_notes", "behind", "peer->data_floor - peer->data_told >= NOTE_STEP", "false"),
    ("notes_too_early", "behind", "peer->data_floor - peer->data_told < NOTE_STEP", "false"),
    ("note_is_sent_again_and_again", "behind", "peer->data_told = peer->data_floor;", ";"),
    ("note_without_room_is_forgotten", "behind", "link->owes_notes = true;", ";"),
    ("note_wakes_nobody", "behind", "portals_wake(link, i);", ";"),
    ("refused_put_uses_a_number", "rma", "is_local && result == PTL_OK", "is_local"),
    ("payload_without_number", "rma", "peer->data_last = number;", ";"),
    ("payload_without_event", "rma", "is_local ? PORTALS_DATA : PORTALS_MEMORY", "PORTALS_MEMORY"),
    ("every_put_is_a_payload", "rma", "is_local ? PORTALS_DATA : PORTALS_MEMORY", "PORTALS_DATA"),
    ("region_takes_no_payload", "rma", "result = portals_behind_add(link, region);", "result = PTL_OK;"),
    ("payload_entry_stays", "rma", "(void)PtlMEUnlink(region->data_entry);", ";"),
    ("local_put_ends_with_ack", "poll", "token->is_local ? frees_source : type != PTL_EVENT_SEND",
     "type != PTL_EVENT_SEND"),
    ("tokens_stay_local", "send", "token->is_source_done = token->is_refused = token->is_local = false;",
     "token->is_source_done = token->is_refused = false;"),
    ("header_is_not_kept", "receive", "!portals_may_deliver(link, from, number)", "false"),
    ("held_frames_are_forgotten", "poll", "link->held.total != 0 && delivered < budget", "false"),
    # Words.
    ("difference_is_a_sum", "amo", "negated(amo->type, amo->operands[0])", "amo->operands[0]"),
    ("least_of_floats_by_card", "amo", "!is_float(amo->type) && (op == GEX_OP_MIN || op == GEX_OP_MAX)",
     "op == GEX_OP_MIN || op == GEX_OP_MAX"),
    ("least_is_greatest", "amo", "op == GEX_OP_MIN ? PTL_MIN : PTL_MAX", "PTL_MAX"),
    ("compares_with_the_new_value", "amo", "out->operand = amo->operands[0];", "out->operand = amo->operands[1];"),
    ("swaps_fetch_always", "amo", "what.fetches ? amo->result : NULL", "amo->result"),
    ("operation_has_a_source", "amo", "token->is_source_done = true;", ";"),
    ("operation_waits_for_one_event", "amo", "portals_token_take(link, PORTALS_MEMORY, to, 2, &is_lost)",
     "portals_token_take(link, PORTALS_MEMORY, to, 1, &is_lost)"),
    ("old_value_of_eight_bytes", "amo", "token->copy_len = len;", "token->copy_len = 8;"),
    ("floats_count_as_integers", "amo", "type == GEX_DT_FLT ? low : bits", "1"),
    # Progress.
    ("sleeps_while_the_card_works", "poll", "moved != link->moved", "false"),
    ("dropped_events_go_unseen", "poll", "link->has_lost_events = true;", ";"),
]


def compile_one(words):
    built = subprocess.run(words, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        sys.exit(f"does not compile: {built.stderr}")


def build(pool, source, generated, helpers, work):
    """Compiles the conduit once and each test program; returns nothing."""
    conduit = os.path.join(work, "conduits", "portals")
    with open(os.path.join(work, "mutant.h"), "w", encoding="utf-8") as opened:
        opened.write("extern int mutant;\n")
    with open(os.path.join(work, "driver.c"), "w", encoding="utf-8") as opened:
        opened.write("#include <stdlib.h>\nint mutant, test_main(void);\nint main(int argc, char **argv)\n"
                     "{ (void)argc; mutant = atoi(argv[1]); return test_main(); }\n")
    begin = ["gcc", "-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE=1", "-include", os.path.join(work, "mutant.h")]
    for folder in (work, os.path.join(source, "src"), source, os.path.join(source, "include"),
                   os.path.join(source, "tests"), generated):
        begin += ["-I", folder]
    shared = {f"{work}/{name}.o": os.path.join(conduit, f"portals_{name}.c") for name in CONDUIT}
    shared.update({f"{work}/f_{name}.o": os.path.join(source, "src", "firehose", f"{name}.c") for name in FIREHOSE})
    shared[f"{work}/play.o"] = os.path.join(source, "tests", "portals", "play.c")
    shared[f"{work}/driver.o"] = os.path.join(work, "driver.c")
    tests = {f"{work}/t_{name}.o": os.path.join(source, "tests", "portals", f"{name}.c") for name in PROGRAMS}
    jobs = [pool.submit(compile_one, [*begin, "-c", file, "-o", out]) for out, file in shared.items()]
    jobs += [pool.submit(compile_one, [*begin, "-Dmain=test_main", "-c", file, "-o", out])
             for out, file in tests.items()]
    for job in jobs:
        job.result()
    for name in PROGRAMS:
        compile_one(["gcc", f"{work}/t_{name}.o", *shared, helpers, "-lcmocka", "-lpthread", "-o",
                     os.path.join(work, name)])


def fails(program, number):
    """Whether the tests notice; a program that does not end has noticed, too."""
    try:
        ran = subprocess.run([program, str(number)], capture_output=True, check=False, timeout=patience(20))
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode != 0


def main():
    source, generated, helpers = (os.path.abspath(path) for path in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        conduit = os.path.join(work, "conduits", "portals")
        shutil.copytree(os.path.join(source, "src", "conduits", "portals"), conduit)
        wrong = planted.put_in(MUTANTS, lambda file: os.path.join(conduit, f"portals_{file}.c"))
        build(pool, source, generated, helpers, work)
        judge = lambda number: any(fails(os.path.join(work, name), number) for name in PROGRAMS)  # noqa: E731
        noticed = list(pool.map(judge, range(len(MUTANTS) + 1)))
    if noticed[0]:
        wrong.append("the conduit without a fault fails")
    wrong += [f"not noticed: {mutant[0]}" for mutant, found in zip(MUTANTS, noticed[1:]) if not found]
    print("\n".join([*wrong, f"{sum(noticed[1:])} of {len(MUTANTS)} faults noticed"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
