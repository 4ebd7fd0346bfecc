# SPDX-License-Identifier: BSD-3-Clause
"""Faults put into a copy of C sources, all at once, each behind mutant == <its number>: for the tests that count
how many faults other tests notice.

A fault is (name, file, old text, new text[, which]). The texts are expressions or, if they end in a semicolon,
statements. Line breaks of the source do not matter. which: number of the place, if there are several.
"""
import re


def choice(number, old, new):
    """Returns C text that has both texts; the number of the mutant selects one at run time."""
    if old.endswith(";"):
        return f"if (mutant == {number}) {{ {new} }} else {{ {old} }}"
    end = " &&" if old.endswith(" &&\n") else ""
    old, new = old.removesuffix(" &&\n"), new.removesuffix(" &&\n")
    return f"(mutant == {number} ? ({new}) : ({old})){end}"


def put_in(mutants, path_of, choose=choice):
    """Puts all mutants into the files path_of(file). Returns a line for each whose place was not found."""
    missing = []
    for number, (name, file, old, new, *which) in enumerate(mutants, 1):
        with open(path_of(file), encoding="utf-8") as opened:
            text = opened.read()
        found = list(re.finditer(r"\s+".join(re.escape(word) for word in old.split()), text))
        if not found or (not which and len(found) != 1) or (which and which[0] >= len(found)):
            missing.append(f"{name}: {len(found)} places in {file} instead of one")
            continue
        place = found[which[0] if which else 0]
        changed = choose(number, old, new).replace("\n", " ")  # a macro's text stays in its line
        with open(path_of(file), "w", encoding="utf-8") as opened:
            opened.write(text[: place.start()] + changed + text[place.end() :])
    return missing
