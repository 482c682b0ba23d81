"""The URL guard (2.5.1, 9.1) by what it lets through: no connection where none may go.

All of it runs in a network of its own in which every address is this machine:
a guard that fails is caught by a listening socket, and nothing leaves.
"""
import socket
import threading
import time

import hk
import netns
from hk import check, envelope, same, until
from netns import Dns, Trap

WHY = netns.enter()
SETTINGS = {"TIME_SCALE": "1000", "WEBHOOK_URL_ALLOW_HTTP": "true"}
PUBLIC, PUBLIC6 = "93.184.216.34", "2606:4700::1111"

# The first, the last and one within, of everything that is not public.
RANGES = {
    "0.0.0.0/8": ["0.0.0.0", "0.1.2.3", "0.255.255.255"],
    "10.0.0.0/8": ["10.0.0.0", "10.0.0.1", "10.255.255.255"],
    "100.64.0.0/10": ["100.64.0.0", "100.100.100.200", "100.127.255.255"],
    "127.0.0.0/8": ["127.0.0.0", "127.0.0.1", "127.255.255.255"],
    "161.26.0.0/16": ["161.26.0.0", "161.26.0.10", "161.26.255.255"],
    "166.8.0.0/14": ["166.8.0.0", "166.9.1.1", "166.11.255.255"],
    "168.63.129.16/32": ["168.63.129.16"],
    "169.254.0.0/16": ["169.254.0.0", "169.254.169.254", "169.254.255.255"],
    "172.16.0.0/12": ["172.16.0.0", "172.17.0.1", "172.31.255.255"],
    "192.0.0.0/24": ["192.0.0.0", "192.0.0.192", "192.0.0.255"],
    "192.0.2.0/24": ["192.0.2.0", "192.0.2.1", "192.0.2.255"],
    "192.88.99.0/24": ["192.88.99.0", "192.88.99.1", "192.88.99.255"],
    "192.168.0.0/16": ["192.168.0.0", "192.168.1.1", "192.168.255.255"],
    "198.18.0.0/15": ["198.18.0.0", "198.19.0.1", "198.19.255.255"],
    "198.51.100.0/24": ["198.51.100.0", "198.51.100.7", "198.51.100.255"],
    "203.0.113.0/24": ["203.0.113.0", "203.0.113.9", "203.0.113.255"],
    "224.0.0.0/4": ["224.0.0.1", "232.1.2.3", "239.255.255.255"],
    "240.0.0.0/4": ["240.0.0.0", "250.1.1.1", "255.255.255.255"],
    "(::)": ["::"],
    "(::1)": ["::1", "0:0:0:0:0:0:0:1"],
    "::ffff:0:0/96": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe"],
    "64:ff9b::/96": ["64:ff9b::10.0.0.1", "64:ff9b::7f00:1"],
    "64:ff9b:1::/48": ["64:ff9b:1::", "64:ff9b:1::8.8.8.8", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
    "100::/64": ["100::", "100::1", "100::ffff:ffff:ffff:ffff"],
    "2001::/32": ["2001::", "2001:0:1234::1", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"],
    "2001:db8::/32": ["2001:db8::", "2001:db8::1", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
    "2002::/16": ["2002:a00:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1"],
    "::/96": ["::10.0.0.1", "::7f00:1"],
    "fc00::/7": ["fc00::", "fd00::1", "fd00:ec2::254", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    "fe80::/10": ["fe80::", "fe80::1", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    "fec0::/10": ["fec0::", "fec0::1", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    "ff00::/8": ["ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
}

# Other spellings of what may not be reached.
SPELLINGS = [
    "0x7f.1", "0X7F.0.0.1", "0x7f000001", "0x7f.0x0.0x0.0x1", "2130706433", "017700000001",
    "0177.0.0.1", "0177.0.0.01", "127.1", "127.0.1", "0", "0x0", "00", "10.1", "10.257",
    "0xa.1", "167772161", "012.0.0.1", "0xA9FEA9FE", "2852039166", "169.254.43518",
    "0251.0376.0251.0376", "192.168.257", "3232235777", "127.0.0.1.", "10.0.0.1.",
    "127。0。0。1", "127｡0．0。1", "１２７.0.0.１", "①②⑦.0.0.1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1",
    "127%E3%80%820%E3%80%820%E3%80%821", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[0000::1]", "[::1%25lo]", "[::1%lo]",
    "user@127.0.0.1", "user:pass@10.0.0.1", "example.com@127.0.0.1", "127.0.0.1#@example.com",
    "127.0.0.1\\@example.com", "example.com\\@127.0.0.1", "127.0.0.1 .example.com",
    "127.0.0.1%00.example.com", "127.0.0.1\t", "[::]", "[fe80::1%25lo]", "127.0.0.1:80:443",
    "256.256.256.256", "0x100000000", "4294967296", "1.2.3.4.5", "08.0.0.1", "[127.0.0.1]",
    "[::1", "::1", "127.0.0.1:0", "127.0.0.1:99999",
]


def host(address):
    return f"[{address}]" if ":" in address else address


def create(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more})


def try_out(c, sid):
    """What a test send says."""
    return c.post(f"/v1/subscriptions/{sid}/test").want(200).json


def traps(t):
    return [Trap(t, 80), Trap(t, 443)]


def caught(ts):
    return sorted(set.union(*(x.addresses() for x in ts)))


def test_the_trap_works(t):
    """What is public arrives, at any address: what does not arrive was held back."""
    netns.inside(WHY)
    ts = traps(t)
    for address in ("10.0.0.1", "169.254.169.254", PUBLIC, "fd00::1", PUBLIC6):
        socket.create_connection((address, 80), 5).close()
    until(lambda: len(caught(ts)) == 5, "each address is caught")
    ts[0].hits.clear()
    c = t.srv.client()
    for address in (PUBLIC, PUBLIC6, "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
                    "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "198.17.255.255",
                    "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
                    "2002:808:808::1", "2001:1::1", "2003::1"):
        s = create(c, f"http://{host(address)}/x").want(201).json
        a = try_out(c, s["id"])
        check(a["success"], f"{address} is public", a)
        c.delete("/v1/subscriptions/" + s["id"]).want(204)
    check(PUBLIC in caught(ts) and PUBLIC6 in caught(ts), "they came here", ts[0].hits)


def test_every_range(t):
    netns.inside(WHY)
    ts, c = traps(t), t.srv.client()
    good = create(c, f"http://{PUBLIC}/", enabled=False).want(201).json
    for net, addresses in RANGES.items():
        for address in addresses:
            for scheme in ("http", "https"):
                url = f"{scheme}://{host(address)}/x"
                a = create(c, url)
                check(a.status == 422, f"{url} is refused when it is saved", a)
                a.want(422, pointer="/url", says="not public")
                if "inner" not in net and "/96" not in net and not net.startswith("2002"):
                    a.want(422, says=net)
        c("PATCH", "/v1/subscriptions/" + good["id"], {"url": url}).want(422, pointer="/url")
        create(c, f"http://{PUBLIC}/", auth={
            "type": "oauth2", "tokenUrl": url, "clientId": "c", "clientSecret": "s"}).want(
                422, pointer="/auth/tokenUrl")
    same(caught(ts), [], "nobody was called")


def test_odd_spellings(t):
    netns.inside(WHY)
    ts, c = traps(t), t.srv.client()
    for text in SPELLINGS:
        for url in (f"http://{text}/x", f"https://{text}/x"):
            a = create(c, url)
            check(a.status == 422, f"{url!r} is refused when it is saved", a)
            a.want(422, pointer="/url")
    for url in ("ftp://example.com/", "file:///etc/passwd", "gopher://10.0.0.1:25/x", "//10.0.0.1/",
                "http:10.0.0.1", "http:/10.0.0.1", "http:///10.0.0.1", "dict://10.0.0.1", "",
                "http://", "http://\n10.0.0.1/", "http://example.com:80@10.0.0.1/",
                "http://" + "a" * 3000 + "/", "javascript:1", "unix:/run/docker.sock"):
        create(c, url).want(422, pointer="/url")
    same(caught(ts), [], "nobody was called")


def turned(c, dns, name, *addresses, **more):
    """A subscription whose name was public when it was saved, and leads elsewhere now."""
    dns.names[name] = [PUBLIC]
    s = create(c, f"http://{name}/x", **more).want(201).json
    dns.names[name] = list(addresses)
    return s


def test_saved_names(t):
    """A name that is known to lead elsewhere is refused when it is saved, and the member is named."""
    netns.inside(WHY)
    ts = traps(t)
    names = {f"n{i}.test": [a] for i, a in enumerate(a for v in RANGES.values() for a in v)}
    names.update({"mixed.test": [PUBLIC, "10.0.0.1"], "mixed6.test": [PUBLIC, "fd00::1"],
                  "last.test": [PUBLIC] * 7 + ["192.168.1.1"], "t1.in.test": ["10.0.0.1"]})
    dns = Dns(t, {**names, "good.test": [PUBLIC], "none.test": []})
    srv = t.server(WEBHOOK_URL_DNS_SERVERS=dns.at)
    c = srv.client()
    good = create(c, "http://good.test/x", enabled=False).want(201).json
    at = "/v1/subscriptions/" + good["id"]
    for name in [*names, "localhost", "LOCALHOST."]:
        a = create(c, f"http://{name}/x").want(422, pointer="/url", says="not public")
        check(not any(x in a.body.decode() for x in names.get(name, ["127.0.0.1"]) if x not in ("::", "0.0.0.0")),
              "what it leads to is told", a.body)
    for name in ("none.test", "nothere.test"):
        create(c, f"http://{name}/x", enabled=False).want(201)
    for url in ("http://mixed.test/x", "http://10.0.0.1/x"):
        c("PATCH", at, {"url": url}).want(422, pointer="/url", says="not public")
        oauth = {"type": "oauth2", "tokenUrl": url, "clientId": "c", "clientSecret": "s"}
        create(c, "http://good.test/", auth=oauth).want(422, pointer="/auth/tokenUrl", says="not public")
        c("PATCH", at, {"auth": oauth}).want(422, pointer="/auth/tokenUrl", says="not public")
        hub = {"tenant": "t1", "domain": "hub.test", "eventApiKey": "k", "organizationId": "o",
               "servicePartition": "p", "sender": "s", "otp": None, "healthUrl": url}
        create(c, "http://good.test/", preset="hub", hub=hub).want(422, pointer="/hub/healthUrl", says="not public")
        mine = {"verdicts": [{"status": "200-299", "verdict": "success"}],
                "preflight": {"url": url, "pointer": "/s", "equals": 1}}
        c("PUT", "/v1/presets/mine", mine)
        create(c, "http://good.test/", preset="mine").want(422, pointer="/preset", says="not public")
    hub = {**hub, "healthUrl": None, "domain": "in.test"}
    create(c, "http://good.test/", preset="hub", hub=hub).want(422, pointer="/hub/domain", says="not public")
    c("PATCH", at, {"url": "http://good.test/y", "name": "other"}).want(200)
    names["good.test"] = dns.names["good.test"] = ["10.0.0.1"]
    time.sleep(1.1)
    c("PATCH", at, {"name": "what is saved stays"}).want(200)
    create(c, "http://good.test/").want(422, pointer="/url")
    same(caught(ts), [], "nobody was called")


def test_saved_tasks(t):
    """Callbacks and configurations of tasks alike."""
    netns.inside(WHY)
    ts = traps(t)
    srv = t.server(WEBHOOK_URL_DNS_SERVERS=Dns(t, {"in.test": ["10.0.0.1"], "good.test": [PUBLIC]}).at)
    c = srv.client(srv.new_key("submit", "query")["key"])
    for name in ("good.test", "nothere.test"):
        c.post("/api/v1/invoices", {"callbackUrl": f"http://{name}/cb"}).want(202)
    c.post("/api/v1/invoices", {"callbackUrl": "http://in.test/cb"}).want(
        422, pointer="/callbackUrl", says="not public")
    path, conf = "/api/v1/webhook-configurations", {"events": ["invoice.completed"]}
    c.post(path, {**conf, "url": "http://in.test/cb"}).want(422, pointer="/url", says="not public")
    made = c.post(path, {**conf, "url": "http://good.test/cb"}).want(201).json["data"]
    c("PATCH", f"{path}/{made['id']}", {"url": "http://in.test/cb"}).want(422, pointer="/url", says="not public")
    c("PATCH", f"{path}/{made['id']}", {"isActive": False}).want(200)
    same(caught(ts), [], "nobody was called")


def test_saved_names_that_hang(t):
    """Who asks about a slow name waits for it, within the time-out; nobody else does."""
    netns.inside(WHY)
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    t.later(silent.close)
    srv = t.server(WEBHOOK_URL_DNS_SERVERS="127.0.0.1:%d" % silent.getsockname()[1],
                   WEBHOOK_URL_DNS_TIMEOUT_MS="2000", HTTP_THREADS="1")
    c, took = srv.client(), []

    def slow(i):
        began = time.monotonic()
        create(srv.client(), f"http://slow{i}.test/x", enabled=False).want(201)
        took.append(time.monotonic() - began)

    threads = [threading.Thread(target=slow, args=(i,)) for i in range(20)]
    for x in threads:
        x.start()
    began = time.monotonic()
    for i in range(20):
        create(c, f"http://{PUBLIC}/{i}", enabled=False).want(201)
    check(time.monotonic() - began < 1.5, "others went on", time.monotonic() - began)
    for x in threads:
        x.join()
    check(len(took) == 20 and min(took) > 1.5 and max(took) < 4, "each waited once", took)


def test_names(t):
    """What a name leads to is judged again at every attempt."""
    netns.inside(WHY)
    ts = traps(t)
    names = {f"n{i}.test": [a] for i, a in enumerate(
        a for v in RANGES.values() for a in v)}
    names.update({
        "mixed.test": [PUBLIC, "10.0.0.1"], "mixed6.test": [PUBLIC, "fd00::1"],
        "last.test": [PUBLIC] * 7 + ["192.168.1.1"], "good.test": [PUBLIC], "none.test": []})
    dns = Dns(t, {})
    srv = t.server(WEBHOOK_URL_DNS_SERVERS=dns.at)
    c = srv.client()
    for name in names:
        s = turned(c, dns, name, *names[name], enabled=False)
        a = try_out(c, s["id"])
        if name == "good.test":
            check(a["success"], "a good name", a)
        else:
            want = "no" if name == "none.test" else "not public"
            check(not a["success"] and a["statusCode"] is None and want in a["error"],
                  f"{name} {names[name]}", a)
    s = create(c, "http://nothere.test/x", enabled=False).want(201).json
    a = try_out(c, s["id"])
    check(not a["success"] and a["error"], "a name that nobody has", a)
    same(caught(ts), [PUBLIC], "only the public address was called")


def test_names_at_attempts(t):
    """The same for what is delivered: given up, and the log says why."""
    netns.inside(WHY)
    ts = traps(t)
    dns = Dns(t, {"in.test": [PUBLIC]})
    srv = t.server(WEBHOOK_URL_DNS_SERVERS=dns.at)
    c = srv.client()
    create(c, "http://in.test/x").want(201)
    create(c, f"http://{PUBLIC}/token", auth={
        "type": "oauth2", "tokenUrl": "http://in.test/token", "clientId": "c",
        "clientSecret": "s"}).want(201)
    create(c, "https://in.test/x").want(201)
    dns.names["in.test"] = ["10.0.0.1"]
    c.publish(envelope()).want(202)
    tried = until(lambda: [l for l in srv.log() if l.get("msg") == "attempt"
                           and "not public" in l.get("error", "")][2:], "three attempts fail", 10)
    check(not any("10.0.0.1" in l["error"] for l in tried), "what it leads to is told", tried)
    why = [l for l in srv.log() if l.get("msg") == "a host may not be called"]
    check(len(why) >= 3 and all(l["host"] == "in.test" and "10.0.0.1" in l["error"]
                                and "private" in l["error"] for l in why), "the log says why", why)
    shown = c.get("/v1/deliveries").want(200).body + c.get("/v1/audit").want(200).body
    check(b"10.0.0.1" not in shown, "what an internal name leads to is in an answer", shown)
    same(caught(ts), [], "nobody was called")


def test_rebinding(t):
    """A name that answers otherwise every time: what was judged is what is called."""
    netns.inside(WHY)
    ts = traps(t)
    dns = Dns(t, {
        "turn.test": lambda n: [PUBLIC if n % 2 else "10.0.0.1"],
        "late.test": lambda n: [PUBLIC] if n == 1 else ["169.254.169.254"]})
    srv = t.server(WEBHOOK_URL_DNS_SERVERS=dns.at)
    c = srv.client()
    turn = create(c, "http://turn.test/turn", enabled=False).want(201).json
    late = create(c, "http://late.test/late", enabled=False).want(201).json
    seen = {True: 0, False: 0}
    for s in (turn, late) * 8:
        a = try_out(c, s["id"])
        check(a["success"] or "not public" in a["error"], "good, or refused", a)
        seen[a["success"]] += 1
        time.sleep(0.55)  # an answer is believed for a second
    check(seen[True] >= 2 and seen[False] >= 2, "both happened", seen)
    check(len([q for q in dns.asked if q[0] == "turn.test" and q[1] == 1]) >= 4,
          "it was asked anew", dns.asked)
    same(caught(ts), [PUBLIC], "only the public address was called")


def test_redirects_are_not_followed(t):
    netns.inside(WHY)
    ts, c = traps(t), t.srv.client()
    for status in (301, 302, 303, 307, 308):
        ts[0].status, ts[0].headers = status, {"Location": f"http://10.0.0.{status % 100}/in"}
        s = create(c, f"http://{PUBLIC}/r{status}").want(201).json
        a = try_out(c, s["id"])
        check(not a["success"] and a["statusCode"] == status and str(status) in a["error"],
              "a redirect is a failure", a)
    c.publish(envelope()).want(202)
    until(lambda: len([h for h in ts[0].hits if h[1]]) >= 10, "tests and deliveries came")
    time.sleep(0.5)
    same(caught(ts), [PUBLIC], "nobody followed")
    same(len([h for h in ts[0].hits if h[1]]), 10, "and none was tried again")


def test_allow_private(t):
    """Opens what it names, http with it, and nothing else."""
    netns.inside(WHY)
    ts = traps(t)
    names = {"ok.test": ["10.1.2.3"], "no.test": ["10.2.0.1"], "both.test": ["10.1.2.3", "10.2.0.1"]}
    srv = t.server(WEBHOOK_URL_ALLOW_HTTP="false", WEBHOOK_URL_DNS_SERVERS=Dns(t, names).at,
                   WEBHOOK_URL_ALLOW_PRIVATE="10.1.0.0/16,fd00:1::/32,127.0.0.2/32")
    c = srv.client()
    for at in ("10.1.2.3", "[fd00:1::5]", "[::ffff:10.1.2.3]", "127.0.0.2", "ok.test"):
        s = create(c, f"http://{at}/x").want(201).json
        a = try_out(c, s["id"])
        check(a["success"], f"{at} is opened", a)
    for at in ("10.2.0.1", "10.0.255.255", "[fd00:2::5]", "127.0.0.1", "127.0.0.3", PUBLIC):
        create(c, f"http://{at}/x").want(422, pointer="/url")
    for at in ("no.test", "both.test", "localhost"):
        create(c, f"http://{at}/x").want(422, pointer="/url", says="not public")
    check(set(caught(ts)) <= {"10.1.2.3", "fd00:1::5", "127.0.0.2"}, "only what is named", caught(ts))


def test_loopback_needs_the_setting(t):
    netns.inside(WHY)
    ts = traps(t)
    shut, opened = t.server(), t.server(WEBHOOK_URL_ALLOW_PRIVATE="127.0.0.0/8")
    for at in ("127.0.0.1", "127.0.0.53", "[::1]"):
        create(shut.client(), f"http://{at}/x").want(422, says="webhook.url.allow.private")
    create(shut.client(), "http://localhost/x").want(422, pointer="/url", says="not public")
    same(caught(ts), [], "nobody was called")
    s = create(opened.client(), "http://127.0.0.1/x").want(201).json
    check(try_out(opened.client(), s["id"])["success"], "with the setting")


def test_https_only(t):
    netns.inside(WHY)
    ts = traps(t)
    srv = t.server(WEBHOOK_URL_ALLOW_HTTP="false")
    for url in (f"http://{PUBLIC}/", "http://example.com/"):
        create(srv.client(), url).want(422, pointer="/url", says="https")
    create(srv.client(), "https://example.com/").want(201)
    same(caught(ts), [], "nobody was called")


def test_lists(t):
    """Allow and deny lists of hosts; neither opens a private address."""
    netns.inside(WHY)
    names = {"a.good.test": [PUBLIC], "in.good.test": ["10.0.0.1"]}
    ts = traps(t)
    srv = t.server(WEBHOOK_URL_ALLOWLIST="*.good.test,10.0.0.1", WEBHOOK_URL_DENYLIST="bad.good.test",
                   WEBHOOK_URL_DNS_SERVERS=Dns(t, names).at)
    c = srv.client()
    s = create(c, "http://A.Good.test./x").want(201).json
    check(try_out(c, s["id"])["success"], "listed")
    for at in ("good.test", "evilgood.test", "a.good.test.evil.test", "bad.good.test", "BAD.good.test.",
               "10.0.0.1", PUBLIC):
        create(c, f"http://{at}/x").want(422, pointer="/url")
    create(c, "http://in.good.test/x").want(422, pointer="/url", says="not public")
    same(caught(ts), [PUBLIC], "only the public address was called")


def test_settings_that_are_refused(t):
    """Protection can't be turned off, and a list that can't be read stops the start."""
    for name, value, says in (
            ("WEBHOOK_URL_VALIDATION_ENABLED", "false", "validation.enabled"),
            ("WEBHOOK_URL_DENY_PRIVATE_IP", "false", "deny.private.ip"),
            ("WEBHOOK_URL_ALLOW_PRIVATE", "10.0.0.1/8", "allow.private"),
            ("WEBHOOK_URL_DNS_SERVERS", "nonsense", "dns.servers"),
            ("WEBHOOK_TLS_CA", "/nowhere/ca.pem", "webhook.tls.ca")):
        srv = t.server(start=False, **{name: value})
        srv.spawn()
        check(srv.ended() != 0, f"{name}={value} stops the start")
        text = srv.all_logs().decode()
        check(says in text, "and is named", text)
        srv.proc = None
