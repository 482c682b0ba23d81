"""Every route × whoever calls × how the path is spelled, as routes.tbl has it.

A request that is let in is stopped right behind the door by a body that the
route does not take (415), or that is too large (413), so that nothing happens
to the store however many there are. Routes that take any body get one that is
nonsense to them.
"""
import collections

import apps
import people
import routes
from hk import Failed, Raw, basic, check, new_id, same

SETTINGS = {"RATE_LIMIT_GENERAL": "0", "RATE_LIMIT_FEED_REG": "0", "LOGIN_FAILURES_MAX": "3"}
TENANT_A, TENANT_B = new_id(), new_id()
WORDS = "long enough to be good"
ROLES = {"reader": set(), "viewer": {"read"}, "operator": {"read", "consume", "manage", "publish"},
         "admin": {"admin"}}
SCOPES = ("publish", "read", "consume", "manage", "admin", "submit", "query")
APPS = ("FOR_MINIFLUX", "FOR_APPS", "FOR_BOTH")
# These would end the person or the session of whoever is let in.
# What a route takes that has such a path, or ends so; others take a title.
BODIES = {"/state": {"is_read": True}, "/read": {}, "/settings": {"fetch_interval_minutes": 60},
          "/api/feeds/{id}": {"private": True}, "/miniflux/v1/enclosures/{id}": {"media_progression": 1}}
DEADLY = {"/api/users/me", "/auth/logout"}


class Who:
    """Somebody who calls: the headers, and what the table lets them do."""

    def __init__(self, name, headers, scopes=(), known=True, person=False, limited=False,
                 app=False, foreign=False):
        self.name, self.headers, self.scopes = name, headers, set(scopes)
        self.known, self.person, self.limited = known, person, limited
        self.app, self.foreign = app, foreign

    def want(self, r):
        """in, who (401) or denied (403)."""
        if r.scopes == {"open"}:
            return "in"
        if not self.known or (self.app and r.group not in APPS):
            return "who"
        if self.foreign and r.changes:
            return "denied"
        if "whole" in r.scopes and self.limited:
            return "denied"
        if "user" in r.scopes:
            return "in" if self.person else "denied"
        if "metrics" in r.scopes and "read" in self.scopes:
            return "in"
        if "any" in r.scopes or r.scopes & self.scopes or "admin" in self.scopes:
            return "in"
        return "denied"


def cookie_of(srv, name, password):
    b = people.Browser(srv)
    same(b.login(name, password).status, 200, f"{name} logs in")
    return f"hikyaku_session={b.cookies['hikyaku_session']}"


def principals(srv):
    yield Who("nobody", {}, known=False)
    yield Who("a made-up key", {"Authorization": "Bearer hk_" + "x" * 43}, known=False)
    yield Who("a made-up cookie", {"Cookie": "hikyaku_session=" + "x" * 87}, known=False)
    for scope in SCOPES:
        key = srv.new_key(scope)["key"]
        yield Who(f"a key to {scope}", {"Authorization": "Bearer " + key}, [scope])
    key = srv.new_key(*SCOPES, tenants=[TENANT_A])["key"]
    yield Who("a key of a tenant", {"Authorization": "Bearer " + key}, SCOPES, limited=True)
    for role, scopes in ROLES.items():
        name = f"the-{role}"
        srv.admin().post("/v1/users", {"name": name, "password": WORDS, "role": role}).want(201)
        yield Who(f"{role} by Basic", {"Authorization": basic(name, WORDS)}, scopes, person=True)
        cookie = cookie_of(srv, name, WORDS)
        yield Who(f"{role} by cookie", {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}, scopes,
                  person=True)
    yield Who("a foreign page with admin's cookie",
              {"Cookie": cookie, "Origin": "https://evil.example"}, ["admin"], person=True,
              foreign=True)
    srv.admin().post("/v1/users", {"name": "ann", "password": WORDS, "role": "admin"}).want(201)
    token = srv.connect(basic("ann", WORDS)).post(
        "/api/users/me/tokens", {"name": "phone"}).want(201).json["token"]
    for name, headers in (("Basic", {"Authorization": basic("ann", token)}),
                          ("X-Auth-Token", {"X-Auth-Token": token}),
                          ("GoogleLogin", {"Authorization": "GoogleLogin auth=" + token})):
        yield Who(f"an app password by {name}", headers, person=True, app=True)
    yield Who("an app password as a key", {"Authorization": "Bearer " + token}, known=False)


