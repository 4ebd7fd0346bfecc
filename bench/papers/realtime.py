# SPDX-License-Identifier: BSD-3-Clause
"""Programs over the software EXTOLL card in real time, few ranks of one host: the conduit beside raw
VELO and RMA and beside a two-sided library. Times are taken where each rank has a core of its own;
with more ranks packets and stalls are counted. What is not there, or does not end well, is missing."""

import json
import math
import os
import re
import statistics
import subprocess

from judge import Check, Table, missing

NAME = "realtime"
TIMEOUT_S = 60  # for a program; the longest takes a few seconds
TURNS = 5       # of all that is timed, by turns; medians count
TIMED_RANKS = (2, 4)
COUNTED_RANKS = (4, 8, 16)
# How updates travel: how many may have no answer yet, and how many go in a message.
SHAPES = {"one by one": (1, 1), "singly": (1024, 1), "in batches": (1024, 64)}
TRIPS = ("raw", "two-sided", "extoll am")  # whose round trips are compared
WAYS = ("raw", "coalesced", "sectioned", "two-sided")
LINE = re.compile(r"([\d.]+) GUPS\t([\d.]+) packets/update\t([\d.]+) stalls/update\tverified")


def ranks(wanted):
    return 2


def cores():
    return len(os.sched_getaffinity(0))


def timed_ranks(results):
    """The numbers of ranks with which every rank has a core."""
    return [count for count in TIMED_RANKS if count <= results["cores"]]


def programs(build):
    return [path for folder in ("bench/extoll", "bench/twosided", "libexec/penstock", "lib")
            for path in list_files(os.path.join(build, folder))]


def list_files(folder):
    if not os.path.isdir(folder):
        return []
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [path for path in paths if os.path.isfile(path)]


# ---- measuring -------------------------------------------------------------------------------------


class Missing(Exception):
    """A piece is not there, or did not end well."""


