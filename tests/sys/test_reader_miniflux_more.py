"""The Miniflux REST API beyond what newsboat needs: every form of a bool, options of feeds that are
honoured or refused with a reason, ids, enclosures, people for admins, API keys."""
from apps import JSON, SETTINGS, World, dump, no  # noqa: F401
from feedsite import due, fetches, rss
from hk import basic, check, same, until

V1 = "/miniflux/v1"
WORDS = "long enough to be good"


def put(c, path, body=None):
    return c("PUT", V1 + path, dump(body) if body is not None else b"", JSON)


def post(c, path, body):
    return c("POST", V1 + path, dump(body), JSON)


def titles(page):
    return [e["title"] for e in page["entries"]]


def owner(w):
    """The person by the account's own password: what apps may not do, they may."""
    return w.srv.connect(basic(w.name, "a long password here"), timeout=40)


def refused(a, field):
    check(a.status == 400 and field in a.json["error_message"], f"{field} is refused by its name", a)
    return a


def test_bools(t):
    """As Go reads them: what Python sends is True."""
    w = World(t.srv, t)
    ids = {e["title"]: e["id"] for e in w.entries()["entries"]}
    put(w.mf, f"/entries/{ids['Article 2']}/star").want(204)
    for yes in ("1", "t", "T", "TRUE", "true", "True"):
        same(titles(w.entries(starred=yes)), ["Article 2"], f"starred={yes}")
    for not_so in ("0", "f", "F", "FALSE", "false", "False"):
        same(w.entries(starred=not_so)["total"], 4, f"starred={not_so}")
    for bad in ("yes", "2", "", "tRUE"):
        refused(w.mf.get(V1 + "/entries", starred=bad), "starred")
    same(len(w.mf.get(V1 + "/categories", counts="True").want(200).json[0]), 6, "counted")
    put(w.mf, f"/entries/{ids['Article 2']}/bookmark").want(204)
    same(w.entries(starred="True")["total"], 0, "the older name is the same")
    no(put(w.mf, "/entries/99999999/star"), 404)


def test_ids(t):
    """Entries by their ids, within a feed or a category, and ids alone."""
    w = World(t.srv, t)
    page = w.entries(order="id", direction="desc")["entries"]
    ids = [e["id"] for e in page]
    got = w.mf.get(V1 + "/entries/ids").want(200).json
    same(got, {"total": 5, "entry_ids": ids}, "all, newest first")
    got = w.mf.get(V1 + "/entries/ids", limit=2, offset=1).want(200).json
    same(got, {"total": 5, "entry_ids": ids[1:3]}, "a page")
    put(w.mf, "/entries", {"entry_ids": ids[:2], "status": "read"}).want(204)
    put(w.mf, "/entries", {"entry_ids": ids[1:3], "starred": True}).want(204)
    same(w.mf.get(V1 + "/entries/ids", status="read").json["entry_ids"], ids[:2], "read")
    same(w.mf.get(V1 + "/entries/ids", starred="true").json["entry_ids"], ids[1:3], "starred")
    refused(w.mf.get(V1 + "/entries/ids", status="maybe"), "status")
    e = next(x for x in page if x["feed_id"] == w.alpha)
    news = e["feed"]["category"]["id"]
    one = w.mf.get(f"{V1}/feeds/{w.alpha}/entries/{e['id']}").want(200).json
    same(w.mf.get(f"{V1}/categories/{news}/entries/{e['id']}").want(200).json, one, "by its category")
    no(w.mf.get(f"{V1}/feeds/{w.beta}/entries/{e['id']}"), 404)
    no(w.mf.get(f"{V1}/categories/2147483647/entries/{e['id']}"), 404)
    same(w.entries(feed_id=w.beta)["total"], 2, "a feed as a filter")
    refused(w.mf.get(V1 + "/entries", feed_id=999999), "feed_id")
    refused(w.mf.get(V1 + "/entries", category_id=999999), "category_id")
    refused(w.mf.get(V1 + "/entries", tags="x"), "tags")
    same([x["id"] for x in w.entries(order="created_at", direction="desc")["entries"]], ids, "by when it came")


