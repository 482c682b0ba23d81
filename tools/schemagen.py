#!/usr/bin/env python3
"""schemagen OUT FILE - schemas of answers and bodies, from a short notation to JSON Schema.

  Name: what it is               an object that has these members and no others
    member      type  about it
    member?     type             may be absent
    member      type?            may be null
    <TABLE                       members that a table of C reads, as they are given
    >TABLE                       … and as they are shown
    ...                          others are allowed
    example     {"member":1}
  Name = type  what it is        another name for a type
  Name = A | B  what it is       one of these

Types: text int number bool time uuid url any object, Name, =word|word, [type]
(a list), {type} (an object of such values), text(1..200), int(0..9). A member
that is named below a table is described here and not by the table.

OUT is a table of C (api/openapi.h). Where a TABLE goes it has a mark,
"@", the way, the table, the names that are left out and ";", which openapi.c
replaces: so it stands last among the properties and among the required.
"""
import json
import re
import sys

PLAIN = {
    "text": {"type": "string"}, "int": {"type": "integer", "format": "int64"},
    "number": {"type": "number"}, "bool": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"}, "uuid": {"type": "string", "format": "uuid"},
    "url": {"type": "string"}, "object": {"type": "object", "additionalProperties": True},
    "any": {},
}
LIMITS = {"text": ("minLength", "maxLength"), "int": ("minimum", "maximum"), "[": ("minItems", "maxItems")}


class Wrong(Exception):
    pass


class File:
    def __init__(self, path):
        self.path, self.out, self.refs, self.n = path, {}, [], 0

    def wrong(self, what):
        raise Wrong(f"{self.path}:{self.n}: {what}")

    def type(self, t):
        if t.endswith("?"):
            return self.nullable(self.type(t[:-1]))
        m = re.fullmatch(r"(.+)\((\d*)\.\.(\d*)\)", t)
        if m:
            s = dict(self.type(m[1]))
            low, high = LIMITS.get(m[1][0] if m[1][0] == "[" else m[1]) or self.wrong(f"{m[1]} has no limits")
            return {**s, **({low: int(m[2])} if m[2] else {}), **({high: int(m[3])} if m[3] else {})}
        if t[0] == "=":
            return {"type": "string", "enum": t[1:].split("|")}
        if t[0] == "[" and t[-1] == "]":
            return {"type": "array", "items": self.type(t[1:-1])}
        if t[0] == "{" and t[-1] == "}":
            return {"type": "object", "additionalProperties": self.type(t[1:-1])}
        if t in PLAIN:
            return dict(PLAIN[t])
        if re.fullmatch(r"[A-Z]\w*", t):
            self.refs.append((self.n, t))
            return {"$ref": "#/components/schemas/" + t}
        self.wrong(f"{t} is no type")

    @staticmethod
    def nullable(s):
        if "$ref" in s or "anyOf" in s:
            return {"anyOf": [*s.get("anyOf", [s]), {"type": "null"}]}
        if "enum" in s:
            s = {**s, "enum": [*s["enum"], None]}
        return {**s, "type": [s["type"], "null"]}

    def alias(self, name, text):
        union = re.match(r"(\S+(?: \| \S+)+)(?:  +(.*))?$", text)
        if union:
            s = {"anyOf": [self.type(t) for t in union[1].split(" | ")]}
            about = union[2]
        else:
            t, _, about = text.partition(" ")
            s = self.type(t)
        self.out[name] = {**s, **({"description": about.strip()} if about else {})}

    def member(self, s, name, t, about):
        if s is None:
            self.wrong("a member of no schema")
        if name == "...":
            s["additionalProperties"] = True
        elif name[0] in "<>":
            s.setdefault("@", []).append(name)
        elif name == "example":
            s["examples"] = [json.loads(" ".join([t, about]).strip())]
        else:
            key = name.rstrip("?")
            if not t:
                self.wrong(f"{name} has no type")
            if key in s["properties"]:
                self.wrong(f"{key} is there already")
            if key == name:
                s["required"].append(key)
            one = self.type(t)
            if about:
                one = {**one, "description": about}
            s["properties"][key] = one

    def read(self):
        s = None
        for self.n, line in enumerate(open(self.path, encoding="utf-8"), 1):
            line = line.rstrip()
            if not line or line.startswith("#"):
                continue
            if line[0] == " ":
                self.member(s, *(line.split(None, 2) + ["", ""])[:3])
                continue
            m = re.match(r"([A-Z]\w*)(?:(:) ?(.*)| = (.*))$", line) or self.wrong("no name of a schema")
            if m[1] in self.out:
                self.wrong(f"{m[1]} is there already")
            if not m[2]:
                self.alias(m[1], m[4])
                s = None
                continue
            s = {"type": "object", **({"description": m[3]} if m[3] else {}),
                 "properties": {}, "required": [], "additionalProperties": False}
            self.out[m[1]] = s
        for self.n, name in self.refs:
            if name not in self.out:
                self.wrong(f"there is no schema {name}")


def text(s):
    """JSON with the marks in it."""
    tables = s.pop("@", [])
    out = json.dumps(s, ensure_ascii=True, separators=(",", ":")).replace("@", "\\u0040")
    names = ",".join(s.get("properties", ()))
    for table in tables:
        for member, end in (("properties", "}"), ("required", "]")):
            at = closing(out, out.index(f'"{member}":') + len(member) + 3)
            mark = "!" if member == "required" else ""
            out = out[:at] + f"@{mark}{table} {names};" + out[at:]
    return out


def closing(out, at):
    """Where what opens at `at` closes."""
    depth, quoted = 0, False
    for i in range(at, len(out)):
        c = out[i]
        if quoted:
            quoted = not (c == '"' and (len(out[:i]) - len(out[:i].rstrip("\\"))) % 2 == 0)
        elif c == '"':
            quoted = True
        elif c in "{[":
            depth += 1
        elif c in "}]":
            depth -= 1
            if depth == 0:
                return i
    raise Wrong("no end")


def main(out, path):
    f = File(path)
    f.read()
    lines = ['#include "api/openapi.h"', "", "const struct openapi_text OPENAPI_SCHEMAS[] = {"]
    for name in sorted(f.out):
        j = text(f.out[name]).replace("\\", "\\\\").replace('"', '\\"')
        parts = "\n\t".join(f'"{p}"' for p in re.findall(r"(?:[^\\]|\\.){1,400}", j))
        lines.append(f'    {{"{name}",\n\t{parts}}},')
    lines.append("    {NULL, NULL},\n};")
    with open(out, "w", encoding="utf-8") as o:
        o.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Wrong as e:
        sys.exit(str(e))
