"""GET /v1/event-types: the catalog of twenty types with JSON Schemas."""
import catalog
from hk import check, new_id, same


def types(c):
    j = c.get("/v1/event-types").want(200).json
    same(j["next"], None, "next")
    return j["data"]


def name(e):
    return e.get("eventType") or e.get("type") or e.get("name")


def test_list(t):
    got = types(t.srv.client())
    seed = {name(e) for e in got if e["subscribers"]}
    same(seed, set(catalog.payloads()), "types")
    ours = {name(e) for e in got} - seed
    check({"feed.item.created", "invoice.completed", "ops.alert"} <= ours, "and our own", ours)
    for e in got:
        same(e["schemaVersion"], 1, f"schemaVersion of {name(e)}")


def test_kind(t):
    """The catalog says which are domain and which integration events."""
    for e in types(t.srv.client()):
        check(e["builtin"], "built in", e)
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


ORDER = {"type": "object", "required": ["orderId", "total"],
         "properties": {"orderId": {"type": "string", "pattern": "^ord_[a-z0-9]+$"},
                        "total": {"type": "number", "minimum": 0},
                        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}},
         "$defs": {"line": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}}}}
GOOD = {"orderId": "ord_1", "total": 9.5, "lines": [{"sku": "a"}]}


def own():
    return "order.t" + new_id()[:8]


def put(c, type, status, **body):
    return c("PUT", "/v1/event-types/" + type, body).want(status).json


def event(type, payload, version=1):
    return {"eventType": type, "schemaVersion": version, "payload": payload}


def test_own(t):
    """Two versions: accepted, refused, warned; strict for one alone."""
    c, type = t.srv.client(), own()
    j = put(c, type, 201, schema=ORDER, description="An order", example=GOOD)
    same((j["type"], j["schemaVersion"], j["strict"], j["builtin"], j["schema"], j["example"]),
         (type, 1, False, False, ORDER, GOOD), "as it is shown")
    same(c.publish(event(type, GOOD)).want(202).json.get("warnings"), None, "it fits")
    bad = {"orderId": "x", "lines": [{}]}
    j = c.publish(event(type, bad)).want(202).json
    same(sorted(w["pointer"] for w in j["warnings"]),
         ["/payload/lines/0/sku", "/payload/orderId", "/payload/total"], "what would be refused")
    two = {**ORDER, "required": ["orderId", "total", "currency"],
           "properties": {**ORDER["properties"], "currency": {"enum": ["EUR", "JPY"]}}}
    put(c, type, 201, schema=two, version=2, strict=True)
    c.publish(event(type, bad)).want(202)
    j = c.publish(event(type, bad, 2)).want(422).json
    same({e["pointer"] for e in j["errors"]},
         {"/payload/lines/0/sku", "/payload/orderId", "/payload/total", "/payload/currency"}, "all of it")
    c.publish(event(type, {**GOOD, "currency": "EUR"}, 2)).want(202)
    r = c.publish([event(type, bad), event(type, bad, 2), event(type, GOOD)]).want(200).json
    same([(x["status"], "warnings" in x, "errors" in x) for x in r["results"]],
         [(202, True, False), (422, False, True), (202, False, False)], "in a batch")
    c.publish(event(type, GOOD, 3)).want(422, pointer="/schemaVersion")
    got = c.get("/v1/event-types/" + type).want(200).json
    same((got["schemaVersion"], [v["version"] for v in got["versions"]]), (2, [1, 2]), "the newest, and all")
    same(c.get(f"/v1/event-types/{type}?version=1").want(200).json["schema"], ORDER, "the first")
    check(any(type in str(a) for a in t.srv.admin().get(
        "/v1/audit", category="EVENT_TYPE_CHANGED", limit=100).want(200).json["data"]), "audited")


