"""The ledger finds each fault that it is there to find."""
import checker
from hk import check, same


def ledger(n=4):
    led = checker.Ledger()
    for i in range(1, n + 1):
        led.note_sent(f"e{i}", "K", led.number("K"))
        led.note_answered(f"e{i}", 10 * i)
    return led


def log(*rows, key="K"):
    return [{"eventId": e, "seq": s, "sequence": {"partitionKey": key}} for e, s in rows]


GOOD = [("e1", 10), ("e2", 20), ("e3", 30), ("e4", 40)]
ROWS = [  # the log, what the one fault says
    (log(*GOOD[:3]), "LOST e4"),
    (log(*GOOD[:1], *GOOD[2:]), "LOST e2"),
    (log(*GOOD, ("e4", 50)), "twice"),
    (log(*GOOD, ("x", 50)), "never sent"),
    (log(GOOD[0], ("e2", 20), ("e4", 30), ("e3", 40)), "number 3 of K after 4"),
    (log(*GOOD[:3], ("e4", 41)), "is at 41"),
    (log(*GOOD[:3]) + log(GOOD[3], key="L"), "key L is not K"),
    (log(*GOOD[:2], ("e3", 20), GOOD[3]), "stands after"),
]


def test_clean(t):
    r = ledger().reading()
    r.take(log(*GOOD))
    same(r.report(), [], "faults")


def test_unanswered_may_be_there_or_not(t):
    for rows in (GOOD, GOOD + [("e5", 50)]):
        led = ledger()
        led.note_sent("e5", "K", led.number("K"))
        r = led.reading()
        r.take(log(*rows))
        same(r.report(), [], "faults")


def test_each_fault(t):
    for rows, says in ROWS:
        r = ledger().reading()
        r.take(rows)
        check(any(says in f for f in r.report()), f"finds {says!r}", r.report())


def test_two_answers(t):
    led = ledger()
    led.note_answered("e2", 21)
    r = led.reading()
    r.take(log(*GOOD))
    check(any("then 21" in f for f in r.report()), "two seqs for one event", r.report())
