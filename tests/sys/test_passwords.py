"""A new password: who may set it, which are refused, and what it ends."""
from apps import token
from hk import PASSWORD, basic, check, same
from people import Browser

OLD, NEW = "the first of all mine", "the second of all mine"


def make(srv, name, **more):
    srv.admin().post("/v1/users", {"name": name, "password": OLD, **more}).want(201)
    return srv.connect(basic(name, OLD))


def put(c, name, **body):
    return c("PUT", f"/v1/users/{name}/password", body)


def app_status(srv, word):
    return srv.connect().get("/miniflux/v1/me", {"X-Auth-Token": word}).status


def test_own_needs_the_old_one(t):
    srv = t.srv
    b = Browser(srv)
    make(srv, "own")
    same(b.login("own", OLD).status, 200, "she is logged in; somebody else sits down")
    put(b, "own", password=NEW).want(422, pointer="/oldPassword")
    put(b, "own", password=NEW, oldPassword=7).want(422, pointer="/oldPassword")
    put(b, "own", password=NEW, oldPassword="a guess").want(422, pointer="/oldPassword")
    same(Browser(srv).login("own", OLD).status, 200, "it is still the old one")
    put(b, "own", password=NEW, oldPassword=OLD).want(204)
    same(Browser(srv).login("own", OLD).status, 401, "the old one is over")
    same(Browser(srv).login("own", NEW).status, 200, "the new one is good")
    put(srv.admin(), "admin", password=NEW).want(422, pointer="/oldPassword")
    put(make(srv, "eve"), "own", password=NEW, oldPassword=OLD).want(403)
    put(srv.client(srv.new_key("manage")["key"]), "own", password=NEW).want(403)


def test_guessing_the_old_one_locks(t):
    srv = t.server(LOGIN_FAILURES_MAX="3", LOGIN_LOCK="60s")
    c = make(srv, "slow")
    got = [put(c, "slow", password=NEW, oldPassword=f"a guess {i}").status for i in range(6)]
    check(got[:3] == [422] * 3 and got[-1] == 429, "it counts as a wrong password", got)


def test_ends_sessions_and_apps(t):
    srv = t.srv
    c = make(srv, "mia")
    here, there = Browser(srv), Browser(srv)
    for b in (here, there):
        same(b.login("mia", OLD).status, 200, "login")
    word, kept = token(c)["token"], token(make(srv, "other"))["token"]
    same(app_status(srv, word), 200, "the app syncs")
    put(here, "mia", password=NEW, oldPassword=OLD).want(204)
    same([b.get("/auth/me").status for b in (here, there)], [200, 401], "but the one it was set in")
    same(app_status(srv, word), 401, "the app's is over")
    same(app_status(srv, kept), 200, "somebody else's is not")
    word = token(srv.connect(basic("mia", NEW)))["token"]
    put(srv.admin(), "mia", password=OLD).want(204)
    same(here.get("/auth/me").status, 401, "an admin ends them all")
    same(app_status(srv, word), 401, "with the apps'")
    word = token(srv.connect(basic("mia", OLD)))["token"]
    srv.cli("user", "passwd", "mia", stdin=NEW.encode() + b"\n").want(0)
    same(app_status(srv, word), 401, "and so does the command line")


def test_the_worst_are_refused(t):
    srv = t.srv
    for word in ("password", "Passw0rd!", "12345678", "aaaaaaaa", "letmein123", "hikyaku2026",
                 "qwertyuiop", "joan-of-arc1"):
        a = srv.admin().post("/v1/users", {"name": "joan-of-arc", "password": word})
        a.want(422, pointer="/password", says="guessed")
        put(srv.admin(), "joan-of-arc", password=word).want(422, pointer="/password")
        srv.cli("user", "add", "joan-of-arc", stdin=word.encode() + b"\n").want(1, says="guessed")
    srv.admin().post("/v1/users", {"name": "joan-of-arc", "password": "orleans, in the spring"}).want(201)
    same(srv.admin().get("/v1/whoami").status, 200, PASSWORD)


def test_a_reader_reads_feeds_alone(t):
    """Who is given no role has no scope: nothing of /v1 but himself."""
    srv = t.srv
    srv.cli("user", "add", "ann", stdin=OLD.encode() + b"\n").want(0, says="role reader")
    ann = srv.connect(basic("ann", OLD))
    same(ann.get("/v1/whoami").want(200).json["scopes"], [], "no scope")
    srv.client()("PUT", "/v1/consumers/work", {}).want(201)
    for path in ("/v1/events", "/v1/events/stream", "/v1/event-types", "/v1/subscriptions",
                 "/v1/deliveries", "/v1/dead-letters", "/v1/consumers", "/v1/consumers/work/events",
                 "/v1/replays", "/v1/sources", "/v1/presets", "/v1/keys", "/v1/users", "/v1/audit"):
        ann.get(path).want(403)
    same(ann.get("/api/subscriptions").status, 200, "her feeds")
    users = {u["name"]: u["role"] for u in srv.admin().get("/v1/users").want(200).json["data"]}
    same(users["ann"], "reader", "as it is listed")
