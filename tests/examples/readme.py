#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""readme.py SOURCE BUILD COMPILER: tries the commands of README.md, in its order.

Every line of its ```sh blocks is run, in a folder of its own, with the program of its ```c block as
hello.c and as ./program; build/release stands for BUILD. A few lines have a test elsewhere, or need
more than a test may do: they are named in ELSEWHERE, with the reason. A command that is neither is
run as it stands, so that a README that promises too much fails.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ELSEWHERE = {
    r"make run\b": "a job of CI; examples.randomaccess.* plays the same",
    r"make test\b": "it is what runs this",
    r"make build\b": "the build under test",
    r"make install\b": "the install tests",
    r"make bench": "too long, and a machine that runs tests tells nothing about speed",
    r"make (check|help|test-long)\b": "stages of make test",
    r"git clone\b": "needs a network",
    r"apt-get\b": "needs root; scripts/deps has its own tests",
}
TIMEOUT_S = 60


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text):
    """The lines of all shell blocks, without comments; a line that ends in \\ goes on."""
    for block in blocks(text, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            if line:
                yield line


def run(line, folder, source, build):
    line = line.replace("$PWD/build/release", build).replace("build/release", build)
    line = line.replace("-Iinclude", f"-I{source}/include")
    line = line.replace("docs/", f"{source}/docs/")
    path = os.path.join(build, "bin") + os.pathsep + os.environ["PATH"]
    environment = dict(os.environ, PATH=path, MANPAGER="cat")
    job = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    return job.returncode, job.stdout


def main():
    source, build, compiler = (os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
    with open(os.path.join(source, "README.md"), encoding="utf-8") as readme:
        text = readme.read()
    failed = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "hello.c"), "w", encoding="utf-8") as hello:
            hello.write(blocks(text, "c")[0])
        for line in commands(text):
            if any(re.match(pattern, line) for pattern in ELSEWHERE):
                continue
            line = re.sub(r"^cc\b", compiler, line)
            status, said = run(line, folder, source, build)
            tried += 1
            if status != 0:
                failed += 1
                print(f"status {status}: {line}\n{said}")
            made = os.path.join(folder, "hello")
            if os.path.exists(made):
                shutil.copy(made, os.path.join(folder, "program"))
    if tried == 0:
        print("README.md has no command to try")
        return 1
    print(f"{tried} commands of README.md tried, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
