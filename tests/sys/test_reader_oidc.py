"""Logins by an OpenID Connect provider (seed 002, 1.1 to 1.3, 1.7): a real one
(npm oidc-provider), and one that lies."""
import base64
import hashlib
import os
import time
import urllib.parse

import hk
from hk import check, same, until
from people import BACK, SECRET, SITE, Browser, Fake, Provider, person

NOBODY = "SELECT count(*) FROM identities WHERE provider <> 'local'"


def fake_server(t):
    f = Fake(t)
    return f, t.server(**f.settings())


def said(url):
    check(url.startswith(SITE + "/?login_error="), "led home with an error", url)
    return url.split("=", 1)[1]


def test_1_1_the_login_leads_to_the_provider(t):
    """1.1: GET /auth/google/login: 302 with state, nonce and PKCE S256."""
    f, srv = fake_server(t)
    b = Browser(srv, SITE)
    a = b.get("/auth/google/login")
    same(a.status, 302, "status")
    url = urllib.parse.urlsplit(a.headers["Location"])
    same(f"{url.scheme}://{url.netloc}{url.path}", f.issuer + "/page", "the provider's page")
    q = dict(urllib.parse.parse_qsl(url.query))
    same({k: q.get(k) for k in ("a", "response_type", "client_id", "redirect_uri", "scope",
                                "code_challenge_method")},
         {"a": "b", "response_type": "code", "client_id": "hikyaku", "redirect_uri": BACK,
          "scope": "openid email profile", "code_challenge_method": "S256"}, "the question")
    same([len(q[k]) for k in ("state", "nonce", "code_challenge")], [43, 43, 43], "256 bits each")
    line = a.headers["Set-Cookie"]
    for attr in ("; Path=/auth", "; HttpOnly", "; SameSite=Lax", "; Max-Age=600", "; Secure"):
        check(attr in line, attr, line)
    check(q["state"] not in line and q["nonce"] not in line, "the cookie is sealed", line)
    other = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(b.leave_for()).query))
    check(other["state"] != q["state"] and other["nonce"] != q["nonce"], "new each time")
    same([x["name"] for x in b.get("/auth/providers").json["providers"]],
         ["local", f.issuer], "the ways to log in")


def real(t, alg):
    p = Provider(t, alg)
    srv = t.server(**p.settings())
    b = Browser(srv, SITE)
    same(b.travel(p.sign_in("anna")), SITE + "/", "led home")
    same(sorted(b.cookies), ["hikyaku_session"], "the session alone is left")
    me = b.get("/auth/me").json
    same((me["email"], me["name"], me["scopes"], me["provider"]),
         ("anna@example.com", "anna 世界", [], p.issuer), "who it is")
    return p, srv, b, me


def test_1_2_a_new_person_is_made(t):
    """1.2, 1.4, 1.7: user and identity are made together, with a session (RS256)."""
    p, srv, b, me = real(t, "RS256")
    same(srv.rows("SELECT provider, provider_user_id FROM identities WHERE provider <> 'local'"),
         [(p.issuer, "anna")], "identities")
    b.get("/v1/users").want(403)
    made = srv.admin().get("/v1/audit", category="USER_CREATED").want(200).json["data"]
    check(made[0]["target"]["objectId"] == "person:" + me["id"], "audited", made[0])


def test_1_3_a_known_person_is_found(t):
    """1.3: the second login is the same person; another name is another (ES256)."""
    p, srv, b, me = real(t, "ES256")
    c, d = Browser(srv, SITE), Browser(srv, SITE)
    c.travel(p.sign_in("anna"))
    same(c.get("/auth/me").json["id"], me["id"], "the same person")
    d.travel(p.sign_in("bert"))
    check(d.get("/auth/me").json["id"] != me["id"], "another")
    same(srv.rows(NOBODY)[0][0], "2", "identities")
    same(b("POST", "/auth/logout").status, 204, "logout")
    person(b.get("/auth/me"), 401)
    same(c.get("/auth/me").status, 200, "the other session lives on")


def test_1_3_what_the_provider_says_now_is_kept(t):
    """1.3: a new name or address at the provider is taken over at the next login."""
    f, srv = fake_server(t)
    b = Browser(srv, SITE)
    same(b.travel(f.sign_in()), SITE + "/", "home")
    first = b.get("/auth/me").json
    f.claims.update(email="eve@new.example", name=None)
    b.travel(f.sign_in())
    now = b.get("/auth/me").json
    same((now["id"], now["email"], now["name"]),
         (first["id"], "eve@new.example", "eve@new.example"), "taken over")
    same(srv.rows("SELECT count(*) FROM sessions")[0][0], "1", "the old session is replaced")