def test_hidden(t):
    """hide_globally, of a feed and of a category: out of what is globally visible, and nothing else."""
    w = World(t.srv, t)
    w.site.put("/gamma", rss(1, title="Gamma", start=20))
    seen = lambda: sorted(titles(w.entries(globally_visible="true")))
    f = post(w.mf, "/feeds", {"feed_url": w.site.url("/gamma"), "hide_globally": True}).want(201).json["feed_id"]
    check(w.mf.get(f"{V1}/feeds/{f}").json["hide_globally"] is True, "it says so")
    same(w.entries()["total"], 6, "all of it is there")
    same(seen(), ["Article 0", "Article 1", "Article 10", "Article 11", "Article 2"], "hidden")
    put(w.mf, f"/feeds/{f}", {"hide_globally": False}).want(201)
    same(len(seen()), 6, "shown again")
    made = post(w.mf, "/categories", {"title": "Quiet", "hide_globally": True}).want(201).json
    check(made["hide_globally"] is True, "made so", made)
    put(w.mf, f"/feeds/{w.beta}", {"category_id": made["id"]}).want(201)
    same(seen(), ["Article 0", "Article 1", "Article 2", "Article 20"], "a hidden category")
    got = {c["title"]: c["hide_globally"] for c in w.mf.get(V1 + "/categories").json}
    same(got, {"All": False, "News": False, "Quiet": True}, "listed")
    got = put(w.mf, f"/categories/{made['id']}", {"title": "Calm"}).want(201).json
    same((got["title"], got["hide_globally"]), ("Calm", True), "what is not given stays")
    got = put(w.mf, f"/categories/{made['id']}", {"hide_globally": False}).want(201).json
    same((got["title"], got["hide_globally"]), ("Calm", False), "the title too")
    same(len(seen()), 6, "all")
    for bad in ({"hide_globally": "yes"}, {"title": "", "hide_globally": True}, {}):
        no(put(w.mf, f"/categories/{made['id']}", bad), 400)
    refused(put(w.mf, f"/feeds/{f}", {"hide_globally": 1}), "hide_globally")


def test_options(t):
    """Disabled and ignore_http_cache have an effect; what has none is refused."""
    w = World(t.srv, t)
    u, beta = w.site.url("/delta"), w.site.url("/beta")
    w.site.put("/delta", rss(1, title="Delta"), etag='"one"')
    asked = lambda: [q.headers.get("if-none-match") for q in w.site.at("/delta")]
    f = post(w.mf, "/feeds", {"feed_url": u, "disabled": True}).want(201).json["feed_id"]
    got = w.mf.get(f"{V1}/feeds/{f}").json
    same((got["disabled"], got["ignore_http_cache"]), (True, False), "disabled")
    n, others = len(asked()), len(fetches(t.srv, beta))
    due(t.srv, u)
    due(t.srv, beta)
    until(lambda: len(fetches(t.srv, beta)) > others, "another one is fetched", 40)
    same(len(asked()), n, "a disabled one is not asked for")
    done = len(fetches(t.srv, u))
    same(put(w.mf, f"/feeds/{f}", {"disabled": False}).want(201).json["disabled"], False, "enabled")
    due(t.srv, u)
    until(lambda: len(fetches(t.srv, u)) > done, "it is fetched", 40)
    same(asked()[-1], '"one"', "by its validator")
    check(put(w.mf, f"/feeds/{f}", {"ignore_http_cache": True}).want(201).json["ignore_http_cache"], "without a cache")
    due(t.srv, u)
    until(lambda: asked()[-1] is None, "it is fetched as if it were new", 40)
    for name, value in (("scraper_rules", "article"), ("rewrite_rules", "x"), ("blocklist_rules", "x"), ("keeplist_rules", "x"),
                        ("urlrewrite_rules", "x"), ("crawler", True), ("user_agent", "x"), ("cookie", "x"),
                        ("fetch_via_proxy", True), ("proxy_url", "http://x/"), ("disable_http2", True),
                        ("allow_self_signed_certificates", True), ("ignore_entry_updates", True), ("description", "x"),
                        ("no_media_player", True), ("site_url", "http://elsewhere/")):
        refused(put(w.mf, f"/feeds/{f}", {name: value}), name)
        if name not in ("description", "site_url"):
            refused(post(w.mf, "/feeds", {"feed_url": w.site.url("/other"), name: value}), name)
    # What an app read, it may send back.
    same(put(w.mf, f"/feeds/{f}", w.mf.get(f"{V1}/feeds/{f}").json).want(201).json["id"], f, "the same")
    refused(post(w.mf, "/feeds", {"feed_url": w.site.url("/gamma"), "category_id": 123456789}), "category_id")
    same(len(w.site.at("/gamma")), 0, "nobody looked")
    refused(put(w.mf, f"/feeds/{f}", {"category_id": 123456789}), "category_id")