def run(words):
    if not os.access(words[0], os.X_OK):
        raise Missing(f"{words[0]} is not built")
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Missing(f"{' '.join(words)} took more than {TIMEOUT_S} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Missing(f"{' '.join(words)}: status {done.returncode}: {last}")
    return done.stdout


class Lab:
    def __init__(self, build, quick):
        self.build, self.quick = build, quick

    def path(self, *words):
        return os.path.join(self.build, *words)

    def pingpong(self, *words):
        """{kind: {bytes: round trip in ns}} of a program that prints kind, bytes, half round trip."""
        found = {}
        for line in run([self.path("bench", *words[:2]), *words[2:], "200" if self.quick else "500"]).splitlines():
            kind, size, half = line.split("\t")[:3]
            found.setdefault(kind, {})[size] = 2 * float(half)
        return found

    def job(self, count, conduit, settings, *words):
        given = [f"PENSTOCK_CONDUIT={conduit}", *settings]
        environment = [word for setting in given for word in ("--env", setting)]
        bound = ["--bind"] if count <= cores() else []  # as the programs written to the card do
        return run([self.path("bin", "penstock"), "run", "-n", str(count), *bound, *environment, *words])

    def perf(self, conduit):
        """{bytes: ns} of a round trip of active messages."""
        said = self.job(2, conduit, [], self.path("libexec", "penstock", "perf-seq"), "am",
                        "--json", "--max", "2048", "--quick")
        lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        return {str(line["bytes"]): 1000 * line["round_trip_us"] for line in lines if line["bytes"]}

    def random(self, way, count, shape, latency):
        """{gups, packets, stalls}; the last two for each update."""
        words = [str(number) for number in (13 if self.quick or not latency else 15, *SHAPES[shape])]
        flags = ["--ranks", str(count), *(["--latency"] if latency else [])]
        if way == "raw":
            said = run([self.path("bench", "extoll", "randomaccess_raw"), *flags, *words])
        elif way == "two-sided":
            said = run([self.path("bench", "twosided", "randomaccess_twosided"), *flags, "activity", *words])
        else:
            settings = [f"PENSTOCK_EXTOLL_MODE={way}", f"PENSTOCK_EXTOLL_LATENCY={'machine' if latency else 'off'}"]
            said = self.job(count, "extoll", settings, self.path("bench", "extoll", "randomaccess_am"), *words)
        found = LINE.search(said)
        if not found:
            raise Missing(f"RandomAccess, {way}, printed no result")
        return dict(zip(("gups", "packets", "stalls"), map(float, found.groups())))


def median_of(values):
    """The median of numbers; of dictionaries with the same keys, a dictionary of medians."""
    if not isinstance(values[0], dict):
        return statistics.median(values)
    return {key: median_of([value[key] for value in values]) for key in values[0]}


def what_is_timed(lab, results):
    yield "raw", lambda: lab.pingpong("extoll", "pingpong_raw")
    yield "raw latency", lambda: lab.pingpong("extoll", "pingpong_raw", "--latency")
    yield "two-sided", lambda: lab.pingpong("twosided", "pingpong_twosided", "activity")
    yield "extoll am", lambda: lab.perf("extoll")
    yield "udp am", lambda: lab.perf("udp")
    for count in timed_ranks(results):
        for shape in SHAPES:
            for way in WAYS:
                yield f"random {way} {count} {shape}", lambda way=way, count=count, shape=shape: lab.random(
                    way, count, shape, True)


def what_is_counted(lab):
    for count in COUNTED_RANKS:
        for way in WAYS:
            yield f"counted {way} {count}", lambda way=way, count=count: lab.random(way, count, "singly", False)


def measure(build, source, wanted, quick):
    del source, wanted
    lab = Lab(build, quick)
    results = {"ranks": ranks(None), "cores": cores(), "missing": {}, "load": os.getloadavg()[0]}
    taken = {}

    def take(name, ask):
        if name in results["missing"]:
            return
        try:
            taken.setdefault(name, []).append(ask())
        except Missing as why:
            results["missing"][name] = str(why)

    for _ in range(1 if quick else TURNS):
        for name, ask in what_is_timed(lab, results):
            take(name, ask)
    for name, ask in what_is_counted(lab):
        take(name, ask)
    results.update((name, median_of(values)) for name, values in taken.items()
                   if name not in results["missing"])
    if needed(results, TRIPS) is None:
        results["turns"] = [dict(zip(TRIPS, turn)) for turn in zip(*(taken[name] for name in TRIPS))]
    return results


# ---- judging ---------------------------------------------------------------------------------------


def needed(results, names):
    """Why a value cannot be told: what it needs and is missing; or None."""
    return next((results["missing"].get(name, f"{name} was not measured")
                 for name in names if name not in results), None)


def judge(results, checks, name, least, most, unit, needs, value):
    why = needed(results, needs)
    if why:
        checks.append(missing(name, why))
        return
    try:
        checks.append(Check(name, least, most, value(), unit))
    except (KeyError, ZeroDivisionError) as gone:
        checks.append(missing(name, f"no figure for {gone}"))


def first(kinds):
    """The sizes of a program that has one kind."""
    return next(iter(kinds.values()))


def overheads(results):
    """{bytes: (of the conduit, of the two-sided layer)} over raw, in ns, of the sizes that all have."""
    raw, two, ours = results["raw"]["velo"], first(results["two-sided"]), results["extoll am"]
    return {size: (ours[size] - raw[size], two[size] - raw[size])
            for size in raw if size in two and size in ours}


def overhead_of_turn(results):
    """The conduit's mean over sizes, in parts of raw, by the two-sided layer's."""
    raw = results["raw"]["velo"]
    ours, two = (sum(pair[i] / raw[size] for size, pair in overheads(results).items()) for i in (0, 1))
    if ours <= 0:
        return 0.0
    return ours / two if two > 0 else math.inf


def overhead_ratio(results):
    """The median of turns: between two of them the cores may come nearer to each other, or part."""
    return statistics.median(overhead_of_turn(turn) for turn in results.get("turns", [results]))


def judge_trips(results, made):
    judge(results, made, "raw card, latency model: half a round trip of 8 bytes", 0.9 * 970, 1.1 * 970,
          "ns", ["raw latency"], lambda: results["raw latency"]["velo"]["8"] / 2)
    judge(results, made, "two-sided, 8 bytes: round trip by raw", None, 1.5, "x", ["raw", "two-sided"],
          lambda: first(results["two-sided"])["8"] / results["raw"]["velo"]["8"])
    judge(results, made, "conduit: overhead over raw by the two-sided layer's", None, 0.7, "x",
          TRIPS, lambda: overhead_ratio(results))
    judge(results, made, "8 bytes: udp's round trip by extoll's", 4, None, "x", ["extoll am", "udp am"],
          lambda: results["udp am"]["8"] / results["extoll am"]["8"])


def judge_times(results, made):
    for count in timed_ranks(results):
        for shape in SHAPES:
            ours, raw, two = (f"random {way} {count} {shape}" for way in ("coalesced", "raw", "two-sided"))
            title = f"RandomAccess, {count} ranks, {shape}"
            judge(results, made, f"{title}: conduit by raw", 0.9, None, "x", [ours, raw],
                  lambda ours=ours, raw=raw: results[ours]["gups"] / results[raw]["gups"])
            judge(results, made, f"{title}: conduit by two-sided", 1.2, None, "x", [ours, two],
                  lambda ours=ours, two=two: results[ours]["gups"] / results[two]["gups"])
    pairs = [(f"random coalesced {count} {shape}", f"random sectioned {count} {shape}")
             for count in timed_ranks(results) for shape in SHAPES]
    for words, least, choose in (("best", 1.25, max), ("worst", 1, min)):
        judge(results, made, f"RandomAccess: coalesced by sectioned, at the {words}", least, None, "x",
              [name for pair in pairs for name in pair],
              lambda choose=choose: choose(results[a]["gups"] / results[b]["gups"] for a, b in pairs))


def judge_counts(results, made):
    for count in COUNTED_RANKS:
        raw, ours, cut, two = (f"counted {way} {count}" for way in WAYS)
        title = f"RandomAccess, {count} ranks"
        judge(results, made, f"{title}: packets, conduit by raw", None, 1.1, "x", [ours, raw],
              lambda ours=ours, raw=raw: results[ours]["packets"] / results[raw]["packets"])
        judge(results, made, f"{title}: packets, two-sided by conduit", 1.0, None, "x", [ours, two],
              lambda ours=ours, two=two: results[two]["packets"] / results[ours]["packets"])
        judge(results, made, f"{title}: packets, sectioned by coalesced", 1.25, None, "x", [ours, cut],
              lambda ours=ours, cut=cut: results[cut]["packets"] / results[ours]["packets"])


def checks(results):
    made = []
    judge_trips(results, made)
    judge_times(results, made)
    judge_counts(results, made)
    return made


# ---- showing ---------------------------------------------------------------------------------------


def columns_of(results):
    kinds = {"raw VELO": results.get("raw", {}).get("velo"), "raw RMA": results.get("raw", {}).get("rma"),
             "two-sided": first(results["two-sided"]) if "two-sided" in results else None,
             "conduit": results.get("extoll am"), "udp": results.get("udp am")}
    return {name: values for name, values in kinds.items() if values}


def trips_table(results):
    columns = columns_of(results)
    sizes = sorted({int(size) for values in columns.values() for size in values})
    rows = [[size, *(f"{values[str(size)] / 1000:.2f}" if str(size) in values else ""
                     for values in columns.values())] for size in sizes if size <= 8192]
    note = (f"2 ranks, {results['cores']} cores, medians of {TURNS}; the machine's load was "
            f"{results.get('load', 0):.1f} when it began.")
    return Table("Round trips by bytes, in µs", ["bytes", *columns], rows, note)


def overhead_table(results):
    rows = [[size, f"{ours / 1000:.2f}", f"{two / 1000:.2f}", f"{ours / two:.2f}"]
            for size, (ours, two) in sorted(overheads(results).items(), key=lambda item: int(item[0]))]
    return Table("Overhead of a round trip over raw VELO, in µs",
                 ["bytes", "conduit", "two-sided", "ratio"], rows)


def random_table(results, title, columns, names, figures):
    """names: {first cells: {way: name of the result}}; figures: keys and formats."""
    rows = []
    for cells, by_way in names.items():
        rows.append([*cells, *(f"{results[name][key]:{form}}" if name in results else "missing"
                               for key, form in figures for name in by_way.values())])
    return Table(title, columns, rows)


def tables(results):
    made = [trips_table(results)]
    if needed(results, TRIPS) is None:
        made.append(overhead_table(results))
    timed = {(count, *SHAPES[shape]): {way: f"random {way} {count} {shape}" for way in WAYS}
             for count in timed_ranks(results) for shape in SHAPES}
    made.append(random_table(results, "RandomAccess with the card's latency model, in GUPS",
                             ["ranks", "ahead", "in a message", *WAYS], timed, [("gups", ".6f")]))
    counted = {(count,): {way: f"counted {way} {count}" for way in WAYS} for count in COUNTED_RANKS}
    made.append(random_table(
        results, "RandomAccess, updates singly: packets and stalls of an update",
        ["ranks", *(f"{what}, {way}" for what in ("packets", "stalls") for way in WAYS)], counted,
        [("packets", ".3f"), ("stalls", ".3f")]))
    if results["missing"]:
        made.append(Table("Missing", ["what", "why"], sorted(results["missing"].items())))
    return made


def plots(results, pyplot):
    columns = columns_of(results)
    if not columns:
        return {}
    figure, axes = pyplot.subplots(figsize=(6, 3.5))
    for name, values in columns.items():
        points = sorted((int(size), value / 1000) for size, value in values.items()
                        if 0 < int(size) <= 8192)
        axes.plot(*zip(*points), "o-", markersize=3, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes")
    axes.set_ylabel("round trip, µs")
    axes.legend()
    return {"round-trips": figure}
