"""One relay has the turn; when it hangs another one takes over within 30 s, and it does no harm when it wakes."""
import signal
import time

import hk
import outbox
from hk import TENANT, check, same, until
from outbox import Pg, metric, row

SETTINGS = outbox.SETTINGS
WITHIN = 30  # seconds: what is promised; leases are never scaled


def pair(t, box):
    """Two relays of one outbox: on one store where nodes can share it, else on one each."""
    url = hk.pg_database(hk.PG_URL) if hk.STORE == "postgres" else None
    more = {"OUTBOX_URL": box.url, "OUTBOX_MODE": box.mode}
    if url:
        with open(t.path("seal.key"), "w", opener=hk_private) as f:
            f.write("k1:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU=\n")
        more["WEBHOOK_ENCRYPTION_KEY_FILE"] = t.path("seal.key")
    one = t.server(url=url, **more)
    until(lambda: metric(one, "hikyaku_relay_up") == 1, "the first relays")
    two = t.server(url=url, **more)
    if url:
        two.admin_key = one.key()
    until(lambda: any(l.get("msg") == "relay stands by" for l in two.log()), "the second waits")
    return one, two


def hk_private(path, flags):
    import os
    return os.open(path, flags, 0o600)


def halt(t, srv):
    srv.proc.send_signal(signal.SIGSTOP)
    t.later(lambda: srv.proc and srv.proc.send_signal(signal.SIGCONT))


def numbers(c):
    """Of each key, in the order of the log."""
    out = {}
    for e in c.events(limit=1000):
        if e["eventType"] == "order.paid":
            out.setdefault(e["sequence"]["partitionKey"], []).append(e["payload"]["n"])
    return out


def in_order(c, what):
    for key, got in numbers(c).items():
        same(got, sorted(set(got)), f"{what}: {key} in order, each once")


def test_a_relay_that_hangs_loses_its_turn(t):
    for mode in ("polling", "xid"):
        box = Pg(t, mode)
        one, two = pair(t, box)
        box.put([row("k", i) for i in range(3)])
        until(lambda: box.waiting() == 0, "the first relays", 20)
        halt(t, one)
        began = time.monotonic()
        box.put([row("k", i) for i in range(3, 6)])
        until(lambda: box.waiting() == 0, f"{mode}: the second took over", WITHIN)
        took = time.monotonic() - began
        check(took < WITHIN, f"{mode}: within {WITHIN} s", took)
        told = [l for l in two.log() if l.get("msg") == "relay was silent"]
        check(told, "it says why", two.log()[-5:])
        # It wakes: it stands by, and what comes now is the second's.
        one.proc.send_signal(signal.SIGCONT)
        until(lambda: [l for l in one.log() if l.get("msg") == "relay stands by"], "it stands by", 30)
        box.put([row("k", i) for i in range(6, 9)])
        until(lambda: box.waiting() == 0, "it goes on", 20)
        same((metric(one, "hikyaku_relay_up"), metric(two, "hikyaku_relay_up")), (0.0, 1.0), "whose turn it is")
        want = list(range(9)) if hk.STORE == "postgres" else list(range(3, 9))
        same(numbers(two.client())["k"], want, f"{mode}: in order, each once")
        one.stop()
        two.stop()


def test_one_that_hangs_in_the_middle(t):
    """With rows read and locked, some appended and not marked."""
    for mode in ("polling", "xid"):
        box = Pg(t, mode)
        one, two = pair(t, box)
        n = 40000
        box.sql("INSERT INTO outbox_events (tenant_id, event_type, partition_key, producer, payload) SELECT "
                f"'{TENANT}', 'order.paid', 'k' || i % 7, '{{\"service\":\"a\",\"instanceId\":\"b\"}}', "
                f"json_build_object('n', i) FROM generate_series(0, {n - 1}) i")
        until(lambda: metric(one, "hikyaku_relay_events_total") > 500, "it is at it", 20)
        halt(t, one)
        check(box.waiting() > 0, "in the middle")
        until(lambda: box.waiting() == 0, f"{mode}: the second took over", WITHIN + 30)
        before = metric(two, "hikyaku_relay_events_total")
        check(before > 0, "it relayed some", before)
        one.proc.send_signal(signal.SIGCONT)
        until(lambda: [l for l in one.log() if l.get("msg") == "relay stands by"], "it stands by", 30)
        box.put([row("k1", n)])
        until(lambda: box.waiting() == 0, "it goes on", 20)
        in_order(one.client(), f"{mode}: the first's log")
        in_order(two.client(), f"{mode}: the second's log")
        all_of = numbers(two.client())
        if hk.STORE == "postgres":
            same(sum(len(v) for v in all_of.values()), n + 1, "all of them")
        same(all_of["k1"][-1], n, "the last is the last")
        one.stop()
        two.stop()


def test_zz_end(t):
    """Last in the file: the cluster ends."""
    outbox.end()
