"""http.trusted.proxies: who calls is what trusted proxies tell, and nobody else; logins that fail
are counted, logged and audited."""
import json
import re

import people
from hk import basic, check, same, until

# 127.0.0.9 is the proxy; these tests call from wherever they like on loopback.
PROXY = "127.0.0.9"
SETTINGS = {"LOGIN_FAILURES_MAX": "3", "LOGIN_LOCK": "30s", "HTTP_TRUSTED_PROXIES": PROXY,
            "LOG_LEVEL": "debug", "TIME_SCALE": "100"}
HOME, EVIL = "203.0.113.7", "198.51.100.66"


def ask(srv, source, headers, auth=None, path="/v1/events"):
    c = srv.connect(auth, source=source)
    return c.get(path, headers=headers)


def peer_of(srv, trace):
    return until(lambda: next((l["peer"] for l in srv.log() if l.get("msg") == "request"
                               and l.get("traceId") == trace), None), "a line for " + trace)


def test_who_calls(t):
    """What the log names, by where it came from and what the headers say."""
    srv = t.srv
    rows = [
        (PROXY, {"X-Forwarded-For": HOME}, HOME),
        (PROXY, {"X-Forwarded-For": f"{EVIL}, {HOME}"}, HOME),
        (PROXY, {"X-Forwarded-For": f"{HOME}:8080, {PROXY}"}, HOME),
        (PROXY, {"Forwarded": f'for={EVIL}, for="[2001:db8::7]:443";proto=https'}, "2001:db8::7"),
        (PROXY, {"Forwarded": f"for={EVIL}", "X-Forwarded-For": HOME}, PROXY),
        (PROXY, {"Forwarded": f"for={HOME}", "X-Forwarded-For": HOME}, HOME),
        (PROXY, {"X-Forwarded-For": "<script>"}, PROXY),
        (PROXY, {}, PROXY),
        ("127.0.0.8", {"X-Forwarded-For": HOME}, "127.0.0.8"),
        ("127.0.0.8", {"Forwarded": f"for={HOME}"}, "127.0.0.8"),
    ]
    for i, (source, headers, want) in enumerate(rows):
        trace = f"peer-{i}"
        ask(srv, source, {**headers, "X-Request-Id": trace}, path="/healthz").want(200)
        same(peer_of(srv, trace), want, f"the caller of {rows[i]}")


def test_each_request_has_its_own(t):
    """A proxy serves many callers over one connection."""
    srv = t.srv
    c = srv.connect(source=PROXY)
    for i, who in enumerate((HOME, EVIL, None, HOME)):
        head = {"X-Request-Id": f"own-{i}"}
        if who:
            head["X-Forwarded-For"] = who
        c.get("/healthz", headers=head).want(200)
        same(peer_of(srv, f"own-{i}"), who or PROXY, "the caller")
    raw = srv.raw()
    raw.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: lines\r\n"
             b"X-Forwarded-For: %s\r\nX-Forwarded-For: %s\r\n\r\n" % (EVIL.encode(), HOME.encode()))
    raw.answer().want(200)
    same(peer_of(srv, "lines"), "127.0.0.1", "who is no proxy is believed nothing")


def test_bad_setting(t):
    srv = t.server(start=False, HTTP_TRUSTED_PROXIES="10.0.0.1/8")
    srv.spawn()
    check(srv.ended() != 0, "it starts with a network that is none")
    check("http.trusted.proxies" in srv.tail(), "it names the setting", srv.tail())
    srv.kill9()


def guess(srv, headers, times=12, name="admin", source=PROXY):
    """Guesses until it is locked."""
    for _ in range(times):
        if ask(srv, source, headers, basic(name, "guess")).status == 429:
            return True
    return False


def test_no_stranger_locks_a_person_out(t):
    """Behind one proxy: who guesses is locked, the owner is not, by any way of logging in."""
    srv = t.server()
    check(guess(srv, {"X-Forwarded-For": EVIL}), "twelve wrong passwords and no lock")
    good = basic("admin", "correct-horse-battery")
    ask(srv, PROXY, {"X-Forwarded-For": EVIL}, good).want(429)
    ask(srv, PROXY, {"X-Forwarded-For": HOME}, good).want(200)
    for who, want in ((EVIL, 429), (HOME, 200)):
        body = {"name": "admin", "password": "correct-horse-battery"}
        # what was verified a moment ago is known; so a fresh server for the cookie's login
        fresh = t.server()
        check(guess(fresh, {"X-Forwarded-For": EVIL}), "no lock")
        a = fresh.connect(source=PROXY).post("/auth/login", body, {
            "X-Forwarded-For": who, "Origin": people.origin(fresh)})
        same(a.status, want, f"/auth/login from {who}")