def test_1_1_the_code_is_exchanged_once_with_its_verifier(t):
    """1.1: PKCE: the verifier's hash is the challenge; the client is known by Basic."""
    f, srv = fake_server(t)
    Browser(srv, SITE).travel(f.sign_in(code="odd & code+1"))
    path, form = f.asked[-1]
    same(path, "/token", "last asked")
    want = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
    same(f.question["code_challenge"], want.rstrip(b"=").decode(), "S256")
    same((form["code"], form["grant_type"], form["redirect_uri"]),
         ("odd & code+1", "authorization_code", BACK), "the form")
    pair = base64.b64decode(form["authorization"].split()[1]).decode()
    same([urllib.parse.unquote(x) for x in pair.split(":")], ["hikyaku", SECRET], "Basic")
    check("client_secret" not in form, "not twice", form)
    same([p for p, _ in f.asked].count("/keys"), 1, "keys are kept")


def test_1_1_the_return_path(t):
    """1.1: only a path of ours is led to at the end: no open redirect."""
    f, srv = fake_server(t)
    b = Browser(srv, SITE)
    same(b.travel(f.sign_in(), "/auth/google/login?return=/feeds%3Fa%3D1"), SITE + "/feeds?a=1",
         "a path")
    for bad in ("https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example",
                "feeds", "/a%0d%0aX-Y:1", "/%09/evil.example", "javascript:alert(1)", ""):
        a = b.get("/auth/google/login?return=" + bad)
        person(a, 400, "INVALID_FIELD")
        same(a.json["fields"][0]["field"], "return", bad)


def test_1_5_the_state_is_bound_to_the_browser(t):
    """1.5: nobody finishes another's login, nor one that was never begun."""
    f, srv = fake_server(t)
    a, b = Browser(srv, SITE), Browser(srv, SITE)
    back = f.sign_in()(a.leave_for())
    same(said(b.come_back(back)), "state", "another browser")
    b.leave_for()
    same(said(b.come_back(back)), "state", "another browser with a login of its own")
    same(b.cookies, {}, "nothing is left")
    b.leave_for()
    same(said(b.come_back(BACK + "?code=c-1")), "state", "no state")
    b.cookies = {"hikyaku_login": a.cookies["hikyaku_login"][:-4] + "AAAA"}
    same(said(b.come_back(back)), "state", "a changed cookie")
    a2 = dict(a.cookies)
    same(said(a.come_back(back + "&iss=https%3A%2F%2Fevil.example")), "state", "another's answer")
    a.cookies = a2
    same(a.come_back(back), SITE + "/", "the one who began")
    same(srv.rows(NOBODY)[0][0], "1", "one person")


def test_1_5_a_made_up_cookie_costs_nothing(t):
    """1.5: under a passphrase each new salt is a slow derivation; only our own are opened."""
    f = Fake(t)
    srv = t.server(WEBHOOK_ENCRYPTION_KEY_SOURCE="env", RATE_LIMIT_GENERAL="100000",
                   NEMAKI_WEBHOOK_ENCRYPTION_KEY="a long enough passphrase", **f.settings())
    b = Browser(srv, SITE)
    back = f.sign_in()(b.leave_for())
    text, _, mac = b.cookies["hikyaku_login"].partition(".")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    salt = 2 + (raw[1] & 0x7f)
    check(raw[0] == 1 and raw[1] & 0x80, "sealed under a passphrase, with a salt", raw[:4])
    began = time.monotonic()
    for i in range(200):
        forged = raw[:salt] + os.urandom(16) + raw[salt + 16:]
        forged = base64.urlsafe_b64encode(forged).decode().rstrip("=")
        b.cookies = {"hikyaku_login": forged + ("." + mac if i % 2 else "")}
        same(said(b.come_back(back)), "state", "made up")
    took = time.monotonic() - began
    check(took < 2 * hk.SLOW, "200 made-up cookies", took)


def test_1_1_what_the_provider_refuses(t):
    """1.1: error=access_denied and the like lead home with a code; nothing is made."""
    f, srv = fake_server(t)
    b = Browser(srv, SITE)
    same(said(b.travel(f.sign_in(code=None, error="access_denied"))), "access_denied", "denied")
    same(said(b.travel(f.sign_in(code=None, error="temporarily_unavailable"))), "provider_error",
         "an error")
    same(said(b.travel(f.sign_in(code=None))), "provider_error", "no code")
    f.status["/token"] = 400
    f.answer = {"error": "invalid_grant"}
    same(said(b.travel(f.sign_in())), "code_refused", "a code that is not good")
    f.status["/token"] = 500
    same(said(b.travel(f.sign_in())), "provider_unavailable", "a provider in trouble")
    f.status["/token"] = 302
    same(said(b.travel(f.sign_in())), "provider_unavailable", "redirects are not followed")
    same(srv.rows(NOBODY)[0][0], "0", "nobody was made")
    same(srv.rows("SELECT count(*) FROM sessions")[0][0], "0", "no session")
    check(b"invalid_grant" in srv.all_logs(), "the log has the reason")


