# SPDX-License-Identifier: BSD-3-Clause
"""Results that are kept by kind of machine, and what has become slower since.

Two machines are of one kind if processor, caches and number of cores are the same. A figure is compared only with the last
that was kept on a machine of its kind, because constants and ratios of one kind say nothing about another.
"""

import json
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept")
WORSE = 1.15  # slower by less than this is no regression
FIELDS = ("metric", "value", "unit", "baseline", "judged", "sense", "ratio", "difference", "quarter1", "quarter3")
CACHES = "/sys/devices/system/cpu/cpu0/cache"


def read(path):
    """The first line of a file; "" if there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return ""


def caches(folder=CACHES):
    """Levels and sizes of the data caches in one word, L1d32K-L21024K for example."""
    found = set()
    for index in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        level, kind, size = (read(os.path.join(folder, index, name)) for name in ("level", "type", "size"))
        if level and size and kind != "Instruction":
            found.add(f"L{level}{'d' if kind == 'Data' else ''}{size}")
    return "-".join(sorted(found))


def processor(path="/proc/cpuinfo"):
    """Name, family and model: a cloud gives processors of several generations one name."""
    wanted = {"model name": "", "cpu family": "", "model": "", "CPU implementer": "", "CPU part": ""}
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() in wanted and not wanted[name.strip()]:
                    wanted[name.strip()] = value.strip()
    except OSError:
        pass
    return " ".join(value for value in wanted.values() if value) or os.uname().machine


def kind(cores):
    """The kind of this machine as a file name."""
    words = f"{processor()} {caches()} {cores} cores"
    return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")


def path_of(found, folder=FOLDER):
    return os.path.join(folder, f"{found['machine']['kind']}.json")


def load(found, folder=FOLDER):
    """The rows that were kept on this kind of machine, by metric."""
    try:
        with open(path_of(found, folder), encoding="utf-8") as file:
            return {row["metric"]: row for row in json.load(file)["results"]}
    except OSError:
        return {}


def is_kept(row):
    """Whether a row has a figure for later runs. Rows of other libraries have none."""
    return bool(row.get("ratio")) and not row.get("reason") and not row.get("peer") and bool(row.get("quarter1"))


def keep(found, folder=FOLDER):
    """Replaces the rows that were measured; the rest of the file stays."""
    rows = load(found, folder)
    for row in found["results"]:
        if is_kept(row):
            rows[row["metric"]] = {**{field: row[field] for field in FIELDS if field in row},
                                   "date": found["machine"]["date"]}
    os.makedirs(folder, exist_ok=True)
    with open(path_of(found, folder), "w", encoding="utf-8") as file:
        json.dump({"machine": found["machine"], "results": list(rows.values())}, file, indent=1)
        file.write("\n")


def is_worse(row, last):
    """Worse by more than WORSE, and by more than both runs vary: the better quartile is worse than the last run's worse
    one. With a sense of >= more is better."""
    if row["baseline"] != last["baseline"]:
        return False
    if row.get("sense", "<=") == "<=":
        return row["ratio"] > last["ratio"] * WORSE and row["quarter1"] > last["quarter3"]
    return row["ratio"] * WORSE < last["ratio"] and row["quarter3"] < last["quarter1"]


def regressions(found, folder=FOLDER):
    """A line for each row that is worse than the last one that was kept on this kind of machine."""
    last = load(found, folder)
    return [f"{row['metric']}: {row['ratio']:.3f} x {row['baseline']}, {last[row['metric']]['ratio']:.3f} x on"
            f" {last[row['metric']]['date']} on this kind of machine"
            for row in found["results"]
            if is_kept(row) and row["metric"] in last and is_worse(row, last[row["metric"]])]
