"""Several outboxes of one server, each with its own relay, name, metrics and trouble."""
import re

import outbox
from hk import check, same, until
from outbox import Lite, Pg, outboxes, relayed, row

SETTINGS = outbox.SETTINGS


def labelled(srv, name):
    """label -> value; '' is without one."""
    text = srv.client().get("/metrics").body.decode()
    return {m[1] or "": float(m[2])
            for m in re.finditer(rf'^{name}(?:{{outbox="([^"]*)"}})? (\S+)', text, re.M)}


def test_each_has_its_own(t):
    main, shop, crm = outboxes(t)
    srv = t.server(OUTBOX_URL=main.url, OUTBOX_SHOP_URL=shop.url, HIKYAKU_OUTBOX_CRM_2_URL=crm.url,
                   HIKYAKU_OUTBOX_CRM_2_MODE="xid", OUTBOX_CRM_2_POLL="30ms", OUTBOX_NOTHING_OF_OURS="x")
    c = srv.client()
    for i, box in enumerate((main, shop, crm)):
        box.put([row(f"b{i}", n) for n in range(i + 1)] + [row(f"b{i}", 9, event_type="no type!")])
    relayed(c, 6)
    until(lambda: main.waiting() + shop.waiting() + crm.waiting() == 0, "all are marked", 20)
    same(labelled(srv, "hikyaku_relay_events_total"), {"": 1.0, "shop": 2.0, "crm-2": 3.0}, "counted apart")
    same(labelled(srv, "hikyaku_relay_up"), {"": 1.0, "shop": 1.0, "crm-2": 1.0}, "up")
    same(set(labelled(srv, "hikyaku_relay_lag_rows")), {"", "shop", "crm-2"}, "lag")
    dead = c.get("/v1/dead-letters").want(200).json["data"]
    same(sorted(d["source"] for d in dead), ["outbox", "outbox.crm-2", "outbox.shop"], "of which they are")
    one, = c.get("/v1/dead-letters", source="outbox.shop").want(200).json["data"]
    same(one["key"], "b1", "found by its outbox")
    lines = [l for l in srv.log() if l.get("msg") == "event relayed"]
    same({l.get("outbox", "") for l in lines}, {"", "shop", "crm-2"}, "in the log")
    out = srv.cli("outbox", "check").want(0).out
    same(len(re.findall(r"is fit for outbox(\.shop|\.crm-2|)\.mode", out)), 3, f"all are looked at: {out}")
    same(srv.cli("outbox", "check", "--name", "shop").want(0).out.count("is fit"), 1, "one")
    srv.cli("outbox", "check", "--name", "none").want(1, "outbox.none.url")
    same(srv.cli("outbox", "check", "--name", "shop", "--url", main.url).code, 2, "not both")
    doctor = srv.cli("doctor").want(0).out
    same(len(re.findall(r"^ok +outbox +outbox\S*: \S+ is fit", doctor, re.M)), 3, f"the doctor: {doctor}")
    shop.sql("DROP INDEX outbox_events_event_id")
    check(re.search(r"^bad +outbox +outbox.shop: event_id is not unique", srv.cli("doctor").out, re.M),
          "what is wrong, and of which")
    # The unnamed one alone, as ever: nothing is read again.
    srv.stop()
    for name in ("OUTBOX_SHOP_URL", "HIKYAKU_OUTBOX_CRM_2_URL", "HIKYAKU_OUTBOX_CRM_2_MODE", "OUTBOX_CRM_2_POLL"):
        del srv.settings[name]
    srv.start()
    main.put([row("b0", 1)])
    relayed(srv.client(), 7)
    same(labelled(srv, "hikyaku_relay_events_total"), {"": 1.0}, "one is new")
    same(labelled(srv, "hikyaku_relay_known_total"), {"": 0.0}, "none was read again")


