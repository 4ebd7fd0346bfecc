#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the benchmarks of a build and judges them.

    bench/run.py BUILD [--quick] [--only METRIC,...] [--parts PART,...] [--peers] [--check]
                 [--keep] [--into FOLDER]
    bench/run.py BUILD --markdown [--into FOLDER]

Prints a table, writes results.json and the page report.html to build/bench, or to another folder. Each metric is compared with a yardstick measured in the same run, in blocks that follow one
another. --check ends with status 1 when one misses what it has to reach, and names it. --keep
keeps the results in bench/kept by kind of machine: processor, caches, number of cores. A run that is not quick is compared
with what was last kept on its kind, and names what has become slower; --check then ends with status 1, too. --markdown
measures nothing: it prints the tables of the results that are there.
"""

import argparse
import datetime
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import alike  # noqa: E402
import kept  # noqa: E402
import show  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ("rows", "crowd", "par", "udp", "start", "curves")  # in the order of the table
CROWDS = (4, 8, 16)  # ranks on two cores
STARTS = (2, 16, 64)
SELF_FORK = 128
PAR_METRICS = ("am_short4_round_trip", "am_flood", "am_medium_64B_flood", "am_flood_with_replies")
PAR_ROUNDS, PAR_ROUNDS_QUICK = 5, 2
PAIRS_UDP = 3
PAR_PASS, PAR_STRETCH = 0.15, 0.05  # what PAR may cost more than SEQ
UDP_BULK = ("net_put_1MiB", 0.3, 0.45)  # with a MAC, of the yardstick without
UDP_UNBUNDLED = ("net_am_medium_64B_flood", 0.9)  # with a MAC, of what it is without
UDP_MAC_NS = 1000  # that a MAC may cost a message
UDP_LOSSES = ((0.01, 0.8), (0.1, 0.35))  # frames lost, and the rate that is left
UDP_LOSS_BLOCK_MS = 50  # a last frame that is lost costs a millisecond
CURVES = (("am", 2), ("put", 2), ("get", 2), ("vis", 2), *(("barrier", n) for n in (2, *CROWDS)),
          *(("coll", n) for n in (2, *CROWDS)))
OTHERS = ("peers/run.py", "coll.py")  # the first measures applications, too
TIMEOUT_S = 600
LOAD_QUIET = 0.3


def run(command, cores=None):
    """Runs a command and returns the JSON objects that it prints. cores: the processors that it may use."""
    before = os.sched_getaffinity(0)
    try:
        if cores:
            os.sched_setaffinity(0, cores)  # inherited
        job = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                             timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as late:
        raise alike.Busy(f"a job took more than {TIMEOUT_S} s") from late
    except OSError as error:
        raise SystemExit(f"bench: {error}; is all of it built?") from error
    finally:
        os.sched_setaffinity(0, before)
    if job.returncode != 0:
        raise SystemExit(f"bench: status {job.returncode} from: {' '.join(command)}")
    return [json.loads(line) for line in job.stdout.splitlines() if line.startswith("{")]


def rows_of(metric, measure):
    """The rows that measure() finds, or where the machine is too busy, one that says so."""
    try:
        return measure()
    except alike.Busy as busy:
        return [show.not_measured(metric, busy)]


class Bench:
    """The measurements of one build."""

    def __init__(self, build, options):
        self.build, self.options = build, options
        self.quick = ["--quick"] if options.quick else []
        self.only = options.only.split(",") if options.only else None
        cores = sorted(os.sched_getaffinity(0))
        self.two = set(cores[:2]) if len(cores) >= 2 else None
        self.one = {cores[0]}
        if self.two is None:
            print("bench: one processor only: what needs two is left out", file=sys.stderr)

    def perf(self, ranks, *arguments, cores, mode="seq", settings=()):
        program = os.path.join(self.build, "libexec", "penstock", f"perf-{mode}")
        launcher = os.path.join(self.build, "bin", "penstock")
        given = [word for setting in settings for word in ("--env", setting)]
        return run([launcher, "run", "-n", str(ranks), *given, program, *arguments], cores)

    def narrowed(self, suffix=""):
        """Arguments that choose rows; None: none of these is wanted. suffix: of their names here."""
        if self.only is None:
            return self.quick
        names = [name.removesuffix(suffix) for name in self.only if name.endswith(suffix)]
        return [*self.quick, "--only", ",".join(names)] if names else None

    def rows(self):
        arguments = self.narrowed()
        results = []
        if self.two:
            results = rows_of("rows_on_two_cores", lambda: self.perf(2, "rows", *arguments, cores=self.two))
        return results + rows_of("rows_on_one_core", lambda: self.perf(2, "rows", *arguments, cores=self.one))

    def crowd(self):
        results = []
        for ranks in CROWDS if self.two else ():
            arguments = self.narrowed(f"_{ranks}_ranks")
            if arguments is not None:
                results += rows_of(f"rows_of_{ranks}_ranks", lambda ranks=ranks, arguments=arguments: self.perf(
                    ranks, "rows", *arguments, cores=self.two))
        return results

    def par(self):
        """The same source in both modes, in turn. Either is a ratio to the yardstick beside it."""
        wanted = [name for name in PAR_METRICS if self.only is None or f"par_{name}" in self.only]
        if not wanted or not self.two:
            return []
        return rows_of("par_rows", lambda: self.modes(wanted))

    def modes(self, wanted):
        arguments = ("rows", "--quick", "--only", ",".join(wanted))
        rounds = alike.rounds(self.build, PAR_ROUNDS_QUICK if self.options.quick else PAR_ROUNDS,
                              [lambda mode=mode: self.perf(2, *arguments, cores=self.two, mode=mode)
                               for mode in ("seq", "par")])
        pairs = [pair for seq, par in rounds for pair in zip(seq, par)]
        return [compare_modes(name, [pair for pair in pairs if pair[0]["metric"] == name])
                for name in wanted]

    def over_udp(self, *settings, only=None, more=()):
        """Rows of two ranks that share no memory."""
        arguments = self.narrowed() if only is None else [*self.quick, "--only", only]
        return self.perf(2, "rows", *arguments, *more, cores=self.two,
                         settings=("PENSTOCK_CONDUIT=udp", *settings))

    def udp(self):
        """The figures without a MAC and with it, what it costs, and what loss leaves."""
        none, auth = "PENSTOCK_UDP_SECURITY=none", "PENSTOCK_UDP_SECURITY=auth"
        if not self.two or (self.only is not None and
                            not any(name.startswith("net_") for name in self.only)):
            return []
        return rows_of("net_rows", lambda: self.with_and_without_mac(none, auth)) + \
            (self.shares(none, auth) if self.only is None else [])

    def with_and_without_mac(self, none, auth):
        plain, sealed = self.over_udp(none), [renamed(row, "auth") for row in self.over_udp(auth)]
        results = plain + [with_limits(row, *UDP_BULK[1:]) if row["metric"] == UDP_BULK[0] + "_auth"
                           else with_limits(row, None, None) for row in sealed]
        if self.only is not None:
            return results
        by_name = {row["metric"]: row for row in plain + sealed}
        results.append(cost_of(by_name["net_am_medium_64B_round_trip"],
                               by_name["net_am_medium_64B_round_trip_auth"]))
        return results

    def shares(self, none, auth):
        alone, results = "PENSTOCK_UDP_BUNDLE=no", []
        results.append(self.share("net_auth_64B_unbundled", UDP_UNBUNDLED[0], (none, alone),
                                  (auth, alone), UDP_UNBUNDLED[1]))
        for lost, least in UDP_LOSSES:
            # The wrapper that drops frames costs something itself: both sides have it.
            results.append(self.share(f"net_am_flood_{lost:.0%}_lost".replace("%", "_percent"),
                                      "net_am_flood", (none, "PENSTOCK_IMPAIR_DROP=1e-12"),
                                      (none, f"PENSTOCK_IMPAIR_DROP={lost}"), least,
                                      ("--block", str(UDP_LOSS_BLOCK_MS))))
        return results

    def share(self, name, metric, before, after, least, more=()):
        """The part of a rate that is left: a ratio of two ratios to the yardstick, from jobs in turn."""
        return rows_of(name, lambda: [self.shared(name, metric, before, after, least, more)])[0]

    def shared(self, name, metric, before, after, least, more):
        pairs = alike.rounds(self.build, PAR_ROUNDS_QUICK if self.options.quick else PAIRS_UDP,
                             [lambda settings=settings: self.over_udp(*settings, only=metric,
                                                                      more=more)[0]
                              for settings in (before, after)])
        row = compare_modes(metric, pairs)
        row.update(metric=name, baseline=metric)
        return with_limits(row, least, None)

    def start(self):
        jobs = [(ranks, os.path.join(self.build, "bin", "penstock"), f"start_and_exit_{ranks}_ranks")
                for ranks in STARTS]
        jobs.append((SELF_FORK, "self", f"self_fork_{SELF_FORK}_ranks"))
        results = []
        folder = os.path.join(self.build, "bench", "start")
        for ranks, how, metric in jobs:
            if self.only is None or metric in self.only:
                command = [os.path.join(folder, "start"), str(ranks), "5" if self.options.quick else "21",
                           how, os.path.join(folder, "nothing"), os.path.join(folder, "empty")]
                results += rows_of(metric, lambda command=command: run(command))
        return results

    def curves(self):
        """The tables of `penstock perf`, for the plots."""
        if self.only is not None or not self.two:
            return []
        lines = []
        for name, ranks in CURVES:
            try:
                lines += self.perf(ranks, name, "--json", *self.quick, cores=self.two)
            except alike.Busy as busy:
                print(f"bench: penstock perf {name} -n {ranks}: not measured: {show.BUSY}: {busy}", file=sys.stderr)
        return lines


def renamed(row, suffix):
    return {**row, "metric": f"{row['metric']}_{suffix}"}


def with_limits(row, at_pass, at_stretch):
    """The row held to other limits; None: to none."""
    row = dict(row)
    for key, limit in (("pass", at_pass), ("stretch", at_stretch)):
        sign = 1 if row["sense"] == "<=" else -1
        row[f"{key}_at"] = limit
        row[key] = None if limit is None else bool(row["ratio"]) and \
            sign * row["ratio"] <= sign * limit
    return row


def cost_of(plain, sealed):
    """The cost of a MAC for a message, of which a round trip has two. Each round trip is taken as a multiple of the
    yardstick's, since the two were measured one after another."""
    row = {**sealed, "metric": "net_auth_64B_message", "baseline": plain["metric"],
           "baseline_value": plain["value"], "judged": "difference", "stretch_at": None,
           "stretch": None, "pass_at": UDP_MAC_NS}
    row["difference"] = (sealed["ratio"] - plain["ratio"]) * plain["baseline_value"] / 2
    row["ratio"] = sealed["ratio"] / plain["ratio"] if plain["ratio"] else 0.0
    row["pass"] = bool(row["ratio"]) and row["difference"] <= UDP_MAC_NS
    return row


