"""App passwords: made once, shown once, good for apps alone."""
from apps import FORM, SETTINGS, form, no, token  # noqa: F401
from feedsite import person
from hk import PASSWORD, basic, check, same, until


def test_life(t):
    c = person(t.srv, "tok-life")
    made = token(c, "phone")
    same(made["login"], "tok-life", "the name to use")
    check(len(made["token"]) == 27 and made["token"].startswith(made["prefix"]), "one", made)
    listed = c.get("/api/users/me/tokens").want(200)
    check(made["token"].encode() not in listed.body, "never shown again", listed)
    same([(x["name"], x["last_used_at"]) for x in listed.json["tokens"]], [("phone", None)], "listed")
    app = t.srv.connect()
    app.get("/miniflux/v1/me", {"X-Auth-Token": made["token"]}).want(200)
    until(lambda: c.get("/api/users/me/tokens").json["tokens"][0]["last_used_at"], "when it was used")
    c.delete("/api/users/me/tokens/" + made["id"]).want(204)
    no(app.get("/miniflux/v1/me", {"X-Auth-Token": made["token"]}), 401)
    no(c.delete("/api/users/me/tokens/" + made["id"]), 404)
    rows = t.srv.rows("SELECT count(*) FROM user_token")
    check(rows, "the store holds hashes", rows)


def test_stored_hashed(t):
    c = person(t.srv, "tok-hash")
    made = token(c)
    dump = "".join(str(r) for r in t.srv.rows(
        "SELECT name, login, shown, hex(hash), hex(fever_hash) FROM user_token" if not t.srv.url else
        "SELECT name, login, shown, encode(hash, 'escape'), encode(fever_hash, 'escape') FROM user_token"))
    check(made["token"] not in dump, "not as it is")
    check(made["token"].encode() not in t.srv.all_logs(), "nor in the log")


def test_for_apps_alone(t):
    c = person(t.srv, "tok-apps")
    word = token(c)["token"]
    app = t.srv.connect(basic("tok-apps", word))
    app.get("/miniflux/v1/me").want(200)
    for path in ("/api/users/me/tokens", "/api/subscriptions", "/v1/whoami", "/api/opml"):
        no(app.get(path), 401)
    app.get("/miniflux/v1/me").want(200)
    no(t.srv.connect().get("/api/users/me/tokens", {"X-Auth-Token": word}), 401)


def test_whose(t):
    a, b = person(t.srv, "tok-a"), person(t.srv, "tok-b")
    made = token(a)
    no(b.delete("/api/users/me/tokens/" + made["id"]), 404)
    same(b.get("/api/users/me/tokens").json["tokens"], [], "nobody else sees it")
    no(t.srv.connect(basic("tok-b", made["token"])).get("/miniflux/v1/me"), 401)
    me = t.srv.connect(basic("tok-a", made["token"])).get("/miniflux/v1/me").want(200).json
    same(me["username"], "tok-a", "its owner")


def test_an_accounts_password_too(t):
    me = t.srv.connect(basic("admin", PASSWORD)).get("/miniflux/v1/me").want(200).json
    same(me["username"], "admin", "Miniflux sends it plain, as Basic does")
    a = t.srv.connect()("POST", "/accounts/ClientLogin",
                        form(("Email", "admin"), ("Passwd", PASSWORD)), FORM)
    same(a.status, 401, "what apps keep and send on is an app password")


def test_wrong_fields(t):
    c = person(t.srv, "tok-wrong")
    for body, at in (({}, "name"), ({"name": ""}, "name"), ({"name": 1}, "name"),
                     ({"name": "x" * 101}, "name"), ({"name": "x", "y": 1}, "y")):
        a = c.post("/api/users/me/tokens", body)
        check(a.status == 400 and a.json["fields"][0]["field"] == at, "named", body, a)
    for _ in range(50):
        token(c)
    no(c.post("/api/users/me/tokens", {"name": "one more"}), 409)


def test_guessing(t):
    srv = t.server()
    word = token(srv.admin())["token"]
    wrong = word[:-1] + ("a" if word[-1] != "a" else "b")
    seen = [srv.connect().get("/miniflux/v1/me", {"X-Auth-Token": wrong}).status for _ in range(12)]
    check(set(seen) == {401, 429} and seen[-1] == 429, "locked after some", seen)
    srv.connect().get("/miniflux/v1/me", {"X-Auth-Token": word}).want(200)
