# SPDX-License-Identifier: BSD-3-Clause
"""Figures 2 to 5 of the paper on GASNet over Portals, two ranks in real time over the software card with its
cost model: the conduit (a client program) beside a program written to portals4.h and beside mpi; and loans: a
stencil's inbox by simulation, and three policies for credits side by side. A figure is the fastest of many
batches, and all that is compared is measured by turns. What is not there, or does not end well, is missing."""

import math
import os
import re

from judge import Check, Table
from realtime import Missing, cores, judge, list_files, median_of, run

NAME = "portals"
TURNS = 5
# The machine of the paper, roughly: µs and bytes a second. Registration is what Fig. 5 needs: 3.5 % of a long
# put for each page, and 8.5 % of a put of 8 KiB.
LATENCY_US, STEP_US, BANDWIDTH = 3.0, 1.0, 1_100_000_000
REGISTER_US, REGISTER_PAGE_US = 1.0, 0.13
MODEL = [f"PENSTOCK_PORTALS_LATENCY={LATENCY_US:g}us", f"PENSTOCK_PORTALS_STEP={STEP_US:g}us",
         f"PENSTOCK_PORTALS_BANDWIDTH={BANDWIDTH}"]
REGISTERED = [f"PENSTOCK_PORTALS_REGISTER={REGISTER_US:g}us",
              f"PENSTOCK_PORTALS_REGISTER_PAGE={REGISTER_PAGE_US:g}us"]
KINDS = ("put", "flood", "trip")
POLICIES = ("static", "loan", "disable")
LOCALS = ("firehose", "temporary", "bounce")
STENCIL_RANKS = (32, 64, 1024)
MPIRUN = ("mpirun.openmpi", "--oversubscribe", "-n", "2")
STENCIL = re.compile(r"^(\w+) +(\d+) slots +[\d.]+ and +([\d.]+) ticks a step(?:, within 5 % after (\d+) and (\d+) steps)?",
                     re.M)


def ranks(wanted):
    del wanted
    return 2


def programs(build):
    return [path for folder in ("bench/portals", "bin", "lib", "lib/penstock")
            for path in list_files(os.path.join(build, folder))]


# ---- measuring -------------------------------------------------------------------------------------


def numbers(said):
    """{bytes: value} of what the programs print."""
    return {line.split("\t")[1]: float(line.split("\t")[2]) for line in said.splitlines() if line.count("\t") == 2}


class Lab:
    def __init__(self, build):
        self.build = build

    def path(self, *words):
        return os.path.join(self.build, *words)

    def job(self, count, settings, *words):
        environment = [word for setting in settings for word in ("--env", setting)]
        bound = ["--bind"] if count <= cores() else []
        return run([self.path("bin", "penstock"), "run", "-n", str(count), *bound, *environment, *words])

    def raw(self, kind, settings):
        return numbers(self.job(2, settings, self.path("bench", "portals", "figures_raw"), kind))

    def client(self, kind, settings, count=2):
        return numbers(self.job(count, ["PENSTOCK_CONDUIT=portals", *settings],
                                self.path("bench", "portals", "figures_client"), kind))

    def mpi(self, kind):
        words = ["PENSTOCK_CONDUIT=mpi", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                 *MPIRUN, self.path("bench", "portals", "figures_client"), kind]
        return numbers(run(["/usr/bin/env", *words]))

    def stencil(self, count):
        said = run([self.path("bin", "credit_stencil"), str(count)])
        rows = {found[0]: [float(word) for word in found[1:] if word] for found in STENCIL.findall(said)}
        if set(rows) != {"all", "same", "loan", "tight"}:
            raise Missing("credit_stencil printed other lines")
        return rows


def what_is_timed(lab):
    for kind in KINDS:
        yield f"raw {kind}", lambda kind=kind: lab.raw(kind, MODEL)
        yield f"portals {kind}", lambda kind=kind: lab.client(kind, MODEL)
        yield f"raw {kind} free", lambda kind=kind: lab.raw(kind, [])
        yield f"portals {kind} free", lambda kind=kind: lab.client(kind, [])
        yield f"mpi {kind}", lambda kind=kind: lab.mpi(kind)
    for local in LOCALS:
        yield f"local {local}", lambda local=local: lab.client(
            "put", [*MODEL, *REGISTERED, f"PENSTOCK_PORTALS_LOCAL={local}"])
    for policy in POLICIES:
        for count in (2, 4):
            yield f"exchange {policy} {count}", lambda policy=policy, count=count: lab.client(
                "exchange", [f"PENSTOCK_PORTALS_CREDITS={policy}"], count)


