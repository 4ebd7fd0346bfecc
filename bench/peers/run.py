#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures Penstock beside the libraries that Debian packages: Open MPI, MPICH, UCX, libfabric.

    bench/peers/run.py BUILD [--quick] [--only WORD] [--check]

All jobs of a comparison live at the same time and do blocks in turn (driver.h); UCX and libfabric
are measured by their own tools, started for each block. A result is the median of the ratios of
blocks that follow each other. Every peer runs at its default settings and at those that are best on
one host. Prints a table; measure() is for bench/run.py.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.dirname(sys.path[0]))

import alike  # noqa: E402
import apps  # noqa: E402
import blocks  # noqa: E402
import jobs  # noqa: E402

# The limits of each peer for a round trip of short messages: pass, stretch.
SHORT = {"UCX": (0.8, 0.6), "Open MPI": (0.8, 0.65), "MPICH": (0.6, 0.45), "libfabric": (0.5, 0.35)}
FASTER = (1.0, None)
JUDGED_NOT = (None, None)
KIB = 1024
MIB = 1024 * KIB
REASON_SHOWN = 60


class Metric:
    """One operation of Penstock, of some length, and the operations that it is compared with. theirs maps a kind of
    peer to its operations: the name; how many operations of Penstock do the work of one (2 for a tool that prints
    half a round trip); and, where the pattern differs, the operation of Penstock with that pattern."""

    def __init__(self, name, ours, length, theirs, limits=FASTER, ranks=2, network=""):
        self.name, self.ours, self.length, self.ranks = name, ours, length, ranks
        self.network = network  # ranks share no memory: ours over this conduit, see settings.py
        self.theirs, self._limits = theirs, limits

    def limits(self, peer):
        return self._limits[peer] if isinstance(self._limits, dict) else self._limits


def size_name(length):
    if length >= MIB:
        return f"{length // MIB}MiB"
    return f"{length // KIB}KiB" if length >= KIB else f"{length}B"


def metrics():
    """The metrics, in the order of the table."""
    rows = [Metric("short_round_trip", "am_short", 8,
                   {"mpi": [("ping_pong", 1)], "ucx": [("ucp_am_lat", 2), ("tag_lat", 2)],
                    "fabric": [("ping_pong", 2)]}, SHORT)]
    for length in (64, 512, 4 * KIB, 16 * KIB, 64 * KIB):
        for ours in ("medium", "long"):
            # UCX's and libfabric's tools send the same buffer again and never read what came
            unread = f"am_{ours}_unread"
            theirs = {"mpi": [("ping_pong", 1)], "ucx": [("ucp_am_lat", 2, unread)],
                      "fabric": [("ping_pong", 2, unread)]}
            rows.append(Metric(f"{ours}_round_trip_{size_name(length)}", f"am_{ours}", length,
                               theirs))
    rows.append(Metric("long_round_trip_1MiB", "am_long", MIB, {"mpi": [("ping_pong", 1)]}))
    rows.append(Metric("short_flood", "am_short_flood", 8,
                       {"mpi": [("flood", 1)], "ucx": [("ucp_am_bw", 1)]}))
    for length in (64, 512, 4 * KIB):
        rows.append(Metric(f"medium_flood_{size_name(length)}", "am_medium_flood", length,
                           {"mpi": [("flood", 1)],
                            "ucx": [("ucp_am_bw", 1, "am_medium_flood_unread")]}))
    for length in (4 * KIB, 64 * KIB):
        rows.append(Metric(f"long_flood_{size_name(length)}", "am_long_flood", length,
                           {"mpi": [("flood", 1)], "ucx": [("ucp_am_bw", 1)]}))
    rows += [
        Metric("put_8B", "put", 8, {"mpi": [("put", 1)]}, (0.1, None)),
        Metric("put_4KiB", "put", 4 * KIB, {"mpi": [("put", 1)]}, (0.6, 0.4)),
        Metric("put_64KiB", "put", 64 * KIB, {"mpi": [("put", 1)]}, JUDGED_NOT),
        Metric("put_1MiB", "put", MIB, {"mpi": [("put", 1)]}, JUDGED_NOT),
        Metric("put_pipelined_8B", "put", 8, {"ucx": [("ucp_put_bw", 1)]}),
        Metric("put_pipelined_4KiB", "put", 4 * KIB, {"ucx": [("ucp_put_bw", 1)]}),
        Metric("put_round_trip_8B", "put_ping_pong", 8, {"ucx": [("ucp_put_lat", 2)]}),
        Metric("get_8B", "get", 8, {"mpi": [("get", 1)], "ucx": [("ucp_get", 1)]}, (0.1, None)),
        Metric("get_4KiB", "get", 4 * KIB, {"mpi": [("get", 1)]}, (0.6, 0.4)),
        Metric("fetch_add", "fetch_add", 8, {"mpi": [("fetch_add", 1)], "ucx": [("ucp_fadd", 1)]}),
    ]
    for ranks in (2, 4, 8, 16):
        rows.append(Metric(f"barrier_{ranks}_ranks", "barrier", 0, {"mpi": [("barrier", 1)]},
                           ranks=ranks))
    return rows


