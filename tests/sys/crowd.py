"""Besiegers of a server, cheap in CPU: for test_siege.py, and for bench/siege.py."""
import select
import socket
import threading
import time

LOGIN = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
WEBHOOK = b"POST /in/none HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: "
HUGE = b"Content-Length: 8388608\r\n\r\n"
TURN = 0.1  # seconds
AT_ONCE = 400  # that come in a turn at first


class Crowd:
    """n sockets that say something, and drip more each turn. Once all have come (`there`),
    who is cut comes again, but no more than `rate` in a second. With read=False answers are left where they are."""

    def __init__(self, srv, n, say, drip=b"", read=True, source="127.0.0.1", rate=4000):
        self.port, self.n, self.say, self.drip, self.read = srv.port, n, say, drip, read
        self.source, self.most = source, max(1, int(rate * TURN))
        self.socks, self.lost, self.seen, self.stop = [], 0, b"", threading.Event()
        self.there = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def one(self):
        s = socket.socket()
        s.setblocking(False)
        if not self.read:  # so that little is enough to fill it
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.bind((self.source, 0))
        s.connect_ex(("127.0.0.1", self.port))
        ready = select.poll()
        ready.register(s, select.POLLOUT)
        ready.poll(50)
        self.tell(s, self.say)
        return s

    @staticmethod
    def tell(s, data):
        try:
            s.send(data)
        except OSError:
            pass

    def gone(self, s):
        try:
            got = s.recv(4096)
        except BlockingIOError:
            return False
        except OSError:
            got = b""
        self.seen = (self.seen + got)[:200]
        return not got

    def turn(self):
        most = self.most if self.there else AT_ONCE
        self.socks += [self.one() for _ in range(min(most, self.n - len(self.socks)))]
        self.there = self.there or len(self.socks) + self.lost >= self.n
        poll, by_fd = select.poll(), {s.fileno(): s for s in self.socks}
        for fd in by_fd:
            poll.register(fd, select.POLLIN if self.read else 0)
        for fd, what in poll.poll(0):
            s = by_fd[fd]
            if what & (select.POLLERR | select.POLLHUP) or (self.read and self.gone(s)):
                self.lost += 1
                s.close()
                del by_fd[fd]
        self.socks = list(by_fd.values())
        for s in self.socks if self.drip else ():
            self.tell(s, self.drip)

    def run(self):
        while not self.stop.is_set():
            began = time.monotonic()
            self.turn()
            self.stop.wait(max(0.01, began + TURN - time.monotonic()))

    def end(self):
        self.stop.set()
        self.thread.join()
        for s in self.socks:
            s.close()


def bearer(srv, *scopes):
    return b"Authorization: Bearer " + srv.new_key(*scopes)["key"].encode() + b"\r\n"


def by_key(srv, n, **more):
    say = (b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
           bearer(srv, "publish") + HUGE + b" " * 60_000)
    return [Crowd(srv, n, say, drip=b" " * 100_000, **more)]


# Each kind: what besieges a server that has `places` connections.
KINDS = {
    "bodies": lambda srv, places, **more: [
        Crowd(srv, 64, LOGIN + HUGE + b" " * 1000, **more)],
    "webhooks": lambda srv, places, **more: [
        Crowd(srv, 64, WEBHOOK + HUGE + b" " * 60_000, drip=b" " * 60_000, **more)],
    "heads": lambda srv, places, **more: [
        Crowd(srv, places, HEAD, **more), Crowd(srv, places // 8, b"GET /hea", **more),
        Crowd(srv, places // 8, b"", **more)],
    "networks": lambda srv, places, rate=4000: [
        Crowd(srv, places // 4, HEAD, source=f"127.0.1.{i}", rate=rate // 6) for i in range(1, 7)],
    "drips": lambda srv, places, **more: [
        Crowd(srv, places * 5 // 4, LOGIN + b"Content-Length: 60000\r\n\r\n{", drip=b" ", **more)],
    "readers": lambda srv, places, **more: [
        Crowd(srv, places * 5 // 4, b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20,
              read=False, **more)],
    "junk": lambda srv, places, **more: [
        Crowd(srv, places // 4, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 5, **more),
        Crowd(srv, places // 4, bytes(range(256)), **more),
        Crowd(srv, places // 4, b"A" * 30, **more)],
    "key": lambda srv, places, **more: by_key(srv, 64, **more),
    "streams": lambda srv, places, **more: [
        Crowd(srv, 256, b"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\n" + bearer(srv, "read") +
              b"\r\n", **more)],
}
