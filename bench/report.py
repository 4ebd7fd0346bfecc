#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes one page of a benchmark's results, with plots in it and nothing beside it.

    bench/report.py RESULTS.json REPORT.html
"""

import html
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import show  # noqa: E402

STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 1150px; margin: 2em auto; padding: 0 1em; color: #222; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 2px 9px; text-align: left; border-bottom: 1px solid #ddd; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
th { background: #f2f4f5; position: sticky; top: 0; }
.yes { color: #17692b; } .no { color: #b3261e; font-weight: bold; } .unknown { color: #777; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(480px, 1fr)); gap: 1em; }
.plots figure { margin: 0; } .plots svg { width: 100%; height: auto; }
"""
BAR_HEIGHT = 0.3


def import_pyplot():
    """matplotlib's plots, drawn without a screen; None: it is not installed."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "penstock",
                                "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    from matplotlib import pyplot
    return pyplot


# ---- plots: each draws on axes, and says whether there was anything to draw ------------------------


def points(curves, table, key, ranks=2):
    """(bytes, value) of a table's column, without what has none or is no length on a log axis."""
    return [(line["bytes"], line[key]) for line in curves
            if line["table"] == table and line["ranks"] == ranks and line.get(key) and line["bytes"]]


def plot_lines(axes, lines, what):
    drawn = 0
    for label, values, style in lines:
        if values:
            axes.plot(*zip(*values), style, label=label, markersize=3)
            drawn += 1
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes")
    axes.set_ylabel(what)
    if drawn:
        axes.legend()
    return drawn > 0


def latency(axes, found):
    """Time of an operation over length"""
    curves = found["curves"]
    return plot_lines(axes, [("AM round trip", points(curves, "am", "round_trip_us"), "o-"),
                             ("Longs to and fro", points(curves, "am", "long_us"), "d-"),
                             ("two copies and a line", points(curves, "am", "copies_us"), "k:"),
                             ("put", points(curves, "put", "put_us"), "s-"),
                             ("get", points(curves, "get", "get_us"), "^-"),
                             ("memcpy", points(curves, "put", "copy_us"), "k--")], "microseconds")


def bandwidth(axes, found):
    """Bandwidth over length"""
    curves = found["curves"]
    return plot_lines(axes, [("AM one way", points(curves, "am", "one_way_gb_s"), "o-"),
                             ("put", points(curves, "put", "put_gb_s"), "s-"),
                             ("get", points(curves, "get", "get_gb_s"), "^-"),
                             ("memcpy", points(curves, "put", "copy_gb_s"), "k--")], "GB/s")


def rate(axes, found):
    """Messages a second, one way"""
    short = [line["one_way_m_s"] for line in found["curves"]
             if line["table"] == "am" and line["bytes"] == 0 and line.get("one_way_m_s")]
    drawn = plot_lines(axes, [("Medium", points(found["curves"], "am", "one_way_m_s"), "o-")],
                       "millions a second")
    if short:
        axes.axhline(short[0], linestyle=":", label="Short")
        axes.legend()
    return drawn


def scaling(axes, found):
    """Barrier and collectives of 8 bytes over ranks, on two cores"""
    lines = [("barrier", [(line["ranks"], line["nb_us"]) for line in found["curves"]
                          if line["table"] == "barrier" and line.get("nb_us")], "o-")]
    for key, label in (("broadcast_us", "broadcast 8 B"), ("reduce_to_all_us", "reduce to all 8 B"),
                       ("all_to_all_us", "all-to-all 8 B")):
        lines.append((label, [(line["ranks"], line[key]) for line in found["curves"]
                              if line["table"] == "coll" and line["bytes"] == 8 and line.get(key)], "s-"))
    drawn = plot_lines(axes, lines, "microseconds")
    axes.set_xlabel("ranks")
    return drawn


def bars(axes, rows, label):
    """A bar for each row's ratio, and a mark at its limit."""
    for at, row in enumerate(reversed(rows)):
        missed = row.get("pass") is False
        axes.barh(at, row["ratio"], color="#c0504d" if missed else "#4f81bd")
        if row.get("pass_at"):
            axes.plot([row["pass_at"]] * 2, [at - 0.4, at + 0.4], "k-", linewidth=2)
    axes.set_yticks(range(len(rows)), [show.name(row) for row in reversed(rows)])
    axes.set_xlabel(label)
    return bool(rows)


def oversubscription(axes, found):
    """More ranks than cores: time over that of handing the cores round once"""
    rows = [row for row in found["results"] if show.measured(row) and not row.get("peer")
            and row["baseline"] in ("hand_offs", "raw_line_sched_yield")]
    return bars(axes, rows, "ratio to sched_yield hand-offs (line: limit)")


def peers(axes, found):
    """Against other libraries"""
    rows = [row for row in found["results"] if show.measured(row) and row.get("peer")]
    axes.axvline(1, color="black", linestyle=":")
    return bars(axes, rows, "ratio (line: limit)")


PLOTS = (latency, bandwidth, rate, scaling, oversubscription, peers)


