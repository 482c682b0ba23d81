#!/usr/bin/env python3
"""entities OUT - the named character references of HTML as a table: name, UTF-8.

Python's library has the list of the standard. Sorted by bytes; those without a
semicolon are the ones that HTML takes without it.
"""
import html.entities
import sys


def literal(text):
    return "".join(f"\\{b:03o}" for b in text.encode())


def main(out):
    with open(out, "w", encoding="ascii") as f:
        for name, text in sorted(html.entities.html5.items()):
            f.write(f'ENTITY("{name}", "{literal(text)}")\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
