#!/usr/bin/env python3
"""textgen OUT NAME=FILE... - files as C strings, so that the program can print them."""
import sys


def main(out, *pairs):
    lines = ['#include "source/outbox.h"', ""]
    for pair in pairs:
        name, path = pair.split("=", 1)
        lines.append(f"const char {name}[] =")
        with open(path, encoding="utf-8") as f:
            for line in f:
                text = "".join(c if " " <= c <= "~" and c not in '"\\' else
                               "".join(f"\\{b:03o}" for b in c.encode()) for c in line)
                lines.append(f'    "{text}"')
        lines[-1] += ";"
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
