"""People log in and stay logged in (seed 002, 1.x, 13.x, 14.3, 14.4)."""
import re
import time

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
    auth = hk.basic("admin", hk.PASSWORD)  # a browser keeps it, and sends it unasked too
    for bad in ("https://evil.example", "null", origin(t.srv) + ".evil.example"):
        for who in (auth, auth.replace("Basic", "bAsIc")):
            c = t.srv.connect(who)
            c("POST", "/v1/users", body, {"Origin": bad}).want(403, "CROSS_ORIGIN")
            same(c("GET", "/v1/users", None, {"Origin": bad}).status, 200, "reading is free")
    c = t.srv.connect(auth)
    for head in ({}, {"Origin": origin(t.srv)}):
        c("POST", "/v1/users", body, head).want(201)
        same(c("DELETE", "/v1/users/anna", None, head).status, 204, "from a program or our page")
    c = t.srv.client()  # nobody sends a key unasked
    c("POST", "/v1/users", body, {"Origin": "https://evil.example"}).want(201)
    same(c("DELETE", "/v1/users/anna").status, 204, "tidy")
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
    time.sleep(3.2)
    person(b.get("/auth/me"), 401)


def ends(srv):
    """(login, end) of each session, in seconds, by number."""
    return [(int(a) / 1e6, int(b) / 1e6) for a, b in
            srv.rows("SELECT created_at, expires_at FROM sessions ORDER BY seq")]


def test_1_4_a_session_is_renewed_by_its_use(t):
    """1.4: session.max.age is from the last use on; the cookie is given anew with it."""
    srv = t.server(SESSION_MAX_AGE="60", RATE_LIMIT_GENERAL="0")
    used, idle = Browser(srv), Browser(srv)
    used.login(), idle.login()
    before, word = ends(srv), dict(used.cookies)
    a = until(lambda: (lambda a: a.headers.get("Set-Cookie") and a)(used.get("/auth/me")), "renewed", 60, 0.2)
    same(a.status, 200, "by any request")
    check("; Max-Age=60" in a.headers["Set-Cookie"] and "HttpOnly" in a.headers["Set-Cookie"], "the cookie",
          a.headers["Set-Cookie"])
    same(used.cookies, word, "of the same session")
    until(lambda: ends(srv)[0][1] >= before[0][1] + 2.9, "it ends later")
    same(ends(srv)[1], before[1], "one that is not used does not")
    check(not used.get("/auth/me").headers.get("Set-Cookie"), "not with each request")


def test_1_4_a_session_ends_at_last(t):
    """1.4: session.max.total after the login, whatever was used meanwhile; 30 days unless set."""
    srv = t.server(SESSION_MAX_AGE="8", SESSION_MAX_TOTAL="16", RATE_LIMIT_GENERAL="0")
    b = Browser(srv)
    b.login()
    (made, end), = ends(srv)
    check(7.9 < end - made < 8.1, "at first", made, end)
    seen = []

    def over():
        seen.extend(e for _, e in ends(srv))
        return b.get("/auth/me").status == 401
    until(over, "its end", 60, 0.2)
    # The last step that is too short to be written is left out.
    check(made + 15.5 < max(seen) <= made + 16.01, "put off up to the last of all", max(seen) - made)
    check(time.time() >= max(seen), "not over sooner", time.time() - made)
    srv = t.server(SESSION_MAX_AGE="60d")
    line = Browser(srv).login().headers["Set-Cookie"]
    check("; Max-Age=2592000" in line, "thirty days", line)


def test_1_4_only_hashes_are_stored(t):
    """1.4: who reads the tables can't log in with what stands there."""
    srv = t.server()
    b = Browser(srv)
    b.login()
    token = b.cookies["hikyaku_session"].split(".")[0]
    dump = repr(srv.rows("SELECT id, data FROM sessions")) + repr(srv.rows("SELECT * FROM meta"))
    check(token not in dump and token.encode().hex() not in dump, "the token is not there")
    check("local" not in dump.replace("session_secret", ""), "data is sealed", dump)


SITE = "https://reader.example.com"


