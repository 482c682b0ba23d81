"""netns - a network of our own, in which every address is this machine.

  WHY = netns.enter()     at the top of a test file: from then on this process
                          and all that it starts see lo alone, up, and every
                          IPv4 and IPv6 address is local. What is sent to any
                          address arrives at a socket here, or nowhere.
  netns.inside(WHY)       at the start of a test: skipped where that failed

  trap = Trap(t, 80)      listens on all addresses; trap.hits are (address,
                          path) of what came, path None for no HTTP

  dns = Dns(t, {...})     a name server: name -> a list of addresses, or a
                          function(nth question) that returns one
"""
import ctypes
import http.server
import os
import socket
import struct
import subprocess
import threading

from hk import Skip

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


def enter():
    """None, or why there is no such network here."""
    libc, uid, gid = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET | (CLONE_NEWUSER if uid else 0)) != 0:
        return "no network namespace: " + os.strerror(ctypes.get_errno())
    if uid:
        for name, text in (("setgroups", "deny"), ("gid_map", f"0 {gid} 1"),
                           ("uid_map", f"0 {uid} 1")):
            with open(f"/proc/self/{name}", "w") as f:
                f.write(text)
    for words in ("link set lo up", "route add local 0.0.0.0/0 dev lo",
                  "-6 route add local ::/0 dev lo"):
        r = subprocess.run(["ip", *words.split()], capture_output=True, text=True)
        if r.returncode:
            return f"ip {words}: {r.stderr.strip()}"
    return None


def inside(why):
    if why:
        raise Skip(why)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.bind(self.server_address)

    def get_request(self):
        s, peer = self.socket.accept()
        self.trap.hits.append((s.getsockname()[0], None))
        s.settimeout(10)
        return s, peer

    def handle_error(self, request, client_address):
        pass


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        trap, at = self.server.trap, self.connection.getsockname()[0]
        trap.hits.append((at, self.path))
        self.send_response(trap.status)
        for name, value in trap.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *args):
        pass


class Trap:
    def __init__(self, t, port):
        self.hits, self.status, self.headers, self.servers = [], 200, {}, []
        for host, family in (("0.0.0.0", socket.AF_INET), ("::", socket.AF_INET6)):
            kind = type("S", (_Server,), {"address_family": family, "trap": self})
            s = kind((host, port), _Handler)
            self.servers.append(s)
            threading.Thread(target=s.serve_forever, args=(0.02,), daemon=True).start()
        t.later(self.stop)

    def stop(self):
        for s in self.servers:
            s.shutdown()
            s.server_close()

    def addresses(self):
        return {at for at, _ in list(self.hits)}


def _name(packet, at):
    labels = []
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("latin-1"))
        at += 1 + packet[at]
    return ".".join(labels).lower(), at + 1


class Dns:
    """UDP only, TTL 0; a name that it does not know does not exist."""

    def __init__(self, t, names):
        self.names, self.asked, self.rounds = names, [], {}
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.at = "127.0.0.1:%d" % self.sock.getsockname()[1]
        self.over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        t.later(self.stop)

    def stop(self):
        self.over = True
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"", self.sock.getsockname())
        self.thread.join(5)
        self.sock.close()

    def run(self):
        while not self.over:
            packet, peer = self.sock.recvfrom(2048)
            if len(packet) > 12:
                self.sock.sendto(self.reply(packet), peer)

    def reply(self, packet):
        name, end = _name(packet, 12)
        kind = struct.unpack(">H", packet[end:end + 2])[0]
        self.asked.append((name, kind))
        known = self.names.get(name)
        if callable(known):
            # A and AAAA of one look-up are one question
            n = self.rounds[(name, kind)] = self.rounds.get((name, kind), 0) + 1
            known = known(n)
        found = [socket.inet_pton(socket.AF_INET6 if ":" in a else socket.AF_INET, a)
                 for a in known or []]
        found = [a for a in found if (kind, len(a)) in ((1, 4), (28, 16))]
        code = 0x8180 if known is not None else 0x8183
        out = packet[:2] + struct.pack(">HHHHH", code, 1, len(found), 0, 0) + packet[12:end + 4]
        for a in found:
            out += struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(a)) + a
        return out