def test_1_2_bad_tokens(t):
    """1.2: a token that is not the provider's, for us, of now and of this login is nothing."""
    f, srv = fake_server(t)
    b, now = Browser(srv, SITE), int(time.time())
    rows = [
        ("another audience", {"claims": {"aud": "them"}}),
        ("several without azp", {"claims": {"aud": ["hikyaku", "them"]}}),
        ("another azp", {"claims": {"azp": "them"}}),
        ("another issuer", {"claims": {"iss": "https://evil.example"}}),
        ("another nonce", {"claims": {"nonce": "A" * 43}}),
        ("no nonce", {"claims": {"nonce": None}}),
        ("expired", {"claims": {"exp": now - 120}}),
        ("no exp", {"claims": {"exp": None}}),
        ("from the future", {"claims": {"iat": now + 600}}),
        ("not yet", {"claims": {"nbf": now + 600}}),
        ("nobody", {"claims": {"sub": None}}),
        ("too long a subject", {"claims": {"sub": "x" * 256}}),
        ("alg none", {"header": {"alg": "none"}, "signer": None}),
        ("alg none, signed", {"header": {"alg": "none", "kid": "one"}}),
        ("HS256 with the public key", {"header": {"alg": "HS256", "kid": "one"}, "signer": "hmac"}),
        ("RS256 by HMAC", {"signer": "hmac"}),
        ("another's key", {"signer": f.other}),
        ("an unknown key", {"signer": f.other, "header": {"alg": "RS256", "kid": "two"}}),
        ("a key in the header", {"signer": f.other, "header": {
            "alg": "RS256", "kid": "one", "jwk": f.other.jwk()}}),
        ("no token", {"answer": {"id_token": None}}),
        ("no text", {"answer": {"id_token": 7}}),
        ("no JWT", {"answer": {"id_token": "a.b.c"}}),
        ("too long", {"answer": {"id_token": "a" * 20000 + ".b.c"}}),
    ]
    for what, spoil in rows:
        f.reset()
        for k, v in spoil.items():
            setattr(f, k, v)
        same(said(b.travel(f.sign_in())), "bad_token", what)
    f.reset()
    f.answer = {"id_token": "x" * 70000}
    same(said(b.travel(f.sign_in())), "provider_unavailable", "an answer without end")
    same(srv.rows(NOBODY)[0][0], "0", "nobody was made")
    f.reset()
    same(b.travel(f.sign_in()), SITE + "/", "and an honest one")


def test_1_1_new_keys_are_fetched(t):
    """1.1: a token of a new key has the keys fetched again, but not all the time."""
    f, srv = fake_server(t)
    b = Browser(srv, SITE)
    b.travel(f.sign_in())
    f.published, f.signer, f.header = [f.other], f.other, {"alg": "RS256", "kid": "two"}

    def keys():
        return [p for p, _ in f.asked].count("/keys")
    for _ in range(5):
        same(said(b.travel(f.sign_in())), "bad_token", "too soon after the last look")
    same(keys(), 1, "strangers don't make us ask")
    until(lambda: b.travel(f.sign_in()) == SITE + "/", "the new key is found", 20, 1)
    same(keys(), 2, "one more look")


def test_1_1_a_provider_that_is_down(t):
    """1.1: leads home with a code, and works again when it is back."""
    f, srv = fake_server(t)
    b = Browser(srv, SITE)

    def gone():
        return said(b.leave_for())
    spoilt = [({"/.well-known/openid-configuration": 500}, {}), ({"/keys": 404}, {}),
              ({"/.well-known/openid-configuration": 302}, {}),
              ({}, {"issuer": "https://evil.example"}), ({}, {"jwks_uri": None}),
              ({}, {"token_endpoint": 7}), ({}, {"jwks_uri": "http://169.254.169.254/keys"}),
              ({}, {"pad": "x" * 70000})]
    for status, document in spoilt:
        f.reset()
        f.status, before = status, len(f.asked)
        f.document.update(document)
        until(lambda: gone() == "provider_unavailable" and len(f.asked) > before, "asked anew")
        n = len(f.asked)
        same(gone(), "provider_unavailable", "a failure is believed for a second")
        check(len(f.asked) <= n + 2, "not asked each time", f.asked[n:])
        time.sleep(1.1)
    f.reset()
    until(lambda: b.leave_for().startswith(f.issuer), "back again")
    f.stop()
    same(said(b.come_back(f.sign_in()(b.leave_for()))), "provider_unavailable", "nobody there")