def bytes_of(r, path, who):
    """DEADLY routes get the head of a body that is too large for any."""
    head = [f"{r.method} {path} HTTP/1.1", "Host: x", "Content-Type: text/x-nothing"]
    head += [f"{k}: {v}" for k, v in who.headers.items()]
    head += [f"Content-Length: {1 << 40 if r.path in DEADLY else 1}", "", ""]
    return "\r\n".join(head).encode() + (b"" if r.path in DEADLY else b"x")


class Line:
    """A connection that is made anew when the server hangs up."""

    def __init__(self, srv):
        self.srv, self.raw, self.n = srv, None, 0

    def __call__(self, data, deadly=False):
        self.n += 1
        if self.raw is None:
            self.raw = Raw(self.srv)
        self.raw.send(data)
        a = self.raw.answer()
        if deadly or a.headers.get("connection") == "close":
            self.raw.close()
            self.raw = None
        return a

    def close(self):
        if self.raw:
            self.raw.close()


def said(a):
    """The message of an error, whatever its shape."""
    try:
        j = a.json
    except Failed:
        return ""
    if not isinstance(j, dict):
        return ""
    err = j.get("error")
    return (err.get("message", "") if isinstance(err, dict) else
            j.get("message") or j.get("error_message") or "")


def came(a, app=False):
    """What became of the request."""
    if a.status == 404 and said(a) == "there is no such path":
        return "lost"
    if a.status == 405:
        return "lost"
    # Google Reader's handlers have a login of their own beside ours.
    if a.body.startswith(b"Error=") or said(a) == "log in by ClientLogin first":
        return "in"
    # Wrong passwords are locked out in the end: that is no way in either.
    if a.status == 401 or (a.status == 429 and app):
        return "who"
    return "denied" if a.status == 403 else "in"


def shape_ok(a, group, got):
    if got in ("who", "denied"):
        j = a.json
        if group in ("FOR_PEOPLE", "FOR_BOTH"):
            return {"code", "category", "action"} <= set(j)
        if group == "FOR_MINIFLUX":
            return set(j) == {"error_message"}
        return set(j) == {"error", "traceId"}
    return True


def tell(bad, n):
    check(not bad, f"{len(bad)} of {n} requests did not go as routes.tbl has it",
          *bad[:12], collections.Counter(b[1] for b in bad).most_common(8))


def test_access(t):
    """Each route lets in exactly whom its scope names, however it is spelled."""
    line, bad = Line(t.srv), []
    for who in principals(t.srv):
        for r in routes.TABLE:
            ways = {name: fn(r.filled()) for name, fn in routes.SAME.items()}
            if r.alias:
                ways |= {f"alias, {name}": fn(r.alias + r.filled())
                         for name, fn in routes.SAME.items()}
            for way, path in ways.items():
                a = line(bytes_of(r, path, who), r.path in DEADLY)
                got, want = came(a, who.app), who.want(r)
                if got != want or not shape_ok(a, r.group, got):
                    bad.append((r, who.name, way, want, got, a))
    line.close()
    check(line.n > 10_000, "the matrix is large", line.n)
    tell(bad, line.n)


def test_spellings(t):
    """What is not spelled as in the table is no path, whoever asks."""
    line, bad = Line(t.srv), []
    key = t.srv.key()
    t.srv.admin().post("/v1/users", {"name": "eve", "password": WORDS, "role": "admin"}).want(201)
    token = t.srv.connect(basic("eve", WORDS)).post(
        "/api/users/me/tokens", {"name": "phone"}).want(201).json["token"]
    paths = {(r.method, p) for r in routes.TABLE for p in (r.path, (r.alias or "") + r.path)}
    for who in (Who("nobody", {}), Who("admin's key", {"Authorization": "Bearer " + key}),
                Who("an app", {"X-Auth-Token": token})):
        for r in routes.TABLE:
            if r.path == "/":
                continue  # it has no other spelling
            for way, fn in routes.OTHER.items():
                p = fn(r.path)
                # It may be another line of the table, or all that {name...} takes.
                if (r.method, p) in paths or (way == "slash behind" and "..." in r.path):
                    continue
                a = line(bytes_of(r, fn(r.filled()), who), r.path in DEADLY)
                if came(a) != "lost":
                    bad.append((r, who.name, way, a))
            a = line(bytes_of(r, r.filled() + "%00", who), r.path in DEADLY)
            if a.status != 400:
                bad.append((r, who.name, "NUL", a))
    line.close()
    tell(bad, line.n)


