"""Guessing passwords is slowed down for who guesses, not for the owner."""
import time

from hk import basic, check, envelope, same

SETTINGS = {"LOGIN_FAILURES_MAX": "3", "LOGIN_LOCK": "4s"}
WRONG = basic("admin", "guess")


def lock(srv, source):
    """Guesses until it is locked; returns the first refusal."""
    c = srv.connect(WRONG, source=source)
    for _ in range(12):
        a = c.get("/v1/events")
        if a.status == 429:
            return a
        a.want(401)
    check(False, "twelve wrong passwords and no lock")


def test_locks_who_guesses(t):
    srv = t.server()
    a = lock(srv, "127.0.0.2").want(429)
    check(int(a.headers["Retry-After"]) >= 1, "Retry-After", a.headers.items())
    srv.admin(source="127.0.0.2").get("/v1/events").want(429)


def test_not_the_owner(t):
    srv = t.server()
    lock(srv, "127.0.0.2")
    srv.admin(source="127.0.0.3").get("/v1/events").want(200)
    srv.admin().get("/v1/events").want(200)


def test_not_who_is_logged_in(t):
    """Somebody behind the same address who is in already stays in."""
    srv = t.server()
    c = srv.admin(source="127.0.0.2")
    c.get("/v1/events").want(200)
    lock(srv, "127.0.0.2")
    c.get("/v1/events").want(200)


def test_not_the_keys(t):
    srv = t.server()
    key = srv.key()
    lock(srv, "127.0.0.2")
    srv.client(key, source="127.0.0.2").publish(envelope()).want(202)


def test_wrong_keys_lock_nobody_out(t):
    srv = t.server()
    for _ in range(40):
        srv.client("hk_" + "x" * 43, source="127.0.0.2").get("/v1/events")
    srv.client(source="127.0.0.2").get("/v1/events").want(200)


def test_unknown_names_look_the_same(t):
    """The answer does not tell whether an account exists."""
    srv = t.server()

    def story(name, source):
        c, out = srv.connect(basic(name, "guess"), source=source), []
        for _ in range(8):
            a = c.get("/v1/events")
            out.append((a.status, a.json["error"]["code"], a.json["error"]["message"]
                        if a.status == 401 else ""))
        return out
    same(story("ghost", "127.0.0.4"), story("admin", "127.0.0.5"), "eight guesses")


def test_it_passes(t):
    srv = t.server()
    lock(srv, "127.0.0.2")
    end = time.monotonic() + 15
    while True:
        a = srv.admin(source="127.0.0.2").get("/v1/events")
        if a.status == 200:
            return
        a.want(429)
        check(time.monotonic() < end, "the lock of at most 4 s ends")
        time.sleep(int(a.headers["Retry-After"]))
