# SPDX-License-Identifier: BSD-3-Clause
"""The words rule of STYLE.md: finds comments, help texts and prose, and judges how they are written.

`scripts/check_words` is the gate; `scripts/measure_tree` counts with the same judgement.
"""

import ast
import os
import re
import typing

# A comment that begins so is a fragment: it lacks a subject or a verb, or hides what it is about.
FRAGMENT = re.compile(
    r"(?:(?:of|what|whatever|who|whose|whom|whoever|whichever|which|likewise|ditto|such|ours|theirs)\b"
    r"|the same(?: of| for| but| in| with| as|[;:,.]|$)|as (?:above|there|before)\b|so that\b|(?:both|none|neither)[;:,.]"
    r"|those (?:of|that|who|which)\b)(?![^.?!]*\?)",
    re.IGNORECASE,
)
IT = re.compile(r"(?:it|they|them|he)\b", re.IGNORECASE)

# Phrases that a second reader stumbles over, wherever they stand. Each is refused.
REFUSED = [
    r"so many(?! [a-z]+s that\b)", r"likewise", r"anew", r"for ever", r"of ours", r"of theirs", r"whoever",
    r"whatever is not", r"such a one", r"such ones", r"as above", r"the same of", r"less to say", r"more to say",
    r"decides? nothing", r"(?:has|have|had) said (?:why|so|what)", r"puts? aside", r"about as many",
    r"can do with\b", r"do(?:es)? without\b", r"(?:slow|fast) kind", r"in the run above", r"what differs",
    r"what becomes of", r"comes? to nothing", r"and be done", r"the like\b", r"of its own accord", r"goes first",
    r"say nothing of", r"now and then", r"by and by", r"better off", r"nobody's business", r"in vain",
    r"since yesterday", r"until now", r"used to be", r"to who\b", r"all the same", r"at will", r"hence",
    r"herein", r"thereof", r"whence", r"thither", r"hither", r"ere\b", r"lest", r"nought", r"naught",
]
REFUSED_RE = re.compile(r"\b(?:" + "|".join(REFUSED) + r")\b", re.IGNORECASE)

# Words that may be right but usually hide a name. They are counted, not refused.
VAGUE_RE = re.compile(
    REFUSED_RE.pattern + r"|\b(?:ours|theirs|the others?|none|such|things?|somebody|anybody|nobody|everybody|"
    r"what is|what it|whatever|sort of)\b",
    re.IGNORECASE,
)

HEADER_NAME = re.compile(r"^[\w./*-]+\.(?:c|h|py|cmake|hpp|cpp|in)(?:, [\w./]+)*: +")
QUOTED = re.compile(r'`[^`]*`|"[^"]*"')
CODE_LINE = re.compile(r"[;{}]\s*$|^\s*[|+<>=-]{2,}|^\s*\$ ")


class Text(typing.NamedTuple):
    """A piece of writing: where it begins, what it says, and whether it is a comment, a help text or prose."""

    line: int
    words: str
    kind: str


def c_comments(source):
    """Comments of a C file as Text; // lines that follow one another are one comment."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*(?:\n\s*//[^\n]*)*', re.S)
    for match in pattern.finditer(source):
        text = match[0]
        if not text.startswith("/"):
            continue
        line = source.count("\n", 0, match.start()) + 1
        body = re.sub(r"^/\*+<?|\*+/$", "", text) if text.startswith("/*") else re.sub(r"(?m)^\s*//+<?", "", text)
        body = re.sub(r"(?m)^\s*\*+ ?", "", body)
        if "SPDX-License" in body:
            continue
        yield Text(line, " ".join(body.split()), "comment")


def hash_comments(source):
    """Comments of scripts, CMake files and Makefiles: neighbouring lines are one comment."""
    block, first = [], 0
    for number, line in enumerate(source.splitlines() + [""], 1):
        match = re.match(r"\s*#(?!!)\s?(.*)$", line)
        if match and "SPDX-License" not in line:
            first = first or number
            block.append(match[1])
            continue
        if block:
            yield Text(first, " ".join(" ".join(block).split()), "comment")
        block, first = [], 0


def python_texts(source):
    """Comments and docstrings of a Python file."""
    yield from (text for text in hash_comments(source))
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for place in ast.walk(tree):
        if isinstance(place, (ast.Module, ast.FunctionDef, ast.ClassDef)):
            text = ast.get_docstring(place)
            if text:
                paragraph = re.split(r"\n\s*\n", text)[0]
                line = place.body[0].lineno if place.body else 1
                yield Text(line, " ".join(paragraph.split()), "comment")


def c_help(source):
    """Help texts and messages in C: string literals of at least four words, joined where they adjoin."""
    source = re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment[0]), source, flags=re.S)
    for match in re.finditer(r'(?:"(?:\\.|[^"\\\n])*"\s*(?:PRI\w+\s*)?)+', source):
        words = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', match[0]))
        words = " ".join(words.replace("\\n", " ").replace("\\t", " ").split())
        if len(words.split()) >= 4 and re.search(r"[a-z]{3,} [a-z]{2,}", words):
            yield Text(source.count("\n", 0, match.start()) + 1, words, "help")


def prose(source):
    """Paragraphs of a Markdown file, without code and tables of figures."""
    fenced, block, first = False, [], 0
    for number, line in enumerate(source.splitlines() + [""], 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        if fenced or not line.strip() or line.startswith("#") or line.lstrip().startswith("|"):
            if block:
                yield Text(first, " ".join(block), "prose")
            block, first = [], 0
            if line.lstrip().startswith("|") and not fenced:
                yield Text(number, QUOTED.sub("`", line.strip(" |")), "prose")
            continue
        first = first or number
        block.append(QUOTED.sub("`", line.strip()))


def texts(name, source):
    """Every piece of writing in a file, by the file's kind."""
    base = os.path.basename(name)
    if name.endswith((".c", ".h", ".cpp", ".hpp")):
        yield from c_comments(source)
        if name.startswith(("src/", "command/", "softnic/", "bench/", "examples/")):
            yield from c_help(source)
    elif name.endswith(".md"):
        yield from prose(source)
    elif name.endswith(".py") or (source.startswith("#!") and "python" in source.split("\n")[0]):
        yield from python_texts(source)
    elif name.endswith((".cmake", ".sh", ".in")) or base in ("CMakeLists.txt", "Makefile", "LAYERS") or source.startswith("#!"):
        yield from hash_comments(source)


def is_sentence(words):
    """Whether a comment is long enough to be judged: labels such as `seconds` and code are not."""
    return len(re.findall(r"[A-Za-z]{2,}", words)) >= 3 and not CODE_LINE.search(words)


def begins_with_fragment(words):
    words = HEADER_NAME.sub("", words).lstrip("-* ")
    return bool(FRAGMENT.match(words))


def refused(words):
    """The first phrase that is refused, or None."""
    match = REFUSED_RE.search(words)
    return match[0] if match else None


def is_vague(words):
    return bool(VAGUE_RE.search(words)) or bool(IT.match(words))
