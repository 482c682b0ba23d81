"""Each malformed body gets a 4xx naming what and where; the server lives."""
import os
import re

import hk
from hk import check, envelope, same

SETTINGS = {"EVENT_ENVELOPE": "strict"}  # seed 003 to the letter: all of it is needed

PATH = os.path.join(hk.ROOT, "tests", "data", "malformed.txt")


def rows():
    """name, status, a part of the message or pointer, body; \\\\ and \\xNN in it."""
    with open(PATH, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            parts = line.split("\t")
            check(len(parts) == 4, f"malformed.txt line {n} has {len(parts)} columns")
            name, status, says, text = parts
            body = re.sub(rb"\\(?:x([0-9a-fA-F]{2})|(\\))",
                          lambda m: bytes([int(m[1], 16)]) if m[1] else m[2], text.encode())
            yield name, int(status), says, body


def test_all(t):
    c, table = t.srv.client(), list(rows())
    check(len(table) >= 60, "at least 60 malformed bodies", len(table))
    same(len({r[0] for r in table}), len(table), "names are unique")
    wrong = []
    for name, status, says, body in table:
        a = c.publish(body)
        try:
            check(400 <= status < 500, "the table wants a 4xx", status)
            a.want(status)
            err = a.json["error"]
            check(says in err["message"] or says in err.get("pointer", ""), f"says {says!r}", a)
        except hk.Failed as e:
            wrong.append(f"{name}: {e}")
    check(not wrong, f"{len(wrong)} of {len(table)}:\n    " + "\n    ".join(wrong[:12]))
    c.publish(envelope()).want(202)
    same(len(c.events()), 1, "none of them is in the log")


def test_as_items_of_a_batch(t):
    """The same as NDJSON lines: each an error of its own, neighbours fine."""
    c = t.srv.client()
    lines = [r for r in rows() if r[3].strip() and not set(r[3]) & set(b"\r\n")
             and len(r[3]) < 4000][:200]
    body = b"\n".join(r[3] for r in lines) + b"\n" + hk.dump(envelope())
    results = c.publish_ndjson(body).want(200).json["results"]
    same(len(results), len(lines) + 1, "a result per line")
    for row, r in zip(lines, results):
        check(400 <= r["status"] < 500 and r["error"]["message"], f"{row[0]} in a batch", r)
    same(results[-1]["status"], 202, "the good line after them")


def test_cut_at_every_byte(t):
    """A body that ends early, wherever, is 4xx."""
    c, whole = t.srv.client(), hk.dump(envelope(payload={"a": [1.5e3, "é\\u00e9"], "b": None}))
    for n in range(len(whole)):
        a = c.publish(whole[:n])
        check(a.status in (400, 422), f"cut at {n}", a, whole[:n])


def test_position_is_named(t):
    c = t.srv.client()
    text = hk.dump(envelope())
    a = c.publish(text + b" x").want(400)
    check(re.search(r"\d", a.json["error"]["message"]), "a position in the message", a)
