#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hostile_hosts.py PENSTOCK TRAFFIC [--datagrams N] [--connections N] [--seed S]: strangers on a job's network.

A job runs on four hosts (see network.py); a fifth on the same network is hostile. It floods the ports of the ranks as
tests/udp/hostile.py does on one host, half of it under the addresses of the job's own hosts, and connects to every TCP port
that the job may have. Of what goes over the wires nothing may be an answer; sshd apart nothing may listen anywhere; the job
ends as if nobody had been there and logs little.
"""
import argparse
import os
import random
import socket
import struct
import sys
import threading
import time

import network

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "udp"))
import hostile  # noqa: E402

HOSTS = 4
RANKS = 2 * HOSTS
STRANGER_PORTS = range(30000, 30016)  # which no rank has
FRAGMENT_LEN = 1480
ETH_P_IP, ETH_P_ALL = 0x0800, 3  # a bridge takes packets before any but the second sees them


class Forger:
    """Sends under the address of another host; who answers, answers there."""

    def __init__(self, addresses, rng):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.addresses, self.rng = addresses, rng

    def send(self, bytes_, target):
        """In pieces, as the kernel takes no long ones that have a header."""
        source = self.rng.choice([a for a in self.addresses if a != target[0]])
        datagram = struct.pack("!HHHH", self.rng.choice(STRANGER_PORTS), target[1], 8 + len(bytes_), 0) + bytes_
        number = self.rng.randrange(1 << 16)
        for at in range(0, len(datagram), FRAGMENT_LEN):
            piece = datagram[at:at + FRAGMENT_LEN]
            more = at + FRAGMENT_LEN < len(datagram)
            head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(piece), number, (0x2000 if more else 0) | at // 8, 64,
                               socket.IPPROTO_UDP, 0, socket.inet_aton(source), socket.inet_aton(target[0]))
            self.socket.sendto(head + piece, (target[0], 0))

    def answers(self):
        return 0  # the watch sees them


class Watch(threading.Thread):
    """Looks at what the hosts send: to a stranger's port, or to the hostile host at all."""

    def __init__(self, sockets, hosts, enemy):
        super().__init__(daemon=True)
        self.sockets, self.hosts, self.enemy = sockets, set(map(socket.inet_aton, hosts)), socket.inet_aton(enemy)
        self.answers = self.bytes = self.seen = 0
        self.over = False
        for one in sockets:
            one.settimeout(0.05)
        self.threads = [threading.Thread(target=self.watch, args=(one,), daemon=True) for one in sockets]
        for thread in self.threads:
            thread.start()

    def watch(self, one):
        while not self.over:
            try:
                packet, address = one.recvfrom(65535)
            except TimeoutError:
                continue
            if address[1] != ETH_P_IP or address[2] == socket.PACKET_OUTGOING:
                continue
            if packet[9] != socket.IPPROTO_UDP or packet[12:16] not in self.hosts:
                continue
            self.seen += 1
            first = struct.unpack("!H", packet[6:8])[0] & 0x1FFF == 0
            port = struct.unpack("!H", packet[22:24])[0] if first else 0
            if packet[16:20] == self.enemy or port in STRANGER_PORTS:
                self.answers += 1
                self.bytes += len(packet) - 28


def daemon_net(net, i):
    return f"/proc/{net.daemons[i].pid}/net"


def set_ports(net):
    """All that a rank's socket may get."""
    for name in net.names:
        ports = f"{hostile.PORTS[0]} {hostile.PORTS[-1]}"
        network.call(*net.inside(name, "sh", "-c", f"echo '{ports}' > /proc/sys/net/ipv4/ip_local_port_range"))


def ports_of(net):
    return [(net.address(i), port) for i in range(HOSTS) for port in sorted(hostile.bound_ports(daemon_net(net, i)))]


