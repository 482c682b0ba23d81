#!/usr/bin/env python3
"""refresh.py [FEEDS [ITEMS]] - how fast feeds are fetched: all new, then nothing new (304).

2,000 feeds of 50 articles, each on an address of its own of 127.0.0.0/8, served by one process
of this file. Says feeds a second, CPU time of the server a feed and its peak of memory.
HK_STORE=postgres with HK_PG_URL does the same there.
"""
import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sys"))
import hk  # noqa: E402
from feedsite import SETTINGS, change  # noqa: E402


class Sites(asyncio.Protocol):
    """Every address, every path: a feed of its own, with an ETag."""
    items = 50

    def connection_made(self, transport):
        self.transport, self.host, self.got = transport, transport.get_extra_info("sockname")[0], b""

    def data_received(self, data):
        self.got += data
        while b"\r\n\r\n" in self.got:
            head, self.got = self.got.split(b"\r\n\r\n", 1)
            if b"\r\nif-none-match:" in head.lower():
                self.transport.write(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')
                continue
            body = self.feed()
            self.transport.write(b'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Type: application/rss+xml\r\n'
                                 b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def feed(self):
        out = [f"<rss version='2.0'><channel><title>{self.host}</title><link>http://{self.host}/</link>"]
        for i in range(self.items):
            out.append(f"<item><guid>{self.host}-{i}</guid><title>Article {i} of {self.host}</title>"
                       f"<link>http://{self.host}/article/{i}</link><pubDate>Tue, 10 Nov 2026 12:{i % 60:02}:00 GMT</pubDate>"
                       "<description>&lt;p&gt;Some words of an article, with &lt;b&gt;markup&lt;/b&gt; and "
                       f"&lt;a href='/x/{i}'&gt;a link&lt;/a&gt;, as they are in feeds.&lt;/p&gt;{'text ' * 60}</description></item>")
        return ("".join(out) + "</channel></rss>").encode()


async def serve():
    server = await asyncio.get_running_loop().create_server(Sites, "0.0.0.0", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def plant(srv, urls):
    columns = ("(uid, feed_url, title, fetch_status, consecutive_errors, parse_errors, next_fetch_at, claimed_until,"
               " subscribers, items, version, created_at, updated_at)")
    if srv.url:
        for at in range(0, len(urls), 500):
            change(srv, f"INSERT INTO feed {columns} VALUES " + ",".join(
                f"('\\x{uuid.uuid4().hex}', '{u}', 'x', 'active', 0, 0, 9000000000000000000, 0, 1, 0, 0, 1, 1)"
                for u in urls[at:at + 500]))
        change(srv, "INSERT INTO feed_subscription (uid, user_id, feed_id, fetch_interval_minutes, created_at, updated_at)"
               " SELECT uid, 1, id, 60, 1, 1 FROM feed")
        return
    db = sqlite3.connect(os.path.join(srv.data, "hikyaku.db"), timeout=20)
    with db:
        db.executemany(f"INSERT INTO feed {columns} VALUES (?, ?, 'x', 'active', 0, 0, 9000000000000000000, 0, 1, 0, 0, 1, 1)",
                       ((uuid.uuid4().bytes, u) for u in urls))
        db.execute("INSERT INTO feed_subscription (uid, user_id, feed_id, fetch_interval_minutes, created_at, updated_at)"
                   " SELECT uid, 1, id, 60, 1, 1 FROM feed")
    db.close()


def pids(srv):
    """The server and the processes that it started."""
    found = [srv.proc.pid]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) in found:
                    found.append(int(pid))
        except FileNotFoundError:
            pass  # it has ended
    return found


def cpu(srv):
    """With that of children that have ended."""
    ticks = 0
    for pid in pids(srv):
        with open(f"/proc/{pid}/stat") as f:
            ticks += sum(int(v) for v in f.read().rsplit(")", 1)[1].split()[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def peak(srv):
    """Of each process, added up; what they share counts for each."""
    total = 0
    for pid in pids(srv):
        with open(f"/proc/{pid}/status") as f:
            total += next(int(l.split()[1]) for l in f if l.startswith("VmHWM:")) / 1024
    return total


def round_of(srv, name, n, have):
    begin_cpu, begin = cpu(srv), time.monotonic()
    change(srv, "UPDATE feed SET next_fetch_at = 0")
    while True:
        got = int(srv.rows("SELECT COUNT(*) FROM feed_fetch")[0][0])
        if got >= have + n:
            break
        if time.monotonic() - begin > 600:
            sys.exit(f"only {got - have} of {n} within 10 minutes")
        time.sleep(0.1)
    took, used = time.monotonic() - begin, cpu(srv) - begin_cpu
    print(f"{name:28} {n / took:8.0f} feeds/s   {1000 * used / n:7.2f} ms CPU a feed   peak {peak(srv):5.0f} MB", flush=True)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    items = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    sites = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", str(items)], stdout=subprocess.PIPE)
    port = int(sites.stdout.readline())
    folder = tempfile.mkdtemp(prefix="hk-bench-")
    srv = hk.Server(folder, {**SETTINGS, "FETCH_INTERVAL": "100ms"})
    try:
        plant(srv, [f"http://127.0.{100 + i // 250}.{1 + i % 250}:{port}/feed" for i in range(n)])
        print(f"{n} feeds of {items} articles, {hk.STORE}, 10 at once")
        round_of(srv, "all new", n, 0)
        got = int(srv.rows("SELECT COUNT(*) FROM feed_item")[0][0])
        if got != n * items:
            sys.exit(f"{got} articles, not {n * items}")
        round_of(srv, "nothing new (304)", n, n)
        change(srv, "UPDATE feed SET etag = NULL")
        round_of(srv, "the same bytes, no ETag", n, 2 * n)
        srv.stop()
    finally:
        sites.terminate()
        srv.kill9()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        Sites.items = int(sys.argv[2])
        asyncio.run(serve())
    else:
        main()
