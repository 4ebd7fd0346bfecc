# SPDX-License-Identifier: BSD-3-Clause
"""Hosts for tests: network namespaces joined by a bridge, a real sshd in each, all with names, keys and
files of their own under one temporary folder. What is made is removed, also when a test fails: the bridge
lives in a namespace as well, and namespaces take their links with them. What a test that was killed has left is
removed by the next one: its names say which process made it."""

import contextlib
import ctypes
import itertools
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from patience import patience  # noqa: E402  (the folder is named above)

SKIPPED = 77
PORT = 22022
CLONE_NEWNET = 0x40000000
SPACES = "/var/run/netns"
FOLDER = "penstock-hosts-"
SERIAL = itertools.count()  # of this process's networks


class Missing(Exception):
    """These hosts cannot be made here."""


def call(*words, check=True):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done


def words_of(pid):
    """The command line; empty: it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")[:-1]
    except OSError:
        return []


def need():
    if os.geteuid() != 0:
        raise Missing("network namespaces want root")
    for command in ("ip", "ssh", "ssh-keygen"):
        if shutil.which(command) is None:
            raise Missing(f"there is no {command}")
    if not os.access("/usr/sbin/sshd", os.X_OK):
        raise Missing("there is no /usr/sbin/sshd (package openssh-server)")


def all_processes(path):
    """Pids in the namespace that has this file, zombies apart."""
    try:
        space = os.stat(path).st_ino
    except FileNotFoundError:
        return []
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.stat(f"/proc/{entry}/ns/net").st_ino == space:
                    found.append(int(entry))
            except OSError:  # it has ended
                continue
    return found


def end_all(path):
    """Every process that still runs in one of the test's namespaces belongs to the test."""
    for pid in all_processes(path):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def left_by_the_dead(folder, pattern):
    """Objects that are named after a process that has ended."""
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        maker = re.match(pattern, entry)
        if maker and not os.path.exists(f"/proc/{maker[1]}"):
            yield entry


def clear_after_the_dead():
    for name in left_by_the_dead(SPACES, r"pen(\d+)x\d"):
        end_all(os.path.join(SPACES, name))
        call("ip", "netns", "delete", name, check=False)
    for name in left_by_the_dead(tempfile.gettempdir(), FOLDER + r"(\d+)-"):
        shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)


