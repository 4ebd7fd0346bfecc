#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documents hold what they promise.

    readme.py commands <source>    every line of the sh blocks of README.md, CONTRIBUTING.md and the guide works
    readme.py links <source>       what the documents point to is there
    readme.py names <source> <penstock>   the variables, options, calls and make targets in the documents exist,
                                   and the manual page has the options that the help texts have

Commands are run as they stand and in their order, in a copy of the checkout in which README's first
program is hello.c; `penstock` is the one that `make build` made there, and ./program is hello.
Those of EXEMPT are not run, those of CHANGED a little differently; both are printed when met.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

GUIDE = "docs/guide/*.md"
COMMAND_DOCUMENTS = ["README.md", "CONTRIBUTING.md", GUIDE]
FOLDERS = ["bench", "cmake", "command", "compat", "docs", "examples", "include", "scripts", "sim", "softnic", "src",
           "tests"]
COMMAND_SECONDS = 300  # `make build` makes two libraries

EXEMPT = [  # a line with one of these commands in it, and who tries it instead
    (r"make (run|test|test-long|check|bench)\b", "takes too long here; make test runs its parts"),
    (r"(sudo\s+)?apt-get\b", "changes the system"),
    (r"git clone\b", "needs a network"),
    (r"penstock run .*--host(s|file)\b", "needs other hosts; tests/hosts makes some"),
    (r"(PENSTOCK_CONDUIT=mpi )?mpirun\b", "needs Open MPI; tests/pmix and tests/mpi start jobs by it"),
    (r"penstock sim .*\./randomaccess\b", "is about an example, which make build does not make; tests/virtual tries it"),
    (r"(srun|salloc)\b", "needs Slurm; tests/pmix starts jobs by it"),
    (r"make sim\b|build/release/bin/sim_engine\b", "runs on; tests/engine repeats seeds"),
    (r"ucx_info\b", "shows what the libraries of the networks find; they may be missing"),
]
CHANGED = [  # regular expression, replacement, reason
    (r"^make (un)?install\b.*", r"\g<0> DESTDIR='{temporary}/installed'", "stays out of the system"),
    (r"\bninja -C\b", "ninja -n -C", "a dry run: the tests of that build are a stage of their own"),
    (r"\bctest\b", "ctest -N", "lists tests only: as above"),
]


# ---- documents -----------------------------------------------------------------------------------


def blocks(text, language):
    """The fenced blocks of a language: (number of the first line, text)."""
    pattern = rf"^```{language}\n(.*?)^```"
    for found in re.finditer(pattern, text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, found.start(1)) + 1, found.group(1)


def command_lines(text):
    """(line number, command) of all shell blocks; a line that ends in a backslash goes on."""
    for first, block in blocks(text, "sh"):
        pending, begun = "", first
        for number, line in enumerate(block.splitlines(), first):
            begun = begun if pending else number
            pending += line
            if pending.endswith("\\"):
                pending = pending[:-1]
                continue
            command = re.sub(r"(^|\s)#\s.*", "", pending).strip()
            if command:
                yield begun, command
            pending = ""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# ---- commands ------------------------------------------------------------------------------------


