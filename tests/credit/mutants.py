#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutants.py SRC TESTS GENERATED RUNS PACKETS: faults put into the credit library, one at a time,
which the randomized runs, or else the unit tests, must notice. A fault whose place in the source is gone is an error, and so
is a library without a fault that fails.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

# name, file, what is there, what stands there instead
MUTANTS = [
    # The rules for requests and replies.
    ("no_reserve", "sender.c", r"packet == PEN_CREDIT_REQUEST \? sender->reserve : 0", "0"),
    ("one_control_slot", "constants.h", r"\(PEN_CREDIT_RESERVE \+ 1\)", "1"),
    ("never_urgent", "constants.h", r"\(\(hand\) == 0\)", "0"),
    ("urgent_not_heeded", "constants.h", r" \|\| \(\(urgent\) && \(recovered\) > 0\)", ""),
    ("debtor_not_hurried", "constants.h", r" \|\| \(\(urgent\) && \(recovered\) == 0\)", ""),
    ("recall_takes_reserve", "policies.c", r"(asked, PEN_CREDIT_SPARE\(sender->peers\[i\]\.hand, )sender->reserve", r"\g<1>0"),
    ("loan_takes_reserve", "policies.c", r"(asked, PEN_CREDIT_SPARE\(peer->hand, )sender->reserve", r"\g<1>0"),
    ("requests_not_stashed", "credit.h", r"context == PEN_CREDIT_OUTSIDE \|\| packet == PEN_CREDIT_REPLY", "context == context || packet == PEN_CREDIT_REPLY"),
    ("replies_stashed", "credit.h", r"(PEN_CREDIT_OUTSIDE) \|\| packet == PEN_CREDIT_REPLY", r"\1 && packet == packet"),
    # Thresholds and control slots.
    ("threshold_high", "constants.h", r"\(\(q\) / \(\(n\) \+ 1\) \+ 1\)", "((q) / ((n) + 1) + 2)"),
    ("grants_not_counted", "receiver.c", r"peer->before_count < receiver->params\.control &&\n", "peer != NULL &&\n"),
    ("consumed_too_early", "receiver.c", r"(peer->before\[gone\]\)) > 0", r"\1 >= 0"),
    ("given_not_shown", "receiver.c", r"    show\(receiver, i, count\);\n", ""),
    # The two ledgers.
    ("lends_what_is_out", "receiver.c", r"pen_credit_min\(peer->quota - held\(peer\), receiver->pool\)", "peer->quota - held(peer)"),
    ("debt_not_collected", "constants.h", r"\(exposed\) \+ \(recovered\) < \(quota\) \|\|", "(exposed) + (recovered) <= (quota) ||"),
    ("debt_collected_twice", "receiver.c", r"    receiver->pool \+= count;\n", ""),
    ("pool_feeds_nobody", "receiver.c", r"while \(receiver->pool > 0 && ", "while (receiver->pool > receiver->slots && "),
    ("others_fed_first", "receiver.c", r"    pen_credit_refill\(receiver, i\);\n    feed\(receiver\);", "    feed(receiver);\n    pen_credit_refill(receiver, i);"),
    ("deficit_forgotten", "receiver.c", r"    stand_in_line\(receiver, i\);\n    consider\(receiver, i\);\n", "    consider(receiver, i);\n"),
    ("victim_below_least", "policies.c", r"(uint32_t has = receiver->peers\[victim\]\.quota) - least\(&receiver->params\)", r"\1"),
    # Recalls.
    ("never_recalled", "receiver.c", r"if \(receiver->rules->ask\(receiver, i\) > 0\)", "if (receiver == NULL)"),
    ("recalled_once", "policies.c", r"if \(activity_ask\(receiver, i\) > 0\)", "if (receiver == NULL)"),
    ("recalled_twice_at_once", "receiver.c", r"if \(peer->recall_open\)", "if (peer->recall_wanted)"),
    ("given_kept_in_hand", "sender.c", r"    peer->hand -= count;\n", ""),
    ("loan_lends_the_lent", "policies.c", r"pen_credit_min\(need, receiver->quota_free\)", "need"),
    ("loan_quota_kept", "receiver.c", r"        pen_credit_quota_add\(receiver, i, -\(int64_t\)count\);\n", ""),
]


def run(build, program):
    """What went wrong; None if nothing did. A program that does not end is wrong, too."""
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        sys.exit(f"does not compile: {built.stderr}")
    try:
        ran = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return "does not end"
    return None if ran.returncode == 0 else ran.stderr or "failed"


def build_and_run(folders, mutant, numbers):
    source, tests, generated = folders
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(os.path.join(source, "credit"), os.path.join(work, "credit"))
        if mutant is not None:
            name, file, pattern, text = mutant
            path = os.path.join(work, "credit", file)
            with open(path, encoding="utf-8") as opened:
                changed, count = re.subn(pattern, text, opened.read())
            if count != 1:
                return f"{name}: {count} places in {file} instead of one"
            with open(path, "w", encoding="utf-8") as opened:
                opened.write(changed)
        else:
            name = "none"
        program = os.path.join(work, "runs")
        # One file, since most of a short compilation is its beginning.
        library = sorted(os.listdir(os.path.join(work, "credit")))
        files = [f"credit/{file}" for file in library if file.endswith(".c")]
        files += ["credit/net.c", "credit/runs.c", "base/invariant.c"]
        with open(os.path.join(work, "all.c"), "w", encoding="utf-8") as opened:
            opened.write("".join(f"#include <{file}>\n" for file in files))
        command = ["gcc", "-std=gnu11", "-O1", "-w", "-I", work, "-I", source, "-I", tests]
        command += ["-I", generated]
        said = run(command + [os.path.join(work, "all.c"), "-o", program], [program, *numbers])
        if said is None:
            units = [os.path.join(work, file) for file in files[:-3]]
            units += [os.path.join(source, "base/invariant.c")]
            for test in ("credit_test.c", "policies_test.c"):
                sources = [*units, os.path.join(tests, "unit/credit", test), "-lcmocka"]
                said = said or run(command + [*sources, "-o", program], [program])
        if "-v" in sys.argv:
            print(name, (said or "fine").strip().replace("\n", " | ")[-150:])
        if mutant is None:
            return None if said is None else f"the library as it is fails: {said}"
        return None if said is not None else f"{name}: not noticed in {numbers[0]} runs"


def main():
    folders, numbers = sys.argv[1:4], sys.argv[4:6]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [None, *MUTANTS]
        results = pool.map(lambda mutant: build_and_run(folders, mutant, numbers), rows)
        wrong = [result for result in results if result is not None]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(MUTANTS) - len(wrong)} of {len(MUTANTS)} faults found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
