#!/usr/bin/env python3
"""sqlgen OUTDIR FILE... - named statements and migrations to C.

sql/<room>.sql holds statements:

    -- name: log_get
    -- args: seq int, type text?        (int, text, bytes; ? may be null;
    -- rows: seq int, body bytes         int[] text[] bytes[] PostgreSQL only)
    -- only: postgres                    (left out on the other engine)
    -- Any further comment.
    SELECT ... :seq ...;

`:name` becomes ?N (SQLite) or $N (PostgreSQL) by the order of `args`. A line
`--sqlite: x` or `--postgres: x` is kept for that engine only. {{token}} is one
of the type names below.

OUTDIR gets sql.c (the texts) and sql.h, where callers name each argument:

    sql_log_cut(db, e, .seq = 7)              rows changed, or < 0
    sql_log_get(db, &rows, e, .seq = 7)       struct rows, for
    sql_log_get_next(rows, &row, e)           1 and the row, 0, or < 0
    sql_log_get_one(db, arena, &row, e, .seq = 7)   1, 0 or < 0; texts are the
                                              arena's; without texts, no arena

`-- args: as x` and `-- rows: as x` are those of the statement x above it, with
the same struct.

`-- rows: many` is for a statement that changes data: its wrapper takes an array
of its args, sql_x(db, v, n, e). SQLite runs it for each; PostgreSQL once, with
an array for each argument: INSERT … VALUES, UPDATE … WHERE and DELETE … WHERE
are made so by themselves, any other form says where the rows come from by
{{each}}, and `:name` is a column of that. `-- times: 8`: SQLite takes so many
rows of an INSERT at once.

`-- part: x` begins a text that statements below it in its file take in by
{{x}}: what several of them say alike stands once.

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
    return re.sub(r"\{\{(\w+)\}\}", lambda m: TOKENS[engine].get(m[1], m[0]), text)


def strip(text):
    lines = [l.rstrip() for l in re.sub(r"(?m)^\s*--.*$", "", text).split("\n")]
    return "\n".join(l for l in lines if l).strip()


def with_parts(engine, text, parts):
    return re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]][engine] if m[1] in parts else m[0], text)


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


PG_TYPE = {"int": "bigint[]", "text": "text[]", "bytes": "bytea[]"}


def over_each(where, body, args):
    """The statement over arrays: PostgreSQL's form of `rows: many`."""
    each = (f"unnest({', '.join(f'${i + 1}::{PG_TYPE[k]}' for i, (_, k, _) in enumerate(args))})"
            f" AS each ({', '.join(n + '_' for n, _, _ in args)})")
    body = re.sub(r"(?<!:):([a-z_]\w*)", r"each.\1_", body)
    if "{{each}}" in body:
        return body.replace("{{each}}", each)
    m = re.fullmatch(r"(?s)(INSERT INTO .*?)\bVALUES\s*\(([^()]*)\)(.*)", body)
    if m:
        return f"{m[1]}SELECT {m[2]}\n  FROM {each}{m[3]}"
    m = re.fullmatch(r"(?s)((UPDATE|DELETE FROM) .*?)(\s+WHERE .*)", body)
    if m:
        return f"{m[1]} {'FROM' if m[2] == 'UPDATE' else 'USING'} {each}{m[3]}"
    fail(where, "rows: many needs {{each}} here")


def shared(where, rest, what, name, known):
    """The fields of a line, and the statement whose struct has them."""
    m = re.fullmatch(r"as (\w+)", meta(rest, what) or "")
    if not m:
        return fields(where, meta(rest, what), what == "args"), name
    if m[1] not in known:
        fail(where, f"{what}: as {m[1]}: no such statement above it")
    return known[m[1]][what], known[m[1]]["of_" + what]


def statement(path, chunk, known=(), parts={}):
    name, rest = chunk.split("\n", 1)
    name, where = name.strip(), f"{path}: {chunk.split(chr(10), 1)[0].strip()}"
    only = meta(rest, "only")
    if only and only not in ENGINES:
        fail(where, f"only: {only}")
    args, of_args = shared(where, rest, "args", name, known)
    order = {a[0]: i + 1 for i, a in enumerate(args)}
    many = meta(rest, "rows") == "many"
    text = {}
    for engine in ENGINES:
        if only and only != engine:
            text[engine] = None
            continue
        body = with_parts(engine, strip(render(engine, rest)), parts)
        used = set(re.findall(r"(?<!:):([a-z_]\w*)", body))
        if used != set(order):
            fail(where, f"{engine}: args and use differ: {used ^ set(order)}")
        if many and engine == "postgres":
            text[engine] = over_each(where, body, args)
            continue
        mark = "?" if engine == "sqlite" else "$"
        text[engine] = re.sub(r"(?<!:):([a-z_]\w*)",
                              lambda m: f"{mark}{order[m[1]]}", body)
    if any(k.endswith("[]") for _, k, _ in args) and only != "postgres":
        fail(where, "arrays are for `only: postgres`")
    if many and only != "sqlite" and any(k == "int" and null for _, k, null in args):
        fail(where, "an array has no null among whole numbers")
    rows, of_rows = ([], name) if many else shared(where, rest, "rows", name, known)
    return {"name": name, "args": args, "rows": rows, "text": text, "many": many, "times": int(meta(rest, "times") or 1),
            "of_args": of_args, "of_rows": of_rows}


