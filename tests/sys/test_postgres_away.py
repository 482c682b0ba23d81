"""PostgreSQL stopped and started under load: 503 meanwhile, nothing lost."""
import os
import time

import checker
import hk
import load
from hk import Skip, check, envelope, new_id, until


def cluster(t):
    if hk.STORE != "postgres":
        raise Skip("PostgreSQL only")
    os.chmod(t.folder, 0o755)
    pg = hk.Cluster(t.path("pg"))
    t.later(pg.stop)
    return pg


def compare(ledger, srv):
    time.sleep(0.5)  # a connection is opened again at most every 250 ms
    faults = checker.check_log(ledger, srv.client())
    check(not faults, checker.show(faults))


def away_and_back(t, leave):
    pg = cluster(t)
    srv = t.server(start=False, url=hk.pg_database(pg.url))
    srv.start()
    ledger = checker.Ledger()
    work = load.Load(srv, ledger, seed=3).start()
    probe = srv.connect()
    for _ in range(3):
        good = work.good()
        until(lambda: work.good() > good + 40, "load", 20)
        check(probe.get("/readyz").status == 200, "ready")
        leave(pg)
        n = work.count(503)
        until(lambda: work.count(503) > n + 10, "503 while it is away", 20)
        a = until(lambda: (lambda a: a if a.status == 503 else None)(probe.get("/readyz")),
                  "/readyz shows it", 10)
        check(a.body, "and says what", a)
        check(probe.get("/healthz").status == 200, "/healthz: the program itself is well")
        a = srv.client().get("/v1/events").want(503)
        check(int(a.headers["Retry-After"]) >= 1, "Retry-After", a.headers.items())
        time.sleep(0.3)
        pg.start()
        until(lambda: probe.get("/readyz").status == 200, "ready again", 20)
    good = work.good()
    until(lambda: work.good() > good + 40, "it goes on", 20)
    work.stop()
    check(all(r and int(r) >= 1 for r in work.retry_after()), "each 503 has Retry-After")
    compare(ledger, srv)
    srv.restart()
    compare(ledger, srv)


def test_killed(t):
    """At once, as by a power cut."""
    away_and_back(t, lambda pg: pg.kill())


def test_stopped(t):
    away_and_back(t, lambda pg: pg.stop())


def test_strangers_learn_nothing(t):
    """Where the database is and what it says is in the log, and in no answer."""
    pg = cluster(t)
    srv = t.server(url=hk.pg_database(pg.url))
    c = srv.client()
    c.publish(envelope()).want(202)
    where = hk.psql(pg.url, "SELECT current_setting('port')")
    pg.stop()
    key = "hk_" + "x" * 43
    asked = [srv.client(key).get("/v1/events"), srv.admin().get("/v1/users"),
             srv.connect(hk.basic("nobody", "x")).get("/v1/events"),
             srv.connect().post("/auth/login", {"name": "admin", "password": "x"}),
             srv.connect().get("/miniflux/v1/me", headers={"X-Auth-Token": "x" * 43}),
             c.publish(envelope()), c.get("/v1/audit"), srv.connect().get("/readyz")]
    check(all(a.status in (401, 503) for a in asked) and
          sum(a.status == 503 for a in asked) >= 6, "it is away", asked)
    for a in asked:
        for word in (where, "postgres", "connect", "server at", "socket", "hikyaku", "/tmp"):
            check(word.lower() not in a.body.decode().lower(), f"{word} in an answer", a)
    lines = until(lambda: [l for l in srv.log() if l.get("msg") == "request"
                           and "PostgreSQL" in l.get("error", "")], "the log says it", 5)
    check(all(l["traceId"] for l in lines), "with the trace id", lines)
    pg.start()
    until(lambda: srv.connect().get("/readyz").status == 200, "ready again", 20)


def test_paused(t):
    """It is there and does not answer: nobody waits for ever, nothing is lost."""
    pg = cluster(t)
    srv = t.server(url=hk.pg_database(pg.url))
    ledger = checker.Ledger()
    work = load.Load(srv, ledger, seed=5).start()
    until(lambda: work.good() > 40, "load", 20)
    paused = [True]

    def cont():
        if paused:
            pg.cont()
            paused.clear()
    t.later(cont)
    pg.pause()
    until(lambda: work.count(503) > 0, "503 instead of a wait without end", 30)
    check(srv.connect().get("/healthz").status == 200, "/healthz")
    cont()
    good = work.good()
    until(lambda: work.good() > good + 40, "it goes on", 30)
    work.stop()
    compare(ledger, srv)


def test_connections_cut(t):
    """Only the connections go: answers that were lost must not lose events."""
    pg = cluster(t)
    url = hk.pg_database(pg.url)
    srv = t.server(url=url)
    ledger = checker.Ledger()
    work = load.Load(srv, ledger, seed=4).start()
    for _ in range(20):
        good = work.good()
        until(lambda: work.good() > good + 10, "load", 20)
        hk.psql(pg.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"
                + url.split("/")[-1].split("?")[0] + "'")
    good = work.good()
    until(lambda: work.good() > good + 20, "it goes on", 20)
    work.stop()
    compare(ledger, srv)


def test_stream_and_poll_go_on(t):
    """Readers that wait meanwhile get what comes after."""
    pg = cluster(t)
    srv, tenant = t.server(url=hk.pg_database(pg.url)), new_id()
    s = srv.stream(tenant=tenant)
    one = srv.client().publish(envelope(tenant=tenant)).want(202).json["eventId"]
    until(lambda: s.events, "the first")
    pg.kill()
    until(lambda: srv.client().get("/v1/events").status == 503, "away")
    pg.start()
    ev = envelope(tenant=tenant)
    until(lambda: srv.client().publish(ev).status == 202, "back", 20)
    if s.over:  # a client that was sent away comes again
        s = srv.stream(tenant=tenant, last=s.events[0]["id"])
        until(lambda: s.events, "the second on a new stream")
        hk.same(s.ids(), [ev["eventId"]], "the stream")
    else:
        until(lambda: len(s.events) == 2, "the second on the same stream")
        hk.same(s.ids(), [one, ev["eventId"]], "the stream")


def test_start_while_away(t):
    """A server that starts before its database says so and comes up with it, or ends."""
    pg = cluster(t)
    url = hk.pg_database(pg.url)
    pg.kill()
    srv = t.server(start=False, url=url)
    srv.spawn()
    time.sleep(2)
    pg.start()
    if srv.alive():
        until(lambda: any(l.get("msg") == "listening" for l in srv.log()), "it comes up", 20)
    else:
        check(srv.proc.returncode == 1, "exit status", srv.proc.returncode)
        srv.proc = None
        srv.start()
    srv.kill9()
