"""/openapi.json as others use it: openapi-python-client makes a client, schemathesis looks for faults.

HK_SCHEMATHESIS is how many cases schemathesis makes.
"""
import importlib
import json
import os
import re
import subprocess
import sys
import uuid

import hk
import receiver
from hk import Skip, check, same
from receiver import Receiver

HERE = os.path.dirname(os.path.abspath(__file__))
SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100", "RATE_LIMIT_GENERAL": "0",
            "RATE_LIMIT_FEED_REG": "0", "LOGIN_FAILURES_MAX": "1000", "LOGIN_LOCK": "1s"}
CASES = int(os.environ.get("HK_SCHEMATHESIS", "2000"))


def tool(name):
    """A program of the Python that runs this: tests/soak/install puts it there."""
    path = os.path.join(os.path.dirname(sys.executable), name)
    if not os.path.exists(path):
        raise Skip(f"no {name}; tests/soak/install, and its Python")
    return path


def document(t):
    with open(t.path("openapi.json"), "wb") as f:
        f.write(t.srv.client().get("/openapi.json").want(200).body)
    return f.name


def test_python_client(t):
    """No operation is dropped; the client publishes, subscribes, pages and acks."""
    made = subprocess.run(
        [tool("openapi-python-client"), "generate", "--path", document(t), "--meta", "none",
         "--config", os.path.join(HERE, "openapi-python-client.yml"),
         "--output-path", t.path("hikyaku_client"), "--overwrite"],
        capture_output=True, text=True, timeout=300)
    check(made.returncode == 0, "a client is made", made.stdout[-2000:], made.stderr[-2000:])
    check("will not be generated" not in made.stdout + made.stderr, "no operation is dropped",
          made.stdout[-3000:])
    sys.path.insert(0, t.folder)

    def load(name):
        return importlib.import_module("hikyaku_client." + name)

    api = load("client").AuthenticatedClient(base_url=t.srv.base, token=t.srv.key(),
                                             raise_on_unexpected_status=True)
    m = load("models")
    r = Receiver(t)
    made = load("api.subscriptions.post_v1_subscriptions").sync(client=api, body=m.SubscriptionNew.from_dict(
        {"name": "py", "url": r.url("/py"), "types": ["client.made"]}))
    check(isinstance(made, m.Subscription) and isinstance(made.id, uuid.UUID), "subscribed", made)
    load("api.consumers.put_v1_consumers_by_name").sync("py", client=api, body=m.PutV1ConsumersByNameBody.from_dict(
        {"types": ["client.made"], "order": "none"}))

    def event(n):
        return m.Envelope.from_dict({
            "schemaVersion": 1, "eventType": "client.made", "tenantId": hk.TENANT,
            "producer": {"service": "client", "instanceId": "py"},
            "sequence": {"partitionKey": f"k{n}"}, "payload": {"n": n}})

    publish = load("api.events.post_v1_events").sync
    check(isinstance(publish(client=api, body=event(0), idempotency_key="py-1"), m.Published), "published")
    many = publish(client=api, body=[event(n) for n in range(1, 20)])
    same([o.status for o in many.results], [202] * 19, "published at once")
    got, after = [], {}
    while True:
        page = load("api.events.get_v1_events").sync(client=api, limit=7, type_="client.made", **after)
        got += page.data
        if page.next_ is None:
            break
        after = {"after": page.next_}
    same(len(got), 20, "paged")
    done = 0
    while True:
        some = load("api.consumers.get_v1_consumers_by_name_events").sync("py", client=api, max_=10).data
        if not some:
            break
        told = load("api.consumers.post_v1_consumers_by_name_ack").sync(
            "py", client=api, body=m.PostV1ConsumersByNameAckBody(cursors=[e.cursor for e in some]))
        done += sum(o.status == "acked" for o in told.results)
    same(done, 20, "acked")
    r.wait_for(20, "/py")


def test_schemathesis(t):
    """All checks of schemathesis, over all that is ours."""
    run = [tool("schemathesis"), "--config-file", os.path.join(HERE, "schemathesis.toml"), "run",
           document(t), "--url", t.srv.base, "--continue-on-failure", "--no-color",
           "--auth", f"admin:{hk.PASSWORD}"]
    ours = [op for ops in json.load(open(t.path("openapi.json")))["paths"].values()
            for op in ops.values() if "apps" not in op["tags"]]
    # What a schema's bounds are is some 8,000 cases by itself.
    fuzzed, phases = (CASES - 8000, "examples,coverage,fuzzing") if CASES >= 10000 else (CASES, "examples,fuzzing")
    p = subprocess.run([*run, "--phases", phases, "--max-examples", str(fuzzed // len(ours) + 1)],
                       capture_output=True, text=True, cwd=t.folder)
    told = re.search(r"[\d,]+ generated.*", p.stdout)
    check(p.returncode == 0 and told, "schemathesis finds nothing", *[
        l[:300] for l in p.stdout.split("\n") if l.strip()][-400:])
    print("  " + told[0])
