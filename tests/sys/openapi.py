"""openapi - holds what a server is asked and answers against its own /openapi.json.

hk.py gives each exchange of every test to Document.look(). An answer must be as
its route describes it: a status that is named, a media type that is named, all
that is required, nothing that is unknown. What was accepted (2xx) must have been
allowed: a parameter or a member that is not described is a fault of the
document. Only the standard library; the part of JSON Schema that our document
uses. Of a long list the first ELEMENTS are looked at.
"""
import gzip
import http.client
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.parse

ELEMENTS = 100
# What the server says before it knows the route.
EARLY = {405, 408, 411, 417, 426, 431, 501, 505}
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
TYPES = {
    "string": lambda v: isinstance(v, str), "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: not isinstance(v, bool) and (
        isinstance(v, int) or isinstance(v, float) and v.is_integer()),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "array": lambda v: isinstance(v, list), "object": lambda v: isinstance(v, dict),
    "null": lambda v: v is None,
}
FORMATS = {"uuid": UUID.fullmatch, "date-time": TIME.fullmatch}


class Undescribed(AssertionError):
    """The document says something else than the server does."""


def wrong(schema, value, root, at=""):
    """None, or what is wrong with the value and where."""
    if schema is True or schema == {}:
        return None
    if schema is False:
        return f"{at}: nothing is allowed here"
    if "$ref" in schema:
        ref = root
        for part in schema["$ref"][2:].split("/"):
            ref = ref[part]
        return wrong(ref, value, root, at)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            faults = [wrong(s, value, root, at) for s in schema[word]]
            fits = faults.count(None)
            if fits == 0 or word == "oneOf" and fits > 1:
                said = [f for f in faults if f]
                return min(said, key=lambda f: -f.count("/")) if said else f"{at}: fits {fits} of {word}"
    types = schema.get("type")
    if types and not any(TYPES[t](value) for t in ([types] if isinstance(types, str) else types)):
        return f"{at}: {json.dumps(value)[:80]} is not {types}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str):
        return wrong_text(schema, value, at)
    if isinstance(value, list):
        return wrong_list(schema, value, root, at)
    if isinstance(value, dict):
        return wrong_object(schema, value, root, at)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            return f"{at}: {value} is out of range"
    return None


def wrong_text(schema, value, at):
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        return f"{at}: has {len(value)} characters"
    check = FORMATS.get(schema.get("format"))
    return f"{at}: {value!r} is no {schema['format']}" if check and not check(value) else None


def wrong_list(schema, value, root, at):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return f"{at}: has {len(value)} elements"
    items = schema.get("items", True)
    return next((f for i, v in enumerate(value[:ELEMENTS])
                 if (f := wrong(items, v, root, f"{at}/{i}"))), None)


def wrong_object(schema, value, root, at):
    missing = [k for k in schema.get("required", ()) if k not in value]
    if missing:
        return f"{at}: {missing} must be there"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for k, v in value.items():
        if k not in known and others is False:
            return f"{at}/{k}: is not described"
        f = wrong(known.get(k, others), v, root, f"{at}/{k}")
        if f:
            return f
    return None


