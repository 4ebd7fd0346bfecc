# SPDX-License-Identifier: BSD-3-Clause
"""Programs over the software EXTOLL card in real time, few ranks of one host: the conduit beside raw
VELO and RMA and beside a two-sided library."""

from judge import missing

NAME = "realtime"
WANTED = {
    "two-sided, 8 bytes: round trip over raw": "bench/twosided",
}


def ranks(wanted):
    return 2


def programs(build):
    return []


def measure(build, source, ranks, quick):
    return {"ranks": 2}


def tables(results):
    return []


def plots(results, pyplot):
    return {}


def checks(results):
    return [missing(name, f"{piece} is not there") for name, piece in WANTED.items()]