def test_another_address(t):
    """feed_url of a PUT: what PATCH /api/feeds does."""
    w = World(t.srv, t)
    w.site.put("/gamma", rss(1, title="Gamma", start=20))
    f = put(w.mf, f"/feeds/{w.alpha}", {"feed_url": w.site.url("/gamma"), "title": "Mine"}).want(201).json
    same((f["feed_url"], f["title"], f["category"]["title"]), (w.site.url("/gamma"), "Mine", "News"), "moved")
    same(len(w.mf.get(V1 + "/feeds").json), 2, "not added")
    a = put(w.mf, f"/feeds/{w.beta}", {"feed_url": w.site.url("/gamma")})
    check(a.status == 409 and a.json["error_message"], "one has it already", a)
    no(put(w.mf, "/feeds/999999", {"feed_url": w.site.url("/gamma")}), 404)
    # The same articles at another address: stars and marks stay.
    w.site.put("/beta2", rss(2, title="Beta", link=w.site.url("/b/"), start=10))
    one, two = (e["id"] for e in w.mf.get(f"{V1}/feeds/{w.beta}/entries", order="id", direction="asc").want(200).json["entries"])
    put(w.mf, "/entries", {"entry_ids": [one], "status": "read"}).want(204)
    put(w.mf, f"/entries/{two}/bookmark").want(204)
    f = put(w.mf, f"/feeds/{w.beta}", {"feed_url": w.site.url("/beta2")}).want(201).json
    got = w.mf.get(f"{V1}/feeds/{f['id']}/entries").want(200).json["entries"]
    same(sorted((e["status"], e["starred"]) for e in got), [("read", False), ("unread", True)], "what was done with them")


def test_enclosures(t):
    w = World(t.srv, t)
    files = "".join(f'<enclosure url="{w.site.url(p)}" type="audio/mpeg" length="{n}"/>'
                    for p, n in (("/a.mp3", 7), ("/b.mp3", 8)))
    w.site.put("/cast", rss(1, title="Cast", start=30).replace(b"<guid>", files.encode() + b"<guid>"))
    post(w.mf, "/feeds", {"feed_url": w.site.url("/cast")}).want(201)
    entry = lambda: w.entries(search='"Article 30"')["entries"][0]
    one, two = entry()["enclosures"]
    same((two["url"], two["mime_type"], two["size"], two["media_progression"]),
         (w.site.url("/b.mp3"), "audio/mpeg", 8, 0), "a file")
    same(w.mf.get(f"{V1}/enclosures/{two['id']}").want(200).json, two, "by its id")
    put(w.mf, f"/enclosures/{two['id']}", {"media_progression": 20}).want(204)
    put(w.mf, f"/enclosures/{one['id']}", {"media_progression": 5}).want(204)
    same([x["media_progression"] for x in entry()["enclosures"]], [5, 20], "how far each was played")
    same((entry()["status"], entry()["starred"]), ("unread", False), "nothing else changed")
    for bad in ({}, {"media_progression": -1}, {"media_progression": "x"}, []):
        no(put(w.mf, f"/enclosures/{one['id']}", bad), 400)
    no(w.mf.get(f"{V1}/enclosures/{two['id'] + 1}"), 404)
    no(w.mf.get(f"{V1}/enclosures/99999999999"), 404)
    other = World(t.srv, t)
    no(other.mf.get(f"{V1}/enclosures/{two['id']}"), 404)
    no(put(other.mf, f"/enclosures/{two['id']}", {"media_progression": 1}), 404)


