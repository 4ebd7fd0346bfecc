#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutants.py SRC TESTS GENERATED RUNS PACKETS [-v]: faults put into the credit library, one at a
time, which the randomized runs, or else the unit tests, must notice. All faults are compiled into the
same programs, each behind mutant == <its number>. A fault whose place in the source is gone is an
error, and so is a library without a fault that fails.
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

# As tests/support/planted.py says.
MUTANTS = [
    # The rules for requests and replies.
    ("no_reserve", "credit.h", "packet == PEN_CREDIT_REQUEST ? sender->reserve : 0", "0"),
    ("one_control_slot", "constants.h", "(PEN_CREDIT_RESERVE + 1)", "1"),
    ("never_urgent", "constants.h", "((hand) == 0)", "0"),
    ("urgent_not_heeded", "constants.h", "((urgent) && (recovered) > 0)", "0"),
    ("debtor_not_hurried", "constants.h", "((urgent) && (recovered) == 0)", "0"),
    ("recall_takes_reserve", "policies.c",
     "PEN_CREDIT_SPARE(sender->peers[peer_i].hand, sender->reserve)", "sender->peers[peer_i].hand"),
    ("loan_takes_reserve", "policies.c", "PEN_CREDIT_SPARE(peer->hand, sender->reserve)",
     "peer->hand"),
    ("requests_not_stashed", "credit.h", "context == PEN_CREDIT_OUTSIDE", "context == context"),
    ("replies_stashed", "credit.h", "packet == PEN_CREDIT_REPLY;", "packet != packet;"),
    # Thresholds and control slots.
    ("threshold_high", "constants.h", "((q) / ((n) + 1) + 1)", "((q) / ((n) + 1) + 2)"),
    ("grants_not_counted", "receiver.c", "peer->before_count < receiver->params.control &&\n",
     "peer != NULL &&\n"),
    ("consumed_too_early", "receiver.c", "(int32_t)(peer->shown - peer->before[gone]) > 0",
     "(int32_t)(peer->shown - peer->before[gone]) >= 0"),
    ("given_not_shown", "receiver.c", "show(receiver, peer_i, count);", ";"),
    # The two ledgers.
    ("lends_what_is_out", "receiver.c",
     "pen_credit_min(quota - held(peer), receiver->pool)", "quota - held(peer)"),
    ("debt_not_collected", "constants.h", "(exposed) + (recovered) < (quota)",
     "(exposed) + (recovered) <= (quota)"),
    ("debt_collected_twice", "receiver.c", "receiver->pool += count;", ";"),
    ("pool_feeds_nobody", "receiver.c", "receiver->pool > 0", "receiver->pool > receiver->slots"),
    ("others_fed_first", "receiver.c",
     "pen_credit_refill(receiver, peer_i);\n    feed(receiver);",
     "feed(receiver);\n    pen_credit_refill(receiver, peer_i);"),
    ("deficit_forgotten", "receiver.c", "stand_in_line(receiver, peer_i);\n    feed(receiver);",
     "feed(receiver);"),
    ("victim_below_least", "policies.c",
     "receiver->shares[victim].quota - pen_credit_least(&receiver->params)", "receiver->shares[victim].quota"),
    # The choice of the peer that loses credits.
    ("burst_measured", "policies.c", "share->period_freed < receiver->period",
     "share->period_freed < 1"),
    ("stopped_not_seen", "policies.c", "return PACE_STOPPED;", "return peer->pace;"),
    ("steps_do_not_grow", "policies.c", "share->quota / 2", "0"),
    ("jitter_counts", "policies.c", "receiver->params.hysteresis", "1.0"),
    ("start_below_least", "params.c",
     "is_all ? params->quota : pen_credit_least(params)", "0"),
    ("a_little_less_is_nothing", "policies.c", "(longest - lasts) / (victims + own) + PACE_ROUNDING",
     "(longest - lasts) / (victims + own)"),
    ("robbed_and_content", "policies.c", "receiver->peers[victim].has_enough = false;", ";"),
    ("calm_takes_no_time", "credit.h", "receiver->shares[peer_i].last_freed = ++receiver->freed;",
     "receiver->shares[peer_i].last_freed = receiver->freed;"),
    # Recalls.
    ("never_recalled", "receiver.c", "receiver->rules->ask(receiver, peer_i) > 0", "false"),
    ("recalled_once", "policies.c", "activity_ask(receiver, peer_i) > 0", "false"),
    ("recalled_twice_at_once", "receiver.c", "if (peer->recall_open)\n        return;",
     "if (peer->recall_wanted)\n        return;"),
    ("given_kept_in_hand", "sender.c", "peer->hand -= count;", ";"),
    ("loan_lends_the_lent", "policies.c", "pen_credit_min(need, receiver->quota_free)", "need"),
    ("loan_quota_kept", "receiver.c",
     "pen_credit_quota_add(receiver, peer_i, -(int64_t)count);", ";"),
    # Fast paths.
    ("calm_too_long", "receiver.c", "peer->recovered + 1", "peer->recovered"),
    ("calm_after_a_look", "receiver.c",
     "consider(receiver, i);\n        peer->calm = calm_of(receiver, i);", "consider(receiver, i);"),
    ("calm_in_debt", "receiver.c", "held(peer) == quota", "held(peer) >= quota"),
    ("long_packets_hurry", "receiver.c", "peer->urgent && receiver->params.least == 0", "peer->urgent"),
    ("calm_in_a_hurry", "receiver.c", "peer->urgent = true;\n        peer->calm = 0;",
     "peer->urgent = true;"),
    ("grant_not_seen", "credit.h", "pen_credit_shows_a_grant(peer)", "false"),
    ("arrivals_not_counted", "receiver.c",
     "pen_credit_rules_of(params->policy)->arrival != NULL", "false"),
    ("no_credit_not_seen", "credit.h", "peer->exposed != peer->mailbox", "true"),
    ("plain_takes_the_last", "credit.h", "(peer->quota / 2 | PEN_CREDIT_RESERVE)", "0"),
    ("plain_though_it_lacked", "credit.h", "peer->need != 0", "false"),
    ("plain_use_not_noted", "credit.h", "pen_unlikely(sender->notes_use)", "false"),
]


