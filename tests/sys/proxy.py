"""proxy - an HTTP proxy that only connects, for the system tests.

  p = Proxy(t)         listens on 127.0.0.1; ends with the test
  p = Proxy(t, {"example.org:443": ("127.0.0.1", port)})   where names are
  p.url                what webhook.proxy names
  p.asked              the targets of all CONNECTs so far, as "host:port"
  p.sent               (monotonic seconds, bytes) of what went to the targets

It speaks CONNECT alone and goes to loopback alone.
"""
import socket
import threading
import time


class Proxy:
    def __init__(self, t, names=None):
        self.names = names or {}
        self.asked, self.sent, self.open = [], [], []
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.sock.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()
        t.later(self.stop)

    def stop(self):
        for s in [self.sock] + self.open:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def accept(self):
        while True:
            try:
                s, _ = self.sock.accept()
            except OSError:
                return
            self.open.append(s)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        head = b""
        while b"\r\n\r\n" not in head:
            got = s.recv(4096)
            if not got:
                return
            head += got
        verb, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        self.asked.append(target)
        host, port = self.names.get(target) or target.rsplit(":", 1)
        try:
            if verb != "CONNECT" or not host.startswith("127."):
                raise OSError("refused")
            up = socket.create_connection((host, int(port)), 10)
        except OSError:
            s.sendall(b"HTTP/1.1 502 no\r\nContent-Length: 0\r\n\r\n")
            s.close()
            return
        self.open.append(up)
        s.sendall(b"HTTP/1.1 200 go\r\n\r\n")
        rest = head.split(b"\r\n\r\n", 1)[1]
        if rest:
            self.pass_on(rest, up)
        threading.Thread(target=self.pipe, args=(up, s, False), daemon=True).start()
        self.pipe(s, up, True)

    def pass_on(self, data, up):
        self.sent.append((time.monotonic(), len(data)))
        up.sendall(data)

    def pipe(self, one, other, out):
        try:
            while data := one.recv(65536):
                if out:
                    self.pass_on(data, other)
                else:
                    other.sendall(data)
        except OSError:
            pass
        for s in (one, other):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
