"""The real newsboat against the real program.

By the Miniflux API it lists, reads and marks. For stars Debian's newsboat 2.21 has
no setting there: its bookmark key gives them, by samples/newsboat/star. By the
Google Reader API, which it calls FeedHQ, it knows them by itself.
"""
import fcntl
import os
import pty
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import termios
import time

from apps import SETTINGS, World  # noqa: F401
from hk import ROOT, SLOW, Skip, check, same, until

STAR = os.path.join(ROOT, "samples", "newsboat", "star")


class Newsboat:
    """One with a home of its own, and no terminal but what we make it."""

    def __init__(self, t, name, *lines):
        if not shutil.which("newsboat"):
            raise Skip("newsboat is not installed")
        self.home = t.path(name)
        os.makedirs(self.home)
        self.cache = os.path.join(self.home, "cache.db")
        with open(os.path.join(self.home, "config"), "w") as f:
            f.write("\n".join(lines) + "\nauto-reload no\nreload-threads 1\nshow-read-feeds yes\nbind-key Y edit-flags\n")
        open(os.path.join(self.home, "urls"), "w").close()
        self.env = {"HOME": self.home, "TERM": "xterm", "LANG": "C.UTF-8", "PATH": os.environ["PATH"]}

    def argv(self, *more):
        at = [os.path.join(self.home, n) for n in ("config", "urls")]
        return ["newsboat", "-C", at[0], "-u", at[1], "-c", self.cache, *more]

    def run(self, *more):
        p = subprocess.run(self.argv(*more), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=60 * SLOW)
        same(p.returncode, 0, f"newsboat {more}: {p.stdout.decode(errors='replace')}")
        return p.stdout.decode()

    def articles(self):
        """{title: (unread, flags)}, as its cache has it."""
        db = sqlite3.connect(self.cache, timeout=10)
        try:
            return {t: (u, f or "") for t, u, f in db.execute("SELECT title, unread, flags FROM rss_item")}
        finally:
            db.close()

    def screen(self):
        return Screen(self)


class Screen:
    """It runs in a pseudo-terminal; keys go in, and what it draws is waited for."""

    def __init__(self, n):
        self.text = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe("newsboat", n.argv(), n.env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))

    def draw(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.fd, 65536)
                except OSError:
                    return

    def wait(self, text):
        until(lambda: self.draw(0.1) or text.encode() in self.text, f"{text!r} is on the screen", 30)
        self.text = b""

    def keys(self, keys, text=None):
        self.text = b""
        os.write(self.fd, keys.encode())
        if text:
            self.wait(text)

    def until(self, fn, what):
        """What it does may come behind what it draws: somebody must look on."""
        until(lambda: self.draw(0.1) or fn(), what, 20)

    def close(self):
        try:
            os.kill(self.pid, signal.SIGTERM)
        except OSError:
            pass
        self.draw(0.3)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def address(srv):
    return f"http://127.0.0.1:{srv.port}"


def miniflux(t, w, name, password=None, *more):
    return Newsboat(t, name, 'urls-source "miniflux"', f'miniflux-url "{address(t.srv)}/miniflux"',
                    f'miniflux-login "{w.name}"', f'miniflux-password "{password or w.token}"', *more)


def test_miniflux(t):
    w = World(t.srv, t)
    n = miniflux(t, w, "mf")
    n.run("-x", "reload")
    same(n.run("-x", "print-unread").strip(), "5 unread articles", "listed")
    same(sorted(n.articles()), ["Article 0", "Article 1", "Article 10", "Article 11", "Article 2"], "read")
    s = n.screen()
    try:
        s.wait("Your feeds")
        s.keys("\r", "in feed")  # the first feed: alpha or beta
        s.keys("\r", "Title:")              # its newest article, and back
        s.keys("q", "in feed")
        s.until(lambda: sum(r for r, _ in w.state().values()) == 1, "opening an article marks it read here")
        s.keys("A")                         # the whole feed
        s.until(lambda: sum(r for r, _ in w.state().values()) in (2, 3), "the whole feed")
    finally:
        s.close()
    left = sum(not r for r, _ in w.state().values())
    # And the other way: what is read here is read there.
    ids = [e["id"] for e in w.entries(status="unread")["entries"]]
    w.mf("PUT", "/miniflux/v1/entries", b'{"entry_ids":[%d],"status":"read"}' % ids[0],
         {"Content-Type": "application/json"}).want(204)
    n.run("-x", "reload")
    same(sum(u for u, _ in n.articles().values()), left - 1, "newsboat knows what was read elsewhere")


def test_miniflux_star(t):
    w = World(t.srv, t)
    n = miniflux(t, w, "star", None, f'bookmark-cmd "{STAR} --config {t.path("star")}/config"', "bookmark-autopilot yes")
    n.run("-x", "reload")
    s = n.screen()
    try:
        s.wait("Your feeds")
        s.keys("\r", "in feed")
        s.keys("\x02")                      # Ctrl-B, on the newest article
        s.until(lambda: sum(x for _, x in w.state().values()) == 1, "starred")
        title = next(k for k, (_, x) in w.state().items() if x)
        same([e["title"] for e in w.entries(starred="true")["entries"]], [title], "for Miniflux too")
        s.keys("\x02")
        s.until(lambda: sum(x for _, x in w.state().values()) == 0, "and no longer")
    finally:
        s.close()
    # What it can't do it says in a line, for newsboat to show.
    for args, says in (([STAR, "--config", f"{n.home}/config", "http://127.0.0.1/none"], "no article at"),
                       ([STAR, "--config", f"{n.home}/none", "http://127.0.0.1/none"], "No such file")):
        p = subprocess.run(args, stdout=subprocess.PIPE, text=True, timeout=60 * SLOW)
        check(p.returncode == 1 and says in p.stdout and p.stdout.count("\n") == 1, says, p.stdout)


def test_google_reader(t):
    w = World(t.srv, t)
    n = Newsboat(t, "gr", 'urls-source "feedhq"', f'feedhq-url "{address(t.srv)}"', f'feedhq-login "{w.name}"',
                 f'feedhq-password "{w.token}"', 'feedhq-flag-star "s"', "feedhq-show-special-feeds no")
    n.run("-x", "reload")
    same(len(n.articles()), 5, "listed and read")
    s = n.screen()
    try:
        s.wait("Your feeds")
        s.keys("\r", "Articles in feed")
        s.keys("\r", "Title:")
        s.keys("q", "in feed")
        s.until(lambda: sum(r for r, _ in w.state().values()) == 1, "marked read")
        s.keys("Y", "lags:")                # edits the flags
        s.keys("s\r")
        s.until(lambda: sum(x for _, x in w.state().values()) == 1, "starred")
        s.keys("Y")                         # what is there already isn't drawn again
        s.draw(1.0 * SLOW)
        s.keys("\x7f\r")
        s.until(lambda: sum(x for _, x in w.state().values()) == 0, "no longer")
    finally:
        s.close()


def test_wrong_password(t):
    w = World(t.srv, t)
    n = miniflux(t, w, "wrong", "wrong")
    p = subprocess.run(n.argv("-x", "reload"), env=n.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=60 * SLOW)
    check(p.returncode != 0, "newsboat gets nothing", p.stdout)
