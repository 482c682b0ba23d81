#!/usr/bin/env python3
"""embed OUT FOLDER - a folder of files as a table of C (api/files.h), each also packed by gzip.

A file's path in the folder is its path on the server; that of an index.html is its folder's.
"""
import gzip
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".json": "application/json",
         ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",
         ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8"}
PACKED = ("text/", "image/svg", "application/json")


def array(name, data):
    """Strings of hexadecimal escapes: quicker to compile than numbers."""
    text = "".join(f"\\x{b:02x}" for b in data)
    lines = [text[i:i + 76] for i in range(0, len(text), 76)] or [""]
    return f"static const char {name}[] =\n" + "\n".join(f'    "{l}"' for l in lines) + ";\n"


def main(out, folder):
    parts, rows = ['#include "api/files.h"\n'], []
    found = sorted(os.path.join(at, f) for at, _, files in os.walk(folder) for f in files)
    for i, path in enumerate(found):
        kind = TYPES.get(os.path.splitext(path)[1]) or sys.exit(f"embed: {path} is of no type that is known")
        with open(path, "rb") as f:
            data = f.read()
        zipped = gzip.compress(data, 9, mtime=0) if kind.startswith(PACKED) else b""
        parts += [array(f"F{i}", data), array(f"Z{i}", zipped)]
        url = "/" + os.path.relpath(path, folder).removesuffix("index.html").rstrip("/")
        etag = hashlib.sha256(data).hexdigest()[:16]
        rows.append(f'    {{"{url}", "{kind}", "\\"{etag}\\"", {{F{i}, {len(data)}}}, {{Z{i}, {len(zipped)}}}}},')
    parts.append("const struct file FILES[] = {\n" + "\n".join(rows + ["    {.path = NULL},"]) + "\n};\n")
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n".join(parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