def test_1_8_cors(t):
    """1.8, 1.5: pages of CORS_ALLOWED_ORIGIN, and of no other, may call with the cookie."""
    srv = t.server(CORS_ALLOWED_ORIGIN=SITE)
    b = Browser(srv, SITE)
    a = b.login()
    same(a.status, 200, "login from there")
    for a in (b.get("/auth/me", {"Origin": SITE}), a):
        same((a.headers["Access-Control-Allow-Origin"], a.headers["Access-Control-Allow-Credentials"],
              a.headers["Access-Control-Expose-Headers"]),
             (SITE, "true", "Retry-After, X-Request-Id"), "may read")
        check("Origin" in a.headers.get_all("Vary"), "varies", a.headers.get_all("Vary"))
    # errors too, whatever they are of
    for method, path, status in (("GET", "/api/nothing", 404), ("PATCH", "/auth/me", 405),
                                 ("GET", "/v1/events/x", 422)):
        a = b(method, path, None, {"Origin": SITE})
        same(a.status, status, path)
        same(a.headers["Access-Control-Allow-Origin"], SITE, path)
    for other in ("https://evil.example", SITE + ".evil.example", SITE + ":8443", "null",
                  "http://reader.example.com", origin(srv)):
        a = b.get("/auth/me", {"Origin": other})
        same(a.headers["Access-Control-Allow-Origin"], None, other)
        check("Origin" in a.headers.get_all("Vary"), "varies", other)
    same(b("PUT", "/api/users/me/settings", {"theme": "dark"}).status, 200, "a change from there")


