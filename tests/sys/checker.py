"""checker - was anything lost, doubled or put out of order?

One ledger for all tests that hurt the server while it takes events. Whoever
publishes notes each event before it is sent and again when it was answered;
events of a key are numbered by the one connection that owns the key. Then the
log is read back and compared:

  1. every event that was answered 202 is there, under the seq it was told
  2. nothing is there twice, and nothing that nobody sent
  3. seq grows, and the numbers of each key grow with it

An event without an answer may be there or not; never twice.
"""
import threading


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.sent = {}      # eventId -> (key, number)
        self.answered = {}  # eventId -> seq
        self.numbers = {}   # key -> last number given out
        self.faults = []    # what was wrong already in an answer

    def number(self, key):
        """The next number of a key; only its owner asks."""
        n = self.numbers[key] = self.numbers.get(key, 0) + 1
        return n

    def note_sent(self, event_id, key, number):
        with self.lock:
            old = self.sent.setdefault(event_id, (key, number))
            assert old == (key, number), "an id belongs to one event"

    def note_answered(self, event_id, seq):
        with self.lock:
            old = self.answered.setdefault(event_id, seq)
            if old != seq:
                self.faults.append(f"{event_id} was told seq {old}, then {seq}")

    def reading(self):
        return Reading(self)


class Reading:
    """One pass over the log, page by page; then report()."""

    def __init__(self, ledger):
        self.ledger, self.seen, self.last = ledger, {}, {}
        self.seq, self.faults = 0, []

    def take(self, events):
        for ev in events:
            eid, seq = ev["eventId"], ev["seq"]
            if eid not in self.ledger.sent:
                self.faults.append(f"seq {seq}: {eid} was never sent")
                continue
            key, number = self.ledger.sent[eid]
            if seq <= self.seq:
                self.faults.append(f"seq {seq} stands after {self.seq}")
            if eid in self.seen:
                self.faults.append(f"seq {seq}: {eid} is there twice, first at {self.seen[eid]}")
            if ev["sequence"]["partitionKey"] != key:
                self.faults.append(f"seq {seq}: key {ev['sequence']['partitionKey']} is not {key}")
            if number <= self.last.get(key, 0):
                self.faults.append(
                    f"seq {seq}: number {number} of {key} after {self.last[key]}")
            self.seq, self.seen[eid], self.last[key] = seq, seq, number

    def report(self):
        """All faults; an empty list is what everybody hopes for."""
        with self.ledger.lock:
            answered = dict(self.ledger.answered)
            faults = list(self.ledger.faults)
        for eid, seq in answered.items():
            if eid not in self.seen:
                faults.append(f"LOST {eid}, answered with seq {seq}, of {self.ledger.sent[eid]}")
            elif self.seen[eid] != seq:
                faults.append(f"{eid} was told seq {seq} and is at {self.seen[eid]}")
        return faults + self.faults


def show(faults, most=10):
    more = f"\n    and {len(faults) - most} more" if len(faults) > most else ""
    return "\n    ".join(faults[:most]) + more


def check_log(ledger, client):
    """Reads the whole log through the API and returns the faults."""
    reading, query = ledger.reading(), {"limit": 1000}
    while True:
        page = client.page(**query)
        reading.take(page["data"])
        if page["next"] is None:
            return reading.report()
        query["after"] = page["next"]
