"""People log in and stay logged in (seed 002, 1.x, 13.x, 14.3, 14.4)."""
import re

import hk
from hk import check, same, until
from people import Browser, origin, person


def test_1_4_a_login_sets_an_http_only_cookie(t):
    """1.4: the session is an HttpOnly cookie; it is what one is known by."""
    b = Browser(t.srv)
    person(b.get("/auth/me"), 401, "UNAUTHORIZED", "auth")
    a = b.login()
    same(a.status, 200, "login")
    lines = a.headers.get_all("Set-Cookie")
    same(len(lines), 1, "cookies")
    attrs = [p.strip() for p in lines[0].split(";")]
    check(re.fullmatch(r"hikyaku_session=[0-9A-Za-z]{43}\.[0-9A-Za-z_-]{43}", attrs[0]),
          "the cookie", attrs)
    same(sorted(attrs[1:]), ["HttpOnly", "Max-Age=86400", "Path=/", "SameSite=Lax"], "attributes")
    me = b.get("/auth/me")
    same(me.status, 200, "me")
    same(me.json, a.json, "login answers who it is")
    same(me.json["name"], "admin", "name")
    check(re.fullmatch(r"[0-9a-f-]{36}", me.json["id"]), "id", me)
    check("admin" in me.json["scopes"], "an account has the scopes of its role", me)
    same(b.get("/v1/users").status, 200, "the role's scopes hold under /v1")


def test_1_4_a_wrong_password_says_nothing(t):
    """1.4: 401 with the same words, whether name or password was wrong."""
    b = Browser(t.srv)
    a = person(b.login(password="wrong-wrong"), 401, "UNAUTHORIZED")
    c = person(b.login(name="nobody", password="wrong-wrong"), 401, "UNAUTHORIZED")
    d = person(b.login(name="No Such: Name"), 401, "UNAUTHORIZED")
    same(a.json, c.json, "the same answer")
    same(a.json, d.json, "the same answer")
    same(b.cookies, {}, "no cookie")
    a = person(b("POST", "/auth/login", {"name": "admin"}), 400, "INVALID_FIELD")
    same(a.json["fields"][0]["field"], "password", "the field")
    person(b("POST", "/auth/login", {"name": "a", "password": "b", "more": 1}), 400)


def test_1_4_logout_ends_it_at_once(t):
    """1.4: after a logout the cookie is worth nothing, also a copy of it."""
    b = Browser(t.srv)
    same(b.login().status, 200, "login")
    copy = dict(b.cookies)
    same(b.get("/auth/me").status, 200, "me")
    a = b("POST", "/auth/logout")
    same(a.status, 204, "logout")
    same(b.cookies, {}, "the cookie is cleared")
    b.cookies = copy
    person(b.get("/auth/me"), 401)
    same(b("POST", "/auth/logout").status, 204, "a second logout")


def test_1_4_a_forged_cookie_is_nobody(t):
    """1.4: what was never given out is nothing, whatever it looks like."""
    b = Browser(t.srv)
    b.login()
    good = b.cookies["hikyaku_session"]
    for bad in (good[:-1] + ("A" if good[-1] != "A" else "E"), "x" + good[1:], good[:43], good + "A",
                "", ".", good.replace(".", "-"), "A" * 43 + "." + "A" * 43):
        b.cookies = {"hikyaku_session": bad}
        person(b.get("/auth/me"), 401)
    b.cookies = {"a": "1", "hikyaku_session": good, "z": "2"}
    same(b.get("/auth/me").status, 200, "among others")


def test_1_5_csrf(t):
    """1.5: what changes something by cookie must come from a page of ours."""
    b = Browser(t.srv)
    b.login()
    body = {"name": "anna", "password": "a-long-password", "role": "viewer"}
    for head in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": None},
                 {"Origin": None, "Sec-Fetch-Site": "cross-site"},
                 {"Origin": None, "Sec-Fetch-Site": "same-site"},
                 {"Origin": origin(t.srv) + ".evil.example"}):
        a = b("POST", "/v1/users", body, head)
        a.want(403, "CROSS_ORIGIN")
        person(b("POST", "/auth/logout", None, head), 403, "CROSS_ORIGIN", "auth")
    same(b.get("/v1/users").json["data"][0]["name"], "admin", "reading is free")
    b("POST", "/v1/users", body, {"Origin": None, "Sec-Fetch-Site": "same-origin"}).want(201)
    same(b("DELETE", "/v1/users/anna").status, 204, "from our own page")
    auth = {"Authorization": hk.basic("admin", hk.PASSWORD), "Origin": "https://evil.example"}
    b("POST", "/v1/users", body, auth).want(201)
    same(b("DELETE", "/v1/users/anna").status, 204, "tidy")
    person(b("POST", "/auth/login", {"name": "admin", "password": hk.PASSWORD},
             {"Origin": "https://evil.example"}), 403, "CROSS_ORIGIN")


def test_1_4_sessions_outlive_a_restart(t):
    """1.4: a made secret is kept in the store; nobody is logged out by a restart."""
    srv = t.server()
    b = Browser(srv)
    b.login()
    same(b.get("/auth/me").status, 200, "before")
    b.client.close()
    srv.stop()
    srv.start()
    b.client.close()
    same(b.get("/auth/me").status, 200, "after")


def test_1_4_a_new_password_ends_sessions(t):
    """1.4: whoever was logged in with the old password is so no longer."""
    srv = t.server()
    a, b = Browser(srv), Browser(srv)
    a.login()
    same(a("POST", "/v1/users", {"name": "anna", "password": "the-first-one", "role": "viewer"}).status,
         201, "an account")
    same(b.login("anna", "the-first-one").status, 200, "anna")
    same(b.get("/auth/me").json["name"], "anna", "anna")
    same(b("POST", "/v1/keys", {"name": "x"}).status, 403, "a viewer's scopes, no more")
    same(a("PUT", "/v1/users/anna/password", {"password": "the-second-one"}).status, 204, "new")
    person(b.get("/auth/me"), 401)
    same(b.login("anna", "the-second-one").status, 200, "anna again")
    same(a("DELETE", "/v1/users/anna").status, 204, "removed")
    person(b.get("/auth/me"), 401)


def test_1_4_the_oldest_session_ends(t):
    """1.4: a person has at most twenty sessions."""
    srv = t.server()
    browsers = [Browser(srv) for _ in range(21)]
    for b in browsers:
        same(b.login().status, 200, "login")
    person(browsers[0].get("/auth/me"), 401)
    same(browsers[1].get("/auth/me").status, 200, "the second")
    same(browsers[20].get("/auth/me").status, 200, "the last")


def test_1_4_a_session_runs_out(t):
    """1.4: SESSION_MAX_AGE is how long it lasts; Secure with an https base URL."""
    srv = t.server(SESSION_MAX_AGE="3", BASE_URL="https://reader.example.com")
    b = Browser(srv, site="https://reader.example.com")
    line = b.login().headers["Set-Cookie"]
    check("Max-Age=3" in line and "; Secure" in line, "attributes", line)
    until(lambda: b.get("/auth/me").status == 401, "the session's end")


def test_1_4_only_hashes_are_stored(t):
    """1.4: who reads the tables can't log in with what stands there."""
    srv = t.server()
    b = Browser(srv)
    b.login()
    token = b.cookies["hikyaku_session"].split(".")[0]
    dump = repr(srv.rows("SELECT id, data FROM sessions")) + repr(srv.rows("SELECT * FROM meta"))
    check(token not in dump and token.encode().hex() not in dump, "the token is not there")
    check("local" not in dump.replace("session_secret", ""), "data is sealed", dump)