def copy_checkout(source, target):
    """Files that git knows or would add; without git all files except builds."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )
    if listing.returncode != 0:
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("build", ".git"))
        return
    for name in filter(None, listing.stdout.split("\0")):
        origin, copy = os.path.join(source, name), os.path.join(target, name)
        if os.path.isfile(origin):  # git still lists files that were deleted
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy2(origin, copy)


def environment(checkout):
    """As in a new terminal: nothing of the make and the test that started us."""
    ours = ("PENSTOCK_", "GASNET_", "MAKE", "ASAN_", "UBSAN_", "TSAN_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    kept.pop("MFLAGS", None)
    kept.pop("DESTDIR", None)
    kept["PATH"] = os.path.join(checkout, "build/release/bin") + os.pathsep + kept["PATH"]
    return kept


def run(command, checkout):
    """Status and output; a command that takes too long is ended with all it started."""
    job = subprocess.Popen(
        ["/bin/sh", "-c", command], cwd=checkout, env=environment(checkout), text=True,
        errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    )
    try:
        output, _ = job.communicate(timeout=patience(COMMAND_SECONDS))
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        return 124, job.communicate()[0] + f"\nnot finished after {COMMAND_SECONDS} s\n"
    return job.returncode, output


def exemption(command):
    for pattern, reason in EXEMPT:
        if re.search(rf"(^|&&\s*|;\s*){pattern}", command):
            return reason
    return None


def changed(command, temporary):
    """The command as we run it, and why it is not as it stands."""
    reasons = []
    for pattern, replacement, reason in CHANGED:
        other = re.sub(pattern, replacement.replace("{temporary}", temporary), command)
        if other != command:
            command = other
            reasons.append(reason)
    return command, "; ".join(reasons)


def try_command(where, command, checkout, temporary):
    """Whether it worked, or need not."""
    reason = exemption(command)
    if reason:
        print(f"{where}: not run: {command}: {reason}")
        return True
    actual, reason = changed(command, temporary)
    if reason:
        print(f"{where}: run as: {actual}: {reason}")
    status, output = run(actual, checkout)
    print(f"{where}: status {status}: {command}", flush=True)
    if status != 0:
        print(output)
    program = os.path.join(checkout, "hello")
    if os.path.exists(program):
        shutil.copy2(program, os.path.join(checkout, "program"))
    return status == 0


def command_documents(source):
    return [os.path.relpath(path, source) for pattern in COMMAND_DOCUMENTS
            for path in sorted(glob.glob(os.path.join(source, pattern)))]


def check_commands(source):
    tried = faults = 0
    with tempfile.TemporaryDirectory(prefix="penstock-readme-") as temporary:
        checkout = os.path.join(temporary, "penstock")
        copy_checkout(source, checkout)
        with open(os.path.join(checkout, "hello.c"), "w", encoding="utf-8") as hello:
            hello.write(next(blocks(read(os.path.join(source, "README.md")), "c"))[1])
        for document in command_documents(source):
            for number, command in command_lines(read(os.path.join(source, document))):
                tried += 1
                faults += not try_command(f"{document}:{number}", command, checkout, temporary)
    print(f"{tried} commands, {faults} failed")
    return 1 if faults or not tried else 0


# ---- links ---------------------------------------------------------------------------------------


def documents(source):
    for folder, folders, names in os.walk(source):
        if folder == source:
            folders[:] = ["docs"]
        for name in sorted(names):
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def prose(text):
    """The text with its fenced blocks blanked, so that line numbers stay."""
    return re.sub(r"^```.*?^```", lambda found: re.sub(r"[^\n]", "", found.group(0)), text,
                  flags=re.MULTILINE | re.DOTALL)


def anchors(path):
    """Texts that `#...` may have: a heading in small letters, blanks as hyphens, without punctuation."""
    headings = re.findall(r"^#+ (.*)$", prose(read(path)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def link_fault(source, document, target):
    if re.match(r"[a-z]+:", target):
        return None  # elsewhere; a test reaches no network
    name, _, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(document), name)) if name else document
    if os.path.relpath(path, source).startswith(".."):
        return "leads out of the checkout"
    if not os.path.exists(path):
        return "does not exist"
    if anchor and anchor not in anchors(path):
        return f"has no heading for #{anchor}"
    return None


def faults_of(source, document):
    text = prose(read(document))
    for found in re.finditer(r"\]\(([^)\s]+)\)", text):
        fault = link_fault(source, document, found.group(1))
        if fault:
            yield text.count("\n", 0, found.start()) + 1, found.group(1), fault
    # A file named in prose: from the top of the checkout.
    for found in re.finditer(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+\.\w+)`", text):
        if not os.path.exists(os.path.join(source, found.group(1))):
            yield text.count("\n", 0, found.start()) + 1, found.group(1), "does not exist"


def check_links(source):
    count = faults = 0
    for document in documents(source):
        count += 1
        for number, target, fault in faults_of(source, document):
            print(f"{os.path.relpath(document, source)}:{number}: {target} {fault}")
            faults += 1
    print(f"{count} documents, {faults} links or file names lead nowhere")
    return 1 if faults or count < len(COMMAND_DOCUMENTS) else 0


# ---- names ---------------------------------------------------------------------------------------

NAMED_DOCUMENTS = ["README.md", "SECURITY.md", "CONTRIBUTING.md", GUIDE, "docs/conduits/*.md", "docs/man/*.1"]
# Names of a program's environment and of makefiles, which are no rows of the library's tables.
OTHER_NAMES = {"GASNET_TRACELOCAL", "PENSTOCK_RANK", "PENSTOCK_SIZE", "PENSTOCK_COMMAND", "GASNET_NETWORKDEPTH",
               "GASNET_SSH_SERVERS", "GASNET_SSH_NODEFILE", "GASNET_NODEFILE"}
GROUP = r"(?!_?\.\.\.|_?…|_\w|\w)"  # not of NAME_..., which stands for several names


def said_by(command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def texts(source, *patterns):
    return "\n".join(read(path) for pattern in patterns
                     for path in sorted(glob.glob(os.path.join(source, pattern), recursive=True)))


def known_names(source, command):
    """Variables that the library reads, of modules that were not built, too, and names in public headers."""
    shown = json.loads(said_by([command, "info", "--json", "--all"]))["variables"]
    quoted = re.findall(r'"((?:PENSTOCK|GASNET)_[A-Z0-9_]+)"', texts(source, "src/**/*.[ch]", "softnic/**/*.[ch]"))
    # Variables of other implementations, which documents may name to say that they are not read.
    foreign = re.findall(r'"([A-Z0-9_]+)"', texts(source, "src/knob/unknown.c"))
    headers = re.findall(r"\b[A-Za-z_]\w+", texts(source, "include/**/*.h"))
    internal = re.findall(r"\bpen_\w+", texts(source, "src/**/*.[ch]", "softnic/**/*.[ch]"))
    return {*(row["name"] for row in shown), *("GASNET_" + name for name in foreign), *quoted, *headers, *internal, *OTHER_NAMES}


def of_template(name, template):
    """Templates of compat/ write @word@_CC for GASNET_CC."""
    return name.startswith("GASNET_") and re.search(rf"_{name[7:]}\b", template)


def name_faults(source, document, known, template):
    for number, line in enumerate(read(os.path.join(source, document)).splitlines(), 1):
        for name in re.findall(rf"\b(?:PENSTOCK|GASNET|GASNETT|GEX)_[A-Z0-9_]*[A-Z0-9]{GROUP}|"
                               rf"\b(?:gex_[A-Z]|gasnett?_[A-Z]|pen_[A-Za-z])[A-Za-z0-9_]*[A-Za-z0-9]{GROUP}", line):
            if name not in known and not of_template(name, template):
                yield f"{document}:{number}: there is no {name}"


def options_of(command, name):
    """The options that begin the rows of a help text: "  -n N, -np N           ranks to start"."""
    rows = re.findall(r"^  (-(?:\S| (?! ))*)", said_by([command, "help", name]), re.M)
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(rows)))


def option_faults(source, document, options):
    """Options of `penstock NAME ...` in code, up to the program that it starts."""
    names = "|".join(options)
    for number, line in enumerate(read(os.path.join(source, document)).splitlines(), 1):
        for found in re.finditer(rf"\bpenstock ({names})((?: (?!\./|\.\.\.|sh )[^ `#|]+)*)", line):
            for option in re.findall(r"(?<= )--?[a-z][a-z-]*", found.group(2)):
                if option not in options[found.group(1)]:
                    yield f"{document}:{number}: penstock {found.group(1)} has no {option}"


def manual_faults(source, options):
    """The sections of the manual page name the options of the help texts, and no others."""
    page = read(os.path.join(source, "docs/man/penstock.1"))
    for name, section in re.findall(r"^\.Ss penstock (\w+)\n(.*?)(?=^\.S[sh] )", page, re.M | re.S):
        listed = set()
        for line in re.findall(r"^\.It (Fl .*)$", section, re.M):
            listed |= {"-" * len(dashes.split()) + word for dashes, word in re.findall(r"((?:Fl )+)([a-z][a-z-]*)", line)}
        for option in sorted(listed ^ options[name]):
            yield f"docs/man/penstock.1: {option} is not both in its section of penstock {name} and in the help text"


def help_faults(command, options):
    """The help texts name every option that a command takes, as `penstock words` lists them for shells."""
    for name, shown in options.items():
        taken = {word for word in said_by([command, "words", name]).split() if word.startswith("-")}
        for option in sorted(taken - shown - {"--help", "-h", "-np", "-v"}):
            yield f"penstock help {name} does not have {option}"


def target_faults(source, document, targets):
    for number, line in enumerate(read(os.path.join(source, document)).splitlines(), 1):
        for target in re.findall(r"(?:`|^)make ([a-z][a-z-]*)", line):
            if target not in targets:
                yield f"{document}:{number}: there is no target {target}"


def check_names(source, command):
    known, template, faults = known_names(source, command), texts(source, "compat/*.in"), []
    commands = re.findall(r"^  ([a-z]+) ", said_by([command, "help"]), re.M)
    options = {name: options_of(command, name) for name in commands if name not in ("help", "penstock")}
    targets = set(re.findall(r"[a-z-]+", " ".join(
        re.findall(r"^([a-z -]+):", read(os.path.join(source, "Makefile")), re.M))))
    documents_named = [os.path.relpath(path, source) for pattern in NAMED_DOCUMENTS
                       for path in sorted(glob.glob(os.path.join(source, pattern)))]
    for document in documents_named:
        faults += name_faults(source, document, known, template)
        faults += option_faults(source, document, options)
        faults += target_faults(source, document, targets)
    faults += manual_faults(source, options)
    faults += help_faults(command, options)
    print(*faults, f"{len(documents_named)} documents, {len(faults)} names that do not exist", sep="\n")
    return 1 if faults or len(documents_named) < len(COMMAND_DOCUMENTS) else 0


def main():
    if len(sys.argv) < 3 or len(sys.argv) != {"commands": 3, "links": 3, "names": 4}.get(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    source = os.path.realpath(sys.argv[2])
    if sys.argv[1] == "names":
        return check_names(source, sys.argv[3])
    return check_commands(source) if sys.argv[1] == "commands" else check_links(source)


if __name__ == "__main__":
    sys.exit(main())
