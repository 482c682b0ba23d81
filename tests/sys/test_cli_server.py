"""The command line on a server elsewhere: --server, HIKYAKU_URL, login; the order in which they count."""
import os
import shutil
import stat

import hk
from pki import Pki
from hk import check, envelope, run, same


def cli(t, *args, stdin=b"", cwd=None, **env):
    """Without a data folder, in a home of its own."""
    home = t.path("home")
    os.makedirs(home, exist_ok=True)
    return run([hk.BINARY, *args], stdin, {**hk.environment({}, ""), "HOME": home, **env}, cwd=cwd or home)


def nobody(t):
    """No login of an earlier test."""
    shutil.rmtree(t.path("home"), ignore_errors=True)


def url(srv):
    return f"http://127.0.0.1:{srv.port}"


def kept(t):
    with open(t.path("home") + "/.config/hikyaku/credentials", encoding="utf-8") as f:
        return f.read()


def test_by_environment_and_flags(t):
    srv = t.srv
    key = srv.new_key("read", "publish")["key"]
    cli(t, "event", "list", HIKYAKU_URL=url(srv), HIKYAKU_KEY=key).want(0)
    cli(t, "event", "list", "--server", url(srv), HIKYAKU_KEY=key).want(0)
    r = cli(t, "event", "list", "--server", url(srv) + "/", "--key", key).want(0)
    check("HIKYAKU_KEY" in r.err and key not in r.err, "a key on the command line is warned of", r)
    cli(t, "event", "publish", "-", HIKYAKU_URL=url(srv), HIKYAKU_KEY=key, stdin=hk.dump(envelope())).want(0)
    r = cli(t, "event", "list", HIKYAKU_URL=url(srv)).want(1, "hikyaku login")
    r = cli(t, "event", "list", HIKYAKU_URL=url(srv), HIKYAKU_KEY="hk_wrong").want(1, "login")
    check("hk_wrong" not in r.err, "never the key", r)
    cli(t, "subscription", "list", "--data", srv.data, "--key", key).want(2, "--server")
    cli(t, "event", "list", "--server", "ftp://x", HIKYAKU_KEY=key).want(1, "https://")


def test_the_order(t):
    """--server, --data, HIKYAKU_URL, the folder of the settings or ./data, the last login."""
    nobody(t)
    one, two = t.server(), t.server()
    here = dict(HIKYAKU_URL=url(two), HIKYAKU_KEY=two.new_key("read")["key"])
    ids = {}
    for srv in (one, two):
        ev = envelope()
        srv.client().publish(ev).want(202)
        ids[srv] = ev["eventId"]
    listed = lambda *a, **k: cli(t, "event", "list", *a, **k).want(0).out
    check(ids[one] in listed("--data", one.data, **here), "--data before HIKYAKU_URL")
    check(ids[two] in listed(cwd=one.folder, **here), "HIKYAKU_URL before ./data")
    check(ids[two] in listed(DATA=one.data, **here), "and before DATA")
    # HIKYAKU_KEY is for HIKYAKU_URL alone
    cli(t, "event", "list", "--server", url(one), **here).want(1, "no key for")
    cli(t, "login", url(one), "--with-key", HIKYAKU_KEY=one.new_key("read")["key"]).want(0)
    check(ids[one] in listed(), "the last login when there is nothing else")
    check(ids[one] in listed("--server", url(one), **here), "--server first, with the key that was kept")
    check(ids[two] in listed(cwd=two.folder), "a folder data before a login")


def test_login_with_password(t):
    nobody(t)
    srv = t.srv
    before = srv.admin().get("/v1/keys").json["data"]
    r = cli(t, "login", url(srv), "--user", "admin", "--days", "1", stdin=hk.PASSWORD.encode() + b"\n").want(0, "logged in")
    path = t.path("home") + "/.config/hikyaku/credentials"
    same(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of the file")
    same(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700, "mode of its folder")
    check(hk.PASSWORD not in kept(t) + r.out + r.err, "the password is not kept")
    made = [k for k in srv.admin().get("/v1/keys").json["data"] if k["id"] not in {b["id"] for b in before}]
    check(len(made) == 1 and made[0]["expiresAt"], "a key of its own that ends", made)
    cli(t, "user", "list").want(0, "admin")
    cli(t, "login").want(0, url(srv))
    os.chmod(path, 0o644)
    cli(t, "user", "list").want(1, "chmod 600")
    os.chmod(path, 0o600)
    cli(t, "logout").want(0, "logged out")
    same(kept(t), "", "forgotten")
    key = next(k for k in srv.admin().get("/v1/keys").json["data"] if k["id"] == made[0]["id"])
    check(key["revokedAt"], "and revoked", key)
    cli(t, "logout").want(1, "not logged in")
    r = cli(t, "login", url(srv), "--user", "admin", stdin=b"not-the-password\n").want(1, "does not know")
    check("not-the-password" not in r.err, "not told", r)
    cli(t, "login", url(srv), stdin=b"x\n").want(2)


def test_login_with_a_key(t):
    nobody(t)
    srv = t.srv
    key = srv.new_key("read")["key"]
    r = cli(t, "login", url(srv), "--with-key", stdin=key.encode() + b"\n").want(0)
    check(key not in r.out + r.err and key in kept(t), "kept, not shown", r)
    cli(t, "event", "list", "--server", url(srv)).want(0)
    cli(t, "logout", url(srv)).want(0)
    srv.client(key).get("/v1/events").want(200)  # one that was given is not revoked
    cli(t, "login", url(srv), "--with-key", stdin=b"hk_wrong\n").want(1, "does not know")


def test_plain_http_elsewhere(t):
    r = cli(t, "event", "list", "--server", "http://192.0.2.1", HIKYAKU_KEY="hk_x").want(1, "--insecure")
    check("hk_x" not in r.err, "never the key", r)
    cli(t, "login", "http://example.test", "--with-key", stdin=b"k\n").want(1, "--insecure")


def test_tls(t):
    """Certificates are always checked; --ca names an authority, which login remembers."""
    p = Pki(t.path("."))
    cert, key = p.make("srv", "IP:127.0.0.1")
    srv = t.server(TLS_CERT=cert, TLS_KEY=key)
    at = f"https://127.0.0.1:{srv.port}"
    srv.cli("event", "list").want(0)  # the data folder's socket needs none
    made = srv.cli("key", "create", "k", "--scopes", "read").want(0).out.strip()
    cli(t, "event", "list", "--server", at, HIKYAKU_KEY=made).want(1, "--ca")
    cli(t, "event", "list", "--server", at, "--ca", p.ca, HIKYAKU_KEY=made).want(0)
    cli(t, "event", "list", "--server", at, "--insecure", HIKYAKU_KEY=made).want(1, "--ca")
    cli(t, "login", at, "--with-key", "--ca", p.ca, HIKYAKU_KEY=made).want(0)
    cli(t, "event", "list", "--server", at).want(0)
