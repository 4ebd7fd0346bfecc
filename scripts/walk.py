# SPDX-License-Identifier: BSD-3-Clause
"""Runs inside gdb for scripts/walk: records the project's functions that a process enters."""
import os
import re

import gdb  # pylint: disable=import-error

START, UNTIL = os.environ["WALK_FROM"], os.environ["WALK_UNTIL"]
OURS = re.compile(r"(?:^|/)((?:src|command|softnic|sim)/[\w/.-]+\.[ch])$")


def functions():
    """All functions of the project that the program and its libraries define, as {(file, name)}."""
    found, file = set(), None
    for line in gdb.execute("info functions -n", to_string=True).splitlines():
        if line.startswith("File "):
            match = OURS.search(line[5:].rstrip(":"))
            file = (line[5:].rstrip(":"), match[1]) if match else None
        elif file and (match := re.match(r"(\d+):.*?\b(\w+)\(", line)):
            found.add((file[0], file[1], int(match[1]), match[2]))
    return found


class Hop(gdb.Breakpoint):
    def __init__(self, place, short, name):
        super().__init__(place, internal=True)
        self.label, self.silent = (short, name), True

    def stop(self):
        if self.label not in seen:
            seen.append(self.label)
        counts[self.label] = counts.get(self.label, 0) + 1
        return self.label[1] == UNTIL


seen, counts = [], {}
for setting in ("pagination off", "breakpoint pending on", "detach-on-fork on", "print thread-events off",
                f"follow-fork-mode {os.environ.get('WALK_FOLLOW', 'parent')}", "confirm off"):
    gdb.execute(f"set {setting}")
gdb.execute("handle SIGCHLD SIGUSR1 SIGUSR2 SIGPIPE nostop noprint pass", to_string=True)
start = gdb.Breakpoint(START, internal=True)
start.ignore_count = int(os.environ.get("WALK_SKIP", "0"))
gdb.execute("run", to_string=True)
start.enabled = False
frame = gdb.newest_frame()
for path, short, line, name in sorted(functions()):
    try:
        Hop(f"-source {path} -function {name}", short, name)
    except gdb.error:
        pass
seen.append(("", START))
if UNTIL == "exec":
    gdb.execute("catch exec", to_string=True)
elif UNTIL == "return":
    gdb.FinishBreakpoint(frame, internal=True)
try:
    gdb.execute("continue", to_string=True)
except gdb.error:
    pass
for file, name in seen:
    print(f"{file:45} {name}" if file else name)
print(f"{len(seen) - 1} functions in {len({file for file, _ in seen if file})} files, {sum(counts.values())} calls")
gdb.execute("kill", to_string=True)
