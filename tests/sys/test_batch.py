"""Batches: subscriptions that get their events together (seed 000, 10.2)."""
import json
import random
import time

from hk import SLOW, check, envelope, new_id, same, until
from receiver import SETTINGS, Receiver


def server(t, scale=10, **more):
    return t.server(**SETTINGS, TIME_SCALE=str(scale), **more)


def subscribe(c, r, path, **more):
    return c.post("/v1/subscriptions",
                  {"name": path, "url": r.url(path), **more}).want(201).json["id"]


def child(kind, n, folder="folder-uuid"):
    return envelope(f"cmis.child_{kind}", key=folder, payload={
        "repository": {"id": "bedroom", "name": "Default Repository"},
        "object": {"id": f"doc-{n}", "name": f"file{n}.pdf"},
        "parentFolder": {"id": folder, "path": "/Sites/Documents"}})


def publish(c, events):
    for at in range(0, len(events), 500):
        c.publish_ndjson(events[at:at + 500]).want(200)


def members(requests):
    """The eventIds of all members, by the delivery they came with."""
    out = {}
    for r in requests:
        ids = [e["eventId"] for e in r.json["payload"]["events"]]
        same(out.setdefault(r.id, ids), ids, "a repeat has the same members")
    return out


def test_batched(t):
    r, srv = Receiver(t), server(t)
    c = srv.client()
    subscribe(c, r, "/b", types=["order.*"], batch={"mode": "batched", "windowSeconds": 5})
    events = [envelope("order.paid", payload={"n": n}) for n in range(7)]
    at = time.monotonic()
    publish(c, events + [envelope("other.thing")])
    got = r.wait_for(1, "/b")[0]
    check(got.at - at > 0.4, "it waited for its window", got.at - at)
    same(got.json["eventType"], "hikyaku.batch", "type")
    same([e["eventId"] for e in got.json["payload"]["events"]],
         [e["eventId"] for e in events], "members in order")
    same(got.json["payload"]["batchInfo"]["eventCount"], 7, "count")
    time.sleep(1)
    same(r.count("/b"), 1, "one delivery")


def test_full_batches_are_split(t):
    r, srv = Receiver(t), server(t, scale=1)
    c = srv.client()
    subscribe(c, r, "/b", batch={"mode": "batched", "windowSeconds": 3, "maxSize": 100},
              types=["order.paid"])
    events = [envelope("order.paid", payload={"n": n}) for n in range(250)]
    at = time.monotonic()
    publish(c, events)
    two = r.wait_for(2, "/b")
    check(two[1].at - at < 2.5 * SLOW, "full ones go at once", two[1].at - at)
    got = members(r.wait_for(3, "/b", seconds=10))
    same(sorted(len(v) for v in got.values()), [50, 100, 100], "sizes")
    same(sorted(i for v in got.values() for i in v), sorted(e["eventId"] for e in events),
         "each once")


def test_child_batch_is_the_seeds(t):
    r, srv = Receiver(t), server(t)
    c = srv.client()
    subscribe(c, r, "/c", preset="repository", batch={"mode": "batched"})
    publish(c, [child("created", 1), child("created", 2), child("deleted", 9, "other"),
                child("updated", 3), envelope("cmis.updated", payload={"object": {"id": "x"}})])
    got = {(q.headers["X-NemakiWare-Event"], (q.json.get("parentFolder") or {}).get("id")): q.json
           for q in r.wait_for(3, "/c")}
    same(sorted(got, key=str), [("CHILD_BATCH", "folder-uuid"), ("CHILD_BATCH", "other"),
                                ("UPDATED", None)], "one a folder, others by themselves")
    body = got["CHILD_BATCH", "folder-uuid"]
    same(body["event"]["type"], "CHILD_BATCH", "type")
    same(body["repository"]["id"], "bedroom", "repository")
    same(body["parentFolder"], {"id": "folder-uuid", "path": "/Sites/Documents"}, "parentFolder")
    same(body["changes"], [
        {"type": "CHILD_CREATED", "objectId": "doc-1", "name": "file1.pdf"},
        {"type": "CHILD_CREATED", "objectId": "doc-2", "name": "file2.pdf"},
        {"type": "CHILD_UPDATED", "objectId": "doc-3", "name": "file3.pdf"}], "changes")
    same(body["batchInfo"]["eventCount"], 3, "eventCount")


def test_summary(t):
    r, srv = Receiver(t), server(t, scale=60)
    c = srv.client()
    subscribe(c, r, "/s", preset="repository", batch={"mode": "summary"})
    publish(c, [child("created", n) for n in range(300)] + [child("deleted", n) for n in range(20)])
    got = [r.wait_for(1, "/s")[0]]
    time.sleep(1.5)
    got = r.at("/s")
    counts = {}
    for q in got:
        same(q.json["event"]["type"], "CHILD_SUMMARY", "type")
        for k, n in q.json["counts"].items():
            counts[k] = counts.get(k, 0) + n
    same(counts, {"CHILD_CREATED": 300, "CHILD_DELETED": 20}, "counts")
    check(len(got) <= 2, "one a minute", got)