def repeated(s):
    """The statement with its last (…) repeated, for so many rows at once."""
    n, times, body = len(s["args"]), s["times"], s["text"]["sqlite"]
    m = re.fullmatch(r"(?s)(.* VALUES|.*\nVALUES)\s*(\([^()]*\));?", body)
    if not m or not s["many"]:
        fail(s["name"], "times: is for INSERT … VALUES (…) with rows: many")
    rows = ",\n".join(re.sub(r"\?(\d+)", lambda x, i=i: f"?{int(x[1]) + i * n}", m[2]) for i in range(times))
    return {"name": f"{s['name']}_{times}", "args": s["args"] * times, "rows": [], "many": False, "times": 1,
            "text": {"sqlite": f"{m[1]}\n{rows};", "postgres": None}, "part_of": s["name"]}


def quote(text):
    if text is None:
        return "NULL"
    esc = text.replace("\\", "\\\\").replace('"', '\\"')
    return "\n    ".join(f'"{l}\\n"' for l in esc.split("\n"))


def c_field(name, kind, null):
    return f"const int64_t *{name}" if kind == "int" and null else C_ARG[kind].format(name)


def declared(s):
    """What sql.h says of a statement."""
    n, ta, tr = s["name"], s["of_args"], s["of_rows"]
    arrays = any(k.endswith("[]") for _, k, _ in s["args"])
    texts = any(k != "int" for _, k, _ in s["rows"])
    out = []
    if s["args"] and n == ta:
        out += [f"struct sql_{n}_args {{", *(f"\t{c_field(*a)};" for a in s["args"]),
                *(["\tsize_t n_each;"] if arrays else []), "};"]
    p = f"const struct sql_{ta}_args *a, " if s["args"] else ""
    given, more = (f"&(struct sql_{ta}_args){{__VA_ARGS__}}, ", ", ...") if s["args"] else ("", "")
    if s["many"]:
        return "\n".join(out + [f"int64_t sql_{n}(struct db *db, const struct sql_{ta}_args *v, size_t n, struct err *e) MUST_CHECK;"])
    if not s["rows"]:
        return "\n".join(out + [f"int64_t sql_{n}_run(struct db *db, {p}struct err *e) MUST_CHECK;",
                                f"#define sql_{n}(db, e{more}) sql_{n}_run(db, {given}e)"])
    if n == tr:
        out.append(f"struct sql_{n}_row {{")
        for name, kind, null in s["rows"]:
            out.append("\t" + ("int64_t" if kind == "int" else "struct str") + f" {name};")
            if kind == "int" and null:
                out.append(f"\tbool {name}_null;")
        out.append("};")
    a, x = ("struct arena *arena, ", "arena, ") if texts else ("", "")
    out += [f"int sql_{n}_run(struct db *db, {p}struct rows **ret, struct err *e) MUST_CHECK;",
            f"#define sql_{n}(db, ret, e{more}) SQL_OK(sql_{n}_run(db, {given}ret, e))",
            f"void sql_{n}_get(const struct rows *r, struct sql_{tr}_row *ret);",
            f"int sql_{n}_next(struct rows *r, struct sql_{tr}_row *ret, struct err *e) MUST_CHECK;",
            f"int sql_{n}_first(struct db *db, {p}{a}struct sql_{tr}_row *ret, struct err *e) MUST_CHECK;",
            f"#define sql_{n}_one(db, {x}ret, e{more}) sql_{n}_first(db, {given}{x}ret, e)"]
    return "\n".join(out)


def val(name, kind, null):
    v = f"a->{name}"
    if kind == "int" and null:
        return f"{{.type = {v} ? VAL_INT : VAL_NULL, .i = {v} ? *{v} : 0}}"
    if kind == "int":
        return f"{{.type = VAL_INT, .i = {v}}}"
    if kind == "int[]":
        return f"{{.type = VAL_INTS, .iv = {v}, .n = a->n_each}}"
    if kind.endswith("[]"):
        return f"{{.type = {VAL[kind]}, .sv = {v}, .n = a->n_each}}"
    return f"{{.type = {v}.p ? {VAL[kind]} : VAL_NULL, .s = {v}}}"


