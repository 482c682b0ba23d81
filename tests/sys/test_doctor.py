"""hikyaku doctor: is it healthy, and who may see what is not theirs."""
import os

from hk import check, same

WORDS = b"a password of some length\n"


def lines(r):
    return [l.split(None, 2) for l in r.out.strip().split("\n")]


def test_tells_who_sees_what(t):
    srv = t.server()
    os.chmod(srv.data, 0o700)
    for role in ("reader", "viewer"):
        srv.cli("user", "add", "the-" + role, "--role", role, stdin=WORDS).want(0)
    for name, scopes in (("shop", "publish"), ("worker", "consume"), ("old", "read")):
        srv.cli("key", "create", name, "--scopes", scopes).want(0)
    ended = srv.new_key("read")
    srv.admin().delete("/v1/keys/" + ended["id"]).want(204)
    seen = []
    for running in (True, False):
        got = lines(srv.cli("doctor").want(0))
        said = {(how, what) for how, what, _ in got}
        check({("ok", "store"), ("ok", "seal"), ("ok", "data")} <= said, "all is well", got)
        tell = " ".join(text for how, what, text in got if what in ("account", "key"))
        for word in ("admin is admin", "the-viewer is viewer: read", "worker: consume", "old: read"):
            check(word in tell, word, got)
        for word in ("the-reader", "shop", ended["name"]):
            check(word not in tell, f"nothing of {word}", got)
        seen.append([l for l in got if l[1] in ("account", "key")])
        if running:
            srv.stop()
    same(seen[0], seen[1], "the same with a server and without")


def test_rights_of_the_folder(t):
    srv = t.server()
    os.chmod(srv.data, 0o755)
    got = lines(srv.cli("doctor").want(0))
    check(["look", "data"] in [l[:2] for l in got], "others may read it", got)
    os.chmod(srv.data, 0o777)
    r = srv.cli("doctor")
    os.chmod(srv.data, 0o700)
    check(r.code == 1 and "bad   data" in r.out, "others may write it", r)
