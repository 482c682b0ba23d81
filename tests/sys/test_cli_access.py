"""hikyaku key create|list|revoke, hikyaku user add: with a server and without."""
import re

from hk import basic, check, envelope, same


def create(srv, *more):
    r = srv.cli("key", "create", "cli-key", "--scopes", "publish,read", *more).want(0)
    key = re.search(r"hk_[A-Za-z0-9_-]+", r.out)
    check(key, "it prints the key once", r)
    return key[0]


def listed(srv):
    return srv.cli("key", "list").want(0).out


def revoke(srv, name="cli-key"):
    """By the id that the list shows."""
    line = next(l for l in listed(srv).split("\n") if name in l)
    kid = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", line)
    check(kid, "the list shows ids", line)
    srv.cli("key", "revoke", kid[0]).want(0)


def test_with_server(t):
    srv = t.server()
    key = create(srv)
    c = srv.client(key)
    c.publish(envelope()).want(202)
    check("cli-key" in listed(srv) and key not in listed(srv), "listed without the key itself")
    revoke(srv)
    c.publish(envelope()).want(401)


def test_without_server(t):
    srv = t.server()
    srv.stop()
    key = create(srv)
    srv.start()
    srv.client(key).publish(envelope()).want(202)
    srv.stop()
    revoke(srv)
    srv.start()
    srv.client(key).publish(envelope()).want(401)


def test_user(t):
    srv = t.server()
    srv.cli("user", "add", "anna", "--role", "viewer", stdin=b"long-enough-password\n").want(0)
    c = srv.connect(basic("anna", "long-enough-password"))
    c.get("/v1/events").want(200)
    c.publish(envelope()).want(403)
    srv.cli("user", "add", "anna", "--role", "viewer", stdin=b"long-enough-password\n").want(1)


def test_user_without_server(t):
    srv = t.server()
    srv.stop()
    srv.cli("user", "add", "bert", "--role", "admin", stdin=b"long-enough-password\n").want(0)
    srv.start()
    srv.connect(basic("bert", "long-enough-password")).get("/v1/keys").want(200)


def test_errors(t):
    srv = t.srv
    srv.cli("key", "create", "x", "--scopes", "fly").want(1, says="fly")
    srv.cli("key", "revoke", "00000000-0000-4000-8000-000000000000").want(1)
    srv.cli("user", "add", "c", "--role", "king", stdin=b"long-enough-password\n").want(1)
    srv.cli("user", "add", "d", "--role", "viewer", stdin=b"x\n").want(1)
    same(srv.cli("key", "create").code, 2, "usage: no name")
    same(srv.cli("user").code, 2, "usage: no verb")


def test_socket_is_private(t):
    """Only the data folder's owner can use the unix socket."""
    import os
    import stat
    srv = t.srv
    same(stat.S_IMODE(os.stat(srv.data).st_mode), 0o700, "mode of the data folder")
    socks = [n for n in os.listdir(srv.data)
             if stat.S_ISSOCK(os.stat(os.path.join(srv.data, n)).st_mode)]
    same(len(socks), 1, f"sockets in the data folder {os.listdir(srv.data)}")