def test_own_deprecated_and_deleted(t):
    c, type = t.srv.client(), own()
    put(c, type, 201, schema=ORDER)
    put(c, type, 200, deprecated=True)
    j = c.publish(event(type, GOOD)).want(202).json
    same([(w["pointer"], "deprecated" in w["message"]) for w in j["warnings"]], [("/eventType", True)], "told")
    put(c, type, 201, schema=ORDER, version=2, strict=True)
    c("DELETE", f"/v1/event-types/{type}?version=2").want(204)
    c("DELETE", f"/v1/event-types/{type}?version=2").want(404)
    same(len(c.get("/v1/event-types/" + type).want(200).json["versions"]), 1, "one is left")
    c("DELETE", "/v1/event-types/" + type).want(204)
    c.get("/v1/event-types/" + type).want(404)
    same(len(c.events(type=type)), 1, "its events stay")
    same(c.publish(event(type, {})).want(202).json.get("warnings"), None, "nobody knows it now")


def test_compatible_changes(t):
    c, type = t.srv.client(), own()
    put(c, type, 201, schema=ORDER)
    wide = {**ORDER, "required": ["orderId"]}
    a = c("PUT", "/v1/event-types/" + type, {"schema": wide, "version": 2}).want(409)
    same([e["pointer"] for e in a.json["errors"]], ["/schema/total"], "what stands against it")
    c("PUT", "/v1/event-types/" + type, {"schema": wide}).want(409)
    put(c, type, 201, schema=wide, version=2, compatible=False)
    put(c, type, 200, schema={**ORDER, "required": ["orderId", "total", "lines"]})


def test_what_is_refused(t):
    c = t.srv.client()
    path = "/v1/event-types/" + own()
    for body, pointer in (({}, "/schema"), ({"schema": 7}, "/schema"), ({"schema": {"if": {}}}, "/schema/if"),
                          ({"schema": {"properties": {"a": {"type": "text"}}}}, "/schema/properties/a/type"),
                          ({"schema": {"$ref": "http://x.example/y"}}, "/schema/$ref"),
                          ({"schema": {"pattern": "(?<=a)b"}}, "/schema/pattern"),
                          ({"schema": {}, "version": 0}, "/version"), ({"schema": {}, "vresion": 1}, "/vresion"),
                          ({"schema": ORDER, "example": {}}, "/example/orderId")):
        c("PUT", path, body).want(422, pointer=pointer)
    for type in ("RecordCreated", "feed.item.created", "ops.mine"):
        c("PUT", "/v1/event-types/" + type, {"schema": {}}).want(409)
        c("DELETE", "/v1/event-types/" + type).want(409)
    c("PUT", "/v1/event-types/a%20b", {"schema": {}}).want(422)
    limited = t.srv.client(t.srv.new_key("manage", "read", tenants=["acme"])["key"])
    limited("PUT", path, {"schema": {}}).want(403)
    limited.get("/v1/event-types").want(200)


def test_pages_and_search(t):
    c, word = t.srv.client(), "w" + new_id()[:8]
    names = sorted(f"page.{word}{i}" for i in range(5))
    for n in names:
        put(c, n, 201, schema={}, description="Page " + word.upper())
    seen, after = [], None
    while True:
        j = c.get("/v1/event-types", q=word, limit=2, **({"after": after} if after else {})).want(200).json
        seen += [e["type"] for e in j["data"]]
        after = j["next"]
        if not after:
            break
    same(seen, names, "page by page")
    same([e["type"] for e in c.get("/v1/event-types", q="approval process").want(200).json["data"]],
         ["ApprovalConfigChanged"], "by its description")
    first = c.get("/v1/event-types", limit=1).want(200).json
    check(first["next"] and len(first["data"]) == 1, "built-in ones have pages, too", first)


def test_after_a_restart(t):
    srv, type = t.server(), own()
    put(srv.client(), type, 201, schema=ORDER, strict=True)
    srv.kill9()
    srv.start()
    srv.client().publish(event(type, {})).want(422)
