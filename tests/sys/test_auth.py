"""Who is calling: Basic for accounts, Bearer for keys, 401 for the rest."""
import base64
import threading

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


def test_random_password_is_printed_once(t):
    srv = t.server(ADMIN_PASSWORD=None)
    text = srv.all_logs().decode()
    lines = [l for l in text.split("\n") if "password" in l.lower()]
    check(lines, "the first run prints the password", text[-2000:])
    import re
    words = {w for l in lines for w in re.findall(r"[A-Za-z0-9_-]{12,}", l)}
    good = [w for w in words
            if srv.connect(basic("admin", w), source="127.0.0.%d" % (2 + len(w) % 200))
            .get("/v1/events").status == 200]
    same(len(good), 1, f"one of {words} is the password")
    srv.restart()
    with open(srv.log_path) as f:
        check(good[0] not in f.read(), "not printed again")
    srv.connect(basic("admin", good[0])).get("/v1/events").want(200)


def test_changed_admin_password_setting(t):
    """The setting is for the first run; it is no back door later."""
    srv = t.server()
    srv.stop()
    srv.settings["ADMIN_PASSWORD"] = "another-password"
    srv.start()
    srv.admin().get("/v1/events").want(200)
    srv.connect(basic("admin", "another-password")).get("/v1/events").want(401)
