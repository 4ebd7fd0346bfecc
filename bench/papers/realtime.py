# SPDX-License-Identifier: BSD-3-Clause
"""Programs over the software EXTOLL card in real time, few ranks of one host: the conduit beside raw
VELO and RMA and beside a two-sided library. What is not there, or does not end well, is missing."""

import json
import math
import os
import re
import subprocess

from judge import Check, Table, missing

NAME = "realtime"
RANDOM_RANKS = (2, 4)
TIMEOUT_S = 300
UPDATES = re.compile(r"updates\s+(\d+) in ([\d.]+) s")
GUPS = re.compile(r"([\d.]+) GUPS")


def ranks(wanted):
    return 4


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

    def pingpong(self, program, *options):
        """{kind: {bytes: round trip in ns}} of a program that prints kind, bytes, half round trip."""
        found = {}
        for line in run([program, *options, "1000" if self.quick else "10000"]).splitlines():
            kind, size, half = line.split("\t")[:3]
            found.setdefault(kind, {})[size] = 2 * float(half)
        return found

    def job(self, count, conduit, settings, *words):
        given = [f"PENSTOCK_CONDUIT={conduit}", *settings]
        environment = [word for setting in given for word in ("--env", setting)]
        return run([self.path("bin", "penstock"), "run", "-n", str(count), *environment, *words])

    def perf(self, conduit, table, key, settings=()):
        """{bytes: ns} of a table of `penstock perf`."""
        said = self.job(2, conduit, settings, self.path("libexec", "penstock", "perf-seq"), table,
                        "--json", "--max", "8192", *(["--quick"] if self.quick else []))
        lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        return {str(line["bytes"]): 1000 * line[key] for line in lines if line.get(key)}

    def random_raw(self, program, count):
        said = run([program, "--ranks", str(count), "--latency", "16"])
        found = GUPS.search(said)
        if not found:
            raise Missing(f"{program} printed no GUPS")
        return float(found[1])

    def random_conduit(self, count, mode):
        said = self.job(count, "extoll", [f"PENSTOCK_EXTOLL_MODE={mode}",
                                          "PENSTOCK_EXTOLL_LATENCY=machine"],
                        self.path("examples", "randomaccess"), "am", "-m", "16", "--no-bucket")
        found = UPDATES.search(said)
        if not found:
            raise Missing("randomaccess printed no updates")
        return int(found[1]) / float(found[2]) / 1e9


def measure(build, source, wanted, quick):
    del source, wanted
    lab = Lab(build, quick)
    raw, two = lab.path("bench", "extoll"), lab.path("bench", "twosided")
    random = [(f"random {what} {count}", ask) for count in RANDOM_RANKS for what, ask in (
        ("raw", lambda n=count: lab.random_raw(os.path.join(raw, "randomaccess_raw"), n)),
        ("two-sided", lambda n=count: lab.random_raw(
            os.path.join(two, "randomaccess_twosided"), n)),
        ("coalesced", lambda n=count: lab.random_conduit(n, "coalesced")),
        ("sectioned", lambda n=count: lab.random_conduit(n, "sectioned")))]
    asked = [
        ("raw", lambda: lab.pingpong(os.path.join(raw, "pingpong_raw"))),
        ("raw latency", lambda: lab.pingpong(os.path.join(raw, "pingpong_raw"), "--latency")),
        ("two-sided", lambda: lab.pingpong(os.path.join(two, "pingpong_twosided"))),
        ("extoll am", lambda: lab.perf("extoll", "am", "round_trip_us")),
        ("extoll put", lambda: lab.perf("extoll", "put", "put_us")),
        ("udp am", lambda: lab.perf("udp", "am", "round_trip_us")),
        *random,
    ]
    results = {"ranks": ranks(None), "missing": {}, "load": os.getloadavg()[0]}
    for name, ask in asked:
        try:
            results[name] = ask()
        except Missing as why:
            results["missing"][name] = str(why)
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


def overhead_ratio(results):
    """The conduit's overhead over raw by the two-sided layer's, a geometric mean over the sizes that
    all have."""
    raw, two, ours = results["raw"]["velo"], first(results["two-sided"]), results["extoll am"]
    sizes = [size for size in raw if size in two and size in ours]
    ratios = [(ours[size] - raw[size]) / (two[size] - raw[size]) for size in sizes]
    if min(ratios) <= 0:
        return sum(ratios) / len(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def best_ratio(results, choose):
    return choose(results[f"random coalesced {n}"] / results[f"random sectioned {n}"]
                  for n in RANDOM_RANKS)


def checks(results):
    made = []
    both = [f"random {mode} {n}" for mode in ("coalesced", "sectioned") for n in RANDOM_RANKS]
    judge(results, made, "raw card, latency model: half a round trip of 8 bytes", 0.9 * 970, 1.1 * 970,
          "ns", ["raw latency"], lambda: results["raw latency"]["velo"]["8"] / 2)
    judge(results, made, "two-sided, 8 bytes: round trip by raw", None, 1.5, "x", ["raw", "two-sided"],
          lambda: first(results["two-sided"])["8"] / results["raw"]["velo"]["8"])
    judge(results, made, "conduit: overhead over raw by the two-sided layer's", None, 0.7, "x",
          ["raw", "two-sided", "extoll am"], lambda: overhead_ratio(results))
    judge(results, made, "8 bytes: udp's round trip by extoll's", 4, None, "x", ["extoll am", "udp am"],
          lambda: results["udp am"]["8"] / results["extoll am"]["8"])
    for count in RANDOM_RANKS:
        ours, raw, two = (f"random {what} {count}" for what in ("coalesced", "raw", "two-sided"))
        judge(results, made, f"RandomAccess, {count} ranks: conduit by raw", 0.9, None, "x", [ours, raw],
              lambda ours=ours, raw=raw: results[ours] / results[raw])
        judge(results, made, f"RandomAccess, {count} ranks: conduit by two-sided", 1.2, None, "x",
              [ours, two], lambda ours=ours, two=two: results[ours] / results[two])
    judge(results, made, "RandomAccess: coalesced by sectioned, at the best", 1.25, None, "x", both,
          lambda: best_ratio(results, max))
    judge(results, made, "RandomAccess: coalesced by sectioned, at the worst", 1, None, "x", both,
          lambda: best_ratio(results, min))
    return made


# ---- showing ---------------------------------------------------------------------------------------


def columns_of(results):
    kinds = {"raw VELO": results.get("raw", {}).get("velo"), "raw RMA": results.get("raw", {}).get("rma"),
             "two-sided": first(results["two-sided"]) if "two-sided" in results else None,
             "conduit, AM": results.get("extoll am"), "udp, AM": results.get("udp am")}
    return {name: values for name, values in kinds.items() if values}


def tables(results):
    columns = columns_of(results)
    sizes = sorted({int(size) for values in columns.values() for size in values})
    rows = [[size, *(f"{values[str(size)] / 1000:.2f}" if str(size) in values else ""
                     for values in columns.values())] for size in sizes if size <= 8192]
    note = f"2 ranks; the machine's load was {results.get('load', 0):.1f} when it ended."
    made = [Table("Round trips by bytes, in µs", ["bytes", *columns], rows, note)]
    rows = [[count, *(f"{results[name]:.6f}" if name in results else "missing" for name in
                      (f"random {what} {count}" for what in
                       ("raw", "coalesced", "sectioned", "two-sided")))] for count in RANDOM_RANKS]
    made.append(Table("RandomAccess with the card's latency model, in GUPS",
                      ["ranks", "raw", "coalesced", "sectioned", "two-sided"], rows))
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