def compare_modes(name, rounds):
    """The row of a metric in PAR against SEQ; rounds: the row in SEQ and in PAR, of each round."""
    pairs = [(seq, par) for seq, par in rounds if seq["ratio"] and par["ratio"]]
    row = {"metric": f"par_{name}", "baseline": f"seq_{name}", "judged": "ratio",
           "sense": rounds[0][0]["sense"], "unit": rounds[0][0]["unit"], "blocks": len(rounds),
           "rejected": len(rounds) - len(pairs), "value": 0.0, "baseline_value": 0.0, "ratio": 0.0,
           "quarter1": 0.0, "quarter3": 0.0, "min": 0.0}
    if pairs:
        ratios = sorted(par["ratio"] / seq["ratio"] for seq, par in pairs)
        quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        row.update(ratio=statistics.median(ratios), quarter1=quarters[0], quarter3=quarters[2],
                   min=ratios[0], value=statistics.median(par["value"] for _, par in pairs),
                   baseline_value=statistics.median(seq["value"] for seq, _ in pairs))
    sign = 1 if row["sense"] == "<=" else -1
    for key, part in (("pass", PAR_PASS), ("stretch", PAR_STRETCH)):
        limit = round(1 + sign * part, 2)
        row[f"{key}_at"] = limit
        row[key] = bool(pairs) and sign * row["ratio"] <= sign * limit
    return row


