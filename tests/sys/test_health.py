"""/healthz, /readyz, /metrics."""
import shutil
import subprocess
import time

from hk import Skip, check, envelope, same, until


def test_health(t):
    c = t.srv.connect()
    c.get("/healthz").want(200)
    c.get("/readyz").want(200)


def metrics(srv):
    a = srv.client().get("/metrics").want(200)
    check(a.headers["Content-Type"].startswith("text/plain"), "Content-Type", a.headers.items())
    return a.body.decode()


def value(text, start):
    """The sum of all samples whose line begins so."""
    return sum(float(l.rsplit(" ", 1)[1]) for l in text.split("\n")
               if l.startswith(start) and not l.startswith("#"))


def test_metrics_of_a_key(t):
    text = metrics(t.srv)
    check("# HELP hikyaku_" in text and "# TYPE hikyaku_" in text, "Prometheus text", text[:500])
    names = [l.split()[2] for l in text.split("\n") if l.startswith("# TYPE ")]
    same(len(names), len(set(names)), "each metric is described once")


def test_metrics_count(t):
    srv = t.srv
    c = srv.client()

    def counts():
        return {l.rsplit(" ", 1)[0]: float(l.rsplit(" ", 1)[1])
                for l in metrics(srv).split("\n") if l and not l.startswith("#")}
    before = counts()
    c.publish([envelope() for _ in range(7)]).want(200)
    after = counts()
    grown = {k for k, v in after.items() if v - before.get(k, 0) == 7}
    check(any("event" in k for k in grown), "a counter of events grew by 7", grown)


def test_promtool(t):
    exe = shutil.which("promtool")
    if not exe:
        raise Skip("promtool is not installed")
    t.srv.client().publish(envelope()).want(202)
    # the gauges of the alerts' rules come with their first look
    text = until(lambda: (lambda s: s if "\nwebhook_failure_count " in s else None)(
        metrics(t.srv)), "every metric is there", 30)
    r = subprocess.run([exe, "check", "metrics"], input=text.encode(), capture_output=True,
                       timeout=60)
    check(r.returncode == 0 and not r.stdout + r.stderr, "promtool check metrics, without a word",
          r.stdout.decode(), r.stderr.decode())


def test_metrics_are_not_for_strangers(t):
    """A key with `read`, wherever one calls from; anybody when metrics.open says so."""
    t.srv.connect().get("/metrics").want(401)
    t.srv.client(t.srv.new_key("publish")["key"]).get("/metrics").want(403, says="read")
    t.srv.client(t.srv.new_key("read")["key"]).get("/metrics").want(200)
    srv = t.server(METRICS_OPEN="true")
    srv.connect().get("/metrics").want(200)
    srv.connect().get("/v1/events").want(401)


def test_nothing_to_complain_of(t):
    """A healthy server at work logs no warning and no error."""
    srv = t.server()
    srv.client().publish([envelope() for _ in range(100)]).want(200)
    time.sleep(1.5)  # what runs from time to time has run
    srv.client().events()
    srv.stop()
    same([l for l in srv.log() if l.get("level") in ("warn", "error")], [], "complaints")
