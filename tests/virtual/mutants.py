#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether the unit tests of src/virtual notice a fault in scheduler, events or network.

    mutants.py SOURCE BUILD [--cc CC] [--mutant NAME]

Each mutant is one file of src/virtual with one line changed. If that line is gone, this fails. The unmutated
files have to pass.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

TESTS = ("events", "net", "shape", "turn")

# name, file, old text, new text
MUTANTS = [
    # scheduler
    ("later_rank_runs", "turn.c", "rank_ns < clock_ns ||", "rank_ns > clock_ns ||"),
    ("clock_stays_after_a_wait", "turn.c", "    if (now_ns > clock_of(view))\n        set_clock(view, now_ns);\n", ""),
    ("events_are_late", "turn.c", "if (event_ns <= clock_ns && event_ns <= rank_ns) {",
     "if (event_ns + 500 <= clock_ns && event_ns <= rank_ns) {"),
    ("events_overtake_ranks", "turn.c", "event_ns != PEN_VIRTUAL_NEVER && event_ns <= first_rank_ns(view)",
     "event_ns != PEN_VIRTUAL_NEVER"),
    ("wake_at_the_sleepers_time", "turn.c", "    uint64_t clock_ns = clock_of(view);\n    view->world->idle_looks = 0;",
     "    uint64_t clock_ns = 0;\n    view->world->idle_looks = 0;"),
    ("wait_has_no_end", "turn.c", "    if (until_ns != PEN_VIRTUAL_NEVER)\n", "    if (until_ns == 0)\n"),
    ("sleep_does_not_hand_over", "turn.c", "    pen_virtual_charge(view, ns);\n    let_others_go(view);",
     "    pen_virtual_charge(view, ns);"),
    ("looks_do_not_back_off", "turn.c", "doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX", "0"),
    ("turn_is_not_passed_on_at_the_end", "turn.c", "    if (--world->alive > 0)", "    if (--world->alive > 1000)"),
    ("equal_times_by_chance", "heap.c", "(a_ns == b_ns && a < b)", "(a_ns == b_ns && a > b)"),
    ("heap_sinks_wrong_child", "heap.c", "is_before(view, view->heap[child + 1], view->heap[child])",
     "is_before(view, view->heap[child], view->heap[child + 1])"),
    # events
    ("order_of_adding_lost", "events.c", "    entry->next = 0;\n", "    entry->next = 0;\n    bucket->last = 0;\n"),
    ("next_time_goes_stale", "events.c", "time_ns < events->next_ns && time_ns > events->now_ns",
     "time_ns < events->next_ns"),
    # network
    ("buffers_have_no_end", "net.c", "        net->lanes[lane_i].places--;\n", ""),
    ("places_are_lost", "net.c", "    net->lanes[before].places++;\n", ""),
    ("card_keeps_places", "net.c", "    net->lanes[packet->via].places++;\n    start", "    start"),
    ("link_is_never_busy", "net.c", "        link->free_ns = now_ns + busy_ns;\n", ""),
    ("router_costs_nothing", "net.c", "has_router ? machine->router : 0", "0"),
    ("tail_costs_nothing", "net.c", "now_ns + packet->link_ns + machine->nic_receive", "now_ns + machine->nic_receive"),
    ("mailbox_has_no_end", "net.c", "    if (to->held >= to->slots)\n        return false;\n", ""),
    ("mailbox_overtakes", "net.c", "node->first != 0 || !take_slot(net, packet)", "!take_slot(net, packet)"),
    ("freed_slots_are_lost", "net.c", "    net->ports[port].held -= net->ports[port].freed;\n", ""),
    ("busy_link_is_forgotten", "net.c", "    net->links[event.what].is_armed = false;\n        start(net, event.what);",
     "    net->links[event.what].is_armed = false;"),
    ("last_in_first_out", "net.c", "        pen_virtual_net_packet(net, *last)->next = number;\n",
     "        pen_virtual_net_packet(net, number)->next = *first, *first = number;\n"),
    ("answer_is_not_sent", "net.c", "    if (packet->back_link_ns != 0)\n        turn_round(net, number);\n    else\n        hand_in(net, number);\n}\n\nstatic void free_slots",
     "    hand_in(net, number);\n}\n\nstatic void free_slots"),
    ("channel_does_not_change", "shape.c", ".channel = passes_end || (axis == last_axis && channel == 1)",
     ".channel = 0 && passes_end && last_axis == channel"),
    ("torus_goes_the_long_way", "shape.c", "2 * ((there + extent - here) % extent) > extent",
     "2 * ((there + extent - here) % extent) < extent"),
    ("one_spine_for_all", "shape.c", "spine = to % shape->up;", "spine = to - to;"),
]  # fmt: skip