def network_metrics():
    """Times, so that the bandwidth of 0.9 of the best is a limit above 1."""
    return [
        Metric("net_round_trip", "am_short", 8,
               {"mpi": [("ping_pong", 1)], "fabric": [("ping_pong", 2)]}, network="udp"),
        Metric("net_flood_8B", "am_medium_flood", 8, {"mpi": [("flood", 1)]}, network="udp"),
        Metric("net_put_1MiB", "put", MIB, {"mpi": [("flood", 1), ("put", 1)]}, (1 / 0.9, None),
               network="udp"),
        # the same library below both: what Penstock adds to it
        Metric("ofi_round_trip", "am_short", 8, {"fabric": [("ping_pong", 2)]}, JUDGED_NOT, network="ofi"),
        Metric("ofi_round_trip_4KiB", "am_medium_unread", 4 * KIB, {"fabric": [("ping_pong", 2)]}, JUDGED_NOT,
               network="ofi"),
        Metric("ucx_round_trip", "am_short", 8, {"ucx": [("ucp_am_lat", 2)]}, JUDGED_NOT, network="ucx"),
        Metric("ucx_round_trip_4KiB", "am_medium_unread", 4 * KIB, {"ucx": [("ucp_am_lat", 2)]}, JUDGED_NOT,
               network="ucx"),
        Metric("ucx_posix_round_trip", "am_short", 8, {"ucx": [("ucp_am_lat", 2)]}, JUDGED_NOT,
               network="ucx-posix"),
        Metric("ucx_posix_get_8B", "get", 8, {"ucx": [("ucp_get", 1)]}, JUDGED_NOT, network="ucx-posix"),
    ]


def row_of(metric, peer, their_op, result, reason):
    pass_at, stretch_at = metric.limits(peer.library)
    row = {"metric": metric.name, "unit": "ns", "peer": peer.library, "setting": peer.setting,
           "baseline": f"{peer.library} {their_op}", "value": None, "ratio": None,
           "pass_at": pass_at, "stretch_at": stretch_at}
    if result:
        row.update(result)
    if reason:
        row["why"] = reason
    measured = row["ratio"] is not None
    for key, limit in (("pass", pass_at), ("stretch", stretch_at)):
        row[key] = None if limit is None else measured and row["ratio"] <= limit
    if not measured:
        row["pass"] = False  # what could not be measured, or only among disturbances, fails
    return row


def compare(metric, ours, peers, options):
    """The rows of one metric."""
    rows = []
    for peer in peers:
        for their_op, worth, *same in metric.theirs.get(peer.kind, ()):
            result, reason = None, peer.failure
            our_op = same[0] if same else metric.ours
            if not reason:
                try:
                    result = blocks.measure(ours, our_op, peer, their_op, worth,
                                            metric.length, options, quiet=metric.ranks == 2)
                except jobs.Failed as failed:
                    reason = str(failed)
                except alike.Busy as busy:
                    reason = f"machine busy: {busy}"
            rows.append(row_of(metric, peer, their_op, result, reason))
    return rows


def measure(build, options):
    """All rows, those of bench/apps.py as well: a dictionary each. options: quick, and only, words
    of which one is in a metric's name."""
    build = os.path.abspath(build)
    wanted = [metric for metric in metrics() + network_metrics() if not options.only
              or any(word in metric.name for word in options.only.split(","))]
    rows = []
    for ranks, network in sorted({(metric.ranks, metric.network) for metric in wanted}):
        with jobs.Stage(build, ranks, network) as stage:
            for metric in wanted:
                if (metric.ranks, metric.network) == (ranks, network):
                    rows += compare(metric, stage.ours, stage.peers, options)
    return rows + apps.measure(build, options)


def shown(row):
    def number(key, form):
        return "-" if row.get(key) is None else format(row[key], form)
    verdict = {None: "", True: "yes", False: "NO"}
    limit = "" if row["pass_at"] is None else f" (<= {row['pass_at']:g})"
    return (row["metric"], number("value", ".1f"), row["baseline"], row["setting"],
            number("baseline_value", ".1f"), number("ratio", ".3f"), verdict[row["pass"]] + limit,
            verdict[row["stretch"]], row.get("why", "")[-REASON_SHOWN:])


def print_table(rows):
    lines = [("metric", "ns", "against", "setting", "ns", "ratio", "pass", "stretch", "")]
    lines += [shown(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.rjust(width) if i in (1, 4, 5) else cell.ljust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))).rstrip())


def main():
    parser = argparse.ArgumentParser(prog="bench/peers/run.py", description="Penstock and others")
    parser.add_argument("build", help="a build folder, build/release for one")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter blocks")
    parser.add_argument("--only", metavar="WORD,...", help="only metrics with this in their names")
    parser.add_argument("--check", action="store_true", help="status 1 if a limit is missed")
    options = parser.parse_args()
    rows = measure(options.build, options)
    print_table(rows)
    return 1 if options.check and any(row["pass"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