def measure(build, source, wanted, quick):
    del source, wanted
    lab = Lab(build)
    results = {"ranks": 2, "cores": cores(), "missing": {}, "load": os.getloadavg()[0], "turns": 1 if quick else TURNS}
    taken = {}

    def take(name, ask):
        if name in results["missing"]:
            return
        try:
            taken.setdefault(name, []).append(ask())
        except Missing as why:
            results["missing"][name] = str(why)

    for _ in range(results["turns"]):
        for name, ask in what_is_timed(lab):
            take(name, ask)
    for count in STENCIL_RANKS:
        take(f"stencil {count}", lambda count=count: lab.stencil(count))
    for name, values in taken.items():
        if name not in results["missing"]:
            results[name] = values[0] if name.startswith("stencil") else median_of(values)
    return results


# ---- judging ---------------------------------------------------------------------------------------


def slower(results, size):
    """Percent by which a put from memory registered for it takes longer than one by firehose."""
    return 100 * (results["local temporary"][size] / results["local firehose"][size] - 1)


def judge_puts(results, made):
    put, raw = "portals put", "raw put"
    judge(results, made, "Fig. 2: put of 16 bytes by put of 1", None, 1.1, "x", [put],
          lambda: results[put]["16"] / results[put]["1"])
    judge(results, made, "Fig. 2: step from 16 to 32 bytes", 0.7 * STEP_US, 1.5 * STEP_US, "us", [put],
          lambda: results[put]["32"] - results[put]["16"])
    judge(results, made, "Fig. 2: put of 8 bytes, conduit by raw", None, 1.1, "x", [put, raw],
          lambda: results[put]["8"] / results[raw]["8"])
    judge(results, made, "no cost model: put of 8 bytes, conduit by raw", None, 1.1, "x",
          ["portals put free", "raw put free"],
          lambda: results["portals put free"]["8"] / results["raw put free"]["8"])
    for size in ("4096", "262144"):
        judge(results, made, f"Fig. 3: flood of {size} bytes, conduit by raw", 0.95, None, "x",
              ["portals flood", "raw flood"],
              lambda size=size: results["portals flood"][size] / results["raw flood"][size])
    judge(results, made, "Fig. 3: flood of 256 KiB by the card's bandwidth", 0.9, 1.01, "x", ["portals flood"],
          lambda: results["portals flood"]["262144"] * 1e6 / BANDWIDTH)
    judge(results, made, "Fig. 3, no cost model: flood of 4 KiB, conduit by mpi", 1.0, None, "x",
          ["portals flood free", "mpi flood"],
          lambda: results["portals flood free"]["4096"] / results["mpi flood"]["4096"])


def judge_trips(results, made):
    judge(results, made, "Fig. 4: Medium round trip of 8 bytes, conduit by raw", None, 1.8, "x",
          ["portals trip", "raw trip"], lambda: results["portals trip"]["8"] / results["raw trip"]["8"])
    judge(results, made, "no cost model: Medium round trip of 8 bytes, conduit by raw", None, 1.3, "x",
          ["portals trip free", "raw trip free"],
          lambda: results["portals trip free"]["8"] / results["raw trip free"]["8"])
    judge(results, made, "Fig. 4: Medium round trip of 512 bytes, conduit by raw", None, 1.2, "x",
          ["portals trip", "raw trip"], lambda: results["portals trip"]["512"] / results["raw trip"]["512"])


def judge_local(results, made):
    needs = ["local firehose", "local temporary"]
    judge(results, made, "Fig. 5: firehose over temporary, 256 KiB", 2.0, 5.0, "%", needs,
          lambda: slower(results, "262144"))
    judge(results, made, "Fig. 5: firehose over temporary, 8 KiB", 5.5, 12.0, "%", needs,
          lambda: slower(results, "8192"))
    judge(results, made, "Fig. 5: firehose over temporary, at the worst", -1.0, None, "%", needs,
          lambda: min(slower(results, size) for size in results["local firehose"]))


def judge_loans(results, made):
    for count in STENCIL_RANKS:
        name = f"stencil {count}"
        judge(results, made, f"loans, {count} ranks: ticks of a step by those of static for all", None, 1.05, "x",
              [name], lambda name=name: results[name]["tight"][1] / results[name]["all"][1])
        judge(results, made, f"loans, {count} ranks: steps to adapt", None, 15, "", [name],
              lambda name=name: max(results[name]["tight"][2:]))
    for count in (64, 1024):
        name = f"stencil {count}"
        judge(results, made, f"loans, {count} ranks: slots by those of static for all", None, 0.2, "x", [name],
              lambda name=name: results[name]["tight"][0] / results[name]["all"][0])
    judge(results, made, "2 ranks, exchange: loan by static", None, 1.25, "x",
          ["exchange loan 2", "exchange static 2"],
          lambda: results["exchange loan 2"]["1024"] / results["exchange static 2"]["1024"])
    judge(results, made, "2 ranks, exchange: disable by static", None, 4.0, "x",
          ["exchange disable 2", "exchange static 2"],
          lambda: results["exchange disable 2"]["1024"] / results["exchange static 2"]["1024"])