def dropped(srv):
    rows = srv.admin().get("/v1/audit", category="WEBHOOK_DELIVERY_DROPPED", limit=500).want(200)
    items = rows.json["data"]
    return sum(row["details"].get("count", 1) for row in items), items


def test_breaker(t):
    """A folder of 1,000 files is deleted: some singles, the rest in one summary."""
    r, srv = Receiver(t), server(t, scale=60)
    c = srv.client()
    subscribe(c, r, "/i", preset="repository")
    c.publish_ndjson([child("deleted", n) for n in range(1000)]).want(200)
    def ended():
        return any(q.json["event"]["type"] == "CHILD_SUMMARY" for q in r.at("/i"))
    until(ended, "the summary", 30)
    until(lambda: r.count("/i") and dropped(srv)[0] + r.count("/i") - 1 >= 1000, "all", 30)
    got = r.at("/i")
    singles = [q for q in got if q.json["event"]["type"] == "CHILD_DELETED"]
    ends = [q for q in got if q.json["event"]["type"] == "CHILD_SUMMARY"]
    same(len(ends), 1, "one summary")
    n, rows = dropped(srv)
    same(len(singles) + n, 1000, "sent or dropped, each")
    check(1 <= len(singles) <= 120, "few singles", len(singles))
    same(ends[0].json["counts"], {"CHILD_DELETED": n}, "what was dropped")
    check(len(rows) <= 400 and any("count" in row["details"] for row in rows),
          "many drops are few rows", len(rows))


def test_immediate_singles(t):
    """Few CHILD_* events come one by one, as they are, in order."""
    r, srv = Receiver(t), server(t, scale=60)
    c = srv.client()
    subscribe(c, r, "/i", preset="repository", order="key")
    for n in range(5):
        c.publish(child("created", n)).want(202)
    got = r.wait_for(5, "/i")
    same([q.json["object"]["id"] for q in got], [f"doc-{n}" for n in range(5)], "order")
    same(got[0].json["event"]["type"], "CHILD_CREATED", "type")
    same(dropped(srv)[0], 0, "dropped")


def test_retry_is_the_same_batch(t):
    r, srv = Receiver(t), server(t)
    c = srv.client()
    r.answer("/b", 500, times=2)
    subscribe(c, r, "/b", types=["order.paid"], batch={"mode": "batched", "windowSeconds": 1})
    publish(c, [envelope("order.paid") for _ in range(3)])
    first, second, third = r.wait_for(3, "/b", seconds=20)
    same({first.id, second.id, third.id}, {first.id}, "one delivery")
    same({first.body, second.body, third.body}, {first.body}, "one content")


def test_crash_in_a_window(t):
    r, srv = Receiver(t), server(t, scale=1)
    c = srv.client()
    subscribe(c, r, "/b", types=["order.paid"], batch={"mode": "batched", "windowSeconds": 3})
    events = [envelope("order.paid") for _ in range(5)]
    publish(c, events)
    time.sleep(0.5)
    srv.kill9()
    same(r.count("/b"), 0, "nothing yet")
    srv.start()
    got = r.wait_for(1, "/b", seconds=15)[0]
    same([e["eventId"] for e in got.json["payload"]["events"]],
         [e["eventId"] for e in events], "all of them")
    srv.kill9()
    srv.start()
    time.sleep(4)
    same({q.id for q in r.at("/b")}, {got.id}, "no other batch")


def crash_rounds(t, subscribe_more, kind, rounds):
    """Kills, also inside of commits; each event is in one delivery."""
    dice = random.Random(7)
    r, srv = Receiver(t), server(t, scale=200)
    sent = []
    subscribe(srv.client(), r, "/b", **subscribe_more)
    for n in range(rounds):
        fault = dice.choice([None, "crash-before-commit", "crash-after-commit"])
        srv.kill9()
        try:
            srv.start(*(["--fault", f"{fault}:{dice.randint(2, 25)}"] if fault else []))
            c = srv.client()
            for _ in range(dice.randint(5, 25)):
                ev = kind(len(sent))
                sent.append(ev["eventId"])
                c.publish(ev).want(202)
                time.sleep(0.005)
            time.sleep(dice.uniform(0, 0.1))
        except Exception:  # it crashed, as it was told to
            srv.kill9()
    srv.kill9()
    srv.start()
    return r, srv, sent


