# SPDX-License-Identifier: BSD-3-Clause
"""A page in headless Chromium: its picture, its text after scripts ran, and the errors on its console."""

import contextlib
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

BROWSER_SECONDS = 60
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
         "--window-size=1280,1600", "--virtual-time-budget=10000"]
# The browser prints a line for each message of the console: the source, then the words.
CONSOLE = re.compile(r":CONSOLE[:(]\d+\)?\] \"(.*)\", source: (\S*)")
HARMLESS = re.compile(r"^(?!.*(Uncaught|Error|error|Failed|404|Refused|denied)).*$")


def find():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """Serves a folder on a loopback port; gives the address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def run(address, *more):
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run([find(), *FLAGS, f"--user-data-dir={profile}", *more, address], capture_output=True,
                              text=True, errors="replace", timeout=patience(BROWSER_SECONDS), check=True,
                              stdin=subprocess.DEVNULL)


def errors(said):
    """The messages on the console that tell of an error."""
    found = [match[1] for match in CONSOLE.finditer(said)]
    return [message for message in found if not HARMLESS.match(message)]


def look(address, picture):
    """Takes a picture of a page. Returns its text as scripts left it, and the errors on its console."""
    shot = run(address, f"--screenshot={picture}")
    page = run(address, "--dump-dom")
    return page.stdout, errors(shot.stderr + page.stderr)
