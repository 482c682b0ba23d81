"""Every verb of verbs.tbl: help, wrong usage, failure; what the rows of it do on a server."""
import json
import os
import re

import hk
import receiver
from hk import check, envelope, new_id, now, run, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}
ROW = re.compile(r'^(VERB|LOCAL)\(\w+, "([^"]+)", "([^"]*)", (\w+), (\w+),'
                 r'|^(ASK)\("[^"]+", "([^"]+)", "([^"]*)", (\w+), (\w+),'
                 r'|^(LIST_OF)\("[^"]+", \w+, "([^"]+)"', re.M)


def table():
    """(kind, name, operands, least, most) of each verb, as the program's own table has it."""
    with open(os.path.join(hk.ROOT, "src", "cli", "verbs.tbl"), encoding="utf-8") as f:
        rows = [[x for x in m.groups() if x is not None] for m in ROW.finditer(f.read())]
    return [(r + ["", "0", "0"])[:5] if r[0] == "LIST_OF" else r for r in rows]


def bare(*args, stdin=b"", **env):
    return run([hk.BINARY, *args], stdin, hk.environment(env, ""), cwd="/")


def test_table_is_all_there_is(t):
    names = [r[1] for r in table()]
    check(len(names) > 70, "the table is read", names)
    shown = re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)", bare("--help").want(0).out, re.M)
    for n in names:
        check(any(s == n or s.startswith(n) for s in shown), f"--help names {n}", shown)


def test_help_of_each(t):
    for kind, name, operands, _, _ in table():
        long = bare(*name.split(), "--help").want(0)
        same(long.err, "", "nothing else")
        first, _, rest = long.out.partition("\n")
        same(first, f"Usage: hikyaku {name} [OPTION]..." + (" " + operands if operands else ""), "usage")
        check(len(rest.split("Options:")[0].strip()) > 15, f"{name} is explained", long)
        check(("  --server" in rest) == (kind != "LOCAL"), f"{name}: which server", long)
        check(("--json" in rest) >= (kind in ("ASK", "LIST_OF")), f"{name}: --json", long)
        same(bare(*name.split(), "-h").want(0).out, long.out, f"{name} -h")
        same(bare("help", *name.split()).want(0).out, long.out, f"help {name}")


def test_wrong_usage_of_each(t):
    for _, name, _, least, most in table():
        words = name.split()
        bare(*words, "--no-such-option").want(2, f"hikyaku {name} --help")
        if int(least) if least.isdigit() else 1:
            bare(*words).want(2)
        if most.isdigit() and name != "help":
            bare(*words, *["x"] * (int(most) + 1)).want(2)
        bare(*words, *["x"] * int(least), "--color", "blue").want(2 if name != "completion" else 2)


def test_failure_of_each_that_needs_a_server(t):
    """Nobody there: one line that says what to do, and 1."""
    for kind, name, _, least, _ in table():
        if kind == "LOCAL" or name in ("listen", "replay", "replay create", "key create", "dead requeue", "dead skip"):
            continue
        words = name.split() + ["x"] * int(least)
        r = bare(*words, "--data", t.path("none"), stdin=b"{}")
        check(r.code == 1 and len(r.err.strip().split("\n")) == 1, f"{name} without a server", r)
        r = bare(*words, "--server", "http://127.0.0.1:1", HIKYAKU_KEY="hk_x", stdin=b"{}\n")
        check(r.code == 1 and len(r.err.strip().split("\n")) == 1, f"{name} with a server that is away", r)
        check("hk_x" not in r.err + r.out, "without the key", r)


def test_words_of_the_program(t):
    check(bare("version").want(0).out.startswith("hikyaku "), "version")
    same(bare("version").out, bare("--version").want(0).out, "both ways")
    check("subscription create" in bare("help", "subscription").want(0).out, "help of a group")
    bare("help", "fly").want(2, "unknown verb")
    same(bare("-h").want(0).out, bare("help").want(0).out, "all of it")


