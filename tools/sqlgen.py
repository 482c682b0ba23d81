#!/usr/bin/env python3
"""sqlgen OUTDIR FILE... - named statements and migrations to C.

sql/<room>.sql holds statements:

    -- name: log_get
    -- args: seq int, type text?        (int, text, bytes; ? may be null;
    -- rows: seq int, body bytes         int[] text[] bytes[] PostgreSQL only)
    -- only: postgres                    (left out on the other engine)
    -- times: 8                          (an INSERT: also one of so many rows)
    -- Any further comment.
    SELECT ... :seq ...;

`:name` becomes ?N (SQLite) or $N (PostgreSQL) by the order of `args`. A line
`--sqlite: x` or `--postgres: x` is kept for that engine only. {{token}} is one
of the type names below. OUTDIR gets sql.h (enum stmt, a typed wrapper
sql_<name>() each, a struct and reader for its rows) and sql.c (the texts).
sql/migrations/NNNN_what.sql become the steps of store_migrate(), numbered
without gaps.
"""
import os
import re
import sys

ENGINES = ("sqlite", "postgres")
TOKENS = {
    "sqlite": {"seq": "INTEGER PRIMARY KEY", "bytes": "BLOB",
               "id": "INTEGER PRIMARY KEY AUTOINCREMENT"},
    "postgres": {"seq": "BIGINT NOT NULL", "bytes": "BYTEA",
                 "id": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
}
C_ARG = {"int": "int64_t {}", "text": "struct str {}", "bytes": "struct str {}",
         "int[]": "const int64_t *{}", "text[]": "const struct str *{}",
         "bytes[]": "const struct str *{}"}
VAL = {"int": "VAL_INT", "text": "VAL_TEXT", "bytes": "VAL_BYTES",
       "int[]": "VAL_INTS", "text[]": "VAL_TEXTS", "bytes[]": "VAL_BYTESS"}


def fail(where, what):
    sys.exit(f"sqlgen: {where}: {what}")


def render(engine, text):
    text = re.sub(r"(?m)^(\s*)--(sqlite|postgres): ?(.*)$",
                  lambda m: m[1] + m[3] if m[2] == engine else "", text)
    return re.sub(r"\{\{(\w+)\}\}", lambda m: TOKENS[engine][m[1]], text)


def strip(text):
    lines = [l.rstrip() for l in re.sub(r"(?m)^\s*--.*$", "", text).split("\n")]
    return "\n".join(l for l in lines if l).strip()


def fields(where, text, array):
    out = []
    for part in filter(None, (p.strip() for p in (text or "").split(","))):
        words = part.split()
        if len(words) != 2:
            fail(where, f"{part!r} is not `name type`")
        null = words[1].endswith("?")
        kind = words[1].rstrip("?")
        if kind not in (C_ARG if array else ("int", "text", "bytes")):
            fail(where, f"unknown type {words[1]!r}")
        out.append((words[0], kind, null))
    return out


def meta(chunk, key):
    m = re.search(rf"(?m)^-- {key}: (.*)$", chunk)
    return m[1] if m else None


def statement(path, chunk):
    name, rest = chunk.split("\n", 1)
    name, where = name.strip(), f"{path}: {chunk.split(chr(10), 1)[0].strip()}"
    only = meta(rest, "only")
    if only and only not in ENGINES:
        fail(where, f"only: {only}")
    args = fields(where, meta(rest, "args"), True)
    order = {a[0]: i + 1 for i, a in enumerate(args)}
    text = {}
    for engine in ENGINES:
        if only and only != engine:
            text[engine] = None
            continue
        body = strip(render(engine, rest))
        used = set(re.findall(r"(?<!:):([a-z_]\w*)", body))
        if used != set(order):
            fail(where, f"{engine}: args and use differ: {used ^ set(order)}")
        mark = "?" if engine == "sqlite" else "$"
        text[engine] = re.sub(r"(?<!:):([a-z_]\w*)",
                              lambda m: f"{mark}{order[m[1]]}", body)
    if any(k.endswith("[]") for _, k, _ in args) and only != "postgres":
        fail(where, "arrays are for `only: postgres`")
    return {"name": name, "args": args, "text": text,
            "rows": fields(where, meta(rest, "rows"), False)}


def repeated(s, times):
    """The statement with its last (…) repeated, for so many rows at once."""
    n, text = len(s["args"]), {}
    for engine, body in s["text"].items():
        m = body and re.fullmatch(r"(?s)(.* VALUES|.*\nVALUES)\s*(\([^()]*\));?", body)
        if body and not m:
            fail(s["name"], "times: is for INSERT … VALUES (…)")
        rows = body and ",\n".join(
            re.sub(r"([?$])(\d+)", lambda x, i=i: f"{x[1]}{int(x[2]) + i * n}", m[2])
            for i in range(times))
        text[engine] = body and f"{m[1]}\n{rows};"
    return {"name": f"{s['name']}_{times}", "args": s["args"] * times, "text": text,
            "rows": [], "each": s, "times": times}


def wrapper_each(s):
    """sql_<name>_<times>() takes an array of struct sql_<name>_args."""
    one, n = s["each"]["name"], len(s["each"]["args"])
    out = [f"struct sql_{one}_args {{"]
    for name, kind, null in s["each"]["args"]:
        c = f"const int64_t *{name}" if kind == "int" and null else C_ARG[kind].format(name)
        out.append(f"\t{c};")
    out += ["};", "static inline int64_t",
            f"sql_{s['name']}(struct db *db, const struct sql_{one}_args *each, struct err *e)", "{",
            f"\tUNINIT struct val args[{n * s['times']}];", "",
            f"\tfor (size_t i = 0; i < {s['times']}; i++) {{",
            f"\t\tconst struct sql_{one}_args *a = &each[i];",
            f"\t\tstruct val *to = &args[i * {n}];", ""]
    for i, (name, kind, null) in enumerate(s["each"]["args"]):
        v = f"a->{name}"
        if kind == "int" and null:
            val = f"{{.type = {v} ? VAL_INT : VAL_NULL, .i = {v} ? *{v} : 0}}"
        elif kind == "int":
            val = f"{{.type = VAL_INT, .i = {v}}}"
        else:
            val = f"{{.type = {v}.p ? {VAL[kind]} : VAL_NULL, .s = {v}}}"
        out.append(f"\t\tto[{i}] = (struct val){val};")
    out += ["\t}", f"\treturn db_exec(db, STMT_{s['name'].upper()}, args, {n * s['times']}, e);", "}"]
    return "\n".join(out)


def quote(text):
    if text is None:
        return "NULL"
    esc = text.replace("\\", "\\\\").replace('"', '\\"')
    return "\n    ".join(f'"{l}\\n"' for l in esc.split("\n"))


# What the wrappers of the store are made of.
STORE = {"name": "sql", "stmt": "STMT", "db": "struct db", "rows": "struct rows",
         "exec": "db_exec", "query": "db_query", "int": "rows_int", "str": "rows_str",
         "null": "rows_null"}


def wrapper(s, w=STORE):
    n, args, rows = s["name"], s["args"], s["rows"]
    arrays = any(k.endswith("[]") for _, k, _ in args)
    params = [w["db"] + " *db"]
    for name, kind, null in args:
        if kind == "int" and null:
            params.append(f"const int64_t *{name}")
        else:
            params.append(C_ARG[kind].format(name))
    if arrays:
        params.append("size_t n_each")
    if rows:
        params.append(w["rows"] + " **ret")
    params.append("struct err *e")
    vals = []
    for name, kind, null in args:
        if kind == "int" and null:
            vals.append(f"{{.type = {name} ? VAL_INT : VAL_NULL, .i = {name} ? *{name} : 0}}")
        elif kind == "int":
            vals.append(f"{{.type = VAL_INT, .i = {name}}}")
        elif kind == "int[]":
            vals.append(f"{{.type = VAL_INTS, .iv = {name}, .n = n_each}}")
        elif kind.endswith("[]"):
            vals.append(f"{{.type = {VAL[kind]}, .sv = {name}, .n = n_each}}")
        else:
            vals.append(f"{{.type = {name}.p ? {VAL[kind]} : VAL_NULL, .s = {name}}}")
    out = [f"static inline {'int' if rows else 'int64_t'}",
           f"{w['name']}_{n}({', '.join(params)})", "{"]
    if vals:
        out.append("\tconst struct val args[] = {" + ", ".join(vals) + "};")
    argv = "args, " + str(len(vals)) if vals else "NULL, 0"
    call = f"{w['stmt']}_{n.upper()}, {argv}"
    out.append(f"\treturn {w['query']}(db, {call}, ret, e);" if rows
               else f"\treturn {w['exec']}(db, {call}, e);")
    out.append("}")
    if rows:
        out.append(f"struct {w['name']}_{n}_row {{")
        for name, kind, null in rows:
            out.append("\t" + ("int64_t" if kind == "int" else "struct str") + f" {name};")
            if kind == "int" and null:
                out.append(f"\tbool {name}_null;")
        out += ["};", "static inline void",
                f"{w['name']}_{n}_get(const {w['rows']} *r, struct {w['name']}_{n}_row *ret)", "{"]
        for i, (name, kind, null) in enumerate(rows):
            out.append(f"\tret->{name} = {w['int' if kind == 'int' else 'str']}(r, {i});")
            if kind == "int" and null:
                out.append(f"\tret->{name}_null = {w['null']}(r, {i});")
        out.append("}")
    return "\n".join(out)


def main(outdir, paths):
    stmts, steps = [], []
    for path in sorted(paths):
        text = open(path, encoding="utf-8").read()
        if "migrations/" in path:
            number = int(os.path.basename(path)[:4])
            if number != len(steps) + 1:
                fail(path, f"expected number {len(steps) + 1:04}")
            steps.append((os.path.basename(path), {e: strip(render(e, text)) for e in ENGINES}))
        else:
            for c in re.split(r"(?m)^-- name: ", text)[1:]:
                stmts.append(statement(path, c))
                times = meta(c, "times")
                if times:
                    stmts.append(repeated(stmts[-1], int(times)))
    names = [s["name"] for s in stmts]
    for n in names:
        if names.count(n) > 1:
            fail(n, "named twice")

    with open(os.path.join(outdir, "sql.h"), "w", encoding="utf-8") as f:
        f.write("/* made by tools/sqlgen.py from sql/: do not edit */\n"
                "#ifndef GEN_SQL_H\n#define GEN_SQL_H\n\n#include \"store/store.h\"\n\nenum stmt {\n")
        f.writelines(f"\tSTMT_{n.upper()},\n" for n in names)
        f.write("\tSTMT_COUNT\n};\n\n")
        f.write("struct stmt_info {\n\tconst char *name, *sqlite, *postgres;\n"
                "\tint n_args;\n\tconst enum val_type *args;\n"
                "\tint n_cols;\n\tconst enum val_type *cols;\n};\n"
                "struct step_info {\n\tconst char *name, *sqlite, *postgres;\n};\n"
                "extern const struct stmt_info STMTS[];\n"
                "extern const struct step_info STEPS[];\nextern const int STEP_COUNT;\n\n")
        for s in stmts:
            f.write((wrapper_each(s) if "each" in s else wrapper(s)) + "\n\n")
        f.write("#endif\n")
    with open(os.path.join(outdir, "sql.c"), "w", encoding="utf-8") as f:
        f.write('/* made by tools/sqlgen.py from sql/: do not edit */\n#include "sql.h"\n\n')
        for s in stmts:
            for what in ("args", "rows"):
                kinds = ", ".join(VAL[k] for _, k, _ in s[what])
                if kinds:
                    f.write(f"static const enum val_type {s['name']}_{what}[] = {{{kinds}}};\n")
        f.write("\nconst struct stmt_info STMTS[] = {\n")
        for s in stmts:
            a = f"{len(s['args'])}, {s['name'] + '_args' if s['args'] else 'NULL'}"
            r = f"{len(s['rows'])}, {s['name'] + '_rows' if s['rows'] else 'NULL'}"
            f.write(f"    {{\"{s['name']}\",\n    {quote(s['text']['sqlite'])},\n"
                    f"    {quote(s['text']['postgres'])},\n    {a}, {r}}},\n")
        f.write("};\n\nconst struct step_info STEPS[] = {\n")
        for name, t in steps:
            f.write(f"    {{\"{name}\",\n    {quote(t['sqlite'])},\n    {quote(t['postgres'])}}},\n")
        f.write(f"}};\nconst int STEP_COUNT = {len(steps)};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