class Builder:
    def __init__(self, options, folder):
        self.source, self.build, self.folder = options.source, options.build, folder
        self.compile_ = [options.cc, "-std=gnu11", "-D_GNU_SOURCE=1", "-O1", "-w", "-I" + options.source,
                         "-I" + os.path.join(options.source, "src"), "-I" + os.path.join(options.source, "include"),
                         "-I" + os.path.join(options.source, "tests"), "-I" + os.path.join(options.build, "generated"),
                         "-c"]  # fmt: skip
        self.link = [options.cc]
        files = sorted(os.listdir(os.path.join(options.source, "src", "virtual")))
        self.files = [name for name in files if name.endswith(".c")]
        self.objects = {name: self.compile(os.path.join(options.source, "src", "virtual", name), name) for name in self.files}
        self.tests = {name: self.compile(os.path.join(options.source, "tests", "unit", "virtual", name + "_test.c"),
                                         name + "_test") for name in TESTS}  # fmt: skip

    def compile(self, path, name):
        out = os.path.join(self.folder, name + ".o")
        subprocess.run([*self.compile_, path, "-o", out], check=True)
        return out

    def failing_test(self, name, file, text):
        """Returns the test that a mutant fails, or None. Without a text, of the files as they are."""
        objects = dict(self.objects)
        if text is not None:
            path = os.path.join(self.folder, name + ".c")
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            objects[file] = self.compile(path, name)
        for test, object_ in self.tests.items():
            program = os.path.join(self.folder, name + "." + test)
            subprocess.run([*self.link, object_, *objects.values(), os.path.join(self.build, "lib", "libpenstock_testing.a"),
                            "-lcmocka", "-lpthread", "-lm", "-ldl", "-o", program], check=True)  # fmt: skip
            try:
                done = subprocess.run([program], capture_output=True, timeout=patience(30), check=False,
                                      env={**os.environ, "PENSTOCK_SOURCE_DIR": self.source})
                failed = done.returncode != 0
            except subprocess.TimeoutExpired:
                failed = True
            os.unlink(program)
            if failed:
                return test
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--mutant", action="append")
    options = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(options, folder)
        if (failing := builder.failing_test("as_it_is", None, None)) is not None:
            print(f"the files as they are fail unit.virtual.{failing}")
            return 1
        rows = [row for row in MUTANTS if options.mutant is None or row[0] in options.mutant]

        def attempt(row):
            name, file, old, new = row
            with open(os.path.join(options.source, "src", "virtual", file), encoding="utf-8") as source:
                text = source.read()
            if text.count(old) != 1:
                return f"NOT MADE: src/virtual/{file} has its line {text.count(old)} times"
            return builder.failing_test(name, file, text.replace(old, new))

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for row, how in zip(rows, pool.map(attempt, rows)):
                print(f"{row[0]}: {how or 'NOT FOUND'}", flush=True)
                if how is None or how.startswith("NOT"):
                    missed.append(row[0])
        print(f"{len(rows) - len(missed)} of {len(rows)} mutants found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
