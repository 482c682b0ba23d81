"""Help, exit codes, one-line errors, migrate."""
import os

import hk
from hk import check, run, same

VERBS = (("serve",), ("migrate",), ("event",), ("event", "publish"), ("event", "tail"),
         ("key",), ("key", "create"), ("key", "list"), ("key", "revoke"), ("user",),
         ("user", "add"), ("user", "list"), ("user", "passwd"), ("demo",),
         ("listen",), ("verify",), ("feed",), ("feed", "parse"))


def cli(*args):
    return run([hk.BINARY, *args], env=hk.environment({}, ""))


def test_help(t):
    r = cli("--help").want(0)
    for verb in ("serve", "migrate", "event", "key", "user"):
        check(verb in r.out, f"--help names {verb}", r)
    for verb in VERBS:
        r = cli(*verb, "--help").want(0)
        check(verb[-1] in r.out and len(r.out) > 40, f"{verb} --help", r)


def test_version(t):
    r = cli("--version").want(0)
    check(any(ch.isdigit() for ch in r.out), "a version", r)


def test_wrong_usage(t):
    for args in ((), ("fly",), ("serve", "--nope"), ("serve", "--listen"), ("event",),
                 ("event", "fly"), ("key", "fly"), ("migrate", "extra"),
                 ("serve", "extra"), ("key", "revoke")):
        r = cli(*args)
        same(r.code, 2, f"exit status of {args}")
        check(r.err.strip() and not r.out.strip(), "said on stderr", r)


def test_unknown_verb_names_the_nearest(t):
    check("serve" in cli("sreve").err, "sreve: did you mean serve")


def test_listen_is_taken(t):
    srv = t.srv
    other = t.server(start=False)
    r = run([hk.BINARY, "serve", "--listen", f"127.0.0.1:{srv.port}", "--data", other.data],
            env=hk.environment({}, other.url))
    same(r.code, 1, "exit status")
    check(str(srv.port) in r.err, "it names the port", r)


def test_listen_nonsense(t):
    for bad in ("nonsense", "127.0.0.1:99999", "127.0.0.1:x", ":", "300.1.1.1:80"):
        r = run([hk.BINARY, "serve", "--listen", bad, "--data", t.path("nope")],
                env=hk.environment({}, ""))
        check(r.code in (1, 2), f"--listen {bad}", r)
        check(bad in r.err, "it names what is wrong", r)


def test_16_3_migrations_are_counted(t):
    """Every step of sql/migrations was made once, in order; a second time there is none."""
    srv = t.server(start=False)
    srv.cli("migrate").want(0)
    made = srv.rows("SELECT version FROM schema_version ORDER BY version")
    files = [f for f in os.listdir(os.path.join(hk.ROOT, "sql", "migrations")) if f.endswith(".sql")]
    same([int(r[0]) for r in made], list(range(1, len(files) + 1)), "steps that were made")
    srv.cli("migrate").want(0)
    same(srv.rows("SELECT version FROM schema_version ORDER BY version"), made, "no more")
    srv.start()
    srv.client().publish(hk.envelope()).want(202)


def test_data_folder_that_cannot_be(t):
    with open(t.path("file"), "w") as f:
        f.write("x")
    r = run([hk.BINARY, "serve", "--listen", "127.0.0.1:0", "--data", t.path("file")],
            env=hk.environment({}, ""))
    same(r.code, 1, "exit status")
    check(t.path("file") in r.err, "it names the folder", r)


def test_database_that_is_not_there(t):
    """At the start: said, and not waited for without end."""
    if hk.STORE != "postgres":
        raise hk.Skip("PostgreSQL only")
    srv = t.server(start=False, url="postgres://nobody:pass-word-77@127.0.0.1:1/none")
    r = srv.cli("migrate").want(1)
    check("pass-word-77" not in r.err + r.out, "without the password", r)