def measure_others(build, options):
    """The rows of the programs that compare with other libraries."""
    rows = []
    for name in OTHERS:
        path = os.path.join(ROOT, "bench", name)
        spec = importlib.util.spec_from_file_location("bench_" + name.replace("/", "_")[:-3], path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rows += rows_of(name, lambda module=module: module.measure(build, options))
    return rows


def first_of(path, key):
    """The value of "key : value" in a file of the kernel's; "" if there is none."""
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        pass
    return ""


def machine():
    return {"kind": kept.kind(len(os.sched_getaffinity(0))), "processor": first_of("/proc/cpuinfo", "model name") or platform.machine(),
            "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "memory": first_of("/proc/meminfo", "MemTotal"),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}


def write_results(folder, found):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as out:
        out.write(json.dumps(found, indent=1) + "\n")


def read_results(folder):
    try:
        with open(os.path.join(folder, "results.json"), encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise SystemExit(f"bench: no results yet: {error}; measure first: make bench") from error


def write_report(folder):
    """The plots are made by the virtual environment's matplotlib, where there is one."""
    python = os.path.join(ROOT, "build", "venv", "bin", "python")
    if not os.access(python, os.X_OK):
        python = sys.executable
    subprocess.run([python, os.path.join(ROOT, "bench", "report.py"),
                    os.path.join(folder, "results.json"), os.path.join(folder, "report.html")],
                   check=False)


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="bench/run.py", description="runs the benchmarks")
    parser.add_argument("build", help="a build folder, build/release for one")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter blocks")
    parser.add_argument("--only", metavar="METRIC,...", help="only these metrics")
    parser.add_argument("--parts", metavar="PART,...", help=f"only these of {', '.join(PARTS)}")
    parser.add_argument("--peers", action="store_true", help="measure other libraries, too")
    parser.add_argument("--check", action="store_true", help="status 1 if a limit is missed")
    parser.add_argument("--keep", action="store_true", help="keep the results for this kind of machine")
    parser.add_argument("--into", metavar="FOLDER", default=os.path.join(ROOT, "build", "bench"),
                        help="where results and report are (default: build/bench)")
    parser.add_argument("--markdown", action="store_true", help="print the last results as tables")
    options = parser.parse_args(arguments)
    options.build = os.path.abspath(options.build)
    options.parts = options.parts.split(",") if options.parts is not None else list(PARTS)
    unknown = [part for part in options.parts if part not in PARTS and part]
    if unknown:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    return options


def measure(options):
    bench = Bench(options.build, options)
    found = {"machine": machine(), "load_before": os.getloadavg()[0], "results": [], "curves": []}
    if found["load_before"] > LOAD_QUIET:
        print(f"bench: the machine is not quiet (load {found['load_before']:.2f}): disturbed blocks"
              " are put aside", file=sys.stderr)
    for part in PARTS:
        if part in options.parts:
            found["curves" if part == "curves" else "results"] += getattr(bench, part)()
    if options.peers:
        found["results"] += measure_others(options.build, options)
    found["load_after"] = os.getloadavg()[0]
    return found


def main():
    options = options_of(sys.argv[1:])
    if options.markdown:
        print(show.markdown(read_results(options.into)), end="")
        return 0
    found = measure(options)
    results = found["results"]
    if options.only and not results:
        raise SystemExit(f"bench: no metric is called {options.only}")
    print(show.table(results))
    write_results(options.into, found)
    write_report(options.into)
    misses = [result for result in results if result.get("pass") is False]
    for miss in misses:
        print(f"bench: {show.miss(miss)}", file=sys.stderr)
    slower = [] if options.quick else kept.regressions(found, kept.FOLDER)
    for line in slower:
        print(f"bench: slower: {line}", file=sys.stderr)
    if options.keep:
        kept.keep(found, kept.FOLDER)
    return 1 if (misses or slower) and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