class Network:
    """with Network(4) as net: hosts net.names, commands run where the launcher is by net.inside(...)."""

    def __init__(self, count):
        self.count = count
        self.names = [f"h{i}" for i in range(count)]
        self.tag = f"pen{os.getpid()}x{next(SERIAL)}"
        self.folder = None
        self.daemons = []
        self.spaces = []

    def __enter__(self):
        need()
        try:
            clear_after_the_dead()
            self.folder = tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-")
            self.make_spaces()
            self.make_daemons()
        except RuntimeError as error:
            self.remove()
            raise Missing(str(error)) from error
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def space(self, name):
        return f"{self.tag}{name}"

    def inside(self, name, *words):
        """The words of a command that runs in that host's namespace; "root": where the launcher is."""
        return ["ip", "netns", "exec", self.space(name), *words]

    def address(self, i):
        return f"10.77.3.{i + 10}"

    # The launcher's namespace has the bridge, with an address on it.
    def make_spaces(self):
        for name in ["root", *self.names]:
            call("ip", "netns", "add", self.space(name))
            self.spaces.append(name)
            call(*self.inside(name, "ip", "link", "set", "lo", "up"))
        call(*self.inside("root", "ip", "link", "add", "br0", "type", "bridge"))
        call(*self.inside("root", "ip", "address", "add", "10.77.3.1/24", "dev", "br0"))
        call(*self.inside("root", "ip", "link", "set", "br0", "up"))
        for i, name in enumerate(self.names):
            call(*self.inside("root", "ip", "link", "add", f"to{name}", "type", "veth", "peer", "name", "eth0",
                              "netns", self.space(name)))
            call(*self.inside("root", "ip", "link", "set", f"to{name}", "master", "br0", "up"))
            call(*self.inside(name, "ip", "address", "add", f"{self.address(i)}/24", "dev", "eth0"))
            call(*self.inside(name, "ip", "link", "set", "eth0", "up"))

    def file(self, name):
        return os.path.join(self.folder, name)

    def make_daemons(self):
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        for key in ("host", "user"):
            call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.file(key))
        shutil.copy(self.file("user.pub"), self.file("authorized"))
        os.chmod(self.folder, 0o755)
        os.chmod(self.file("authorized"), 0o644)
        user = pwd.getpwuid(os.geteuid()).pw_name
        with open(self.file("host.pub"), encoding="ascii") as f:
            host_key = " ".join(f.read().split()[:2])
        with open(self.file("known"), "w", encoding="ascii") as f:
            f.write(f"penstock-test {host_key}\n")
        with open(self.file("sshd.conf"), "w", encoding="ascii") as f:
            f.write(f"Port {PORT}\nHostKey {self.file('host')}\nAuthorizedKeysFile {self.file('authorized')}\n"
                    "PidFile none\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                    "StrictModes no\nPermitRootLogin yes\nPrintMotd no\nMaxStartups 100\nLogLevel ERROR\n"
                    "AcceptEnv HWLOC_SYNTHETIC\n")
        with open(self.file("ssh.conf"), "w", encoding="ascii") as f:
            for i, name in enumerate(self.names):
                f.write(f"Host {name}\n  HostName {self.address(i)}\n")
            f.write(f"Host *\n  Port {PORT}\n  User {user}\n  IdentityFile {self.file('user')}\n"
                    f"  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n  HostKeyAlias penstock-test\n"
                    f"  UserKnownHostsFile {self.file('known')}\n  GlobalKnownHostsFile /dev/null\n")
        for name in self.names:
            self.start_daemon(name)
        for name in self.names:
            self.await_daemon(name)

    def start_daemon(self, name):
        with open(self.file(f"{name}.log"), "ab") as log:
            self.daemons.append(subprocess.Popen(
                self.inside(name, "/usr/sbin/sshd", "-D", "-e", "-f", self.file("sshd.conf")),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True))

    def await_daemon(self, name):
        end = time.monotonic() + patience(60)
        while True:
            done = call(*self.inside("root", "ssh", "-F", self.file("ssh.conf"), "-o", "BatchMode=yes", name, "true"),
                        check=False)
            if done.returncode == 0:
                return
            if time.monotonic() > end:
                raise RuntimeError(f"no sshd answers on {name}: {done.stderr.strip()}")
            time.sleep(0.1)

    def environment(self, **extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PENSTOCK_", "GASNET_", "SLURM_"))}
        env["GASNET_SSH_OPTIONS"] = f"-F {self.file('ssh.conf')}"
        env.update(extra)
        return env

    def link(self, name, up):
        call(*self.inside("root", "ip", "link", "set", f"to{name}", "up" if up else "down"))

    def mtu(self, name, len_max):
        call(*self.inside(name, "ip", "link", "set", "eth0", "mtu", str(len_max)))

    def misdirect(self, name, other):
        """Packets from one host to another get a hardware address that no host has."""
        at = self.address(self.names.index(other))
        call(*self.inside(name, "ip", "neigh", "replace", at, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud",
                          "permanent"))

    def find_again(self, name, other):
        at = self.address(self.names.index(other))
        call(*self.inside(name, "ip", "neigh", "delete", at, "dev", "eth0"))

    def route(self, name, other, there):
        at = self.address(self.names.index(other))
        call(*self.inside(name, "ip", "route", "delete" if there else "add", "unreachable", f"{at}/32"))

    def processes(self, name):
        """Pids in that host's namespace, sshd itself and zombies apart."""
        own = {p.pid for p in self.daemons}
        return [pid for pid in all_processes(self.path(name)) if pid not in own]

    def path(self, name):
        return os.path.join(SPACES, self.space(name))

    @contextlib.contextmanager
    def entered(self, name):
        """Sockets that this thread makes within belong to that host, and /proc/thread-self/net is its."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/thread-self/ns/net", "rb") as before, open(self.path(name), "rb") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield
            finally:
                if libc.setns(before.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")

    def remove(self):
        for name in self.spaces:
            end_all(self.path(name))
        for daemon in self.daemons:
            daemon.wait()
        for name in self.spaces:
            call("ip", "netns", "delete", self.space(name), check=False)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.daemons, self.spaces, self.folder = [], [], None


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)
