# SPDX-License-Identifier: BSD-3-Clause
"""Reading the public headers: every name they offer, with the comment that documents it.

A comment documents the declarations under it, up to an empty line or the next comment. Declarations
without one belong to their section (`/* ---- title ---- */`), else to their file. Families of calls
are written in comments: `gex_AM_RequestShort<n>(` has the numbers 0..16 for <n>, `<family>_add(`
every word of that comment that ends in an underscore for <family>_.
A suffix may follow the number: `gex_AM_CommitReplyLong<n>_v2(`.
"""

import collections
import os
import re

# kind: call, macro (with arguments), constant, type or variable; text: its declaration.
Name = collections.namedtuple("Name", "name kind text group")

PUBLIC = re.compile(r"(gex|gasnett?|_gasnett?i?|GEX|GASNET[TCI]?|SIZEOF_G\w+|PLATFORM)_")
OWN = re.compile(r"(pen|PEN)_(?!api_)[A-Za-z]")
ARGUMENTS_MAX = 16
CITE = re.compile(
    r"\s*((?:GASNet-1|GASNet-EX|GASNet tools)(?:, | )(?:chapters? |an addition).*?\.)(?=\s|$)", re.S
)
FAMILY = re.compile(r"((?:\w|<family>)+)(<\w>)?(_\w+)?\(")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
SECTION = re.compile(r"^-{3,} (.*?) ?-*$", re.S)


class Group:
    """A comment, and what stands under it."""

    def __init__(self, header, line, comment, section):
        self.header, self.line, self.comment, self.section = header, line, comment, section
        self.names = []
        self.has_own = bool(comment)

    @property
    def chapter(self):
        """Document and chapter, by the comment or else by the file's."""
        for text in (self.comment, self.section.comment):
            found = CITE.search(flat(text))
            if found:
                return found[1]
            if "Not in the specification" in flat(text):
                return "Not in the specification."
        return ""


def flat(text):
    return " ".join(text.split())


class Section:
    """Shared by declarations without a comment of their own: the section's title, the file's comment."""

    def __init__(self, title, comment):
        self.title, self.comment = title, comment


def comment_text(raw):
    """The words of a comment, without its stars; indentation stays."""
    body = re.sub(r"^/\*+ ?|\s*\*/$", "", raw)
    return "\n".join(re.sub(r"^ ?\* ?", "", line).rstrip() for line in body.split("\n")).strip("\n")


