#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""wrong.py PENSTOCK PROGRAM RANKS: plays every case of ex_wrong: the job fails, and not by SIGSEGV, with a
line that names the call and the argument."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

TIMEOUT_S = 60
SIGSEGV_STATUS = 128 + 11
MESSAGES = ("short", "medium", "long", "local", "prepare", "put", "pieces", "atomic")
NO_RANK = "there is no rank {} in a team of {}"
CASES = [(call, what) for call in MESSAGES for what in ("rank", "far")]
CASES += [(call, "team") for call in ("short", "medium", "long", "local", "prepare", "pieces", "barrier", "event")]
NAMES = {  # as the line has them
    "short": "AMRequestShort", "medium": "AMRequestMedium", "long": "AMRequestLong", "local": "AMRequestMedium",
    "prepare": "AMPrepareRequest", "put": "gex_RMA_PutBlocking", "pieces": "gex_VIS_StridedPut", "atomic": "gex_AD_OpNB_U64",
    "barrier": "gex_Coll_BarrierNB", "event": "gex_Event_Wait",
}


def wrong(job, call, what, ranks):
    lines = [line.replace("gex_AM_", "AM") for line in job.stderr.splitlines() if "] error: " in line]
    wanted = {"rank": NO_RANK.format(ranks, ranks), "far": NO_RANK.format(0x40000000, ranks)}.get(what)
    if wanted is None:
        wanted = "event" if call == "event" else "team"
    if job.returncode in (0, SIGSEGV_STATUS) or "SIGSEGV" in job.stderr:
        return f"the job ended with {job.returncode}"
    if not any(NAMES[call] in line and wanted in line for line in lines):
        return f"no line has \"{NAMES[call]}\" and \"{wanted}\""
    return ""


def play(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=patience(2 * TIMEOUT_S), check=False)


def main():
    penstock, program, ranks = sys.argv[1:4]
    begin = [penstock, "run", "-n", ranks, "--timeout", str(int(patience(TIMEOUT_S))), program]
    failed = int(play(begin).returncode != 0)
    if failed:
        print(f"fails with nothing wrong: {' '.join(begin)}")
    for call, what in CASES:
        command = [*begin, call, what]
        job = play(command)
        reason = wrong(job, call, what, ranks)
        if reason:
            print(f"{call} {what}: {reason}: {' '.join(command)}\n{job.stderr}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