def js(r):
    return json.loads(r.want(0).out)


def test_subscription(t):
    srv = t.server()
    r = Receiver(t)
    cli = lambda *a, **k: srv.cli("subscription", *a, **k)
    made = js(cli("create", "--json", "--name", "名前 wide", "--url", r.url("/s"), "--type", "RecordUpdated",
                  "--types", "a.*,b", "--filter", ".payload != null", "--header", "X-Env: prod: 1", "--header", "X-Two:2",
                  "--order", "key", "--on-dead", "block", "--no-enabled", "--retry", '{"count":1}', "--deadline", "60",
                  "--drop-stale", "--batch", '{"mode":"immediate"}', "--rate", "5"))
    check(made["secret"].startswith("whsec_"), "the secret is shown once", made)
    same(made["types"], ["RecordUpdated", "a.*", "b"], "all that were named")
    same((made["headers"], made["order"], made["onDead"], made["enabled"], made["dropStale"], made["deadlineSeconds"]),
         ({"X-Env": "prod: 1", "X-Two": "2"}, "key", "block", False, True, 60), "by options")
    sid = made["id"]
    cli("show", sid).want(0, "名前 wide")
    check("whsec_" not in cli("show", sid, "--json").out, "masked afterwards")
    table = cli("list").want(0).out.split("\n")
    row = next(l for l in table if sid in l)
    # the wide characters take two columns each: what follows is two bytes short of lining up
    same(table[0].index("STATE"), row.index("disabled") + 2, "columns line up by width")
    check("\033[" not in "".join(table), "no colour into a pipe")
    check("\033[" in srv.cli("subscription", "list", "--color", "always").want(0).out, "colour when asked for")
    with open(t.path("sub.json"), "w", encoding="utf-8") as f:
        json.dump({"name": "from file", "filter": ".x", "coalesce": True}, f)
    got = js(cli("update", sid, "--json", "--file", t.path("sub.json"), "--name", "option wins", "--no-drop-stale",
                 "--unset", "filter,deadlineSeconds"))
    same((got["name"], got["filter"], got["coalesce"], got["dropStale"], got["deadlineSeconds"], got["order"]),
         ("option wins", None, True, False, None, "key"), "changed")
    cli("update", sid, "--file", "-", stdin=b'{"name":"by stdin"}').want(0, "by stdin")
    cli("update", sid, "--file", "-", stdin=b"[1]").want(1, "object")
    cli("update", sid, "--auth", "{oops").want(1, "no JSON")
    cli("update", sid, "--url", "nonsense").want(1, "/url")
    cli("create", "--header", "nocolon").want(2)
    cli("enable", sid).want(0, f"{sid} is enabled")
    js(cli("test", sid, "--json"))
    r.answer("/s", lambda q: 500)
    bad = cli("test", sid)
    same(bad.code, 1, "a test that fails")
    check(re.search(r"success +no", bad.out), "what came of it", bad)
    new = js(cli("rotate", sid, "--json", "--overlap", "60"))["secret"]
    check(new.startswith("whsec_") and new != made["secret"], "another secret")
    check("totals" in js(cli("stats", sid, "--json", "--step", "minute")), "stats")
    cli("disable", sid, "--note", "for a while").want(0, "is disabled")
    other = js(cli("create", "--json", "--name", "two", "--url", r.url("/t")))["id"]
    same(len(cli("list", "--json", "--limit", "1").want(0).out.splitlines()), 1, "--limit")
    same([json.loads(x)["id"] for x in cli("list", "--json", "--no-enabled").want(0).out.splitlines()], [sid], "by state")
    cli("delete", sid, other).want(0, f"{other} is gone")
    cli("show", sid).want(1, "no such")
    cli("show", "not/an/id").want(1)