def test_two_tables_of_one_database(t):
    for mode in ("polling", "xid"):
        box = Pg(t, mode)
        box.feed(outbox.shipped("postgres.sql").replace("outbox_events", "other_events")
                 .replace("outbox_put", "other_put"))
        srv = t.server(OUTBOX_A_URL=box.url, OUTBOX_A_MODE=mode,
                       OUTBOX_B_URL=box.url, OUTBOX_B_MODE=mode, OUTBOX_B_TABLE="other_events")
        box.put([row("k", 1)])
        box.sql("INSERT INTO other_events (tenant_id, event_type, partition_key, producer, payload) SELECT tenant_id,"
                " event_type, 'other', producer, payload FROM outbox_events LIMIT 1")
        relayed(srv.client(), 2)
        same(labelled(srv, "hikyaku_relay_events_total"), {"": 0.0, "a": 1.0, "b": 1.0}, f"{mode}: one each")
        srv.stop()


def test_one_that_is_away_holds_up_no_other(t):
    here, away = Lite(t), Lite(t, table=False)
    srv = t.server(OUTBOX_HERE_URL=here.url, OUTBOX_AWAY_URL=away.url)
    until(lambda: any("is not there" in str(l) and l.get("outbox") == "away" for l in srv.log()), "it says which")
    here.put([row()])
    relayed(srv.client(), 1)
    same(labelled(srv, "hikyaku_relay_up"), {"": 0.0, "here": 1.0, "away": 0.0}, "up")
    srv.client().get("/readyz").want(200)
    away.make()
    away.put([row()])
    relayed(srv.client(), 2)


def test_settings(t):
    conf = t.path("many.conf")
    with open(conf, "w") as f:
        f.write("outbox.shop.url = postgres://me:geheim@127.0.0.1/x\noutbox.shop.mode = xid\n")
    srv = t.server(start=False, OUTBOX_SHOP_MODE="polling")
    out = srv.cli("serve", "--config", conf, "--print-config").want(0).out
    check("geheim" not in out and "outbox.shop.url" in out, "the password is masked", out)
    check("outbox.shop.mode = polling  # env" in out, "the environment wins", out)
    url = "sqlite:///nowhere"
    for more, says in (({"OUTBOX_SHOP_TABLE": "ab"}, "outbox.shop.url"),
                       ({"OUTBOX_SHOP_URL": url, "OUTBOX_SHOP_TABLE": 'a"b'}, "outbox.shop.table"),
                       ({"OUTBOX_SHOP_URL": url, "OUTBOX_SHOP_MODE": "wal"}, "OUTBOX_SHOP_MODE"),
                       ({"OUTBOX_SHOP_URL": url, "OUTBOX_SHOP_MODE": "xid"}, "outbox.shop.mode = xid is for"),
                       ({"OUTBOX_" + 32 * "X" + "_URL": url}, "a name is 1 to 31"),
                       ({f"OUTBOX_N{i}_URL": url + str(i) for i in range(17)}, "there may be 16"),
                       ({"OUTBOX_A_URL": url, "OUTBOX_B_URL": url}, "the same table"),
                       ({"OUTBOX_URL": url, "OUTBOX_B_URL": url}, "the same table")):
        bad = t.server(start=False, **more)
        bad.spawn()
        same(bad.ended(), 1, f"{more} stops the start")
        check(says.encode() in bad.all_logs(), f"{more} is named", bad.all_logs()[-500:])
        bad.proc = None
    for line, says in (("outbox.shop.ulr = x", "unknown key outbox.shop.ulr"), ("outbox.Shop.url = x", "a name is"),
                       ("outbox.shop.poll = 1y", "outbox.shop.poll"), ("outbox..url = x", "a name is"),
                       ("outbox.a.url = sqlite:///a\noutbox.a.url = sqlite:///b", "outbox.a.url is set already")):
        with open(conf, "w") as f:
            f.write(line + "\n")
        srv.cli("serve", "--config", conf, "--print-config").want(1, says)


def test_zz_end(t):
    """Last in the file: the cluster ends."""
    outbox.end()