def test_nor_by_made_up_headers(t):
    """Neither header moves a guesser on to a fresh count, nor into another's."""
    srv = t.server()
    for i in range(12):
        a = ask(srv, "127.0.0.8", {"X-Forwarded-For": f"203.0.113.{i}"}, basic("admin", "guess"))
    same(a.status, 429, "twelve guesses of one address without a proxy")
    for i in range(12):
        a = ask(srv, PROXY, {"X-Forwarded-For": f"203.0.113.{i}, {EVIL}"}, basic("admin", "guess"))
    same(a.status, 429, "twelve guesses behind a proxy, with a list of his own")
    for i in range(12):
        a = ask(srv, PROXY, {"Forwarded": f"for={HOME}", "X-Forwarded-For": EVIL},
                basic("admin", "guess"))
    same(a.status, 429, "twelve guesses in the name of another header")
    ask(srv, PROXY, {"X-Forwarded-For": HOME}, basic("admin", "correct-horse-battery")).want(200)


def metric(srv, name):
    text = srv.client().get("/metrics").want(200).body.decode()
    return int(float(re.search(rf"(?m)^{name} (\S+)", text)[1]))


def rows(srv):
    return srv.client().get("/v1/audit?category=LOGIN_FAILED&limit=1000").want(200).json["data"]


def test_failures_are_seen(t):
    """Counted, in the log with the caller and in the audit; what was typed is in none of them."""
    srv = t.server()
    srv.client()
    typed = "MyPassword-typed-as-a-name"
    head = {"X-Forwarded-For": HOME}
    before = metric(srv, "hikyaku_login_failures_total")
    gone = srv.new_key("read")
    srv.client().delete(f"/v1/keys/{gone['id']}").want(204)
    ask(srv, PROXY, head, basic("admin", "wrong")).want(401)
    ask(srv, PROXY, head, basic(typed, "wrong")).want(401)
    ask(srv, PROXY, head, "Bearer hk_" + "x" * 43).want(401)
    ask(srv, PROXY, head, "Bearer " + typed).want(401)
    ask(srv, PROXY, head, "Bearer " + gone["key"]).want(401)
    srv.connect(source=PROXY).post("/auth/login", {"name": "admin", "password": "no"}, head)
    srv.connect(source=PROXY)("POST", "/accounts/ClientLogin", b"Email=admin&Passwd=" + typed.encode(),
                              {**head, "Content-Type": "application/x-www-form-urlencoded"})
    same(metric(srv, "hikyaku_login_failures_total") - before, 7, "failures counted")
    lines = [l for l in srv.log() if l.get("msg") == "login failed"]
    same(len(lines), 7, "lines in the log")
    check(all(l["peer"] == HOME and l["traceId"] for l in lines), "each names the caller", lines)
    same(sum(l["whom"] == "user:admin" for l in lines), 2, "lines that name the account")
    check(any(l["whom"].startswith("key:") for l in lines), "a revoked key is named", lines)
    got = until(lambda: (lambda r: r if sum(x["count"] for x in r) >= 7 else None)(
        [x.get("details", x) for x in rows(srv)]), "rows in the audit", 10)
    same(sum(x["count"] for x in got), 7, "failures in the audit")
    check(len(got) <= 6, "they are summed up", got)
    check(all(x["network"] == HOME for x in got), "where from", got)
    text = srv.client().get("/v1/audit?limit=1000").body.decode() + json.dumps(srv.log())
    check(typed not in text, "what was typed as a name is told")
    same(srv.client().get("/v1/audit/verify").want(200).json["broken"], None, "the chain")


def test_no_flood(t):
    """A thousand guesses from a hundred places are few lines and rows, and all are counted."""
    srv = t.server(TIME_SCALE="20")  # a minute is 3 s
    c = srv.connect("Bearer hk_" + "x" * 43, source=PROXY)
    before = metric(srv, "hikyaku_login_failures_total")
    for i in range(1000):
        c.get("/v1/events", headers={"X-Forwarded-For": f"203.0.113.{i % 100}"}).want(401)
    same(metric(srv, "hikyaku_login_failures_total") - before, 1000, "failures counted")
    got = until(lambda: (lambda r: r if sum(x["count"] for x in r) == 1000 else None)(
        [x.get("details", x) for x in rows(srv)]), "all are in the audit", 15)
    check(len(got) <= 4 * 17, "few rows", len(got))
    lines = [l for l in srv.log() if l.get("msg") == "login failed"]
    check(len(lines) <= 4 * 60, "few lines", len(lines))
    check(any(l.get("msg") == "more logins failed" for l in srv.log()), "the rest is told of")
