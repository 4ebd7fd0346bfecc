# SPDX-License-Identifier: BSD-3-Clause
"""Results of benchmarks as text: a table for a terminal, tables for a document, a line for a miss."""

COLUMNS = ("metric", "value", "unit", "baseline", "judged", "pass", "stretch", "kept")
RIGHT = ("value", "judged")
NOTHING = "-"  # there is no value
BUSY = "machine busy"  # too few blocks were undisturbed, or a job took too long


def number(value):
    """Four digits are more than a benchmark knows."""
    if value is None:
        return NOTHING
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def measured(result):
    """A row with a reason has none of its figures for certain."""
    return bool(result.get("ratio")) and not result.get("reason")


def why_not(result):
    """Why a row was not measured."""
    return result.get("reason") or result.get("why") or BUSY


def judged(result):
    """The figure that is held to the limits: a ratio to the baseline, or a difference."""
    if not measured(result):
        return f"not measured: {why_not(result)}"
    if result.get("judged") == "difference":
        return f"{result['difference']:+.2f} {result['unit']}"
    return f"{result['ratio']:.3f} x"


def limit(result, key):
    reached, at = result.get(key), result.get(f"{key}_at")
    if reached is None:
        return ""
    if at is None:
        return "yes" if reached else "NO"
    return f"{'yes' if reached else 'NO'} ({result.get('sense', '<=')} {at:g})"


def name(result):
    """A peer's row names the peer and its setting, too."""
    more = [result[key] for key in ("peer", "setting") if result.get(key)]
    return " ".join([result["metric"], *(f"[{' '.join(more)}]" for _ in more[:1])])


def cells(result):
    blocks = result.get("blocks")
    return {"metric": name(result), "value": number(result["value"]) if measured(result) else NOTHING,
            "unit": result["unit"],
            "baseline": f"{result['baseline']} {number(result.get('baseline_value', ''))}".strip(),
            "judged": judged(result), "pass": limit(result, "pass"),
            "stretch": limit(result, "stretch"),
            "kept": f"{blocks - result.get('rejected', 0)}/{blocks}" if blocks else ""}


def not_measured(metric, why=None):
    """The row of what could not be measured at all. why: more than that the machine was busy."""
    return {"metric": metric, "value": None, "unit": "", "baseline": "", "ratio": None, "reason":
            f"{BUSY}: {why}" if why else BUSY, "pass_at": None, "pass": False, "stretch_at": None, "stretch": None}


def table(results):
    rows = [{column: column for column in COLUMNS}, *(cells(result) for result in results)]
    widths = {column: max(len(row[column]) for row in rows) for column in COLUMNS}
    return "\n".join("  ".join(
        row[column].rjust(widths[column]) if column in RIGHT else row[column].ljust(widths[column])
        for column in COLUMNS).rstrip() for row in rows)


def miss(result):
    """One line on a row that has not passed."""
    if not measured(result):
        return f"{name(result)}: not measured: {why_not(result)}"
    return (f"{name(result)}: {judged(result)} {result['baseline']}, wanted"
            f" {result.get('sense', '<=')} {result['pass_at']:g}")


# ---- for documents -------------------------------------------------------------------------------


def markdown_table(titles, rows):
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def markdown_results(results):
    rows = []
    for result in results:
        cell = cells(result)
        spread = ""
        if measured(result) and result.get("quarter1") and result.get("judged") != "difference":
            spread = f"{result['quarter1']:.3f}-{result['quarter3']:.3f}"
        rows.append([cell["metric"], f"{cell['value']} {cell['unit']}", cell["baseline"],
                     cell["judged"], spread, cell["pass"], cell["stretch"], cell["kept"]])
    return markdown_table(["metric", "measured", "yardstick", "judged", "quartiles", "pass",
                           "stretch", "blocks kept"], rows)


def markdown_curve(lines, left_out):
    titles = [title for title in lines[0] if title not in left_out]
    return markdown_table(titles, [[NOTHING if line[title] is None else number(line[title])
                                    for title in titles] for line in lines])


def markdown_curves(curves):
    """A table for each of `penstock perf`; barriers of all numbers of ranks are one."""
    barriers = [line for line in curves if line["table"] == "barrier"]
    others = [line for line in curves if line["table"] != "barrier"]
    text = ""
    for name, ranks in dict.fromkeys((line["table"], line["ranks"]) for line in others):
        lines = [line for line in others if (line["table"], line["ranks"]) == (name, ranks)]
        text += f"\n`penstock perf {name} -n {ranks}`\n\n"
        text += markdown_curve(lines, ("table", "ranks"))
    if barriers:
        text += "\n`penstock perf barrier`\n\n" + markdown_curve(barriers, ("table",))
    return text


def markdown(found):
    of = found["machine"]
    text = (f"{of['processor']}, {of['cores']} cores, {of['memory']} of memory, Linux {of['kernel']},"
            f" {of['date']}; load {found['load_before']:.2f} before, {found['load_after']:.2f}"
            " after.\n\n")
    ours = [result for result in found["results"] if not result.get("peer")]
    peers = [result for result in found["results"] if result.get("peer")]
    text += markdown_results(ours)
    if peers:
        text += "\nAgainst other libraries, in the same run:\n\n" + markdown_results(peers)
    misses = [result for result in found["results"] if result.get("pass") is False]
    text += "\nMisses: " + ("none.\n" if not misses else "\n\n")
    text += "".join(f"* {miss(result)}\n" for result in misses)
    return text + markdown_curves(found["curves"])
