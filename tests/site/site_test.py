#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""site_test.py SOURCE: builds the site of the documents as `make docs` does, looks at three pages in headless
Chromium, and fails if a page shows no text, or if its console has an error. Pictures are left in build/site."""

import os
import subprocess
import sys
import tempfile

import browser

PAGES = {  # page -> what it must show
    "index.html": ["Penstock", "Two commands"],
    "design/life-of-a-put.html": ["The life of a put", '<div class="mermaid"'],
    "reference/api/penstock-rma.h.html": ["gex_RMA_PutNB", "Tested by"],
}
SKIPPED = 77


def missing(source):
    if not browser.find():
        return "there is no chromium"
    if not os.path.exists(os.path.join(source, "build", "venv", "bin", "mkdocs")):
        return "there is no mkdocs"
    return None


def the_check_can_fail():
    """A page with an error in its script is found out."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
            file.write("<script>undefined_function()</script><p>text</p>")
        with browser.served(folder) as address:
            return bool(browser.look(f"{address}/index.html", os.path.join(folder, "shot.png"))[1])


def check_page(address, folder, name, wanted):
    picture = os.path.join(folder, os.path.basename(name).replace(".html", ".png"))
    text, errors = browser.look(f"{address}/{name}", picture)
    faults = [f"{name}: console: {error}" for error in errors]
    faults += [f"{name}: a diagram is shown as text"] if '<pre class="mermaid"' in text else []
    faults += [f"{name}: does not show {words!r}" for words in wanted if words not in text]
    if not os.path.isfile(picture) or os.path.getsize(picture) < 10000:
        faults.append(f"{name}: the picture is empty")
    return faults


def main():
    source = os.path.realpath(sys.argv[1])
    why = missing(source)
    if why:
        print(f"skipped: {why} (scripts/deps docs installs it)")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    subprocess.run([os.path.join(source, "scripts", "make_site")], check=True)
    folder = os.path.join(source, "build", "site")
    faults = [] if the_check_can_fail() else ["an error on a console was not noticed"]
    with browser.served(os.path.join(folder, "html")) as address:
        for name, wanted in PAGES.items():
            faults += check_page(address, folder, name, wanted)
    print(*faults, f"{len(PAGES)} pages, {len(faults)} faults", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
