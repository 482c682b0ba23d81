"""hikyaku feed parse: every format, with every fault; what is refused, and how."""
import json
import os
import sys

import hk
from hk import check, run, same

sys.path.insert(0, os.path.join(hk.ROOT, "tests", "feeds"))
import classes  # noqa: E402
import matrix  # noqa: E402
import single  # noqa: E402
import wild  # noqa: E402


def cli(*args, **more):
    return run([hk.BINARY, "feed", "parse", *args], env=hk.environment({}, ""), **more)


def parse_all(t, rows):
    """Many files a process: those that share their options."""
    groups = {}
    for i, row in enumerate(rows):
        path = t.path(f"{i}.feed")
        with open(path, "wb") as f:
            f.write(row[1])
        groups.setdefault(row[2:4], []).append((row, path))
    for (url, kind), members in groups.items():
        options = (["--url", url] if url else []) + (["--content-type", kind] if kind else [])
        for at in range(0, len(members), 500):
            part = members[at:at + 500]
            r = cli("--json", *options, *(path for _, path in part))
            lines = r.out.split("\n")[:-1]
            if r.code or len(lines) != len(part):
                lines = [cli("--json", *options, path) for _, path in part]
                lines = [one.out or one.err for one in lines]
            for (row, _), line in zip(part, lines):
                yield row, line


def compare(t, rows):
    wrong, n = [], 0
    for row, line in parse_all(t, rows):
        n += 1
        got = json.loads(line) if line.startswith("{") else line
        for item in row[4]["items"] if row[2] else []:
            item.setdefault("base", row[2])
        if got != row[4]:
            wrong.append(f"{row[0]}\n  want {json.dumps(row[4], ensure_ascii=False)}\n"
                         f"  got  {line.strip()}")
    check(not wrong, f"{len(wrong)} of {n} differ", "\n".join(wrong[:20]))
    return n


def test_matrix(t):
    rows = list(matrix.cases())
    check(len(rows) > 900, "so many cases", len(rows))
    same(compare(t, rows), len(rows), "all were compared")


def test_single(t):
    rows = list(single.cases())
    check(len(rows) > 100, "so many cases", len(rows))
    same(compare(t, rows), len(rows), "all were compared")


def test_wild(t):
    rows = list(wild.cases())
    check(len(rows) > 150, "so many cases", len(rows))
    same(compare(t, rows), len(rows), "all were compared")


def test_classes(t):
    """Each class of what readers get wrong."""
    rows = list(classes.cases())
    check(len(rows) > 180, "so many cases", len(rows))
    same(compare(t, rows), len(rows), "all were compared")


def test_refused(t):
    for name, body, says in single.REFUSED:
        path = t.path("refused")
        with open(path, "wb") as f:
            f.write(body)
        r = cli("--json", path).want(1, says)
        check(not r.out, f"{name}: nothing on stdout", r)


def test_no_such_file_and_usage(t):
    cli("--json", t.path("nope")).want(1, "nope")
    same(cli("--json").code, 2, "no file")
    same(cli("--nope", "x").code, 2, "no such option")


def test_standard_input_and_text(t):
    body = (matrix.head("utf-8") + matrix.text("rss20")).encode()
    r = cli("--json", "-", stdin=body).want(0)
    same(json.loads(r.out)["title"], "Site", "title")
    r = cli("-", stdin=body).want(0, "Site (rss2, 2 items)")
    check("2026-01-05  First" in r.out, "its items", r)


def test_large_and_deep(t):
    """Linear time, and nothing is refused that could be read."""
    item = "<item><title>x</title><description>" + "a &lt; b " * 20 + "</description></item>"
    rows = {"many": "<rss><channel><title>T</title>" + item * 12000 + "</channel></rss>",
            "deep": "<rss><channel><title>T</title>" + "<a>" * 100000 + "</a>" * 100000 + item,
            "deep html": "<rss><channel><title>T</title><item><title>x</title><description>"
                         + "<div>" * 100000,
            "open tags": "<rss><channel><title>T</title>" + item + "<a b='" * 200000,
            "stray": "<rss><channel><title>T</title>" + item + "<" * 500000 + "&" * 500000,
            "comments": "<rss><channel><title>T</title>" + item + "<!--" * 200000,
            "cdata": "<rss><channel><title>T</title>" + item + "<![CDATA[" * 200000,
            "doctypes": "<rss><channel><title>T</title>" + item + "<!DOCTYPE a [" * 100000,
            "entities": "<rss><channel><title>T</title>" + item + "&amp" * 300000,
            "ends": "<rss><channel><title>T</title>" + item + "<b>" * 150 + "</x>" * 300000,
            "attributes": "<rss><channel><title>T</title>" + item + "<a " + "b='<a' " * 100000}
    for name, body in rows.items():
        r = cli("--json", "-", stdin=body.encode(), seconds=20)
        check(r.code == 0, name, r.err)
        got = json.loads(r.out)
        same(got["title"], "T", name)
        check(1 <= len(got["items"]) <= 10000, f"{name}: its items", len(got["items"]))
    r = cli("--json", "-", stdin=b"<rss>" + b" " * (17 << 20))
    same(r.code, 1, "too large")