def draw(pyplot, plot, found):
    """The plot as a figure of the page; "" if there is nothing to draw."""
    figure, axes = pyplot.subplots(figsize=(6.2, 4))
    drawn = plot(axes, found)
    axes.set_title(plot.__doc__)
    figure.set_figheight(max(4, 1 + BAR_HEIGHT * len(axes.get_yticks())) if axes.patches else 4)
    figure.tight_layout()
    image = io.StringIO()
    figure.savefig(image, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    svg = image.getvalue()[image.getvalue().index("<svg"):]
    # Every figure calls its parts the same; on one page they need names of their own.
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{plot.__name__}-", svg)
    return f"<figure>{svg}</figure>\n" if drawn else ""


# ---- the page ------------------------------------------------------------------------------------


HEADINGS = {  # column -> what its heading explains
    "Operation": "what is measured", "Measured": "median of the blocks", "Yardstick": "what the machine can do, in the same run",
    "Compared": "the operation against its yardstick", "Spread": "quartiles of that comparison",
    "Limit": "what the comparison is held to", "Verdict": "whether the limit is kept",
    "Goal": "a harder limit, which fails nothing", "Blocks": "kept of measured; the machine disturbed the others",
}
NUMBERS = ("Measured", "Yardstick", "Compared", "Spread", "Limit", "Blocks")
WORDS = {"am": "active message,", "net": "over UDP:", "amo": "atomic", "coll": "collective", "short4": "Short with 4 arguments,",
         "short": "Short,", "medium": "Medium,", "long": "Long,", "crowd": "more ranks than cores:", "raw": "yardstick,",
         "gasnet1": "GASNet-1", "auth": "authenticated", "rma": "put and get"}


def title(result):
    """A metric's name in words: am_medium_64B_round_trip is "active message, Medium, 64 B round trip"."""
    words = [WORDS.get(word, re.sub(r"^(\d+)(B|KiB|MiB)$", r"\1 \2", word)) for word in result["metric"].split("_")]
    text = " ".join(words).replace(", of", " of").strip(" ,:")
    peer = " ".join(result[key] for key in ("peer", "setting") if result.get(key))
    return text[:1].upper() + text[1:] + (f" (against {peer})" if peer else "")


def nanoseconds(value, unit):
    """A time, or the time between messages of a rate, in nanoseconds; None for other units."""
    if unit in ("ns", "us"):
        return value * (1000 if unit == "us" else 1)
    return 1000 / value if unit == "M/s" else None


def yardstick(result):
    value = result.get("baseline_value")
    name = result["baseline"].replace("_", " ")
    if not value:
        return name
    time = nanoseconds(value, result["unit"])
    return f"{name} {show.number(float(f'{time:.3g}'))} ns" if time else f"{name} {show.number(value)} {result['unit']}"


def spread(result):
    if not show.measured(result) or not result.get("quarter1") or result.get("judged") == "difference":
        return ""
    return f"{result['quarter1']:.2f} to {result['quarter3']:.2f}"


def verdict(result, key):
    """(words, class): only a row that was measured can miss its limit."""
    reached = result.get(key)
    if not show.measured(result):
        return (f"not measured: {show.why_not(result)}", "unknown") if key == "pass" else ("", "")
    if reached is None:
        return "", ""
    return ("kept", "yes") if reached else ("missed", "no")


def row_cells(result):
    """One row of the page: column -> (text, class)."""
    blocks, limit = result.get("blocks"), result.get("pass_at")
    measured = show.measured(result)
    cells = {"Operation": title(result),
             "Measured": f"{show.number(result['value'])} {result['unit']}" if measured else "",
             "Yardstick": yardstick(result), "Compared": show.judged(result) if measured else "",
             "Spread": spread(result), "Limit": f"{result.get('sense', '<=')} {limit:g}" if limit is not None else ""}
    cells = {column: (text, "number" if column in NUMBERS else "") for column, text in cells.items()}
    cells["Verdict"], cells["Goal"] = verdict(result, "pass"), verdict(result, "stretch")
    cells["Blocks"] = (f"{blocks - result.get('rejected', 0)} of {blocks}" if blocks else "", "number")
    return cells


def table(results):
    heads = "".join(f'<th title="{html.escape(why)}">{name}</th>' for name, why in HEADINGS.items())
    text = f"<table>\n<tr>{heads}</tr>\n"
    for result in results:
        cells = row_cells(result)
        text += f'<tr data-metric="{html.escape(result["metric"])}">' + "".join(f'<td class="{cells[name][1]}">{html.escape(cells[name][0])}</td>' for name in HEADINGS) + "</tr>\n"
    return text + "</table>\n"


def page(found, plots):
    of = found["machine"]
    judged = [row for row in found["results"] if row.get("pass") is not None and show.measured(row)]
    unknown = sum(1 for row in found["results"] if not show.measured(row))
    kept = f"{sum(row['pass'] for row in judged)} of {len(judged)} limits are kept." if judged else "No limit was judged."
    absent = f" {unknown} row{'s were' if unknown > 1 else ' was'} not measured." if unknown else ""
    about = (f"{of['processor']}, {of['cores']} cores, {of['memory']}, Linux {of['kernel']}, {of['date']}."
             f" Load {found['load_before']:.2f} before, {found['load_after']:.2f} after.")
    return ("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
            f"<title>Penstock: benchmarks</title>\n<style>{STYLE}</style>\n"
            f"<h1>Penstock: benchmarks</h1>\n<p>{html.escape(about)}</p>\n<p><b>{kept}{absent}</b> A figure is the median of "
            "blocks. Each block is compared with the block of its yardstick beside it. Pairs of blocks that the "
            "machine disturbed are discarded.</p>\n"
            f"<div class=\"plots\">\n{plots}</div>\n<h2>All operations</h2>\n{table(found['results'])}</html>\n")


def main():
    if len(sys.argv) != 3:
        print("usage: bench/report.py RESULTS.json REPORT.html", file=sys.stderr)
        return 2
    pyplot = import_pyplot()
    if pyplot is None:
        print("bench: no plots in the report: matplotlib is not installed in build/venv; run"
              " scripts/deps bench", file=sys.stderr)
    with open(sys.argv[1], encoding="utf-8") as file:
        found = json.load(file)
    plots = "".join(draw(pyplot, plot, found) for plot in PLOTS) if pyplot else ""
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(page(found, plots))
    return 0


if __name__ == "__main__":
    sys.exit(main())
