#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forged ICMP: a stranger tells the sockets of a job, again and again, that their peers cannot be reached. The job
goes on, and says nothing of it.

    icmp.py <penstock> <chaos.traffic> [--messages N]
"""
import argparse
import os
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile  # noqa: E402  (the folder is named above)

# Types and codes that the kernel hands on to a connected socket: ENOPROTOOPT, ECONNREFUSED, EMSGSIZE, ENETUNREACH,
# EHOSTDOWN, ENONET, EHOSTUNREACH, EPROTO.
KINDS = [(3, 2), (3, 3), (3, 4), (3, 6), (3, 7), (3, 8), (3, 13), (12, 0)]
SECONDS = 5


def sum_of(content):
    total = sum(struct.unpack(f">{len(content) // 2}H", content))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def forge(kind, near, far):
    """The message that a router would send to `near` about a datagram from it to `far`; each an address and a
    port."""
    udp = struct.pack(">HHHH", near[1], far[1], 100, 0)
    inner = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + 100, 1, 0, 64, socket.IPPROTO_UDP, 0,
                        socket.inet_aton(near[0]), socket.inet_aton(far[0]))  # fmt: skip
    rest = struct.pack(">HH", 0, 1400 if kind == (3, 4) else 0)
    plain = struct.pack(">BBH", *kind, 0) + rest + inner + udp
    return plain[:2] + struct.pack(">H", sum_of(plain)) + plain[4:]


def address_of(text):
    ip, port = text.split(":")
    return socket.inet_ntoa(struct.pack("<I", int(ip, 16))), int(port, 16)


def connected():
    """Connected UDP sockets of this namespace: near and far end."""
    with open("/proc/net/udp", encoding="ascii") as file:
        rows = [line.split() for line in list(file)[1:]]
    return [(address_of(row[1]), address_of(row[2])) for row in rows if int(row[2].split(":")[1], 16) != 0]


class Forger(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.sent, self.ends = 0, False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

    def run(self):
        while not self.ends:
            for near, far in connected():
                for kind in KINDS:
                    self.socket.sendto(forge(kind, near, far), (near[0], 0))
                    self.sent += 1
            time.sleep(0.001)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("traffic")
    options = parser.parse_args()
    if not hostile.enter_namespace():
        return 77
    # Linux accepts a thousand such messages a second, and 50 at once, so counting the sent ones would prove nothing.
    for name in ("icmp_msgs_per_sec", "icmp_msgs_burst"):
        with open(f"/proc/sys/net/ipv4/{name}", "w", encoding="ascii") as file:
            file.write("1000000")
    forger = Forger()
    forger.start()
    command = [options.penstock, "run", "-n", "4", "--conduit", "udp", "--timeout", "240", options.traffic, str(SECONDS)]
    job = hostile.start_job(command, os.environ)
    time.sleep(SECONDS)
    try:
        out, err = job.communicate(timeout=hostile.patience(200))
    except subprocess.TimeoutExpired:
        job.kill()
        out, err = job.communicate()
    forger.ends = True
    forger.join()
    said = [line for line in err.decode(errors="replace").splitlines() if "penstock" in line and "counters:" not in line]
    print(f"{forger.sent} forged messages; status {job.returncode}; said {said[:5]}")
    if job.returncode != 0 or b"complete" not in out:
        print(f"the job failed: {out[-500:]!r} {err[-1500:]!r}")
        return 1
    if said:
        return 1
    return 0 if forger.sent > 1000 else 1


if __name__ == "__main__":
    sys.exit(main())
