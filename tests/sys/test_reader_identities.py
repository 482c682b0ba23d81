"""Several identities of one person (seed 002, 1.7), and where a login leads back to (1.8)."""
import urllib.parse

import hk
from hk import check, same
from people import BACK, SITE, Browser, Fake, person

PATH = "/api/users/me/identities"
UI, OTHER = "https://ui.example.com", "https://reader.example.org:8443"


def quote(text):
    return urllib.parse.quote(text, safe="")


def world(t, **more):
    f = Fake(t)
    return f, t.server(**f.settings(RATE_LIMIT_GENERAL="0", **more))


def come_in(f, srv, sub):
    f.claims["sub"] = sub
    b = Browser(srv, SITE)
    same(b.travel(f.sign_in()), SITE + "/", "home")
    return b


def local(srv, name="admin", password=hk.PASSWORD):
    b = Browser(srv, SITE)
    same(b.login(name, password).status, 200, "a local login")
    return b


def link(f, b, sub, back=None):
    """Begins at the page, goes to the provider, and returns where it ends."""
    f.claims["sub"] = sub
    a = b("POST", PATH, {"return": back} if back else None,
          {"Content-Type": "application/json"})
    same(a.status, 200, "begun")
    return b.come_back(f.sign_in()(a.json["location"]))


def mine(b):
    return {(i["provider"], i["subject"]): i["id"] for i in b.get(PATH).json["identities"]}


def said(url, at=SITE):
    check(url.startswith(at + "/?login_error="), "led home with an error", url)
    return url.split("=", 1)[1]


def test_1_7_link_a_second_identity(t):
    """Who is logged in links an identity at the provider; each leads to the same person."""
    f, srv = world(t, OIDC_SIGNUP="closed")
    b = local(srv)
    me = b.get("/auth/me").json
    same(list(mine(b)), [("local", "admin")], "at first")
    same(link(f, b, "s-1", "/me?tab=1"), SITE + "/me?tab=1", "led back")
    same(list(mine(b)), [("local", "admin"), (f.issuer, "s-1")], "two")
    same(b.get("/auth/me").json, me, "the session goes on")
    same(link(f, b, "s-1"), SITE + "/", "the same once more")
    same(link(f, b, "s-2"), SITE + "/", "another account at the same provider")
    same(len(mine(b)), 3, "three")
    for sub in ("s-1", "s-2"):
        c = come_in(f, srv, sub)
        it = c.get("/auth/me").json
        same((it["id"], it["name"], it["email"], it["scopes"], it["provider"]),
             (me["id"], me["name"], me["email"], me["scopes"], f.issuer), "the same person")
    f.claims["sub"] = "s-3"
    same(said(Browser(srv, SITE).travel(f.sign_in())), "signup_closed", "whom nobody linked stays out")
    rows = srv.admin().get("/v1/audit?category=IDENTITY_LINKED").want(200).json["data"]
    same([(r["target"]["objectId"], r["target"]["objectName"]) for r in rows],
         [("admin", f.issuer)] * 2, "audited, what is new alone")


def test_1_7_an_identity_is_one_persons(t):
    """What is somebody else's is not moved; nobody has more than twenty."""
    f, srv = world(t)
    eve, b = come_in(f, srv, "s-9"), local(srv)
    same(said(link(f, b, "s-9")), "identity_taken", "refused")
    same(list(mine(b)), [("local", "admin")], "not linked")
    same(list(mine(eve)), [(f.issuer, "s-9")], "not taken away")
    same(come_in(f, srv, "s-9").get("/auth/me").json["id"], eve.get("/auth/me").json["id"], "still hers")
    for i in range(19):
        same(link(f, b, f"n-{i}"), SITE + "/", "linked")
    same(said(link(f, b, "n-19")), "identity_limit", "twenty")
    same(len(mine(b)), 20, "twenty")


def test_1_7_never_the_last_way_in(t):
    """An identity is removed, with who came in by it; the last one and an account's stay."""
    f, srv = world(t)
    b = come_in(f, srv, "s-1")
    me = b.get("/auth/me").json["id"]
    one = mine(b)[f.issuer, "s-1"]
    person(b("DELETE", f"{PATH}/{one}"), 409, "LAST_IDENTITY", "auth")
    same(link(f, b, "s-2"), SITE + "/", "another")
    second, admin = come_in(f, srv, "s-1"), local(srv)
    person(admin("DELETE", f"{PATH}/{one}"), 404, "NOT_FOUND")
    person(b("DELETE", PATH + "/nothing"), 404, "NOT_FOUND")
    person(b("DELETE", f"{PATH}/{one}", None, {"Origin": "https://evil.example"}), 403, "CROSS_ORIGIN")
    same(b("DELETE", f"{PATH}/{one}").status, 204, "removed")
    same(list(mine(b)), [(f.issuer, "s-2")], "one is left")
    same(b.get("/auth/me").json["id"], me, "this session goes on")
    person(second.get("/auth/me"), 401)
    same(come_in(f, srv, "s-2").get("/auth/me").json["id"], me, "by the one that is left")
    check(come_in(f, srv, "s-1").get("/auth/me").json["id"] != me, "the other is somebody new")
    person(b("DELETE", f"{PATH}/{mine(b)[f.issuer, 's-2']}"), 409, "LAST_IDENTITY")
    person(admin("DELETE", f"{PATH}/{mine(admin)['local', 'admin']}"), 409, "OWN_ACCOUNT", "auth")
    rows = srv.admin().get("/v1/audit?category=IDENTITY_UNLINKED").want(200).json["data"]
    same([r["target"]["objectId"] for r in rows], ["person:" + me], "audited")


