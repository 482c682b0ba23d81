"""Who is calling: Basic for accounts, Bearer for keys, 401 for the rest."""
import base64
import os
import pty
import re
import select
import stat
import subprocess
import threading

import hk
from hk import PASSWORD, basic, check, envelope, new_id, same


def test_nobody(t):
    for method, path in (("GET", "/v1/events"), ("POST", "/v1/events"), ("GET", "/v1/keys"),
                         ("GET", "/v1/events/stream"), ("GET", "/v1/event-types"),
                         ("POST", "/v1/ping")):
        a = t.srv.connect()(method, path, b"{}" if method == "POST" else None).want(401)
        ways = a.headers.get_all("WWW-Authenticate") or []
        check(any("basic" in w.lower() for w in ways), f"{path} says how to log in", ways)


def test_basic(t):
    t.srv.admin().get("/v1/events").want(200)
    t.srv.admin().publish(envelope()).want(202)


def test_wrong_basic(t):
    srv = t.server()
    for name, password in (("admin", "wrong"), ("admin", ""), ("nobody", PASSWORD)):
        a = srv.connect(basic(name, password)).get("/v1/events").want(401)
        check(a.headers.get("WWW-Authenticate"), "it says how", a.headers.items())
    srv.admin().get("/v1/events").want(200)


def test_wrong_headers(t):
    good = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
    for h in ("Basic", "Basic ", "Basic !!!", "Basic " + base64.b64encode(b"nocolon").decode(),
              "Basic " + good[:-4], "Bearer", "Bearer ", "Bearer hk_", "Bearer hk_" + "x" * 5000,
              "Bearer " + good, "Digest x", good, "Bearer hk_\xe9",
              "Basic " + base64.b64encode(b"a:" + b"b" * 3000).decode()):
        a = t.srv.connect(h).get("/v1/events")
        check(a.status in (400, 401, 431), f"refused: {h[:30]!r}", a)


def test_scheme_in_any_case(t):
    srv = t.srv
    srv.connect("bearer " + srv.key()).get("/v1/events").want(200)
    srv.connect(basic("admin", PASSWORD).replace("Basic", "BASIC")).get("/v1/events").want(200)


def test_unknown_keys(t):
    srv = t.srv
    for key in ("hk_" + "A" * 43, srv.key()[:-1], srv.key() + "x",
                srv.key()[:-1] + ("A" if srv.key()[-1] != "A" else "B"), srv.key().upper()):
        srv.client(key).get("/v1/events").want(401)


def test_asked_before_the_body(t):
    """A stranger's body is not looked at: 401 whatever it is."""
    for body in (b"", b"{", b"x" * 100_000):
        t.srv.connect().post("/v1/events", body).want(401)


def test_many_at_once(t):
    """Password checks are slow by design; publishing with keys goes on."""
    srv, statuses = t.srv, []
    srv.key()

    def go():
        statuses.append(srv.connect(basic("who" + new_id(), "x")).get("/v1/events").status)
    threads = [threading.Thread(target=go) for _ in range(12)]
    for th in threads:
        th.start()
    c = srv.client()
    for _ in range(50):
        c.publish(envelope()).want(202)
    for th in threads:
        th.join(30)
    same(set(statuses) - {401, 429, 503}, set(), "answers to the guesses")


def first_password(srv):
    return os.path.join(srv.data, "first-password")


def test_first_password_in_a_file(t):
    """Without a terminal it is in a file for the owner alone, until it is changed; in no log."""
    srv = t.server(ADMIN_PASSWORD=None, LOG_LEVEL="debug")
    with open(first_password(srv)) as f:
        word = f.read().strip()
    same(stat.S_IMODE(os.stat(first_password(srv)).st_mode), 0o600, "its mode")
    check(len(word) >= 12, "a password", word)
    srv.connect(basic("admin", word)).get("/v1/events").want(200)
    check(first_password(srv).encode() in srv.all_logs(), "the log tells where", srv.all_logs())
    check(word.encode() not in srv.all_logs(), "the password is in what the server says")
    srv.restart()
    check(os.path.exists(first_password(srv)), "it is there as long as it is the password")
    srv.connect(basic("admin", word)).get("/v1/events").want(200)
    srv.admin_key = None
    srv.cli("user", "passwd", "admin", stdin=b"another-Password-1\n").want(0)
    check(not os.path.exists(first_password(srv)), "gone with the password")
    srv.stop()
    check(word.encode() not in srv.all_logs(), "the password is in what the server says")
    with open(first_password(srv), "w") as f:
        f.write("x")
    srv.cli("user", "passwd", "admin", stdin=b"another-Password-2\n").want(0)
    check(not os.path.exists(first_password(srv)), "gone, without a server too")


def test_first_password_on_a_terminal(t):
    """Whoever starts it by hand sees it once, and there is no file."""
    srv = t.server(start=False, ADMIN_PASSWORD=None)
    ours, theirs = pty.openpty()
    proc = subprocess.Popen(
        [hk.BINARY, "serve", "--listen", "127.0.0.1:0", "--data", srv.data], stdout=theirs,
        stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        env=hk.environment({**srv.settings, "ADMIN_PASSWORD": None}, srv.url), cwd=srv.folder)
    os.close(theirs)
    try:
        text = b""
        while b"not shown again" not in text:
            check(select.select([ours], [], [], 20 * hk.SLOW)[0], "the first run prints it", text)
            text += os.read(ours, 4096)
    finally:
        proc.terminate()
        proc.wait(20 * hk.SLOW)
        os.close(ours)
    word = re.search(rb"password  (\S+)", text)[1].decode()
    check(not os.path.exists(first_password(srv)), "a file as well")
    srv.settings["ADMIN_PASSWORD"] = None
    srv.start()
    srv.connect(basic("admin", word)).get("/v1/events").want(200)


def test_changed_admin_password_setting(t):
    """The setting is for the first run; it is no back door later."""
    srv = t.server()
    srv.stop()
    srv.settings["ADMIN_PASSWORD"] = "another-password"
    srv.start()
    srv.admin().get("/v1/events").want(200)
    srv.connect(basic("admin", "another-password")).get("/v1/events").want(401)