def test_history(t):
    """flush-history: what was read and has no star is shown no more."""
    w = World(t.srv, t)
    ids = {e["title"]: e["id"] for e in w.entries()["entries"]}
    put(w.mf, "/entries", {"entry_ids": [ids["Article 0"], ids["Article 1"], ids["Article 2"]], "status": "read"}).want(204)
    put(w.mf, f"/entries/{ids['Article 2']}/star").want(204)
    w.mf("PUT", V1 + "/flush-history").want(202)
    same(titles(w.entries(status="read")), ["Article 2"], "but for the star")
    same(w.entries()["total"], 3, "nowhere")
    same(w.mf.get(V1 + "/entries/ids").json["total"], 3, "nor by id")
    same(w.state()["Article 0"], (True, False), "our own API has it all")
    put(w.mf, "/entries", {"entry_ids": [ids["Article 10"]], "status": "read"}).want(204)
    same(sorted(titles(w.entries(status="read"))), ["Article 10", "Article 2"], "what is read later")
    put(w.mf, "/entries", {"entry_ids": [ids["Article 0"]], "status": "unread"}).want(204)
    same(w.entries()["total"], 4, "unread again is there again")
    w.mf("DELETE", V1 + "/flush-history").want(202)
    same(titles(w.entries(status="read")), ["Article 2"], "the other way to say it")


def test_what_there_is_none_of(t):
    """In words, and not found before anything else."""
    w = World(t.srv, t)
    e = w.entries()["entries"][0]["id"]
    for method, path, says in (("POST", f"/entries/{e}/save", "third-party"), ("GET", f"/entries/{e}/fetch-content", "pages"),
                               ("PUT", f"/entries/{e}", "title"), ("POST", f"/feeds/{w.alpha}/entries/import", "by hand")):
        no(w.mf(method, V1 + path, dump({"title": "x"}) if method != "GET" else None, JSON), 400, says)
        gone = path.replace(str(e), "999999").replace(f"feeds/{w.alpha}", "feeds/999999")
        no(w.mf(method, V1 + gone, dump({"title": "x"}) if method != "GET" else None, JSON), 404)
    same(t.srv.connect().get("/miniflux").want(200).headers["content-type"][:10], "text/plain", "for a browser")
    v = w.mf.get(V1 + "/version").want(200).json
    check(all(v[k] for k in ("version", "commit", "build_date", "go_version", "compiler", "arch", "os")), "all said", v)
    w.mf("PUT", f"{V1}/categories/2147483647/refresh").want(204)


