"""/openapi.json describes the routes that are there."""
import gzip
import re

import openapi
from hk import check, new_id, same

SETTINGS = {"RATE_LIMIT_GENERAL": "0"}


def spec(t):
    return t.srv.client().get("/openapi.json").want(200).json


def test_shape(t):
    j = spec(t)
    check(j["openapi"].startswith("3.1"), "OpenAPI 3.1", j["openapi"])
    check(j["info"]["title"] and j["info"]["version"], "info", j["info"])
    for path, ops in j["paths"].items():
        for method, op in ops.items():
            check(op.get("summary"), f"{method} {path} has a summary", op)
            check(op.get("responses"), f"{method} {path} has responses", op)
            given = {p["name"] for p in op.get("parameters", ops.get("parameters", []))
                     if p.get("in") == "path"}
            same(given, set(re.findall(r"{(\w+)}", path)), f"path parameters of {method} {path}")


def test_examples(t):
    """Each example fits its schema."""
    j, n = spec(t), 0
    for name, schema in j["components"]["schemas"].items():
        for example in schema.get("examples", ()):
            same(openapi.wrong(schema, example, j), None, f"the example of {name}")
            n += 1
    check(n >= 5, "examples", n)


def test_all_is_said(t):
    """Every operation of ours tells its answers; every body has a schema; every reference leads somewhere."""
    j = spec(t)
    for path, ops in j["paths"].items():
        for method, op in ops.items():
            if "apps" in op["tags"]:
                continue
            check(any(s < "400" for s in op["responses"]), f"{method} {path} answers well", op["responses"])
            for content in [op.get("requestBody", {}).get("content", {})] + [
                    r.get("content", {}) for r in op["responses"].values()]:
                for kind, c in content.items():
                    check("schema" in c, f"{method} {path}: {kind} has a schema", c)
    for ref in set(re.findall(r'"#/([^"]+)"', t.srv.client().get("/openapi.json").body.decode())):
        at = j
        for part in ref.split("/"):
            check(part in at, f"#/{ref} is there")
            at = at[part]


def test_docs(t):
    """/docs is a page of our own: nothing of it comes from elsewhere."""
    c = t.srv.client(timeout=10)
    page = c.get("/docs").want(200)
    check(page.headers["Content-Type"].startswith("text/html"), "a page", page.headers.items())
    csp = page.headers["Content-Security-Policy"]
    check("default-src 'none'" in csp and "unsafe" not in csp, "a strict policy", csp)
    links = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    check({"docs/docs.js", "docs/docs.css", "openapi.json"} <= set(links), "what it loads", links)
    check(not any("//" in l for l in links), "nothing from elsewhere", links)
    for path in ("/docs", "/docs/docs.js", "/docs/docs.css"):
        a = c.get(path).want(200)
        check(b"innerHTML" not in a.body and b"eval(" not in a.body, "text is text")
        same(c("GET", path, None, {"If-None-Match": a.headers["ETag"]}).status, 304, "the same again")
        packed = c("GET", path, None, {"Accept-Encoding": "gzip"})
        same(gzip.decompress(packed.body), a.body, "packed")
        same(packed.headers["Cache-Control"], "no-cache", "it is asked for again")
    c.get("/docs/docs.jsx").want(404)
    c.get("/docs/..%2fopenapi.json").want(404)


def test_what_must_be_there(t):
    paths = spec(t)["paths"]
    for path, methods in (("/v1/events", {"get", "post"}), ("/v1/events/{eventId}", {"get"}),
                          ("/v1/events/stream", {"get"}), ("/api/stream", {"get"}), ("/v1/event-types", {"get"}),
                          ("/v1/keys", {"get", "post"}), ("/healthz", {"get"}),
                          ("/readyz", {"get"}), ("/metrics", {"get"})):
        check(path in paths and methods <= set(paths[path]), f"{path} {methods}", paths.get(path))


def test_one_name_a_parameter(t):
    """A path is described once: by one name for what varies in it."""
    seen = {}
    for path in spec(t)["paths"]:
        plain = re.sub(r"{\w+}", "{}", path)
        check(plain not in seen, f"{path} is {seen.get(plain)} too")
        seen[plain] = path


def test_every_path_answers(t):
    c = t.srv.client(timeout=10)
    for path, ops in spec(t)["paths"].items():
        real = re.sub(r"{\w+}", new_id(), path)
        for method in ops:
            if method == "parameters" or path.endswith("/stream"):
                continue
            a = c(method.upper(), real, b"{}" if method in ("post", "put", "patch") else None)
            if a.status == 404:  # the thing is absent, or no provider is set: not the route
                e = a.json.get("error", a.json)
                said = (e.get("message") or e["error_message"]).lower()
                check("{" in path or "provider" in said, f"{method} {path}", a)
                check("route" not in said and "path" not in said, f"{method} {path}", a)
            check(a.status != 405, f"{method} {path}", a)
            check(a.status < 500, f"{method} {path}", a)


def test_others_do_not(t):
    """A method that is not described is 405."""
    c = t.srv.client(timeout=10)
    for path, ops in spec(t)["paths"].items():
        real = re.sub(r"{\w+}", new_id(), path)
        for method in {"get", "post", "put", "patch", "delete"} - set(ops):
            body = b"{}" if method in ("post", "put", "patch") else None
            same(c(method.upper(), real, body).status, 405, f"{method} {path}")