def test_1_8_preflight(t):
    """1.8: OPTIONS is answered with 204 on every route, and allows what is needed."""
    srv = t.server(CORS_ALLOWED_ORIGIN=SITE)
    c = hk.Client(srv)
    head = {"Origin": SITE, "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "content-type"}
    for path in ("/api/users/me/settings", "/auth/login", "/v1/events"):
        a = c("OPTIONS", path, None, head)
        same((a.status, a.body), (204, b""), path)
        same(a.headers["Access-Control-Allow-Origin"], SITE, path)
        same(a.headers["Access-Control-Allow-Credentials"], "true", path)
        check("PUT" in a.headers["Access-Control-Allow-Methods"], "methods", a.headers)
        check("Content-Type" in a.headers["Access-Control-Allow-Headers"], "headers", a.headers)
        a = c("OPTIONS", path, None, {**head, "Origin": "https://evil.example"})
        same(a.status, 204, path)
        same([k for k in a.headers if k.lower().startswith("access-control")], [], "not for others")
    a = hk.Client(t.srv)("OPTIONS", "/auth/login", None, head)
    same([k for k in a.headers if k.lower().startswith("access-control")], [], "not without setting")
    same(a.status, 204, "still an answer")


def test_cors_of_apps(t):
    """An app in a browser elsewhere, as ReactFlux is, may send its token and read the answers."""
    srv = t.server(CORS_ALLOWED_ORIGIN=SITE)
    c = hk.Client(srv)
    for path, method, wants in (("/miniflux/v1/me", "GET", "x-auth-token"),
                                ("/miniflux/v1/entries", "PUT", "content-type,x-auth-token"),
                                ("/miniflux/v1/feeds/1/icon", "GET", "authorization"),
                                ("/reader/api/0/subscription/list", "GET", "authorization"),
                                ("/reader/api/0/edit-tag", "POST", "authorization,content-type"),
                                ("/accounts/ClientLogin", "POST", "content-type"),
                                ("/fever", "POST", "content-type"), ("/fever/", "POST", "content-type")):
        head = {"Origin": SITE, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": wants}
        a = c("OPTIONS", path, None, head)
        same((a.status, a.headers["Access-Control-Allow-Origin"]), (204, SITE), path)
        check(method in a.headers["Access-Control-Allow-Methods"], path, a.headers)
        allowed = {h.strip().lower() for h in a.headers["Access-Control-Allow-Headers"].split(",")}
        check(set(wants.split(",")) <= allowed, path, allowed)
        a = c("OPTIONS", path, None, {**head, "Origin": "https://evil.example"})
        same(a.headers["Access-Control-Allow-Headers"], None, "not for others")
    a = c.get("/miniflux/v1/me", {"Origin": SITE, "X-Auth-Token": "wrong"})
    same((a.status, a.headers["Access-Control-Allow-Origin"]), (401, SITE), "a refusal can be read")


def test_1_8_a_wrong_origin_stops_the_start(t):
    """1.8: an origin has no path; the start says so."""
    for bad in (SITE + "/app", SITE + "/?a", "https://"):
        srv = t.server(start=False, CORS_ALLOWED_ORIGIN=bad)
        r = hk.run([hk.BINARY, "serve", "--data", srv.data, "--listen", "127.0.0.1:0"],
                   env=hk.environment(srv.settings, srv.url), cwd=srv.folder)
        check(r.code != 0 and "cors" in r.err.lower(), "it does not start", r)


def accounts(srv, *names):
    """Browsers of new accounts, by name."""
    admin, out = Browser(srv), []
    same(admin.login().status, 200, "admin")
    for name in names:
        same(admin("POST", "/v1/users", {"name": name, "password": "long-enough", "role": "viewer"})
             .status, 201, name)
        b = Browser(srv)
        same(b.login(name, "long-enough").status, 200, name)
        out.append(b)
    return out


def test_13_1_requests_a_minute(t):
    """13.1: RATE_LIMIT_GENERAL a minute and person; one does not use up another's."""
    srv = t.server(RATE_LIMIT_GENERAL="30")
    anna, bert = accounts(srv, "anna", "bert")
    seen = [anna.get("/auth/me").status for _ in range(45)]
    check(seen[:30] == [200] * 30, "thirty at once", seen)
    check(429 in seen, "then no more", seen)
    a = person(anna.get("/api/users/me/settings"), 429, "RATE_LIMITED", "system")
    check(1 <= int(a.headers["Retry-After"]) <= 2, "when to come back", a.headers["Retry-After"])
    same([bert.get("/auth/me").status for _ in range(20)], [200] * 20, "another is not touched")
    same(hk.Client(srv, hk.basic("anna", "long-enough"))("GET", "/v1/whoami").status, 200,
         "programs' routes are not counted")
    until(lambda: anna.get("/auth/me").status == 200, "it fills up again", 10, 0.5)


def test_13_1_strangers_are_counted_by_network(t):
    """13.1: who is not logged in shares his network's count, and nobody else's."""
    srv = t.server(RATE_LIMIT_GENERAL="20")
    anna, = accounts(srv, "anna")
    one, two = Browser(srv, source="127.0.0.2"), Browser(srv, source="127.0.0.3")
    seen = [one.get("/auth/providers").status for _ in range(15)]
    seen += [one.get("/auth/me").status for _ in range(15)]
    same(set(seen[:15]) | set(seen[15:20]), {200, 401}, "twenty")
    person(one.get("/auth/me"), 429)
    person(one.login(), 429, "RATE_LIMITED")
    same(two.get("/auth/providers").status, 200, "another network")
    same(anna.get("/auth/me").status, 200, "one who is logged in")


def test_13_1_default_is_120(t):
    """13.1: 120 at once without any setting."""
    anna, = accounts(t.server(), "anna")
    seen = [anna.get("/auth/me").status for _ in range(140)]
    check(seen[:120] == [200] * 120 and 429 in seen, "120", seen.count(200))


def execute(srv, *statements):
    for sql in statements:
        if srv.url:
            sql = sql.replace("randomblob(16)", "decode(md5(random()::text), 'hex')")
            hk.psql(srv.url, sql)
            continue
        db = hk.sqlite3.connect(srv.data + "/hikyaku.db", timeout=30)
        with db:
            db.execute(sql)
        db.close()


def fill(srv, *users):
    """A feed with an article that these people read and starred, too new to be tidied away."""
    now = int(time.time() * 1e6)
    execute(srv,
            "INSERT INTO feed (uid, feed_url, title, fetch_status, consecutive_errors, parse_errors,"
            " next_fetch_at, claimed_until, subscribers, items, version, created_at, updated_at)"
            f" VALUES (randomblob(16), 'https://a.example/', 'A', 'active', 0, 0, 9000000000000000,"
            f" 0, {len(users)}, 1, 1, 1, 1)",
            "INSERT INTO feed_item (uid, feed_id, published_at, is_date_estimated, fetched_at,"
            " created_at, updated_at, content_hash, state_hash, title)"
            f" SELECT randomblob(16), id, {now}, 0, {now}, {now}, {now}, randomblob(16), randomblob(16),"
            " 'x' FROM feed")
    for u in users:
        who = f"(SELECT id FROM users WHERE name = '{u}')"
        execute(srv,
                "INSERT INTO feed_category (uid, user_id, title, created_at, updated_at)"
                f" VALUES (randomblob(16), {who}, 'c', 1, 1)",
                "INSERT INTO feed_subscription (uid, user_id, feed_id, fetch_interval_minutes,"
                f" created_at, updated_at) SELECT randomblob(16), {who}, id, 60, 1, 1 FROM feed",
                "INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at)"
                f" SELECT {who}, id, feed_id, 1, 1, 1 FROM feed_item")


def count(srv, table, more=""):
    return int(srv.rows(f"SELECT count(*) FROM {table} {more}")[0][0])


OWN = ("feed_subscription", "item_state", "feed_category", "user_settings", "sessions")


def test_14_3_leaving(t):
    """14.3: DELETE /api/users/me removes the person and all that is theirs, and nobody else's."""
    srv = t.server()
    anna, bert = accounts(srv, "anna", "bert")
    for b in (anna, bert):
        same(b("PUT", "/api/users/me/settings", {"theme": "dark"}).status, 200, "settings")
    fill(srv, "anna", "bert")
    before = {x: count(srv, x) for x in OWN}
    copy = dict(anna.cookies)
    person(anna("DELETE", "/api/users/me", None, {"Origin": "https://evil.example"}), 403)
    a = anna("DELETE", "/api/users/me")
    same((a.status, a.body), (204, b""), "gone")
    same(anna.cookies, {}, "the cookie is cleared")
    for x in OWN:
        same(count(srv, x), before[x] - 1, x)
    same(count(srv, "users", "WHERE name = 'anna'"), 0, "users")
    same(count(srv, "identities", "WHERE provider_user_id = 'anna'"), 0, "identities")
    same(count(srv, "account", "WHERE name = 'anna'"), 0, "the account too")
    anna.cookies = copy
    person(anna.get("/auth/me"), 401)
    person(anna.login("anna", "long-enough"), 401)
    same(bert.get("/api/users/me/settings").json, {"theme": "dark"}, "the other stays")
    rows = srv.admin().get("/v1/audit", category="USER_REMOVED").want(200).json["data"]
    same(rows[0]["target"]["objectId"], "anna", "audited")


def test_14_4_feeds_and_articles_stay(t):
    """14.4: what is shared is kept; the feed knows that it has one reader less."""
    srv = t.server()
    anna, _ = accounts(srv, "anna", "bert")
    fill(srv, "anna", "bert")
    same(anna("DELETE", "/api/users/me").status, 204, "gone")
    same((count(srv, "feed"), count(srv, "feed_item")), (1, 1), "feeds and articles")
    same(srv.rows("SELECT subscribers FROM feed"), [("1",)], "one reader less")
    same(srv.admin()("DELETE", "/v1/users/bert").status, 204, "removed by an admin")
    same(srv.rows("SELECT subscribers FROM feed"), [("0",)], "none")
    same((count(srv, "feed"), count(srv, "feed_item"), count(srv, "item_state")), (1, 1, 0), "kept")


def test_14_3_the_last_admin_stays(t):
    """14.3: 409 for the last admin; nothing of him is removed."""
    srv = t.server()
    b = Browser(srv)
    b.login()
    person(b("DELETE", "/api/users/me"), 409, "CONFLICT")
    same(b.get("/auth/me").status, 200, "still there")
    c = srv.client()
    a = c.delete("/api/users/me")
    person(a, 403, "FORBIDDEN")


def test_9_settings_of_a_person(t):
    """Theme: light until one says otherwise; each has his own."""
    srv = t.server()
    anna, bert = accounts(srv, "anna", "bert")
    same(anna.get("/api/users/me/settings").json, {"theme": "light"}, "at first")
    same(anna("PUT", "/api/users/me/settings", {"theme": "dark"}).json, {"theme": "dark"}, "put")
    same(anna.get("/api/users/me/settings").json, {"theme": "dark"}, "kept")
    same(bert.get("/api/users/me/settings").json, {"theme": "light"}, "1.6: the other's is his own")
    for bad in ({"theme": "blue"}, {}, {"theme": 7}, {"theme": "dark", "x": 1}):
        person(anna("PUT", "/api/users/me/settings", bad), 400, "INVALID_FIELD")
    person(Browser(srv).get("/api/users/me/settings"), 401, "UNAUTHORIZED")


def test_1_4_another_node_learns_of_a_logout(t):
    """1.4: sessions are shared by nodes; a logout holds elsewhere within seconds."""
    if hk.STORE != "postgres":
        raise hk.Skip("SQLite has one node")
    one = t.server()
    two = t.server(url=one.url, WEBHOOK_ENCRYPTION_KEY_FILE=one.data + "/seal.key")
    b, c = Browser(one), Browser(two)
    b.login()
    c.cookies = dict(b.cookies)
    same(c.get("/auth/me").status, 200, "known at the other node")
    same(b("POST", "/auth/logout").status, 204, "logout")
    until(lambda: c.get("/auth/me").status == 401, "over there too", 10, 0.5)