def defined(s):
    """What sql.c does for it."""
    n, ta, tr, q = s["name"], s["of_args"], s["of_rows"], f"STMT_{s['name'].upper()}"
    if s["many"]:
        return "\n".join([
            "static void", f"{n}_fill(const void *v, size_t i, struct val *to)", "{",
            f"\tconst struct sql_{ta}_args *a = (const struct sql_{ta}_args *)v + i;", "",
            *(f"\tto[{i}] = (struct val){val(*a)};" for i, a in enumerate(s["args"])), "}",
            "int64_t", f"sql_{n}(struct db *db, const struct sql_{ta}_args *v, size_t n, struct err *e)", "{",
            f"\treturn db_exec_many(db, {q}, v, n, {n}_fill, e);", "}"])
    p = f"const struct sql_{ta}_args *a, " if s["args"] else ""
    ret = "struct rows **ret, " if s["rows"] else ""
    out = ["int" if s["rows"] else "int64_t", f"sql_{n}_run(struct db *db, {p}{ret}struct err *e)", "{"]
    if s["args"]:
        out.append("\tconst struct val args[] = {" + ", ".join(val(*a) for a in s["args"]) + "};")
    argv = f"args, {len(s['args'])}" if s["args"] else "NULL, 0"
    out += [f"\treturn db_{'query' if s['rows'] else 'exec'}(db, {q}, {argv}, {'ret, ' if s['rows'] else ''}e);", "}"]
    if not s["rows"]:
        return "\n".join(out)
    out += ["void", f"sql_{n}_get(const struct rows *r, struct sql_{tr}_row *ret)", "{"]
    for i, (name, kind, null) in enumerate(s["rows"]):
        out.append(f"\tret->{name} = rows_{'int' if kind == 'int' else 'str'}(r, {i});")
        if kind == "int" and null:
            out.append(f"\tret->{name}_null = rows_null(r, {i});")
    out += ["}", "int", f"sql_{n}_next(struct rows *r, struct sql_{tr}_row *ret, struct err *e)", "{",
            "\tint rc = rows_next(r, e);", "", "\tif (rc > 0)", f"\t\tsql_{n}_get(r, ret);", "\treturn rc;", "}"]
    texts = [name for name, kind, _ in s["rows"] if kind != "int"]
    out += ["int", f"sql_{n}_first(struct db *db, {p}{'struct arena *arena, ' if texts else ''}struct sql_{tr}_row *ret, struct err *e)", "{",
            "\tstruct rows *rows = NULL;", f"\tint rc = sql_{n}_run(db, {'a, ' if s['args'] else ''}&rows, e);", "",
            "\tif (rc == OK)", f"\t\trc = sql_{n}_next(rows, ret, e);"]
    if texts:
        out += ["\tif (rc > 0) {", *(f"\t\tret->{t} = kept(arena, ret->{t});" for t in texts), "\t}"]
    out += ["\trows_close(rows);", "\treturn rc;", "}"]
    return "\n".join(out)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def statements(paths):
    """Those of some files, in order."""
    stmts = []
    for path in paths:
        parts = {}
        for kind, c in re.findall(r"(?ms)^-- (name|part): (.*?)(?=^-- (?:name|part): |\Z)", read(path)):
            if kind == "part":
                name, text = c.split("\n", 1)
                parts[name.strip()] = {e: with_parts(e, strip(render(e, text)), parts) for e in ENGINES}
                continue
            stmts.append(statement(path, c, {x["name"]: x for x in stmts}, parts))
            if stmts[-1]["times"] > 1:
                stmts.append(repeated(stmts[-1]))
    return stmts


def main(outdir, paths):
    steps = []
    for path in sorted(p for p in paths if "migrations/" in p):
        number = int(os.path.basename(path)[:4])
        if number != len(steps) + 1:
            fail(path, f"expected number {len(steps) + 1:04}")
        steps.append((os.path.basename(path), {e: strip(render(e, read(path))) for e in ENGINES}))
    stmts = statements(sorted(p for p in paths if "migrations/" not in p))
    names = [s["name"] for s in stmts]
    for n in names:
        if names.count(n) > 1:
            fail(n, "named twice")

    with open(os.path.join(outdir, "sql.h"), "w", encoding="utf-8") as f:
        f.write("/* made by tools/sqlgen.py from sql/: do not edit */\n"
                "#ifndef GEN_SQL_H\n#define GEN_SQL_H\n\n#include \"store/store.h\"\n\nstruct arena;\n\nenum stmt {\n")
        f.writelines(f"\tSTMT_{n.upper()},\n" for n in names)
        f.write("\tSTMT_COUNT\n};\n\n")
        f.writelines(declared(s) + "\n\n" for s in stmts if "part_of" not in s)
        f.write("#endif\n")
    with open(os.path.join(outdir, "sql.c"), "w", encoding="utf-8") as f:
        f.write('/* made by tools/sqlgen.py from sql/: do not edit */\n#include "sql.h"\n\n#include "base/arena.h"\n#include "store/store_val.h"\n\n'
                "static struct str\nkept(struct arena *a, struct str s)\n{\n\treturn s.p ? arena_dup(a, s) : s;\n}\n\n")
        f.writelines(defined(s) + "\n\n" for s in stmts if "part_of" not in s)
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
                    f"    {quote(s['text']['postgres'])},\n    {a}, {r}, {'true' if s['many'] else 'false'}, {s['times']}}},\n")
        f.write("};\n\nconst struct step_info STEPS[] = {\n")
        for name, t in steps:
            f.write(f"    {{\"{name}\",\n    {quote(t['sqlite'])},\n    {quote(t['postgres'])}}},\n")
        f.write(f"}};\nconst int STEP_COUNT = {len(steps)};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
