# SPDX-License-Identifier: BSD-3-Clause
"""Results of the drivers of bench/papers for run.py: tables, and values that are accepted or not."""

import dataclasses


@dataclasses.dataclass
class Check:
    """One acceptance value. got is None: it could not be measured, for the reason in `why`, and that
    is not accepted either."""

    name: str
    least: float | None
    most: float | None
    got: float | None
    unit: str = ""
    why: str = ""

    @property
    def accepted(self):
        if self.got is None:
            return False
        return (self.least is None or self.got >= self.least) and (
            self.most is None or self.got <= self.most
        )

    @property
    def expected(self):
        if self.least is not None and self.most is not None:
            return f"{self.least:.4g} to {self.most:.4g} {self.unit}".strip()
        if self.least is not None:
            return f">= {self.least:.4g} {self.unit}".strip()
        return f"<= {self.most:.4g} {self.unit}".strip()

    def line(self):
        got = f"missing: {self.why}" if self.got is None else f"{self.got:.4g} {self.unit}".strip()
        return f"{'ok  ' if self.accepted else 'MISS'}  {self.name}: expected {self.expected}, got {got}"


def missing(name, why):
    return Check(name, 0, None, None, why=why)


@dataclasses.dataclass
class Table:
    title: str
    columns: list
    rows: list
    note: str = ""

    def markdown(self):
        def line(cells):
            return "| " + " | ".join(str(cell) for cell in cells) + " |"

        lines = [f"### {self.title}", "", line(self.columns), line("---" for _ in self.columns)]
        lines += [line(row) for row in self.rows]
        return "\n".join(lines + (["", self.note] if self.note else [])) + "\n"