def test_crashes(t):
    r, srv, sent = crash_rounds(
        t, {"types": ["order.paid"], "batch": {"mode": "batched", "windowSeconds": 10, "maxSize": 7}},
        lambda n: envelope("order.paid", payload={"n": n}), 12)
    c = srv.client()
    kept = {e["eventId"] for e in c.events() if e["eventType"] == "order.paid"}
    def all_there():
        return {i for v in members(r.at("/b")).values() for i in v} >= kept
    until(all_there, "every event that is in the log", 30)
    time.sleep(0.5)
    got = [i for v in members(r.at("/b")).values() for i in v]
    same(len(got), len(set(got)), "none in two batches")
    same(set(got), kept, "exactly what is in the log")


def test_crashes_of_singles(t):
    r, srv, sent = crash_rounds(
        t, {"preset": "repository"}, lambda n: child("created", n, f"f{n % 3}"), 12)
    c = srv.client()
    def kept():
        return {e["payload"]["object"]["id"] for e in c.events(tenant=envelope()["tenantId"])
                if e["eventType"] == "cmis.child_created"}
    def got():
        out = {}
        for q in r.at("/b"):
            same(q.json["event"]["type"], "CHILD_CREATED", "a single")
            same(out.setdefault(q.id, q.json["object"]["id"]), q.json["object"]["id"], "content")
        return out
    until(lambda: set(got().values()) >= kept(), "every event that is in the log", 60)
    time.sleep(0.5)
    names = list(got().values())
    same(len(names), len(set(names)), "none with two deliveries")


def test_back_to_immediate(t):
    r, srv = Receiver(t), server(t, scale=1)
    c = srv.client()
    sub = subscribe(c, r, "/b", types=["order.paid"], batch={"mode": "batched", "windowSeconds": 600})
    before = [envelope("order.paid") for _ in range(4)]
    publish(c, before)
    time.sleep(0.3)
    got = c.get(f"/v1/subscriptions/{sub}").want(200)
    c("PATCH", f"/v1/subscriptions/{sub}", {"batch": {"mode": "immediate"}},
      headers={"If-Match": got.headers["ETag"]} if "ETag" in got.headers else None).want(200)
    after = envelope("order.paid")
    c.publish(after).want(202)
    bodies = [q.json for q in r.wait_for(2, "/b", seconds=10)]
    batch = next(b for b in bodies if b["eventType"] == "hikyaku.batch")
    single = next(b for b in bodies if b["eventType"] == "order.paid")
    same([e["eventId"] for e in batch["payload"]["events"]], [e["eventId"] for e in before],
         "what had waited, at once")
    same(single["eventId"], after["eventId"], "and the new one by itself")
    time.sleep(0.5)
    same(r.count("/b"), 2, "deliveries")


def test_filter(t):
    r, srv = Receiver(t), server(t)
    c = srv.client()
    subscribe(c, r, "/b", types=["order.paid"], filter=".payload.n > 2",
              batch={"mode": "batched", "windowSeconds": 5})
    publish(c, [envelope("order.paid", payload={"n": n}) for n in range(6)])
    got = r.wait_for(1, "/b")[0]
    same([e["payload"]["n"] for e in got.json["payload"]["events"]], [3, 4, 5], "members")


def test_hub_refuses(t):
    r, srv = Receiver(t), server(t)
    srv.client().post("/v1/subscriptions", {
        "name": "h", "url": r.url("/"), "preset": "hub", "batch": {"mode": "batched"},
        "hub": {"tenant": "a", "domain": "hub.example", "sharedInternalKey": "aaaaaaaa",
                "eventApiKey": "bbbbbbbb", "organizationId": "1", "servicePartition": "p",
                "sender": "s", "otp": None}}).want(422, pointer="/batch/mode")


def test_copies_are_not_listed(t):
    """What a batch is made of for one subscription is no event of the log."""
    r, srv = Receiver(t), server(t)
    c = srv.client()
    subscribe(c, r, "/copy", types=["order.*"], batch={"mode": "batched", "windowSeconds": 1})
    live = srv.stream()
    ids = [envelope("order.paid", payload={"n": n}) for n in range(5)]
    publish(c, ids)
    r.wait_for(1, "/copy")
    last = envelope("order.last", payload={})
    c.publish(last).want(202)
    want = [e["eventId"] for e in ids + [last]]
    r.wait_for(2, "/copy")
    same([e["eventId"] for e in c.events()], want, "the list")
    until(lambda: len(live.ids()) >= len(want), "the stream")
    time.sleep(0.3)
    same(live.ids(), want, "the stream")
    for q in r.at("/copy"):
        d = c.get("/v1/deliveries/" + q.id).want(200).json
        same(d["status"], "SUCCESS", "its delivery is shown all the same")