def listeners(net):
    """(host, port) of all listening TCP ports, the launcher's host among them."""
    found = {(net.names[i], port) for i in range(HOSTS) for port in hostile.listening(daemon_net(net, i))}
    with net.entered("root"):
        found |= {("root", port) for port in hostile.listening("/proc/thread-self/net")}
    return found


def play(net, options, problems):
    enemy = net.names[HOSTS]
    hosts = [net.address(i) for i in range(HOSTS)]
    rng = random.Random(options.seed)
    with net.entered("root"):
        wires, heard = ([hostile.packets_of(f"to{name}", ETH_P_ALL) for name in net.names[:HOSTS]] for _ in range(2))
    with net.entered(enemy):
        strangers = [hostile.Stranger(net.address(HOSTS), port) for port in STRANGER_PORTS]
        strangers += [Forger(hosts, rng) for _ in strangers]
    watch, eavesdropper = Watch(wires, hosts, net.address(HOSTS)), hostile.Eavesdropper(*heard)
    flood = hostile.Flood(random.Random(options.seed + 1), eavesdropper, options.datagrams, strangers,
                          [(host, port) for host in hosts for port in hostile.PORTS])
    flood.start()
    begin = time.monotonic()
    places = ",".join(f"{name}:2" for name in net.names[:HOSTS])
    job = hostile.start_job(net.inside("root", options.penstock, "run", "-n", str(RANKS), "--hosts", places, "--timeout",
                                       "240", options.traffic, str(options.seconds)), net.environment())
    end = time.monotonic() + hostile.patience(60)
    while len(ports := ports_of(net)) < RANKS and job.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    if len(ports) < RANKS:
        problems.append(f"only {len(ports)} ports of the job were found")
    flood.aim(ports or flood.anywhere, options.datagrams)
    open_ports = listeners(net)

    def make():
        with net.entered(enemy):
            return socket.socket(socket.AF_INET, socket.SOCK_STREAM)

    others = [(net.address(net.names.index(name)) if name != "root" else "10.77.3.1", port) for name, port in open_ports
              if port != network.PORT]
    accepted = hostile.connect_all(rng, options.connections, problems, lambda: others + ports, make)
    dropped, log = hostile.judge(job, flood, problems)
    seconds = time.monotonic() - begin
    flood.over = eavesdropper.over = True
    flood.join()
    time.sleep(0.2)  # what is on its way
    watch.over = True
    answers = flood.answers() + watch.answers
    listen = sorted(place for place in open_ports if place[1] != network.PORT)
    if listen:
        problems.append(f"these listen besides sshd: {listen}")
    if accepted:
        problems.append(f"{accepted} connections were accepted")
    if answers:
        problems.append(f"{answers} datagrams answered, {watch.bytes} bytes on the wires")
    if dropped == 0:
        problems.append("no rank has counted a datagram of a stranger")
    if watch.seen == 0:
        problems.append("the watch has seen nothing of the job's own")
    if flood.sent < options.datagrams:
        problems.append(f"the job was over before {options.datagrams:.0f} datagrams were sent: {flood.sent}")
    print(f"{flood.sent} datagrams to the ranks of four hosts, of {len(flood.lengths)} lengths from {min(flood.lengths)} to "
          f"{max(flood.lengths)} bytes, half of them under their own addresses, {options.connections} connections of which "
          f"{accepted} found a listener; {watch.seen} packets of the job watched, {dropped} datagrams dropped and counted, "
          f"{answers} answered, {log} bytes logged; {seconds:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("penstock")
    parser.add_argument("traffic")
    parser.add_argument("--datagrams", type=float, default=2e4)
    parser.add_argument("--connections", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=3.0, help="of the job's traffic")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.penstock, options.traffic = map(os.path.realpath, (options.penstock, options.traffic))
    problems = []
    try:
        with network.Network(HOSTS + 1) as net:
            set_ports(net)
            play(net, options, problems)
    except network.Missing as why:
        network.skip(why)
    return hostile.verdict(problems)


if __name__ == "__main__":
    sys.exit(main())