def tokens(text):
    """(line, kind, text) of a header: comment, directive, code or gap (an empty line)."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        line, first = lines[at], at
        if not line.strip():
            yield first + 1, "gap", ""
            at += 1
        elif line.lstrip().startswith("#"):
            while lines[at].endswith("\\"):
                at += 1
            at += 1
            yield first + 1, "directive", "\n".join(lines[first:at])
        elif line.startswith("/*"):
            while "*/" not in lines[at]:
                at += 1
            at += 1
            yield first + 1, "comment", "\n".join(lines[first:at])
        else:
            at = end_of_code(lines, at)
            yield first + 1, "code", "\n".join(lines[first:at])


def end_of_code(lines, at):
    """Behind the declaration that begins here: a semicolon or brace at depth 0 ends it."""
    depth, inside = 0, False
    while at < len(lines):
        code = re.sub(r'/\*.*?\*/|"[^"]*"|\'.\'', "", lines[at])
        at += 1
        if code.strip() in ("}", 'extern {', "extern  {"):
            return at
        if code.lstrip().startswith("#"):
            continue  # a body with alternatives
        if inside:
            inside = "*/" not in code
            continue
        inside = "/*" in code
        depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
        if depth <= 0 and re.search(r"[;}]\s*$", code.split("/*")[0]):
            return at
    return at


def read_file(root, header):
    """The groups of one header."""
    with open(os.path.join(root, "include", header), encoding="utf-8") as file:
        text = file.read()
    groups, group, fresh = [], None, False
    section = Section("", "")
    for line, kind, raw in tokens(text):
        if kind == "gap":
            fresh = True
        elif kind == "comment":
            words = comment_text(raw)
            title = SECTION.match(words.split("\n")[0])
            if words.startswith(("SPDX", "NOLINT", "clang-format")):
                continue
            if not section.comment:
                section = Section("", words)
            elif title:
                section = Section(title[1].rstrip("- "), section.comment)
                group = None
                continue
            group = Group(header, line, words if groups else "", section)
            if not groups:
                group.comment, group.has_own = words, False
            groups.append(group)
            group.names += families(words, group)
            fresh = False
        else:
            if group is None or (fresh and group.names and kind == "code" and group.has_own):
                group = Group(header, line, "", section)
                groups.append(group)
            group.names += declared(raw, group)
            fresh = False
    return [group for group in groups if group.names]


def families(words, group):
    """Calls whose prototypes stand in a comment."""
    found = []
    stems = re.findall(r"\b(gasnett_\w*_)(?=\s)", words)
    for line in re.finditer(r"(?m)^ .*$", words):
        for at, match in enumerate(FAMILY.finditer(line[0])):
            name, number, suffix = match[1], match[2], match[3] or ""
            text = prototype(words, line.start() + (match.start() if at else 0))
            if name.startswith("<family>_"):
                kind = "macro" if name == "<family>_init" else "call"
                found += [Name(stem + name[9:], kind, text, group) for stem in stems]
            elif number and PUBLIC.match(name):
                found.append(Name(name + suffix, "family", text, group))
                found += [Name(f"{name}{n}{suffix}", "call", text, group)
                          for n in range(ARGUMENTS_MAX + 1)]
    return found


def prototype(words, start):
    """From here to the parenthesis that closes it."""
    depth = 0
    for at in range(start, len(words)):
        depth += {"(": 1, ")": -1}.get(words[at], 0)
        if words[at] == ")" and depth == 0:
            return flat(words[start:at + 1])
    return flat(words[start:])


def declared(raw, group):
    """The names that a directive or a declaration gives."""
    text = COMMENT.sub(" ", raw)
    define = re.match(r"\s*#\s*define\s+(\w+)(\(([^)]*)\))?", text)
    if define:
        kind = "macro" if define[2] is not None else "constant"
        return names([(define[1], kind)], f"#define {define[1]}{define[2] or ''}", group)
    if text.lstrip().startswith("#"):
        return []
    body = text.find("{")
    if re.match(r"\s*(typedef\s+)?enum\b", text) and body >= 0:
        inner = text[body + 1:text.rindex("}")]
        found = [(word, "constant") for word in re.findall(r"(?:^|,)\s*(\w+)", inner)]
        found += [(word, "type") for word in re.findall(r"\}\s*(\w+)\s*;", text)]
        return names(found, flat(text), group)
    if text.lstrip().startswith("typedef"):
        last = re.search(r"\(\*(\w+)\)\s*\(|(\w+)\s*;\s*$", text)
        return names([(last[1] or last[2], "type")] if last else [], text.strip(), group)
    return names(function_or_variable(text), signature(text), group)


def signature(text):
    """A prototype as a reader wants it: one line, no attributes, no body."""
    text = re.sub(r"__attribute__\s*\(\(.*\)\)", "", flat(text))
    text = re.sub(r"\b(PEN_API|GEX_INLINE|static|__inline__|extern)\s+", "", text)
    return re.sub(r"\s*(\{.*|;)$", "", text) + ";"


def function_or_variable(text):
    plain = signature(text)
    pointer = re.search(r"\(\*(\w+)\)\s*\(", plain.split(",")[0])
    if "PEN_API" not in text and "GEX_INLINE" not in text and not pointer:
        match = re.match(r"\s*static __inline__[^(]*?(\w+)\(", text)
        return [(match[1], "call")] if match else []
    if pointer and "extern" in text:
        return [(pointer[1], "variable")]
    match = re.match(r"[^(]*?(\w+)\s*\(", plain)
    if match:
        return [(match[1], "call")]
    match = re.search(r"(\w+)(\[\])?;$", plain)
    return [(match[1], "variable")] if match else []


def names(found, text, group):
    wanted = []
    for name, kind in found:
        own = OWN.match(name) and kind == "call" and group.has_own and "static" not in text
        if PUBLIC.match(name) or own:
            wanted.append(Name(name, kind, text, group))
    return wanted


INTERNAL = ("penstock/abi.h", "penstock/config.h")


def headers(root):
    """The headers that document something, relative to include/; bodies of inline calls do not."""
    found = []
    top = os.path.join(root, "include")
    for place, folders, files in os.walk(top):
        folders[:] = sorted(set(folders) - {"inline"})
        found += [os.path.relpath(os.path.join(place, name), top) for name in sorted(files)]
    return [name for name in sorted(found) if name.endswith(".h") and not name.endswith("_inline.h")]


def exported(root):
    """The calls that other languages link to: tests/abi/symbols.txt."""
    with open(os.path.join(root, "tests", "abi", "symbols.txt"), encoding="utf-8") as file:
        return [line.split()[0] for line in file if line.strip()]


def read(root):
    """Every public name, once: where it has a comment of its own if it has one anywhere."""
    best = {}
    symbols = set(exported(root))
    for header in headers(root):
        for group in read_file(root, header):
            for name in group.names:
                if OWN.match(name.name) and (name.name not in symbols or header in INTERNAL):
                    continue
                known = best.get(name.name)
                if known is None or rank(name) > rank(known):
                    best[name.name] = name
    return [best[name] for name in sorted(best)]


def rank(name):
    """A declaration beats a macro of the same name, a comment of its own beats none."""
    return (name.kind in ("call", "variable"), name.group.has_own, name.kind != "family",
            bool(name.group.chapter))


def include_line(root, header):
    """The header that clients include in order to get a chapter."""
    if "/" not in header:
        return header
    order = ["gasnet_vis.h", "gasnet_coll.h", "gasnet_ratomic.h", "gasnet_mk.h", "gasnetex.h",
             "gasnet_tools.h", "gasnet.h", "gasnet_fwd.h"]
    for top in order:
        path = os.path.join(root, "include", top)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                if f"<{header}>" in file.read():
                    return top
    return header