def test_16_1_all_that_is_missing_is_named(t):
    """16.1: one error at the start names every setting that a provider needs."""
    srv = t.server(start=False)
    r = hk.run([hk.BINARY, "serve", "--data", srv.data, "--listen", "127.0.0.1:0"],
               env=hk.environment({"GOOGLE_CLIENT_ID": "x"}, srv.url), cwd=srv.folder)
    check(r.code != 0, "it does not start", r)
    for name in ("google.client.secret", "google.redirect.url", "session.secret", "base.url"):
        check(name in r.err, name, r)
    r = hk.run([hk.BINARY, "serve", "--data", srv.data, "--listen", "127.0.0.1:0"],
               env=hk.environment({"GOOGLE_CLIENT_ID": "x", "GOOGLE_CLIENT_SECRET": "hush-hush",
                                   "GOOGLE_REDIRECT_URL": BACK, "SESSION_SECRET": "hush-hush-too",
                                   "BASE_URL": SITE, "OIDC_ISSUER": "http://127.0.0.1:9"},
                                  srv.url), cwd=srv.folder)
    check(r.code != 0 and "oidc.issuer" in r.err, "plain http needs the network's permission", r)
    r = hk.run([hk.BINARY, "serve", "--print-config", "--data", srv.data],
               env=hk.environment({"GOOGLE_CLIENT_SECRET": "hush-hush",
                                   "SESSION_SECRET": "hush-hush-too"}, srv.url), cwd=srv.folder)
    check("hush" not in r.out, "secrets are masked", r)


def test_1_1_without_a_provider(t):
    """1.1: 404 in the reader's shape when none is set."""
    b = Browser(t.srv)
    person(b.get("/auth/google/login"), 404, "NOT_FOUND")
    person(b.get("/auth/google/callback?code=x"), 404, "NOT_FOUND")
    same(b.get("/auth/providers").json["providers"], [{"name": "local", "login": "/auth/login"}],
         "local accounts")


def sign_up(t, rules, **claims):
    """The answer to somebody who comes for the first time."""
    f = Fake(t)
    srv = t.server(**f.settings(OIDC_SIGNUP=rules))
    f.claims = claims
    b = Browser(srv, SITE)
    return f, srv, b, b.travel(f.sign_in())


def test_signup_is_closed(t):
    """Unless somebody is named, nobody comes in; it is logged and audited."""
    f, srv, b, home = sign_up(t, None, email_verified=True)
    same(said(home), "signup_closed", "the default")
    same(b.cookies, {}, "no session")
    same(srv.rows(NOBODY), [("0",)], "nobody is made")
    line = [l for l in srv.log() if l.get("msg") == "a login failed"]
    check(line and "oidc.signup" in line[0]["error"], "the log says why", line)
    rows = srv.admin().get("/v1/audit?category=SIGNUP_REFUSED").want(200).json["data"]
    check(len(rows) == 1 and "eve@example.com" in str(rows[0]), "the audit knows", rows)
    srv.stop()
    srv.settings["OIDC_SIGNUP"] = "@example.com"
    srv.start()
    f.claims = {"email_verified": True}
    same(Browser(srv, SITE).travel(f.sign_in()), SITE + "/", "now she may")
    srv.stop()
    srv.settings["OIDC_SIGNUP"] = "closed"
    srv.start()
    b = Browser(srv, SITE)
    same(b.travel(f.sign_in()), SITE + "/", "who was let in once comes in again")
    same(b.get("/auth/me").json["scopes"], [], "without any scope")
    same(b.get("/v1/events").status, 403, "of /v1 nothing")


def test_signup_by_name(t):
    """Domains and addresses that are verified, and groups; no others."""
    f = Fake(t)
    srv = t.server(**f.settings(OIDC_SIGNUP="@example.com, ann@example.org, group:staff"))
    for i, (claims, comes) in enumerate((
            ({"email_verified": True}, True),
            ({"email_verified": False}, False),
            ({"email_verified": "true"}, False),
            ({}, False),
            ({"email": "eve@sub.example.com", "email_verified": True}, False),
            ({"email": "Ann@example.org", "email_verified": True}, True),
            ({"email": "bob@example.org", "email_verified": True}, False),
            ({"email": "x@y.org", "groups": ["staff"]}, True),
            ({"email": "x@y.org", "groups": ["Staff"]}, False),
            ({"email": "x@y.org", "groups": "staff"}, False))):
        f.claims = {"sub": f"s-{i}", **claims}
        home = Browser(srv, SITE).travel(f.sign_in())
        same(home, SITE + ("/" if comes else "/?login_error=signup_closed"), f"{claims}")
    check("groups" in f.question["scope"].split(), "groups are asked for", f.question)
    bad = t.server(start=False, **f.settings(OIDC_SIGNUP="example.com"))
    bad.spawn()
    check(bad.ended() != 0 and "oidc.signup" in bad.tail(), "a typo is told", bad.tail())
    bad.proc = None