def choice(number, old, new):
    """Chooses within the statement where a macro expects one."""
    if old.startswith("packet") and old.endswith(";"):
        return f"(mutant == {number} ? {new[:-1]} : {old[:-1]});"
    return planted.choice(number, old, new)


def build(folders, work, name, test_files):
    """Returns one file with the whole program, since most of a short compilation goes to reading
    the headers."""
    source, tests, generated = folders
    library = sorted(os.listdir(os.path.join(work, "credit")))
    files = [f"credit/{file}" for file in library if file.endswith(".c")]
    with open(os.path.join(work, name + ".c"), "w", encoding="utf-8") as opened:
        opened.write("#include <stdlib.h>\nstatic int mutant;\n#define main test_main\n")
        opened.writelines(f"#include <{file}>\n" for file in [*files, "base/invariant.c"])
        opened.writelines(f'#include "{os.path.join(tests, file)}"\n' for file in test_files)
        opened.write("#undef main\nint main(int argc, char **argv) { mutant = atoi(argv[1]);\n")
        takes = "argc - 1, argv + 1" if name == "runs" else ""
        opened.write(f"    (void)argc; return test_main({takes}); }}\n")
    program = os.path.join(work, name)
    command = ["gcc", "-std=gnu11", "-O1", "-w", "-I", work, "-I", source, "-I", tests]
    command += ["-I", generated, program + ".c", "-o", program, "-lcmocka"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    return built.stderr if built.returncode != 0 else None


def run(command):
    """Runs the tests. Returns the failure, or None if all passed. A program that does not end has
    failed, too."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(60))
    except subprocess.TimeoutExpired:
        return "does not end"
    return None if ran.returncode == 0 else ran.stderr or "failed"


def main():
    folders = [os.path.abspath(folder) for folder in sys.argv[1:4]]
    numbers = sys.argv[4:6]
    verbose = "-v" in sys.argv
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(
        os.cpu_count()
    ) as pool:
        shutil.copytree(os.path.join(folders[0], "credit"), os.path.join(work, "credit"))
        wrong = planted.put_in(MUTANTS, lambda file: os.path.join(work, "credit", file), choice)
        programs = {
            "credit_test": ["unit/credit/credit_test.c"],
            "policies_test": ["unit/credit/policies_test.c"],
            "runs": ["credit/net.c", "credit/runs.c"],
        }
        jobs = [pool.submit(build, folders, work, name, files) for name, files in programs.items()]
        errors = [job.result() for job in jobs if job.result() is not None]
        if errors:
            sys.exit(f"does not compile: {errors[0]}")

        def judge(number):
            said = None
            for name in programs:
                words = numbers if name == "runs" else []
                said = said or run([os.path.join(work, name), str(number), *words])
            return said

        results = list(pool.map(judge, range(len(MUTANTS) + 1)))
    if results[0] is not None:
        wrong.append(f"the library as it is fails: {results[0]}")
    for (name, *_), said in zip(MUTANTS, results[1:]):
        if said is None:
            wrong.append(f"{name}: not noticed in {numbers[0]} runs")
        elif verbose:
            print(f"{name}: {said.strip().splitlines()[0][:150]}")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{sum(said is not None for said in results[1:])} of {len(MUTANTS)} faults found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
