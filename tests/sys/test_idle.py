"""A server that has nothing to do asks its database little, and hears of other nodes all the same."""
import os
import threading
import time

import hk
from hk import SLOW, Skip, check, envelope, new_id, same


def asked(srv):
    """Transactions that the database has seen, once its processes have told of them."""
    return int(hk.psql(srv.url, "SELECT xact_commit + xact_rollback FROM pg_stat_database"
                       " WHERE datname = current_database()"))


def test_idle_asks_little(t):
    if hk.STORE != "postgres":
        raise Skip("SQLite has nobody to ask")
    srv = t.server()
    srv.client().publish(envelope(tenant=new_id())).want(202)
    rates = []
    for _ in range(6):  # what follows the event, and what the database tells late, is over in one of them
        at, was = time.monotonic(), asked(srv)
        time.sleep(5)
        rates.append((asked(srv) - was) / (time.monotonic() - at))
        if rates[-1] < 14:
            break
    print(f"{rates[-1]:.1f} transactions a second")
    check(rates[-1] < 14, "a few questions a second, not twenty", rates)


def test_another_node_is_heard_of(t):
    """One that waits on another node is woken, after a silence and in a row of events."""
    if hk.STORE != "postgres":
        raise Skip("SQLite has one node")
    url = hk.pg_database(hk.PG_URL)
    with open(t.path("seal.key"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write("k1:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU=\n")
    a, b = (t.server(url=url, WEBHOOK_ENCRYPTION_KEY_FILE=t.path("seal.key")) for _ in range(2))
    b.admin_key = a.key()
    tenant, took = new_id(), []
    cursor = b.client().page(tenant=tenant, wait=0)["next"]
    for pause in (3, 3, 0.3, 0.3, 0.3):
        out = []
        th = threading.Thread(target=lambda: out.append(b.client().page(tenant=tenant, after=cursor, wait=20)))
        th.start()
        time.sleep(pause)
        at, ev = time.monotonic(), envelope(tenant=tenant)
        a.client().publish(ev).want(202)
        th.join(20)
        took.append(time.monotonic() - at)
        same([e["eventId"] for e in out[0]["data"]], [ev["eventId"]], "what it got")
        cursor = out[0]["next"]
    print("woken after", ", ".join(f"{x * 1000:.0f} ms" for x in took))
    check(sorted(took)[len(took) // 2] < 0.7 * SLOW, "before a slow poll would have found it", took)