class Document:
    def __init__(self, text):
        self.root = json.loads(text)
        self.routes = []
        for path, ops in self.root["paths"].items():
            # {stream} is all that follows, in the protocol that has it
            piece = ".+" if "{stream}" in path else "[^/]+"
            rx = re.compile(re.sub(r"{\w+}", piece, path.replace(".", r"\.")))
            self.routes += [(path.count("{"), m.upper(), rx, path, op) for m, op in ops.items()]
        self.routes.sort(key=lambda r: r[0])
        self.found = {}

    def find(self, method, path):
        key = method, path
        if key not in self.found:
            if len(self.found) > 5000:
                self.found.clear()
            self.found[key] = next(((p, op) for _, m, rx, p, op in self.routes
                                    if m == method and rx.fullmatch(path)), None)
        return self.found[key]

    def ref(self, thing):
        return self.root["components"][thing["$ref"].split("/")[2]][thing["$ref"].split("/")[3]] \
            if "$ref" in thing else thing

    def look(self, method, target, headers, body, answer):
        path, _, query = target.partition("?")
        if "://" in path or answer.status in EARLY:
            return
        route = self.find(method, path)
        if not route:
            return
        name, op = f"{method} {route[0]}", route[1]
        if "apps" in op["tags"]:
            return  # as others have them
        self.answer(name, op, answer)
        if 200 <= answer.status < 300:
            self.query(name, op, query)
            self.body(name, op, headers, body)

    def answer(self, name, op, answer):
        said = op["responses"].get(str(answer.status)) or op["responses"].get("default")
        if not said:
            raise Undescribed(f"{name}: a {answer.status} is not described\n    {answer!r}")
        content = self.ref(said).get("content", {})
        kind = (answer.headers.get("Content-Type") or "").split(";")[0].strip()
        if not answer.body:
            if content and answer.status not in (204, 304) and "text/plain" not in content:
                raise Undescribed(f"{name}: a {answer.status} has no body")
            return
        if not content:
            raise Undescribed(f"{name}: a {answer.status} has a body\n    {answer!r}")
        if "image/*" in content:
            return
        if kind not in content:
            raise Undescribed(f"{name}: {kind} is none of {list(content)} of a {answer.status}\n    {answer!r}")
        if kind == "application/json":
            try:
                zipped = answer.headers.get("Content-Encoding") == "gzip"
                value = json.loads(gzip.decompress(answer.body) if zipped else answer.body)
            except ValueError as e:
                raise Undescribed(f"{name}: no JSON ({e})\n    {answer!r}") from None
            fault = wrong(content[kind].get("schema", True), value, self.root)
            if fault:
                raise Undescribed(f"{name}: a {answer.status} is not as described: {fault}\n    {answer!r}")

    def query(self, name, op, query):
        if name == "POST /in/{name}":
            return  # what its address has is the sender's
        known = {p["name"]: p["schema"] for p in op.get("parameters", ()) if p["in"] == "query"}
        for k, v in urllib.parse.parse_qsl(query, keep_blank_values=True):
            if k not in known:
                raise Undescribed(f"{name}: it takes {k}, which is not described")
            types = known[k].get("type")
            value = v
            if types == "array":
                value = v.split(",") if v else []
            elif types == "integer" and re.fullmatch(r"-?\d+", v):
                value = int(v)
            elif types == "boolean" and v in ("true", "false"):
                value = v == "true"
            fault = wrong(known[k], value, self.root, "?" + k)
            if fault:
                raise Undescribed(f"{name}: it takes what is not described: {fault}")

    def body(self, name, op, headers, body):
        if not body or "requestBody" not in op:
            return
        content = op["requestBody"]["content"]
        kind = next((v for k, v in headers.items() if k.lower() == "content-type"), "")
        kind = kind.split(";")[0].strip().lower()
        if kind != "application/json" or kind not in content or any(
                k.lower().startswith("ce-") for k in headers):
            return
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return
        if name == "POST /v1/events" and isinstance(value, list):
            return  # each is judged by itself
        fault = wrong(content[kind].get("schema", True), value, self.root)
        if fault:
            raise Undescribed(f"{name}: it takes a body that is not described: {fault}")


def fetch(binary, env):
    """The document of a server that is started for it, and ended."""
    with tempfile.TemporaryDirectory(prefix="hk-openapi-") as folder:
        log = os.path.join(folder, "log")
        with open(log, "wb") as f:
            p = subprocess.Popen([binary, "serve", "--listen", "127.0.0.1:0", "--data",
                                  os.path.join(folder, "data")], env=env, cwd=folder,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=f)
        try:
            end = time.monotonic() + 60
            while True:
                with open(log, errors="replace") as f:
                    m = re.search(r'"listening".*?127\.0\.0\.1:(\d+)|127\.0\.0\.1:(\d+).*"listening"', f.read())
                if m:
                    break
                if p.poll() is not None or time.monotonic() > end:
                    raise Undescribed("no server came up for its document")
                time.sleep(0.02)
            c = http.client.HTTPConnection("127.0.0.1", int(m[1] or m[2]), timeout=30)
            c.request("GET", "/openapi.json")
            return c.getresponse().read()
        finally:
            p.terminate()
            p.wait(30)


def load(binary, env):
    """Fetched once for each build of the binary, kept in the temporary folder."""
    s = os.stat(binary)
    name = f"hk-openapi-{os.getuid()}-{s.st_dev}-{s.st_ino}-{s.st_mtime_ns}-{s.st_size}.json"
    path = os.path.join(tempfile.gettempdir(), name)
    try:
        with open(path, "rb") as f:
            return Document(f.read())
    except FileNotFoundError:
        text = fetch(binary, env)
        with open(f"{path}.{os.getpid()}", "wb") as f:
            f.write(text)
        os.replace(f.name, path)
        return Document(text)