def test_1_7_a_provider_that_is_not_set_is_no_way_in(t):
    """What one can log in with now counts, and nothing else."""
    f, srv = world(t)
    b, g = come_in(f, srv, "s-1"), Fake(t)
    srv.stop()
    b.client.close()
    srv.settings["OIDC_ISSUER"] = g.issuer
    srv.start()
    again = Browser(srv, SITE)
    again.cookies = dict(b.cookies)
    same(link(g, again, "g-1"), SITE + "/", "the new provider")
    ids = mine(again)
    person(again("DELETE", f"{PATH}/{ids[g.issuer, 'g-1']}"), 409, "LAST_IDENTITY")
    same(again("DELETE", f"{PATH}/{ids[f.issuer, 's-1']}").status, 204, "the old one may go")


def test_1_7_nobody_links_for_another(t):
    """It begins at a page of ours, and ends in the same browser and session."""
    f, srv = world(t)
    b, head = local(srv), {"Content-Type": "application/json"}
    person(b("POST", PATH, {}, {**head, "Origin": "https://evil.example"}), 403, "CROSS_ORIGIN")
    a = srv.connect(hk.basic("admin", hk.PASSWORD))("POST", PATH, {}, head)
    person(a, 401, "UNAUTHORIZED")
    person(b("POST", PATH, {"return": "https://evil.example/"}, head), 400, "INVALID_FIELD")
    person(b("POST", PATH, {"x": 1}, head), 400, "INVALID_FIELD")
    f.claims["sub"] = "s-1"
    back = f.sign_in()(b("POST", PATH, {}, head).json["location"])
    same(said(Browser(srv, SITE).come_back(back)), "state", "another browser")
    other = Browser(srv, SITE)
    other.cookies = {"hikyaku_login": b.cookies["hikyaku_login"]}
    same(said(other.come_back(back)), "link_session", "without the session")
    srv.admin().post("/v1/users", {"name": "anna", "password": "long-enough"}).want(201)
    anna = local(srv, "anna", "long-enough")
    anna.cookies["hikyaku_login"] = b.cookies["hikyaku_login"]
    same(said(anna.come_back(back)), "link_session", "with another person's")
    back = f.sign_in()(b("POST", PATH, {}, head).json["location"])
    kept = b.cookies["hikyaku_login"]
    same(b("POST", "/auth/logout").status, 204, "logged out meanwhile")
    b.cookies["hikyaku_login"] = kept
    same(said(b.come_back(back)), "link_session", "after a logout")
    same(srv.rows("SELECT count(*) FROM identities WHERE provider <> 'local'"), [("0",)], "none was linked")
    person(Browser(t.srv).get(PATH), 401, "UNAUTHORIZED")
    b = Browser(t.srv)
    b.login()
    person(b("POST", PATH, {}, head), 404, "NOT_FOUND")


def test_1_8_led_back_to_an_allowed_origin(t):
    """A user interface elsewhere is returned to, with what went wrong too; no open redirect."""
    f, srv = world(t, CORS_ALLOWED_ORIGIN=f"{UI}, {OTHER}")
    b = Browser(srv, UI)
    for at in (UI, UI + "/", UI + "/app?x=1", OTHER + "/a/b", SITE + "/feeds", "/feeds"):
        want = SITE + at if at.startswith("/") else at
        same(b.travel(f.sign_in(), "/auth/google/login?return=" + quote(at)), want, at)
        same(b.get("/auth/me", {"Origin": UI}).status, 200, "logged in")
    go = "/auth/google/login?return=" + quote(UI + "/app")
    same(said(b.travel(f.sign_in(code=None, error="access_denied"), go), UI), "access_denied", "errors too")
    f.claims["aud"] = "them"
    same(said(b.travel(f.sign_in(), go), UI), "bad_token", "errors too")
    f.reset()
    same(said(b.come_back(BACK + "?code=x&state=y")), "state", "home when it is not known where from")
    for bad in ("https://evil.example/", UI + ".evil.example/", UI + "@evil.example/", UI + ":444/",
                UI.replace("https", "http") + "/", UI + "\\@evil.example", UI + "//evil", UI + "?x",
                OTHER.rsplit(":", 1)[0] + "/", "//ui.example.com/", " " + UI + "/", UI + "/\r\nX: y",
                "javascript:" + UI + "/", "https:" + UI[6:] + "/\t"):
        a = b.get("/auth/google/login?return=" + quote(bad))
        person(a, 400, "INVALID_FIELD")
        same(a.json["fields"][0]["field"], "return", bad)
    for o in (UI, OTHER):
        same(b.get("/auth/me", {"Origin": o}).headers["Access-Control-Allow-Origin"], o, "both may read")
    same(link(f, b, "s-2", UI + "/me"), UI + "/me", "linking, too")
