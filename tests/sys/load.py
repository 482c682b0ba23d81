"""load - publishers that note in a checker.Ledger what they were told.

Each owns its keys and sends one request at a time, singles and batches mixed.
A request without a good answer stays in hand and is sent again, byte for byte,
before anything newer: what a careful producer does, and the only way in which
its keys can stay in order.
"""
import json
import random
import threading
import time

import hk

ANSWERS = (202, 200)


class Publisher:
    def __init__(self, srv, ledger, name, seed, pause=0.0, most=20):
        self.srv, self.ledger, self.who, self.auth = srv, ledger, name, "Bearer " + srv.key()
        self.random, self.pause = random.Random(seed), pause
        self.sizes = [n for n in (1, 1, 1, 2, 5, 20) if n <= most]
        self.keys = [f"Load:{name}:{i}" for i in range(3)]
        self.in_hand = None  # (body, ids) that was sent and not answered
        self.statuses = {}   # status -> how often; 0 is a broken connection
        self.retry_after, self.wrong, self.conn = [], [], None

    def make(self):
        n = self.random.choice(self.sizes)
        texts, ids = [], []
        for _ in range(n):
            key = self.random.choice(self.keys)
            number = self.ledger.number(key)
            ev = hk.envelope("load.tick", key, payload={"n": number})
            self.ledger.note_sent(ev["eventId"], key, number)
            ids.append(ev["eventId"])
            texts.append(json.dumps(ev))
        body = texts[0] if n == 1 else "[" + ",".join(texts) + "]"
        return body.encode(), ids

    def results(self, answer):
        j = json.loads(answer.body)
        return j["results"] if "results" in j else [{"status": answer.status, **j}]

    def step(self):
        """One request. True when it was answered well."""
        if self.in_hand is None:
            self.in_hand = self.make()
        body, ids = self.in_hand
        if self.conn is None:
            self.conn = hk.Raw(self.srv)
        self.conn.send(hk.request("POST", "/v1/events", {
            "Authorization": self.auth, "Content-Type": "application/json"}, body))
        a = self.conn.answer()
        self.statuses[a.status] = self.statuses.get(a.status, 0) + 1
        if a.status in (429, 503):
            self.retry_after.append(a.headers.get("retry-after"))
        if a.status not in ANSWERS:
            if a.status not in (429, 503):
                self.wrong.append(repr(a))
            return False
        results = self.results(a)
        if len(results) != len(ids):
            self.wrong.append(f"{len(ids)} events, {len(results)} results")
        good = True
        for eid, r in zip(ids, results):
            if r["status"] == 202:
                if r["eventId"] != eid:
                    self.wrong.append(f"result of {r['eventId']} in the place of {eid}")
                self.ledger.note_answered(eid, r["seq"])
            else:
                good = False
                if r["status"] not in (429, 503):
                    self.wrong.append(repr(r))
        if good:
            self.in_hand = None
        return good

    def work(self, halt):
        while not halt.is_set():
            try:
                good = self.step()
            except OSError:  # refused, reset or closed: the server is gone
                self.statuses[0] = self.statuses.get(0, 0) + 1
                self.hang_up()
                good = False
            except (ValueError, LookupError, TypeError) as e:
                self.wrong.append(f"an answer that can't be read: {e!r}")
                break
            if not good and halt.wait(0.02):
                break
            if self.pause:
                time.sleep(self.pause)
        self.hang_up()

    def hang_up(self):
        if self.conn:
            self.conn.close()
        self.conn = None


class Load:
    """Publishers that start together and stop together, as often as wanted."""

    def __init__(self, srv, ledger, n=8, seed=0, **kw):
        self.publishers = [Publisher(srv, ledger, f"c{i}", f"{seed}.{i}", **kw)
                           for i in range(n)]
        self.halt, self.threads = None, []

    def start(self):
        self.halt = threading.Event()
        self.threads = [threading.Thread(target=p.work, args=(self.halt,), daemon=True)
                        for p in self.publishers]
        for t in self.threads:
            t.start()
        return self

    def count(self, *statuses):
        return sum(p.statuses.get(s, 0) for p in self.publishers for s in statuses)

    def good(self):
        return self.count(*ANSWERS)

    def stop(self, seconds=30):
        self.halt.set()
        for t in self.threads:
            t.join(seconds * hk.SLOW)
            hk.check(not t.is_alive(), "a publisher hangs")
        wrong = [w for p in self.publishers for w in p.wrong]
        hk.check(not wrong, "answers that may not be", *wrong[:5])

    def retry_after(self):
        return [r for p in self.publishers for r in p.retry_after]