def checks(results):
    made: list[Check] = []
    judge_puts(results, made)
    judge_trips(results, made)
    judge_local(results, made)
    judge_loans(results, made)
    return made


# ---- showing ---------------------------------------------------------------------------------------

TITLES = {"put": "Fig. 2: blocking put, in µs", "flood": "Fig. 3: flood of puts, in MB/s",
          "trip": "Fig. 4: round trip of a Medium and its Medium reply (raw: two puts), in µs"}
COLUMNS = {"raw": "raw", "conduit": "portals", "raw, no model": "raw {} free",
           "conduit, no model": "portals {} free", "mpi, no model": "mpi"}


def columns_of(results, kind):
    columns = {}
    for title, name in COLUMNS.items():
        key = name.format(kind) if "{}" in name else f"{name} {kind}"
        if key in results:
            columns[title] = results[key]
    return columns


def by_size(title, columns, note=""):
    sizes = sorted({int(size) for values in columns.values() for size in values})
    rows = [[size, *(f"{values[str(size)]:.4g}" if str(size) in values else "" for values in columns.values())]
            for size in sizes]
    return Table(title, ["bytes", *columns], rows, note)


def local_columns(results):
    columns = {f"{local}, µs": results[f"local {local}"] for local in LOCALS if f"local {local}" in results}
    if "local firehose" in results and "local temporary" in results:
        columns["gain of firehose, %"] = {size: slower(results, size) for size in results["local firehose"]}
    return columns


def stencil_table(results):
    titles = {"all": "static, room for all peers", "loan": "loan, the paper's credits and reserve",
              "tight": "loan, a reserve for six neighbours", "same": "static, as long as that"}
    rows = []
    for count in STENCIL_RANKS:
        for key, title in titles.items():
            found = results.get(f"stencil {count}", {}).get(key)
            if found:
                rows.append([count, title, *(f"{value:g}" for value in found[:2]),
                             ", then ".join(f"{value:g}" for value in found[2:])])
    return Table("Loans: the inbox of a rank with six neighbours (simulated)",
                 ["ranks", "policy", "slots of the inbox", "ticks of a step", "steps to adapt"], rows,
                 "A neighbour sends 640 credits in a step. After half of the run six further ranks become neighbours.")


def policies_table(results):
    rows = [[count, *(f"{results[f'exchange {policy} {count}']['1024']:.3f}"
                      if f"exchange {policy} {count}" in results else "missing" for policy in POLICIES)]
            for count in (2, 4)]
    return Table("Three policies: Mediums of 1 KiB to both neighbours at once, in µs for a message of each rank",
                 ["ranks", *POLICIES], rows, "No cost model.")


def tables(results):
    note = (f"2 ranks, {results['cores']} cores, medians of {results['turns']} turns, each the fastest of its batches; the "
            f"machine's load was {results['load']:.1f} when it began.")
    made = [by_size(TITLES[kind], columns_of(results, kind), note) for kind in KINDS]
    made.append(by_size("Fig. 5: blocking put from memory outside of segments, by way of local memory", local_columns(results)))
    made += [stencil_table(results), policies_table(results)]
    if results["missing"]:
        made.append(Table("Missing", ["what", "why"], sorted(results["missing"].items())))
    return made


def plot(pyplot, columns, label):
    figure, axes = pyplot.subplots(figsize=(6, 3.5))
    for name, values in columns.items():
        points = sorted((int(size), value) for size, value in values.items() if not math.isnan(value))
        axes.plot(*zip(*points), "o-", markersize=3, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes")
    axes.set_ylabel(label)
    axes.legend()
    return figure


def plots(results, pyplot):
    made = {}
    for kind in KINDS:
        columns = columns_of(results, kind)
        if columns:
            made[kind] = plot(pyplot, columns, "MB/s" if kind == "flood" else "µs")
            made[kind].axes[0].set_yscale("log")
    columns = local_columns(results)
    gain = {name: values for name, values in columns.items() if name.startswith("gain")}
    if gain:
        made["firehose"] = plot(pyplot, gain, "%")
    return made