def test_app_password_stays_inside(t):
    """The alias of one protocol opens no route of another."""
    srv = t.srv
    srv.admin().post("/v1/users", {"name": "mia", "password": WORDS}).want(201)
    mia = srv.connect(basic("mia", WORDS))
    token = mia.post("/api/users/me/tokens", {"name": "phone"}).want(201).json["token"]
    app = srv.connect(None)
    by_app = {"X-Auth-Token": token}
    same(app.get("/miniflux/v1/me", by_app).status, 200, "it is good for its protocol")
    same(app.get("/api/greader.php/reader/api/0/user-info", by_app).status, 200, "and its alias")
    for method, path in (("POST", "/api/users/me/tokens"), ("DELETE", "/api/users/me"),
                         ("GET", "/api/users/me/settings"), ("GET", "/v1/whoami"),
                         ("GET", "/api/opml"), ("GET", "/miniflux/v1/me")):
        for alias in ("/api/greader.php", "/%61pi/greader.php", "/api/greader%2ephp"):
            a = app(method, alias + path, {"name": "another"} if method == "POST" else None, by_app)
            same(a.status, 404, f"{method} {alias}{path}")
        if not path.startswith("/miniflux"):
            same(app(method, path, None, by_app).status, 401, f"{method} {path}")
    same(len(mia.get("/api/users/me/tokens").want(200).json["tokens"]), 1, "no other was made")


def test_limits_by_route(t):
    """A limit counts whatever the spelling; paths that nobody has count too."""
    srv = t.server(RATE_LIMIT_GENERAL="20")
    for i, path in enumerate(("/%61uth/providers", "/auth/%70roviders", "/nowhere",
                              "/%61pi/nowhere")):
        seen = collections.Counter()
        c = srv.connect(None, source=f"127.{i + 1}.0.9")
        for _ in range(30):
            seen[c.get(path).status] += 1
        check(seen[429] >= 9 and seen[429] < 30, f"{path} is limited", seen)
    key = srv.client()
    for _ in range(30):
        same(key.get("/v1/whoami").status, 200, "programs have limits of their own")


def owned(t, srv):
    """What a person has, by the name its param has in the table, on both sides."""
    mine, theirs = apps.World(srv, t), apps.World(srv, t)
    has = {}
    for w in (mine, theirs):
        feed = w.api.get("/api/subscriptions").want(200).json[0]
        page = w.mf.get("/miniflux/v1/entries").want(200).json["entries"]
        has[w] = {
            "/api/feeds/": feed["feed_id"], "/api/subscriptions/": feed["id"],
            "/api/items/": w.api.get("/api/items").want(200).json["items"][0]["id"],
            "/api/categories/": w.api.get("/api/categories").want(200).json[0]["id"],
            "/api/users/me/identities/": w.api.get("/api/users/me/identities").json["identities"][0]["id"],
            "/api/users/me/tokens/": w.api.get("/api/users/me/tokens").json["tokens"][0]["id"],
            "/miniflux/v1/feeds/": w.alpha, "/miniflux/v1/icons/": w.alpha,
            "/miniflux/v1/entries/": page[0]["id"], "/miniflux/v1/enclosures/": page[0]["id"] * 64,
            "/miniflux/v1/api-keys/": w.mf.get("/miniflux/v1/api-keys").want(200).json[0]["id"],
            "/miniflux/v1/categories/": w.mf.get("/miniflux/v1/categories").want(200).json[-1]["id"],
            "/miniflux/v1/users/": w.mf.get("/miniflux/v1/me").want(200).json["id"],
        }
    return mine, theirs, has


def test_foreign_ids(t):
    """What is somebody else's is not there, on every route of a person that names an id."""
    srv = t.server(**apps.SETTINGS)
    mine, theirs, has = owned(t, srv)
    before, n = theirs.state(), 0
    for r in routes.TABLE:
        if r.scopes != {"user"} or "{" not in r.path or "..." in r.path:
            continue
        prefix = next((p for p in has[theirs] if r.path.startswith(p + "{")), None)
        check(prefix, f"somebody has what {r} names")
        entry = str(has[theirs]["/miniflux/v1/entries/"])
        path = r.path.replace("{entryId}", entry).replace("{id}", str(has[theirs][prefix]))
        body = BODIES.get(r.path) or BODIES.get(r.path.split("}")[-1], {"title": "x"})
        who = mine.mf if prefix.startswith("/miniflux") else mine.api
        a = who(r.method, path, body if r.body else None)
        # A category that is not one's own is an empty one to Miniflux's routes.
        empty = "/categories/" in prefix and a.body in (b"[]", b'{"total":0,"entries":[]}', b"")
        check(a.status in (403, 404) or empty, f"{r} {path} of somebody else", a)
        n += 1
    check(n > 25, "many of them", n)
    same(theirs.state(), before, "nothing was touched")
    same(len(theirs.mf.get("/miniflux/v1/feeds").want(200).json), 2, "both feeds are there")
    check(theirs.mf.get("/miniflux/v1/me").status == 200, "and the app password")
