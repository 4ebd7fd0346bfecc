# SPDX-License-Identifier: BSD-3-Clause
"""Reads C files without a compiler: which names a header declares at file scope, and which names a file uses."""

import re

NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(.*)$", re.M)
TOKEN = re.compile(r"[A-Za-z_]\w*|->|\.\.\.|[^\s\w]|\d[\w.]*")
WORD = re.compile(r"[A-Za-z_]\w*$")
NOT_NAMES = {"__attribute__", "_Static_assert", "_Alignas", "sizeof", "_Atomic", "__typeof__"}
# `#define PEN_X_ENUM(name, text) PEN_##name,`: its first argument becomes the end of a name.
PASTE = re.compile(r"^[ \t]*#[ \t]*define (\w+)\((\w+)[^)]*\)\s+(\w+)##\2\b", re.M)
ROWS = re.compile(r"^[ \t]*#[ \t]*define (\w+)\((\w+)\)(.*)$", re.M)
# Attributes with arguments: they look like calls and are no names.
ATTRIBUTE = re.compile(r"PEN_(?:PRINTF|ALIGNED|SECTION)$")


def _blank(match):
    """A comment becomes spaces and a string an empty one; lines stay."""
    text = match.group()
    return ('""' if text[0] in "\"'" else " ") + "\n" * text.count("\n")


def code(text):
    """The text without comments, with joined lines and empty strings."""
    text = re.sub(r'^([ \t]*#[ \t]*include[ \t]*)"([^"\n]*)"', r"\1<\2>", text, flags=re.M)
    return NOISE.sub(_blank, text).replace("\\\n", " ")


def _statements(tokens):
    """Splits the tokens at file scope into declarations; the body of a function ends its declaration."""
    statement, depth = [], 0
    for at, token in enumerate(tokens):
        statement.append(token)
        if token in "{([":
            depth += 1
        elif token in "})]":
            depth -= 1
        ends_body = token == "}" and depth == 0 and ")" in _outside(statement[:-1])[-3:]
        if depth == 0 and (token == ";" or ends_body):
            yield statement
            statement = []
        if depth < 0:  # the end of an `extern "C" {`
            statement, depth = [], 0
        if token == "{" and statement == ["extern", '"', '"', "{"]:
            statement, depth = [], 0


def _outside(statement):
    """The tokens of a declaration that stand in no braces; a whole body is one `{}`."""
    found, depth = [], 0
    for token in statement:
        if token == "{":
            depth += 1
            if depth == 1:
                found.append("{}")
        elif token == "}":
            depth -= 1
        elif depth == 0:
            found.append(token)
    return found


def _declarator(outer):
    """The name that a declaration without its bodies declares; None if there is none."""
    if outer[0] == "_Static_assert":
        return None
    for at, token in enumerate(outer):
        after = outer[at + 1 :]
        if token == "(" and after[:1] == ["*"] and len(after) > 1 and WORD.match(after[1]):
            return after[1]
        if WORD.match(token) and token not in NOT_NAMES and not ATTRIBUTE.match(token):
            if after[:1] and after[0] in ("(", "[", "=", ";") and not after[1:2] == ["*"]:
                return token
    return None


def _tags(statement):
    """(tags that are defined, constants of enums) of a declaration."""
    tags, constants = set(), set()
    for at, token in enumerate(statement[:-1]):
        if token not in ("struct", "union", "enum"):
            continue
        named = WORD.match(statement[at + 1]) is not None
        opening = at + 1 + named
        if statement[opening : opening + 1] != ["{"]:
            continue
        if named:
            tags.add(statement[at + 1])
        if token == "enum":
            constants |= _constants(statement[opening + 1 :])
    return tags, constants


def _constants(body):
    found, depth, fresh = set(), 0, True
    for token in body:
        if token in "{(":
            depth += 1
        elif token in "})":
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and fresh and WORD.match(token):
            found.add(token)
        fresh = depth == 0 and token == ","
    return found


def _listed(text):
    """The names that a list of rows makes by pasting."""
    rows = {name: re.findall(rf"\b{row}\((\w+)", body) for name, row, body in ROWS.findall(text)}
    found = set()
    for macro, _, prefix in PASTE.findall(text):
        for name in re.findall(rf"\b(\w+)\({macro}\)", text):
            found |= {prefix + end for end in rows.get(name, ())}
    return found


def declared(text):
    """(names, forward) that a file declares at file scope. forward: types that are only announced."""
    text = code(text)
    names, forward = _listed(text), set()
    for kind, rest in DIRECTIVE.findall(text):
        name = re.match(r"\s+(\w+)", rest)
        if kind == "define" and name:
            names.add(name[1])
    for statement in _statements(TOKEN.findall(DIRECTIVE.sub("", text))):
        tags, constants = _tags(statement)
        names |= tags | constants
        outer = _outside(statement)
        name = _declarator(outer)
        if outer[:1] in (["struct"], ["union"]) and outer[1:] == [name, ";"]:
            continue  # announces a tag
        if outer[:2] == ["typedef", "struct"] and outer[2:3] == [name]:
            forward.add(name)
        elif name:
            names.add(name)
    return names, forward - names


def used(text):
    """The names that a file uses, apart from members and tags: {name: first line}. A tag needs no declaration."""
    found = {}
    for number, line in enumerate(code_lines(text), 1):
        before = ""
        for token in TOKEN.findall(line):
            if before not in (".", "->", "struct", "union") and WORD.match(token):
                found.setdefault(token, number)
            before = token
    return found


def tags(text):
    """The tags of structures that a file names."""
    return set(re.findall(r"\b(?:struct|union)\s+(\w+)", code(text)))


def code_lines(text):
    """The code by line, without comments, strings and includes."""
    text = NOISE.sub(_blank, re.sub(r"^[ \t]*#[ \t]*include.*$", "", text, flags=re.M))
    return text.split("\n")