def test_deliveries_events_replays(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    begin = now()
    sid = js(srv.cli("subscription", "create", "--json", "--name", "d", "--url", r.url("/d")))["id"]
    r.answer("/d", lambda q: 400)
    events = [envelope(key="Account:1:" + new_id()) for _ in range(3)]
    c.publish(events).want(200)
    lines = lambda *a: [json.loads(x) for x in srv.cli(*a, "--json").want(0).out.splitlines()]
    deads = until(lambda: (lambda d: d if len(d) == 3 else None)(lines("dead", "list")), "dead letters")
    one = deads[0]["id"]
    srv.cli("dead", "show", one).want(0, "HTTP_STATUS")
    check(js(srv.cli("delivery", "show", one, "--json"))["attempts"], "its tries")
    srv.cli("delivery", "why", one).want(0)
    same({d["id"] for d in lines("delivery", "list", "--status", "DEAD_LETTER", "--subscription", sid)},
         {d["id"] for d in deads}, "by status")
    table = srv.cli("delivery", "list").want(0).out
    check(all(d["id"] in table for d in deads) and "DEAD_LETTER" in table, "as a table", table)
    r.answer_as_usual("/d")
    srv.cli("delivery", "retry", *[d["id"] for d in deads]).want(0, f"{one} is sent again")
    r.wait_for(6, "/d")
    srv.cli("event", "show", events[0]["eventId"]).want(0, events[0]["eventId"])
    same(js(srv.cli("event", "show", events[0]["eventId"], "--json"))["eventId"], events[0]["eventId"], "one event")
    same([e["eventId"] for e in lines("event", "list", "--partition-key", events[1]["sequence"]["partitionKey"])],
         [events[1]["eventId"]], "by key")
    same(len(lines("event", "list", "--limit", "2")), 2, "two of them")
    srv.cli("event", "show", new_id()).want(1)
    rid = re.search(r"replay (\S+): done", srv.cli("replay", "create", "--subscription", sid, "--since", begin).want(0).out)[1]
    same([x["id"] for x in lines("replay", "list")], [rid], "listed")
    srv.cli("replay", "show", rid).want(0, "done")
    srv.cli("replay", "stop", rid)
    srv.cli("replay", "create", "--subscription", sid).want(2)
    srv.cli("replay", "stop", new_id()).want(1)


def test_event_types(t):
    srv = t.srv
    srv.cli("event-type", "list").want(0, "RecordUpdated")
    srv.cli("event-type", "show", "RecordUpdated").want(0, "schema")
    srv.cli("event-type", "show", "no.such").want(1)
    r = srv.cli("event-type", "put", "my.type", "--version", "1", "--strict", "--schema", "-", stdin=b'{"type":"object"}')
    check(r.code in (0, 1) and (r.code == 0 or r.err.strip()), "put, or told that the server knows none", r)


def test_publish_long_input(t):
    """Lines of any number, without all of them in memory; what is refused is told."""
    srv = t.server()
    n = 12000
    lines = b"".join(hk.dump(envelope(payload={"n": i})) + b"\n" for i in range(n))
    r = srv.cli("event", "publish", "-", stdin=lines + b'{"eventType":"x"}\n')
    check(r.code == 1 and f"1 of {n + 1} events were refused" in r.err, "one was refused", r.err[-300:])
    same(len(r.out.splitlines()), n, "each is told")
    got = [json.loads(x) for x in srv.cli("event", "publish", "--json", stdin=hk.dump(envelope())).want(0).out.splitlines()]
    check(len(got) == 1 and got[0]["seq"] > n, "as JSON", got)


def test_tail_is_readable(t):
    srv = t.server()
    ev = envelope(payload={"say": "\u001b[31mred 漢字"})
    srv.client().publish(ev).want(202)
    out = srv.cli("event", "tail", "--from-start", "--limit", "1").want(0).out
    check(ev["eventType"] in out and ev["eventId"] in out and "漢字" in out, "a line for people", out)
    same(len(out.strip().split("\n")), 1, "one line")
    check("\033" not in out, "a terminal obeys nothing of it", out)