def test_users(t):
    """An admin, by the account's password, sees and makes people; nobody else does."""
    w = World(t.srv, t)
    admin = t.srv.admin(timeout=40)
    me = admin.get(V1 + "/me").want(200).json
    same((me["username"], me["is_admin"], me["theme"]), ("admin", True, "light_serif"), "an admin")
    name = "mf-" + w.name
    u = post(admin, "/users", {"username": name, "password": WORDS, "is_admin": False}).want(201).json
    same((u["username"], u["is_admin"]), (name, False), "made")
    check("password" not in u, "no password")
    check(any(x.items() <= u.items() for x in admin.get(V1 + "/users").want(200).json), "listed")
    same(admin.get(f"{V1}/users/{u['id']}").want(200).json, u, "by id")
    same(admin.get(f"{V1}/users/{name}").want(200).json, u, "by name")
    no(admin.get(f"{V1}/users/nobody-at-all"), 404)
    for bad, field in (({"username": name, "password": WORDS}, "already"), ({"username": "Ä", "password": WORDS}, "a name is"),
                       ({"username": name + "2", "password": "x"}, "password"),
                       ({"username": name + "2", "password": WORDS, "google_id": "x"}, "google_id")):
        a = post(admin, "/users", bad)
        check(400 <= a.status < 500 and field in a.json["error_message"], field, a)
    c = t.srv.connect(basic(name, WORDS), timeout=40)
    same(c.get(V1 + "/me").want(200).json, u, "they are somebody")
    for who in (c, w.mf):
        for method, path in (("GET", "/users"), ("POST", "/users"), ("GET", f"/users/{u['id']}"), ("DELETE", f"/users/{u['id']}")):
            no(who(method, V1 + path, b"{}" if method == "POST" else None, JSON if method == "POST" else None), 403)
    same(put(c, f"/users/{u['id']}", {"theme": "dark_serif"}).want(201).json["theme"], "dark_serif", "a theme")
    same(c.get("/api/users/me/settings").want(200).json["theme"], "dark", "for our own API too")
    same(put(c, f"/users/{u['id']}", c.get(V1 + "/me").json).want(201).json["theme"], "dark_serif", "sent back")
    looks = {"external_font_hosts": "a.example b.example", "custom_js": "1 < 2", "stylesheet": "p { color: \"red\" }"}
    for field, value in looks.items():
        same(put(c, f"/users/{u['id']}", {field: f"  {value}\n"}).want(201).json[field], value, "kept for apps")
    same({k: c.get(V1 + "/me").json[k] for k in looks}, looks, "all of them")
    same(c.get("/api/users/me/settings").want(200).json["theme"], "dark", "the theme stays")
    for field, value in (("theme", "invalid_theme"), ("external_font_hosts", "'self' *"), ("custom_js", 1),
                         ("stylesheet", "x" * 17000), ("language", "fr_FR"), ("is_admin", True), ("username", "x"), ("password", WORDS)):
        refused(put(c, f"/users/{u['id']}", {field: value}), field)
    no(put(c, f"/users/{me['id']}", {"theme": "dark_serif"}), 403)
    same(put(admin, f"/users/{u['id']}", {"theme": "light_serif"}).want(201).json["theme"], "light_serif", "an admin may")
    refused(admin.delete(f"{V1}/users/{me['id']}"), "yourself")
    admin.delete(f"{V1}/users/{u['id']}").want(204)
    no(admin.delete(f"{V1}/users/{u['id']}"), 404)
    no(c.get(V1 + "/me"), 401)


def test_an_admins_app_is_no_admin(t):
    admin = t.srv.admin(timeout=40)
    key = post(admin, "/api-keys", {"description": "phone of " + t.path("x")[-60:]}).want(201).json
    app = t.srv.connect(None, timeout=40)
    by = {"X-Auth-Token": key["token"]}
    same(app.get(V1 + "/me", by).want(200).json["username"], "admin", "it is theirs")
    no(app.get(V1 + "/users", by), 403)
    no(app("POST", V1 + "/api-keys", dump({"description": "another"}), {**JSON, **by}), 403)
    no(app("DELETE", f"{V1}/api-keys/{key['id']}", None, by), 403)
    admin.delete(f"{V1}/api-keys/{key['id']}").want(204)
    no(app.get(V1 + "/me", by), 401)


def test_api_keys(t):
    """App passwords, by the names that Miniflux has for them."""
    w = World(t.srv, t)
    c = owner(w)
    have = c.get(V1 + "/api-keys").want(200).json
    same([k["description"] for k in have], ["phone"], "what there is")
    check(w.token not in c.get(V1 + "/api-keys").body.decode() and have[0]["token"].endswith("…"), "not to be read again", have)
    key = post(c, "/api-keys", {"description": "reader"}).want(201).json
    same(t.srv.connect(None).get(V1 + "/me", {"X-Auth-Token": key["token"]}).want(200).json["username"], w.name, "it is good")
    refused(post(c, "/api-keys", {"description": "reader"}), "description")
    for bad in ({}, {"description": ""}, {"description": "x" * 101}):
        refused(post(c, "/api-keys", bad), "description")
    same([k["id"] for k in c.get(V1 + "/api-keys").json], [have[0]["id"], key["id"]], "both")
    c.delete(f"{V1}/api-keys/{key['id']}").want(204)
    no(c.delete(f"{V1}/api-keys/{key['id']}"), 404)
    no(t.srv.connect(None).get(V1 + "/me", {"X-Auth-Token": key["token"]}), 401)
    other = World(t.srv, t)
    no(owner(other).delete(f"{V1}/api-keys/{have[0]['id']}"), 404)
    same(w.mf.get(V1 + "/me").status, 200, "theirs is good")
