"""routes - the table of routes as the tests read it, and ways to spell a path.

  for r in routes.TABLE: r.method, r.path, r.scopes, r.body, r.group, r.alias
  r.filled()                  a path with something in place of each {param}
  routes.SAME, routes.OTHER   {name: fn(path)}: the same path, or one that no route has
"""
import os
import re

import hk

FILE = os.path.join(hk.ROOT, "src", "api", "routes.tbl")
LINE = re.compile(r'ROUTE\((\w+), "([^"]+)", ([A-Z_| ]+), LIMIT_\w+, (ON_\w+), (\w+), ("[^"]*"|\w+), "')


class Route:
    def __init__(self, method, path, scopes, handler, body, group, alias):
        self.method, self.path, self.handler, self.body = method, path, handler, body
        self.group, self.alias = group, alias
        self.scopes = {s.removeprefix("SCOPE_").lower() for s in re.split(r" \| ", scopes)}

    def filled(self, value="11111111-1111-4111-8111-111111111111"):
        return re.sub(r"\{[^}]+\}", value, self.path)

    @property
    def changes(self):
        return self.method != "GET" or "consume" in self.scopes

    def __repr__(self):
        return f"{self.method} {self.path}"


def read():
    names, out, seen = {"NULL": None}, [], 0
    group = alias = None
    for line in open(FILE):
        if d := re.match(r"#define (\w+)\s+(.*)", line):
            names[d[1]] = d[2].strip().strip('"&')
            group, alias = names.get("GROUP"), names.get("ALIAS")
        seen += line.startswith("ROUTE(")
        if m := LINE.match(line):
            body = m[6].strip('"') if m[6].startswith('"') else names[m[6]]
            out.append(Route(m[1], m[2], m[3], m[5], body, group,
                             None if alias == "NULL" else alias))
    hk.check(len(out) == seen and seen > 100, "every line of routes.tbl is read", len(out), seen)
    return out


TABLE = read()


def encoded(path):
    """The first letter of each segment as %xx."""
    return re.sub(r"/([A-Za-z0-9])", lambda m: f"/%{ord(m[1]):02x}", path)


def all_encoded(path):
    return "".join(c if c == "/" else f"%{ord(c):02X}" for c in path)


def second(path, what):
    """`what` in place of the second slash, or behind the first."""
    head, slash, tail = path[1:].partition("/")
    return f"/{head}{what}{tail}" if slash else f"{what if what[0] == '/' else '/' + what}{head}"


SAME = {"plain": lambda p: p, "encoded": encoded, "all encoded": all_encoded}
OTHER = {
    "an alias of apps": lambda p: "/api/greader.php" + p,
    "an alias twice": lambda p: "/api/greader.php/api/greader.php" + p,
    "encoded twice": lambda p: f"/%25{ord(p[1]):02x}{p[2:]}",
    "doubled slash first": lambda p: "/" + p,
    "doubled slash": lambda p: second(p, "//"),
    "dot": lambda p: "/." + p,
    "dots": lambda p: second(p, "/../" + p[1:].split("/")[0] + "/"),
    "encoded dots": lambda p: "/v1/%2e%2E" + p,
    "upper case": lambda p: p.upper(),
    "encoded slash": lambda p: second(p, "%2F"),
    "backslash": lambda p: second(p, "\\"),
    "encoded backslash": lambda p: second(p, "%5c"),
    "semicolon": lambda p: second(p, ";x/"),
    "slash behind": lambda p: p + "/",
}
