"""GET /v1/event-types: the catalog of twenty types with JSON Schemas."""
import catalog
from hk import check, same


def types(c):
    j = c.get("/v1/event-types").want(200).json
    same(j["next"], None, "next")
    return j["data"]


def name(e):
    return e.get("eventType") or e.get("type") or e.get("name")


def test_list(t):
    got = types(t.srv.client())
    same({name(e) for e in got}, set(catalog.payloads()), "types")
    for e in got:
        same(e["schemaVersion"], 1, f"schemaVersion of {name(e)}")


def test_kind(t):
    """The catalog says which are domain and which integration events."""
    for e in types(t.srv.client()):
        want = "domain" if name(e) in catalog.DOMAIN else "integration"
        check(want in {str(v).lower() for v in e.values()}, f"{name(e)} is {want}", e)


def test_one(t):
    c = t.srv.client()
    for kind, (payload, field) in catalog.payloads().items():
        e = c.get("/v1/event-types/" + kind).want(200).json
        same(name(e), kind, "name")
        s = e["schema"]
        same(s["type"], "object", "type of the schema")
        check("2020-12" in s.get("$schema", ""), "a JSON Schema says which draft", s)
        check(field in s["required"] and field in s["properties"], f"{kind} requires {field}", s)
        same(set(payload) - set(s["properties"]), set(), f"fields of {kind} not described")
        same(set(payload) - set(s["required"]), set(catalog.OPTIONAL.get(kind, ())),
             f"what may be absent in {kind}")
        check(s.get("additionalProperties", True) is not False, "extra fields are allowed", s)


def test_unknown(t):
    t.srv.client().get("/v1/event-types/NoSuchType").want(404)
